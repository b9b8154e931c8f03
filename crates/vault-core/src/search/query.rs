//! What a query means.

use std::ops::Range;

use super::analyse::{Analyser, STEM};
use super::searched::{label_of_folder, label_of_tag};
use crate::path::folded;

/// What a query asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// What a note must hold.
    pub wanted: Vec<Unit>,
    /// What makes a note better when it is there: words that nearly every English note has.
    pub optional: Vec<Unit>,
    /// What a note must not hold.
    pub unwanted: Vec<Unit>,
    /// What else a note must be.
    pub filters: Vec<Filter>,
    /// What else a note must not be.
    pub unwanted_filters: Vec<Filter>,
}

/// Something that can be found in a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Unit {
    /// Any of these terms; an occurrence counts as much as is said, the sum of them for one that is there under several.
    Word(Vec<(String, f32)>),
    /// These terms, each that far from the first.
    Phrase(Vec<(u32, String)>),
    /// A term that begins so.
    Prefix(String),
}

/// A property of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// It has this label.
    Label(String),
    /// Its path, folded, holds this text.
    PathPart(String),
}

/// What an occurrence of a word in another form counts.
const OTHER_FORM: f32 = 0.8;

/// Most words of which a note must hold every one.
const MOST_WORDS_OF_ALL: usize = 3;

/// From so many words, and as many little ones between them, a sentence is a question: `how do the ferns in the shade grow`.
const QUESTION_WORDS: usize = 3;

/// Words that say little: a question is made of them, and nearly every note has them.
const LITTLE_WORDS: [&str; 38] = [
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for", "from", "has", "have", "how",
    "i", "in", "is", "it", "its", "of", "on", "or", "that", "the", "this", "to", "was", "were", "what", "when",
    "where", "which", "who", "why", "with",
];

impl Query {
    /// Reads a query. Whatever it is, it means something: what is no operator is a word.
    ///
    /// `"several words"` are a phrase, `-` excludes what follows, `tag:x`, `path:folder/` and `path:part` filter, `be*`
    /// finds what begins so.
    pub fn parse(text: &str) -> Query {
        let (mut query, mut analyser) = (Query::default(), Analyser::default());
        let mut little = Vec::new();
        for piece in pieces(text) {
            let (units, filters) = match piece.is_excluded {
                true => (&mut query.unwanted, &mut query.unwanted_filters),
                false => (&mut query.wanted, &mut query.filters),
            };
            match piece.what {
                // the `#` of a tag may be left out or not
                What::Tag(tag) => filters.push(Filter::Label(label_of_tag(tag.trim_start_matches('#')))),
                What::Path(path) => filters.push(path_filter(path)),
                What::Exact(text) => units.extend(unit(text, false, &mut analyser)),
                What::Begin(text) => units.extend(prefix(text, &mut analyser)),
                What::Word(text) if !piece.is_excluded && LITTLE_WORDS.contains(&&*text.to_lowercase()) => {
                    little.extend(unit(text, true, &mut analyser));
                }
                What::Word(text) => units.extend(unit(text, true, &mut analyser)),
            }
        }
        match query.wanted.is_empty() {
            true => query.wanted = little,
            false => query.optional = little,
        }
        dedup(&mut query.wanted);
        dedup(&mut query.optional);
        query
    }

    /// Returns how many words and phrases it names.
    pub fn n_units(&self) -> usize {
        self.wanted.len() + self.optional.len() + self.unwanted.len()
    }

    /// Tells whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        let Query { wanted, optional, unwanted, filters, unwanted_filters } = self;
        [wanted, optional, unwanted].iter().all(|units| units.is_empty())
            && filters.is_empty()
            && unwanted_filters.is_empty()
    }

    /// Tells whether this is a question in many words: then notes that have some of them answer, after those with all.
    pub fn is_question(&self) -> bool {
        let (n_wanted, n_little) = (self.wanted.len(), self.optional.len());
        n_wanted > MOST_WORDS_OF_ALL || n_wanted >= QUESTION_WORDS && n_little >= QUESTION_WORDS
    }

    /// Returns the query with each phrase as its words: for the best notes that have some of it.
    pub fn loosened(&self) -> Query {
        let mut analyser = Analyser::default();
        let mut wanted = Vec::new();
        for unit in &self.wanted {
            match unit {
                Unit::Phrase(terms) => wanted.extend(terms.iter().map(|(_, term)| word(term, true, &mut analyser))),
                unit => wanted.push(unit.clone()),
            }
        }
        dedup(&mut wanted);
        Query { wanted, ..self.clone() }
    }

    /// Returns the query with each word as the beginning of one: for when nothing has any of the words.
    pub fn begun(&self) -> Query {
        let begin = |unit: Unit| match &unit {
            Unit::Word(forms) => forms.first().map_or(unit.clone(), |(exact, _)| Unit::Prefix(exact.clone())),
            Unit::Phrase(_) | Unit::Prefix(_) => unit,
        };
        let loosened = self.loosened();
        Query { wanted: loosened.wanted.into_iter().map(begin).collect(), ..loosened }
    }
}

/// A word that was asked for twice is asked for once.
fn dedup(units: &mut Vec<Unit>) {
    let mut seen: Vec<Unit> = Vec::new();
    units.retain(|unit| {
        let is_new = !seen.contains(unit);
        seen.extend(is_new.then(|| unit.clone()));
        is_new
    });
}

/// A part of a query, between spaces.
struct Piece<'a> {
    is_excluded: bool,
    what: What<'a>,
}

enum What<'a> {
    Word(&'a str),
    Exact(&'a str),
    Begin(&'a str),
    Tag(&'a str),
    Path(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (is_excluded, begin) =
            match rest.strip_prefix('-').filter(|after| !after.starts_with(|c: char| c.is_whitespace() || c == '-')) {
                Some(after) if !after.is_empty() => (true, after),
                _ => (false, rest),
            };
        let (what, after) = piece(begin);
        pieces.push(Piece { is_excluded, what });
        rest = after.trim_start();
    }
    pieces
}

/// Takes the first piece off `text`, which does not begin with a space.
fn piece(text: &str) -> (What<'_>, &str) {
    if let Some((quoted, after)) = quoted(text) {
        return (What::Exact(quoted), after);
    }
    for (name, what) in [("tag:", What::Tag as fn(_) -> _), ("path:", What::Path as fn(_) -> _)] {
        // no operator without a value
        let Some(value) = text.strip_prefix(name).filter(|value| !value.is_empty()) else { continue };
        if let Some((quoted, after)) = quoted(value).filter(|(quoted, _)| !quoted.trim().is_empty()) {
            return (what(quoted), after);
        }
        let (value, after) = word_end(value);
        if !value.trim_matches(['#', '/']).is_empty() {
            return (what(value), after);
        }
    }
    let (piece, after) = word_end(text);
    match piece.strip_suffix('*').filter(|begin| begin.ends_with(|c: char| c.is_alphanumeric())) {
        Some(begin) => (What::Begin(begin), after),
        None => (What::Word(piece), after),
    }
}

fn word_end(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Takes a text in quotes off the beginning. A quote that is never closed is no quote.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.split_once('"')
}

fn path_filter(path: &str) -> Filter {
    let bare = path.trim_start_matches('/');
    match bare.strip_suffix('/') {
        Some(folder) => Filter::Label(label_of_folder(folder)),
        None => Filter::PathPart(folded(bare)),
    }
}

/// Returns what a text asks for: a word, or all its words as a phrase.
fn unit(text: &str, with_forms: bool, analyser: &mut Analyser) -> Option<Unit> {
    let mut terms = whole_terms(text, analyser);
    match &mut terms[..] {
        [] => None,
        [(_, only)] if only.chars().count() == 1 && super::scripts::is_spaceless(first(only)) => {
            Some(Unit::Prefix(std::mem::take(only)))
        }
        [(_, only)] => Some(word(only, with_forms, analyser)),
        _ => Some(Unit::Phrase(terms)),
    }
}

fn first(text: &str) -> char {
    text.chars().next().unwrap_or(' ')
}

/// Returns the terms of a text that stand for all of it: no parts, no stems, and of a run without spaces only pairs,
/// unless it is a single character.
fn whole_terms(text: &str, analyser: &mut Analyser) -> Vec<(u32, String)> {
    let mut terms: Vec<(u32, String, Range<usize>)> = Vec::new();
    analyser.analyse(text, 0, &mut |term, position, span| match terms.last_mut() {
        _ if term.starts_with(STEM) => {}
        // `C++` says more than `C`; a part says less than the whole
        Some((at, known, place)) if *at == position => {
            if span.len() > place.len() {
                (*known, *place) = (term.to_owned(), span);
            }
        }
        _ => terms.push((position, term.to_owned(), span)),
    });
    let is_last_of_run = |at: usize| {
        let (position, term, span) = &terms[at];
        let is_single = term.chars().count() == 1 && super::scripts::is_spaceless(first(term));
        let before = at.checked_sub(1).map(|before| &terms[before]);
        is_single && before.is_some_and(|(place, _, pair)| place + 1 == *position && pair.end >= span.end)
    };
    let kept: Vec<usize> = (0..terms.len()).filter(|at| !is_last_of_run(*at)).collect();
    let begin = terms.first().map_or(0, |(position, ..)| *position);
    kept.into_iter().map(|at| (terms[at].0 - begin, terms[at].1.clone())).collect()
}

/// Returns a word that is found by its exact form, and `with_forms` by others too, which count less.
fn word(term: &str, with_forms: bool, analyser: &mut Analyser) -> Unit {
    let is_english = term.len() >= 3 && term.bytes().all(|byte| byte.is_ascii_lowercase());
    if !with_forms || !is_english {
        return Unit::Word(vec![(term.to_owned(), 1.0)]);
    }
    let stem = analyser.stem_of(term);
    let marked = format!("{STEM}{stem}");
    let is_own_stem = analyser.stem_of(&stem) == stem;
    let mut forms = match stem == term {
        true => vec![(term.to_owned(), 1.0)],
        // the marked stem is there with the exact form, too
        false => vec![(term.to_owned(), 1.0 - OTHER_FORM)],
    };
    forms.push((marked, OTHER_FORM));
    if stem != term && is_own_stem {
        forms.push((stem, OTHER_FORM));
    }
    Unit::Word(forms)
}

fn prefix(text: &str, analyser: &mut Analyser) -> Option<Unit> {
    match &mut whole_terms(text, analyser)[..] {
        [(_, only)] => Some(Unit::Prefix(std::mem::take(only))),
        // the beginning of several words: of these, whole
        _ => unit(text, true, analyser),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(term: &str) -> Unit {
        Unit::Word(vec![(term.into(), 1.0)])
    }

    fn phrase(terms: &[(u32, &str)]) -> Unit {
        Unit::Phrase(terms.iter().map(|(offset, term)| (*offset, (*term).to_owned())).collect())
    }

    #[test]
    fn operators_are_read_and_everything_else_is_text() {
        let query =
            Query::parse(r#""likes shade" -"full sun" -rot tag:Garden -tag:old path:Notes/ path:fern gard* C++"#);
        assert_eq!(query.wanted[0], phrase(&[(0, "likes"), (1, "shade")]));
        assert_eq!(query.wanted[1..], [Unit::Prefix("gard".into()), exact("c++")]);
        assert_eq!(query.unwanted[0], phrase(&[(0, "full"), (1, "sun")]));
        assert_eq!(query.unwanted.len(), 2);
        let filters =
            [Filter::Label("#garden".into()), Filter::Label("/notes/".into()), Filter::PathPart("fern".into())];
        assert_eq!(query.filters, filters);
        assert_eq!(query.unwanted_filters, [Filter::Label("#old".into())]);
    }

    #[test]
    fn what_is_no_operator_is_text() {
        let words = |text: &str| Query::parse(text).wanted.len();
        for (text, n_words) in [
            ("status: moored", 2),
            ("timeout \"error", 2),
            ("(starboard", 1),
            ("retry AND", 1),
            ("NOT fatal", 2),
            ("tag: path:", 2),
            ("- a-b", 1),
            ("*", 0),
            ("\"", 0),
            ("\"\" -", 0),
            ("", 0),
            ("fern fern FERN", 1),
        ] {
            assert_eq!(words(text), n_words, "{text}: {:?}", Query::parse(text));
        }
    }

    #[test]
    fn a_compound_is_a_phrase_and_so_is_a_run_without_spaces() {
        let only = |text: &str| Query::parse(text).wanted.remove(0);
        assert_eq!(only("gen-itgc"), phrase(&[(0, "gen"), (1, "itgc")]));
        assert_eq!(only("v1.2.3"), phrase(&[(0, "v1"), (1, "2"), (2, "3")]));
        assert_eq!(only("検索"), exact("検索"));
        assert_eq!(only("検索中"), phrase(&[(0, "検索"), (1, "索中")]));
        assert_eq!(only("検"), Unit::Prefix("検".into()));
        assert_eq!(only("第1章"), phrase(&[(0, "第"), (1, "1"), (2, "章")]));
        assert_eq!(only("Rust言語"), phrase(&[(0, "rust"), (1, "言語")]));
    }

    #[test]
    fn a_word_is_found_in_all_forms_but_exactly_in_quotes() {
        let Unit::Word(forms) = Query::parse("running").wanted.remove(0) else { panic!("a word") };
        let terms: Vec<&str> = forms.iter().map(|(term, _)| term.as_str()).collect();
        assert_eq!(terms, ["running", "=run", "run"]);
        // one that is there exactly has its marked stem, too
        assert_eq!(forms[0].1 + forms[1].1, 1.0);
        assert_eq!(Query::parse("\"running\"").wanted, [exact("running")]);
    }

    #[test]
    fn little_words_only_count_beside_others() {
        let query = Query::parse("the fern");
        assert_eq!((query.wanted.len(), query.optional.len()), (1, 1));
        assert_eq!(Query::parse("to be or").wanted.len(), 3);
        assert_eq!(Query::parse("\"the\" fern").wanted.len(), 2);
        assert!(!Query::parse("one two three").is_question());
        assert!(Query::parse("one two three four").is_question());
        assert!(Query::parse("how do ferns grow in the deep shade").is_question());
    }

    #[test]
    fn a_tag_is_named_with_or_without_its_mark() {
        assert_eq!(Query::parse("tag:#a/b -tag:#c"), Query::parse("tag:a/b -tag:c"));
    }

    #[test]
    fn loosened_it_asks_for_each_word() {
        let loosened = Query::parse("gen-itgc 検索中 \"two words\" -no tag:x").loosened();
        assert_eq!(loosened.wanted.len(), 6);
        assert_eq!((loosened.unwanted.len(), loosened.filters.len()), (1, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in "[ \\-\"*:/#a-z検索ａ-ｃtagpath]{0,20}") {
            Query::parse(&text).loosened();
        }
    }
}
