//! Exact replacement in the view: only the lines that a match lies in are written anew.

use std::ops::Range;

use crate::frontmatter;
use crate::lines;
use crate::merge::{self, MergeError, Merged, Origin};
use crate::view::{Shown, View, ViewOptions};

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is nothing to look for.
    #[error("the text to replace is empty")]
    Empty,
    /// The text is not there.
    #[error("the text to replace is not in the note")]
    NoMatch,
    /// The text is there more than once, and not all were to be replaced.
    #[error("the text to replace is in the note {} times", lines.len())]
    NotUnique {
        /// 1-based view lines where the matches begin.
        lines: Vec<usize>,
    },
    /// The result cannot be stored.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

/// Replaces `old` by `new` in the view of `stored`: the text to store.
///
/// Matches are exact and do not overlap; `new` is literal. `\r\n` in either is read as the view's `\n`. A line that
/// only the view has is matched only by an `old` that holds all of it. Lines without a match keep their exact bytes.
/// Refuses an empty `old`, unless `replace_all` one that is there more than once, and what would leave no frontmatter
/// block where it matched a part of one.
///
/// ```
/// use vault_markdown::{ViewOptions, edit};
/// let edited = edit("One\r\nTwo\r\n", "Two\n", "Deux\nEt demi\n", false, &ViewOptions::default()).unwrap();
/// assert_eq!(edited.text, "One\r\nDeux\r\nEt demi\r\n");
/// assert_eq!(edited.replacements, 1);
/// ```
pub fn edit(stored: &str, old: &str, new: &str, replace_all: bool, options: &ViewOptions) -> Result<Merged, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    let shown = Shown::of(stored, options);
    let (old, new) = (merge::incoming(old, &shown.view.text), merge::incoming(new, &shown.view.text));
    let matches = find(&shown.view, &old, &new);
    match matches.len() {
        0 => return Err(EditError::NoMatch),
        1 => {}
        _ if replace_all => {}
        _ => return Err(EditError::NotUnique { lines: lines_of(&shown.view.text, &matches) }),
    }
    let replacements = matches.len();
    if old == new {
        return Ok(Merged { replacements, ..merge::unchanged(&shown) });
    }
    let edited = Edited::of(&shown.view.text, &matches, &new);
    if matches[0].start < shown.header_len {
        check_header(&shown, &matches[0], &edited.text)?;
    }
    let merged = merge::store(&shown, &edited.text, options, |body_start, _| edited.origins(&shown, body_start))?;
    Ok(Merged { replacements, ..merged })
}

/// An edit that begins in the block must leave a block: what is left of it would be stored as text, below the old one.
fn check_header(shown: &Shown, first: &Range<usize>, edited: &str) -> Result<(), MergeError> {
    let replaces_added_block = shown.frontmatter.is_none() && first.start == 0 && first.end >= shown.header_len;
    if frontmatter::read(edited).is_some() || (replaces_added_block && !frontmatter::begins_with_fence(edited)) {
        return Ok(());
    }
    let line = frontmatter::odd_line(edited);
    Err(MergeError::InvalidFrontmatter { line, message: frontmatter::BLOCK_RULE.to_owned() })
}

/// The matches from left to right, without those in lines that only the view has.
fn find(view: &View, old: &str, new: &str) -> Vec<Range<usize>> {
    let added = added_lines(view);
    let mut matches = Vec::new();
    let mut at = 0;
    while let Some(start) = view.text[at..].find(old).map(|found| at + found) {
        let found = start..start + old.len();
        // A line end that comes back unchanged does not touch the line that it ends.
        let kept_line_end = usize::from(old.starts_with('\n') && new.starts_with('\n'));
        let touched = found.start + kept_line_end..found.end;
        let fits = |line: &Range<usize>| {
            let overlaps = line.start < touched.end && touched.start < line.end;
            !overlaps || (touched.start <= line.start && line.end - 1 <= touched.end)
        };
        if added.iter().all(fits) {
            at = found.end;
            matches.push(found);
        } else {
            at = start + view.text[start..].chars().next().map_or(1, char::len_utf8);
        }
    }
    matches
}

/// Byte ranges of the lines that only the view has; they are in its frontmatter block.
fn added_lines(view: &View) -> Vec<Range<usize>> {
    let block = lines::line_ranges(&view.text, 0..view.text.len()).enumerate();
    let added = view.added_runs();
    block
        .take_while(|(index, _)| *index < added.end)
        .filter(|(index, _)| added.contains(index))
        .map(|(_, line)| line)
        .collect()
}

fn lines_of(text: &str, matches: &[Range<usize>]) -> Vec<usize> {
    let (mut line, mut at) = (1, 0);
    let mut lines = Vec::with_capacity(matches.len());
    for found in matches {
        line += text[at..found.start].matches('\n').count();
        at = found.start;
        lines.push(line);
    }
    lines
}

/// The view after the replacement, with the stretches that were copied.
struct Edited {
    text: String,
    /// Old and new start of each copied stretch, and its length.
    copies: Vec<(usize, usize, usize)>,
}

impl Edited {
    fn of(view: &str, matches: &[Range<usize>], new: &str) -> Edited {
        let mut edited = Edited { text: String::with_capacity(view.len()), copies: Vec::new() };
        let mut at = 0;
        for found in matches {
            edited.copy(view, at..found.start);
            edited.text.push_str(new);
            at = found.end;
        }
        edited.copy(view, at..view.len());
        edited
    }

    fn copy(&mut self, view: &str, stretch: Range<usize>) {
        self.copies.push((stretch.start, self.text.len(), stretch.len()));
        self.text.push_str(&view[stretch]);
    }

    /// Where the lines from `body_start` on come from.
    fn origins(&self, shown: &Shown, body_start: usize) -> Vec<Origin> {
        let view = &shown.view.text;
        let mut cursor = LineCursor { view, at: shown.header_len, line: 0 };
        let mut copies = self.copies.iter().peekable();
        let mut origins = Vec::new();
        for line in lines::line_ranges(&self.text, body_start..self.text.len()) {
            while copies.next_if(|(_, new, len)| new + len < line.end).is_some() {}
            let origin = match copies.peek() {
                Some((old, new, _)) if *new < line.end => {
                    let old_end = old + (line.end - new);
                    let is_whole = *new <= line.start && is_line(view, old + (line.start - new)..old_end);
                    cursor.origin(shown.header_len, old_end, is_whole)
                }
                _ => Origin::New,
            };
            origins.push(origin);
        }
        origins
    }
}

/// Whether `range` is a whole line.
fn is_line(view: &str, range: Range<usize>) -> bool {
    let begins = range.start == 0 || view[..range.start].ends_with('\n');
    begins && (view[..range.end].ends_with('\n') || range.end == view.len())
}

/// Counts lines of the old body on the way down.
struct LineCursor<'a> {
    view: &'a str,
    at: usize,
    line: usize,
}

impl LineCursor<'_> {
    /// The origin of a new line whose end was copied from `old_end`.
    fn origin(&mut self, body_start: usize, old_end: usize, is_whole: bool) -> Origin {
        if old_end <= body_start || old_end < self.at {
            return Origin::New;
        }
        let passed = &self.view.as_bytes()[self.at..old_end - 1];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = old_end - 1;
        if is_whole {
            Origin::Line(self.line)
        } else if self.view[..old_end].ends_with('\n') {
            Origin::Ending(self.line)
        } else {
            Origin::New
        }
    }
}
