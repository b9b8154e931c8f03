//! Cutting a block into the lines of each key.
//!
//! From the first column-0 comment of the run right above a key, lines belong to the key below; everything else
//! between two keys, blank lines included, belongs to the key above.

use std::ops::Range;

use super::yaml::Mapping;
use super::{Entry, Frontmatter, FrontmatterProblem, FrontmatterState};
use crate::lines;

/// Cuts a block without keys: from the first column-0 comment of its last run on it is tail, the rest is head.
pub(super) fn split_empty(stored: &str, mut block: Frontmatter) -> Frontmatter {
    let ranges: Vec<Range<usize>> = lines::line_ranges(stored, block.yaml.clone()).collect();
    let texts: Vec<&str> = ranges.iter().map(|range| &stored[range.clone()]).collect();
    let cut = ranges.get(first_comment(&texts, 0, texts.len())).map_or(block.yaml.end, |line| line.start);
    block.head = block.yaml.start..cut;
    block.tail = cut..block.yaml.end;
    block
}

/// Cuts a mapping; one that cannot be cut comes back broken, with its values.
pub(super) fn split(stored: &str, mut block: Frontmatter, mapping: Mapping) -> Frontmatter {
    let ranges: Vec<Range<usize>> = lines::line_ranges(stored, block.yaml.clone()).collect();
    let texts: Vec<&str> = ranges.iter().map(|range| lines::content(&stored[range.clone()]).0).collect();
    if let Some(line) = unsplittable_line(&texts, &mapping) {
        block.state = FrontmatterState::Broken(FrontmatterProblem {
            line: line + 2,
            message: "frontmatter keys must each start their own line".to_owned(),
        });
    } else {
        cut(&mut block, &ranges, &texts, &mapping);
    }
    block.values = mapping.values;
    block
}

/// 0-based line of the first thing that keeps a block from being cut by lines.
fn unsplittable_line(texts: &[&str], mapping: &Mapping) -> Option<usize> {
    if let Some(line) = texts.iter().position(|line| line.contains('\r') || is_document_end(line)) {
        return Some(line);
    }
    let first = mapping.keys.first().map_or(texts.len(), |key| key.line);
    if let Some(line) = texts.iter().take(first).position(|line| !is_blank(line) && !line.trim_start().starts_with('#'))
    {
        return Some(line);
    }
    let mut below = 0;
    for key in &mapping.keys {
        if !key.at_line_start || key.line < below || key.line >= texts.len() {
            return Some(key.line);
        }
        below = key.closed_line + 1;
    }
    None
}

fn cut(block: &mut Frontmatter, ranges: &[Range<usize>], texts: &[&str], mapping: &Mapping) {
    let end = block.yaml.end;
    let at = |line: usize| ranges.get(line).map_or(end, |range| range.start);
    let mut starts = Vec::with_capacity(mapping.keys.len() + 1);
    let mut above = 0;
    for key in &mapping.keys {
        starts.push(first_comment(texts, above, key.line));
        above = key.closed_line + 1;
    }
    starts.push(first_comment(texts, above, texts.len()));
    block.head = block.yaml.start..at(starts[0]);
    block.tail = at(starts[mapping.keys.len()])..end;
    for (index, (key, (name, _))) in mapping.keys.iter().zip(&mapping.values).enumerate() {
        let last = content_end(texts, key.line, starts[index + 1]);
        block.entries.push(Entry {
            key: name.clone(),
            span: at(starts[index])..at(starts[index + 1]),
            content: at(key.line)..at(last),
        });
    }
}

/// First column-0 comment of the run of comments and blank lines that ends before line `below`.
fn first_comment(texts: &[&str], above: usize, below: usize) -> usize {
    let mut first = below;
    for line in (above..below).rev() {
        if texts[line].starts_with('#') {
            first = line;
        } else if !is_blank(texts[line]) {
            break;
        }
    }
    first
}

/// The line after the last one of `key..below` that is not blank.
fn content_end(texts: &[&str], key: usize, below: usize) -> usize {
    (key..below).rev().find(|line| !is_blank(texts[*line])).map_or(key + 1, |line| line + 1)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn is_document_end(line: &str) -> bool {
    line.strip_prefix("...").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::super::read;

    fn pieces(yaml: &str) -> Vec<String> {
        let stored = format!("---\n{yaml}---\n");
        let block = read(&stored).unwrap();
        let mut pieces = vec![stored[block.head.clone()].to_owned()];
        pieces.extend(block.entries.iter().map(|entry| stored[entry.span.clone()].to_owned()));
        pieces.push(stored[block.tail.clone()].to_owned());
        assert_eq!(pieces.concat(), yaml);
        pieces
    }

    #[test]
    fn a_comment_goes_with_the_key_below_and_blank_lines_with_the_key_above() {
        assert_eq!(
            pieces("\n# about a\n\na: 1\n\n# about b\nb: 2\n\n# end\n"),
            ["\n", "# about a\n\na: 1\n\n", "# about b\nb: 2\n\n", "# end\n",]
        );
    }

    #[test]
    fn a_hash_inside_a_value_is_no_comment() {
        assert_eq!(
            pieces("a: |\n  # text\n\nb: 'x\n # y\n  z'\nc:\n# about the list\n  - 1\n  # inner\nd: 1\n"),
            ["", "a: |\n  # text\n\n", "b: 'x\n # y\n  z'\n", "c:\n# about the list\n  - 1\n  # inner\n", "d: 1\n", "",]
        );
    }

    #[test]
    fn a_block_of_comments_is_tail_as_far_as_a_key_above_leaves_them_alone() {
        assert_eq!(pieces("\n# a\n\n"), ["\n", "# a\n\n"]);
        assert_eq!(pieces("# a\n  # b\n"), ["# a\n  # b\n", ""]);
        let after = crate::set_key("---\n  # b\n---\n", "a", &crate::Value::string("x"));
        assert_eq!(after.as_deref(), Ok("---\n  # b\na: x\n---\n"));
    }
}
