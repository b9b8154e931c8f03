//! A vault: the front door of the library, where the store, the catalog and the pure rooms meet.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vault_markdown::Document;

use crate::call::Call;
use crate::error::VaultError;
use crate::freshness::Known;
use crate::index::SearchIndex;
use crate::limits::MAX_NOTE_BYTES;
use crate::news::{News, Watch};
use crate::path::VaultPath;
use crate::rules::Rules;
use crate::search::Analyser;
use crate::served::Served;
use crate::store::{Author, LateSave, Seen, Stat, Store};
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
    pub(crate) known: Mutex<Known>,
    /// Held by whoever compares everything.
    pub(crate) comparing: Mutex<()>,
    /// Held by whoever looks at news.
    pub(crate) looking: Mutex<()>,
    pub(crate) news: News,
    index: OnceLock<Arc<dyn SearchIndex>>,
    watch: OnceLock<Arc<dyn Watch>>,
    analysers: Mutex<Vec<Analyser>>,
    served: Mutex<Served>,
    rules: Mutex<Arc<Rules>>,
}

/// An analyser that goes back when it is dropped.
pub(crate) struct Lent<'a> {
    analyser: Analyser,
    home: &'a Mutex<Vec<Analyser>>,
}

impl Deref for Lent<'_> {
    type Target = Analyser;

    fn deref(&self) -> &Analyser {
        &self.analyser
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Analyser {
        &mut self.analyser
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        lock(self.home).push(std::mem::take(&mut self.analyser));
    }
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
            known: Mutex::default(),
            comparing: Mutex::default(),
            looking: Mutex::default(),
            news: News::default(),
            index: OnceLock::new(),
            watch: OnceLock::new(),
            analysers: Mutex::default(),
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
        self.tell(path, &draft.text, &draft.document, written.stat, call);
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
                self.tell(path, &draft.text, &draft.document, written.stat, call);
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

    /// Lets an index answer searches. Only the first one counts.
    pub fn use_index(&self, index: Arc<dyn SearchIndex>) {
        // told of everything from here on
        let _ = self.index.set(index);
    }

    /// Lets somebody watch the vault's folders. Only the first one counts.
    pub fn use_watch(&self, watch: Arc<dyn Watch>) {
        let _ = self.watch.set(watch);
    }

    /// Returns where a watcher notes what happens.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// Lends an analyser; one that was used knows the words.
    pub(crate) fn analyser(&self) -> Lent<'_> {
        let analyser = lock(&self.analysers).pop().unwrap_or_default();
        Lent { analyser, home: &self.analysers }
    }

    pub(crate) fn index(&self) -> Option<&dyn SearchIndex> {
        self.index.get().map(|index| &**index)
    }

    pub(crate) fn watch(&self) -> Option<&dyn Watch> {
        self.watch.get().map(|watch| &**watch)
    }
}

fn author<'a>(tool: &'a str, call: &'a Call) -> Author<'a> {
    Author { operation: &call.operation, time: call.now, tool, client: &call.client }
}

/// A thread that panicked while it held the lock left a value that is whole: each change is one assignment or insert.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
