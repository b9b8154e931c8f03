//! The best few of many: what an answer holds, in its order.

use std::collections::BinaryHeap;

use vault_core::index::Rank;

/// Keeps the best `at_most` of what it is offered, after a given rank.
pub(crate) struct Best<'a, T> {
    at_most: usize,
    after: Option<&'a Rank>,
    /// The worst on top.
    kept: BinaryHeap<Placed<T>>,
}

struct Placed<T> {
    rank: Rank,
    what: T,
}

impl<'a, T> Best<'a, T> {
    pub(crate) fn new(at_most: usize, after: Option<&'a Rank>) -> Best<'a, T> {
        Best { at_most, after, kept: BinaryHeap::new() }
    }

    /// Tells whether something with this score may be among the best.
    pub(crate) fn may_take(&self, score: f32) -> bool {
        let full = self.kept.len() == self.at_most;
        self.after.is_none_or(|after| score <= after.score)
            && (!full || self.kept.peek().is_some_and(|worst| score >= worst.rank.score))
    }

    /// Returns the score that something must have at least to be among the best, as far as that is known.
    pub(crate) fn least(&self) -> f32 {
        let full = self.kept.len() == self.at_most;
        self.kept.peek().filter(|_| full).map_or(f32::NEG_INFINITY, |worst| worst.rank.score)
    }

    pub(crate) fn offer(&mut self, rank: Rank, what: T) {
        if self.after.is_some_and(|after| rank <= *after) {
            return;
        }
        self.kept.push(Placed { rank, what });
        if self.kept.len() > self.at_most {
            self.kept.pop();
        }
    }

    /// Returns what was kept, best first.
    pub(crate) fn into_sorted(self) -> impl Iterator<Item = (Rank, T)> {
        self.kept.into_sorted_vec().into_iter().map(|placed| (placed.rank, placed.what))
    }
}

impl<T> PartialEq for Placed<T> {
    fn eq(&self, other: &Placed<T>) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Placed<T> {}

impl<T> PartialOrd for Placed<T> {
    fn partial_cmp(&self, other: &Placed<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Placed<T> {
    fn cmp(&self, other: &Placed<T>) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}
