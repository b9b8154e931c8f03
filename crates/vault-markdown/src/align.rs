//! Which lines of a new text are lines of the old one: a bounded comparison, and the diff that people read.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::limits::{DIFF_CONTEXT_LINES, MAX_DIFF_CELLS};

/// For each new line the old line that it is, in increasing order.
///
/// Common ends are cut off, lines that are unique on both sides anchor the rest, and what lies between two anchors is
/// compared exactly unless it is larger than [`MAX_DIFF_CELLS`].
///
/// ```
/// let moved = vault_markdown::align(&["a", "b", "c"], &["new", "a", "c"]);
/// assert_eq!(moved, [None, Some(0), Some(2)]);
/// ```
pub fn align(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let mut found = vec![None; new.len()];
    let (old_gap, new_gap) = match_ends(old, new, 0..old.len(), 0..new.len(), &mut found);
    let mut at = (old_gap.start, new_gap.start);
    for (old_line, new_line) in anchors(old, new, old_gap.clone(), new_gap.clone()) {
        found[new_line] = Some(old_line);
        match_gap(old, new, at.0..old_line, at.1..new_line, &mut found);
        at = (old_line + 1, new_line + 1);
    }
    match_gap(old, new, at.0..old_gap.end, at.1..new_gap.end, &mut found);
    found
}

type Gap = (Range<usize>, Range<usize>);

/// Matches the lines that both ranges begin and end with; returns what is between.
fn match_ends(
    old: &[&str],
    new: &[&str],
    mut old_gap: Range<usize>,
    mut new_gap: Range<usize>,
    found: &mut [Option<usize>],
) -> Gap {
    while !old_gap.is_empty() && !new_gap.is_empty() && old[old_gap.start] == new[new_gap.start] {
        found[new_gap.start] = Some(old_gap.start);
        old_gap.start += 1;
        new_gap.start += 1;
    }
    while !old_gap.is_empty() && !new_gap.is_empty() && old[old_gap.end - 1] == new[new_gap.end - 1] {
        old_gap.end -= 1;
        new_gap.end -= 1;
        found[new_gap.end] = Some(old_gap.end);
    }
    (old_gap, new_gap)
}

fn match_gap(old: &[&str], new: &[&str], old_gap: Range<usize>, new_gap: Range<usize>, found: &mut [Option<usize>]) {
    let (old_gap, new_gap) = match_ends(old, new, old_gap, new_gap, found);
    if old_gap.is_empty() || new_gap.is_empty() || old_gap.len().saturating_mul(new_gap.len()) > MAX_DIFF_CELLS {
        return;
    }
    for op in capture_diff_slices(Algorithm::Myers, &old[old_gap.clone()], &new[new_gap.clone()]) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for offset in 0..len {
                found[new_gap.start + new_index + offset] = Some(old_gap.start + old_index + offset);
            }
        }
    }
}

/// The longest run of lines, in order on both sides, that occur once in either gap: pairs of old and new line.
fn anchors(old: &[&str], new: &[&str], old_gap: Range<usize>, new_gap: Range<usize>) -> Vec<(usize, usize)> {
    if old_gap.is_empty() || new_gap.is_empty() {
        return Vec::new();
    }
    let mut places: HashMap<&str, [Option<usize>; 2]> = HashMap::new();
    let mut repeated: HashMap<&str, ()> = HashMap::new();
    for (side, lines, gap) in [(0, old, old_gap), (1, new, new_gap)] {
        for line in gap {
            if places.entry(lines[line]).or_default()[side].replace(line).is_some() {
                repeated.insert(lines[line], ());
            }
        }
    }
    let unique = places.into_iter().filter(|(line, _)| !repeated.contains_key(line));
    let mut pairs: Vec<(usize, usize)> = unique.filter_map(|(_, [old, new])| Some((old?, new?))).collect();
    pairs.sort_unstable_by_key(|pair| pair.1);
    longest_increasing(&pairs)
}

fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![usize::MAX; pairs.len()];
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].0 < pair.0);
        if length > 0 {
            previous[index] = ends[length - 1];
        }
        if length == ends.len() { ends.push(index) } else { ends[length] = index }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        run.push(pairs[index]);
        next = previous.get(index).copied().filter(|before| *before != usize::MAX);
    }
    run.reverse();
    run
}

/// The changes from one text to another as unified hunks with three lines of context, without file names.
///
/// Empty when the texts are equal. Work is bounded: very large rewritten stretches count as replaced whole.
///
/// ```
/// let diff = vault_markdown::unified_diff("a\nb\nc\n", "a\nB\nc\n");
/// assert_eq!(diff, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
/// ```
pub fn unified_diff(old: &str, new: &str) -> String {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let changes = changes(&align(&old_lines, &new_lines), old_lines.len());
    let mut out = String::new();
    for hunk in changes.chunk_by(|one, next| next.0.start <= one.0.end + 2 * DIFF_CONTEXT_LINES) {
        write_hunk(&mut out, hunk, &old_lines, &new_lines);
    }
    out
}

/// The pairs of ranges that are not the same.
fn changes(found: &[Option<usize>], n_old: usize) -> Vec<Gap> {
    let mut changes = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    let kept = found.iter().enumerate().filter_map(|(new, old)| Some(((*old)?, new)));
    for (old, new) in kept.chain([(n_old, found.len())]) {
        if old > old_at || new > new_at {
            changes.push((old_at..old, new_at..new));
        }
        (old_at, new_at) = (old + 1, new + 1);
    }
    changes
}

fn write_hunk(out: &mut String, hunk: &[Gap], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let before = first.0.start.min(DIFF_CONTEXT_LINES);
    let after = (old.len() - last.0.end).min(DIFF_CONTEXT_LINES);
    let old_span = first.0.start - before..last.0.end + after;
    let new_span = first.1.start - before..last.1.end + after;
    let _ = writeln!(out, "@@ -{} +{} @@", hunk_range(&old_span), hunk_range(&new_span));
    let mut at = old_span.start;
    for (old_gap, new_gap) in hunk {
        write_lines(out, ' ', &old[at..old_gap.start]);
        write_lines(out, '-', &old[old_gap.clone()]);
        write_lines(out, '+', &new[new_gap.clone()]);
        at = old_gap.end;
    }
    write_lines(out, ' ', &old[at..old_span.end]);
}

fn hunk_range(span: &Range<usize>) -> String {
    match span.len() {
        0 => format!("{},0", span.start),
        1 => format!("{}", span.start + 1),
        len => format!("{},{len}", span.start + 1),
    }
}

fn write_lines(out: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn aligned_lines_are_equal_and_in_order(old in "[ab\n]{0,40}", new in "[abc\n]{0,40}") {
            let old: Vec<&str> = old.split_inclusive('\n').collect();
            let new: Vec<&str> = new.split_inclusive('\n').collect();
            let found = align(&old, &new);
            let mut below = 0;
            for (line, old_line) in new.iter().zip(&found) {
                if let Some(old_line) = *old_line {
                    prop_assert!(old_line >= below);
                    prop_assert_eq!(old[old_line], *line);
                    below = old_line + 1;
                }
            }
        }
    }

    #[test]
    fn moved_and_repeated_lines_do_not_hide_the_rest() {
        let old = ["x\n", "a\n", "x\n", "b\n", "x\n"];
        let new = ["x\n", "b\n", "x\n", "a\n", "x\n"];
        let kept = align(&old, &new).iter().flatten().count();
        assert_eq!(kept, 3);
    }

    #[test]
    fn far_changes_are_hunks_of_their_own() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n2\n", "\ntwo\n").replace("20\n", "20");
        insta::assert_snapshot!(unified_diff(&old, &new), @r"
        @@ -1,5 +1,5 @@
         1
        -2
        +two
         3
         4
         5
        @@ -17,4 +17,4 @@
         17
         18
         19
        -20
        +20
        \ No newline at end of file
        ");
        assert_eq!(unified_diff("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified_diff("a\n", "a\n"), "");
    }
}
