//! Watching with inotify. Without the events of files that are opened, which our own reading would cause by thousands.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::{io, thread};

use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask, Watches};
use vault_core::news::Watch;
use vault_core::{Vault, VaultPath};

/// Watches the folders of a vault.
pub(crate) struct Folders {
    root: PathBuf,
    vault: Weak<Vault>,
    shared: Arc<Shared>,
}

/// What the listening thread shares.
struct Shared {
    watched: Mutex<Watched>,
    /// Cleared when the system has no watches left.
    is_watching: AtomicBool,
}

#[derive(Default)]
struct Watched {
    watches: Option<Watches>,
    by_path: BTreeMap<VaultPath, WatchDescriptor>,
    by_watch: HashMap<WatchDescriptor, VaultPath>,
}

/// Events of one reading, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

impl Folders {
    /// Makes a watcher for the vault in `root`; it calls `wake` when there is news.
    pub(crate) fn new(vault: &Arc<Vault>, root: &Path, wake: impl Fn() + Send + 'static) -> Folders {
        let shared = Arc::new(Shared { watched: Mutex::default(), is_watching: AtomicBool::new(false) });
        let (listening, news) = (shared.clone(), Arc::downgrade(vault));
        // Where there is nothing to watch with, everything is compared from time to time.
        if let Ok(inotify) = Inotify::init() {
            shared.lock().watches = Some(inotify.watches());
            let listener = move || listen(inotify, &listening, &news, &wake);
            let thread = thread::Builder::new().name("watch".into()).spawn(listener);
            shared.is_watching.store(thread.is_ok(), Ordering::Release);
        }
        Folders { root: root.to_owned(), vault: Arc::downgrade(vault), shared }
    }

    /// Tells whether all folders that were named are watched.
    pub(crate) fn is_watching(&self) -> bool {
        self.shared.is_watching.load(Ordering::Acquire)
    }
}

impl Watched {
    /// The system has ended a watch: its folder is gone.
    fn forget(&mut self, watch: &WatchDescriptor) {
        let Some(path) = self.by_watch.remove(watch) else { return };
        if self.by_path.get(&path) == Some(watch) {
            self.by_path.remove(&path);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Folders {
    fn begin(&self, folder: &VaultPath) {
        let mut watched = self.shared.lock();
        let Watched { watches: Some(watches), by_path, by_watch } = &mut *watched else { return };
        let place = if folder.is_root() { self.root.clone() } else { self.root.join(folder.as_str()) };
        let changes = WatchMask::ATTRIB | WatchMask::MODIFY | WatchMask::CLOSE_WRITE;
        let names = WatchMask::CREATE | WatchMask::DELETE | WatchMask::MOVED_FROM | WatchMask::MOVED_TO;
        match watches.add(place, changes | names | WatchMask::ONLYDIR | WatchMask::DONT_FOLLOW) {
            // the same watch when it is the same folder
            Ok(watch) => {
                by_watch.insert(watch.clone(), folder.clone());
                let before = by_path.insert(folder.clone(), watch.clone()).filter(|before| *before != watch);
                if let Some(before) = before.filter(|before| by_watch.get(before) == Some(folder)) {
                    by_watch.remove(&before);
                }
            }
            // It is gone by now, or closed to us: the folder above it tells when that changes.
            Err(error) if is_told_from_above(error.kind()) => {}
            Err(_) => {
                *watched = Watched::default();
                self.shared.is_watching.store(false, Ordering::Release);
                if let Some(vault) = self.vault.upgrade() {
                    vault.news().miss();
                }
            }
        }
    }

    fn end(&self, folder: &VaultPath) {
        let mut watched = self.shared.lock();
        let Watched { watches: Some(watches), by_path, by_watch } = &mut *watched else { return };
        let begins = |path: &&VaultPath| path.as_str().starts_with(folder.as_str());
        let below = by_path.range(folder..).map(|(path, _)| path).take_while(begins);
        let gone: Vec<VaultPath> = below.filter(|path| *path == folder || path.is_in(folder)).cloned().collect();
        for path in gone {
            let Some(watch) = by_path.remove(&path) else { continue };
            // a folder that has another name now keeps its watch, and is known by that one
            if by_watch.get(&watch) == Some(&path) {
                by_watch.remove(&watch);
                // the system forgets a folder that is gone by itself
                let _ = watches.remove(watch);
            }
        }
    }
}

fn is_told_from_above(error: io::ErrorKind) -> bool {
    matches!(error, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied)
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.shared.is_watching.store(false, Ordering::Release);
        let root = VaultPath::root();
        // the end of a watch is an event: it wakes the listener, which ends
        self.end(&root);
    }
}

fn listen(mut inotify: Inotify, shared: &Shared, vault: &Weak<Vault>, wake: &(dyn Fn() + Send)) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let events = match inotify.read_events_blocking(&mut buffer) {
            Ok(events) => events,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => {
                shared.is_watching.store(false, Ordering::Release);
                if let Some(vault) = vault.upgrade() {
                    vault.news().miss();
                }
                return wake();
            }
        };
        let Some(vault) = vault.upgrade().filter(|_| shared.is_watching.load(Ordering::Acquire)) else { return };
        let mut has_news = false;
        for event in events {
            if event.mask.contains(EventMask::Q_OVERFLOW) {
                vault.news().miss();
                has_news = true;
            } else if event.mask.contains(EventMask::IGNORED) {
                shared.lock().forget(&event.wd);
            } else if event.name.is_some_and(|name| name == ".vaultignore") {
                // whoever is woken finds the rules changed
                has_news = true;
            } else if let Some(path) = place(shared, &event) {
                vault.news().note(path);
                has_news = true;
            }
        }
        if has_news {
            wake();
        }
    }
}

/// Returns the path that an event is about, if it is part of the vault.
fn place(shared: &Shared, event: &inotify::Event<&std::ffi::OsStr>) -> Option<VaultPath> {
    let name = event.name?.to_str()?;
    let folder = shared.lock().by_watch.get(&event.wd)?.clone();
    VaultPath::parse(folder.join(name).as_str()).ok()
}
