//! Where the units of a query occur in one segment of the index: which files, and how often in which field.

use std::io;
use std::sync::Arc;

use tantivy::index::{InvertedIndexReader, SegmentReader};
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};
use vault_core::search::{N_FIELDS, Unit};

use crate::fields::Fields;

/// The terms of one segment, by field.
pub(crate) struct Terms {
    fields: [Arc<InvertedIndexReader>; N_FIELDS],
    n_docs: DocId,
}

/// Where the terms of a unit are found in a segment.
pub(crate) enum Places {
    /// Field, weight, postings.
    Word(Vec<(usize, f32, TermInfo)>),
    /// Field, and for each term of the phrase its place in there and its postings.
    Phrase(Vec<(usize, Vec<(u32, TermInfo)>)>),
    /// The files of each field.
    Prefix(Box<[DocIds; N_FIELDS]>),
}

impl Terms {
    pub(crate) fn of(segment: &SegmentReader, fields: &Fields) -> tantivy::Result<Terms> {
        let readers: Result<Vec<_>, _> = fields.words.iter().map(|field| segment.inverted_index(*field)).collect();
        let fields = readers?.try_into().unwrap_or_else(|_| unreachable!("there are as many readers as fields"));
        Ok(Terms { fields, n_docs: segment.max_doc() })
    }

    /// Returns the number of terms of all files, by field.
    pub(crate) fn n_terms(&self) -> [u64; N_FIELDS] {
        std::array::from_fn(|field| self.fields[field].total_num_tokens())
    }

    pub(crate) fn find(&self, unit: &Unit) -> io::Result<Places> {
        let info = |field: usize, term: &str| self.fields[field].terms().get(term.as_bytes());
        match unit {
            Unit::Word(forms) => {
                let mut found = Vec::new();
                for field in 0..N_FIELDS {
                    for (term, weight) in forms {
                        found.extend(info(field, term)?.map(|info| (field, *weight, info)));
                    }
                }
                Ok(Places::Word(found))
            }
            Unit::Phrase(terms) => {
                let mut found = Vec::new();
                for field in 0..N_FIELDS {
                    let infos: io::Result<Option<Vec<_>>> =
                        terms.iter().map(|(offset, term)| Ok(info(field, term)?.map(|info| (*offset, info)))).collect();
                    found.extend(infos?.map(|infos| (field, infos)));
                }
                Ok(Places::Phrase(found))
            }
            Unit::Prefix(prefix) => {
                let mut found: Box<[DocIds; N_FIELDS]> =
                    Box::new(std::array::from_fn(|_| DocIds::none_of(self.n_docs)));
                for (field, docs) in found.iter_mut().enumerate() {
                    self.add_prefix(field, prefix, docs)?;
                }
                Ok(Places::Prefix(found))
            }
        }
    }

    fn add_prefix(&self, field: usize, prefix: &str, docs: &mut DocIds) -> io::Result<()> {
        let reader = &self.fields[field];
        let mut terms = reader.terms().range().ge(prefix.as_bytes()).into_stream()?;
        while terms.advance() && terms.key().starts_with(prefix.as_bytes()) {
            let mut postings = reader.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
            docs.add_all(&mut postings);
        }
        Ok(())
    }

    fn open(&self, field: usize, info: &TermInfo, option: IndexRecordOption) -> io::Result<SegmentPostings> {
        self.fields[field].read_postings_from_terminfo(info, option)
    }
}

impl Places {
    /// Returns about how many files hold the unit; at least as many as do, but for phrases.
    pub(crate) fn n_docs(&self) -> u64 {
        let by_field = |of: &dyn Fn(usize) -> u64| (0..N_FIELDS).map(of).max().unwrap_or(0);
        match self {
            Places::Word(terms) => by_field(&|field| {
                terms.iter().filter(|(of, ..)| *of == field).map(|(_, _, info)| u64::from(info.doc_freq)).sum()
            }),
            Places::Phrase(fields) => {
                let rarest = |terms: &[(u32, TermInfo)]| terms.iter().map(|(_, info)| info.doc_freq).min().unwrap_or(0);
                fields.iter().map(|(_, terms)| u64::from(rarest(terms))).max().unwrap_or(0)
            }
            Places::Prefix(fields) => by_field(&|field| fields[field].len()),
        }
    }

    pub(crate) fn open(&self, terms: &Terms) -> io::Result<Cursor> {
        match self {
            Places::Word(found) => {
                let open = |(field, weight, info): &(usize, f32, TermInfo)| {
                    Ok((*field, *weight, terms.open(*field, info, IndexRecordOption::WithFreqs)?))
                };
                Ok(Cursor::Word(Word::new(found.iter().map(open).collect::<io::Result<_>>()?)))
            }
            Places::Phrase(found) => {
                let open = |(field, infos): &(usize, Vec<(u32, TermInfo)>)| Phrase::open(terms, *field, infos);
                Ok(Cursor::Phrase(found.iter().map(open).collect::<io::Result<_>>()?))
            }
            Places::Prefix(fields) => {
                let mut all = DocIds::none_of(terms.n_docs);
                fields.iter().for_each(|docs| all.join(docs));
                let doc = all.next_from(0);
                Ok(Cursor::Prefix { fields: fields.clone(), all, doc })
            }
        }
    }
}

/// Goes through the files of a segment that hold a unit, in order.
pub(crate) enum Cursor {
    Word(Word),
    Phrase(Vec<Phrase>),
    Prefix {
        fields: Box<[DocIds; N_FIELDS]>,
        all: DocIds,
        doc: DocId,
    },
    /// Files with a label; they hold no words.
    Label(Box<SegmentPostings>),
    Docs {
        docs: DocIds,
        doc: DocId,
    },
}

impl Cursor {
    pub(crate) fn of_docs(docs: DocIds) -> Cursor {
        let doc = docs.next_from(0);
        Cursor::Docs { docs, doc }
    }

    pub(crate) fn doc(&self) -> DocId {
        match self {
            Cursor::Word(word) => word.doc,
            Cursor::Phrase(fields) => fields.iter().map(|phrase| phrase.doc).min().unwrap_or(TERMINATED),
            Cursor::Prefix { doc, .. } | Cursor::Docs { doc, .. } => *doc,
            Cursor::Label(postings) => postings.doc(),
        }
    }

    /// Goes to the first file from `target` on, and returns it.
    pub(crate) fn seek(&mut self, target: DocId) -> DocId {
        if self.doc() >= target {
            return self.doc();
        }
        match self {
            Cursor::Word(word) => word.seek(target),
            Cursor::Phrase(fields) => {
                fields.iter_mut().filter(|phrase| phrase.doc < target).for_each(|phrase| phrase.seek(target));
            }
            Cursor::Prefix { all, doc, .. } | Cursor::Docs { docs: all, doc } => *doc = all.next_from(target),
            Cursor::Label(postings) => drop(postings.seek(target)),
        }
        self.doc()
    }

    /// Adds how often the unit occurs in each field of the present file.
    pub(crate) fn add_frequencies(&self, frequencies: &mut [f32; N_FIELDS]) {
        match self {
            Cursor::Word(word) => word.add_frequencies(frequencies),
            Cursor::Phrase(fields) => {
                let doc = self.doc();
                for phrase in fields.iter().filter(|phrase| phrase.doc == doc) {
                    frequencies[phrase.field] += phrase.n_found as f32;
                }
            }
            Cursor::Prefix { fields, doc, .. } => {
                for (frequency, docs) in frequencies.iter_mut().zip(fields.iter()) {
                    *frequency += f32::from(u8::from(docs.has(*doc)));
                }
            }
            Cursor::Label(_) | Cursor::Docs { .. } => {}
        }
    }
}

/// The forms of a word in all fields.
pub(crate) struct Word {
    lists: Vec<(usize, f32, SegmentPostings)>,
    doc: DocId,
}

impl Word {
    fn new(lists: Vec<(usize, f32, SegmentPostings)>) -> Word {
        let mut word = Word { lists, doc: 0 };
        word.settle();
        word
    }

    fn settle(&mut self) {
        self.doc = self.lists.iter().map(|(.., postings)| postings.doc()).min().unwrap_or(TERMINATED);
    }

    fn seek(&mut self, target: DocId) {
        for (.., postings) in self.lists.iter_mut().filter(|(.., postings)| postings.doc() < target) {
            postings.seek(target);
        }
        self.settle();
    }

    fn add_frequencies(&self, frequencies: &mut [f32; N_FIELDS]) {
        for (field, weight, postings) in self.lists.iter().filter(|(.., postings)| postings.doc() == self.doc) {
            frequencies[*field] += weight * postings.term_freq() as f32;
        }
    }
}

/// A phrase in one field.
pub(crate) struct Phrase {
    field: usize,
    /// Distance from the phrase's end, postings.
    terms: Vec<(u32, SegmentPostings)>,
    doc: DocId,
    n_found: usize,
    /// Where the phrase would end, by the first terms; by the next one.
    ends: Vec<u32>,
    other_ends: Vec<u32>,
}

impl Phrase {
    fn open(terms: &Terms, field: usize, infos: &[(u32, TermInfo)]) -> io::Result<Phrase> {
        let last = infos.iter().map(|(offset, _)| *offset).max().unwrap_or(0);
        let mut infos: Vec<&(u32, TermInfo)> = infos.iter().collect();
        // the rarest leads
        infos.sort_by_key(|(_, info)| info.doc_freq);
        let open = |(offset, info): &&(u32, TermInfo)| {
            Ok((last - offset, terms.open(field, info, IndexRecordOption::WithFreqsAndPositions)?))
        };
        let terms = infos.iter().map(open).collect::<io::Result<_>>()?;
        let mut phrase = Phrase { field, terms, doc: 0, n_found: 0, ends: vec![], other_ends: vec![] };
        phrase.find_from(0);
        Ok(phrase)
    }

    fn seek(&mut self, target: DocId) {
        self.find_from(target);
    }

    /// Goes to the first file from `target` on that has the terms one after another.
    fn find_from(&mut self, mut target: DocId) {
        loop {
            self.doc = self.next_with_all(target);
            if self.doc == TERMINATED {
                return;
            }
            self.count();
            if self.n_found > 0 {
                return;
            }
            target = self.doc + 1;
        }
    }

    fn next_with_all(&mut self, target: DocId) -> DocId {
        let mut doc = seek(&mut self.terms[0].1, target);
        'candidates: while doc != TERMINATED {
            let (lead, others) = self.terms.split_at_mut(1);
            for (_, postings) in others {
                let there = seek(postings, doc);
                if there > doc {
                    doc = seek(&mut lead[0].1, there);
                    continue 'candidates;
                }
            }
            return doc;
        }
        TERMINATED
    }

    fn count(&mut self) {
        let (lead, others) = self.terms.split_at_mut(1);
        lead[0].1.positions_with_offset(lead[0].0, &mut self.ends);
        for (distance, postings) in others {
            postings.positions_with_offset(*distance, &mut self.other_ends);
            keep_common(&mut self.ends, &self.other_ends);
        }
        self.ends.dedup();
        self.n_found = self.ends.len();
    }
}

fn seek(postings: &mut SegmentPostings, target: DocId) -> DocId {
    if postings.doc() >= target { postings.doc() } else { postings.seek(target) }
}

/// Keeps of a sorted list what the other one has too.
fn keep_common(ends: &mut Vec<u32>, others: &[u32]) {
    let mut others = others.iter().peekable();
    ends.retain(|end| {
        while others.next_if(|other| *other < end).is_some() {}
        others.peek() == Some(&end)
    });
}

/// A set of files of a segment.
#[derive(Debug, Clone)]
pub(crate) struct DocIds(Vec<u64>);

impl DocIds {
    pub(crate) fn none_of(n_docs: DocId) -> DocIds {
        DocIds(vec![0; (n_docs as usize).div_ceil(64)])
    }

    pub(crate) fn all_of(n_docs: DocId) -> DocIds {
        let mut all = DocIds::none_of(n_docs);
        (0..n_docs).for_each(|doc| all.add(doc));
        all
    }

    pub(crate) fn add(&mut self, doc: DocId) {
        self.0[doc as usize / 64] |= 1 << (doc % 64);
    }

    pub(crate) fn add_all(&mut self, postings: &mut SegmentPostings) {
        let mut doc = postings.doc();
        while doc != TERMINATED {
            self.add(doc);
            doc = postings.advance();
        }
    }

    pub(crate) fn has(&self, doc: DocId) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word & (1 << (doc % 64)) != 0)
    }

    fn join(&mut self, other: &DocIds) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn next_from(&self, doc: DocId) -> DocId {
        let first = doc as usize / 64;
        let Some(word) = self.0.get(first) else { return TERMINATED };
        let rest = word & (u64::MAX << (doc % 64));
        if rest != 0 {
            return first as u32 * 64 + rest.trailing_zeros();
        }
        let next = self.0[first + 1..].iter().position(|word| *word != 0);
        next.map_or(TERMINATED, |at| {
            let at = first + 1 + at;
            at as u32 * 64 + self.0[at].trailing_zeros()
        })
    }
}
