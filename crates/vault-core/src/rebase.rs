//! Whether an edit of an older text may be made on the present one. Pure text.

use std::ops::Range;

use vault_markdown::align;

/// Tells whether the lines that hold `wanted` are the same ones in `read` and in `now`, untouched by whatever else
/// changed in between.
///
/// ```text
/// read: a  WANTED  b     now: a  WANTED  c   → true: the change is elsewhere
/// read: a  WANTED  b     now: a  WANTED! b   → false: the change is in the same line
/// ```
pub(crate) fn is_untouched(read: &str, now: &str, wanted: &str) -> bool {
    if wanted.is_empty() {
        return false;
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (read.split('\n').collect(), now.split('\n').collect());
    let mut moved_to = vec![None; before.len()];
    for (line, origin) in align(&before, &after).into_iter().enumerate() {
        if let Some(origin) = origin {
            moved_to[origin] = Some(line);
        }
    }
    let moved: Option<Vec<Range<usize>>> =
        places(read, wanted).into_iter().map(|lines| moved_lines(&moved_to, lines)).collect();
    moved.is_some_and(|moved| !moved.is_empty() && moved == places(now, wanted))
}

/// Returns the lines, from 0, of each place where `wanted` stands.
fn places(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let (mut at, mut line) = (0, 0);
    let height = wanted.matches('\n').count();
    let place = |(found, _): (usize, &str)| {
        line += text[at..found].matches('\n').count();
        at = found;
        line..line + height + 1
    };
    text.match_indices(wanted).map(place).collect()
}

/// Returns where lines that follow each other went, when they still do.
fn moved_lines(moved_to: &[Option<usize>], lines: Range<usize>) -> Option<Range<usize>> {
    let start = moved_to[lines.start]?;
    let follow = lines.clone().enumerate().all(|(offset, line)| moved_to[line] == Some(start + offset));
    follow.then(|| start..start + lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_other_lines_leaves_a_place_untouched() {
        let read = "one\ntwo\nthree\nfour\n";
        assert!(is_untouched(read, "zero\none\ntwo\nthree\n4\n", "two"));
        assert!(is_untouched(read, "one\ntwo\nthree\n", "two\nthree"));
        assert!(!is_untouched(read, "one\ntwo!\nthree\nfour\n", "two"));
        assert!(!is_untouched(read, "one\ntwo\nnew\nthree\nfour\n", "two\nthree"));
        assert!(
            !is_untouched(read, "one\ntwo\nthree\nfour\ntwo\n", "two"),
            "a new place is not the one that was meant"
        );
        assert!(!is_untouched(read, "one\nthree\nfour\n", "two"));
        assert!(!is_untouched(read, read, "missing"));
        assert!(!is_untouched(read, read, ""));
    }
}
