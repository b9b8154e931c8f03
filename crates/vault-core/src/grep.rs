//! Finding lines of notes: by their raw bytes where these are what callers see, else in the view.
//!
//! The view of a note without elements is its file, but for the header and for line ends. So a match in the body of a file
//! with plain line ends is a match in the view, on a line that is the same. Of such files only a header with a match in it
//! has its view made; of files with elements, with a byte-order mark or with carriage returns the whole.

mod pattern;
mod stoppable;

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex_automata::Input;
use regex_automata::meta::{Cache, Regex};
use regex_automata::nfa::thompson::NFA;
use vault_markdown::{View, ViewOptions};

use crate::call::Call;
use crate::error::VaultError;
use crate::limits::{MAX_BLIND_WORK, MAX_PATTERN_MEMORY};
use stoppable::{Scratch, Stoppable};

/// Finds matching lines. Each is matched as if it stood alone.
#[derive(Debug)]
pub(crate) struct LineFinder {
    regex: Regex,
    nfa: NFA,
    /// What a byte of text may cost at worst; 0 for a plain text.
    work_per_byte: usize,
    lone_lines: bool,
    /// Texts without which nothing matches, for patterns that do not begin with any.
    required: Option<AhoCorasick>,
    /// For what may take long.
    stoppable: OnceLock<Stoppable>,
}

/// One thread's search, which ends with `timeout` when its call does.
#[derive(Debug)]
pub(crate) struct LineSearch<'a> {
    finder: &'a LineFinder,
    call: &'a Call,
    cache: Cache,
    scratch: Option<Scratch>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchingLine {
    /// Its number in the view, from 1.
    pub(crate) number: usize,
    /// Its bytes in the view, without its end.
    pub(crate) span: Range<usize>,
}

/// Lines between two looks at the clock.
const LINES_PER_CHECK: usize = 1_000;

impl LineFinder {
    /// Reads a pattern; without `is_regex` it is found as it is written.
    pub(crate) fn new(pattern: &str, is_regex: bool, ignore_case: bool) -> Result<LineFinder, VaultError> {
        let hir = pattern::parse(pattern, is_regex, ignore_case)?;
        let too_large =
            || pattern::refusal("would need more than 10 MiB; repeat less, or look for a part of what it describes");
        let nfa = stoppable::compile(&hir).ok_or_else(too_large)?;
        let config = Regex::config()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_PATTERN_MEMORY))
            .hybrid_cache_capacity(MAX_PATTERN_MEMORY)
            .dfa_size_limit(Some(MAX_PATTERN_MEMORY / 10))
            .dfa_state_limit(Some(1_000))
            .onepass(false);
        let regex = Regex::builder().configure(config).build_from_hir(&hir).map_err(|_| too_large())?;
        let work_per_byte = if hir.properties().is_literal() { 0 } else { nfa.memory_usage() };
        let lone_lines = pattern::needs_lone_lines(&hir);
        let required = match regex.is_accelerated() {
            true => vec![],
            false => pattern::required(&hir),
        };
        let required = (!required.is_empty()).then(|| AhoCorasick::new(required).ok()).flatten();
        Ok(LineFinder { regex, nfa, work_per_byte, lone_lines, required, stoppable: OnceLock::new() })
    }

    /// Tells whether even the worst text of this length is soon searched.
    fn is_quick(&self, n_bytes: usize) -> bool {
        n_bytes.saturating_mul(self.work_per_byte) <= MAX_BLIND_WORK
    }

    /// Begins a search on this thread.
    pub(crate) fn search<'a>(&'a self, call: &'a Call) -> LineSearch<'a> {
        LineSearch { finder: self, call, cache: self.regex.create_cache(), scratch: None }
    }
}

impl LineSearch<'_> {
    /// Counts the matching lines of a note. `has_elements`, or may have: its view differs in the body, too.
    pub(crate) fn count(&mut self, stored: &str, has_elements: bool) -> Result<usize, VaultError> {
        if has_elements || stored.starts_with(BYTE_ORDER_MARK) || memchr::memchr(b'\r', stored.as_bytes()).is_some() {
            return self.count_in(&view(stored));
        }
        let (mut n_lines, mut header) = (0, None);
        self.each_line(stored, &mut |line| {
            let header = header.get_or_insert_with(|| Header { end: header_end(stored), matches: false });
            match line.start < header.end {
                true => header.matches = true,
                false => n_lines += 1,
            }
            ControlFlow::Continue(())
        })?;
        match header {
            Some(Header { end, matches: true }) if stored[..end].contains(['`', '~', '!']) => {
                self.count_in(&view(stored))
            }
            Some(Header { end, matches: true }) => Ok(n_lines + self.count_in(&view(&stored[..end]))?),
            _ => Ok(n_lines),
        }
    }

    fn count_in(&mut self, view: &View) -> Result<usize, VaultError> {
        let mut n_lines = 0;
        self.each_in(view, &mut |_| {
            n_lines += 1;
            ControlFlow::Continue(())
        })?;
        Ok(n_lines)
    }

    /// Calls `each` with the matching lines of a view, until it breaks.
    pub(crate) fn each_in(
        &mut self,
        view: &View,
        each: &mut dyn FnMut(MatchingLine) -> ControlFlow<()>,
    ) -> Result<(), VaultError> {
        let (mut at, mut number) = (0, 1);
        self.each_line(&view.text, &mut |span| {
            number += memchr::memchr_iter(b'\n', &view.text.as_bytes()[at..span.start]).count();
            at = span.start;
            if view.is_added(number) { ControlFlow::Continue(()) } else { each(MatchingLine { number, span }) }
        })
    }

    /// Returns where in a matching line the match is: all of it, or only its end where it takes long to find the rest.
    pub(crate) fn place_in(&mut self, line: &str) -> Result<Range<usize>, VaultError> {
        self.call.check()?;
        let found = match self.finder.is_quick(line.len()) {
            true => self.finder.regex.search_with(&mut self.cache, &Input::new(line)).map(|found| found.range()),
            false => self.first_end(line.as_bytes(), false)?.map(|end| end..end),
        };
        let found = found.unwrap_or_default();
        Ok(line.floor_char_boundary(found.start)..line.ceil_char_boundary(found.end))
    }

    /// Calls `each` with the bytes of every matching line, until it breaks.
    fn each_line(
        &mut self,
        text: &str,
        each: &mut dyn FnMut(Range<usize>) -> ControlFlow<()>,
    ) -> Result<(), VaultError> {
        // of the whole text: many lines that are quick one by one are not quick
        let is_quick = self.finder.is_quick(text.len());
        let (text, mut at, mut n_looks) = (text.as_bytes(), 0, 0);
        let line_end = |from: usize| memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |n| from + n);
        let line_begin =
            |from: usize, to: usize| memchr::memrchr(b'\n', &text[from..to]).map_or(from, |n| from + n + 1);
        while at < text.len() {
            n_looks += 1;
            if n_looks % LINES_PER_CHECK == 0 {
                self.call.check()?;
            }
            let looked_at = match &self.finder.required {
                Some(required) => match required.find(&text[at..]) {
                    Some(found) => line_begin(at, at + found.start())..line_end(at + found.start()),
                    None => break,
                },
                None if self.finder.lone_lines => at..line_end(at),
                None => at..text.len(),
            };
            let Some(found) = self.first_end(&text[looked_at.clone()], is_quick)? else {
                at = looked_at.end + 1;
                continue;
            };
            let found = looked_at.start + found;
            // an empty match behind the last line break is on no line
            if found == text.len() && text.ends_with(b"\n") {
                break;
            }
            let line = line_begin(at, found)..line_end(found);
            at = line.end + 1;
            if each(line).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns where the first match in `text` ends: on the first line that has one.
    fn first_end(&mut self, text: &[u8], is_quick: bool) -> Result<Option<usize>, VaultError> {
        let LineSearch { finder, call, cache, scratch } = self;
        if is_quick {
            let input = Input::new(text).earliest(true);
            return Ok(finder.regex.search_half_with(cache, &input).map(|found| found.offset()));
        }
        let stoppable = finder.stoppable.get_or_init(|| Stoppable::new(&finder.nfa));
        let scratch = scratch.get_or_insert_with(|| stoppable.scratch());
        stoppable.first_end(scratch, text, &|| call.check())
    }
}

/// Lines that may be a header.
struct Header {
    end: usize,
    matches: bool,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where the lines end that may be a header.
fn header_end(stored: &str) -> usize {
    let is_fence = |line: &str| line.trim_end_matches(['\n', ' ', '\t']) == "---";
    let mut end = 0;
    for line in stored.split_inclusive('\n') {
        if end == 0 && !is_fence(line) {
            return 0;
        }
        let closes = end > 0 && is_fence(line);
        end += line.len();
        if closes {
            return end;
        }
    }
    0
}

/// Returns the view of a note in which lines are found.
pub(crate) fn view(stored: &str) -> View {
    vault_markdown::view(stored, &ViewOptions::default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_automata::util::syntax;

    use super::*;

    fn finder(pattern: &str) -> LineFinder {
        LineFinder::new(pattern, true, false).unwrap()
    }

    /// Numbers and texts of the lines of a view that `finder` finds.
    fn lines_in(finder: &LineFinder, view: &View) -> Vec<(usize, String)> {
        let (call, mut found) = (Call::begin("test"), vec![]);
        let mut take = |line: MatchingLine| {
            found.push((line.number, view.text[line.span].to_owned()));
            ControlFlow::Continue(())
        };
        finder.search(&call).each_in(view, &mut take).unwrap();
        found
    }

    fn found(pattern: &str, stored: &str) -> Vec<usize> {
        lines_in(&finder(pattern), &view(stored)).into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn lines_are_those_of_the_view() {
        let stored = "\u{feff}---\r\ntitle: heron\r\nbird: heron\r\n---\r\nA heron.\r\nno\r\nheron";
        assert_eq!(found("heron", stored), [3, 5, 7]);
        assert_eq!(found("heron$", stored), [3, 7]);
        assert_eq!(found("^heron", stored), [7]);
        assert_eq!(found("Note", "x\n"), [0; 0], "only the view has that");
        assert_eq!(found("^$", "a\n\nb\n"), [5]);
        assert_eq!(found("x*", "a\nb\n"), [4, 5]);
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_what_is_wrong() {
        let long = "x".repeat(10_001);
        for (pattern, is_regex) in [
            ("(here", true),
            ("", false),
            ("a\nb", false),
            (r"a\nb|c", true),
            ("a{1000}{1000}{1000}", true),
            (&"(".repeat(5_000), true),
            (&long, false),
        ] {
            let refusal = LineFinder::new(pattern, is_regex, false).unwrap_err();
            assert_eq!(refusal.code(), "invalid_argument", "{refusal}");
            let told = refusal.to_string();
            assert!(told.starts_with("`pattern`: ") && !told.contains('\n'), "{told}");
        }
        let refusal = LineFinder::new("(here", true, false).unwrap_err().to_string();
        assert!(refusal.contains("unclosed group"), "{refusal}");
        assert!(LineFinder::new("(here", false, false).is_ok());
    }

    #[test]
    fn a_match_is_told_in_whole_characters() {
        let call = Call::begin("test");
        for (pattern, line, place) in
            [(r"(?-u)\xc3", "aé", 1..3), (r"(?-u)\xa9", "aé", 1..3), ("(?-u:.)", "é", 0..2), ("é", "aé", 1..3)]
        {
            assert_eq!(finder(pattern).search(&call).place_in(line).unwrap(), place, "{pattern}");
        }
    }

    /// Some of these would go on for hours.
    #[test]
    fn a_search_of_one_long_line_ends_with_its_call() {
        let call = Call::begin("test");
        call.cancelled.cancel();
        let line = "ab".repeat(4_000_000) + "cyz";
        for pattern in [r"\w{1,50}z", r"(a|b)*a(a|b){15}c", r"\b[^z]*\bz", "[^x]*y", "(?mR)^c"] {
            let ended = finder(pattern).search(&call).count(&line, false);
            assert!(matches!(ended, Err(VaultError::Timeout)), "{pattern}: {ended:?}");
        }
        for (pattern, lines) in [
            ("b", "b\n".repeat(LINES_PER_CHECK)),
            (r"\w{1,50}z", ("ab".repeat(10_000) + " z\n").repeat(100)),
            (r"(?mR)^\w{1,50}z", ("ab".repeat(10_000) + " z\n").repeat(100)),
        ] {
            let ended = finder(pattern).search(&call).count(&lines, false);
            assert!(matches!(ended, Err(VaultError::Timeout)), "{pattern}: {ended:?}");
        }
    }

    /// Notes of pieces in which headers, line ends, elements and matches meet.
    fn note() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "---\n",
            "---\r\n",
            "--- \t\n",
            "a: 1\n",
            "tags: [ab]\n",
            "title: ab\n",
            "type: ab\n",
            "c: |\n  ab\n",
            "- ab\n",
            "ab\n",
            "ab",
            "a",
            "\n",
            "\r\n",
            "\r",
            "\u{feff}",
            "x ab y\n",
            "é ab\r\n",
            "éa\n",
            "  ---\n",
            "----\n",
            "# ab\n",
            "```chart\nab: 1\n```\n",
            "```",
            "![ab](data:image/png;base64,ab)\n",
        ]);
        prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
    }

    const PATTERNS: &[&str] = &[
        "ab",
        "^ab",
        "ab$",
        "^$",
        "$^",
        "b.*",
        "^",
        "$",
        "[^a]b",
        "[^a]",
        r"\w+",
        "-",
        "1",
        r"\s",
        r"a|b$",
        r"\Aab",
        r"ab\z",
        r"\A\z",
        "(?-m)^a",
        "(?-m)b$",
        "(?s)a.b",
        "(?s).+b",
        "(?R)b$",
        "(?mR)^ab",
        "(?mR)b$",
        "(?mR)^$",
        "(?R).b",
        r"\bab\b",
        r"\Ba",
        r"\b",
        "x*",
        "(?i)AB",
        r"(?-u)\bab",
        r"(?-u)\B",
        r"(?-u:\w)b",
        r"(?-u)\xc3",
        "[x-z] a(b|c) .*|.{1,2}b$",
        "(?:.a){2}",
        "(?-u:.)a",
        "(?-u)[^a]",
        "a\u{9}?",
        r"[\r]",
        r"[^\n]a",
        r"\b{start}a",
        r"[a&&b]",
    ];

    /// Does what the operation promises, as plainly as can be.
    fn obvious(pattern: &str, view: &View) -> Vec<(usize, String)> {
        let syntax = syntax::Config::new().utf8(false);
        let config = Regex::config().utf8_empty(false);
        let regex = Regex::builder().syntax(syntax).configure(config).build(pattern).unwrap();
        let lines = view.text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
        let numbered = (1..).zip(lines);
        let found = numbered.filter(|(number, line)| !view.is_added(*number) && regex.is_match(line));
        found.map(|(number, line)| (number, line.to_owned())).collect()
    }

    proptest! {
        #[test]
        fn every_line_is_matched_as_if_it_stood_alone(stored in note(), pattern in prop::sample::select(PATTERNS)) {
            let (finder, call, view) = (finder(pattern), Call::begin("test"), view(&stored));
            let expected = obvious(pattern, &view);
            prop_assert_eq!(&lines_in(&finder, &view), &expected, "{:?}", view.text);
            let has_elements = vault_markdown::body_place(&stored, &vault_markdown::parse(&stored)).is_none();
            let n_lines = finder.search(&call).count(&stored, has_elements).unwrap();
            prop_assert_eq!(n_lines, expected.len(), "{:?}", stored);
        }

        #[test]
        fn it_makes_no_difference_whether_a_search_can_be_stopped(
            text in "[ab\n éx-]{0,20}",
            pattern in prop::sample::select(PATTERNS),
        ) {
            let finder = finder(pattern);
            let quick = finder.regex.search_half(&Input::new(&text).earliest(true)).map(|found| found.offset());
            let stoppable = Stoppable::new(&finder.nfa);
            let mut scratch = stoppable.scratch();
            let stopped = stoppable.first_end(&mut scratch, text.as_bytes(), &|| Ok(())).unwrap();
            scratch.forget_automaton();
            let by_states = stoppable.first_end(&mut scratch, text.as_bytes(), &|| Ok(())).unwrap();
            let line = |end: Option<usize>| end.map(|end| text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count());
            prop_assert_eq!(line(stopped), line(quick), "{:?}", text);
            prop_assert_eq!(by_states, stopped, "{:?}", text);
        }
    }
}
