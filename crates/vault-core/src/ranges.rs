//! Lines of a text, as `offset` and `limit` name them. Pure.

use std::ops;

use crate::error::VaultError;
use crate::limits::MAX_WHOLE_NOTE_BYTES;
use crate::path::VaultPath;

/// Lines `first..=last` (from 1) of a text with `total` lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// First line.
    pub(crate) first: usize,
    /// Last line; `first - 1` when there is none.
    pub(crate) last: usize,
    /// Lines of the whole text.
    pub(crate) total: usize,
}

impl Range {
    /// Checks `offset` and `limit` against a text of `total` lines.
    pub(crate) fn of(offset: Option<usize>, limit: Option<usize>, total: usize) -> Result<Range, VaultError> {
        let first = offset.unwrap_or(1);
        if first > total.max(1) {
            let problem = format!("must be at most {}, the number of lines", total.max(1));
            return Err(VaultError::InvalidArgument { argument: "offset".into(), problem });
        }
        let last = limit.map_or(total, |limit| (first - 1).saturating_add(limit).min(total));
        Ok(Range { first, last, total })
    }

    /// Tells whether lines of the text are missing.
    pub(crate) fn is_partial(&self) -> bool {
        self.first > 1 || self.last < self.total
    }

    /// Returns where the lines stand in `text`, line ends included.
    pub(crate) fn bytes(&self, text: &str) -> ops::Range<usize> {
        let start = start_of(text, self.first - 1);
        start..start + start_of(&text[start..], self.last + 1 - self.first)
    }
}

/// Returns the number of lines in `text`; a line break at the very end opens no further line.
pub(crate) fn count(text: &str) -> usize {
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Refuses to return `text`, which is too long for one answer and begins at line `first` of what `path` holds.
/// `hint` says what to do where asking for other lines is not the first thing.
pub(crate) fn too_large(path: &VaultPath, text: &str, first: usize, hint: Option<&'static str>) -> VaultError {
    let mut lines = (first..).zip(text.split_inclusive('\n'));
    let long = lines.find(|(_, line)| line.len() as u64 > MAX_WHOLE_NOTE_BYTES);
    let (what, lines_hint) = match long {
        Some((number, _)) => (
            format!("line {number} of `{path}` alone"),
            "read the other lines with `offset` and `limit`; a person must break this one",
        ),
        None => (format!("`{path}`, as asked for,"), "read fewer lines at a time, with `offset` and `limit`"),
    };
    VaultError::TooLarge { what, limit: MAX_WHOLE_NOTE_BYTES, hint: hint.unwrap_or(lines_hint) }
}

/// Returns where the line after `n_lines` lines begins.
fn start_of(text: &str, n_lines: usize) -> usize {
    match n_lines {
        0 => 0,
        _ => text.match_indices('\n').nth(n_lines - 1).map_or(text.len(), |(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_with_their_ends() {
        let text = "a\nb\r\nc";
        let cut = |offset, limit| &text[Range::of(offset, limit, count(text)).unwrap().bytes(text)];
        assert_eq!(cut(None, None), text);
        assert_eq!(cut(Some(2), Some(1)), "b\r\n");
        assert_eq!(cut(Some(3), None), "c");
        assert_eq!(cut(Some(1), Some(usize::MAX)), text);
        assert!(Range::of(Some(4), None, 3).is_err());
        assert!(Range::of(Some(1), None, 0).is_ok_and(|range| !range.is_partial()));
    }

    #[test]
    fn a_break_at_the_end_opens_no_line() {
        assert_eq!([count(""), count("a"), count("a\n"), count("a\n\n")], [0, 1, 1, 2]);
    }
}
