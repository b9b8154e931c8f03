//! The placeholders in a new body: which element each stands for, and which elements are gone.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{DroppedBlock, MergeError};
use crate::document::{Document, Element};
use crate::parse::{self, DEFAULT_KINDS};
use crate::view::{Placeholder, Shown, ViewOptions};

const INLINE_PREFIX: &str = "vault-block:";

/// What stands for an element in the new body. Indices are into [`Shown::elements`].
#[derive(Default)]
pub(crate) struct Placeholders {
    /// Fenced ones, by the byte where their first line starts.
    pub(super) blocks: HashMap<usize, BlockPlaceholder>,
    /// Destinations of inline ones, in order, each with its element.
    pub(super) inline: Vec<(Range<usize>, usize)>,
    used: HashSet<usize>,
}

pub(super) struct BlockPlaceholder {
    pub(super) element: usize,
    /// End of its last line, line end included.
    pub(super) end: usize,
    pub(super) opening_prefix: String,
    pub(super) closing_prefix: String,
}

impl Placeholders {
    pub(crate) fn find(shown: &Shown, body: &str, options: &ViewOptions) -> Result<Placeholders, MergeError> {
        let mut found = Placeholders::default();
        if options.expand_blocks || !body.contains(DEFAULT_KINDS[0]) {
            return Ok(found);
        }
        let known = known_ids(shown);
        let document = parse::body(body, 0, &DEFAULT_KINDS[..1]);
        if let Some(id) = document.open_blocks.iter().find(|id| known.contains_key(id.as_str())) {
            return Err(MergeError::UnclosedBlock { id: id.clone() });
        }
        found.blocks(shown, body, &document, &known, options)?;
        found.inline(shown, body, &document, &known)?;
        found.inline.sort_by_key(|(destination, _)| destination.start);
        Ok(found)
    }

    fn blocks(
        &mut self,
        shown: &Shown,
        body: &str,
        document: &Document,
        known: &HashMap<String, usize>,
        options: &ViewOptions,
    ) -> Result<(), MergeError> {
        let is_element = options.kinds.iter().any(|kind| kind == DEFAULT_KINDS[0]);
        for fence in document.elements.iter().filter(|element| !element.inline) {
            let id = fence.own_id.as_deref().unwrap_or_default();
            match known.get(id).filter(|element| !shown.elements[**element].inline) {
                Some(element) => {
                    self.take(id, *element)?;
                    check_unedited(body, fence, &shown.elements[*element])?;
                    let line_start = body[..fence.span.start].rfind('\n').map_or(0, |newline| newline + 1);
                    self.blocks.insert(line_start, BlockPlaceholder::of(body, fence, *element));
                }
                None if is_element => return Err(unknown(id)),
                None => {}
            }
        }
        Ok(())
    }

    fn inline(
        &mut self,
        shown: &Shown,
        body: &str,
        document: &Document,
        known: &HashMap<String, usize>,
    ) -> Result<(), MergeError> {
        for link in &document.links {
            let destination = link.destination.clone();
            let is_image = body[link.span.clone()].starts_with("![");
            let Some(id) = body[destination.clone()].strip_prefix(INLINE_PREFIX).filter(|_| is_image) else { continue };
            match known.get(id).filter(|element| shown.elements[**element].inline) {
                Some(element) => {
                    self.take(id, *element)?;
                    self.inline.push((destination, *element));
                }
                None if shown.stored.contains(&body[destination]) => {}
                None => return Err(unknown(id)),
            }
        }
        Ok(())
    }

    fn take(&mut self, id: &str, element: usize) -> Result<(), MergeError> {
        if self.used.insert(element) {
            return Ok(());
        }
        Err(MergeError::UnknownBlock { id: id.to_owned(), twice: true })
    }

    /// Ids of the elements that are still there, in stored order.
    pub(super) fn kept(&self, shown: &Shown) -> Vec<String> {
        self.used(shown).map(|element| element.id.clone()).collect()
    }

    fn used<'s>(&'s self, shown: &'s Shown) -> impl Iterator<Item = &'s Element> {
        let used = shown.elements.iter().enumerate().filter(|(index, _)| self.used.contains(index));
        used.map(|(_, element)| element)
    }

    pub(super) fn dropped(&self, shown: &Shown) -> Vec<DroppedBlock> {
        let gone = shown.elements.iter().enumerate().filter(|(index, _)| !self.used.contains(index));
        gone.map(|(_, element)| DroppedBlock { id: element.id.clone(), label: element.label.clone() }).collect()
    }

    /// Checks that every element that was kept reads as it did, wherever it stands now.
    pub(super) fn check_contents(&self, shown: &Shown, body: &str, options: &ViewOptions) -> Result<(), MergeError> {
        if self.used.is_empty() {
            return Ok(());
        }
        let document = parse::body(body, 0, &options.kinds);
        let mut found: HashMap<(bool, &str), usize> = HashMap::new();
        for element in &document.elements {
            *found.entry((element.inline, &element.content)).or_default() += 1;
        }
        for element in self.used(shown) {
            match found.get_mut(&(element.inline, element.content.as_str())) {
                Some(n_left) if *n_left > 0 => *n_left -= 1,
                _ => return Err(MergeError::Unmovable { id: element.id.clone() }),
            }
        }
        Ok(())
    }
}

/// The elements by the ids that callers may hold: the shown ones, and those of elements whose namesakes are gone.
fn known_ids(shown: &Shown) -> HashMap<String, usize> {
    let mut held: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, element) in shown.elements.iter().enumerate() {
        if let Some(id) = parse::id_among_equals(shown.stored, element) {
            held.entry(id).or_default().push(index);
        }
    }
    let unique =
        held.into_iter().filter_map(|(id, elements)| Some((id, *elements.first().filter(|_| elements.len() == 1)?)));
    let mut known: HashMap<String, usize> = unique.collect();
    known.extend(shown.elements.iter().enumerate().map(|(index, element)| (element.id.clone(), index)));
    known
}

/// Text that somebody wrote into a placeholder, or behind its kind, would be lost without a word.
fn check_unedited(body: &str, fence: &Element, element: &Element) -> Result<(), MergeError> {
    let inner = fence.content.trim();
    let opening = &body[fence.span.start..fence.inner.start];
    let info = opening.trim_start_matches(['`', '~']).split_whitespace();
    let is_as_shown = (inner.is_empty() || inner == element.label.trim())
        && fence.kind == element.kind
        && info.count() == SHOWN_INFO_WORDS;
    if is_as_shown { Ok(()) } else { Err(MergeError::EditedBlock { id: element.id.clone() }) }
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
    MergeError::UnknownBlock { id: id.to_owned(), twice: false }
}
