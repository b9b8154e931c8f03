//! Clearing away replaced files, once it is sure that nothing in them is new.
//!
//! A program may have opened a note before we replaced it, and save into it afterwards: then its bytes arrive in the
//! replaced file. So that file is kept a while, and until nobody has it open for writing; then it is compared with the
//! log, and what the log lacks is added to it first.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::time::Duration;

use jiff::Timestamp;

use super::disk::{At, Disk, Writers, join};
use super::record::Record;
use super::refusal::refusal_of_own;
use super::swap::{read_sign, sign_name};
use super::writing::{Displaced, TEMP, Writing};
use super::{HIDDEN, Store, history};
use crate::error::VaultError;
use crate::limits::{DISPLACED_AGE_UNSURE, MAX_NOTE_BYTES, SWEPT_PER_WRITE};
use crate::path::VaultPath;
use crate::version::Version;

/// A content that a program wrote into a file which had already been replaced. It is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateSave {
    /// The note that the program meant.
    pub path: VaultPath,
    /// What it wrote.
    pub version: Version,
}

/// Sweeps everything that is due.
pub(super) fn sweep(store: &Store) -> Result<Vec<LateSave>, VaultError> {
    match store.disk.folder(&join(HIDDEN, TEMP)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(refusal_of_own(error)),
    }
    let mut writing = store.begin()?;
    look_for_leftovers(&mut writing).map_err(refusal_of_own)?;
    for _ in 0..writing.desk.displaced.len() {
        sweep_next(&mut writing);
    }
    Ok(std::mem::take(&mut writing.desk.late))
}

/// Tells whether there may be something to sweep. What this process put there itself has its time; what others left is
/// not known before somebody looked.
pub(super) fn may_be_due(writing: &Writing) -> bool {
    let (store, desk) = (writing.store, &writing.desk);
    let is_due = |first: &Displaced| first.record.is_none() || is_past(&*store.disk, first.since, store.displaced_age);
    !desk.looked || desk.displaced.front().is_some_and(is_due)
}

fn is_past(disk: &dyn Disk, since: Timestamp, least: Duration) -> bool {
    disk.now().duration_since(since).as_secs_f64() >= least.as_secs_f64()
}

/// Sweeps a few files in the course of a write.
pub(super) fn sweep_some(writing: &mut Writing) {
    if !writing.desk.looked && look_for_leftovers(writing).is_err() {
        return;
    }
    for _ in 0..SWEPT_PER_WRITE.min(writing.desk.displaced.len()) {
        sweep_next(writing);
    }
}

fn look_for_leftovers(writing: &mut Writing) -> io::Result<()> {
    let names = writing.store.disk.list(&writing.rooms.temp)?.entries;
    let since = writing.store.disk.now();
    let known = writing.own.iter().chain(&writing.desk.displaced);
    let known: HashSet<String> = known.map(|waiting| waiting.name.clone()).collect();
    let unknown = names.into_iter().map(|(name, _)| name).filter(|name| !known.contains(name));
    let leftovers: Vec<Displaced> = unknown.map(|name| Displaced { name, since, record: None }).collect();
    writing.desk.displaced.extend(leftovers);
    writing.desk.looked = true;
    Ok(())
}

/// Sweeps the file that waits longest. One that has to stay waits again.
fn sweep_next(writing: &mut Writing) {
    let Some(waiting) = writing.desk.displaced.pop_front() else { return };
    let gone = sweep_named(writing, &waiting).unwrap_or(false);
    if !gone {
        writing.desk.displaced.push_back(waiting);
    }
}

fn sweep_named(writing: &mut Writing, waiting: &Displaced) -> io::Result<bool> {
    let name = waiting.name.as_str();
    let rooms = writing.rooms.clone();
    let Some((id, _)) = name.rsplit_once('.') else { return Ok(true) };
    if name != sign_name(id) {
        return sweep_file(writing, rooms.temp.at(name), id, waiting);
    }
    // the files of this change lie beside its note
    let disk = writing.store.disk.clone();
    let folder = match disk.folder(&read_sign(&*disk, &rooms.temp, id)?) {
        Ok(folder) => Some(folder),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut gone = true;
    for end in ["new", "old"] {
        let name = format!(".vault-{id}.{end}");
        if let Some(folder) = &folder {
            gone &= sweep_file(writing, folder.at(&name), id, waiting)?;
        }
    }
    if gone {
        disk.unlink(rooms.temp.at(name))?;
    }
    Ok(gone)
}

/// Removes one file if it is due, after its bytes are known to be in the log.
fn sweep_file(writing: &mut Writing, at: At, id: &str, waiting: &Displaced) -> io::Result<bool> {
    let disk = writing.store.disk.clone();
    let stat = match disk.stat(at) {
        Ok(stat) => stat,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if !is_past(&*disk, stat.changed, writing.store.displaced_age) {
        return Ok(false);
    }
    // what this process put there, it settles itself
    if waiting.record.is_none() && put_back(writing, at, id)? {
        return Ok(true);
    }
    // held until the file is gone: nobody can begin to write between the comparison and the end
    let _lease = match disk.writers(at)? {
        Writers::None(lease) => Some(lease),
        // not every system notes when a file was renamed, so the time counts from when we first saw it here
        Writers::Unknown if is_past(&*disk, waiting.since.max(stat.changed), DISPLACED_AGE_UNSURE) => None,
        Writers::Some | Writers::Unknown => return Ok(false),
    };
    let (bytes, _) = disk.read(at, 0, MAX_NOTE_BYTES)?;
    keep_what_is_new(writing, id, waiting.record.as_ref(), &bytes)?;
    writing.make_log_durable()?;
    disk.unlink(at)?;
    Ok(true)
}

/// Puts a file that was moved aside back to its path when its writer died before anything else was put there. That
/// writer's own machine may never come again, so whoever sweeps does it.
fn put_back(writing: &mut Writing, at: At, id: &str) -> io::Result<bool> {
    if !at.name.ends_with(".old") {
        return Ok(false);
    }
    let unfinished =
        history::read(writing.store)?.records.into_iter().find(|known| known.record.id == id && !known.settled);
    let Some(change) = unfinished.and_then(|known| known.record.changes.into_iter().next()) else { return Ok(false) };
    let disk = writing.store.disk.clone();
    let folder = match disk.folder(change.path.parent().as_str()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        folder => folder?,
    };
    match disk.rename_new(at, folder.at(change.path.name())) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        moved => moved.and_then(|()| disk.sync(&folder)).map(|()| true),
    }
}

fn keep_what_is_new(writing: &mut Writing, id: &str, record: Option<&Record>, bytes: &[u8]) -> io::Result<()> {
    let version = Version::of(bytes);
    if writing.log().knows(&version) || history::find(writing.store, &version)?.is_some() {
        return Ok(());
    }
    let found = match record {
        None => history::beginning_of(writing.store, id)?,
        known => known.cloned(),
    };
    let Some(record) = found else {
        // staged by a process that died before its record was written: never at any note's place
        return Ok(());
    };
    writing.keep_outside(&record, &version, bytes)?;
    if let Some(change) = record.changes.first() {
        writing.desk.late.push(LateSave { path: change.path.clone(), version });
    }
    Ok(())
}
