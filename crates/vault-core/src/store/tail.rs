//! Following this machine's log: which files other processes of this machine have changed since the last look.

use std::io::{self, ErrorKind};
use std::sync::PoisonError;

use jiff::{SignedDuration, Timestamp};

use super::disk::{Disk, Folder, join};
use super::log::{segment_name, segments};
use super::record::{Record, RecordKind, scan};
use super::writing::LOGS;
use super::{HIDDEN, Store};
use crate::limits::MAX_LOG_READ_BYTES;
use crate::path::VaultPath;

/// How far this process has followed the log.
#[derive(Default)]
pub(super) struct Tail {
    /// The machine's folder of segments, once there is one.
    room: Option<Folder>,
    segment: u32,
    end: u64,
    /// Changes that were announced and may not have been made yet.
    open: Vec<Record>,
    /// Whether there was no log at an earlier look: then all of one that appears is new.
    was_absent: bool,
    /// What a look found that could not go to its end.
    kept: Vec<VaultPath>,
}

/// What others wrote since the last look.
#[derive(Debug, Default)]
pub struct Tailed {
    /// Files and folders that changed, or are about to.
    pub paths: Vec<VaultPath>,
    /// Set when the log was followed for the first time, or is another one now: anything may have changed before.
    pub begun: bool,
}

/// How long a change that nobody marked as done is looked for: its process is dead after that, and whoever settles it
/// writes a record of its own.
const OPEN_TIME: SignedDuration = SignedDuration::from_secs(60);

/// Follows the log to its end. Costs two looks at file states when nothing happened.
pub(super) fn follow(store: &Store, now: Timestamp) -> io::Result<Tailed> {
    let mut tail = store.tail.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tailed = Tailed { paths: std::mem::take(&mut tail.kept), begun: false };
    match follow_on(store, now, &mut tail, &mut tailed) {
        Ok(()) => Ok(tailed),
        Err(error) => {
            tail.kept = tailed.paths;
            if tailed.begun {
                // so is the next look
                tail.room = None;
            }
            Err(error)
        }
    }
}

fn follow_on(store: &Store, now: Timestamp, tail: &mut Tail, tailed: &mut Tailed) -> io::Result<()> {
    let disk = &*store.disk;
    if tail.room.is_none() {
        let Some(room) = room(store)? else {
            tail.was_absent = true;
            return Ok(());
        };
        tailed.begun = !tail.was_absent;
        *tail = begin(disk, room, tail.was_absent)?;
    }
    tail.open.retain(|record| now.duration_since(record.time) < OPEN_TIME);
    tailed.paths.extend(tail.open.iter().flat_map(paths_of));
    while let Some(room) = &tail.room {
        match disk.stat(room.at(&segment_name(tail.segment))) {
            Ok(stat) if stat.size == tail.end => {}
            Ok(stat) if stat.size > tail.end => tail.read_on(disk, &mut tailed.paths)?,
            Ok(_) => return lost(tail, tailed),
            Err(error) if error.kind() == ErrorKind::NotFound => return lost(tail, tailed),
            Err(error) => return Err(error),
        }
        let Some(room) = &tail.room else { break };
        match disk.stat(room.at(&segment_name(tail.segment + 1))) {
            Ok(_) => (tail.segment, tail.end) = (tail.segment + 1, 0),
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Somebody removed the log, cut it or put another in its place.
fn lost(tail: &mut Tail, tailed: &mut Tailed) -> io::Result<()> {
    *tail = Tail::default();
    tailed.begun = true;
    Ok(())
}

/// Opens this machine's part of the log. Nothing is made, not even a name for the machine, in a vault without a log.
fn room(store: &Store) -> io::Result<Option<Folder>> {
    let found = store.disk.folder(&join(HIDDEN, LOGS)).and_then(|logs| {
        let machine = store.machine().map_err(io::Error::other)?;
        store.disk.child(&logs, machine.as_str())
    });
    match found {
        Ok(room) => Ok(Some(room)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Begins at the end of what is there, or with all of it.
fn begin(disk: &dyn Disk, room: Folder, with_all: bool) -> io::Result<Tail> {
    let segments = segments(disk, &room)?;
    let first = if with_all { segments.first() } else { segments.last() };
    let Some(segment) = first.copied() else {
        return Ok(Tail { was_absent: true, ..Tail::default() });
    };
    let mut tail = Tail { room: Some(room), segment, ..Tail::default() };
    if !with_all {
        tail.read_on(disk, &mut vec![])?;
    }
    Ok(tail)
}

impl Tail {
    fn read_on(&mut self, disk: &dyn Disk, paths: &mut Vec<VaultPath>) -> io::Result<()> {
        let Some(room) = &self.room else { return Ok(()) };
        let bytes = match disk.read(room.at(&segment_name(self.segment)), self.end, MAX_LOG_READ_BYTES) {
            Ok((bytes, _)) => bytes,
            // somebody writes at this moment: what is whole now is read the next time
            Err(error) if error.kind() == ErrorKind::ResourceBusy => return Ok(()),
            Err(error) => return Err(error),
        };
        let scan = scan(&bytes, self.end);
        self.end = scan.end;
        for placed in scan.records {
            let record = placed.record;
            paths.extend(paths_of(&record));
            match record.kind {
                RecordKind::Write | RecordKind::Folder => self.open.push(record),
                RecordKind::Done | RecordKind::Void => self.open.retain(|open| open.id != record.id),
                RecordKind::Outside | RecordKind::Opening => {}
            }
        }
        Ok(())
    }
}

fn paths_of(record: &Record) -> impl Iterator<Item = VaultPath> {
    record.changes.iter().map(|change| change.path.clone())
}
