//! A text with elements that a caller goes on writing: what it means, and what is reported of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{header_len, merged};
use crate::*;

/// A text as a caller holds it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    there: Vec<Block>,
    /// What was taken out, to be put back.
    removed: Vec<Block>,
}

/// An element in a text: what the caller wrote, and what it stands for.
#[derive(Clone, Debug)]
struct Block {
    sent: String,
    stored: &'static str,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Write(Index, &'static str),
    Remove(Index),
    /// Puts back what was removed.
    Restore(Index),
    Swap(Index, Index),
    Read,
}

/// A first text of `blocks`, and what is done with it.
pub(super) fn writes(blocks: Vec<&'static str>) -> impl Strategy<Value = (Held, Vec<Step>)> {
    let written: Vec<_> = blocks.iter().copied().filter(|block| !block.contains("vault-block")).collect();
    let step = prop_oneof![
        3 => (any::<Index>(), select(written)).prop_map(|(at, block)| Step::Write(at, block)),
        4 => any::<Index>().prop_map(Step::Remove),
        3 => any::<Index>().prop_map(Step::Restore),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Step::Swap(one, other)),
        1 => Just(Step::Read),
    ];
    let block = select(blocks).prop_map(|stored| Block { sent: String::new(), stored });
    let first = prop::collection::vec(block, 1..6).prop_map(|there| Held { there, removed: vec![] });
    (first, prop::collection::vec(step, 1..8))
}

/// Writes what is held after each step. What was taken out may be refused when it is put back: it can be unknown, or another
/// of its equals go by that id.
pub(super) fn follow(mut held: Held, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut stored = held.stored();
    held.read(&stored);
    for step in steps {
        let before = held.clone();
        if !held.take(&step) {
            held.read(&stored);
            continue;
        }
        let sent = held.sent();
        let after = match merged(&stored, &sent) {
            Err(MergeError::UnknownBlock { .. } | MergeError::RepeatedBlock { .. })
                if matches!(step, Step::Restore(_)) =>
            {
                held = before;
                continue;
            }
            after => after,
        };
        prop_assert!(after.is_ok(), "{:?} of {} into {}", after, sent, stored);
        let after = after.unwrap();
        prop_assert_eq!(&after.text, &held.stored(), "{} into {}", sent, stored);
        check_dropped(&stored, &after)?;
        check_again(&stored, &sent, &after.text)?;
        stored = after.text;
    }
    Ok(())
}

impl Held {
    fn sent(&self) -> String {
        self.there.iter().map(|block| block.sent.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn stored(&self) -> String {
        self.there.iter().map(|block| block.stored).collect::<Vec<_>>().join("\n")
    }

    /// Takes the ids that the note is shown with.
    fn read(&mut self, stored: &str) {
        for (block, element) in self.there.iter_mut().zip(view(stored, &ViewOptions::default()).elements) {
            let alone = view(block.stored, &ViewOptions::default());
            block.sent = alone.text[header_len(block.stored)..].replace(&alone.elements[0].id, &element.id);
        }
    }

    /// Changes the text that is held; false for a step that reads it anew.
    fn take(&mut self, step: &Step) -> bool {
        let n_there = self.there.len();
        match step {
            Step::Write(at, stored) => {
                self.there.insert(at.index(n_there + 1), Block { sent: (*stored).to_owned(), stored });
            }
            Step::Remove(at) if n_there > 0 => self.removed.push(self.there.remove(at.index(n_there))),
            Step::Restore(at) if !self.removed.is_empty() => {
                self.there.push(self.removed.remove(at.index(self.removed.len())));
            }
            Step::Swap(one, other) if n_there > 0 => self.there.swap(one.index(n_there), other.index(n_there)),
            _ => return false,
        }
        true
    }
}

/// The text `sent`, by which `stored` became `after`, is accepted again and changes nothing.
pub(super) fn check_again(stored: &str, sent: &str, after: &str) -> Result<(), TestCaseError> {
    // New lines take the ending that most lines have, and in a file of both kinds those may be others now.
    prop_assume!(lines::uniform_endings(after) || lines::dominant_ending(stored) == lines::dominant_ending(after));
    let again = merged(after, sent);
    prop_assert!(again.is_ok(), "{:?}: {:?} into {:?}, before {:?}", again, sent, after, stored);
    let again = again.unwrap();
    prop_assert_eq!(&again.text, after, "{:?} into what was {:?}", sent, stored);
    prop_assert_eq!(again.dropped, [], "{:?} into what was {:?}", sent, stored);
    Ok(())
}

/// Equal elements in the text before and after, and how many were reported to be gone.
#[derive(Default)]
struct Count {
    before: usize,
    after: usize,
    reported: usize,
}

/// As many elements are reported as went, each by an id that it had.
pub(super) fn check_dropped(stored: &str, after: &Merged) -> Result<(), TestCaseError> {
    let mut counts = BTreeMap::<String, Count>::new();
    let own = |stored: &str, element: &Element| format!("{:?}", parse::own_bytes(stored, element));
    for element in &parse(stored).elements {
        let count = counts.entry(own(stored, element)).or_default();
        let is_reported = |block: &&DroppedBlock| block.id == element.id && block.label == element.label;
        count.before += 1;
        count.reported += after.dropped.iter().filter(is_reported).count();
    }
    for element in &parse(&after.text).elements {
        counts.entry(own(&after.text, element)).or_default().after += 1;
    }
    for (own, count) in counts {
        let gone = count.before.saturating_sub(count.after);
        prop_assert_eq!(gone, count.reported, "{} of {:?} in {:?}", own, stored, after);
    }
    Ok(())
}
