//! Answers that fit: how many rows of a list go into one answer, and where the next one begins.

use serde::Serialize;

use crate::limits::MAX_ANSWER_CHARS;

/// The part of a list that one answer holds.
pub(crate) struct Page<T> {
    /// The rows, in order.
    pub(crate) rows: Vec<T>,
    /// Whether rows were left out.
    pub(crate) truncated: bool,
}

/// Takes rows up to `limit` and up to the size of an answer. At least one row is taken when there is one.
pub(crate) fn page<T: Serialize>(rows: impl Iterator<Item = T>, limit: usize) -> Page<T> {
    let mut room = MAX_ANSWER_CHARS - ROOM_FOR_THE_REST;
    let mut taken = Vec::new();
    for row in rows {
        let size = size_of(&row);
        if taken.len() == limit || (size > room && !taken.is_empty()) {
            return Page { rows: taken, truncated: true };
        }
        room = room.saturating_sub(size);
        taken.push(row);
    }
    Page { rows: taken, truncated: false }
}

/// Returns the size of a row in an answer, in characters of JSON with its comma.
pub(crate) fn size_of(row: &impl Serialize) -> usize {
    serde_json::to_string(row).map_or(0, |json| json.chars().count() + 1)
}

/// For the answer's other fields, in characters.
const ROOM_FOR_THE_REST: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_what_fits_and_says_that_more_is_there() {
        let long = "x".repeat(10_000);
        let fits = page([&long, &long, &long].into_iter(), 10);
        assert_eq!((fits.rows.len(), fits.truncated), (2, true));
        let limited = page([1, 2, 3].into_iter(), 2);
        assert_eq!((limited.rows, limited.truncated), (vec![1, 2], true));
        let whole = page([1, 2].into_iter(), 2);
        assert!(!whole.truncated);
        let huge = "x".repeat(30_000);
        assert_eq!(page([&huge, &huge].into_iter(), 10).rows.len(), 1);
    }
}
