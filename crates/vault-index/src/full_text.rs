//! The full-text index of a vault: what is on disk, and over it what changed since.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tantivy::{DocAddress, DocId, Searcher, TantivyError};
use vault_core::catalog::Note;
use vault_core::index::{Found, Hit, Progress, Question, SearchIndex, Told};
use vault_core::search::{N_FIELDS, Query, Weights};
use vault_core::{Call, VaultError, VaultPath};

use crate::best::Best;
use crate::committed::{self, Committed, Parts, Writer, parts, row, rows};
use crate::fields::Fields;
use crate::limits::MAX_OVERLAY;
use crate::overlay::{Entries, Overlay, Pending};
use crate::segment::Hunt;

/// The words of a vault's notes and sheets.
pub struct FullText {
    folder: PathBuf,
    state: Mutex<State>,
    /// Signalled when there is something to write, or to stop.
    changed: Condvar,
    progress: Mutex<Option<Progress>>,
    n_done: AtomicUsize,
    stopped: AtomicBool,
}

#[derive(Default)]
struct State {
    committed: Option<Committed>,
    overlay: Overlay,
    /// More changed than is kept in memory: search does not know everything until everything was compared.
    lags: bool,
    /// Counts how often that came about.
    n_lags: u64,
    /// Everything was compared since: an index without files is one of a vault without.
    is_complete: bool,
    /// Since when something waits for a batch, and when the last of it came.
    waiting: Option<(Instant, Instant)>,
}

impl State {
    fn lag(&mut self) {
        self.lags = true;
        self.is_complete = false;
        self.n_lags += 1;
        self.overlay = Overlay::default();
    }
}

/// What one search looks at.
struct Snapshot {
    searcher: Searcher,
    fields: Arc<Fields>,
    overlay: Overlay,
}

/// Where a hit is.
pub(crate) enum Place {
    /// In the index: segment and number in there.
    Committed(usize, DocId),
    /// In memory.
    Pending(VaultPath, Arc<Note>),
}

impl FullText {
    /// Makes the index whose folder lies in `cache`, the folder where this machine keeps what can be made again of a
    /// vault. Nothing is opened before it is needed, and nothing made.
    pub fn new(cache: &Path) -> FullText {
        FullText {
            folder: committed::folder(cache),
            state: Mutex::default(),
            changed: Condvar::new(),
            progress: Mutex::default(),
            n_done: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a look at everything, as it is at this moment; `None` when that is not everything there is.
    fn snapshot(&self) -> tantivy::Result<Option<Snapshot>> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        if state.lags {
            return Ok(None);
        }
        let overlay = state.overlay.clone();
        let snapshot = |committed: &Committed| Snapshot {
            searcher: committed.searcher(),
            fields: committed.fields.clone(),
            overlay,
        };
        let is_usable = |snapshot: &Snapshot| state.is_complete || snapshot.searcher.num_docs() > 0;
        Ok(state.committed.as_ref().map(snapshot).filter(is_usable))
    }

    /// Opens what another process wrote.
    fn refresh(&self, state: &mut State) -> tantivy::Result<()> {
        let State { committed, overlay, is_complete, .. } = state;
        let is_news = match committed {
            Some(known) => known.refresh()?,
            None => {
                *committed = Committed::open(&self.folder)?;
                committed.is_some()
            }
        };
        let Some(committed) = committed.as_mut().filter(|_| is_news) else { return Ok(()) };
        // one that another process has only begun
        *is_complete &= committed.searcher().num_docs() > 0;
        let settled = overlay.settle(&committed.searcher(), &committed.fields);
        if settled.is_err() {
            committed.forget_seen();
        }
        settled
    }

    /// Gives up an index that cannot be read. The next one who writes makes it anew; unless another process did.
    pub(crate) fn give_up(&self) {
        // one that is being written is found damaged again afterwards, should it be
        let _ = self.discard(|failed| match failed {
            Some(failed) => failed.is_latest(),
            None => Committed::open(&self.folder).is_err_and(|error| !committed::is_refused(&error)),
        });
    }

    /// Forgets everything: until all is compared, searches do without the index. Removes it from the disk when `is_doomed`
    /// says so of what was open. `false` while another process writes it.
    fn discard(&self, is_doomed: impl FnOnce(Option<&Committed>) -> bool) -> tantivy::Result<bool> {
        let mut state = self.lock();
        state.lag();
        let open = state.committed.take();
        drop(state);
        let removed = committed::remove(&self.folder, || is_doomed(open.as_ref()));
        self.changed.notify_all();
        removed
    }

    /// Runs `work` on the index; whatever goes wrong in there is a damaged index, not a failed call. What the system
    /// refuses may succeed the next time.
    fn guarded<T>(&self, work: impl FnOnce() -> tantivy::Result<T>) -> Option<T> {
        let done = self.caught(work);
        if done.as_ref().is_err_and(|error| !committed::is_refused(error)) {
            self.give_up();
        }
        done.ok()
    }

    /// Runs `work` on the index; if it panics, on what it reads there, the index is given up.
    fn caught<T>(&self, work: impl FnOnce() -> tantivy::Result<T>) -> tantivy::Result<T> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            self.give_up();
            Err(TantivyError::InternalError("the index cannot be read".into()))
        })
    }

    /// Reads all of the index on disk, and gives it up when it is not what was written.
    pub(crate) fn verify(&self) {
        if let Some(damaged) = committed::damaged(&self.folder) {
            let _ = self.discard(|_| committed::is_still(&self.folder, &damaged));
        }
    }

    /// Tells whether everything has to be compared before the index can answer.
    pub(crate) fn lags(&self) -> bool {
        self.lock().lags
    }

    /// Tells whether there is an index on disk.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().committed.is_some()
    }

    /// Returns how many files are in the index on disk.
    pub(crate) fn n_files(&self) -> usize {
        self.lock().committed.as_ref().map_or(0, |committed| committed.searcher().num_docs() as usize)
    }

    /// Forgets the index and removes it from the disk, so that it is made anew. `false` while another process writes it.
    pub(crate) fn clear(&self) -> tantivy::Result<bool> {
        self.discard(|_| true)
    }

    /// Says that everything is about to be compared. Returns what [`FullText::compared`] takes afterwards.
    pub(crate) fn comparing(&self) -> u64 {
        self.lock().n_lags
    }

    /// Says that everything was compared, and that what changed is in the index or in memory. `false` when too much
    /// changed meanwhile.
    pub(crate) fn compared(&self, since: u64) -> bool {
        let mut state = self.lock();
        let is_complete = state.n_lags == since;
        state.lags &= !is_complete;
        state.is_complete |= is_complete;
        is_complete
    }

    /// Opens the index, or makes an empty one. `false` while another process does.
    fn open(&self, state: &mut State) -> tantivy::Result<bool> {
        if !self.folder.exists() && state.committed.take().is_some() {
            // what is made now has nothing of what that had
            state.lag();
        }
        if state.committed.is_none() {
            let Some(committed) = Committed::open_or_create(&self.folder)? else { return Ok(false) };
            state.overlay.settle(&committed.searcher(), &committed.fields)?;
            state.committed = Some(committed);
        }
        Ok(true)
    }

    /// Takes the right to write the index, if it still is what was read in these parts.
    pub(crate) fn begin_bulk(&self, read: &Parts) -> tantivy::Result<Turn> {
        self.caught(|| {
            let mut state = self.lock();
            if !self.open(&mut state)? {
                return Ok(Turn::Busy);
            }
            let writer = state.committed.as_ref().map(|committed| committed.writer(true)).transpose()?.flatten();
            let Some(writer) = writer else { return Ok(Turn::Busy) };
            self.refresh(&mut state)?;
            let is_as_read = state.committed.as_ref().is_some_and(|committed| parts(&committed.searcher()) == *read);
            Ok(if is_as_read { Turn::Ours(Box::new(writer)) } else { Turn::Outdated })
        })
    }

    /// Makes what was written in bulk what is searched.
    pub(crate) fn end_bulk(&self, writer: Writer) -> tantivy::Result<()> {
        self.caught(|| {
            writer.commit()?;
            self.refresh(&mut self.lock()).map(drop)
        })
    }

    /// Writes what waits in memory. `false` while another process writes.
    ///
    /// Only what `is_present` says of the disk at this moment is written, so that no older state ever follows a newer
    /// one that another process wrote.
    pub(crate) fn write_batch(&self, is_present: &IsPresent) -> tantivy::Result<bool> {
        self.caught(|| {
            let mut state = self.lock();
            if !self.open(&mut state)? {
                return Ok(false);
            }
            let writer = state.committed.as_ref().map(|committed| committed.writer(false)).transpose()?.flatten();
            let Some(writer) = writer.filter(|_| !state.lags) else { return Ok(false) };
            // the last one who wrote may have taken all of it in
            self.refresh(&mut state)?;
            let (entries, taken, is_complete) = (state.overlay.entries(), Instant::now(), state.is_complete);
            drop(state);
            if put_all(&writer, &entries, is_present)? > 0 {
                writer.commit()?;
            }
            let mut state = self.lock();
            self.refresh(&mut state)?;
            state.is_complete = is_complete && !state.lags;
            // what came meanwhile waits from now on
            let is_left = state.overlay.len() > 0;
            state.waiting = state.waiting.filter(|_| is_left).map(|(_, last)| (taken, last));
            Ok(true)
        })
    }

    /// Gets what waits in memory ready for searches.
    pub(crate) fn prepare(&self) {
        let overlay = self.lock().overlay.clone();
        overlay.prepare();
    }

    /// Returns how many changed files wait for a batch, since when, and since when none came.
    pub(crate) fn waiting(&self) -> Option<(usize, Duration, Duration)> {
        let state = self.lock();
        let (first, last) = state.waiting?;
        (state.overlay.len() > 0).then(|| (state.overlay.len(), first.elapsed(), last.elapsed()))
    }

    /// Waits until something changes, or for that long.
    pub(crate) fn wait(&self, time: Duration) {
        let state = self.lock();
        if !self.stopped.load(Ordering::Acquire) {
            let _waited = self.changed.wait_timeout(state, time);
        }
    }

    /// Wakes whoever waits.
    pub(crate) fn wake(&self) {
        let _state = self.lock();
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Says how many files are to be read, until what it returns is dropped.
    pub(crate) fn expect(&self, total: usize) -> Expected<'_> {
        self.n_done.store(0, Ordering::Relaxed);
        self.set_progress(Some(Progress { done: 0, total }));
        Expected(self)
    }

    fn set_progress(&self, progress: Option<Progress>) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    pub(crate) fn count_one(&self) -> usize {
        self.n_done.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns what is known of every file in the index, and the parts that it was read from.
    pub(crate) fn known_parts(&self) -> (Parts, Vec<(VaultPath, Arc<Note>)>) {
        let searcher = || -> tantivy::Result<Option<Searcher>> {
            let mut state = self.lock();
            self.refresh(&mut state)?;
            Ok(state.committed.as_ref().map(Committed::searcher))
        };
        // read with the index unlocked: searches go on meanwhile
        let known = self.guarded(|| match searcher()? {
            Some(searcher) => Ok((parts(&searcher), rows(&searcher)?)),
            None => Ok(Default::default()),
        });
        known.unwrap_or_default()
    }
}

/// Whether it is our turn to write the index.
pub(crate) enum Turn {
    /// It is.
    Ours(Box<Writer>),
    /// Another process writes.
    Busy,
    /// Another process has written since the index was read.
    Outdated,
}

/// Files that are being read for the index.
pub(crate) struct Expected<'a>(&'a FullText);

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.0.set_progress(None);
    }
}

impl SearchIndex for FullText {
    fn known(&self) -> Vec<(VaultPath, Arc<Note>)> {
        self.known_parts().1
    }

    fn tell(&self, path: &VaultPath, now: Option<Told>) {
        let mut state = self.lock();
        let now_is = Instant::now();
        let first = state.waiting.map_or(now_is, |(first, _)| first);
        state.waiting = Some((first, now_is));
        if state.overlay.len() >= MAX_OVERLAY && !state.overlay.has(path) {
            state.lag();
        }
        let State { committed, overlay, .. } = &mut *state;
        let searcher = committed.as_ref().map(|committed| (committed.searcher(), committed.fields.clone()));
        let index = searcher.as_ref().map(|(searcher, fields)| (searcher, &**fields));
        let put = catch_unwind(AssertUnwindSafe(|| overlay.put(path, now, index)));
        self.changed.notify_all();
        drop(state);
        if !matches!(put, Ok(Ok(()))) {
            self.give_up();
        }
    }

    fn lag(&self) {
        self.lock().lag();
        self.changed.notify_all();
    }

    fn search(&self, question: &Question, call: &Call) -> Result<Option<Found>, VaultError> {
        call.check()?;
        let answer = self.guarded(|| match self.snapshot()? {
            Some(snapshot) => question.answer(|query, any| snapshot.hits(question, query, any)).map(Some),
            None => Ok(None),
        });
        Ok(answer.flatten())
    }

    fn progress(&self) -> Option<Progress> {
        let progress = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.map(|progress| Progress { done: self.n_done.load(Ordering::Relaxed), ..progress })
    }
}

/// Tells whether a file is in this state, or is gone.
pub(crate) type IsPresent<'a> = dyn Fn(&VaultPath, Option<&Note>) -> bool + 'a;

/// Returns how many it wrote.
fn put_all(writer: &Writer, entries: &Entries, is_present: &IsPresent) -> tantivy::Result<usize> {
    let note = |pending: &Option<Arc<Pending>>| pending.as_ref().map(|pending| pending.told.note.clone());
    let mut n_written = 0;
    for (path, pending) in entries.iter().filter(|(path, pending)| is_present(path, note(pending).as_deref())) {
        writer.remove(path);
        if let Some(pending) = pending {
            writer.add(path, &pending.told)?;
        }
        n_written += 1;
    }
    Ok(n_written)
}

impl Snapshot {
    fn hits(&self, question: &Question, query: &Query, any: bool) -> tantivy::Result<(Vec<Hit>, Weights)> {
        let nothing_masked = Default::default();
        let segments = self.searcher.segment_readers();
        let begin = |(number, segment)| {
            let masked = self.overlay.masked(number).unwrap_or(&nothing_masked);
            Hunt::begin(segment, &self.fields, query, masked)
        };
        let hunts: Vec<Hunt> = segments.iter().enumerate().map(begin).collect::<Result<_, _>>()?;
        let weights = self.weights(query, &hunts);
        let mut best = Best::new(question.at_most, question.after);
        for (number, hunt) in hunts.iter().enumerate() {
            hunt.run(question, query, any, &weights, &mut best, number)?;
        }
        let pending = |path: &VaultPath, note: &Arc<Note>| Place::Pending(path.clone(), note.clone());
        self.overlay.offer(question, query, any, &weights, &mut best, pending);
        let hit = |(rank, place)| match place {
            Place::Pending(path, note) => Ok(Hit { rank, path, note }),
            Place::Committed(segment, doc) => {
                let (path, note) = row(&self.searcher, DocAddress::new(segment as u32, doc))?;
                Ok(Hit { rank, path, note })
            }
        };
        let hits = best.into_sorted().map(hit).collect::<tantivy::Result<_>>()?;
        Ok((hits, weights))
    }

    fn weights(&self, query: &Query, hunts: &[Hunt]) -> Weights {
        let mut n_docs = self.searcher.num_docs().saturating_sub(self.overlay.n_masked());
        let mut n_terms = [0; N_FIELDS];
        let mut by_unit = vec![0; query.wanted.len() + query.optional.len()];
        for hunt in hunts {
            n_terms.iter_mut().zip(hunt.n_terms()).for_each(|(sum, n)| *sum += n);
            by_unit.iter_mut().zip(hunt.n_docs_by_unit()).for_each(|(sum, n)| *sum += n);
        }
        self.overlay.add_sizes(&mut n_docs, &mut n_terms);
        self.overlay.add_frequencies(query, &mut by_unit);
        Weights::of(&by_unit, n_docs, &n_terms)
    }
}
