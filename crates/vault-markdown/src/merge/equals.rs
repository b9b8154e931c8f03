//! Which element of the note each place in a new body stands for.
//!
//! Equal elements are interchangeable. An id says which of the different elements is meant, not which of the equal ones:
//! those keep their order. So a text means the same before and after it was stored, although ids may be others then.

use std::collections::{HashMap, HashSet};

use super::MergeError;
use crate::parse::{self, OwnBytes};
use crate::view::Shown;

/// How a new body names an element.
#[derive(Clone, Copy)]
pub(super) enum Mention<'b> {
    /// By a placeholder, inside a line or fenced.
    Placeholder { id: &'b str, inline: bool },
    /// By the element itself, which may carry an id.
    Written { own: OwnBytes<'b>, id: Option<&'b str> },
}

/// The elements of a note in groups of equal ones. Elements are indices into [`Shown::elements`].
pub(super) struct Equals<'s> {
    shown: &'s Shown<'s>,
    groups: Vec<Vec<usize>>,
    group_of: Vec<usize>,
    by_bytes: HashMap<OwnBytes<'s>, usize>,
    by_id: HashMap<&'s str, usize>,
}

impl<'s> Equals<'s> {
    pub(super) fn of(shown: &'s Shown<'s>) -> Equals<'s> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut group_of = Vec::with_capacity(shown.elements.len());
        let mut by_bytes = HashMap::new();
        for (index, element) in shown.elements.iter().enumerate() {
            let group = *by_bytes.entry(parse::own_bytes(shown.stored, element)).or_insert(groups.len());
            groups.resize_with(groups.len().max(group + 1), Vec::new);
            groups[group].push(index);
            group_of.push(group);
        }
        let by_id = shown.elements.iter().enumerate().map(|(index, element)| (element.id.as_str(), index)).collect();
        Equals { shown, groups, group_of, by_bytes, by_id }
    }

    /// The element that is shown as `id`.
    pub(super) fn shown_as(&self, id: &str, inline: bool) -> Option<usize> {
        self.by_id.get(id).copied().filter(|element| self.shown.elements[*element].inline == inline)
    }

    /// The element for each mention, in the order of the body; none for an unknown id, and for one more than there are.
    pub(super) fn assign(&self, mentions: &[Mention]) -> Result<Vec<Option<usize>>, MergeError> {
        let mut sorted = Sorted::of(self, mentions);
        let mut possible = None;
        for (index, mention) in mentions.iter().enumerate() {
            if let (Mention::Placeholder { id, inline }, None) = (*mention, sorted.group_of[index]) {
                let possible = possible.get_or_insert_with(|| self.possible_ids());
                sorted.put(index, mention, self.formerly_shown_as(id, inline, possible, &sorted));
            }
        }
        check_ids(mentions, &sorted)?;
        Ok(self.in_order(mentions, &sorted))
    }

    /// The only group whose elements could go by `id`, and that has one without a mention, or none but one written out.
    fn formerly_shown_as(&self, id: &str, inline: bool, possible: &PossibleIds, sorted: &Sorted) -> Option<usize> {
        let keys = [Some(id), parse::unnumbered(id)].into_iter().flatten();
        let groups = keys.filter_map(|key| possible.get(key)).flatten().copied();
        let fitting = groups.filter(|group| self.shown.elements[self.groups[*group][0]].inline == inline);
        let with_room = only(fitting.clone().filter(|group| sorted.has_room(self, *group)));
        with_room.or_else(|| only(fitting.filter(|group| sorted.has_place(self, *group))))
    }

    fn possible_ids(&self) -> PossibleIds {
        let mut possible = PossibleIds::new();
        for (group, elements) in self.groups.iter().enumerate() {
            for id in parse::possible_ids(self.shown.stored, &self.shown.elements[elements[0]]) {
                possible.entry(parse::stem(&id).to_owned()).or_default().push(group);
                possible.entry(id).or_default().push(group);
            }
        }
        possible
    }

    /// Of each group those that were named, and others up to the number of mentions; all in the order they have.
    fn in_order(&self, mentions: &[Mention], sorted: &Sorted) -> Vec<Option<usize>> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.groups.len()];
        for (index, group) in sorted.group_of.iter().enumerate() {
            if let Some(group) = group {
                members[*group].push(index);
            }
        }
        let named: HashSet<usize> = mentions.iter().filter_map(|mention| self.named_by(mention)).collect();
        let mut assigned = vec![None; mentions.len()];
        for (elements, mut members) in self.groups.iter().zip(members) {
            let mut n_more = members.len().saturating_sub(elements.len());
            members.retain(|index| {
                let is_more = n_more > 0 && matches!(mentions[*index], Mention::Written { .. });
                n_more -= usize::from(is_more);
                !is_more
            });
            let mut n_others = members.len() - elements.iter().filter(|element| named.contains(*element)).count();
            let kept = elements.iter().filter(|element| {
                let is_other = n_others > 0 && !named.contains(*element);
                n_others -= usize::from(is_other);
                is_other || named.contains(*element)
            });
            for (index, element) in members.into_iter().zip(kept) {
                assigned[index] = Some(*element);
            }
        }
        assigned
    }

    fn named_by(&self, mention: &Mention) -> Option<usize> {
        match mention {
            Mention::Placeholder { id, inline } => self.shown_as(id, *inline),
            Mention::Written { .. } => None,
        }
    }
}

/// The groups by the ids that their elements could go by, numbers taken off.
type PossibleIds = HashMap<String, Vec<usize>>;

/// The group that all of `groups` are.
fn only(mut groups: impl Iterator<Item = usize>) -> Option<usize> {
    let first = groups.next()?;
    groups.all(|other| other == first).then_some(first)
}

/// No two placeholders may have the same id, nor may another element that is written out carry it: once stored, nobody
/// could tell what the id stands for.
fn check_ids(mentions: &[Mention], sorted: &Sorted) -> Result<(), MergeError> {
    let twice = |id: &str| Err(MergeError::UnknownBlock { id: id.to_owned(), twice: true });
    let mut group_of_id = HashMap::new();
    for (mention, group) in mentions.iter().zip(&sorted.group_of) {
        if let (Mention::Placeholder { id, .. }, Some(_)) = (mention, group)
            && group_of_id.insert(*id, *group).is_some()
        {
            return twice(id);
        }
    }
    for (mention, group) in mentions.iter().zip(&sorted.group_of) {
        if let Mention::Written { id: Some(id), .. } = mention
            && group_of_id.get(id).is_some_and(|named| named != group)
        {
            return twice(id);
        }
    }
    Ok(())
}

/// The group of each mention, and how many mentions of either kind each group has.
struct Sorted {
    group_of: Vec<Option<usize>>,
    n_named: Vec<usize>,
    n_written: Vec<usize>,
}

impl Sorted {
    /// Sorts what is shown in the note, and what is written out.
    fn of(equals: &Equals, mentions: &[Mention]) -> Sorted {
        let none = vec![0; equals.groups.len()];
        let mut sorted = Sorted { group_of: vec![None; mentions.len()], n_named: none.clone(), n_written: none };
        for (index, mention) in mentions.iter().enumerate() {
            let group = match mention {
                Mention::Placeholder { .. } => equals.named_by(mention).map(|element| equals.group_of[element]),
                Mention::Written { own, .. } => equals.by_bytes.get(own).copied(),
            };
            sorted.put(index, mention, group);
        }
        sorted
    }

    fn put(&mut self, index: usize, mention: &Mention, group: Option<usize>) {
        self.group_of[index] = group;
        let counts = if matches!(mention, Mention::Written { .. }) { &mut self.n_written } else { &mut self.n_named };
        group.into_iter().for_each(|group| counts[group] += 1);
    }

    /// Whether a placeholder may stand for one more of `group`, if not all are written out.
    fn has_place(&self, equals: &Equals, group: usize) -> bool {
        self.n_named[group] < equals.groups[group].len()
    }

    /// Whether one of `group` has no mention.
    fn has_room(&self, equals: &Equals, group: usize) -> bool {
        self.n_named[group] + self.n_written[group] < equals.groups[group].len()
    }
}
