//! What a query looks for, as a first sieve: the terms that matter, and the bytes without which a file has none of them.

use std::collections::HashSet;

use aho_corasick::AhoCorasick;

use super::analyse::STEM;
use super::query::{Query, Unit};
use super::scripts::{Kind, kind};

/// The terms of a query and of what it asks for when nothing has all of it.
pub(crate) struct Sought {
    terms: HashSet<String, foldhash::fast::RandomState>,
    prefixes: Vec<String>,
    /// One of these is in every ASCII text that has anything wanted; `None` where that is not known.
    needles: Option<AhoCorasick>,
    /// Whether something is wanted that is not ASCII.
    is_foreign: bool,
}

impl Sought {
    pub(crate) fn of(query: &Query) -> Sought {
        let (loosened, begun) = (query.loosened(), query.begun());
        let mut sought = Sought { terms: HashSet::default(), prefixes: vec![], needles: None, is_foreign: false };
        let units = query
            .wanted
            .iter()
            .chain(&query.optional)
            .chain(&query.unwanted)
            .chain(&loosened.wanted)
            .chain(&begun.wanted);
        for unit in units {
            match unit {
                Unit::Word(forms) => sought.terms.extend(forms.iter().map(|(term, _)| term.clone())),
                Unit::Phrase(terms) => sought.terms.extend(terms.iter().map(|(_, term)| term.clone())),
                Unit::Prefix(prefix) => sought.prefixes.push(prefix.clone()),
            }
        }
        let needles: Option<Vec<String>> = loosened.wanted.iter().map(needle).collect();
        // what is not ASCII is only in texts that are not
        sought.is_foreign = needles.iter().flatten().any(|needle| !needle.is_ascii());
        let needles = needles.map(|needles| needles.into_iter().filter(|needle| needle.is_ascii()).collect::<Vec<_>>());
        let build = |needles| AhoCorasick::builder().ascii_case_insensitive(true).build(needles).ok();
        sought.needles = needles.filter(|_| !loosened.wanted.is_empty()).and_then(build);
        sought
    }

    /// Tells whether a term takes part in the query.
    pub(crate) fn has(&self, term: &str) -> bool {
        self.terms.contains(term) || self.prefixes.iter().any(|prefix| term.starts_with(prefix.as_str()))
    }

    /// Tells whether a file may hold anything that is wanted.
    pub(crate) fn may_be_in(&self, path: &str, text: &str) -> bool {
        let Some(needles) = &self.needles else { return true };
        let may_fold = |text: &str| self.is_foreign || text.chars().any(|c| !c.is_ascii() && may_fold_to_ascii(c));
        [text, path].iter().any(|text| needles.is_match(text) || !text.is_ascii() && may_fold(text))
    }
}

/// Tells whether letters or digits of ASCII may be what `c` is folded to: `é`, `ｅ`, `ﬁ`.
fn may_fold_to_ascii(c: char) -> bool {
    let is_half_width = matches!(c, '\u{ff00}'..='\u{ffef}');
    let is_mark = matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203b}' | '\u{3001}'..='\u{3030}');
    is_half_width || !(is_mark || matches!(kind(c), Kind::Spaceless | Kind::Emoji))
}

/// Returns what every ASCII text holds that holds the unit.
fn needle(unit: &Unit) -> Option<String> {
    match unit {
        Unit::Word(forms) => match forms.iter().find_map(|(term, _)| term.strip_prefix(STEM)) {
            Some(stem) => beginning_of_all_forms(stem),
            None => forms.first().map(|(term, _)| term.clone()),
        },
        Unit::Phrase(terms) => terms.first().map(|(_, term)| term.clone()),
        Unit::Prefix(prefix) => Some(prefix.clone()),
    }
}

/// Letters at the end of a stem that not all words with this stem have: `possibl` is the stem of `possibility`.
const UNSURE_END: usize = 3;

/// Returns how all words with this stem begin.
fn beginning_of_all_forms(stem: &str) -> Option<String> {
    // `dying` is a form of `die`
    let is_irregular = ["die", "lie", "tie"].contains(&stem);
    let length = stem.len().saturating_sub(UNSURE_END).max(2);
    (!is_irregular).then(|| stem.get(..length.min(stem.len())).map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::Analyser;

    proptest! {
        #[test]
        fn no_form_of_a_word_is_sieved_out(
            base in "[a-z]{1,6}",
            ends in prop::array::uniform2(prop::sample::select(vec![
                "", "s", "es", "ed", "ing", "y", "ies", "ied", "ly", "ness", "ity", "ability", "able", "ably", "ization", "ize", "ational",
                "ate", "ation", "ful", "fully", "ement", "e", "al", "ous", "ously", "iveness", "ive", "ic", "ical", "ogy", "ence", "ency",
            ])),
        ) {
            let [one, other] = ends.map(|end| format!("{base}{end}"));
            let mut analyser = Analyser::default();
            let mut terms: [Vec<String>; 2] = Default::default();
            for (text, terms) in [&one, &other].into_iter().zip(&mut terms) {
                analyser.analyse(text, 0, &mut |term, _, _| terms.push(term.to_owned()));
            }
            let query = Query::parse(&one);
            let sought = Sought::of(&query);
            let finds = query.wanted.iter().all(|unit| match unit {
                Unit::Word(forms) => forms.iter().any(|(term, _)| terms[1].contains(term)),
                _ => false,
            });
            prop_assert!(!finds || sought.may_be_in("", &format!("x {other} y")), "{} {}", one, other);
        }
    }

    #[test]
    fn irregular_forms_are_not_sieved_out() {
        for (query, text) in [
            ("die", "dying"),
            ("possible", "a possibility"),
            ("cries", "to cry"),
            ("sky", "skies"),
            ("resume", "résumé"),
        ] {
            assert!(Sought::of(&Query::parse(query)).may_be_in("", text), "{query}");
        }
        assert!(!Sought::of(&Query::parse("heron owl")).may_be_in("a/b.md", "nothing of that"));
        assert!(Sought::of(&Query::parse("heron owl")).may_be_in("a/Owls.md", "nothing of that"));
        assert!(!Sought::of(&Query::parse("heron")).may_be_in("a.md", "“nothing” — 検索"));
        for text in ["ｈｅｒｏｎ", "hérón", "ﬁn", "検索"] {
            assert!(Sought::of(&Query::parse("heron 検")).may_be_in("a.md", text), "{text}");
        }
    }
}
