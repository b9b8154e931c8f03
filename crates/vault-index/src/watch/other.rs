//! Watching with what the system has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use vault_core::news::Watch;
use vault_core::{Vault, VaultPath};

/// Watches each folder of a vault by itself, so that nothing is heard of hidden ones.
pub(crate) struct Folders {
    root: PathBuf,
    vault: Weak<Vault>,
    inner: Mutex<Inner>,
}

struct Inner {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<VaultPath>,
}

impl Folders {
    /// Makes a watcher for the vault in `root`; it calls `wake` when there is news.
    pub(crate) fn new(vault: &Arc<Vault>, root: &Path, wake: impl Fn() + Send + 'static) -> Folders {
        let listener = Listener { root: root.to_owned(), vault: Arc::downgrade(vault), wake: Box::new(wake) };
        // Where the system has no watchers left, everything is compared from time to time.
        let watcher = notify::recommended_watcher(move |event| listener.hear(event)).ok();
        let inner = Mutex::new(Inner { watcher, watched: BTreeSet::new() });
        Folders { root: root.to_owned(), vault: Arc::downgrade(vault), inner }
    }

    /// Tells whether all folders that were named are watched.
    pub(crate) fn is_watching(&self) -> bool {
        self.lock().watcher.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, folder: &VaultPath) -> PathBuf {
        if folder.is_root() { self.root.clone() } else { self.root.join(folder.as_str()) }
    }
}

fn is_told_from_above(error: &notify::ErrorKind) -> bool {
    match error {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

impl Watch for Folders {
    fn begin(&self, folder: &VaultPath) {
        let mut inner = self.lock();
        let Inner { watcher: Some(watcher), watched } = &mut *inner else { return };
        if !watched.insert(folder.clone()) {
            return;
        }
        match watcher.watch(&self.place(folder), RecursiveMode::NonRecursive) {
            Ok(()) => {}
            // It is gone by now, or closed to us: the folder above it tells when that changes.
            Err(error) if is_told_from_above(&error.kind) => drop(watched.remove(folder)),
            Err(_) => {
                inner.watcher = None;
                inner.watched.clear();
                if let Some(vault) = self.vault.upgrade() {
                    vault.news().miss();
                }
            }
        }
    }

    fn end(&self, folder: &VaultPath) {
        let mut inner = self.lock();
        let Inner { watcher: Some(watcher), watched } = &mut *inner else { return };
        let gone: Vec<VaultPath> =
            watched.iter().filter(|path| *path == folder || path.is_in(folder)).cloned().collect();
        for path in gone {
            watched.remove(&path);
            // The system forgets a folder that is gone by itself.
            let _ = watcher.unwatch(&self.place(&path));
        }
    }
}

/// Notes what happens in the news of the vault.
struct Listener {
    root: PathBuf,
    vault: Weak<Vault>,
    wake: Box<dyn Fn() + Send>,
}

impl Listener {
    fn hear(&self, event: notify::Result<Event>) {
        let Some(vault) = self.vault.upgrade() else { return };
        match event {
            Ok(event) if event.need_rescan() => vault.news().miss(),
            Ok(event) if is_change(&event.kind) => {
                let paths: Vec<VaultPath> = event.paths.iter().filter_map(|path| self.path(path)).collect();
                if paths.is_empty() {
                    return;
                }
                paths.into_iter().for_each(|path| vault.news().note(path));
            }
            Ok(_) => return,
            Err(_) => vault.news().miss(),
        }
        (self.wake)();
    }

    /// Returns the path of a place that is part of the vault.
    fn path(&self, place: &Path) -> Option<VaultPath> {
        VaultPath::parse(place.strip_prefix(&self.root).ok()?.to_str()?).ok()
    }
}

/// Reading a file changes nothing.
fn is_change(kind: &EventKind) -> bool {
    !matches!(kind, EventKind::Access(kind) if *kind != AccessKind::Close(AccessMode::Write))
}
