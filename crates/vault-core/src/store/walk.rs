//! Walking the whole vault: folders are shared out among threads, each opened from the one above it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::disk::{Disk, EntryKind, Folder, Stat};
use crate::limits::WALK_THREADS;
use crate::path::VaultPath;

/// Tells whether an entry is wanted; a folder that is not wanted is not entered.
pub type Keep<'a> = &'a (dyn Fn(&VaultPath, EntryKind) -> bool + Sync);

/// A folder that still has to be read, and the opened folder that holds it.
type Waiting = (Arc<Folder>, VaultPath);

struct Work<'a> {
    disk: &'a dyn Disk,
    keep: Keep<'a>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    busy: usize,
}

/// Returns everything wanted below a folder, sorted by path. What vanishes meanwhile, or cannot be opened, is left out.
pub(super) fn walk(disk: &dyn Disk, top: &VaultPath, keep: Keep) -> std::io::Result<Vec<(VaultPath, Stat)>> {
    let root = Arc::new(disk.folder(top.as_str())?);
    let mut found = Vec::new();
    let folders = read_folder(disk, keep, &root, top, &mut found)?;
    let waiting = folders.into_iter().map(|path| (root.clone(), path)).collect();
    let work = Work { disk, keep, queue: Mutex::new(Queue { waiting, busy: 0 }), changed: Condvar::new() };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(WALK_THREADS));
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work_through(&work))).collect();
        found.append(&mut work_through(&work));
        for other in others {
            found.append(&mut other.join().unwrap_or_default());
        }
    });
    found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

fn work_through(work: &Work) -> Vec<(VaultPath, Stat)> {
    let mut found = Vec::new();
    while let Some((parent, path)) = next(work) {
        // a folder that went away or is closed to us is simply not there for us
        let read = work.disk.child(&parent, path.name()).and_then(|folder| {
            let folder = Arc::new(folder);
            let inner = read_folder(work.disk, work.keep, &folder, &path, &mut found)?;
            Ok(inner.into_iter().map(|path| (folder.clone(), path)).collect::<Vec<_>>())
        });
        done(work, read.unwrap_or_default());
    }
    found
}

fn next(work: &Work) -> Option<Waiting> {
    let mut queue = work.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(waiting) = queue.waiting.pop() {
            queue.busy += 1;
            return Some(waiting);
        }
        if queue.busy == 0 {
            return None;
        }
        queue = work.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

fn done(work: &Work, more: Vec<Waiting>) {
    let mut queue = work.queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.waiting.extend(more);
    queue.busy -= 1;
    work.changed.notify_all();
}

/// Adds what one folder holds and returns the folders to read next.
fn read_folder(
    disk: &dyn Disk,
    keep: Keep,
    folder: &Folder,
    path: &VaultPath,
    found: &mut Vec<(VaultPath, Stat)>,
) -> std::io::Result<Vec<VaultPath>> {
    let mut folders = Vec::new();
    for (name, kind) in disk.list(folder)?.entries {
        let (Some(kind), Some(entry)) = (kind, path.child(&name)) else { continue };
        if !keep(&entry, kind) {
            continue;
        }
        let Ok(stat) = disk.stat(folder.at(&name)) else { continue };
        if stat.kind == EntryKind::Folder {
            folders.push(entry.clone());
        }
        found.push((entry, stat));
    }
    Ok(folders)
}
