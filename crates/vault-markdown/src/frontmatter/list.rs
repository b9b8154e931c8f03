//! Where the items of a one-key list stand, in the styles that people write by hand.
//!
//! Anything else (anchors, nested collections, scalars over several lines) is not understood, and says so.

use std::ops::Range;

/// How the value of a key is written. Ranges are bytes into the text that was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `key:`, with the place right after the colon.
    Nothing { after_colon: usize },
    /// `key: red`.
    Single(Range<usize>),
    /// `key: [red, blue]`, with the place right after the bracket.
    Flow { after_open: usize, items: Vec<Range<usize>> },
    /// One `- item` a line.
    Block(Vec<BlockItem>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockItem {
    /// The whole line, line end included.
    pub(crate) line: Range<usize>,
    /// The scalar, quotes included; empty when nothing follows the dash.
    pub(crate) scalar: Range<usize>,
}

/// The scalars of `content`, quotes included, when it is written in a style that is understood.
pub(crate) fn items(content: &str) -> Option<Vec<Range<usize>>> {
    Some(match shape(content)? {
        Shape::Nothing { .. } => Vec::new(),
        Shape::Single(item) => vec![item],
        Shape::Flow { items, .. } => items,
        Shape::Block(items) => items.into_iter().map(|item| item.scalar).filter(|scalar| !scalar.is_empty()).collect(),
    })
}

/// Reads the lines of one key; `content` starts with the key.
pub(crate) fn shape(content: &str) -> Option<Shape> {
    let after_colon = after_key(content)?;
    let value = after_colon + leading_space(&content[after_colon..]);
    let first_line_end = content[value..].find('\n').map_or(content.len(), |newline| value + newline + 1);
    if is_blank_or_comment(&content[value..first_line_end]) {
        return block(content, after_colon, first_line_end);
    }
    if content[value..].starts_with('[') {
        return flow(content, value + 1);
    }
    let scalar = scalar_at(content, value, false)?;
    let rest_is_empty = content[scalar.end..].split_inclusive('\n').all(is_blank_or_comment);
    rest_is_empty.then_some(Shape::Single(scalar))
}

/// The place right after the colon of the key that `content` starts with.
pub(crate) fn after_key(content: &str) -> Option<usize> {
    let key_end = match content.chars().next()? {
        '"' | '\'' => quoted_at(content, 0)?.end,
        _ => 0,
    };
    let is_colon = |(at, _): &(usize, &str)| {
        content[at + 1..].chars().next().is_none_or(|next| matches!(next, ' ' | '\t' | '\r' | '\n'))
    };
    let (colon, _) = content[key_end..].match_indices(':').map(|(at, c)| (at + key_end, c)).find(is_colon)?;
    Some(colon + 1)
}

fn block(content: &str, after_colon: usize, below: usize) -> Option<Shape> {
    let mut items: Vec<BlockItem> = Vec::new();
    let mut indent = None;
    for line in crate::lines::line_ranges(content, below..content.len()) {
        let text = &content[line.clone()];
        if is_blank_or_comment(text) {
            continue;
        }
        let dash = leading_space(text);
        let after_dash = text[dash..].strip_prefix('-')?;
        if *indent.get_or_insert(dash) != dash || !after_dash.starts_with([' ', '\t', '\r', '\n']) {
            return None;
        }
        let start = line.start + dash + 1;
        let scalar = match is_blank_or_comment(after_dash) {
            true => start..start,
            false => scalar_at(content, start + leading_space(after_dash), false)?,
        };
        if scalar.end > line.end || !is_blank_or_comment(&content[scalar.end..line.end]) {
            return None;
        }
        items.push(BlockItem { line, scalar });
    }
    Some(if items.is_empty() { Shape::Nothing { after_colon } } else { Shape::Block(items) })
}

fn flow(content: &str, after_open: usize) -> Option<Shape> {
    let mut items = Vec::new();
    let mut at = skip_space_and_comments(content, after_open);
    loop {
        match content[at..].chars().next()? {
            ']' => break,
            _ => {
                let item = scalar_at(content, at, true)?;
                at = skip_space_and_comments(content, item.end);
                items.push(item);
            }
        }
        match content[at..].chars().next()? {
            ',' => at = skip_space_and_comments(content, at + 1),
            ']' => break,
            _ => return None,
        }
    }
    let rest_is_empty = content[at + 1..].split_inclusive('\n').all(is_blank_or_comment);
    rest_is_empty.then_some(Shape::Flow { after_open, items })
}

/// The one-line scalar that starts at `at`.
fn scalar_at(content: &str, at: usize, in_flow: bool) -> Option<Range<usize>> {
    let first = content[at..].chars().next()?;
    if matches!(first, '"' | '\'') {
        return quoted_at(content, at);
    }
    if "&*!|>{}[]%@`,?#".contains(first) || content[at..].starts_with("- ") {
        return None;
    }
    let line_end = content[at..].find(['\n', '\r']).map_or(content.len(), |end| at + end);
    let line = &content[at..line_end];
    let stop = if in_flow { line.find([',', ']', '[', '{', '}']) } else { None };
    let stop = stop.into_iter().chain(line.find(" #")).chain(line.find("\t#")).min().unwrap_or(line.len());
    let text = line[..stop].trim_end_matches([' ', '\t']);
    let is_plain = !text.is_empty() && !text.contains(": ") && !text.ends_with(':');
    is_plain.then(|| at..at + text.len())
}

/// Whether `token`, a scalar on its own, is that scalar in a flow list too.
pub(crate) fn is_flow_scalar(token: &str) -> bool {
    !token.is_empty() && scalar_at(token, 0, true) == Some(0..token.len())
}

fn quoted_at(content: &str, at: usize) -> Option<Range<usize>> {
    let bytes = content.as_bytes();
    let quote = bytes[at];
    let mut end = at + 1;
    loop {
        match *bytes.get(end)? {
            b'\n' => return None,
            b'\\' if quote == b'"' => end += 2,
            c if c == quote && quote == b'\'' && bytes.get(end + 1) == Some(&b'\'') => end += 2,
            c if c == quote => return Some(at..end + 1),
            _ => end += 1,
        }
    }
}

/// The place after blank space and comments.
pub(crate) fn skip_space_and_comments(content: &str, mut at: usize) -> usize {
    loop {
        at += content[at..].len() - content[at..].trim_start_matches([' ', '\t', '\r', '\n']).len();
        let after_space = at > 0 && content[..at].ends_with([' ', '\t', '\n']);
        if !after_space || !content[at..].starts_with('#') {
            return at;
        }
        at = content[at..].find('\n').map_or(content.len(), |newline| at + newline);
    }
}

/// Spaces and tabs that `text` begins with.
pub(crate) fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

fn is_blank_or_comment(line: &str) -> bool {
    let text = line.trim();
    text.is_empty() || text.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalars(content: &str) -> Option<Vec<&str>> {
        Some(items(content)?.into_iter().map(|range| &content[range]).collect())
    }

    #[test]
    fn the_styles_of_hand_written_lists() {
        assert_eq!(scalars("tags:\n"), Some(vec![]));
        assert_eq!(scalars("tags: # none yet\n"), Some(vec![]));
        assert_eq!(scalars("tags: red # one\n"), Some(vec!["red"]));
        assert_eq!(scalars("'ta:gs': \"r\\\"ed\"\n"), Some(vec!["\"r\\\"ed\""]));
        assert_eq!(scalars("tags: [a, 'b, c' ,\n  d, # x, y\n  e,]\n"), Some(vec!["a", "'b, c'", "d", "e"]));
        assert_eq!(scalars("tags:\n- a\n# note\n- 'b' # c\n"), Some(vec!["a", "'b'"]));
        assert_eq!(scalars("tags:\r\n  - a b\r\n  - c\r\n"), Some(vec!["a b", "c"]));
    }

    #[test]
    fn other_styles_are_not_guessed_at() {
        for content in [
            "tags: &t [a]\n",
            "tags: [a, [b]]\n",
            "tags: {a: b}\n",
            "tags: |\n  a\n",
            "tags: a\n  b\n",
            "tags:\n  - a: b\n",
            "tags:\n  - a\n    - b\n",
            "tags:\n  a: b\n",
            "tags: [a\n",
        ] {
            assert_eq!(scalars(content), None, "{content:?}");
        }
    }
}
