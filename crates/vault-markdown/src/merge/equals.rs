//! Which element of the note each place in a new body stands for.
//!
//! Equal elements are interchangeable. An id says which of the different elements is meant, not which of the equal ones:
//! those keep their order. So a text means the same before and after it was stored, although ids may be others then.

use std::collections::{HashMap, HashSet};

use super::MergeError;
use crate::parse;
use crate::view::Shown;

/// How a new body names an element.
pub(super) enum Mention<'b> {
    /// By a placeholder, inside a line or fenced.
    Placeholder { id: &'b str, inline: bool },
    /// By the element itself, which would have this [`parse::base_id`].
    Written { base: String },
}

/// The elements of a note in groups of equal ones. Elements are indices into [`Shown::elements`].
pub(super) struct Equals<'s> {
    shown: &'s Shown<'s>,
    groups: Vec<Vec<usize>>,
    by_base: HashMap<&'s str, usize>,
    by_id: HashMap<&'s str, usize>,
}

impl<'s> Equals<'s> {
    pub(super) fn of(shown: &'s Shown<'s>) -> Equals<'s> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut by_base = HashMap::new();
        let mut by_id = HashMap::new();
        for (index, element) in shown.elements.iter().enumerate() {
            let group = *by_base.entry(parse::base_of(&element.id)).or_insert(groups.len());
            groups.resize_with(groups.len().max(group + 1), Vec::new);
            groups[group].push(index);
            by_id.insert(element.id.as_str(), index);
        }
        Equals { shown, groups, by_base, by_id }
    }

    /// The element that is shown as `id`.
    pub(super) fn shown_as(&self, id: &str, inline: bool) -> Option<usize> {
        self.by_id.get(id).copied().filter(|element| self.shown.elements[*element].inline == inline)
    }

    /// The element for each mention, in the order of the body; none for an unknown id, and for one more than there are.
    pub(super) fn assign(&self, mentions: &[Mention]) -> Result<Vec<Option<usize>>, MergeError> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.groups.len()];
        let mut ids = HashSet::new();
        for (index, mention) in mentions.iter().enumerate() {
            let Some(group) = self.group_of(mention) else { continue };
            members[group].push(index);
            if let Mention::Placeholder { id, .. } = mention
                && !ids.insert(*id)
            {
                return Err(MergeError::RepeatedBlock { id: (*id).to_owned() });
            }
        }
        let mut assigned = vec![None; mentions.len()];
        let is_placeholder = |mention: usize| matches!(mentions[mention], Mention::Placeholder { .. });
        let is_named = |element: usize| ids.contains(self.shown.elements[element].id.as_str());
        for (elements, members) in self.groups.iter().zip(&members) {
            let members = choose(members, elements.len(), is_placeholder);
            let kept = choose(elements, members.len(), is_named);
            members.into_iter().zip(kept).for_each(|(mention, element)| assigned[mention] = Some(element));
        }
        Ok(assigned)
    }

    fn group_of(&self, mention: &Mention) -> Option<usize> {
        match mention {
            Mention::Placeholder { id, inline } => {
                let group = self.by_base.get(parse::base_of(id)).copied();
                group.filter(|group| self.shown.elements[self.groups[*group][0]].inline == *inline)
            }
            Mention::Written { base } => self.by_base.get(base.as_str()).copied(),
        }
    }
}

/// At most `n` of `all`, rather those that `is_first` than others, in the order they have.
fn choose(all: &[usize], n: usize, is_first: impl Fn(usize) -> bool) -> Vec<usize> {
    let (first, others): (Vec<usize>, Vec<usize>) = all.iter().partition(|one| is_first(**one));
    let mut chosen: Vec<usize> = first.into_iter().chain(others).take(n).collect();
    chosen.sort_unstable();
    chosen
}
