//! Reading the log back: what happened, and the contents it kept. Takes no lock and changes nothing.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, ErrorKind};
use std::sync::PoisonError;

use super::disk::{Disk, Folder, join};
use super::log::{segment_name, segments};
use super::record::{Placed, Record, RecordKind, scan, unpack};
use super::refusal::refusal_of_own;
use super::writing::LOGS;
use super::{HIDDEN, Store};
use crate::error::VaultError;
use crate::limits::MAX_LOG_READ_BYTES;
use crate::version::Version;

/// What the log tells.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Changes and outside saves, oldest first. Changes that were not made are left out.
    pub records: Vec<Logged>,
    /// Places that cannot be read. What they held is reported, never served.
    pub damaged: Vec<Damage>,
}

/// A record and what is known of it.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The record.
    pub record: Record,
    /// Name of the machine that wrote it.
    pub machine: String,
    /// Whether the log says that the change was made. If not, its process is at it, or died; the next write finds out.
    pub settled: bool,
}

/// A place in the log that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Name of the machine that wrote it.
    pub machine: String,
    /// Number of the segment.
    pub segment: u32,
    /// Where in it, in bytes.
    pub offset: u64,
}

/// What this process has read so far, by machine and segment.
#[derive(Default)]
pub(super) struct Reader(BTreeMap<(String, u32), Segment>);

#[derive(Default)]
struct Segment {
    end: u64,
    records: Vec<Placed>,
    damaged: Vec<u64>,
}

/// Returns everything that the log tells.
pub(super) fn log(store: &Store) -> Result<History, VaultError> {
    read(store).map_err(refusal_of_own)
}

/// Returns one content.
pub(super) fn content_of(store: &Store, version: &Version) -> Result<Option<Vec<u8>>, VaultError> {
    find(store, version).map_err(refusal_of_own)
}

pub(super) fn read(store: &Store) -> io::Result<History> {
    let mut reader = store.history.lock().unwrap_or_else(PoisonError::into_inner);
    refresh(&mut reader, &*store.disk)?;
    let mut history = History::default();
    let (mut done, mut void) = (HashSet::new(), HashSet::new());
    for ((machine, segment), part) in &reader.0 {
        let damage = |offset: &u64| Damage { machine: machine.clone(), segment: *segment, offset: *offset };
        history.damaged.extend(part.damaged.iter().map(damage));
        for Placed { record, .. } in &part.records {
            match record.kind {
                RecordKind::Done => drop(done.insert(record.id.clone())),
                RecordKind::Void => drop(void.insert(record.id.clone())),
                RecordKind::Opening => {}
                RecordKind::Write | RecordKind::Folder | RecordKind::Outside => {
                    let (record, machine) = (record.clone(), machine.clone());
                    history.records.push(Logged { record, machine, settled: false });
                }
            }
        }
    }
    let is_outside = |logged: &Logged| logged.record.kind == RecordKind::Outside;
    // who made the change knows better than whoever took it for dead
    let is_void = |id: &String| void.contains(id) && !done.contains(id);
    history.records.retain(|logged| is_outside(logged) || !is_void(&logged.record.id));
    for logged in &mut history.records {
        logged.settled = is_outside(logged) || done.contains(&logged.record.id);
    }
    history.records.sort_by_key(|logged| logged.record.time);
    Ok(history)
}

/// Returns the record with which a change began, whatever became of it. An error when it may be among what is damaged.
pub(super) fn beginning_of(store: &Store, id: &str) -> io::Result<Option<Record>> {
    let mut reader = store.history.lock().unwrap_or_else(PoisonError::into_inner);
    refresh(&mut reader, &*store.disk)?;
    let begins = |record: &&Record| record.id == id && matches!(record.kind, RecordKind::Write | RecordKind::Folder);
    let records = reader.0.values().flat_map(|part| &part.records).map(|placed| &placed.record);
    match records.into_iter().find(begins) {
        None if reader.0.values().any(|part| !part.damaged.is_empty()) => Err(io::Error::other("the log is damaged")),
        found => Ok(found.cloned()),
    }
}

pub(super) fn find(store: &Store, version: &Version) -> io::Result<Option<Vec<u8>>> {
    let mut reader = store.history.lock().unwrap_or_else(PoisonError::into_inner);
    refresh(&mut reader, &*store.disk)?;
    for ((machine, segment), part) in reader.0.iter().rev() {
        let holds = |placed: &&Placed| placed.record.contents.iter().any(|piece| piece.version == *version);
        for placed in part.records.iter().filter(holds) {
            let folder = store.disk.folder(&format!("{HIDDEN}/{LOGS}/{machine}"))?;
            let name = segment_name(*segment);
            let (bytes, _) = store.disk.read(folder.at(&name), placed.offset, MAX_LOG_READ_BYTES)?;
            // checked again as it is served: the disk may have changed since the first look
            if let Some(content) = unpack(&bytes, version) {
                return Ok(Some(content));
            }
        }
    }
    Ok(None)
}

fn refresh(reader: &mut Reader, disk: &dyn Disk) -> io::Result<()> {
    let logs = match disk.folder(&join(HIDDEN, LOGS)) {
        Ok(logs) => logs,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            reader.0.clear();
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for (machine, _) in disk.list(&logs)?.entries {
        let Ok(folder) = disk.child(&logs, &machine) else { continue };
        for number in segments(disk, &folder)? {
            let part = reader.0.entry((machine.clone(), number)).or_default();
            if let Err(error) = read_on(part, disk, &folder, &segment_name(number)) {
                // one segment that cannot be read, e.g. half copied by a sync program, does not hide the others
                if !matches!(error.kind(), ErrorKind::NotFound) && !part.damaged.contains(&part.end) {
                    part.damaged.push(part.end);
                }
            }
        }
    }
    Ok(())
}

fn read_on(part: &mut Segment, disk: &dyn Disk, folder: &Folder, name: &str) -> io::Result<()> {
    let size = disk.stat(folder.at(name))?.size;
    if size < part.end {
        *part = Segment::default();
    }
    if size == part.end {
        return Ok(());
    }
    let bytes = match disk.read(folder.at(name), part.end, MAX_LOG_READ_BYTES) {
        Ok((bytes, _)) => bytes,
        // somebody writes at this moment: what is whole now is read the next time
        Err(error) if error.kind() == ErrorKind::ResourceBusy => return Ok(()),
        Err(error) => return Err(error),
    };
    let scan = scan(&bytes, part.end);
    part.records.extend(scan.records);
    part.damaged.extend(scan.damaged);
    // what follows the last whole record was cut short, or is being written: no damage, and looked at again
    part.end = scan.end;
    Ok(())
}
