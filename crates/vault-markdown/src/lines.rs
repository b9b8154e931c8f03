//! Lines and their endings: what a caller sees ends in `\n`, what a file holds may end in `\r\n`.
//!
//! Only `\n` ends a line; a `\r` that no `\n` follows is content.

use std::borrow::Cow;
use std::ops::Range;

const BOM: char = '\u{feff}';

/// Splits off the byte-order mark: its length in bytes (0 or 3).
pub(crate) fn bom_len(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len_utf8() } else { 0 }
}

/// `text` without a leading byte-order mark.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// `text` with every `\r\n` as `\n`.
pub(crate) fn to_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// A line as the view shows it: its content, and whether a line end follows.
pub(crate) fn content(raw_line: &str) -> (&str, bool) {
    match raw_line.strip_suffix('\n') {
        Some(line) => (line.strip_suffix('\r').unwrap_or(line), true),
        None => (raw_line, false),
    }
}

/// The ending that most lines of `text` have; `\n` when they are as many or none.
pub(crate) fn dominant_ending(text: &str) -> &'static str {
    let (crlf, all) = count_endings(text);
    if crlf * 2 > all { "\r\n" } else { "\n" }
}

/// Whether all line ends of `text` are the same.
pub(crate) fn uniform_endings(text: &str) -> bool {
    let (crlf, all) = count_endings(text);
    crlf == 0 || crlf == all
}

fn count_endings(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    text.match_indices('\n')
        .fold((0, 0), |(crlf, all), (at, _)| (crlf + usize::from(at > 0 && bytes[at - 1] == b'\r'), all + 1))
}

/// Appends a view line as a stored line with `ending`.
///
/// Content that itself ends in `\r` always gets `\r\n`: with a bare `\n` its last character would read as the ending.
pub(crate) fn push_line(out: &mut String, shown: &str, ending: &str) {
    match shown.strip_suffix('\n') {
        Some(line) => {
            out.push_str(line);
            out.push_str(if line.ends_with('\r') { "\r\n" } else { ending });
        }
        None => out.push_str(shown),
    }
}

/// Byte ranges of the lines of `text` inside `within`, line ends included.
pub(crate) fn line_ranges(text: &str, within: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = within.start;
    text[within].split_inclusive('\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        range
    })
}

/// Number of lines of `text`; a last line without a line end counts.
pub(crate) fn n_lines(text: &str) -> usize {
    let ended = text.matches('\n').count();
    ended + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Start and end of the line that holds byte `at`, line end excluded.
pub(crate) fn line_around(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_lines_decide_the_ending() {
        assert_eq!(dominant_ending("a\r\nb\r\nc\n"), "\r\n");
        assert_eq!(dominant_ending("a\r\nb\n"), "\n");
        assert_eq!(dominant_ending("a\rb"), "\n");
    }

    #[test]
    fn content_that_ends_in_a_carriage_return_keeps_it() {
        let mut out = String::new();
        push_line(&mut out, "a\r\n", "\n");
        assert_eq!(out, "a\r\r\n");
        assert_eq!(content(&out), ("a\r", true));
    }

    #[test]
    fn lines_are_ranges_into_the_whole_text() {
        let ranges: Vec<_> = line_ranges("a\nb\r\nc", 2..6).collect();
        assert_eq!(ranges, [2..5, 5..6]);
    }
}
