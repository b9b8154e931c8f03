//! What changed since the index was written: searched in memory until a batch takes it in.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use tantivy::{DocAddress, DocId, Searcher};
use vault_core::VaultPath;
use vault_core::catalog::Note;
use vault_core::index::{Question, Rank, Told, path_key};
use vault_core::search::{Analysed, Analyser, N_FIELDS, Query, Weights};

use crate::best::Best;
use crate::committed::{at_path, row};
use crate::fields::{Fields, searched, updated};

/// Changed and vanished files, over one state of the index.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    /// The files, `None` for those that are gone.
    entries: Arc<HashMap<VaultPath, Option<Arc<Pending>>>>,
    /// What the index has of them, by segment: it does not count.
    masked: Arc<Vec<HashSet<DocId>>>,
}

/// A file that awaits its batch.
pub(crate) struct Pending {
    pub(crate) told: Told,
    analysed: OnceLock<Analysed>,
}

impl Pending {
    fn analysed(&self, path: &VaultPath) -> &Analysed {
        self.analysed.get_or_init(|| Analysed::of(&searched(path, &self.told), &mut Analyser::default()))
    }
}

/// What a batch takes in.
pub(crate) type Entries = Arc<HashMap<VaultPath, Option<Arc<Pending>>>>;

impl Overlay {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn has(&self, path: &VaultPath) -> bool {
        self.entries.contains_key(path)
    }

    pub(crate) fn entries(&self) -> Entries {
        self.entries.clone()
    }

    pub(crate) fn masked(&self, segment: usize) -> Option<&HashSet<DocId>> {
        self.masked.get(segment)
    }

    /// Returns how many files of the index do not count.
    pub(crate) fn n_masked(&self) -> u64 {
        self.masked.iter().map(|docs| docs.len() as u64).sum()
    }

    /// Puts a file, or its end, over what the index says.
    pub(crate) fn put(
        &mut self,
        path: &VaultPath,
        told: Option<Told>,
        index: Option<(&Searcher, &Fields)>,
    ) -> tantivy::Result<()> {
        let is_new = !self.has(path);
        let pending = told.map(|told| Arc::new(Pending { told, analysed: OnceLock::new() }));
        Arc::make_mut(&mut self.entries).insert(path.clone(), pending);
        match index {
            Some((searcher, fields)) if is_new => self.mask(path, searcher, fields),
            _ => Ok(()),
        }
    }

    fn mask(&mut self, path: &VaultPath, searcher: &Searcher, fields: &Fields) -> tantivy::Result<()> {
        let masked = Arc::make_mut(&mut self.masked);
        masked.resize_with(searcher.segment_readers().len(), HashSet::new);
        for (segment, docs) in masked.iter_mut().enumerate() {
            docs.extend(at_path(searcher, segment, fields, path)?);
        }
        Ok(())
    }

    /// Drops what a new state of the index has.
    pub(crate) fn settle(&mut self, searcher: &Searcher, fields: &Fields) -> tantivy::Result<()> {
        let (mut left, mut kept) = (Overlay::default(), HashMap::new());
        for (path, pending) in self.entries.iter() {
            let there = find(searcher, fields, path)?;
            let is_settled = match pending {
                Some(pending) => there.is_some_and(|note| note.stat.same_state(&pending.told.note.stat)),
                None => there.is_none(),
            };
            if !is_settled {
                kept.insert(path.clone(), pending.clone());
                left.mask(path, searcher, fields)?;
            }
        }
        *self = Overlay { entries: Arc::new(kept), ..left };
        Ok(())
    }

    /// Takes all texts apart, which otherwise the next search does.
    pub(crate) fn prepare(&self) {
        let mut analyser = Analyser::default();
        for (path, pending) in self.there() {
            pending.analysed.get_or_init(|| Analysed::of(&searched(path, &pending.told), &mut analyser));
        }
    }

    /// Adds the number and the lengths of the files.
    pub(crate) fn add_sizes(&self, n_docs: &mut u64, n_terms: &mut [u64; N_FIELDS]) {
        for (path, pending) in self.there() {
            *n_docs += 1;
            let lengths = pending.analysed(path).lengths();
            n_terms.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += u64::from(*length));
        }
    }

    /// Adds how many files hold each wanted unit, and then each optional one.
    pub(crate) fn add_frequencies(&self, query: &Query, n_docs: &mut [u64]) {
        for (path, pending) in self.there() {
            let analysed = pending.analysed(path);
            for (unit, n_docs) in query.wanted.iter().chain(&query.optional).zip(n_docs.iter_mut()) {
                *n_docs += u64::from(analysed.has(unit));
            }
        }
    }

    /// Offers every file that answers.
    pub(crate) fn offer<T>(
        &self,
        question: &Question,
        query: &Query,
        any: bool,
        weights: &Weights,
        best: &mut Best<'_, T>,
        what: impl Fn(&VaultPath, &Arc<Note>) -> T,
    ) {
        for (path, pending) in self.there() {
            let analysed = pending.analysed(path);
            if analysed.matches(query, question.labels, question.include_archived, any) {
                let score = analysed.score(query, weights);
                let note = &pending.told.note;
                best.offer(Rank { score, updated: updated(note), key: path_key(path) }, what(path, note));
            }
        }
    }

    fn there(&self) -> impl Iterator<Item = (&VaultPath, &Arc<Pending>)> {
        self.entries.iter().filter_map(|(path, pending)| Some((path, pending.as_ref()?)))
    }
}

/// Returns what the index keeps of the file at a path.
fn find(searcher: &Searcher, fields: &Fields, path: &VaultPath) -> tantivy::Result<Option<Arc<Note>>> {
    for segment in 0..searcher.segment_readers().len() {
        if let Some(doc) = at_path(searcher, segment, fields, path)? {
            return Ok(Some(row(searcher, DocAddress::new(segment as u32, doc))?.1));
        }
    }
    Ok(None)
}
