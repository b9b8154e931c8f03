//! Taking a text apart into the terms by which it is found.
//!
//! - A *word* is one term, folded, at one position; at the same position its parts (`camelCase`: `camel`, `case`; `v1`:
//!   `1`), and for English words the stem, marked, where it differs (`running`: `=run`). Everything but letters and digits
//!   parts words, so `snake_case` and `v1.2.3` are several, found together as a phrase.
//! - A run of a script *without spaces* is, for each character, the pair that begins there, and at both ends the character
//!   alone: any part of two characters and more is a pair or a phrase of pairs.
//! - An *emoji* is a term.

use std::collections::HashMap;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

use super::scripts::{Kind, fold, joins_previous, kind};

/// What begins a term that is a stem.
pub(super) const STEM: char = '=';

/// A character in a text that keeps what follows from being one phrase with what is before.
pub(super) const GAP: char = '\u{1e}';

/// How many positions it takes.
const GAP_POSITIONS: u32 = 16;

/// Longest term, in characters: the rest of a word does not count.
const MAX_TERM_CHARS: usize = 64;

/// Words whose stems are kept, at most.
const MAX_STEMS: usize = 50_000;

/// Takes texts apart. Keeps the stems of words that it met, so use one for many texts; one a thread.
pub struct Analyser {
    stemmer: Stemmer,
    /// Marked stems by word; `None` where a word is its own.
    stems: HashMap<Box<str>, Option<Box<str>>, foldhash::fast::RandomState>,
    lower: String,
    letters: Vec<Letter>,
}

/// A folded character.
#[derive(Debug, Clone, Copy)]
struct Letter {
    c: char,
    kind: Kind,
    /// Whether the character that was written is a capital.
    is_capital: bool,
    /// What was written, in the text.
    from: usize,
    to: usize,
}

impl Default for Analyser {
    fn default() -> Analyser {
        Analyser {
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::default(),
            lower: String::new(),
            letters: Vec::new(),
        }
    }
}

/// Takes a term, its position and the bytes of the text that it stands for.
type Each<'a> = dyn FnMut(&str, u32, Range<usize>) + 'a;

impl Analyser {
    /// Calls `each` with every term of `text`, its position, and the bytes that it stands for. Positions are counted on
    /// from `first`; the next free one is returned.
    ///
    /// ```
    /// let mut terms = Vec::new();
    /// let mut analyser = vault_core::search::Analyser::default();
    /// analyser.analyse("Running 検索中", 0, &mut |term, position, _| terms.push((term.to_owned(), position)));
    /// let expected = [("running", 0), ("=run", 0), ("検", 1), ("検索", 1), ("索中", 2), ("中", 3)];
    /// assert_eq!(terms, expected.map(|(term, position)| (term.to_owned(), position)));
    /// ```
    pub fn analyse(&mut self, text: &str, first: u32, each: &mut Each) -> u32 {
        let bytes = text.as_bytes();
        let (mut at, mut position) = (0, first);
        while at < bytes.len() {
            let byte = bytes[at];
            if byte.is_ascii_alphanumeric() {
                let end = at + bytes[at..].iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(bytes.len() - at);
                if bytes.get(end).is_none_or(u8::is_ascii) {
                    self.ascii_word(text, at..end, position, each);
                    (at, position) = (end, position + 1);
                    continue;
                }
            } else if byte.is_ascii() {
                if char::from(byte) == GAP {
                    position += GAP_POSITIONS;
                }
                at += 1;
                continue;
            }
            let end = stretch_end(text, at);
            position = self.stretch(text, at..end, position, each);
            at = end;
        }
        position
    }

    /// The hot path: a word of ASCII letters and digits.
    fn ascii_word(&mut self, text: &str, span: Range<usize>, position: u32, each: &mut Each) {
        let word = &text[span.start..span.end.min(span.start + MAX_TERM_CHARS)];
        let bytes = word.as_bytes();
        self.lower.clear();
        self.lower.push_str(word);
        self.lower.make_ascii_lowercase();
        each(&self.lower, position, span.clone());
        let is_whole = bytes[1..].iter().all(u8::is_ascii_lowercase) && bytes[0].is_ascii_alphabetic();
        if !is_whole && bytes.len() > 1 {
            self.ascii_parts(bytes, position, &span, each);
        }
        if let Some(suffix) = suffix(text, &span) {
            self.lower.push_str(suffix);
            each(&self.lower, position, span.start..span.end + suffix.len());
            self.lower.truncate(bytes.len());
        }
        let lower = std::mem::take(&mut self.lower);
        self.stem(&lower, position, span, each);
        self.lower = lower;
    }

    fn ascii_parts(&mut self, bytes: &[u8], position: u32, span: &Range<usize>, each: &mut Each) {
        let lower = std::mem::take(&mut self.lower);
        let class = |byte: u8| match byte {
            b'0'..=b'9' => Class::Digit,
            b'A'..=b'Z' => Class::Capital,
            _ => Class::Small,
        };
        for part in parts(bytes.len(), |at| class(bytes[at])) {
            let place = span.start + part.start..span.start + part.end;
            each(&lower[part.clone()], position, place.clone());
            self.stem(&lower[part], position, place, each);
        }
        self.lower = lower;
    }

    /// Gives the stem of an English word, where it is another term.
    fn stem(&mut self, word: &str, position: u32, span: Range<usize>, each: &mut Each) {
        if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return;
        }
        if !self.stems.contains_key(word) {
            if self.stems.len() >= MAX_STEMS {
                self.stems.clear();
            }
            let stem = self.stemmer.stem(word);
            let marked = (stem != word).then(|| format!("{STEM}{stem}").into_boxed_str());
            self.stems.insert(word.into(), marked);
        }
        if let Some(Some(marked)) = self.stems.get(word) {
            each(marked, position, span);
        }
    }

    /// Returns the stem of a folded word; the word itself when it has no other.
    pub(super) fn stem_of(&mut self, word: &str) -> String {
        let mut stem = word.to_owned();
        let mut take = |marked: &str, _: u32, _: Range<usize>| stem = marked[STEM.len_utf8()..].to_owned();
        self.stem(word, 0, 0..0, &mut take);
        stem
    }

    /// A stretch that holds more than ASCII.
    fn stretch(&mut self, text: &str, span: Range<usize>, mut position: u32, each: &mut Each) -> u32 {
        let mut letters = std::mem::take(&mut self.letters);
        letters.clear();
        fold_into(text, span, &mut letters);
        for run in letters.chunk_by(|one, next| one.kind == next.kind && one.kind != Kind::Emoji) {
            position = match run[0].kind {
                Kind::Word => self.word(run, position, each),
                Kind::Spaceless => self.spaceless(run, position, each),
                Kind::Emoji => {
                    each(run[0].c.encode_utf8(&mut [0; 4]), position, run[0].from..run[0].to);
                    position + 1
                }
                Kind::Ignored | Kind::Other => position,
            };
        }
        self.letters = letters;
        position
    }

    fn word(&mut self, run: &[Letter], position: u32, each: &mut Each) -> u32 {
        let span = run[0].from..run[run.len() - 1].to;
        let run = &run[..run.len().min(MAX_TERM_CHARS)];
        let mut lower = std::mem::take(&mut self.lower);
        let put = |lower: &mut String, letters: &[Letter]| {
            lower.clear();
            lower.extend(letters.iter().map(|letter| letter.c));
        };
        put(&mut lower, run);
        each(&lower, position, span.clone());
        self.stem(&lower, position, span, each);
        let class = |at: usize| match &run[at] {
            letter if letter.c.is_numeric() => Class::Digit,
            letter if letter.is_capital => Class::Capital,
            _ => Class::Small,
        };
        for part in parts(run.len(), class) {
            let part = &run[part];
            put(&mut lower, part);
            let span = part[0].from..part[part.len() - 1].to;
            each(&lower, position, span.clone());
            self.stem(&lower, position, span, each);
        }
        self.lower = lower;
        position + 1
    }

    fn spaceless(&mut self, run: &[Letter], position: u32, each: &mut Each) -> u32 {
        let mut pair = String::with_capacity(8);
        if run.len() > 1 {
            // what stands beside a word, as in `1日`
            each(run[0].c.encode_utf8(&mut [0; 4]), position, run[0].from..run[0].to);
        }
        for (at, letter) in run.iter().enumerate() {
            pair.clear();
            pair.push(letter.c);
            let to = run.get(at + 1).map_or(letter.to, |next| {
                pair.push(next.c);
                next.to
            });
            each(&pair, position + at as u32, letter.from..to);
        }
        position + run.len() as u32
    }
}

/// Returns where the stretch that begins at `at` ends: before white space or ASCII punctuation.
fn stretch_end(text: &str, at: usize) -> usize {
    let ends = |c: char| if c.is_ascii() { !c.is_ascii_alphanumeric() } else { c.is_whitespace() };
    // the first character is part of it, whatever it is
    let rest = text[at..].char_indices().skip(1).find(|(_, c)| ends(*c));
    rest.map_or(text.len(), |(length, _)| at + length)
}

/// Folds each character together with the marks on it.
fn fold_into(text: &str, span: Range<usize>, letters: &mut Vec<Letter>) {
    let mut chars = text[span.clone()].char_indices().map(|(at, c)| (span.start + at, c)).peekable();
    while let Some((from, first)) = chars.next() {
        while chars.next_if(|(_, c)| joins_previous(*c)).is_some() {}
        let to = chars.peek().map_or(span.end, |(at, _)| *at);
        fold(&text[from..to], &mut |c| {
            let kind = kind(c);
            if kind != Kind::Ignored {
                letters.push(Letter { c, kind, is_capital: first.is_uppercase(), from, to });
            }
        });
    }
    settle_marks(letters);
}

/// A mark goes with what it is written on.
fn settle_marks(letters: &mut [Letter]) {
    for at in 1..letters.len() {
        if letters[at].kind == Kind::Word && letters[at - 1].kind == Kind::Spaceless && joins_previous(letters[at].c) {
            letters[at].kind = Kind::Spaceless;
        }
    }
}

/// Returns the mark after a short word that makes another word of it: `C++`, `g++`, `C#`, `F#`.
fn suffix<'a>(text: &'a str, word: &Range<usize>) -> Option<&'a str> {
    let rest = &text[word.end..];
    let goes_on = |length: usize| rest[length..].starts_with(|c: char| c.is_alphanumeric() || c == '+' || c == '#');
    let found = ["++", "#"].into_iter().find(|suffix| rest.starts_with(suffix) && !goes_on(suffix.len()))?;
    let fits = if found == "#" { word.len() <= 2 } else { word.len() <= 16 };
    let is_name = text[word.clone()].starts_with(|c: char| c.is_ascii_alphabetic());
    (fits && is_name).then(|| &rest[..found.len()])
}

/// What a word's parts are told by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Small,
    Capital,
    Digit,
}

/// Returns the parts of a word that has several: cut before a capital that follows a small letter or begins a word of
/// small letters, and between letters and digits. Single letters are left out.
fn parts(length: usize, class: impl Fn(usize) -> Class) -> impl Iterator<Item = Range<usize>> {
    let cuts = |at: usize| match (class(at - 1), class(at)) {
        (Class::Digit, Class::Digit) | (Class::Small, Class::Small) | (Class::Capital, Class::Small) => false,
        (Class::Capital, Class::Capital) => at + 1 < length && class(at + 1) == Class::Small,
        _ => true,
    };
    let ends: Vec<usize> = (1..length).filter(|at| cuts(*at)).chain([length]).collect();
    let begins: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).collect();
    let has_several = ends.len() > 1;
    let keeps: Vec<Range<usize>> = begins.into_iter().zip(ends).map(|(begin, end)| begin..end).collect();
    let is_digit = |at: usize| class(at) == Class::Digit;
    let kept: Vec<_> =
        keeps.into_iter().filter(|part| has_several && (part.len() > 1 || is_digit(part.start))).collect();
    kept.into_iter()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Analyser::default().analyse(text, 0, &mut |term, position, _| terms.push(format!("{term}@{position}")));
        terms
    }

    #[test]
    fn words_are_found_whole_and_in_part() {
        let cases = [
            ("The fern", "the@0 fern@1"),
            ("running ponies", "running@0 =run@0 ponies@1 =poni@1"),
            ("snake_case", "snake@0 case@1"),
            (
                "camelCase getHTTPUsers",
                "camelcase@0 camel@0 case@0 =camelcas@0 gethttpusers@1 get@1 http@1 users@1 =user@1 =gethttpus@1",
            ),
            ("v1.2.3", "v1@0 1@0 2@1 3@2"),
            ("needle07x", "needle07x@0 needle@0 =needl@0 07@0"),
            ("C++, g++ C# F#.", "c@0 c++@0 g@1 g++@1 c@2 c#@2 f@3 f#@3"),
            ("a++b issue# C#7", "a@0 b@1 issue@2 =issu@2 c@3 7@4"),
            ("gen-itgc", "gen@0 itgc@1"),
            ("project/alpha #tag", "project@0 alpha@1 tag@2"),
            ("don't l’été", "don@0 t@1 l@2 ete@3"),
            ("ÉtatMajor", "etatmajor@0 etat@0 major@0"),
            ("Straße STRASSE", "strasse@0 =strass@0 strasse@1 =strass@1"),
            ("cafe\u{301} Ｗｉｄｅ", "cafe@0 wide@1"),
        ];
        for (text, expected) in cases {
            assert_eq!(terms(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn runs_without_spaces_are_pairs() {
        let cases = [
            ("検索中", "検@0 検索@0 索中@1 中@2"),
            ("中", "中@0"),
            ("重跑gen-itgc后检查", "重@0 重跑@0 跑@1 gen@2 itgc@3 后@4 后检@4 检查@5 查@6"),
            ("ｻﾝﾄﾞ", "サ@0 サン@0 ンド@1 ド@2"),
            ("끝말 잇기", "끝@0 끝말@0 말@1 잇@2 잇기@2 기@3"),
            ("ไทย", "ไ@0 ไท@0 ทย@1 ย@2"),
            ("第1章", "第@0 1@1 章@2"),
            ("🎉ok👍🏽", "🎉@0 ok@1 👍@2"),
        ];
        for (text, expected) in cases {
            assert_eq!(terms(text).join(" "), expected, "{text}");
        }
        assert_eq!(terms("\u{1101}\u{1173}\u{11c0}말"), terms("끝말"), "composed or not");
    }

    #[test]
    fn nothing_reaches_over_a_gap() {
        let text = format!("a{GAP}b");
        assert_eq!(terms(&text), ["a@0", "b@17"]);
    }

    #[test]
    fn a_long_word_is_found_by_its_beginning() {
        let long = "x".repeat(100);
        assert_eq!(terms(&long), [format!("{}@0", "x".repeat(MAX_TERM_CHARS))]);
        let long = "é".repeat(100);
        assert_eq!(terms(&long), [format!("{}@0", "e".repeat(MAX_TERM_CHARS))]);
    }

    proptest! {
        #[test]
        fn spans_lie_in_the_text_and_positions_never_go_back(text in "\\PC{0,40}") {
            let mut last = 0;
            let next = Analyser::default().analyse(&text, 0, &mut |term, position, span| {
                assert!(!term.is_empty() && position >= last, "{term}");
                assert!(text.get(span.clone()).is_some_and(|part| !part.is_empty()), "{span:?}");
                last = position;
            });
            prop_assert!(next >= last);
        }

        #[test]
        fn a_text_is_the_same_in_any_normal_form(text in "[a-zà-ÿあ-んが-ヶ가-힣א-ת]{0,12}") {
            use unicode_normalization::UnicodeNormalization;
            let decomposed: String = text.nfd().collect();
            prop_assert_eq!(terms(&text), terms(&decomposed));
        }
    }
}
