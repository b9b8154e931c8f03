//! Finishing what nobody finished: a change that is in the log without a word on what became of it.
//!
//! Only the holder of the lock settles, so whoever began the change is dead, or was refused a moment ago and asks here
//! what is at the path. The files themselves tell; see the table in [`outcome`].

use super::disk::{At, Disk, EntryKind, Writers};
use super::history;
use super::record::{Change, Record, RecordKind};
use super::swap::{Temp, read_sign};
use super::writing::Writing;
use crate::limits::MAX_NOTE_BYTES;
use crate::version::Version;

/// Settles every open change. One that cannot be read now stays open for the next time.
pub(super) fn settle_open(writing: &mut Writing) {
    for record in writing.log().open_changes() {
        let _ = settle(writing, &record, true);
    }
}

/// Settles a change that this call had to refuse.
pub(super) fn settle_refused(writing: &mut Writing, record: &Record) {
    let _ = settle(writing, record, false);
}

fn settle(writing: &mut Writing, record: &Record, after_crash: bool) -> std::io::Result<()> {
    let Some(change) = record.changes.first() else { return Ok(()) };
    let (disk, rooms) = (writing.store.disk.clone(), writing.rooms.clone());
    let folder = match disk.folder(change.path.parent().as_str()) {
        Ok(folder) => Some(folder),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let sign = read_sign(&*disk, &rooms.temp, &record.id).is_ok();
    let temp = match (&folder, sign) {
        (Some(folder), true) => Temp::of_beside(folder, &record.id),
        _ => Temp::of(&rooms.temp, &record.id),
    };
    let note = folder.as_ref().map(|folder| folder.at(change.path.name()));
    let kind = match (record.kind, note) {
        (RecordKind::Folder, note) => {
            let is_there = note.is_some_and(|at| disk.stat(at).is_ok_and(|stat| stat.kind == EntryKind::Folder));
            if is_there { RecordKind::Done } else { RecordKind::Void }
        }
        (_, None) => RecordKind::Void,
        (_, Some(note)) => outcome(writing, &*disk, change, note, &temp, after_crash)?,
    };
    writing.mark(record, kind);
    Ok(())
}

/// What became of a change, by what lies where:
///
/// | at the path | staged | moved aside | so |
/// | --- | --- | --- | --- |
/// | the new content | | | done |
/// | nothing | | something | put back, void |
/// | the old content, or nothing | whatever | | void |
/// | another content | the new content | | void |
/// | another content | something else, or nothing | | done, and overwritten since |
fn outcome(
    writing: &mut Writing,
    disk: &dyn Disk,
    change: &Change,
    note: At,
    temp: &Temp,
    after_crash: bool,
) -> std::io::Result<RecordKind> {
    let there = version_at(disk, note)?;
    if there.is_some() && there == change.after {
        return Ok(RecordKind::Done);
    }
    let staged = version_at(disk, temp.staged())?;
    if there.is_none() && version_at(disk, temp.aside())?.is_some() {
        disk.rename_new(temp.aside(), note)?;
        disk.sync(note.folder)?;
        clear_staged(writing, disk, change, temp, after_crash);
        return Ok(RecordKind::Void);
    }
    if there == change.before || there.is_none() || (staged.is_some() && staged == change.after) {
        clear_staged(writing, disk, change, temp, after_crash);
        return Ok(RecordKind::Void);
    }
    // a staged file of a creation that is still here has not been renamed
    let unmoved = change.before.is_none() && staged.is_some();
    Ok(if unmoved { RecordKind::Void } else { RecordKind::Done })
}

/// Removes a staged file that a crash cut short. A whole one may have been at the path, and is the sweep's.
fn clear_staged(writing: &mut Writing, disk: &dyn Disk, change: &Change, temp: &Temp, after_crash: bool) {
    let Ok((bytes, _)) = disk.read(temp.staged(), 0, MAX_NOTE_BYTES) else { return };
    if !after_crash || Some(Version::of(&bytes)) == change.after {
        return;
    }
    // a replaced file can look like that too, and a program may still write into it: then it is the sweep's
    if matches!(disk.writers(temp.staged()), Ok(Writers::Some) | Err(_)) {
        return;
    }
    let whole = change.after.as_ref().and_then(|after| history::find(writing.store, after).ok().flatten());
    if whole.is_some_and(|whole| whole.starts_with(&bytes)) {
        let _ = disk.unlink(temp.staged());
    }
}

fn version_at(disk: &dyn Disk, at: At) -> std::io::Result<Option<Version>> {
    match disk.read(at, 0, MAX_NOTE_BYTES) {
        Ok((bytes, _)) => Ok(Some(Version::of(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
