//! Keeping the index: a thread that compares, watches, and writes batches, never in a call's way.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vault_core::index::Told;
use vault_core::{Call, Vault, VaultError, VaultPath};

use crate::committed::{Parts, Writer};
use crate::full_text::{FullText, Turn};
use crate::limits::{
    FULL_OVERLAY, IDLE, LOCK_PAUSE, LONGEST_PAUSE, LONGEST_TRUST, LONGEST_WAIT, LOOK_PAUSE, MIN_BULK, POLL_PAUSE,
    POLL_SHARE, QUIET,
};
use crate::watch::Folders;

/// Keeps the index of a vault until it is dropped. What is being written at that moment is not waited for: the index is
/// whole without it.
pub struct Keeper {
    index: Arc<FullText>,
}

impl Keeper {
    /// Lets an index answer the vault's searches, and begins to keep it: on a thread of its own, so that this returns at
    /// once. Where no thread can be had, each search compares everything.
    pub fn start(vault: &Arc<Vault>) -> Keeper {
        let index = attach(vault);
        let (kept, at) = (index.clone(), Arc::downgrade(vault));
        let keep = move || {
            let Some(vault) = at.upgrade() else { return };
            let woken = kept.clone();
            let root = vault.store().root().unwrap_or(Path::new(""));
            let folders = Arc::new(Folders::new(&vault, root, move || woken.wake()));
            vault.use_watch(folders.clone());
            drop(vault);
            let mut pace = Pace { pause: POLL_PAUSE, is_verified: false, compared: Instant::now() };
            while let (Some(vault), false) = (at.upgrade(), kept.is_stopped()) {
                turn(&vault, &kept, &folders, &mut pace);
            }
        };
        // until the thread has compared everything, calls need not
        vault.news().begin();
        if thread::Builder::new().name("index".into()).spawn(keep).is_err() {
            vault.news().end();
        }
        Keeper { index }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.index.stop();
    }
}

/// Lets an index answer the vault's searches, without keeping it: what changed is found by comparing everything, at
/// each search.
pub fn attach(vault: &Vault) -> Arc<FullText> {
    let index = Arc::new(FullText::new(vault.store().cache_folder().unwrap_or(Path::new(""))));
    vault.use_index(index.clone());
    index
}

/// Brings the index of a vault up to date, on disk. `progress` hears how many files of how many were read. Returns how
/// many files there are. `VaultError::Io` when the index cannot be written.
pub fn build(vault: &Vault, index: &FullText, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<usize, VaultError> {
    index.verify();
    update(vault, index, 1, progress)?;
    Ok(index.n_files())
}

/// Throws the index of a vault away and builds it anew, as [`build`] does. Another process that writes is waited for.
pub fn rebuild(vault: &Vault, index: &FullText, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<usize, VaultError> {
    while !index.clear().map_err(unwritable)? {
        thread::sleep(LOCK_PAUSE);
    }
    build(vault, index, progress)
}

/// What the thread remembers from one turn to the next.
struct Pace {
    /// How long a failure is waited out, longer each time.
    pause: Duration,
    /// Whether the index on disk was found to be whole.
    is_verified: bool,
    /// When everything was compared last.
    compared: Instant,
}

/// Compares when that is due, else waits for something to do.
fn turn(vault: &Vault, index: &FullText, folders: &Folders, pace: &mut Pace) {
    if vault.is_followed() && !index.lags() && pace.compared.elapsed() < LONGEST_TRUST {
        if !std::mem::replace(&mut pace.is_verified, true) {
            return index.verify();
        }
        index.wait(if index.waiting().is_some() { QUIET } else { IDLE });
        // A call that comes meanwhile says what is wrong, should anything be.
        while vault.freshen(&call()).is_ok_and(|is_all| !is_all) && vault.is_followed() && !index.is_stopped() {
            index.prepare();
            // let calls look in between
            thread::sleep(LOOK_PAUSE);
        }
        if write_when_due(vault, index).is_err() {
            rest(index, pace.pause);
            pace.pause = (pace.pause * 2).min(LONGEST_PAUSE);
        }
        return;
    }
    let begin = Instant::now();
    if compare(vault, index, folders).is_err() {
        // The folder is gone, or the index cannot be written: calls read the notes, and say what is wrong.
        rest(index, pace.pause);
        pace.pause = (pace.pause * 2).min(LONGEST_PAUSE);
        return;
    }
    (pace.pause, pace.compared) = (POLL_PAUSE, Instant::now());
    if !folders.is_watching() {
        // what cannot be written is compared again
        let _ = write_when_due(vault, index);
        rest(index, POLL_PAUSE.max(begin.elapsed() * POLL_SHARE));
    }
}

/// Waits for all of `time`, whatever happens, but for the end.
fn rest(index: &FullText, time: Duration) {
    let begin = Instant::now();
    while !index.is_stopped() && begin.elapsed() < time {
        index.wait(time.saturating_sub(begin.elapsed()));
    }
}

fn call() -> Call {
    Call::begin("vault")
}

fn compare(vault: &Vault, index: &FullText, folders: &Folders) -> Result<(), VaultError> {
    let (missed, lagged) = (vault.news().begin(), index.comparing());
    update(vault, index, MIN_BULK, &|_, _| ())?;
    if index.compared(lagged) && folders.is_watching() {
        vault.news().watched(missed);
    }
    Ok(())
}

/// Writes a batch when nothing has changed for a while, or when much has.
fn write_when_due(vault: &Vault, index: &FullText) -> tantivy::Result<()> {
    let Some((n_waiting, longest, quiet)) = index.waiting() else { return Ok(()) };
    if n_waiting >= FULL_OVERLAY || quiet >= QUIET || longest >= LONGEST_WAIT {
        // Another process that writes takes in the same changes.
        index.write_batch(&|path, note| vault.is_known_rightly(path, note))?;
    }
    Ok(())
}

/// Brings the index up to date with the vault: walks it, and reads what changed. `least` changes and more are written
/// at once, fewer wait in memory. `progress` hears how many files of how many were read.
pub(crate) fn update(
    vault: &Vault,
    index: &FullText,
    least: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(), VaultError> {
    loop {
        let mut parts = Parts::new();
        let known = || {
            let (read, known) = index.known_parts();
            parts = read;
            Some(known.into_iter().collect())
        };
        let survey = vault.survey(known, &call())?;
        let n_changed = survey.n_changed();
        if n_changed + survey.n_gone() < least && index.is_open() {
            return vault.adopt(survey, None, &call());
        }
        let Some(bulk) = take_turn(index, &parts)? else { continue };
        let _expected = index.expect(n_changed);
        let write = |path: &VaultPath, told: Told| {
            if !parts.is_empty() {
                bulk.remove(path);
            }
            // An index that cannot be written is found out when it is committed.
            let _ = bulk.add(path, &told);
            progress(index.count_one(), n_changed);
        };
        survey.gone().for_each(|path| bulk.remove(path));
        let adopted = vault.adopt(survey, Some(&write), &call());
        return adopted.and_then(|()| index.end_bulk(bulk).map_err(unwritable));
    }
}

/// Waits for the right to write the index as it was in these parts. `None` when another process wrote it since, so that
/// all must be compared again.
fn take_turn(index: &FullText, parts: &Parts) -> Result<Option<Writer>, VaultError> {
    while !index.is_stopped() {
        match index.begin_bulk(parts).map_err(unwritable)? {
            Turn::Ours(writer) => return Ok(Some(*writer)),
            Turn::Outdated => return Ok(None),
            Turn::Busy => thread::sleep(LOCK_PAUSE),
        }
    }
    Err(VaultError::Timeout)
}

fn unwritable(error: tantivy::TantivyError) -> VaultError {
    VaultError::Io { doing: "writing the search index".into(), source: std::io::Error::other(error) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Opens the vault in `place` as a process of its own.
    fn process(place: &Path) -> (Vault, Arc<FullText>) {
        let store = vault_core::Store::open(&place.join("vault")).unwrap().with_cache_folder(&place.join("cache"));
        let vault = Vault::on(store);
        let index = attach(&vault);
        (vault, index)
    }

    fn place(n_notes: usize) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("vault")).unwrap();
        (0..n_notes).for_each(|number| fs::write(place.path().join(format!("vault/{number}.md")), "heron\n").unwrap());
        place
    }

    #[test]
    fn an_index_that_another_process_wrote_since_it_was_read_is_read_again() {
        let place = place(5);
        let ((_, late), (vault, quick)) = (process(place.path()), process(place.path()));
        let (before, _) = late.known_parts();
        assert_eq!(build(&vault, &quick, &|_, _| ()).unwrap(), 5);
        assert!(matches!(late.begin_bulk(&before).unwrap(), Turn::Outdated));
        let (now, known) = late.known_parts();
        assert_eq!(known.len(), 5);
        assert!(matches!(late.begin_bulk(&now).unwrap(), Turn::Ours(_)));
    }

    #[test]
    fn processes_that_build_at_once_add_each_file_once() {
        let place = place(300);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let (vault, index) = process(place.path());
                    assert_eq!(build(&vault, &index, &|_, _| ()).unwrap(), 300);
                });
            }
        });
        let (_, index) = process(place.path());
        assert_eq!(index.known_parts().1.len(), 300);
    }

    #[test]
    fn an_index_given_up_by_one_process_is_not_the_one_that_another_made_meanwhile() {
        let place = place(5);
        let ((_, late), (vault, quick)) = (process(place.path()), process(place.path()));
        build(&vault, &quick, &|_, _| ()).unwrap();
        assert_eq!(late.known_parts().1.len(), 5);
        rebuild(&vault, &quick, &|_, _| ()).unwrap();
        late.give_up();
        assert_eq!(process(place.path()).1.known_parts().1.len(), 5);
    }
}
