//! The index on disk: opening it, noticing that another process wrote it, writing it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::LockError;
use tantivy::directory::{INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::index::SegmentId;
use tantivy::indexer::{IndexWriter, IndexWriterOptions};
use tantivy::schema::document::{DeserializeError, DocumentDeserialize, DocumentDeserializer};
use tantivy::schema::{IndexRecordOption, OwnedValue};
use tantivy::{
    Directory, DocAddress, DocId, DocSet, Index, IndexReader, ReloadPolicy, Searcher, TERMINATED, TantivyError, Term,
};
use vault_core::VaultPath;
use vault_core::catalog::Note;
use vault_core::index::Told;
use vault_core::store::make_private_folder;

use crate::fields::{self, Fields};
use crate::limits::{BATCH_BYTES, BUILD_THREAD_BYTES, INDEX_VERSION, MAX_BUILD_THREADS};

/// An index on disk, opened.
pub(crate) struct Committed {
    pub(crate) fields: Arc<Fields>,
    index: Index,
    reader: IndexReader,
    folder: PathBuf,
    /// State of the file that names the parts of the index, when they were opened.
    seen: Option<FileState>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileState {
    modified: Option<std::time::SystemTime>,
    size: u64,
    #[cfg(unix)]
    inode: u64,
}

/// The right to write the index; one process has it at a time.
pub(crate) struct Writer {
    writer: IndexWriter,
    fields: Arc<Fields>,
}

/// The parts of the index at one moment, and how many files each holds: what tells one state of it from another.
pub(crate) type Parts = Vec<(SegmentId, u32)>;

/// Returns the folder of the index among what this machine keeps of a vault.
pub(crate) fn folder(cache: &Path) -> PathBuf {
    cache.join(format!("search-{INDEX_VERSION}"))
}

impl Committed {
    /// Opens the index in `folder`; `None` when there is none.
    pub(crate) fn open(folder: &Path) -> tantivy::Result<Option<Committed>> {
        if !folder.join(META).exists() {
            return Ok(None);
        }
        let seen = state(folder);
        let mut index = Index::open_in_dir(folder)?;
        let fields = Fields::new();
        if index.schema() != fields.schema {
            return Err(TantivyError::SchemaError("the fields are not ours".into()));
        }
        index.set_tokenizers(fields::tokenizers());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Some(Committed { fields: Arc::new(fields), index, reader, folder: folder.to_owned(), seen }))
    }

    /// Opens the index in `folder`, and makes an empty one first when there is none that can be opened. `None` while
    /// another process makes or removes one.
    pub(crate) fn open_or_create(folder: &Path) -> tantivy::Result<Option<Committed>> {
        if let Ok(Some(committed)) = Committed::open(folder) {
            return Ok(Some(committed));
        }
        let Some(_alone) = alone(folder)? else { return Ok(None) };
        match Committed::open(folder) {
            Ok(Some(committed)) => return Ok(Some(committed)),
            Err(error) if is_refused(&error) => return Err(error),
            Ok(None) | Err(_) => {
                if !clear_unless_written(folder)? {
                    return Ok(None);
                }
            }
        }
        make_private_folder(folder)?;
        Index::builder().schema(Fields::new().schema).tokenizers(fields::tokenizers()).create_in_dir(folder)?;
        Committed::open(folder)
    }

    /// Tells whether this is what is on disk, and not a later state of the index.
    pub(crate) fn is_latest(&self) -> bool {
        state(&self.folder) == self.seen
    }

    /// Opens what another process has written since, and tells whether there was anything.
    pub(crate) fn refresh(&mut self) -> tantivy::Result<bool> {
        if self.is_latest() {
            return Ok(false);
        }
        // what is written while it is opened is opened once more
        let now = state(&self.folder);
        self.reader.reload()?;
        self.seen = now;
        Ok(true)
    }

    /// Takes what is on disk for news the next time.
    pub(crate) fn forget_seen(&mut self) {
        self.seen = None;
    }

    pub(crate) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    /// Takes the right to write; `None` while another process has it.
    pub(crate) fn writer(&self, is_bulk: bool) -> tantivy::Result<Option<Writer>> {
        let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_BUILD_THREADS));
        let (n_threads, bytes) = if is_bulk { (n_threads, BUILD_THREAD_BYTES) } else { (1, BATCH_BYTES) };
        let options = IndexWriterOptions::builder()
            .num_worker_threads(n_threads)
            .memory_budget_per_thread(bytes)
            .num_merge_threads(1)
            .build();
        match self.index.writer_with_options(options) {
            Ok(writer) => Ok(Some(Writer { writer, fields: self.fields.clone() })),
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The file by which an index is found.
const META: &str = "meta.json";

fn state(folder: &Path) -> Option<FileState> {
    let stat = fs::metadata(folder.join(META)).ok()?;
    Some(FileState {
        modified: stat.modified().ok(),
        size: stat.len(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(&stat),
    })
}

/// Returns the state of the index in `folder` when it cannot be read, or has other bytes than were written.
pub(crate) fn damaged(folder: &Path) -> Option<FileState> {
    loop {
        let before = state(folder)?;
        // opened by itself, so that what is only read for this does not stay in memory
        let is_damaged = match Index::open_in_dir(folder).and_then(|index| index.validate_checksum()) {
            Ok(files) => !files.is_empty(),
            Err(error) => !is_refused(&error),
        };
        if !is_damaged {
            return None;
        }
        // files of an index that is being written go away
        if is_still(folder, &before) {
            return Some(before);
        }
    }
}

/// Tells whether the index in `folder` is still in this state.
pub(crate) fn is_still(folder: &Path, seen: &FileState) -> bool {
    state(folder).as_ref() == Some(seen)
}

/// Removes the index in `folder` if `is_doomed` says so while nobody makes or removes one. `false` when it stays because
/// somebody does, or writes it.
pub(crate) fn remove(folder: &Path, is_doomed: impl FnOnce() -> bool) -> tantivy::Result<bool> {
    let Some(_alone) = alone(folder)? else { return Ok(false) };
    if !folder.exists() || !is_doomed() {
        return Ok(true);
    }
    clear_unless_written(folder)
}

/// Removes what there is of an index. `false` when somebody writes it.
fn clear_unless_written(folder: &Path) -> tantivy::Result<bool> {
    let held = MmapDirectory::open(folder).map(|directory| directory.acquire_lock(&INDEX_WRITER_LOCK));
    if matches!(held, Ok(Err(LockError::LockBusy))) {
        return Ok(false);
    }
    clear(folder)?;
    Ok(true)
}

/// Tells whether the system refused something, which says nothing of the index: no handles left, no access, no space.
pub(crate) fn is_refused(error: &TantivyError) -> bool {
    use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};
    let io = match error {
        TantivyError::IoError(io)
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: io, .. })
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: io, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: io, .. }) => io,
        _ => return false,
    };
    // a file that is too short is a damaged one
    !matches!(io.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
        && io.raw_os_error().is_some()
}

/// Makes this process the only one that makes or removes an index in `folder`, until the file is dropped. `None` while
/// another one is, which is not waited for: it may be stopped.
fn alone(folder: &Path) -> io::Result<Option<fs::File>> {
    let parent = folder.parent().unwrap_or(folder);
    make_private_folder(parent)?;
    let lock = fs::File::options().create(true).append(true).open(parent.join("lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Removes a folder. Readers that look into it at this moment may put a lock file there: so it gets another name first.
fn clear(folder: &Path) -> io::Result<()> {
    let gone = folder.with_extension("gone");
    // what is left of it goes with the next one
    let _ = fs::remove_dir_all(&gone);
    match fs::rename(folder, &gone) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let _ = fs::remove_dir_all(&gone);
    Ok(())
}

impl Writer {
    /// Adds a file that the index does not have.
    pub(crate) fn add(&self, path: &VaultPath, told: &Told) -> tantivy::Result<()> {
        self.writer.add_document(self.fields.document(path, told)).map(drop)
    }

    /// Takes a file out of the index.
    pub(crate) fn remove(&self, path: &VaultPath) {
        self.writer.delete_term(Term::from_field_text(self.fields.path, path.as_str()));
    }

    /// Makes it durable and seen by others, and waits until the index is tidy.
    pub(crate) fn commit(mut self) -> tantivy::Result<()> {
        self.writer.commit()?;
        self.writer.wait_merging_threads()
    }
}

/// Returns the files of a segment that have this path; at most one is not deleted.
pub(crate) fn at_path(
    searcher: &Searcher,
    segment: usize,
    fields: &Fields,
    path: &VaultPath,
) -> tantivy::Result<Option<DocId>> {
    let reader = searcher.segment_reader(segment as u32);
    let paths = reader.inverted_index(fields.path)?;
    let Some(info) = paths.terms().get(path.as_str())? else { return Ok(None) };
    let mut postings = paths.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
    let mut doc = postings.doc();
    while doc != TERMINATED && reader.is_deleted(doc) {
        doc = postings.advance();
    }
    Ok((doc != TERMINATED).then_some(doc))
}

/// Returns the parts of which an index consists.
pub(crate) fn parts(searcher: &Searcher) -> Parts {
    searcher.segment_readers().iter().map(|segment| (segment.segment_id(), segment.num_docs())).collect()
}

/// Returns what the index keeps of a file.
pub(crate) fn row(searcher: &Searcher, at: DocAddress) -> tantivy::Result<(VaultPath, Arc<Note>)> {
    unpacked(searcher.doc::<Row>(at)?)
}

/// Returns what the index keeps of all files.
pub(crate) fn rows(searcher: &Searcher) -> tantivy::Result<Vec<(VaultPath, Arc<Note>)>> {
    let mut rows = Vec::with_capacity(searcher.num_docs() as usize);
    for segment in searcher.segment_readers() {
        let store = segment.get_store_reader(1)?;
        for row in store.iter::<Row>(segment.alive_bitset()) {
            rows.push(unpacked(row?)?);
        }
    }
    Ok(rows)
}

fn unpacked(row: Row) -> tantivy::Result<(VaultPath, Arc<Note>)> {
    fields::unpack(&row.0).ok_or_else(|| TantivyError::InternalError("a row of the index cannot be read".into()))
}

/// The one field that the index stores.
struct Row(Vec<u8>);

impl DocumentDeserialize for Row {
    fn deserialize<'de, D: DocumentDeserializer<'de>>(mut deserializer: D) -> Result<Row, DeserializeError> {
        let mut row = Row(vec![]);
        while let Some((_, value)) = deserializer.next_field::<OwnedValue>()? {
            if let OwnedValue::Bytes(bytes) = value {
                row.0 = bytes;
            }
        }
        Ok(row)
    }
}
