//! The one room with a disk: the vault's files, its lock, its log, and what this machine knows of it.
//!
//! A write goes through one road (`write.rs`): look, lock, look again; stage the new bytes and write them to the log at
//! the same time; let the staged file and the note change places; look at what came out (`swap.rs`). What a dead
//! process left half done is finished by the next one that takes the lock (`settle.rs`); replaced files are cleared
//! away once nobody can write into them any more (`sweep.rs`). Everything goes through the small [`Disk`] trait.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the one room with a disk")]

pub mod disk;
mod helper;
mod history;
#[cfg(test)]
mod laws;
mod lock;
mod log;
#[cfg(any(test, not(unix)))]
#[cfg_attr(unix, allow(dead_code, unreachable_pub, reason = "tested here, used elsewhere"))]
mod portable;
#[cfg(unix)]
mod real;
mod record;
mod refusal;
mod settle;
#[cfg(test)]
mod sim;
mod state;
mod swap;
mod sweep;
mod tail;
mod visit;
mod walk;
mod write;
mod writing;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use jiff::Timestamp;

pub use disk::{Disk, EntryKind, Stat};
pub use history::{Damage, History, Logged};
#[cfg(not(unix))]
pub use portable::RealDisk;
#[cfg(unix)]
pub use real::RealDisk;
pub use record::{Change, Record, RecordKind};
pub use state::{MachineId, make_private_folder};
pub use sweep::LateSave;
pub use tail::Tailed;
pub use visit::{Care, Visited, Visitor};
pub use walk::Keep;

use crate::call::OperationId;
use crate::error::VaultError;
use crate::limits::{DISPLACED_AGE, MAX_IGNORE_FILE_BYTES};
use crate::path::VaultPath;
use crate::switches::Settings;
use crate::version::Version;
use refusal::Doing;

/// Name of the folder that holds what we keep in a vault: the lock, temporary files, the log.
pub(crate) const HIDDEN: &str = ".vault";

/// The vault's files, its lock and its log. Threads share one; processes each open their own.
pub struct Store {
    disk: Arc<dyn Disk>,
    machine: OnceLock<MachineId>,
    state: Option<state::State>,
    turn: lock::Turn<writing::Desk>,
    /// Set once this process has written, so that our folders are there and taking the lock changes nothing.
    has_begun: AtomicBool,
    /// How long a replaced file is kept at least.
    displaced_age: Duration,
    helper: helper::Helper,
    class: OnceLock<Class>,
    history: Mutex<history::Reader>,
    tail: Mutex<tail::Tail>,
}

/// How a vault's file system lets us replace a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Old and new file change places in one step: there is a file at the path at every moment.
    Exchange,
    /// The old file is moved aside first: for an instant there is no file at the path.
    MoveAside,
}

/// A whole file as it was at one moment.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their version.
    pub version: Version,
    /// What is known of the file.
    pub stat: Stat,
}

/// A whole file as a caller read it.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Their version.
    pub version: &'a Version,
    /// What was known of the file.
    pub stat: &'a Stat,
}

impl Content {
    /// Returns the content as something that was read.
    pub fn seen(&self) -> Seen<'_> {
        Seen { bytes: &self.bytes, version: &self.version, stat: &self.stat }
    }
}

/// What a folder shows.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Files and folders, sorted by name. No symbolic links, nothing that no path can name.
    pub entries: Vec<Entry>,
    /// How many names were left out because they are not UTF-8.
    pub unreadable_names: usize,
}

/// A name in a folder, spelled as on disk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// One segment.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// On whose behalf a change is made; kept in the log.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    /// Operation that the change is part of.
    pub operation: &'a OperationId,
    /// When.
    pub time: Timestamp,
    /// Name of the operation, e.g. `edit_note`.
    pub tool: &'a str,
    /// Program that asked, e.g. `claude-code 2.1.280`.
    pub client: &'a str,
}

/// An accepted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Version of the file now.
    pub version: Version,
    /// What is known of the file now; `None` when it could not be looked at any more.
    pub stat: Option<Stat>,
}

impl Store {
    /// Opens the vault in a folder of this computer. Nothing is made, in the vault or elsewhere.
    pub fn open(root: &Path) -> Result<Store, VaultError> {
        let unavailable = |source| VaultError::VaultUnavailable { source };
        let disk = RealDisk::open(root).map_err(unavailable)?;
        Store::on_real(disk)
    }

    /// Opens the vault in a folder that is already opened.
    pub fn on_real(disk: RealDisk) -> Result<Store, VaultError> {
        let stat = disk.root_stat().map_err(|source| VaultError::VaultUnavailable { source })?;
        let state = state::State::of(disk.path(), &stat);
        Ok(Store { state: Some(state), ..Store::with(Arc::new(disk), OnceLock::new()) })
    }

    /// Opens the vault on any disk, as that machine. Such a store has no settings.
    pub fn on(disk: Box<dyn Disk>, machine: MachineId) -> Store {
        Store::with(Arc::from(disk), OnceLock::from(machine))
    }

    fn with(disk: Arc<dyn Disk>, machine: OnceLock<MachineId>) -> Store {
        let turn = lock::Turn::new(writing::Desk::default());
        let (helper, class, history) = (helper::Helper::default(), OnceLock::new(), Mutex::default());
        let tail = Mutex::default();
        Store {
            disk,
            machine,
            state: None,
            turn,
            has_begun: AtomicBool::new(false),
            displaced_age: DISPLACED_AGE,
            helper,
            class,
            history,
            tail,
        }
    }

    /// Keeps replaced files for another time than the usual one, so that tests need not wait.
    pub fn with_displaced_age(self, displaced_age: Duration) -> Store {
        Store { displaced_age, ..self }
    }

    /// Keeps what can be made again in another folder than the usual one, so that tests leave nothing behind.
    pub fn with_cache_folder(mut self, folder: &Path) -> Store {
        self.state = self.state.map(|state| state.with_cache(folder));
        self
    }

    /// Refuses when the vault's folder is gone, or another one has its name.
    pub fn check(&self) -> Result<(), VaultError> {
        self.disk.check_root().map_err(|source| VaultError::VaultUnavailable { source })
    }

    /// Reads a whole regular file. Larger than `limit` bytes is `too_large`; a pipe or a device never makes us wait.
    pub fn read(&self, path: &VaultPath, limit: u64) -> Result<Content, VaultError> {
        let refused = |error| self.refusal(path, Doing::Reading, error);
        let folder = self.disk.folder(path.parent().as_str()).map_err(refused)?;
        self.read_at(path, folder.at(path.name()), limit)
    }

    /// The same without a version, for what is only looked at.
    pub fn peek(&self, path: &VaultPath, limit: u64) -> Result<(Vec<u8>, Stat), VaultError> {
        let refused = |error| self.refusal(path, Doing::Reading, error);
        let folder = self.disk.folder(path.parent().as_str()).map_err(refused)?;
        self.disk.read(folder.at(path.name()), 0, limit).map_err(|error| self.unread(path, limit, error))
    }

    fn read_at(&self, path: &VaultPath, at: disk::At, limit: u64) -> Result<Content, VaultError> {
        match self.disk.read(at, 0, limit) {
            Ok((bytes, stat)) => Ok(Content { version: Version::of(&bytes), bytes, stat }),
            Err(error) => Err(self.unread(path, limit, error)),
        }
    }

    fn unread(&self, path: &VaultPath, limit: u64, error: std::io::Error) -> VaultError {
        if error.kind() != std::io::ErrorKind::FileTooLarge {
            return self.refusal(path, Doing::Reading, error);
        }
        let hint = "let a person split it: nothing so large is opened";
        VaultError::TooLarge { what: format!("`{path}`"), limit, hint }
    }

    /// Describes a file or a folder without opening it.
    pub fn stat(&self, path: &VaultPath) -> Result<Stat, VaultError> {
        let refused = |error| self.refusal(path, Doing::Reading, error);
        let folder = self.disk.folder(path.parent().as_str()).map_err(refused)?;
        let name = if path.is_root() { "." } else { path.name() };
        self.disk.stat(folder.at(name)).map_err(refused)
    }

    /// Returns what a folder shows.
    pub fn list(&self, folder: &VaultPath) -> Result<Listing, VaultError> {
        let refused = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotADirectory if self.stat(folder).is_ok() => {
                VaultError::NotFound { what: "folder", path: folder.to_string(), candidates: vec![] }
            }
            _ => self.refusal(folder, Doing::Reading, error),
        };
        let opened = self.disk.folder(folder.as_str()).map_err(refused)?;
        let names = self.disk.list(&opened).map_err(refused)?;
        let shown = names.entries.into_iter().filter(|(name, _)| folder.child(name).is_some());
        let mut entries: Vec<Entry> = shown.filter_map(|(name, kind)| Some(Entry { name, kind: kind? })).collect();
        entries.sort_unstable();
        Ok(Listing { entries, unreadable_names: names.unreadable })
    }

    /// Returns every file and folder that `keep` wants, sorted by path. A folder that is not wanted is not entered.
    pub fn walk(&self, keep: Keep) -> Result<Vec<(VaultPath, Stat)>, VaultError> {
        self.walk_in(&VaultPath::root(), keep)
    }

    /// The same, while `work` is done on another thread: returns what both found. A panic of `work` goes on here.
    pub fn walk_while<T: Send>(
        &self,
        keep: Keep,
        work: impl FnOnce() -> T + Send,
    ) -> Result<(Vec<(VaultPath, Stat)>, T), VaultError> {
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            let found = self.walk(keep);
            let done = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((found?, done))
        })
    }

    /// Walks one folder with all below it.
    pub fn walk_in(&self, folder: &VaultPath, keep: Keep) -> Result<Vec<(VaultPath, Stat)>, VaultError> {
        walk::walk(&*self.disk, folder, keep).map_err(|error| self.refusal(folder, Doing::Reading, error))
    }

    /// Reads many files on several threads, and hands each to the visitor of its thread: paths by their number.
    pub fn visit<'a>(&self, paths: &[&VaultPath], care: Care, limit: u64, begin: &(dyn Fn() -> Visitor<'a> + Sync)) {
        visit::visit(self, paths, care, limit, begin);
    }

    /// Returns the text of `.vaultignore` at the top of the vault, if there is one. One that cannot be read, or is a link,
    /// is an error: what it hides is not known then.
    pub fn ignore_file(&self) -> Result<Option<String>, VaultError> {
        let name = ".vaultignore";
        let root = self.disk.folder("").map_err(|source| VaultError::VaultUnavailable { source })?;
        match self.disk.read(root.at(name), 0, MAX_IGNORE_FILE_BYTES) {
            Ok((bytes, _)) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err(VaultError::AccessDenied { path: name.into(), action: "read" }),
        }
    }

    /// Makes a file that was not there, and the folders that lead to it.
    ///
    /// `exists` when the path is taken, also under another letter case or Unicode form.
    pub fn create(&self, path: &VaultPath, bytes: &[u8], by: &Author) -> Result<Written, VaultError> {
        write::create(self, path, bytes, by)
    }

    /// Gives a file another content, provided that it has the `expected` version; `stale_version` else.
    ///
    /// Writing the bytes that are there already changes nothing and makes no record.
    pub fn replace(
        &self,
        path: &VaultPath,
        expected: &Version,
        bytes: &[u8],
        by: &Author,
    ) -> Result<Written, VaultError> {
        // a caller with an old version is refused before anything is made or locked
        let present = write::present(self, path, expected)?;
        self.replace_seen(path, present.seen(), bytes, by)
    }

    /// The same for a caller who has just read the file: it is read again only if it changed since.
    pub fn replace_seen(&self, path: &VaultPath, seen: Seen, bytes: &[u8], by: &Author) -> Result<Written, VaultError> {
        write::replace(self, path, seen, bytes, by)
    }

    /// Makes a folder, and the folders that lead to it. `exists` as for [`Store::create`].
    pub fn create_folder(&self, path: &VaultPath, by: &Author) -> Result<(), VaultError> {
        write::create_folder(self, path, by)
    }

    /// Clears away replaced files that nobody can write into any more.
    ///
    /// What a program wrote into one after it had been replaced goes to the log, and is returned; so is what writes
    /// found since the last call. Does nothing, and makes nothing, in a vault that was never written.
    pub fn sweep(&self) -> Result<Vec<LateSave>, VaultError> {
        sweep::sweep(self)
    }

    /// Reads the log, of all machines: changes that were made, outside saves that were kept; oldest first.
    pub fn log(&self) -> Result<History, VaultError> {
        history::log(self)
    }

    /// Returns the content of a version, if the log has it.
    pub fn content_of(&self, version: &Version) -> Result<Option<Vec<u8>>, VaultError> {
        history::content_of(self, version)
    }

    /// Follows this machine's log: tells which files its processes, this one included, changed since the last look.
    pub fn tail(&self, now: Timestamp) -> Result<Tailed, VaultError> {
        tail::follow(self, now).map_err(refusal::refusal_of_own)
    }

    /// Tells how this vault's file system lets us replace a file; `None` before the first replacement.
    pub fn class(&self) -> Option<Class> {
        self.class.get().copied()
    }

    /// Reads what a person has set for this vault on this machine. An unreadable setting is an error: allow nothing.
    pub fn settings(&self) -> Result<Settings, VaultError> {
        let read = self.state.as_ref().map_or_else(|| Ok(Settings::default()), state::State::settings);
        read.map_err(|source| VaultError::Io { doing: "reading this vault's switches".into(), source })
    }

    /// Changes what a person has set; every process sees it at its next call.
    pub fn change_settings(&self, change: impl FnOnce(&mut Settings)) -> Result<Settings, VaultError> {
        let Some(state) = &self.state else {
            return Err(VaultError::Internal { what: "this store keeps no settings".into() });
        };
        let failed = |source| VaultError::Io { doing: "keeping this vault's switches".into(), source };
        state.change(change).map_err(failed)
    }

    /// Returns the folder where this machine may keep what it knows of the vault; `None` on disks of tests. It may not
    /// be there yet.
    pub fn state_folder(&self) -> Option<&Path> {
        self.state.as_ref().map(state::State::folder)
    }

    /// Returns the folder where this machine may keep what can be made again from the vault; `None` on disks of tests. It
    /// may not be there yet.
    pub fn cache_folder(&self) -> Option<&Path> {
        self.state.as_ref().map(state::State::cache)
    }

    /// Returns the canonical path of the vault's folder; `None` on disks of tests.
    pub fn root(&self) -> Option<&Path> {
        self.state.as_ref().map(state::State::root)
    }

    /// Names this machine as the log does.
    pub fn machine(&self) -> Result<&MachineId, VaultError> {
        if let Some(machine) = self.machine.get() {
            return Ok(machine);
        }
        let failed = |source| VaultError::Io { doing: "naming this machine".into(), source };
        let found = match &self.state {
            Some(state) => state.machine().map_err(failed)?,
            None => return Err(VaultError::Internal { what: "a store without a machine".into() }),
        };
        Ok(self.machine.get_or_init(|| found))
    }
}
