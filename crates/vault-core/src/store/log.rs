//! Writing the log: appends under the vault's lock, and what a writer must know of the log's end.

use std::collections::HashSet;
use std::io;

use super::disk::{Disk, Folder, Stat};
use super::record::{Encoder, FRAME, Placed, Record, RecordKind, scan};
use crate::limits::{LOG_SEGMENT_BYTES, MAX_LOG_READ_BYTES};
use crate::version::Version;

/// The end of this machine's log as this process knows it. Used only while the vault's lock is held.
pub(super) struct Log {
    encoder: Encoder,
    /// Segment that is written to; 0 before there is one.
    segment: u32,
    /// End of its last whole record.
    end: u64,
    /// Where that record begins, and the first bytes of it, by which it is known again.
    last: (u64, Vec<u8>),
    /// State of the segment's file when all of it was known last.
    known_state: Option<Stat>,
    /// Whether something else lies behind that: then it is left as it is, and the next record starts a segment.
    torn: bool,
    looked: bool,
    /// Whether records of other processes were read that nothing has made durable since: one may have been killed
    /// before it could.
    unsynced: bool,
    /// Segment in which a write or its sync failed. A later sync may say that all is well and leave a hole, so nothing
    /// in there is relied on, and the next record starts a segment.
    failed: Option<u32>,
    /// Changes that are neither done nor void.
    open: Vec<Record>,
    /// Versions whose content this process has seen in the present segment. Each segment holds all contents that its
    /// changes replace or make, so that the loss of one takes nothing from the others.
    known: HashSet<Version>,
}

impl Log {
    pub(super) fn new() -> io::Result<Log> {
        let (encoder, last, open, known) = (Encoder::new()?, (0, vec![]), vec![], HashSet::new());
        let (known_state, torn, looked, unsynced, failed) = (None, false, false, false, None);
        Ok(Log { encoder, segment: 0, end: 0, last, known_state, torn, looked, unsynced, failed, open, known })
    }

    /// Reads what other processes appended since the last time. What stays open afterwards belongs to dead processes.
    pub(super) fn catch_up(&mut self, disk: &dyn Disk, folder: &Folder) -> io::Result<()> {
        let mut moved_on = !self.looked;
        let known = self.looked.then(|| self.read_on(disk, folder)).transpose()?;
        if known != Some(Reading::Continues) {
            // never read, or no longer the log that was read: somebody removed it, cut it or put another in its place
            self.open.clear();
            self.start_at(disk, folder)?;
            self.read_on(disk, folder)?;
            moved_on = true;
        }
        loop {
            match disk.stat(folder.at(&segment_name(self.segment + 1))) {
                Ok(_) => self.enter(self.segment + 1),
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
            self.read_on(disk, folder)?;
            moved_on = true;
        }
        if moved_on {
            // whoever started the segment may have died before its name was durable
            disk.sync(folder)?;
        }
        self.looked = true;
        Ok(())
    }

    /// An opening repeats what was open before it, so reading begins at the last segment that has one.
    fn start_at(&mut self, disk: &dyn Disk, folder: &Folder) -> io::Result<()> {
        self.enter(0);
        for segment in segments(disk, folder)?.into_iter().rev() {
            self.enter(segment);
            let bytes = match disk.read(folder.at(&segment_name(segment)), 0, MAX_LOG_READ_BYTES) {
                Ok((bytes, _)) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // no segment of ours is so long: what follows it is read
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => break,
                Err(error) => return Err(error),
            };
            let first = scan(&bytes, 0).records.into_iter().next();
            if first.is_some_and(|placed| placed.offset == 0 && placed.record.kind == RecordKind::Opening) {
                break;
            }
        }
        Ok(())
    }

    /// Goes to the start of a segment.
    fn enter(&mut self, segment: u32) {
        (self.segment, self.end, self.last, self.known_state, self.torn) = (segment, 0, (0, vec![]), None, false);
        self.known.clear();
    }

    /// Reads what was added to the present segment, the last known record included, which must be there still.
    fn read_on(&mut self, disk: &dyn Disk, folder: &Folder) -> io::Result<Reading> {
        let name = segment_name(self.segment);
        let size = match disk.stat(folder.at(&name)) {
            Ok(stat) if self.known_state.as_ref().is_some_and(|known| stat.same_state(known)) => {
                return Ok(Reading::Continues);
            }
            Ok(stat) => stat.size,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        if size < self.end {
            return Ok(Reading::IsAnother);
        }
        if size == 0 {
            return Ok(Reading::Continues);
        }
        let (start, known) = (self.last.0, self.last.1.len());
        let bytes = match disk.read(folder.at(&name), start, MAX_LOG_READ_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                self.torn = true;
                return Ok(Reading::Continues);
            }
            Err(error) => return Err(error),
        };
        let unread = (self.end - start) as usize;
        if bytes.len() < unread || bytes[..known] != self.last.1 {
            return Ok(Reading::IsAnother);
        }
        let scan = scan(&bytes[unread..], self.end);
        for Placed { record, offset } in scan.records {
            self.remember(&record);
            self.last = (offset, sign(&bytes[(offset - start) as usize..]));
            self.unsynced = true;
        }
        if self.has_failed() {
            self.known.clear();
        }
        (self.end, self.torn) = (scan.end, scan.torn);
        Ok(Reading::Continues)
    }

    fn remember(&mut self, record: &Record) {
        self.known.extend(record.contents.iter().map(|piece| piece.version.clone()));
        match record.kind {
            RecordKind::Write | RecordKind::Folder => self.open.push(record.clone()),
            RecordKind::Done | RecordKind::Void => self.open.retain(|open| open.id != record.id),
            RecordKind::Opening => self.open = record.open.clone(),
            RecordKind::Outside => {}
        }
    }

    /// Returns the changes that nobody finished.
    pub(super) fn open_changes(&self) -> Vec<Record> {
        self.open.clone()
    }

    /// Tells whether this process has seen that content in the log.
    pub(super) fn knows(&self, version: &Version) -> bool {
        self.known.contains(version)
    }

    /// Prepares a record for the end of the log. Contents that the segment is known to hold are left out.
    pub(super) fn prepare(&mut self, mut record: Record, contents: &[(&Version, &[u8])]) -> io::Result<Ready> {
        let fresh: Vec<_> = contents.iter().copied().filter(|(version, _)| !self.known.contains(version)).collect();
        let bytes = self.encoder.encode(&mut record, &fresh)?;
        // markers stay with what they mark, so that one damaged segment does not leave a change half told
        let full = !is_mark(&record) && self.end > 0 && self.end + bytes.len() as u64 > LOG_SEGMENT_BYTES;
        if self.segment > 0 && !self.torn && !full && !self.has_failed() {
            let name = segment_name(self.segment);
            return Ok(Ready { record, opening: vec![], bytes, segment: self.segment, name, unsynced: None });
        }
        let unsynced = (self.unsynced && self.segment > 0).then(|| segment_name(self.segment));
        let segment = self.segment + 1;
        let opening = Record { kind: RecordKind::Opening, changes: vec![], open: self.open.clone(), ..record.clone() };
        let opening = self.encoder.encode(&mut { opening }, &[])?;
        let bytes = self.encoder.encode(&mut record, contents)?;
        Ok(Ready { record, opening, bytes, segment, name: segment_name(segment), unsynced })
    }

    /// Takes note of what became of a prepared record.
    pub(super) fn appended(&mut self, ready: &Ready, outcome: &io::Result<()>) {
        self.known_state = None;
        if outcome.is_err() {
            // some of the bytes may be there: look at the end of the log before the next record
            self.looked = false;
            self.failed = Some(ready.segment);
            return;
        }
        self.unsynced &= is_mark(&ready.record);
        if ready.is_first() {
            self.enter(ready.segment);
        }
        self.last = (self.end + ready.opening.len() as u64, sign(&ready.bytes));
        self.end = self.last.0 + ready.bytes.len() as u64;
        self.remember(&ready.record);
    }

    /// Prepares, appends and takes note.
    pub(super) fn append(
        &mut self,
        disk: &dyn Disk,
        folder: &Folder,
        record: Record,
        contents: &[(&Version, &[u8])],
    ) -> io::Result<()> {
        if !self.looked {
            self.catch_up(disk, folder)?;
        }
        let ready = self.prepare(record, contents)?;
        let outcome = ready.write(disk, folder);
        self.appended(&ready, &outcome);
        if outcome.is_ok() {
            // still under the lock: whoever appends after us changes the size
            self.known_state = disk.stat(folder.at(&ready.name)).ok().filter(|stat| stat.size == self.end);
        }
        outcome
    }

    /// Makes sure that what was read here lasts.
    pub(super) fn make_durable(&mut self, disk: &dyn Disk, folder: &Folder) -> io::Result<()> {
        if self.has_failed() {
            return Err(io::Error::other("the end of the log may be lost"));
        }
        if self.unsynced {
            let synced = disk.append(folder.at(&segment_name(self.segment)), &[], true);
            self.failed = synced.is_err().then_some(self.segment);
            synced?;
            self.unsynced = false;
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.end > 0 && self.failed == Some(self.segment)
    }
}

/// Only marks, which can be found out again, need no sync of their own.
fn is_mark(record: &Record) -> bool {
    matches!(record.kind, RecordKind::Done | RecordKind::Void)
}

/// Whether a segment is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Continues,
    IsAnother,
}

/// A record as it goes to the log.
pub(super) struct Ready {
    record: Record,
    /// What begins the segment; empty when the record is added to one.
    opening: Vec<u8>,
    bytes: Vec<u8>,
    segment: u32,
    name: String,
    /// The segment before a new one, when it may not be durable.
    unsynced: Option<String>,
}

impl Ready {
    fn is_first(&self) -> bool {
        !self.opening.is_empty()
    }

    pub(super) fn write(&self, disk: &dyn Disk, folder: &Folder) -> io::Result<()> {
        if let Some(name) = &self.unsynced {
            disk.append(folder.at(name), &[], true)?;
        }
        let bytes = [&self.opening[..], &self.bytes].concat();
        disk.append(folder.at(&self.name), &bytes, !is_mark(&self.record))?;
        if self.is_first() { disk.sync(folder) } else { Ok(()) }
    }
}

/// Returns the part of a record's bytes by which it is known again.
fn sign(bytes: &[u8]) -> Vec<u8> {
    bytes[..FRAME].to_vec()
}

/// Returns the numbers of the segments in a machine's folder, in order. Files with other names are nobody's segments.
pub(super) fn segments(disk: &dyn Disk, folder: &Folder) -> io::Result<Vec<u32>> {
    let names = disk.list(folder)?.entries;
    let number = |name: &str| name.strip_suffix(".log")?.parse().ok().filter(|number| *number <= LAST_SEGMENT);
    let own = |name: &str| number(name).filter(|number| segment_name(*number) == name);
    let mut numbers: Vec<u32> = names.iter().filter_map(|(name, _)| own(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// More than anybody will ever write: with 8 MiB each, petabytes.
const LAST_SEGMENT: u32 = 999_999_999;

/// Returns the file name of a segment.
pub(super) fn segment_name(number: u32) -> String {
    format!("{number:04}.log")
}
