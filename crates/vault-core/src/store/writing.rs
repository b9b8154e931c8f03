//! Being the one who writes: the turn, the lock, our own folders, and the log read up to its end.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;

use super::disk::{At, Disk, Folder, Lock};
use super::lock::{Held, wait_for};
use super::log::Log;
use super::record::{Change, Record, RecordKind};
use super::refusal::refusal_of_own;
use super::sweep::LateSave;
use super::{Author, HIDDEN, Store, settle};
use crate::error::VaultError;
use crate::limits::LOCK_WAIT;
use crate::version::Version;

/// Name of the folder of staged and replaced files.
pub(super) const TEMP: &str = "tmp";

/// Name of the folder that holds the logs of all machines.
pub(super) const LOGS: &str = "log";

/// What the threads of a process hand each other with the turn.
#[derive(Default)]
pub(super) struct Desk {
    log: Option<Log>,
    rooms: Option<Arc<Rooms>>,
    /// Files that await the sweep.
    pub displaced: VecDeque<Displaced>,
    /// What the sweeps of writes found.
    pub late: Vec<LateSave>,
    /// Whether the folder of temporary files was read for what earlier processes left.
    pub looked: bool,
}

/// A file in the folder of temporary files that awaits the sweep.
pub(super) struct Displaced {
    pub name: String,
    /// Since when this process knows of it.
    pub since: Timestamp,
    /// The change that put it there, when this process made it: the log may be gone by the time of the sweep.
    pub record: Option<Record>,
}

/// The right to write, until it is dropped.
pub(super) struct Writing<'a> {
    pub store: &'a Store,
    // given back before the turn, so that the next thread does not meet it
    _lock: Lock,
    pub desk: Held<'a, Desk>,
    pub rooms: Arc<Rooms>,
    /// Files that this write put into the folder of temporary files. It may still need them, so they await the sweep
    /// when it is over.
    pub own: Vec<Displaced>,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.desk.displaced.extend(self.own.drain(..));
    }
}

/// Our own folders in the vault.
pub(super) struct Rooms {
    root: Folder,
    pub own: Folder,
    pub temp: Folder,
    logs: Folder,
    pub log: Folder,
    /// What the names of the four led to when they were opened.
    identities: [(u64, u64); 4],
}

impl Store {
    /// Waits for the right to write; makes our folders when they are missing; finishes what dead processes left.
    pub(super) fn begin(&self) -> Result<Writing<'_>, VaultError> {
        self.disk.check_root().map_err(|source| VaultError::VaultUnavailable { source })?;
        let machine = self.machine()?;
        let busy = || VaultError::Busy { what: "the vault".into() };
        let mut desk = self.turn.take(LOCK_WAIT).ok_or_else(busy)?;
        let (rooms, lock) = desk.lock_rooms(&*self.disk, machine.as_str()).map_err(refusal_of_own)?.ok_or_else(busy)?;
        let mut writing = Writing { store: self, desk, rooms, own: vec![], _lock: lock };
        writing.catch_up().map_err(refusal_of_own)?;
        settle::settle_open(&mut writing);
        self.has_begun.store(true, Ordering::Release);
        Ok(writing)
    }
}

impl Desk {
    /// Returns our folders and the lock in them; `None` when another process keeps it. The opened ones serve as long as
    /// their names lead to them: somebody may have put others there, also while we waited for the lock.
    fn lock_rooms(&mut self, disk: &dyn Disk, machine: &str) -> io::Result<Option<(Arc<Rooms>, Lock)>> {
        loop {
            let rooms = match self.rooms.take() {
                Some(rooms) => rooms,
                None => Arc::new(Rooms::open(disk, machine, self.log.is_none())?),
            };
            let lock = wait_for(disk, rooms.own.at("lock"), LOCK_WAIT);
            if rooms.are_there(disk, machine) {
                self.rooms = Some(rooms.clone());
                return Ok(lock?.map(|lock| (rooms, lock)));
            }
        }
    }
}

impl Writing<'_> {
    fn catch_up(&mut self) -> io::Result<()> {
        let mut log = match self.desk.log.take() {
            Some(log) => log,
            None => Log::new()?,
        };
        let read = log.catch_up(&*self.store.disk, &self.rooms.log);
        self.desk.log = Some(log);
        read
    }

    /// Returns the log, read up to its end.
    pub(super) fn log(&mut self) -> &mut Log {
        self.desk.log.as_mut().expect("`begin` reads the log before it hands this out")
    }

    /// Writes a record to the log.
    pub(super) fn append(&mut self, record: Record, contents: &[(&Version, &[u8])]) -> io::Result<()> {
        let (store, rooms) = (self.store, self.rooms.clone());
        self.log().append(&*store.disk, &rooms.log, record, contents)
    }

    /// Makes sure that the log keeps what it is known to hold.
    pub(super) fn make_log_durable(&mut self) -> io::Result<()> {
        let (store, rooms) = (self.store, self.rooms.clone());
        self.log().make_durable(&*store.disk, &rooms.log)
    }

    /// Writes what became of a change. Nothing is lost when this fails: the next process finds it out again.
    pub(super) fn mark(&mut self, record: &Record, kind: RecordKind) {
        let _ = self.append(Record { kind, changes: vec![], ..record.clone() }, &[]);
    }

    /// Keeps a content that a program saved without asking us.
    pub(super) fn keep_outside(&mut self, record: &Record, version: &Version, bytes: &[u8]) -> io::Result<()> {
        let change = |change: &Change| Change { before: Some(version.clone()), after: None, ..change.clone() };
        let changes = record.changes.iter().map(change).collect();
        let time = self.store.disk.now();
        self.append(Record { kind: RecordKind::Outside, time, changes, ..record.clone() }, &[(version, bytes)])
    }

    /// Remembers a file for the sweep, which gets it when this write is over.
    pub(super) fn await_sweep(&mut self, name: String, record: Option<&Record>) {
        let since = self.store.disk.now();
        self.own.push(Displaced { name, since, record: record.cloned() });
    }

    /// Begins the record of one change.
    pub(super) fn record(&self, kind: RecordKind, change: Change, by: &Author) -> Record {
        Record {
            kind,
            id: format!("{}-{:08x}", by.operation, self.store.disk.random() as u32),
            operation: by.operation.clone(),
            time: by.time,
            tool: by.tool.to_owned(),
            client: by.client.to_owned(),
            changes: vec![change],
            contents: vec![],
            open: vec![],
        }
    }
}

impl Rooms {
    /// Opens our folders and makes those that are missing. A process that comes first makes sure that their names last.
    fn open(disk: &dyn Disk, machine: &str, is_first: bool) -> io::Result<Rooms> {
        let root = disk.folder("")?;
        let own = open_or_make(disk, root.at(HIDDEN), is_first)?;
        let temp = open_or_make(disk, own.at(TEMP), is_first)?;
        let logs = open_or_make(disk, own.at(LOGS), is_first)?;
        let log = open_or_make(disk, logs.at(machine), is_first)?;
        let mut rooms = Rooms { root, own, temp, logs, log, identities: [(0, 0); 4] };
        rooms.identities = rooms.found(disk, machine)?;
        Ok(rooms)
    }

    fn are_there(&self, disk: &dyn Disk, machine: &str) -> bool {
        self.found(disk, machine).is_ok_and(|found| found == self.identities)
    }

    /// Returns what the names lead to now.
    fn found(&self, disk: &dyn Disk, machine: &str) -> io::Result<[(u64, u64); 4]> {
        let identity = |at: At| disk.stat(at).map(|stat| (stat.device, stat.inode));
        Ok([
            identity(self.root.at(HIDDEN))?,
            identity(self.own.at(TEMP))?,
            identity(self.own.at(LOGS))?,
            identity(self.logs.at(machine))?,
        ])
    }
}

fn open_or_make(disk: &dyn Disk, at: At, is_first: bool) -> io::Result<Folder> {
    let opened = disk.child(at.folder, at.name);
    let missing = opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if !missing && !is_first {
        return opened;
    }
    if missing {
        match disk.create_folder(at, true) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    disk.sync(at.folder)?;
    if missing { disk.child(at.folder, at.name) } else { opened }
}
