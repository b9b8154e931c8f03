//! Searching one segment of the index: which of its files answer a question, and how well.

use std::collections::HashSet;
use std::io;

use tantivy::columnar::Column;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentReader;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, TERMINATED};
use vault_core::index::{Question, Rank};
use vault_core::search::{ARCHIVED, Filter, N_FIELDS, Query, Unit, Weights, most, unit_score};

use crate::best::Best;
use crate::cursor::{Cursor, DocIds, Places, Terms};
use crate::fields::Fields;
use crate::full_text::Place;

/// A question's terms in one segment.
pub(crate) struct Hunt<'a> {
    segment: &'a SegmentReader,
    fields: &'a Fields,
    terms: Terms,
    wanted: Vec<Places>,
    optional: Vec<Places>,
    unwanted: Vec<Places>,
    /// Files that are otherwise by now, so that what the index has of them does not count.
    masked: &'a HashSet<DocId>,
}

impl<'a> Hunt<'a> {
    pub(crate) fn begin(
        segment: &'a SegmentReader,
        fields: &'a Fields,
        query: &Query,
        masked: &'a HashSet<DocId>,
    ) -> tantivy::Result<Hunt<'a>> {
        let terms = Terms::of(segment, fields)?;
        let find = |units: &[Unit]| units.iter().map(|unit| terms.find(unit)).collect::<io::Result<Vec<_>>>();
        let (wanted, optional, unwanted) = (find(&query.wanted)?, find(&query.optional)?, find(&query.unwanted)?);
        Ok(Hunt { segment, fields, terms, wanted, optional, unwanted, masked })
    }

    /// Returns the number of terms of all files, by field.
    pub(crate) fn n_terms(&self) -> [u64; N_FIELDS] {
        self.terms.n_terms()
    }

    /// Returns about how many files hold each wanted unit, and then each optional one.
    pub(crate) fn n_docs_by_unit(&self) -> impl Iterator<Item = u64> {
        self.wanted.iter().chain(&self.optional).map(Places::n_docs)
    }

    /// Offers every file that answers. With `any`, one wanted unit is enough.
    pub(crate) fn run(
        &self,
        question: &Question,
        query: &Query,
        any: bool,
        weights: &Weights,
        best: &mut Best<'_, Place>,
        number: usize,
    ) -> tantivy::Result<()> {
        let mut wanted: Vec<Cursor> =
            self.wanted.iter().map(|places| places.open(&self.terms)).collect::<Result<_, _>>()?;
        let mut scorer = Scorer::open(self, weights)?;
        let mut filters = self.filters(question, query)?;
        let mut barriers = self.barriers(question, query)?;
        if wanted.is_empty() && filters.is_empty() {
            filters.push(Cursor::of_docs(DocIds::all_of(self.segment.max_doc())));
        }
        let leading = Leading::of(weights, wanted.len());
        let mut doc = 0;
        loop {
            doc = match any {
                true => leading.next(&mut wanted, doc, best.least()),
                false => next_in_all(&mut wanted, doc),
            };
            // wanted first: the filters only follow
            doc = match wanted.is_empty() {
                true => next_in_all(&mut filters, doc),
                false => doc,
            };
            if doc == TERMINATED {
                return Ok(());
            }
            let passes = filters.iter_mut().all(|filter| filter.seek(doc) == doc)
                && barriers.iter_mut().all(|barrier| barrier.seek(doc) != doc)
                && !self.segment.is_deleted(doc)
                && !self.masked.contains(&doc);
            if passes {
                let score = scorer.score(doc, &wanted);
                if best.may_take(score) {
                    best.offer(scorer.rank(doc, score), Place::Committed(number, doc));
                }
            }
            doc += 1;
        }
    }

    /// What a file must be in beside holding the words.
    fn filters(&self, question: &Question, query: &Query) -> tantivy::Result<Vec<Cursor>> {
        let mut filters = Vec::new();
        for label in question.labels {
            filters.push(self.labelled(label)?);
        }
        for filter in &query.filters {
            filters.push(self.passing(filter)?);
        }
        Ok(filters)
    }

    /// What a file must not be in.
    fn barriers(&self, question: &Question, query: &Query) -> tantivy::Result<Vec<Cursor>> {
        let mut barriers = Vec::new();
        if !question.include_archived {
            barriers.push(self.labelled(ARCHIVED)?);
        }
        for filter in &query.unwanted_filters {
            barriers.push(self.passing(filter)?);
        }
        for places in &self.unwanted {
            barriers.push(places.open(&self.terms)?);
        }
        Ok(barriers)
    }

    fn passing(&self, filter: &Filter) -> tantivy::Result<Cursor> {
        match filter {
            Filter::Label(label) => self.labelled(label),
            Filter::PathPart(part) => self.with_path_part(part),
        }
    }

    fn labelled(&self, label: &str) -> tantivy::Result<Cursor> {
        let labels = self.segment.inverted_index(self.fields.labels)?;
        Ok(match labels.terms().get(label)? {
            Some(info) => {
                let postings = labels.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
                Cursor::Label(Box::new(postings))
            }
            None => Cursor::of_docs(DocIds::none_of(0)),
        })
    }

    fn with_path_part(&self, part: &str) -> tantivy::Result<Cursor> {
        let places = self.segment.inverted_index(self.fields.place)?;
        let mut docs = DocIds::none_of(self.segment.max_doc());
        let mut stream = places.terms().stream()?;
        while stream.advance() {
            if std::str::from_utf8(stream.key()).is_ok_and(|path| path.contains(part)) {
                let mut postings = places.read_postings_from_terminfo(stream.value(), IndexRecordOption::Basic)?;
                docs.add_all(&mut postings);
            }
        }
        Ok(Cursor::of_docs(docs))
    }
}

/// Which units can make a file one of the best, when any of them is enough.
///
/// Source: Turtle, Flood, "Query Evaluation: Strategies and Optimizations" (1995): MaxScore.
struct Leading {
    /// Units from the least to the most that they can add, each with what it and those before can add together.
    units: Vec<(usize, f32)>,
    /// What the optional units can add.
    optional: f32,
}

impl Leading {
    fn of(weights: &Weights, n_wanted: usize) -> Leading {
        let (wanted, optional) = weights.idfs.split_at(n_wanted);
        let mut units: Vec<(usize, f32)> = wanted.iter().map(|idf| most(*idf)).enumerate().collect();
        units.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut sum = 0.0;
        units.iter_mut().for_each(|(_, most)| {
            sum += *most;
            *most = sum;
        });
        // who has all of them has the last one
        if let Some((_, most)) = units.last_mut() {
            *most += weights.all;
        }
        Leading { units, optional: optional.iter().map(|idf| most(*idf)).sum() }
    }

    /// Goes to the first file from `doc` on that may score `least`; all units are there or beyond.
    fn next(&self, cursors: &mut [Cursor], doc: DocId, least: f32) -> DocId {
        let is_weak = |(_, most): &&(usize, f32)| most + self.optional < least;
        let n_weak = self.units.iter().take_while(is_weak).count();
        let (weak, strong) = self.units.split_at(n_weak);
        let next = strong.iter().map(|(unit, _)| cursors[*unit].seek(doc)).min().unwrap_or(TERMINATED);
        for (unit, _) in weak {
            cursors[*unit].seek(next);
        }
        next
    }
}

/// Returns the first file from `doc` on that is in all of them; `doc` itself when there are none.
fn next_in_all(cursors: &mut [Cursor], mut doc: DocId) -> DocId {
    'candidates: loop {
        for cursor in cursors.iter_mut() {
            let there = cursor.seek(doc);
            if there == TERMINATED {
                return TERMINATED;
            }
            if there > doc {
                doc = there;
                continue 'candidates;
            }
        }
        return doc;
    }
}

/// Scores the files of a segment.
struct Scorer<'a> {
    weights: &'a Weights,
    lengths: Vec<FieldNormReader>,
    optional: Vec<Cursor>,
    updated: Column<i64>,
    key: Column<u64>,
}

impl<'a> Scorer<'a> {
    fn open(hunt: &Hunt, weights: &'a Weights) -> tantivy::Result<Scorer<'a>> {
        let lengths = hunt.fields.words.iter().map(|field| hunt.segment.get_fieldnorms_reader(*field));
        let fast = hunt.segment.fast_fields();
        Ok(Scorer {
            weights,
            lengths: lengths.collect::<Result<_, _>>()?,
            optional: hunt.optional.iter().map(|places| places.open(&hunt.terms)).collect::<Result<_, _>>()?,
            updated: fast.i64("updated")?,
            key: fast.u64("key")?,
        })
    }

    fn score(&mut self, doc: DocId, wanted: &[Cursor]) -> f32 {
        let lengths: [u32; N_FIELDS] = std::array::from_fn(|field| self.lengths[field].fieldnorm(doc));
        for cursor in &mut self.optional {
            cursor.seek(doc);
        }
        let units = wanted.iter().chain(&self.optional).zip(&self.weights.idfs);
        let has_all = wanted.iter().all(|cursor| cursor.doc() == doc);
        let mut score = if has_all { self.weights.all } else { 0.0 };
        for (cursor, idf) in units.filter(|(cursor, _)| cursor.doc() == doc) {
            let mut frequencies = [0.0; N_FIELDS];
            cursor.add_frequencies(&mut frequencies);
            score += unit_score(&frequencies, &lengths, *idf, &self.weights.averages);
        }
        score
    }

    fn rank(&self, doc: DocId, score: f32) -> Rank {
        let (updated, key) = (self.updated.first(doc), self.key.first(doc));
        Rank { score, updated: updated.unwrap_or_default(), key: key.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_kept_in_the_steps_in_which_texts_in_memory_have_them() {
        for length in (0..70_000).chain([1_000_003, u32::MAX / 3]) {
            let kept = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(length));
            assert_eq!(vault_core::search::in_steps(length), kept, "{length}");
        }
    }
}
