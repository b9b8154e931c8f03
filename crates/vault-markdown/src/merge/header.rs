//! Merging frontmatter: entry by entry, by key and occurrence.
//!
//! Own keys follow the order of the new block. Managed keys, and `type`, which the view moves to the front, go where
//! they were: after the key that preceded them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::MergeError;
use crate::align::align;
use crate::frontmatter::{self, Frontmatter, FrontmatterState};
use crate::lines;
use crate::view::{DEFAULT_TYPE_LINE, Shown, is_managed};

/// The block to store, and where the body of the new text starts.
pub(super) struct Header {
    pub(super) block: String,
    pub(super) body_start: usize,
    pub(super) ignored_keys: Vec<String>,
}

pub(super) fn merge(shown: &Shown, new: &str, ending: &str) -> Result<Header, MergeError> {
    if let Some(header) = kept(shown, new, ending) {
        return Ok(header);
    }
    let Some(block) = frontmatter::readable(new)? else { return without_block(shown, new) };
    let body_start = block.span.end;
    let (block, ignored_keys) = match &shown.frontmatter {
        Some(old) if old.problem().is_some() => (replaced(shown, new, &block, ending), Vec::new()),
        old => {
            let endings = LineEndings::of(shown, new, &block, ending);
            let shown_block = &shown.view.text[..shown.header_len];
            Merge { stored: shown.stored, shown_block, old: old.as_ref(), new, block: &block, endings }.run()
        }
    };
    Ok(Header { block, body_start, ignored_keys })
}

fn header(block: &str, body_start: usize) -> Header {
    Header { block: block.to_owned(), body_start, ignored_keys: Vec::new() }
}

/// A text without a block keeps the stored one, unless it begins with what looks like a damaged block: then nobody can
/// tell what of it is text.
fn without_block(shown: &Shown, new: &str) -> Result<Header, MergeError> {
    let (shown_block, shown_body) = shown.view.text.split_at(shown.header_len);
    let begins_like =
        |text: &str| new.lines().zip(text.lines()).take(2).filter(|(line, shown)| line == shown).count() == 2;
    if begins_like(shown_block) {
        return Err(MergeError::InvalidFrontmatter { line: 1, message: "the block is not closed by `---`".to_owned() });
    }
    let has_keys = || frontmatter::top_lines(new).any(|(_, line)| frontmatter::is_key_line(line));
    let line = if begins_like(shown_body) {
        line_of_block(shown_block, shown_body, new)
    } else if frontmatter::has_fences(new) || (frontmatter::begins_with_fence(new) && has_keys()) {
        Some(frontmatter::odd_line(new))
    } else {
        line_of_block(shown_block, shown_body, new)
    };
    match line {
        Some(line) => Err(MergeError::InvalidFrontmatter { line, message: frontmatter::BLOCK_RULE.to_owned() }),
        None => Ok(header(shown.stored_block(), 0)),
    }
}

/// The first line at the top of `new` that is a key of the shown block, and did not begin the shown body too.
fn line_of_block(shown_block: &str, shown_body: &str, new: &str) -> Option<usize> {
    let keys: HashSet<&str> = shown_block.lines().filter(|line| frontmatter::is_key_line(line)).collect();
    let body: HashSet<&str> = frontmatter::top_lines(shown_body).map(|(_, line)| line).collect();
    let is_key = |line: &str| keys.contains(line) && !body.contains(line);
    frontmatter::top_lines(new).find(|(_, line)| is_key(line)).map(|(number, _)| number)
}

/// The stored block when the new text begins with what the view shows of it. Only its last line end may be new or gone.
fn kept(shown: &Shown, new: &str, ending: &str) -> Option<Header> {
    let shown_block = &shown.view.text[..shown.header_len];
    let rest = new.strip_prefix(shown_block.strip_suffix('\n').unwrap_or(shown_block))?;
    let stored = shown.stored_block();
    match (rest.starts_with('\n'), shown_block.ends_with('\n')) {
        (true, true) => Some(header(stored, shown.header_len)),
        (true, false) => Some(header(&format!("{stored}{ending}"), shown.header_len + 1)),
        (false, _) if rest.is_empty() => Some(header(
            stored.strip_suffix('\n').map_or(stored, |line| line.strip_suffix('\r').unwrap_or(line)),
            new.len(),
        )),
        (false, _) => None,
    }
}

/// A block that could not be read is replaced whole, managed keys included: the caller saw it raw. Lines that are still
/// there keep their bytes.
fn replaced(shown: &Shown, new: &str, block: &Frontmatter, ending: &str) -> String {
    let had_default_type = shown.stored_block().lines().any(|line| line == DEFAULT_TYPE_LINE.trim_end());
    let kept = LineEndings::of(shown, new, block, ending);
    let is_stored = |line: &Range<usize>| had_default_type || new[line.clone()] != *DEFAULT_TYPE_LINE;
    let stored: Vec<Range<usize>> = lines::line_ranges(new, block.span.clone()).filter(is_stored).collect();
    if stored.len() == FENCES {
        return String::new();
    }
    stored.into_iter().map(|line| kept.with_endings(line)).collect()
}

/// Lines of a block that are not its content.
const FENCES: usize = 2;

/// The line end of each line of a new block: its own where the shown block has that line too, or one that it replaces.
struct LineEndings<'a> {
    new: &'a str,
    /// Start of each line in `new`, and its line end.
    lines: Vec<(usize, &'a str)>,
}

impl<'a> LineEndings<'a> {
    fn of(shown: &Shown, new: &'a str, block: &Frontmatter, ending: &'a str) -> LineEndings<'a> {
        let ranges: Vec<Range<usize>> = lines::line_ranges(new, block.span.clone()).collect();
        if lines::uniform_endings(shown.stored) {
            return LineEndings { new, lines: ranges.iter().map(|range| (range.start, ending)).collect() };
        }
        let new_lines: Vec<&str> = ranges.iter().map(|range| &new[range.clone()]).collect();
        let shown_lines: Vec<&str> = shown.view.text[..shown.header_len].split_inclusive('\n').collect();
        let origins = align(&shown_lines, &new_lines);
        let raw_lines: Vec<&str> = shown.stored_block().split_inclusive('\n').collect();
        let own_ending = |shown_line: usize| {
            let raw = raw_lines[shown.view.file_line(shown_line + 1)? - 1];
            Some(if raw.ends_with("\r\n") { "\r\n" } else { "\n" })
        };
        let kept: HashSet<usize> = origins.iter().flatten().copied().collect();
        let mut next = 0;
        let endings = origins.into_iter().map(|origin| {
            let replaced = Some(next).filter(|line| *line < shown_lines.len() && !kept.contains(line));
            let line = origin.or(replaced);
            next = line.map_or(next, |line| line + 1);
            line.and_then(own_ending).unwrap_or(ending)
        });
        LineEndings { new, lines: ranges.iter().map(|range| range.start).zip(endings).collect() }
    }

    /// The lines of the new block that `range` covers, as they are to be stored.
    fn with_endings(&self, range: Range<usize>) -> String {
        let first = self.lines.partition_point(|(start, _)| *start < range.start);
        let mut out = String::with_capacity(range.len());
        for (line, (_, ending)) in lines::line_ranges(self.new, range).zip(&self.lines[first..]) {
            lines::push_line(&mut out, &self.new[line], ending);
        }
        out
    }
}

struct Merge<'a> {
    stored: &'a str,
    shown_block: &'a str,
    old: Option<&'a Frontmatter>,
    new: &'a str,
    block: &'a Frontmatter,
    endings: LineEndings<'a>,
}

/// An entry of the new block: its bytes, and what it is.
struct Own<'a> {
    bytes: Cow<'a, str>,
    is: Is,
}

#[derive(Clone, Copy)]
enum Is {
    /// The stored entry of that index.
    Stored(usize),
    /// A key that the stored block has not.
    New,
    /// Comments without a key of their own.
    Comments,
}

impl<'a> Merge<'a> {
    fn run(&self) -> (String, Vec<String>) {
        let (own, types, ignored_keys) = self.new_entries();
        let mut inner: Vec<Cow<'a, str>> = vec![self.edge(|block| block.head.clone())];
        inner.extend(self.ordered(own, types));
        inner.push(self.edge(|block| block.tail.clone()));
        let was_empty = self.old.is_some_and(|old| old.state == FrontmatterState::Empty);
        if inner.iter().all(|piece| piece.is_empty()) && !was_empty {
            return (String::new(), ignored_keys);
        }
        let open = self.edge(|block| block.span.start..block.yaml.start);
        let close = self.edge(|block| block.yaml.end..block.span.end);
        (std::iter::once(open).chain(inner).chain([close]).collect(), ignored_keys)
    }

    /// The own entries of the new block, the stored `type` entries by their index, and the managed keys.
    fn new_entries(&self) -> (Vec<Own<'a>>, HashMap<usize, Cow<'a, str>>, Vec<String>) {
        let known = self.old_entries();
        let had_type = known.contains_key(&("type", 0));
        let mut occurrences: HashMap<&str, usize> = HashMap::new();
        let (mut own, mut types, mut ignored_keys) = (Vec::new(), HashMap::new(), Vec::new());
        for entry in &self.block.entries {
            if is_managed(&entry.key) {
                if !ignored_keys.contains(&entry.key) {
                    ignored_keys.push(entry.key.clone());
                }
                own.extend(self.shown_comments(entry.span.start..entry.content.start));
                continue;
            }
            let occurrence = occurrences.entry(&entry.key).or_default();
            let old = known.get(&(entry.key.as_str(), *occurrence)).copied();
            *occurrence += 1;
            match old {
                Some(index) if entry.key == "type" => {
                    types.insert(index, self.bytes(Some(self.old_entry(index)), entry.span.clone()));
                }
                Some(index) => {
                    let bytes = self.bytes(Some(self.old_entry(index)), entry.span.clone());
                    own.push(Own { bytes, is: Is::Stored(index) })
                }
                None if !had_type && self.new[entry.content.clone()] == *DEFAULT_TYPE_LINE => {
                    own.extend(self.comments_of_default_type(entry.span.clone()));
                }
                None => own.push(Own { bytes: self.bytes(None, entry.span.clone()), is: Is::New }),
            }
        }
        (own, types, ignored_keys)
    }

    /// The line that only the view adds is never stored; comments that were written around it are.
    fn comments_of_default_type(&self, span: Range<usize>) -> Option<Own<'a>> {
        let line = span.start + self.new[span.clone()].find(DEFAULT_TYPE_LINE)?;
        let around = [span.start..line, line + DEFAULT_TYPE_LINE.len()..span.end];
        let rest: String = around.into_iter().map(|range| self.endings.with_endings(range)).collect();
        rest.contains('#').then_some(Own { bytes: Cow::Owned(rest), is: Is::Comments })
    }

    /// Comments above a key that is ignored do not go with it when the caller had been shown them.
    fn shown_comments(&self, above: Range<usize>) -> Option<Own<'a>> {
        let is_comment = |line: &&str| line.trim_start().starts_with('#');
        let shown: HashSet<&str> = self.shown_block.lines().filter(is_comment).collect();
        let has_shown = self.new[above.clone()].lines().any(|line| shown.contains(line));
        has_shown.then(|| Own { bytes: Cow::Owned(self.endings.with_endings(above)), is: Is::Comments })
    }

    /// The stored entries that callers see, by key and occurrence.
    fn old_entries(&self) -> HashMap<(&'a str, usize), usize> {
        let mut occurrences: HashMap<&str, usize> = HashMap::new();
        let mut known = HashMap::new();
        let entries = self.old.map_or(&[][..], |old| &old.entries);
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| !is_managed(&entry.key)) {
            let occurrence = occurrences.entry(&entry.key).or_default();
            known.insert((entry.key.as_str(), *occurrence), index);
            *occurrence += 1;
        }
        known
    }

    fn old_entry(&self, index: usize) -> Range<usize> {
        self.old.map_or(0..0, |old| old.entries[index].span.clone())
    }

    /// The own entries in their new order, each followed by the anchored ones that followed it.
    fn ordered(&self, own: Vec<Own<'a>>, mut types: HashMap<usize, Cow<'a, str>>) -> Vec<Cow<'a, str>> {
        let places = self.places(&own);
        let mut front = Vec::new();
        let mut followers: Vec<Vec<Cow<'a, str>>> = own.iter().map(|_| Vec::new()).collect();
        let mut anchor = None;
        for (index, entry) in self.old.map_or(&[][..], |old| &old.entries).iter().enumerate() {
            let anchored = if is_managed(&entry.key) {
                Some(Cow::Borrowed(&self.stored[entry.span.clone()]))
            } else {
                types.remove(&index)
            };
            if let Some(bytes) = anchored {
                anchor.map_or(&mut front, |place: usize| &mut followers[place]).push(bytes);
            } else if let Some(place) = places.get(&index) {
                anchor = Some(*place);
            }
        }
        let placed = own.into_iter().zip(followers);
        front.extend(placed.flat_map(|(entry, followers)| std::iter::once(entry.bytes).chain(followers)));
        front
    }

    /// Where the stored own entries are in the new order. A new entry stands for the one that was there and is gone.
    fn places(&self, own: &[Own]) -> HashMap<usize, usize> {
        let mut places = HashMap::new();
        for (place, entry) in own.iter().enumerate() {
            if let Is::Stored(index) = entry.is {
                places.insert(index, place);
            }
        }
        let entries = self.old.map_or(&[][..], |old| &old.entries).iter().enumerate();
        let is_own = |key: &str| !is_managed(key) && key != "type";
        let old: Vec<usize> = entries.filter(|(_, entry)| is_own(&entry.key)).map(|(index, _)| index).collect();
        let mut next = 0;
        for (place, entry) in own.iter().enumerate() {
            match entry.is {
                Is::Stored(index) => next = old.partition_point(|known| *known <= index),
                Is::New => {
                    if let Some(gone) = old.get(next).filter(|index| !places.contains_key(*index)) {
                        places.insert(*gone, place);
                        next += 1;
                    }
                }
                Is::Comments => {}
            }
        }
        places
    }

    /// A part of the block that is no entry: a fence, the head, the tail.
    fn edge(&self, part: impl Fn(&Frontmatter) -> Range<usize>) -> Cow<'a, str> {
        self.bytes(self.old.map(&part), part(self.block))
    }

    /// The stored bytes when they read as `new`, else `new` line by line.
    fn bytes(&self, old: Option<Range<usize>>, new: Range<usize>) -> Cow<'a, str> {
        match old {
            Some(old) if lines::to_lf(&self.stored[old.clone()]) == self.new[new.clone()] => {
                Cow::Borrowed(&self.stored[old])
            }
            _ => Cow::Owned(self.endings.with_endings(new)),
        }
    }
}
