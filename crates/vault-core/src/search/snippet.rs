//! The passage of a note that fits a query best.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use vault_markdown::{BodyPlace, ViewOptions};

use super::analyse::{Analyser, STEM};
use super::query::{Query, Unit};

/// A passage of a note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The passage, in one line.
    pub text: String,
    /// Line of the first word that was found, from 1, in the caller's view; `None` when the text holds none.
    pub line: Option<usize>,
    /// The heading above it.
    pub heading: Option<String>,
}

/// Hits that are compared, at most: the first ones.
const MAX_HITS: usize = 500;

/// Cuts passages for one query out of many notes.
pub struct Passages<'q> {
    wanted: Wanted<'q>,
    /// Finds the lines that are worth to be taken apart; `None` where all are.
    needles: Option<AhoCorasick>,
    n_chars: usize,
}

impl<'q> Passages<'q> {
    /// Prepares for passages of about `n_chars` characters.
    pub fn of(query: &'q Query, n_chars: usize) -> Passages<'q> {
        let needles: Option<Vec<Vec<&str>>> = query.wanted.iter().map(needles).collect();
        let needles = needles.map(|needles| needles.into_iter().flatten().collect::<Vec<_>>());
        let needles =
            needles.and_then(|needles| AhoCorasick::builder().ascii_case_insensitive(true).build(needles).ok());
        Passages { wanted: Wanted::of(query), needles, n_chars }
    }

    /// Returns the passage of a note that has the most of what is wanted; its first text when its text has nothing of it.
    /// `body` is where its body stands in its view, see [`vault_markdown::body_place`].
    pub fn of_note(&self, analyser: &mut Analyser, stored: &str, body: Option<BodyPlace>) -> Snippet {
        let fast = body.filter(|body| stored.is_char_boundary(body.begin)).and_then(|body| {
            let hit = self.find(analyser, stored, body.begin)?;
            let passage = self.passage(stored, body.begin, hit.clone());
            let line = passage.line.and_then(|line| line.checked_add_signed(body.shift));
            Some(Snippet { line, heading: heading_above(stored, body.begin, hit.start), ..passage })
        });
        fast.unwrap_or_else(|| self.of_view(analyser, stored))
    }

    fn of_view(&self, analyser: &mut Analyser, stored: &str) -> Snippet {
        let view = vault_markdown::view(stored, &ViewOptions::default());
        let body = body_begin(&view.text);
        // a line that only the view has is no hit
        let begin = match (view.is_added(1), view.is_added(2)) {
            (true, _) => body,
            (false, true) => ADDED_TYPE_END,
            (false, false) => 0,
        };
        match self.find_anywhere(analyser, &view.text, begin) {
            Some(hit) => {
                let from = if hit.start >= body { body } else { 0 };
                let heading = heading_above(&view.text, body, hit.start);
                Snippet { heading, ..self.passage(&view.text, from, hit) }
            }
            None => Snippet { text: vault_markdown::excerpt(stored, self.n_chars), ..Snippet::default() },
        }
    }

    /// The same of a plain text.
    pub fn of_plain(&self, analyser: &mut Analyser, text: &str) -> Snippet {
        let hit = self.find(analyser, text, 0).or_else(|| self.find_anywhere(analyser, text, 0));
        self.passage(text, 0, hit.unwrap_or(0..0))
    }

    /// Finds the span of the hits of the best window, in lines that hold a needle.
    fn find(&self, analyser: &mut Analyser, text: &str, begin: usize) -> Option<Range<usize>> {
        let needles = self.needles.as_ref()?;
        let mut found: Vec<Found> = Vec::new();
        let mut done = begin;
        for needle in needles.find_iter(&text.as_bytes()[begin..]) {
            let at = begin + needle.start();
            if at < done {
                continue;
            }
            let line = line_around(text, at, done);
            self.meet_all(analyser, text, line.clone(), &mut found);
            done = line.end;
            if found.len() >= MAX_HITS || self.is_enough(&found) {
                break;
            }
        }
        best_window(&mut found, self.n_chars)
    }

    /// The same in all of the text.
    fn find_anywhere(&self, analyser: &mut Analyser, text: &str, begin: usize) -> Option<Range<usize>> {
        let mut found: Vec<Found> = Vec::new();
        let mut at = begin;
        while at < text.len() && found.len() < MAX_HITS && !self.is_enough(&found) {
            let end = chunk_end(text, at);
            self.meet_all(analyser, text, at..end, &mut found);
            at = end;
        }
        best_window(&mut found, self.n_chars)
    }

    fn meet_all(&self, analyser: &mut Analyser, text: &str, part: Range<usize>, found: &mut Vec<Found>) {
        let at = part.start;
        analyser.analyse(&text[part], 0, &mut |term, _, span| {
            self.wanted.meet(term, at + span.start..at + span.end, found);
        });
    }

    /// Nothing further down can be better than the first exact form of the only word.
    fn is_enough(&self, found: &[Found]) -> bool {
        self.wanted.n_units == 1 && found.iter().any(|hit| hit.worth >= 1.0)
    }

    /// Cuts out what is around a span, but nothing before `from`.
    fn passage(&self, text: &str, from: usize, hit: Range<usize>) -> Snippet {
        let n_chars = self.n_chars;
        let line = text[..hit.start].matches('\n').count() + 1;
        let room = n_chars.saturating_sub(text[hit.clone()].chars().take(n_chars).count());
        // a quarter of the room before: what follows says more
        let before = text[from..hit.start].char_indices().rev().take(room / 4).last();
        let begin = word_begin(text, before.map_or(hit.start, |(at, _)| from + at), from, hit.start);
        let end = text[begin..].char_indices().nth(n_chars).map_or(text.len(), |(length, _)| begin + length);
        let end = word_end(text, end, hit.end.min(end));
        let mut passage = String::with_capacity(end - begin + 6);
        if !text[from..begin].trim().is_empty() {
            passage.push('…');
        }
        push_in_one_line(&mut passage, &text[begin..end]);
        if !text[end..].trim().is_empty() {
            passage.push('…');
        }
        Snippet { text: passage, line: (hit.end > hit.start).then_some(line), heading: None }
    }
}

/// Returns what a line must hold, but for letter case and accents, to hold the unit; `None` where that is not known.
fn needles(unit: &Unit) -> Option<Vec<&str>> {
    match unit {
        Unit::Word(forms) => {
            let (exact, _) = forms.first()?;
            let bare = forms.iter().map(|(term, _)| term.strip_prefix(STEM).unwrap_or(term));
            let needle = bare.fold(exact.as_str(), common_prefix);
            (needle.len() >= 2).then(|| vec![needle])
        }
        Unit::Phrase(terms) => {
            let needles: Vec<&str> = terms.iter().map(|(_, term)| term.as_str()).collect();
            Some(needles)
        }
        Unit::Prefix(prefix) => Some(vec![prefix]),
    }
}

fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    &one[..same.unwrap_or(one.len().min(other.len()))]
}

/// Longest part of a line that is taken apart at a time, before and after what was found, in bytes.
const LINE_BYTES: usize = 1_000;

/// Returns the line around byte `at`, or what is near in a very long one, but nothing before `from`.
fn line_around(text: &str, at: usize, from: usize) -> Range<usize> {
    let first = text.floor_char_boundary(at.saturating_sub(LINE_BYTES).max(from));
    let last = text.ceil_char_boundary((at + LINE_BYTES).min(text.len()));
    let begin = text[first..at].rfind('\n').map_or(first, |newline| first + newline + 1);
    let end = text[at..last].find('\n').map_or(last, |newline| at + newline + 1);
    begin..end
}

/// End of a `type` line that only the view has: it is the second one.
const ADDED_TYPE_END: usize = "---\ntype: Note\n".len();

/// Where the text begins that is no frontmatter.
fn body_begin(view: &str) -> usize {
    match view.strip_prefix("---") {
        Some(rest) => rest.find("\n---\n").map_or(0, |end| end + "---\n---\n".len()),
        None => 0,
    }
}

/// Something wanted that stands in the text.
#[derive(Debug, Clone)]
struct Found {
    span: Range<usize>,
    unit: usize,
    /// How well it is the unit: 1 exactly.
    worth: f32,
}

/// Lines are taken apart a few at a time.
const CHUNK_BYTES: usize = 512;

fn chunk_end(text: &str, at: usize) -> usize {
    let from = text.ceil_char_boundary((at + CHUNK_BYTES).min(text.len()));
    text[from..].find('\n').map_or(text.len(), |newline| from + newline + 1)
}

/// The terms that are looked for.
struct Wanted<'a> {
    /// For each term: the unit, what it is worth, and how far it is from the unit's first term.
    terms: HashMap<&'a str, Vec<(usize, f32)>, foldhash::fast::RandomState>,
    prefixes: Vec<(usize, &'a str)>,
    n_units: usize,
}

/// What a part of a phrase is worth beside a whole word.
const PART: f32 = 0.5;

impl<'a> Wanted<'a> {
    fn of(query: &'a Query) -> Wanted<'a> {
        let mut wanted = Wanted { terms: HashMap::default(), prefixes: vec![], n_units: query.wanted.len() };
        for (number, unit) in query.wanted.iter().enumerate() {
            match unit {
                Unit::Word(forms) => {
                    for (place, (term, _)) in forms.iter().enumerate() {
                        let worth = if place == 0 { 1.0 } else { PART };
                        wanted.terms.entry(term).or_default().push((number, worth));
                    }
                }
                Unit::Phrase(terms) => {
                    for (_, term) in terms {
                        let units = wanted.terms.entry(term).or_default();
                        // a phrase may have a term many times
                        if units.last().is_none_or(|(unit, _)| *unit != number) {
                            units.push((number, PART));
                        }
                    }
                }
                Unit::Prefix(prefix) => wanted.prefixes.push((number, prefix)),
            }
        }
        wanted
    }

    fn meet(&self, term: &str, span: Range<usize>, found: &mut Vec<Found>) {
        for (unit, worth) in self.terms.get(term).into_iter().flatten() {
            found.push(Found { span: span.clone(), unit: *unit, worth: *worth });
        }
        if !term.starts_with(STEM) {
            for (unit, _) in self.prefixes.iter().filter(|(_, prefix)| term.starts_with(prefix)) {
                found.push(Found { span: span.clone(), unit: *unit, worth: 1.0 });
            }
        }
    }
}

/// Returns the hits from the first to the last one of the window of `n_chars` with the most in it.
fn best_window(found: &mut [Found], n_chars: usize) -> Option<Range<usize>> {
    found.sort_by_key(|hit| hit.span.start);
    let mut best: Option<(f32, Range<usize>)> = None;
    for (first, hit) in found.iter().enumerate() {
        let window =
            found[first..].iter().take_while(|other| other.span.end <= hit.span.start + n_chars.max(hit.span.len()));
        let mut worth: Vec<(usize, f32, usize)> = Vec::new();
        let mut end = hit.span.end;
        for other in window {
            end = end.max(other.span.end);
            match worth.iter_mut().find(|(unit, ..)| *unit == other.unit) {
                Some((_, most, n)) => {
                    *most = most.max(other.worth);
                    *n += 1;
                }
                None => worth.push((other.unit, other.worth, 1)),
            }
        }
        // what is there several times, or in several parts, is worth a little more
        let sum = worth.iter().map(|(_, most, n)| most + 0.1 * ((*n).min(5) - 1) as f32).sum();
        if best.as_ref().is_none_or(|(most, _)| sum > *most) {
            best = Some((sum, hit.span.start..end));
        }
    }
    best.map(|(_, span)| span)
}

/// Goes on from `at` to the next word, but not beyond `limit`.
fn word_begin(text: &str, at: usize, from: usize, limit: usize) -> usize {
    if at == from || text[..at].ends_with(char::is_whitespace) {
        return at;
    }
    text[at..limit].find(char::is_whitespace).map_or(at, |space| at + space)
}

/// Goes back from `at` to the end of a word, but not before `limit`.
fn word_end(text: &str, at: usize, limit: usize) -> usize {
    if at == text.len() || text[at..].starts_with(char::is_whitespace) {
        return at;
    }
    let last_words = &text[limit..at];
    // in a text without spaces there is nothing to go back to
    last_words.rfind(char::is_whitespace).map_or(at, |space| limit + space)
}

fn push_in_one_line(passage: &mut String, text: &str) {
    for (number, word) in text.split_whitespace().enumerate() {
        if number > 0 {
            passage.push(' ');
        }
        passage.push_str(word);
    }
}

/// Returns the nearest heading above the line that holds byte `at`, that line included.
fn heading_above(text: &str, mut begin: usize, at: usize) -> Option<String> {
    let mut fence: Option<(char, usize)> = None;
    let (mut heading, mut previous) = (None, "");
    for line in text[begin..].split_inclusive('\n') {
        if begin > at {
            break;
        }
        begin += line.len();
        let bare = line.trim_start_matches(' ');
        let mark = bare.chars().next().filter(|c| *c == '`' || *c == '~');
        let width = mark.map_or(0, |mark| bare.len() - bare.trim_start_matches(mark).len());
        match (fence, mark) {
            (None, Some(mark)) if width >= 3 => fence = Some((mark, width)),
            (Some((open, least)), Some(mark)) if mark == open && width >= least => fence = None,
            (Some(_), _) => {}
            (None, _) => {
                let is_underline = !bare.trim_end().is_empty()
                    && (bare.trim_end().bytes().all(|b| b == b'=') || bare.trim_end().bytes().all(|b| b == b'-'));
                if bare.starts_with('#') && line.len() - bare.len() < 4 {
                    heading = plain_heading(line).or(heading);
                } else if is_underline && !previous.trim().is_empty() {
                    heading = plain_heading(&format!("{}\n{bare}", previous.trim())).or(heading);
                }
            }
        }
        previous = line;
    }
    heading
}

/// Returns the text of a heading without its marks.
fn plain_heading(line: &str) -> Option<String> {
    let heading = vault_markdown::parse(line).headings.into_iter().next()?;
    Some(heading.text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passage(query: &str, stored: &str) -> Snippet {
        let body = vault_markdown::body_place(stored, &vault_markdown::parse(stored));
        let query = Query::parse(query);
        Passages::of(&query, 60).of_note(&mut Analyser::default(), stored, body)
    }

    #[test]
    fn a_passage_has_the_most_of_what_is_wanted() {
        let stored = "---\ntags: [x]\nlight: shade\n---\n# Fern\n\nA fern stands alone here.\n\n## Care of *it*\n\n\
                      Far below, a fern needs water, and water makes the fern grow so well that people talk about it.\n";
        let found = passage("fern water", stored);
        assert_eq!(found.text, "…a fern needs water, and water makes the fern grow so well…");
        assert_eq!((found.line, found.heading.as_deref()), (Some(11), Some("Care of it")));
        let one = passage("fern", stored);
        assert_eq!((one.line, one.heading.as_deref()), (Some(5), Some("Fern")));
        let header = passage("shade", stored);
        assert_eq!((header.line, header.heading), (Some(3), None));
        assert_eq!(passage("absent", stored).line, None);
        assert!(passage("absent", stored).text.starts_with("Fern A fern stands"));
    }

    #[test]
    fn headings_are_not_those_of_code_and_headers() {
        let stored = "---\na: b\n---\nUnder\n===\n\n```\n# not one\n```\n\nneedle\n";
        assert_eq!(passage("needle", stored).heading.as_deref(), Some("Under"));
        assert_eq!(passage("needle", "---\na: b\n---\nneedle\n").heading, None);
    }

    #[test]
    fn a_long_line_is_cut() {
        let stored = format!("{} needle {}\n", "word ".repeat(100_000), "word ".repeat(100_000));
        let found = passage("needle", &stored);
        assert!(found.text.contains("needle") && found.text.chars().count() < 80, "{}", found.text);
        let run = "検".repeat(5_000) + "索引" + &"中".repeat(5_000);
        let found = passage("索引", &run);
        assert!(found.text.contains("索引") && found.text.chars().count() < 80, "{}", found.text);
    }

    #[test]
    fn words_are_found_under_accents_and_in_other_forms() {
        assert_eq!(passage("resume", "one\n\nun résumé court\n").line, Some(6));
        assert_eq!(passage("running", "one\nhe runs\n").line, Some(5));
        assert_eq!(passage("サンド", "one\nｻﾝﾄﾞ\n").line, Some(5));
    }

    proptest! {
        #[test]
        fn the_line_holds_what_was_found(
            lines in prop::collection::vec("(---|title: x|tags: \\[a\\]|key: v|# head|```|text|a fern b|ferns|é|検索)", 0..8),
            ends in prop::sample::select(vec!["\n", "\r\n"]),
            query in prop::sample::select(vec!["fern", "検索", "text fern", "key"]),
        ) {
            let stored = lines.join(ends);
            let found = passage(query, &stored);
            if let Some(line) = found.line {
                let view = vault_markdown::view(&stored, &ViewOptions::default());
                let text = view.text.lines().nth(line - 1).unwrap_or_default();
                let holds = query.split(' ').any(|word| text.contains(word));
                prop_assert!(holds, "line {} of {:?}", line, view.text);
            }
        }
    }
}
