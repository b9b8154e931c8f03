//! Reading many files: shared out among threads, folder by folder.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Store;
use super::disk::{Folder, Stat};
use super::refusal::Doing;
use crate::error::VaultError;
use crate::limits::WALK_THREADS;
use crate::path::VaultPath;

/// A file that is being visited.
#[derive(Debug)]
pub struct Visited<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its state, when it was read with [`Care::Whole`].
    pub stat: Option<Stat>,
}

/// How carefully files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// In one pass: a file that is being saved may be read half old, half new.
    Quick,
    /// As one state of the file.
    Whole,
}

/// Takes in the files of one thread, each with the number of its path.
pub type Visitor<'a> = Box<dyn FnMut(usize, Result<Visited<'_>, VaultError>) -> ControlFlow<()> + 'a>;

/// Files that a thread takes at a time.
const CHUNK: usize = 64;

/// Memory that a thread keeps from one file to the next, in bytes.
const KEPT_BYTES: usize = 1024 * 1024;

pub(super) fn visit<'a>(
    store: &Store,
    paths: &[&VaultPath],
    care: Care,
    limit: u64,
    begin: &(dyn Fn() -> Visitor<'a> + Sync),
) {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut visitor, mut reader) = (begin(), Reader { store, care, limit, folder: None, buffer: vec![] });
        loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            let chunk = paths.get(first..paths.len().min(first + CHUNK)).unwrap_or_default();
            for (place, path) in (first..).zip(chunk) {
                let visited = reader.read(path).map_err(|error| store.refusal(path, Doing::Reading, error));
                let visited = visited.map(|stat| Visited { bytes: &reader.buffer, stat });
                if visitor(place, visited).is_break() {
                    next.store(paths.len(), Ordering::Relaxed);
                    return;
                }
            }
            if chunk.is_empty() {
                return;
            }
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(WALK_THREADS));
    std::thread::scope(|scope| {
        for _ in 1..n_threads.min(paths.len().div_ceil(CHUNK)) {
            scope.spawn(work);
        }
        work();
    });
}

/// What a thread reads with.
struct Reader<'a> {
    store: &'a Store,
    care: Care,
    limit: u64,
    /// The folder of the last file: the next one is most often in there, too.
    folder: Option<(VaultPath, Folder)>,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    /// Reads a file into the buffer.
    fn read(&mut self, path: &VaultPath) -> io::Result<Option<Stat>> {
        let disk = &*self.store.disk;
        let name = path.name();
        let is_parent = |known: &VaultPath| match path.as_str().strip_suffix(name) {
            Some(place) => place.strip_suffix('/').unwrap_or(place) == known.as_str(),
            None => false,
        };
        let (parent, opened) = match self.folder.take().filter(|(known, _)| is_parent(known)) {
            Some(known) => known,
            None => (path.parent(), disk.folder(path.parent().as_str())?),
        };
        if self.buffer.capacity() > KEPT_BYTES {
            self.buffer = Vec::new();
        }
        let at = opened.at(name);
        let read = match self.care {
            Care::Quick => disk.read_quickly(at, self.limit, &mut self.buffer).map(|()| None),
            Care::Whole => disk.read(at, 0, self.limit).map(|(bytes, stat)| {
                self.buffer = bytes;
                Some(stat)
            }),
        };
        self.folder = Some((parent, opened));
        read
    }
}
