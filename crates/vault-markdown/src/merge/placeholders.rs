//! The placeholders in a new body: which element each stands for, and which elements are gone.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::str::SplitWhitespace;

use super::equals::{Equals, Mention};
use super::{DroppedBlock, MergeError};
use crate::document::{Document, Element};
use crate::lines;
use crate::parse::{self, DEFAULT_KINDS};
use crate::view::{Placeholder, Shown, ViewOptions, may_hold_elements};

/// What stands for an element in the new body. Indices are into [`Shown::elements`].
#[derive(Default)]
pub(crate) struct Placeholders {
    /// Fenced ones, and what is written out as it is stored, by the byte where their first line starts.
    pub(super) blocks: HashMap<usize, BlockPlaceholder>,
    /// Destinations of inline ones, placeholders or not, in order, each with its element.
    pub(super) inline: Vec<(Range<usize>, usize)>,
    /// Elements that the new body has, by placeholder or written out.
    kept: HashSet<usize>,
    /// What is written out besides, inline or not, and its content.
    written: Vec<(bool, String)>,
}

pub(super) struct BlockPlaceholder {
    pub(super) element: usize,
    /// End of its last line, line end included.
    pub(super) end: usize,
    pub(super) opening_prefix: String,
    pub(super) closing_prefix: String,
}

/// A place in the new body where an element stands.
enum Place<'b> {
    /// A fenced placeholder.
    Fence(&'b Element),
    /// An inline placeholder: its id and the destination that holds it.
    Image(&'b str, Range<usize>),
    /// The element itself.
    Written(&'b Element),
}

impl Placeholders {
    pub(crate) fn find(shown: &Shown, body: &str, options: &ViewOptions) -> Result<Placeholders, MergeError> {
        let mut found = Placeholders::default();
        let mut kinds: Vec<&str> = options.kinds.iter().map(String::as_str).collect();
        // Else a fence of that kind is a placeholder only under an id that is shown.
        let shows_blocks = kinds.contains(&DEFAULT_KINDS[0]);
        kinds.extend((!shows_blocks).then_some(DEFAULT_KINDS[0]));
        let has_any = !shown.elements.is_empty() || body.contains(DEFAULT_KINDS[0]);
        if options.expand_blocks || !has_any || !may_hold_elements(body, &kinds) {
            return Ok(found);
        }
        let document = parse::body(body, 0, &kinds);
        let equals = Equals::of(shown);
        check_closed(shown, &document, |id| shows_blocks || equals.shown_as(id, false).is_some())?;
        let places = places(shown, body, &document);
        let mentions: Vec<Mention> = places.iter().map(|place| place.mention(body)).collect();
        for (place, element) in places.into_iter().zip(equals.assign(&mentions)?) {
            found.kept.extend(element);
            match (place, element) {
                (Place::Fence(fence), Some(element)) => found.block(shown, body, fence, element)?,
                (Place::Fence(fence), None) if shows_blocks => return Err(unknown(own_id(fence))),
                (Place::Image(_, destination), Some(element)) => found.inline.push((destination, element)),
                (Place::Image(id, _), None) => return Err(unknown(id)),
                (Place::Written(written), Some(element)) => found.keep_written(shown, body, written, element),
                (Place::Written(written), None) => found.written.push((written.inline, written.content.clone())),
                (Place::Fence(_), None) => {}
            }
        }
        Ok(found)
    }

    fn block(&mut self, shown: &Shown, body: &str, fence: &Element, element: usize) -> Result<(), MergeError> {
        check_unedited(body, fence, &shown.elements[element])?;
        self.insert(body, fence, element);
        Ok(())
    }

    /// An element that is written out as it is stored keeps its bytes, like any line.
    fn keep_written(&mut self, shown: &Shown, body: &str, written: &Element, element: usize) {
        let of_stored = &shown.elements[element];
        if written.inline {
            self.inline.push((written.inner.clone(), element));
        } else if lines::to_lf(lines_of(shown.stored, of_stored)) == lines_of(body, written) {
            self.insert(body, written, element);
        }
    }

    fn insert(&mut self, body: &str, fence: &Element, element: usize) {
        self.blocks
            .insert(lines::line_around(body, fence.span.start).start, BlockPlaceholder::of(body, fence, element));
    }

    pub(super) fn dropped(&self, shown: &Shown) -> Vec<DroppedBlock> {
        let gone = shown.elements.iter().enumerate().filter(|(index, _)| !self.kept.contains(index));
        gone.map(|(_, element)| DroppedBlock { id: element.id.clone(), label: element.label.clone() }).collect()
    }

    /// Checks that every element that was kept reads as it did, wherever it stands now.
    pub(super) fn check_contents(&self, shown: &Shown, body: &str, options: &ViewOptions) -> Result<(), MergeError> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let document = parse::body(body, 0, &options.kinds);
        let mut found: HashMap<(bool, &str), usize> = HashMap::new();
        for element in &document.elements {
            *found.entry((element.inline, &element.content)).or_default() += 1;
        }
        // What is written out besides stands for itself, never for one that was kept.
        for (inline, content) in &self.written {
            if let Some(n_left) = found.get_mut(&(*inline, content.as_str())) {
                *n_left = n_left.saturating_sub(1);
            }
        }
        for (_, element) in shown.elements.iter().enumerate().filter(|(index, _)| self.kept.contains(index)) {
            match found.get_mut(&(element.inline, element.content.as_str())) {
                Some(n_left) if *n_left > 0 => *n_left -= 1,
                _ => return Err(MergeError::Unmovable { id: element.id.clone() }),
            }
        }
        Ok(())
    }
}

/// A fence that never ends would take the rest of the text along. One that the note has already is text.
fn check_closed(shown: &Shown, document: &Document, is_placeholder: impl Fn(&str) -> bool) -> Result<(), MergeError> {
    let mut unclosed = document.open_blocks.iter().filter(|id| is_placeholder(id));
    match unclosed.find(|id| !shown.open_blocks.contains(id)) {
        Some(id) => Err(MergeError::UnclosedBlock { id: id.clone() }),
        None => Ok(()),
    }
}

/// The places in the order of the body.
fn places<'b>(shown: &Shown, body: &'b str, document: &'b Document) -> Vec<Place<'b>> {
    let elements = document.elements.iter().map(|element| match info(body, element).next() {
        Some(word) if !element.inline && word == DEFAULT_KINDS[0] => Place::Fence(element),
        _ => Place::Written(element),
    });
    let images = parse::inline_placeholders(body, &document.links).filter(|(id, _)| !shown.literals.contains(*id));
    let mut places: Vec<Place> =
        elements.chain(images.map(|(id, destination)| Place::Image(id, destination))).collect();
    places.sort_by_key(|place| match place {
        Place::Fence(element) | Place::Written(element) => element.inner.start,
        Place::Image(_, destination) => destination.start,
    });
    places
}

impl<'b> Place<'b> {
    fn mention(&self, body: &'b str) -> Mention<'b> {
        match self {
            Place::Fence(fence) => Mention::Placeholder { id: own_id(fence), inline: false },
            Place::Image(id, _) => Mention::Placeholder { id, inline: true },
            Place::Written(element) => Mention::Written { base: parse::base_id(body, element) },
        }
    }
}

/// The lines that a fence stands in, without the last line end.
fn lines_of<'t>(text: &'t str, fence: &Element) -> &'t str {
    let first = lines::line_around(text, fence.span.start).start.max(lines::bom_len(text));
    let lines = &text[first..lines::line_around(text, fence.span.end).end];
    lines.strip_suffix('\r').unwrap_or(lines)
}

fn own_id(fence: &Element) -> &str {
    fence.own_id.as_deref().unwrap_or_default()
}

/// Text that somebody wrote into a placeholder, or behind its kind, would be lost without a word.
fn check_unedited(body: &str, fence: &Element, element: &Element) -> Result<(), MergeError> {
    let inner = fence.content.trim();
    let is_as_shown = (inner.is_empty() || inner == element.label.trim())
        && fence.kind == element.kind
        && info(body, fence).count() == SHOWN_INFO_WORDS;
    if is_as_shown { Ok(()) } else { Err(MergeError::EditedBlock { id: own_id(fence).to_owned() }) }
}

/// The words behind the opening fence.
fn info<'b>(body: &'b str, fence: &Element) -> SplitWhitespace<'b> {
    body[fence.span.start..fence.inner.start].trim_start_matches(['`', '~']).split_whitespace()
}

/// `vault-block`, `id=…` and `kind=…`.
const SHOWN_INFO_WORDS: usize = 3;

impl BlockPlaceholder {
    fn of(body: &str, fence: &Element, element: usize) -> BlockPlaceholder {
        let parts = Placeholder::of(body, fence);
        let end = body[fence.span.end..].find('\n').map_or(body.len(), |newline| fence.span.end + newline + 1);
        BlockPlaceholder {
            element,
            end,
            opening_prefix: parts.opening_prefix.to_owned(),
            closing_prefix: parts.closing_prefix.to_owned(),
        }
    }
}

fn unknown(id: &str) -> MergeError {
    MergeError::UnknownBlock { id: id.to_owned() }
}
