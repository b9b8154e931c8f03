//! Finding lines of notes: by their raw bytes where these are what callers see, else in the view.
//!
//! The view of a note without elements is its file, but for the header and for line ends. So a match in the body of a file
//! with plain line ends is a match in the view, on a line that is the same; only files with elements, with a byte-order
//! mark, with carriage returns, or with a match in the header have their view made.

use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use vault_markdown::{View, ViewOptions};

use crate::error::VaultError;
use crate::limits::MAX_PATTERN_MEMORY;

/// Finds matching lines.
#[derive(Debug)]
pub(crate) struct LineFinder(RegexMatcher);

/// A line that matches, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchingLine {
    /// Its number in the view, from 1.
    pub(crate) line: usize,
    /// Bytes of its first match in it.
    pub(crate) span: Range<usize>,
}

impl LineFinder {
    /// Reads a pattern; without `is_regex` it is found as it is written.
    pub(crate) fn new(pattern: &str, is_regex: bool, ignore_case: bool) -> Result<LineFinder, VaultError> {
        let refusal = |problem: String| VaultError::InvalidArgument { argument: "pattern".into(), problem };
        if pattern.is_empty() {
            return Err(refusal("is empty: there is nothing to look for".into()));
        }
        if pattern.contains(['\n', '\r']) {
            return Err(refusal("holds a line break, and lines are matched one by one".into()));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).line_terminator(Some(b'\n')).case_insensitive(ignore_case).fixed_strings(!is_regex);
        builder.size_limit(MAX_PATTERN_MEMORY).dfa_size_limit(MAX_PATTERN_MEMORY);
        builder.build(pattern).map(LineFinder).map_err(|error| refusal(problem(&error.to_string())))
    }

    /// Counts the matching lines of a note from its bytes; `None` when it takes the view to know.
    pub(crate) fn count_raw(&self, bytes: &[u8]) -> Option<usize> {
        if bytes.starts_with(BYTE_ORDER_MARK) || memchr::memchr(b'\r', bytes).is_some() {
            return None;
        }
        let header_end = header_end(bytes);
        let mut n_lines = 0;
        self.each_line(bytes, &mut |line, _| {
            n_lines += 1;
            line.start >= header_end
        })
        .then_some(n_lines)
    }

    /// Returns the matching lines of a view.
    pub(crate) fn lines_of(&self, view: &View) -> Vec<MatchingLine> {
        let text = view.text.as_bytes();
        let (mut found, mut at, mut number) = (Vec::new(), 0, 1);
        self.each_line(text, &mut |line, first| {
            number += memchr::memchr_iter(b'\n', &text[at..line.start]).count();
            at = line.start;
            if !view.is_added(number) {
                found.push(MatchingLine { line: number, span: first.start - line.start..first.end - line.start });
            }
            true
        });
        found
    }

    /// Calls `each` with the bytes of every matching line and of its first match, until that returns `false`. Tells whether
    /// it never did.
    fn each_line(&self, text: &[u8], each: &mut dyn FnMut(Range<usize>, Range<usize>) -> bool) -> bool {
        let mut at = 0;
        while at < text.len() {
            let Ok(Some(found)) = self.0.find_at(text, at) else { return true };
            // an empty match behind the last line break is on no line
            if found.start() == text.len() && text.ends_with(b"\n") {
                return true;
            }
            let begin = memchr::memrchr(b'\n', &text[at..found.start()]).map_or(at, |newline| at + newline + 1);
            let end = memchr::memchr(b'\n', &text[found.start()..]).map_or(text.len(), |n| found.start() + n);
            if !each(begin..end, found.start()..found.end().min(end)) {
                return false;
            }
            at = end + 1;
        }
        true
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Where the lines end that may be a header.
fn header_end(bytes: &[u8]) -> usize {
    if !bytes.starts_with(b"---") {
        return 0;
    }
    let mut at = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |newline| newline + 1);
    while at < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1);
        if bytes[at..end].trim_ascii_end() == b"---" {
            return end;
        }
        at = end;
    }
    0
}

/// Returns the view of a note in which lines are found.
pub(crate) fn view(stored: &str) -> View {
    vault_markdown::view(stored, &ViewOptions::default())
}

/// Says in one line what is wrong with a pattern: the parser draws it with arrows.
fn problem(error: &str) -> String {
    let reason = error.lines().rev().find_map(|line| line.strip_prefix("error: "));
    match reason {
        Some(reason) => format!("is no regular expression: {reason}; leave `regex` out to find it as it is written"),
        None => format!("cannot be used: {}", error.lines().next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finder(pattern: &str) -> LineFinder {
        LineFinder::new(pattern, true, false).unwrap()
    }

    fn found(pattern: &str, stored: &str) -> Vec<(usize, String)> {
        let view = view(stored);
        let lines: Vec<&str> = view.text.split('\n').collect();
        let found = finder(pattern).lines_of(&view);
        found.into_iter().map(|found| (found.line, lines[found.line - 1][found.span].to_owned())).collect()
    }

    #[test]
    fn lines_are_those_of_the_view() {
        let stored = "\u{feff}---\r\ntitle: heron\r\nbird: heron\r\n---\r\nA heron.\r\nno\r\nheron";
        let expected = [(3, "heron"), (5, "heron"), (7, "heron")];
        assert_eq!(found("heron", stored), expected.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(found("heron$", stored).len(), 2);
        assert_eq!(found("^heron", stored), [(7, "heron".to_owned())]);
        assert_eq!(found("Note", "x\n"), [], "only the view has that");
        assert_eq!(found("^$", "a\n\nb\n").len(), 1);
        assert_eq!(found("x*", "a\nb\n").len(), 2);
    }

    #[test]
    fn a_broken_pattern_says_what_is_wrong() {
        for (pattern, is_regex) in [("(here", true), ("", false), ("a\nb", false), ("a{1000}{1000}{1000}", true)] {
            let refusal = LineFinder::new(pattern, is_regex, false).unwrap_err();
            assert_eq!(refusal.code(), "invalid_argument", "{pattern}: {refusal}");
            assert!(refusal.to_string().starts_with("`pattern`: "), "{refusal}");
        }
        let refusal = LineFinder::new("(here", true, false).unwrap_err().to_string();
        assert!(refusal.contains("unclosed group") && !refusal.contains('\n'), "{refusal}");
        assert!(LineFinder::new("(here", false, false).is_ok());
    }

    /// Notes of pieces in which headers, line ends and matches meet.
    fn note() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "---\n",
            "---\r\n",
            "a: 1\n",
            "tags: [ab]\n",
            "title: ab\n",
            "ab\n",
            "ab",
            "\n",
            "\r\n",
            "\u{feff}",
            "x ab y\n",
            "é ab\r\n",
            "  ---\n",
            "----\n",
            "type: ab\n",
            "# ab\n",
        ]);
        prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_raw_bytes_tell_is_what_the_view_has(
            stored in note(),
            pattern in prop::sample::select(vec!["ab", "^ab", "ab$", "^$", "b.*", "^", "[^a]b", r"\w+", "-", "1"]),
        ) {
            let finder = finder(pattern);
            if let Some(count) = finder.count_raw(stored.as_bytes()) {
                prop_assert_eq!(count, finder.lines_of(&view(&stored)).len(), "{:?}", stored);
            }
        }

        #[test]
        fn lines_are_matched_one_by_one(
            stored in note(),
            pattern in prop::sample::select(vec!["ab", "^ab", "ab$", "^$", "b.*", "^", "[^a]b", r"\w+", r"\s", "a|b$"]),
        ) {
            let view = view(&stored);
            let regex = finder(pattern);
            let text = view.text.strip_suffix('\n').unwrap_or(&view.text);
            let lines = text.split('\n').enumerate().map(|(at, line)| (at + 1, line));
            let obvious: Vec<usize> = lines
                .filter(|(number, line)| !view.is_added(*number) && regex.0.is_match(line.as_bytes()).unwrap())
                .map(|(number, _)| number)
                .collect();
            let obvious = if view.text.is_empty() { vec![] } else { obvious };
            let found: Vec<usize> = regex.lines_of(&view).into_iter().map(|found| found.line).collect();
            prop_assert_eq!(found, obvious, "{:?}", view.text);
        }
    }
}
