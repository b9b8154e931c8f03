//! Matching and scoring one note without an index.

use std::collections::{HashMap, HashSet};

use super::analyse::Analyser;
use super::query::{Filter, Query, Unit};
use super::score::{N_FIELDS, Weights, in_steps, unit_score};
use super::searched::{ARCHIVED, Searched};
use super::sought::Sought;
use crate::path::folded;

/// A note taken apart: what an index would hold of it.
#[derive(Debug)]
pub struct Analysed {
    /// Where each term stands, in order.
    terms: Terms,
    lengths: [u32; N_FIELDS],
    labels: HashSet<String>,
    path: String,
}

type Terms = HashMap<Box<str>, Vec<Place>, foldhash::fast::RandomState>;

/// A field and a position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    field: u8,
    position: u32,
}

impl Analysed {
    /// Takes a note apart.
    pub fn of(searched: &Searched, analyser: &mut Analyser) -> Analysed {
        Analysed::keeping(searched, analyser, |_| true)
    }

    /// Takes a note apart for one query, which costs much less.
    pub(crate) fn for_query(searched: &Searched, analyser: &mut Analyser, sought: &Sought) -> Analysed {
        Analysed::keeping(searched, analyser, |term| sought.has(term))
    }

    fn keeping(searched: &Searched, analyser: &mut Analyser, keeps: impl Fn(&str) -> bool) -> Analysed {
        let mut terms = Terms::default();
        let mut lengths = [0; N_FIELDS];
        searched.terms(analyser, &mut |field, term, position| {
            lengths[field] += 1;
            if !keeps(term) {
                return;
            }
            let place = Place { field: field as u8, position };
            match terms.get_mut(term) {
                Some(places) => places.push(place),
                None => drop(terms.insert(term.into(), vec![place])),
            }
        });
        let labels = searched.labels().into_iter().collect();
        Analysed { terms, lengths, labels, path: folded(searched.path().as_str()) }
    }

    /// Returns how many terms each field has.
    pub fn lengths(&self) -> &[u32; N_FIELDS] {
        &self.lengths
    }

    /// Tells whether the note holds a unit.
    pub fn has(&self, unit: &Unit) -> bool {
        self.frequencies(unit).iter().any(|frequency| *frequency > 0.0)
    }

    /// Returns how often it does, by field.
    fn frequencies(&self, unit: &Unit) -> [f32; N_FIELDS] {
        let mut frequencies = [0.0; N_FIELDS];
        match unit {
            Unit::Word(forms) => {
                for (term, weight) in forms {
                    self.places(term).iter().for_each(|place| frequencies[usize::from(place.field)] += weight);
                }
            }
            Unit::Phrase(terms) => {
                let (offset, first) = &terms[0];
                let mut begins = self.places(first).to_vec();
                begins.dedup();
                let is_there = |begin: &Place, at: u32, term: &str| {
                    let place = Place { field: begin.field, position: begin.position - offset + at };
                    self.places(term).binary_search(&place).is_ok()
                };
                let complete = begins.iter().filter(|begin| terms.iter().all(|(at, term)| is_there(begin, *at, term)));
                complete.for_each(|begin| frequencies[usize::from(begin.field)] += 1.0);
            }
            Unit::Prefix(prefix) => {
                let begins = self.terms.iter().filter(|(term, _)| term.starts_with(prefix.as_str()));
                for (_, places) in begins {
                    places.iter().for_each(|place| frequencies[usize::from(place.field)] = 1.0);
                }
            }
        }
        frequencies
    }

    fn places(&self, term: &str) -> &[Place] {
        self.terms.get(term).map_or(&[], Vec::as_slice)
    }

    /// Tells whether the note answers a query: all that is wanted, or with `any` some of it, nothing unwanted, all filters
    /// and `labels`.
    pub fn matches(&self, query: &Query, labels: &[String], include_archived: bool, any: bool) -> bool {
        let mut wanted = query.wanted.iter();
        let holds = if any { wanted.any(|unit| self.has(unit)) } else { wanted.all(|unit| self.has(unit)) };
        holds
            && (include_archived || !self.labels.contains(ARCHIVED))
            && labels.iter().all(|label| self.labels.contains(label))
            && query.filters.iter().all(|filter| self.passes(filter))
            && !query.unwanted_filters.iter().any(|filter| self.passes(filter))
            && !query.unwanted.iter().any(|unit| self.has(unit))
    }

    fn passes(&self, filter: &Filter) -> bool {
        match filter {
            Filter::Label(label) => self.labels.contains(label),
            Filter::PathPart(part) => self.path.contains(part.as_str()),
        }
    }

    /// Returns how well the note answers.
    pub fn score(&self, query: &Query, weights: &Weights) -> f32 {
        let units = query.wanted.iter().chain(&query.optional).zip(&weights.idfs);
        let lengths = self.lengths.map(in_steps);
        let score = |(unit, idf): (&Unit, &f32)| unit_score(&self.frequencies(unit), &lengths, *idf, &weights.averages);
        let has_all = query.wanted.iter().all(|unit| self.has(unit));
        units.map(score).sum::<f32>() + if has_all { weights.all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::Note;
    use crate::path::VaultPath;
    use crate::store::{EntryKind, Stat};

    fn analysed(path: &str, stored: &str) -> Analysed {
        let path = VaultPath::parse(path).unwrap();
        let at = Timestamp::UNIX_EPOCH;
        let (kind, created) = (EntryKind::File, None);
        let stat = Stat { kind, size: 0, modified: at, changed: at, created, inode: 0, device: 0, writable: true };
        let document = vault_markdown::parse(stored);
        let note = Note::new(&path, stat, Some((stored, &document)), at);
        Analysed::of(&Searched::of_note(&path, &note, &document, stored), &mut Analyser::default())
    }

    fn finds(query: &str, path: &str, stored: &str) -> bool {
        analysed(path, stored).matches(&Query::parse(query), &[], true, false)
    }

    #[test]
    fn every_part_of_a_note_is_searched() {
        let stored = "---\ntitle: Big Fern\ntags: [garden/wild]\nlight: deep shade\ncreated: 2021-01-01\n---\n\
                      # Care\nWater weekly, see [[moss]].\n```chart\nsecret: 1\n```\n";
        let found = [
            "fern",
            "garden",
            "wild",
            "garden/wild",
            "shade",
            "care",
            "weekly",
            "moss",
            "plants",
            "tag:garden",
            "tag:garden/wild",
            "path:Plants/",
            "path:plan",
            "path:plants/old/",
            "\"water weekly\"",
            "wat*",
            "watering",
        ];
        for query in found {
            assert!(finds(query, "Plants/Old/a.md", stored), "{query}");
        }
        let missing = [
            "2021",
            "secret",
            "tag:wild",
            "path:old/",
            "\"weekly water\"",
            "\"watering\"",
            "fern -moss",
            "fern -path:plants/",
            "\"wild care\"",
            "fern -tag:garden",
        ];
        for query in missing {
            assert!(!finds(query, "Plants/Old/a.md", stored), "{query}");
        }
    }

    #[test]
    fn identifiers_are_found_whole_and_in_part() {
        let stored =
            "Call snake_case or camelCase in C++ with `v1.2.3` of gen-itgc; 重跑gen-itgc后检查。 getHTTPUsers\n";
        for query in [
            "snake_case",
            "snake",
            "case",
            "camelCase",
            "camelcase",
            "camel",
            "C++",
            "v1.2.3",
            "1.2.3",
            "gen-itgc",
            "itgc",
            "检查",
            "重跑",
            "重跑gen",
            "users",
            "http",
            "user",
        ] {
            assert!(finds(query, "a.md", stored), "{query}");
        }
        for query in ["C#", "case_snake", "\"user\"", "1.3", "v1.2.4"] {
            assert!(!finds(query, "a.md", stored), "{query}");
        }
    }

    #[test]
    fn words_of_many_languages_are_found() {
        let cases = [
            ("Die Straße zum Fluß", "strasse"),
            ("un résumé court", "resume"),
            ("İstanbul'da", "istanbul"),
            ("Η Ελλάδα", "ελλαδα"),
            ("Ёлка", "елка"),
            ("مُحَمَّد", "محمد"),
            ("हिन्दी में", "हिन्दी"),
            ("오늘 끝말잇기를 했다.", "끝말잇기"),
            ("サンドボックス修正テスト", "ボックス修正"),
            ("ｻﾝﾄﾞﾎﾞｯｸｽ", "サンドボックス"),
            ("ภาษาไทยง่าย", "ไทย"),
            ("party 🎉!", "🎉"),
        ];
        for (text, query) in cases {
            assert!(finds(query, "a.md", text), "{query} in {text}");
        }
    }

    proptest! {
        #[test]
        fn any_part_of_a_run_is_found(text in "[あ-ん漢字検索中文가-깋]{2,12}", from in 0usize..12, length in 2usize..12) {
            let from = from % (text.chars().count() - 1);
            let part: String = text.chars().skip(from).take(length).collect();
            prop_assert!(finds(&part, "a.md", &format!("x {text} y\n")), "{} in {}", part, text);
        }

        #[test]
        fn what_is_found_is_there(text in "[あい中文ab ]{0,10}", query in "[あい中文]{2,4}") {
            prop_assert_eq!(finds(&query, "x.md", &text), text.contains(&query));
        }

        #[test]
        fn an_exact_word_is_found_and_never_behind_another_form(word in "[a-z]{3,9}", other in "[a-z]{0,3}") {
            let unit = Query::parse(&word).wanted.remove(0);
            let with = |word: &str| analysed("n.md", &format!("{word} stays here\n"));
            let (exact, form) = (with(&word), with(&format!("{word}{other}")));
            prop_assert!(exact.has(&unit));
            let frequency = |note: &Analysed| note.frequencies(&unit)[4];
            prop_assert!(frequency(&exact) >= frequency(&form), "{} {}", word, other);
        }
    }
}
