//! A vault: the front door of the library, where the store, the catalog and the pure rooms meet.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use vault_markdown::Document;

use crate::call::Call;
use crate::catalog::{Catalog, File, Note};
use crate::error::VaultError;
use crate::limits::{MAX_NOTE_BYTES, RECENT};
use crate::path::VaultPath;
use crate::rules::Rules;
use crate::served::Served;
use crate::store::{Author, EntryKind, LateSave, Seen, Stat, Store};
use crate::switches::{self, Granted, Settings, Switch};
use crate::version::Version;

/// One folder of notes, opened. Share it between threads by reference.
///
/// ```
/// use vault_core::ops::{CreateNote, ReadNote};
/// use vault_core::{Call, Operation, Vault};
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path();
/// let vault = Vault::open(dir)?;
/// let made = CreateNote::new("Fern", "Likes shade.\n").run(&vault, &Call::begin("example"))?;
/// let read = ReadNote::new(&made.path).run(&vault, &Call::begin("example"))?;
/// assert_eq!(read.version.as_ref(), Some(&made.version));
/// # Ok::<(), vault_core::VaultError>(())
/// ```
pub struct Vault {
    store: Store,
    catalog: Mutex<Known>,
    comparing: Mutex<()>,
    served: Mutex<Served>,
    rules: Mutex<Arc<Rules>>,
}

#[derive(Default)]
struct Known {
    catalog: Arc<Catalog>,
    /// When it was last compared with the disk.
    compared: Option<Timestamp>,
}

/// The whole text of a file, with what identifies it.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    /// The stored text, byte for byte.
    pub text: String,
    /// Version of exactly these bytes.
    pub version: Version,
    /// State of the file.
    pub stat: Stat,
}

/// A text that is about to be stored, parsed once for everything that is told about it.
pub(crate) struct Draft {
    /// The text, byte for byte.
    pub(crate) text: String,
    /// What it holds.
    pub(crate) document: Document,
}

impl Draft {
    /// Parses `text`.
    pub(crate) fn of(text: String) -> Draft {
        Draft { document: vault_markdown::parse(&text), text }
    }
}

/// What became of a write.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    /// Version of the file as it is now.
    pub version: Version,
    /// Whether a byte changed, so that the log has the operation.
    pub changed: bool,
}

impl Vault {
    /// Opens the vault in `root`. Creates nothing and reads no note.
    pub fn open(root: &Path) -> Result<Vault, VaultError> {
        Ok(Vault::on(Store::open(root)?))
    }

    /// Makes a vault of an opened store.
    pub fn on(store: Store) -> Vault {
        Vault {
            store,
            catalog: Mutex::default(),
            comparing: Mutex::default(),
            served: Mutex::default(),
            rules: Mutex::new(Arc::new(Rules::parse(""))),
        }
    }

    /// Returns the vault's files, lock and log.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Clears away replaced files that nobody can write into any more, and returns what programs saved into them after
    /// they had been replaced: it is in the log. Long-running programs call this a while after a write.
    pub fn sweep(&self) -> Result<Vec<LateSave>, VaultError> {
        self.store.sweep()
    }

    /// Returns what a person has set for agents on this machine, read anew.
    pub fn settings(&self) -> Result<Settings, VaultError> {
        self.store.settings()
    }

    /// Changes what agents may do on this machine; effective at the next call of every process.
    pub fn change_settings(&self, change: impl FnOnce(&mut Settings)) -> Result<Settings, VaultError> {
        self.store.change_settings(change)
    }

    /// Tells whether agents of a process started with `granted` may use `switch` at this moment.
    pub fn allows(&self, granted: &Granted, switch: Switch) -> Result<bool, VaultError> {
        Ok(switches::allows(&self.settings()?, granted, switch))
    }

    /// Returns what `.vaultignore` says now. Every operation asks this first, so a vault that is gone is refused here.
    pub(crate) fn rules(&self) -> Result<Arc<Rules>, VaultError> {
        self.store.check()?;
        let text = self.store.ignore_file()?.unwrap_or_default();
        let mut rules = lock(&self.rules);
        if !rules.are_of(&text) {
            *rules = Arc::new(Rules::parse(&text));
        }
        Ok(Arc::clone(&rules))
    }

    /// Reads a text file of at most `limit` bytes.
    pub(crate) fn read_text(&self, path: &VaultPath, limit: u64) -> Result<Text, VaultError> {
        let content = self.store.read(path, limit)?;
        let text = String::from_utf8(content.bytes)
            .map_err(|error| VaultError::NotUtf8 { path: path.clone(), offset: error.utf8_error().valid_up_to() })?;
        Ok(Text { text, version: content.version, stat: content.stat })
    }

    /// Reads a note.
    pub(crate) fn read_stored(&self, path: &VaultPath) -> Result<Text, VaultError> {
        self.read_text(path, MAX_NOTE_BYTES)
    }

    /// Makes a note; refuses when the name is taken.
    pub(crate) fn create(
        &self,
        path: &VaultPath,
        draft: &Draft,
        tool: &str,
        call: &Call,
    ) -> Result<Version, VaultError> {
        let written = self.store.create(path, draft.text.as_bytes(), &author(tool, call))?;
        self.tell(path, draft, written.stat, call);
        Ok(written.version)
    }

    /// Puts `draft` in the place of `before`, unless that is not what the file holds any more. The same text again
    /// changes nothing.
    pub(crate) fn replace(
        &self,
        path: &VaultPath,
        before: &Text,
        draft: &Draft,
        tool: &str,
        call: &Call,
    ) -> Result<Saved, VaultError> {
        if draft.text == before.text {
            return Ok(Saved { version: before.version.clone(), changed: false });
        }
        let seen = Seen { bytes: before.text.as_bytes(), version: &before.version, stat: &before.stat };
        match self.store.replace_seen(path, seen, draft.text.as_bytes(), &author(tool, call)) {
            Ok(written) => {
                self.tell(path, draft, written.stat, call);
                Ok(Saved { version: written.version, changed: true })
            }
            // Somebody was faster than we: told like any stale version, with the way to the present text.
            Err(refusal @ VaultError::StaleVersion { .. }) => match self.read_stored(path) {
                Ok(now) => Err(self.stale(path, &before.version, &now)),
                Err(_) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        }
    }

    /// Makes a folder and those above it.
    pub(crate) fn create_folder(&self, path: &VaultPath, tool: &str, call: &Call) -> Result<(), VaultError> {
        self.store.create_folder(path, &author(tool, call))
    }

    /// Remembers the stored text behind a view that goes out with its version.
    pub(crate) fn keep_served(&self, path: &VaultPath, version: &Version, stored: &str) {
        lock(&self.served).keep(path, version, stored);
    }

    /// Returns the text that callers saw as this version of this note: what this process served, else what the log holds.
    pub(crate) fn served_text(&self, path: &VaultPath, version: &Version) -> Option<String> {
        let kept = lock(&self.served).text(path, version);
        let logged = || String::from_utf8(self.store.content_of(version).ok()??).ok().map(Arc::from);
        let stored: Arc<str> = kept.or_else(logged)?;
        Some(vault_markdown::view(&stored, &Default::default()).text)
    }

    /// Returns the catalog as the disk is now: costs a walk, and a look into the files that changed.
    ///
    /// `timeout` when the call's time is over; nothing is kept then.
    pub fn catalog(&self, call: &Call) -> Result<Arc<Catalog>, VaultError> {
        let rules = self.rules()?;
        // One comparison at a time; reads and writes go on meanwhile.
        let _turn = lock(&self.comparing);
        let before = self.known_catalog();
        let found = self.store.walk(&|path, kind| !rules.hide(path, kind == EntryKind::Folder))?;
        let changes = self.compare(&before, found, call)?;
        // Given up first, so that the catalog is changed where it is and not in a copy.
        drop(before);
        let mut known = lock(&self.catalog);
        changes.apply(&mut known.catalog);
        known.compared = Some(call.now);
        Ok(Arc::clone(&known.catalog))
    }

    /// Returns the catalog as it was not long before the call, own writes included: for reports, not for decisions.
    pub(crate) fn recent_catalog(&self, call: &Call) -> Result<Arc<Catalog>, VaultError> {
        let compared = lock(&self.catalog).compared;
        match compared.is_some_and(|compared| call.now.duration_since(compared) <= RECENT) {
            true => Ok(self.known_catalog()),
            false => self.catalog(call),
        }
    }

    /// Returns the catalog as far as it is known, own writes included; nothing is looked at.
    pub(crate) fn known_catalog(&self) -> Arc<Catalog> {
        Arc::clone(&lock(&self.catalog).catalog)
    }

    fn compare(&self, known: &Catalog, found: Vec<(VaultPath, Stat)>, call: &Call) -> Result<Changes, VaultError> {
        let (folders, files): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, stat)| stat.kind == EntryKind::Folder);
        // The walk is sorted by path.
        let is_gone = |path: &&VaultPath| files.binary_search_by(|(found, _)| found.cmp(path)).is_err();
        let gone: Vec<&VaultPath> = known.notes.keys().chain(known.files.keys()).filter(is_gone).collect();
        let mut changes = Changes::default();
        gone.into_iter().for_each(|path| changes.forget(known, path));
        for (path, stat) in files {
            let note = known.notes.get(&path);
            if stat.kind != EntryKind::File {
                changes.forget(known, &path);
            } else if path.is_note() && note.is_none_or(|note| !note.is_still(&stat)) {
                call.check()?;
                let now = Arc::new(self.look_at(&path, stat, call.now));
                let before = note.cloned();
                changes.notes.push(NoteChange { path, before, now: Some(now) });
            } else if !path.is_note() && known.files.get(&path).is_none_or(|file| file.stat != stat) {
                changes.files.push((path, Some(File { stat })));
            }
        }
        changes.folders = folders.into_iter().map(|(path, _)| path).collect();
        Ok(changes)
    }

    /// Describes a note; one that cannot be read is known by its name.
    fn look_at(&self, path: &VaultPath, stat: Stat, now: Timestamp) -> Note {
        match self.read_stored(path) {
            Ok(text) => Note::new(path, text.stat, Some(&vault_markdown::parse(&text.text)), now),
            Err(_) => Note::new(path, stat, None, now),
        }
    }

    /// Tells the catalog, once there is one, about a write of ours.
    fn tell(&self, path: &VaultPath, draft: &Draft, stat: Option<Stat>, call: &Call) {
        let mut known = lock(&self.catalog);
        if known.compared.is_none() {
            return;
        }
        if let Some(stat) = stat {
            let note = Note::new(path, stat, Some(&draft.document), call.now);
            Arc::make_mut(&mut known.catalog).put_note(path.clone(), Arc::new(note));
        }
    }
}

/// What a walk found to be otherwise than the catalog said.
#[derive(Default)]
struct Changes {
    folders: BTreeSet<VaultPath>,
    files: Vec<(VaultPath, Option<File>)>,
    notes: Vec<NoteChange>,
}

struct NoteChange {
    path: VaultPath,
    /// What the catalog said when the walk was compared with it.
    before: Option<Arc<Note>>,
    now: Option<Arc<Note>>,
}

impl Changes {
    fn forget(&mut self, known: &Catalog, path: &VaultPath) {
        match known.notes.get(path) {
            Some(note) => self.notes.push(NoteChange { path: path.clone(), before: Some(note.clone()), now: None }),
            None => self.files.push((path.clone(), None)),
        }
    }

    /// Brings the catalog up to date. What a write of ours told it since the walk is newer, and stays.
    fn apply(self, catalog: &mut Arc<Catalog>) {
        let catalog = Arc::make_mut(catalog);
        for NoteChange { path, before, now } in self.notes {
            let known = catalog.notes.get(&path);
            if known.map(Arc::as_ptr) != before.as_ref().map(Arc::as_ptr) {
                continue;
            }
            match now {
                Some(note) => catalog.put_note(path, note),
                None => catalog.remove(&path),
            }
        }
        for (path, now) in self.files {
            match now {
                Some(file) => catalog.put_file(path, file),
                None => catalog.remove(&path),
            }
        }
        catalog.folders = self.folders;
    }
}

fn author<'a>(tool: &'a str, call: &'a Call) -> Author<'a> {
    Author { operation: &call.operation, time: call.now, tool, client: &call.client }
}

/// A thread that panicked while it held the lock left a value that is whole: each change is one assignment or insert.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
