//! Rebuilding a body from view lines: kept ones as the bytes they stand for, new ones with the file's line ending.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::placeholders::{BlockPlaceholder, Placeholders};
use crate::lines;
use crate::parse::INLINE_PREFIX;
use crate::view::{Placeholder, Shown};

/// Where a line of a new body comes from. Lines are 0-based lines of the old body's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Written anew.
    New,
    /// This line, unchanged.
    Line(usize),
    /// Written anew, up to the line end of this line.
    Ending(usize),
}

/// Lines of a fenced placeholder: its opening, its label, its closing.
const BLOCK_LINES: usize = 3;

/// What a line of the old body's view stands for.
struct ShownLine {
    stored: Range<usize>,
    /// Part of a fenced placeholder, which is rebuilt as a whole.
    in_block: bool,
    /// Elements whose inline placeholders it holds, as a range into `Shown::elements`.
    inline: Range<usize>,
}

/// The lines of the old body's view, in order.
fn shown_lines(shown: &Shown) -> Vec<ShownLine> {
    let mut lines = Vec::new();
    let mut elements = shown.elements.iter().enumerate().peekable();
    let mut skip_to = shown.body.start;
    for stored in lines::line_ranges(shown.stored, shown.body.clone()) {
        if stored.start < skip_to {
            continue;
        }
        let first = elements.peek().map_or(shown.elements.len(), |(index, _)| *index);
        let mut inline = first..first;
        while let Some((index, _)) = elements.next_if(|(_, element)| element.inline && element.inner.start < stored.end)
        {
            inline.end = index + 1;
        }
        if let Some((_, block)) = elements.next_if(|(_, element)| element.span.start < stored.end) {
            skip_to = lines::line_around(shown.stored, block.span.end).end + 1;
            let line = || ShownLine { stored: stored.clone(), in_block: true, inline: 0..0 };
            lines.extend([(); BLOCK_LINES].map(|()| line()));
        } else {
            lines.push(ShownLine { stored, in_block: false, inline });
        }
    }
    lines
}

/// The lines of the body `new` as the view shows them: `old` are those of the old body. A line of a written-out element
/// that the view has no line for is empty, and so like none.
pub(super) fn lines_as_shown<'t>(
    shown: &Shown,
    old: &[&'t str],
    new: &'t str,
    placeholders: &Placeholders,
) -> Vec<Cow<'t, str>> {
    let of_blocks =
        shown_lines(shown).into_iter().enumerate().filter(|(_, line)| line.in_block).map(|(index, _)| index);
    let block_lines: Vec<usize> = of_blocks.collect();
    let blocks = shown.elements.iter().enumerate().filter(|(_, element)| !element.inline).map(|(index, _)| index);
    let lines_of: HashMap<usize, &[usize]> = blocks.zip(block_lines.chunks(BLOCK_LINES)).collect();
    let mut inline = placeholders.inline.iter().peekable();
    let (mut block_end, mut rest) = (0, [].iter());
    let mut lines = Vec::new();
    for range in lines::line_ranges(new, 0..new.len()) {
        if let Some(block) = placeholders.blocks.get(&range.start) {
            (block_end, rest) = (block.end, lines_of[&block.element].iter());
        }
        let (mut text, mut at) = (String::new(), range.start);
        while let Some((destination, element)) = inline.next_if(|(destination, _)| destination.start < range.end) {
            text.extend([&new[at..destination.start], INLINE_PREFIX, &shown.elements[*element].id]);
            at = destination.end;
        }
        lines.push(match (range.start < block_end, at == range.start) {
            (true, _) => Cow::Borrowed(rest.next().map_or("", |line| old[*line])),
            (false, true) => Cow::Borrowed(&new[range]),
            (false, false) => Cow::Owned(text + &new[at..range.end]),
        });
    }
    lines
}

/// The body to store for the view body `new`, whose lines come from `origins`.
pub(super) fn rebuild(
    shown: &Shown,
    new: &str,
    origins: &[Origin],
    placeholders: &Placeholders,
    ending: &str,
) -> String {
    let old = if origins.iter().all(|origin| *origin == Origin::New) { Vec::new() } else { shown_lines(shown) };
    let mut rebuild = Rebuild { shown, new, old, ending, out: String::with_capacity(new.len()) };
    let mut inline = placeholders.inline.iter().peekable();
    let mut skip_to = 0;
    for (range, origin) in lines::line_ranges(new, 0..new.len()).zip(origins) {
        if range.start < skip_to {
            continue;
        }
        if let Some(block) = placeholders.blocks.get(&range.start) {
            skip_to = block.end;
            rebuild.block(block);
            continue;
        }
        let mut swaps = Vec::new();
        while let Some(swap) = inline.next_if(|(destination, _)| destination.start < range.end) {
            swaps.push(swap);
        }
        rebuild.line(range, *origin, &swaps);
    }
    rebuild.out
}

struct Rebuild<'a> {
    shown: &'a Shown<'a>,
    new: &'a str,
    old: Vec<ShownLine>,
    ending: &'a str,
    out: String,
}

impl Rebuild<'_> {
    fn line(&mut self, range: Range<usize>, origin: Origin, swaps: &[&(Range<usize>, usize)]) {
        let ending = match origin {
            Origin::Line(line) if self.is_same(line, swaps) => {
                self.out.push_str(&self.shown.stored[self.old[line].stored.clone()]);
                return;
            }
            Origin::Line(line) | Origin::Ending(line) if !self.old[line].in_block => self.ending_of(line),
            _ => self.ending,
        };
        let mut text = String::new();
        let mut at = range.start;
        for (destination, element) in swaps {
            text.push_str(&self.new[at..destination.start]);
            text.push_str(&self.shown.elements[*element].content);
            at = destination.end;
        }
        text.push_str(&self.new[at..range.end]);
        lines::push_line(&mut self.out, &text, ending);
    }

    /// Whether a kept line still holds the inline placeholders that it held, and no fenced one.
    fn is_same(&self, line: usize, swaps: &[&(Range<usize>, usize)]) -> bool {
        let line = &self.old[line];
        !line.in_block && line.inline.clone().eq(swaps.iter().map(|(_, element)| *element))
    }

    fn ending_of(&self, line: usize) -> &'static str {
        let stored = &self.shown.stored[self.old[line].stored.clone()];
        if stored.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    /// The element that a placeholder stands for: its exact bytes, or in another container with other prefixes.
    fn block(&mut self, block: &BlockPlaceholder) {
        let (stored, element) = (self.shown.stored, &self.shown.elements[block.element]);
        let old = Placeholder::of(stored, element);
        if old.opening_prefix == block.opening_prefix && old.closing_prefix == block.closing_prefix {
            let first = element.span.start - old.opening_prefix.len();
            let last = lines::line_around(stored, element.span.end).end;
            self.out.push_str(stored[first..last].strip_suffix('\r').unwrap_or(&stored[first..last]));
        } else {
            let fence_line = lines::content(&stored[element.span.start..element.inner.start]).0;
            let closing_fence = &stored[element.inner.end + old.closing_prefix.len()..element.span.end];
            self.prefixed(&block.opening_prefix, fence_line);
            for line in element.content.lines() {
                self.prefixed(&block.closing_prefix, line);
            }
            self.out.push_str(&block.closing_prefix);
            self.out.push_str(closing_fence);
        }
        if self.new[..block.end].ends_with('\n') {
            let after = lines::line_around(stored, element.span.end).end;
            let own = if stored[..after].ends_with('\r') { "\r\n" } else { "\n" };
            self.out.push_str(if after < stored.len() { own } else { self.ending });
        }
    }

    fn prefixed(&mut self, prefix: &str, line: &str) {
        self.out.push_str(if line.is_empty() { prefix.trim_end() } else { prefix });
        self.out.push_str(line);
        self.out.push_str(self.ending);
    }
}
