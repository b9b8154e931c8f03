//! The moment of a write: the new file takes the note's place, and what comes out is looked at.
//!
//! A program that does not ask us may save between our look and this moment. So nothing that comes out is thrown away,
//! and when it is not what was compared, it goes to the log and back to its place: the newest outside save stays.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::disk::{At, Disk, Folder};
use super::record::Record;
use super::refusal::{Doing, refusal_of_own};
use super::write::MadeFolders;
use super::writing::Writing;
use super::{Class, Store, sweep};
use crate::error::VaultError;
use crate::limits::{MAX_NOTE_BYTES, MAX_PATH_BYTES, SWAP_TRIES};
use crate::path::VaultPath;
use crate::version::Version;

/// What one write is about.
pub(super) struct Swap<'a> {
    pub path: &'a VaultPath,
    pub record: &'a Record,
    /// The note's folder, shared with the thread that may sync it.
    pub folder: &'a Arc<Folder>,
    pub note: At<'a>,
    pub ours: &'a Version,
}

/// The new content is not at the path.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The temporary file lies on another mount than the note: stage it again beside the note.
    OtherMount,
    /// The write is refused.
    Refused(VaultError),
}

/// Where a change keeps its files: the staged one, and the one it moved aside.
pub(super) struct Temp<'a> {
    folder: &'a Folder,
    new: String,
    old: String,
}

impl<'a> Temp<'a> {
    /// Names them in our own folder.
    pub(super) fn of(folder: &'a Folder, id: &str) -> Temp<'a> {
        Temp { folder, new: format!("{id}.new"), old: format!("{id}.old") }
    }

    /// Names them in the note's folder, as dot-files.
    pub(super) fn of_beside(folder: &'a Folder, id: &str) -> Temp<'a> {
        Temp::of(folder, &format!(".vault-{id}"))
    }

    /// Stages the bytes again beside the note. A file in our own folder says where.
    pub(super) fn beside(
        writing: &mut Writing,
        swap: &Swap<'a>,
        first: &Temp,
        bytes: &[u8],
        like: Option<At>,
    ) -> Result<Temp<'a>, Trouble> {
        let (disk, rooms) = (writing.store.disk.clone(), writing.rooms.clone());
        let beside = Temp::of_beside(swap.note.folder, &swap.record.id);
        let sign = sign_name(&swap.record.id);
        let _ = disk.unlink(first.staged());
        disk.stage(rooms.temp.at(&sign), swap.note.folder.place.as_bytes(), None)
            .and_then(|()| disk.sync(&rooms.temp))
            .and_then(|()| disk.stage(beside.staged(), bytes, like))
            .map_err(|error| {
                let _ = disk.unlink(rooms.temp.at(&sign));
                writing.store.trouble(swap, error)
            })?;
        writing.await_sweep(sign, Some(swap.record));
        Ok(beside)
    }

    /// The staged file; after an exchange, the one that was replaced.
    pub(super) fn staged(&self) -> At<'_> {
        self.folder.at(&self.new)
    }

    /// The file that was moved aside.
    pub(super) fn aside(&self) -> At<'_> {
        self.folder.at(&self.old)
    }
}

/// Reads the place of the folder where a change has its files, when they are not in our own folder.
pub(super) fn read_sign(disk: &dyn Disk, own: &Folder, id: &str) -> io::Result<String> {
    let (place, _) = disk.read(own.at(&sign_name(id)), 0, MAX_PATH_BYTES as u64)?;
    Ok(String::from_utf8_lossy(&place).into_owned())
}

/// Name of the file that tells where a change has its files, when they are not in our own folder.
pub(super) fn sign_name(id: &str) -> String {
    format!("{id}.at")
}

/// Puts the staged file in the place of a note of version `before`: `Ok` when it is there, durably.
pub(super) fn replace(writing: &mut Writing, swap: &Swap, temp: &Temp, before: &Version) -> Result<(), Trouble> {
    let store = writing.store;
    match store.disk.exchange(swap.note, temp.staged()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            store.class.get_or_init(|| Class::MoveAside);
            return move_aside(writing, swap, temp, before);
        }
        Err(error) => {
            // the staged file has never been at the note's place
            let _ = store.disk.unlink(temp.staged());
            return Err(store.trouble(swap, error));
        }
    }
    store.class.get_or_init(|| Class::Exchange);
    writing.await_sweep(temp.new.clone(), Some(swap.record));
    let now = steady(writing, swap, temp, before, swap.ours)?;
    if now != *swap.ours {
        return Err(stale(swap, Some(now)));
    }
    if let Err(error) = sync(writing, swap) {
        // not known to last, so it does not count: everything back, under the same watch
        if store.disk.exchange(swap.note, temp.staged()).is_ok() {
            steady(writing, swap, temp, swap.ours, before)?;
            let _ = store.disk.sync(swap.note.folder);
        }
        return Err(store.trouble(swap, error));
    }
    Ok(())
}

/// After an exchange that put `put` at the path: `wanted` should have come out. If something else did, a program saved
/// it after our look; it goes to the log, and back to the path. Returns what is at the path in the end.
fn steady(
    writing: &mut Writing,
    swap: &Swap,
    temp: &Temp,
    wanted: &Version,
    put: &Version,
) -> Result<Version, Trouble> {
    let store = writing.store;
    let (mut wanted, mut put) = (wanted.clone(), put.clone());
    for _ in 0..SWAP_TRIES {
        let out = match store.disk.read(temp.staged(), 0, MAX_NOTE_BYTES) {
            Ok((bytes, _)) => bytes,
            // somebody cleared our folder, and with it what came out: what we put there stays
            Err(error) if error.kind() == ErrorKind::NotFound && holds(store, swap.note, &put) => return Ok(put),
            Err(error) => {
                // whatever it is, it belongs where it was, unless what comes out in turn is a newer save
                let back =
                    give_back(store, swap, temp).and_then(|()| store.disk.read(temp.staged(), 0, MAX_NOTE_BYTES));
                if back.is_ok_and(|(bytes, _)| Version::of(&bytes) != put) {
                    let _ = store.disk.exchange(swap.note, temp.staged());
                }
                let _ = store.disk.sync(swap.note.folder);
                return Err(store.trouble(swap, error));
            }
        };
        let version = Version::of(&out);
        if version == wanted {
            return Ok(put);
        }
        let kept = writing.keep_outside(swap.record, &version, &out);
        let back = match store.disk.exchange(swap.note, temp.staged()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // the note was taken away: put the outside save where it was, unless something is there again
                let put_back = store.disk.rename_new(temp.staged(), swap.note);
                let _ = store.disk.sync(swap.note.folder);
                return put_back.map(|()| version).map_err(|_| stale(swap, None));
            }
            back => back,
        };
        back.and(kept).map_err(|error| store.trouble(swap, error))?;
        (wanted, put) = (put, version);
    }
    let _ = store.disk.sync(swap.note.folder);
    Err(Trouble::Refused(VaultError::Busy { what: format!("`{}`", swap.path) }))
}

fn holds(store: &Store, note: At, version: &Version) -> bool {
    store.disk.read(note, 0, MAX_NOTE_BYTES).is_ok_and(|(bytes, _)| Version::of(&bytes) == *version)
}

/// Puts what came out back to the path, also when the note was taken away from there meanwhile.
fn give_back(store: &Store, swap: &Swap, temp: &Temp) -> io::Result<()> {
    match store.disk.exchange(swap.note, temp.staged()) {
        Err(error) if error.kind() == ErrorKind::NotFound => store.disk.rename_new(temp.staged(), swap.note),
        back => back,
    }
}

/// Takes our new file away from the path again, and tells whether it did: a save that took its place meanwhile stays.
fn take_back(writing: &mut Writing, swap: &Swap, temp: &Temp) -> bool {
    let disk = writing.store.disk.clone();
    if disk.rename_away(swap.note, temp.staged()).is_err() {
        return false;
    }
    writing.await_sweep(temp.new.clone(), Some(swap.record));
    let is_ours = holds(writing.store, temp.staged(), swap.ours);
    // when the place is taken again already, the sweep finds this one
    is_ours || disk.rename_new(temp.staged(), swap.note).is_err()
}

/// The way without an exchange: the note aside, the new one in its place, neither replacing anything.
fn move_aside(writing: &mut Writing, swap: &Swap, temp: &Temp, before: &Version) -> Result<(), Trouble> {
    let store = writing.store;
    let disk = &*store.disk;
    if let Err(error) = disk.rename_away(swap.note, temp.aside()) {
        let _ = disk.unlink(temp.staged());
        return Err(store.trouble(swap, error));
    }
    writing.await_sweep(temp.old.clone(), Some(swap.record));
    let put_back = |error| {
        // when the place is taken again, a newer save is there, and the one aside waits for the sweep
        let _ = disk.rename_new(temp.aside(), swap.note);
        let _ = disk.unlink(temp.staged());
        let _ = disk.sync(swap.note.folder);
        error
    };
    let (bytes, _) =
        disk.read(temp.aside(), 0, MAX_NOTE_BYTES).map_err(|error| put_back(store.trouble(swap, error)))?;
    let out = Version::of(&bytes);
    if out != *before {
        let kept = writing.keep_outside(swap.record, &out, &bytes);
        put_back(stale(swap, None));
        kept.map_err(|error| store.trouble(swap, error))?;
        return Err(stale(swap, Some(out)));
    }
    match disk.rename_new(temp.staged(), swap.note) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(put_back(stale(swap, None))),
        Err(error) => return Err(put_back(store.trouble(swap, error))),
    }
    if let Err(error) = sync(writing, swap) {
        if take_back(writing, swap, temp) {
            let _ = disk.rename_new(temp.aside(), swap.note);
            let _ = disk.sync(swap.note.folder);
        }
        return Err(store.trouble(swap, error));
    }
    Ok(())
}

/// Puts the staged file at a path that nothing has.
pub(super) fn create(writing: &mut Writing, swap: &Swap, temp: &Temp, made: &MadeFolders) -> Result<(), Trouble> {
    let store = writing.store;
    if let Err(error) = store.disk.rename_new(temp.staged(), swap.note) {
        if error.kind() != ErrorKind::CrossesDevices {
            let _ = store.disk.unlink(temp.staged());
        }
        return Err(store.trouble(swap, error));
    }
    if let Err(error) = made.sync(&*store.disk).and_then(|()| sync(writing, swap)) {
        if take_back(writing, swap, temp) {
            let _ = store.disk.sync(swap.note.folder);
        }
        return Err(store.trouble(swap, error));
    }
    Ok(())
}

/// Makes the note's name durable. Meanwhile some of what earlier writes replaced is cleared away.
fn sync(writing: &mut Writing, swap: &Swap) -> io::Result<()> {
    let store = writing.store;
    if !sweep::may_be_due(writing) {
        return store.disk.sync(swap.folder);
    }
    let (disk, folder) = (store.disk.clone(), swap.folder.clone());
    let (synced, ()) = store.helper.both(&*store.disk, move || disk.sync(&folder), || sweep::sweep_some(writing));
    synced
}

fn stale(swap: &Swap, current: Option<Version>) -> Trouble {
    Trouble::Refused(VaultError::StaleVersion { path: swap.path.clone(), current, diff: None })
}

impl Store {
    fn trouble(&self, swap: &Swap, error: io::Error) -> Trouble {
        match error.kind() {
            ErrorKind::CrossesDevices => Trouble::OtherMount,
            // the note vanished since we looked
            ErrorKind::NotFound if swap.record.changes.iter().any(|change| change.before.is_some()) => {
                stale(swap, None)
            }
            ErrorKind::NotFound => Trouble::Refused(refusal_of_own(error)),
            _ => Trouble::Refused(self.refusal(swap.path, Doing::Writing, error)),
        }
    }
}
