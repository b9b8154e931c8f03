//! A vault: the front door of the library, where the store, the catalog and the pure rooms meet.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vault_markdown::Document;

use crate::call::Call;
use crate::catalog::{Catalog, File, Note};
use crate::error::VaultError;
use crate::limits::MAX_NOTE_BYTES;
use crate::path::VaultPath;
use crate::rules::Rules;
use crate::served::Served;
use crate::store::{Author, EntryKind, LateSave, Stat, Store};
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

    /// Returns what `.vaultignore` says now.
    pub(crate) fn rules(&self) -> Result<Arc<Rules>, VaultError> {
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

    /// Makes a note or file; refuses when the name is taken.
    pub(crate) fn create(&self, path: &VaultPath, text: &str, tool: &str, call: &Call) -> Result<Version, VaultError> {
        let written = self.store.create(path, text.as_bytes(), &author(tool, call))?;
        self.tell(path, text, call);
        Ok(written.version)
    }

    /// Puts `text` in the place of `before`, unless that is not what the file holds any more. The same text again
    /// changes nothing.
    pub(crate) fn replace(
        &self,
        path: &VaultPath,
        before: &Text,
        text: &str,
        tool: &str,
        call: &Call,
    ) -> Result<Saved, VaultError> {
        if text == before.text {
            return Ok(Saved { version: before.version.clone(), changed: false });
        }
        let written = self.store.replace(path, &before.version, text.as_bytes(), &author(tool, call))?;
        self.tell(path, text, call);
        Ok(Saved { version: written.version, changed: true })
    }

    /// Makes a folder and those above it.
    pub(crate) fn create_folder(&self, path: &VaultPath, tool: &str, call: &Call) -> Result<(), VaultError> {
        self.store.create_folder(path, &author(tool, call))
    }

    /// Remembers a whole text that goes out with its version.
    pub(crate) fn keep_served(&self, path: &VaultPath, version: &Version, view: &str) {
        lock(&self.served).keep(path, version, view);
    }

    /// Returns the text that went out with this version, when it is still known.
    pub(crate) fn served_text(&self, path: &VaultPath, version: &Version) -> Option<Arc<str>> {
        lock(&self.served).text(path, version)
    }

    /// Returns the catalog as the disk is now: costs a walk, and a look into the files that changed.
    ///
    /// `timeout` when the call's time is over; the next call goes on from there.
    pub fn catalog(&self, call: &Call) -> Result<Arc<Catalog>, VaultError> {
        let rules = self.rules()?;
        let mut known = lock(&self.catalog);
        let found = self.store.walk(&|path, kind| !rules.hide(path, kind == EntryKind::Folder))?;
        self.compare(Arc::make_mut(&mut known.catalog), found, call)?;
        known.compared = Some(call.now);
        Ok(Arc::clone(&known.catalog))
    }

    /// Returns the catalog as it was not long before the call, own writes included: for reports, not for decisions.
    pub(crate) fn recent_catalog(&self, call: &Call) -> Result<Arc<Catalog>, VaultError> {
        {
            let known = lock(&self.catalog);
            let age = known.compared.map(|compared| call.now.duration_since(compared));
            if age.is_some_and(|age| age <= RECENT) {
                return Ok(Arc::clone(&known.catalog));
            }
        }
        self.catalog(call)
    }

    fn compare(&self, catalog: &mut Catalog, found: Vec<(VaultPath, Stat)>, call: &Call) -> Result<(), VaultError> {
        let (folders, files): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, stat)| stat.kind == EntryKind::Folder);
        // The walk is sorted by path.
        let is_gone = |path: &&VaultPath| files.binary_search_by(|(found, _)| found.cmp(path)).is_err();
        let gone: Vec<VaultPath> = catalog.notes.keys().chain(catalog.files.keys()).filter(is_gone).cloned().collect();
        gone.iter().for_each(|path| catalog.remove(path));
        catalog.folders = folders.into_iter().map(|(path, _)| path).collect();
        for (path, stat) in files {
            if stat.kind != EntryKind::File {
                catalog.remove(&path);
            } else if !path.is_note() {
                self.compare_file(catalog, path, stat);
            } else if catalog.notes.get(&path).is_none_or(|note| !note.is_still(&stat)) {
                call.check()?;
                let note = self.look_at(&path, stat, call.now);
                catalog.put_note(path, Arc::new(note));
            }
        }
        Ok(())
    }

    fn compare_file(&self, catalog: &mut Catalog, path: VaultPath, stat: Stat) {
        match catalog.files.get_mut(&path) {
            Some(file) => file.stat = stat,
            None => catalog.put_file(path, File { stat }),
        }
    }

    /// Describes a note; one that cannot be read is known by its name.
    fn look_at(&self, path: &VaultPath, stat: Stat, now: Timestamp) -> Note {
        match self.read_stored(path) {
            Ok(text) => Note::new(path, text.stat, Some(&vault_markdown::parse(&text.text)), now),
            Err(_) => Note::new(path, stat, None, now),
        }
    }

    /// Tells the catalog, once there is one, about a write of ours.
    fn tell(&self, path: &VaultPath, text: &str, call: &Call) {
        let mut known = lock(&self.catalog);
        if known.compared.is_none() {
            return;
        }
        let Ok(stat) = self.store.stat(path) else { return };
        let catalog = Arc::make_mut(&mut known.catalog);
        if path.is_note() {
            let document: Document = vault_markdown::parse(text);
            catalog.put_note(path.clone(), Arc::new(Note::new(path, stat, Some(&document), call.now)));
        } else {
            self.compare_file(catalog, path.clone(), stat);
        }
    }
}

/// How old the catalog behind a report may be.
const RECENT: SignedDuration = SignedDuration::from_secs(2);

fn author<'a>(tool: &'a str, call: &'a Call) -> Author<'a> {
    Author { operation: &call.operation, time: call.now, tool, client: &call.client }
}

/// A thread that panicked while it held the lock left a value that is whole: each change is one assignment or insert.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
