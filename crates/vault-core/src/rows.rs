//! Answers that fit: how many rows of a list go into one answer, and where the next one begins.

use serde::Serialize;

use crate::limits::MAX_ROW_TAGS_CHARS;

/// The part of a list that one answer holds.
pub(crate) struct Page<T> {
    /// The rows, in order.
    pub(crate) rows: Vec<T>,
    /// Whether rows were left out.
    pub(crate) truncated: bool,
}

/// A row of a list.
pub(crate) trait Row: Serialize {
    /// What `next` is when this row is the last one of an answer; empty where an answer does not go on.
    fn cursor(&self) -> String {
        String::new()
    }
}

impl<T: Row> Row for &T {
    fn cursor(&self) -> String {
        (*self).cursor()
    }
}

/// Takes rows up to `limit` and up to an answer of `max_chars`. At least one row is taken when there is one.
pub(crate) fn page<T: Row>(rows: impl Iterator<Item = T>, limit: usize, max_chars: usize) -> Page<T> {
    let mut room = max_chars.saturating_sub(ROOM_FOR_THE_REST);
    let mut taken: Vec<T> = Vec::new();
    for row in rows {
        let size = size_of(&row);
        if taken.len() == limit || (size + size_of(&row.cursor()) > room && !taken.is_empty()) {
            return Page { rows: taken, truncated: true };
        }
        room = room.saturating_sub(size);
        taken.push(row);
    }
    Page { rows: taken, truncated: false }
}

impl<T: Row> Page<T> {
    /// What `after` must be for the rows that follow, when there are any.
    pub(crate) fn next(&self) -> Option<String> {
        self.rows.last().filter(|_| self.truncated).map(Row::cursor)
    }
}

/// A row is a row, whatever somebody wrote into the frontmatter: the note itself has all of it.
pub(crate) fn first_tags(tags: &[String]) -> Vec<String> {
    let mut room = MAX_ROW_TAGS_CHARS;
    let fits = |tag: &&String| {
        let size = tag.chars().count();
        let fits = size <= room;
        room = room.saturating_sub(size + 3);
        fits
    };
    tags.iter().take_while(fits).cloned().collect()
}

/// Writes the option that asks for the rows from `next` on, as a shell reads it.
pub(crate) fn after_option(next: &str) -> String {
    format!("--after '{}'", next.replace('\'', r"'\''"))
}

/// Returns the size of a letter of a text in an answer, in characters of JSON.
pub(crate) fn escaped_len(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => 1,
    }
}

/// Returns the size of a value in an answer, in characters of JSON with its comma.
pub(crate) fn size_of(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |json| json.chars().count() + 1)
}

/// For the answer's other fields, in characters.
const ROOM_FOR_THE_REST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_ANSWER_CHARS;

    impl Row for String {
        fn cursor(&self) -> String {
            self.chars().take(3_000).collect()
        }
    }

    #[test]
    fn an_answer_holds_what_fits_and_says_that_more_is_there() {
        let long = "x".repeat(10_000);
        let fits = page([&long, &long, &long].into_iter(), 10, MAX_ANSWER_CHARS);
        assert_eq!((fits.rows.len(), fits.truncated), (2, true));
        assert_eq!(fits.next().map(|next| next.len()), Some(3_000));
        let short = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let limited = page(short.iter(), 2, MAX_ANSWER_CHARS);
        assert_eq!((limited.rows.len(), limited.next().as_deref()), (2, Some("b")));
        let whole = page(short.iter(), 3, MAX_ANSWER_CHARS);
        assert_eq!((whole.rows.len(), whole.next()), (3, None));
        let unlimited = page([&long, &long, &long].into_iter(), 10, usize::MAX);
        assert_eq!((unlimited.rows.len(), unlimited.truncated), (3, false));
    }

    #[test]
    fn a_letter_is_as_long_as_json_writes_it() {
        for letter in ('\0'..='\u{2100}').chain(['\u{feff}', '☕', '\u{10ffff}']) {
            let text = String::from(letter);
            assert_eq!(escaped_len(letter), size_of(&text) - r#""","#.len(), "{letter:?}");
        }
    }

    #[test]
    fn a_shell_reads_where_to_go_on_as_it_is() {
        assert_eq!(after_option("17 Children's bed.md"), r"--after '17 Children'\''s bed.md'");
    }

    #[test]
    fn there_is_room_for_where_to_go_on() {
        let (first, second) = ("x".repeat(20_000), "y".repeat(3_500));
        let page = page([&first, &second].into_iter(), 10, MAX_ANSWER_CHARS);
        assert_eq!((page.rows.len(), page.truncated), (1, true));
    }
}
