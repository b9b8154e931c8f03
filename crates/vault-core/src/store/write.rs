//! The road of a write: look, lock, look again, prepare, put in place.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::disk::{At, Disk, EntryKind, Folder, Stat, join, link_error};
use super::record::{Change, Record, RecordKind};
use super::refusal::{Doing, refusal_of_own};
use super::swap::{self, Swap, Temp};
use super::writing::Writing;
use super::{Author, Content, Seen, Store, Written, settle};
use crate::error::VaultError;
use crate::limits::MAX_NOTE_BYTES;
use crate::path::{VaultPath, folded};
use crate::version::Version;

/// Replaces a file of the version that was seen.
pub(super) fn replace(
    store: &Store,
    path: &VaultPath,
    seen: Seen,
    bytes: &[u8],
    by: &Author,
) -> Result<Written, VaultError> {
    if seen.bytes == bytes {
        return Ok(Written { version: seen.version.clone(), stat: Some(seen.stat.clone()) });
    }
    check_writable(path, seen.stat)?;
    let version = Version::of(bytes);
    let mut writing = store.begin()?;
    let rooms = writing.rooms.clone();
    let (folder, name) = parent(store, path)?;
    let note = folder.at(name);
    look_again(store, path, note, seen)?;
    let change = Change { path: path.clone(), before: Some(seen.version.clone()), after: Some(version.clone()) };
    let record = writing.record(RecordKind::Write, change, by);
    let contents = [(&version, bytes), (seen.version, seen.bytes)];
    let temp = Temp::of(&rooms.temp, &record.id);
    prepare(&mut writing, &record, &contents, &temp, Some(note)).map_err(|error| store.refusal_of(path, error))?;
    let swap = Swap { path, record: &record, folder: &folder, note, ours: &version };
    let outcome = match swap::replace(&mut writing, &swap, &temp, seen.version) {
        Err(swap::Trouble::OtherMount) => {
            let beside = Temp::beside(&mut writing, &swap, &temp, bytes, Some(note));
            beside.and_then(|beside| swap::replace(&mut writing, &swap, &beside, seen.version))
        }
        outcome => outcome,
    };
    finish(writing, &swap, outcome)
}

/// Makes a file.
pub(super) fn create(store: &Store, path: &VaultPath, bytes: &[u8], by: &Author) -> Result<Written, VaultError> {
    let version = Version::of(bytes);
    let mut writing = begin_where_free(store, path)?;
    let rooms = writing.rooms.clone();
    let change = Change { path: path.clone(), before: None, after: Some(version.clone()) };
    let record = writing.record(RecordKind::Write, change, by);
    let made = MadeFolders::lead_to(store, path)?;
    let (folder, name) = parent(store, path).inspect_err(|_| made.take_back(store))?;
    let note = folder.at(name);
    let swap = Swap { path, record: &record, folder: &folder, note, ours: &version };
    let temp = Temp::of(&rooms.temp, &record.id);
    let contents = [(&version, bytes)];
    if let Err(error) = prepare(&mut writing, &record, &contents, &temp, None) {
        made.take_back(store);
        return Err(store.refusal_of(path, error));
    }
    let outcome = if store.disk.shapes_new_files(&folder) {
        Err(swap::Trouble::OtherMount)
    } else {
        swap::create(&mut writing, &swap, &temp, &made)
    };
    let outcome = match outcome {
        Err(swap::Trouble::OtherMount) => {
            let beside = Temp::beside(&mut writing, &swap, &temp, bytes, None);
            beside.and_then(|beside| swap::create(&mut writing, &swap, &beside, &made))
        }
        outcome => outcome,
    };
    if outcome.is_err() {
        made.take_back(store);
    }
    finish(writing, &swap, outcome)
}

/// Makes a folder.
pub(super) fn create_folder(store: &Store, path: &VaultPath, by: &Author) -> Result<(), VaultError> {
    let mut writing = begin_where_free(store, path)?;
    let change = Change { path: path.clone(), before: None, after: None };
    let record = writing.record(RecordKind::Folder, change, by);
    writing.append(record.clone(), &[]).map_err(refusal_of_own)?;
    let outcome = MadeFolders::lead_to(store, &path.join("x")).and_then(|made| {
        let synced = made.sync(&*store.disk).map_err(|error| store.refusal(path, Doing::Writing, error));
        synced.inspect_err(|_| made.take_back(store))
    });
    writing.mark(&record, if outcome.is_ok() { RecordKind::Done } else { RecordKind::Void });
    outcome
}

/// Reads a file of the expected version.
pub(super) fn present(store: &Store, path: &VaultPath, expected: &Version) -> Result<Content, VaultError> {
    let (folder, name) = parent(store, path)?;
    expect_version(path, store.read_at(path, folder.at(name), MAX_NOTE_BYTES)?, expected)
}

/// Reads again under the lock, unless the file is the one seen before. An outside save that this misses, because a clock
/// ticks too slowly, is what comes out of the swap, and goes back.
fn look_again(store: &Store, path: &VaultPath, note: At, seen: Seen) -> Result<(), VaultError> {
    let stat = store.disk.stat(note).map_err(|error| store.refusal(path, Doing::Writing, error))?;
    if stat.same_state(seen.stat) {
        return Ok(());
    }
    check_writable(path, &stat)?;
    expect_version(path, store.read_at(path, note, MAX_NOTE_BYTES)?, seen.version).map(drop)
}

/// A file that nobody may write is a person's wish, though the one that takes its place could be written.
fn check_writable(path: &VaultPath, stat: &Stat) -> Result<(), VaultError> {
    if stat.writable {
        return Ok(());
    }
    let source = io::Error::new(ErrorKind::PermissionDenied, "the file is marked read-only");
    Err(VaultError::ReadOnly { path: path.to_string(), source })
}

fn expect_version(path: &VaultPath, content: Content, expected: &Version) -> Result<Content, VaultError> {
    if content.version == *expected {
        return Ok(content);
    }
    Err(VaultError::StaleVersion { path: path.clone(), current: Some(content.version), diff: None })
}

fn parent<'p>(store: &Store, path: &'p VaultPath) -> Result<(Arc<Folder>, &'p str), VaultError> {
    let folder = store.disk.folder(path.parent().as_str());
    Ok((Arc::new(folder.map_err(|error| store.refusal(path, Doing::Writing, error))?), path.name()))
}

/// Stages the file and writes the record, at the same time. When either fails, neither counts.
fn prepare(
    writing: &mut Writing,
    record: &Record,
    contents: &[(&Version, &[u8])],
    temp: &Temp,
    like: Option<At>,
) -> std::io::Result<()> {
    let (disk, rooms) = (writing.store.disk.clone(), writing.rooms.clone());
    let ready = writing.log().prepare(record.clone(), contents)?;
    let ready = Arc::new(ready);
    let write = {
        let (disk, ready) = (disk.clone(), ready.clone());
        move || ready.write(&*disk, &rooms.log)
    };
    let (_, bytes) = contents[0];
    let (logged, staged) = writing.store.helper.both(&*disk, write, || disk.stage(temp.staged(), bytes, like));
    writing.log().appended(&ready, &logged);
    if staged.is_ok() && logged.is_ok() {
        return Ok(());
    }
    if staged.is_ok() {
        // it has never been at the note's place, so nobody else can have it open
        let _ = disk.unlink(temp.staged());
    }
    if logged.is_ok() {
        writing.mark(record, RecordKind::Void);
    }
    staged.and(logged)
}

/// Writes down what became of the change.
fn finish(mut writing: Writing, swap: &Swap, outcome: Result<(), swap::Trouble>) -> Result<Written, VaultError> {
    match outcome {
        Ok(()) => {
            let stat = writing.store.disk.stat(swap.note).ok();
            writing.mark(swap.record, RecordKind::Done);
            Ok(Written { version: swap.ours.clone(), stat })
        }
        Err(swap::Trouble::Refused(error)) => {
            settle::settle_refused(&mut writing, swap.record);
            Err(error)
        }
        Err(swap::Trouble::OtherMount) => {
            settle::settle_refused(&mut writing, swap.record);
            Err(VaultError::Internal { what: "a folder and its own file are on two file systems".into() })
        }
    }
}

impl Store {
    /// Says why preparing a change of `path` failed.
    fn refusal_of(&self, path: &VaultPath, error: std::io::Error) -> VaultError {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => refusal_of_own(error),
            _ => self.refusal(path, Doing::Writing, error),
        }
    }
}

/// Begins a creation. A first one looks before it begins, because beginning makes our folders.
fn begin_where_free<'a>(store: &'a Store, path: &VaultPath) -> Result<Writing<'a>, VaultError> {
    if !store.has_begun.load(Ordering::Acquire) {
        refuse_taken(store, path)?;
    }
    let writing = store.begin()?;
    refuse_taken(store, path)?;
    Ok(writing)
}

/// Refuses a path that is taken, or that differs from one on disk only by letter case or Unicode form.
fn refuse_taken(store: &Store, path: &VaultPath) -> Result<(), VaultError> {
    let refused = |error| store.refusal(path, Doing::Writing, error);
    let disk = &*store.disk;
    let mut folder = disk.folder("").map_err(refused)?;
    let mut segments = path.segments().peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match disk.stat(folder.at(segment)) {
            Ok(stat) if is_last || stat.kind != EntryKind::Folder => {
                return Err(VaultError::Exists { path: folder.at(segment).place() });
            }
            Ok(_) => folder = disk.child(&folder, segment).map_err(refused)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return match namesake(disk, &folder, segment).map_err(refused)? {
                    Some((name, Some(_))) => Err(VaultError::Exists { path: join(&folder.place, &name) }),
                    // a link is nothing that callers see, so its name is not told
                    Some((_, None)) => Err(refused(link_error())),
                    None => Ok(()),
                };
            }
            Err(error) => return Err(refused(error)),
        }
    }
    Err(VaultError::Exists { path: path.to_string() })
}

/// Returns the name on disk that some file systems would take for `name`.
fn namesake(disk: &dyn Disk, folder: &Folder, name: &str) -> std::io::Result<Option<(String, Option<EntryKind>)>> {
    let wanted = folded(name);
    let same = |other: &str| match other.is_ascii() {
        // folding ASCII is lower-casing it, and most names are ASCII
        true => other.eq_ignore_ascii_case(&wanted),
        false => folded(other) == wanted,
    };
    let names = disk.list(folder)?.entries;
    Ok(names.into_iter().find(|(other, _)| same(other)))
}

/// Folders that a write made on its way, to be taken back when it is refused.
pub(super) struct MadeFolders(Vec<String>);

impl MadeFolders {
    /// Makes the missing folders above `path`.
    fn lead_to(store: &Store, path: &VaultPath) -> Result<MadeFolders, VaultError> {
        let mut made = MadeFolders(Vec::new());
        let mut make = || {
            let mut folder = store.disk.folder("")?;
            for segment in path.parent().segments() {
                match store.disk.create_folder(folder.at(segment), false) {
                    Ok(()) => made.0.push(folder.at(segment).place()),
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    // a file system that cannot be written says so even where the folder is there
                    Err(error) if store.disk.stat(folder.at(segment)).is_err() => return Err(error),
                    Err(_) => {}
                }
                folder = store.disk.child(&folder, segment)?;
            }
            Ok(())
        };
        match make() {
            Ok(()) => Ok(made),
            Err(error) => {
                made.take_back(store);
                Err(store.refusal(path, Doing::Writing, error))
            }
        }
    }

    /// Makes their names durable.
    pub(super) fn sync(&self, disk: &dyn Disk) -> std::io::Result<()> {
        self.0.iter().try_for_each(|place| {
            let above = place.rsplit_once('/').map_or("", |(above, _)| above);
            disk.sync(&disk.folder(above)?)
        })
    }

    /// Removes those that are still empty.
    fn take_back(&self, store: &Store) {
        for place in self.0.iter().rev() {
            let (above, name) = place.rsplit_once('/').unwrap_or(("", place));
            let Ok(folder) = store.disk.folder(above) else { continue };
            let _ = store.disk.remove_folder(folder.at(name));
        }
    }
}
