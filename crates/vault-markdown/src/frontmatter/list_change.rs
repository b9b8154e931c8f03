//! Adding to and removing from a list, in the style that it is written in.
//!
//! Only flat lists are changed, and only in styles that are understood: every other item keeps its bytes.

use std::ops::Range;

use super::change::{FrontmatterError, checked, readable, set_key, shift, splice, unset_key};
use super::list::{self, BlockItem, Shape};
use super::{Entry, Frontmatter, Value, read, scalar};
use crate::lines;
use crate::tags::{same_tag, split};

/// Adds the `items` that the list `key` lacks, in the list's own style: the text to store.
///
/// One string becomes a list, a missing key a block list. Entries of `tags` are compared as tags, others exactly.
/// Refuses a list that holds more than scalars, and one in a style that is not understood.
///
/// ```
/// use vault_markdown::add_to_list;
/// let after = add_to_list("---\ntags: red\n---\n", "tags", &["blue/dark".into(), "Red".into()]).unwrap();
/// assert_eq!(after, "---\ntags: [red, blue/dark]\n---\n");
/// ```
pub fn add_to_list(stored: &str, key: &str, items: &[String]) -> Result<String, FrontmatterError> {
    let block = readable(stored)?;
    let old = members(block.as_ref(), key);
    let mut new: Vec<&str> = Vec::new();
    for item in items {
        let known = |other: &str| same_item(key, other, item);
        if !old.iter().filter_map(Value::as_str).any(known) && !new.iter().any(|other| known(other)) {
            new.push(item);
        }
    }
    if new.is_empty() {
        return Ok(stored.to_owned());
    }
    let found = block.as_ref().and_then(|block| Some((block, block.entry(key)?, block.value(key)?)));
    let Some((block, entry, value)) = found else {
        return set_key(stored, key, &Value::List(new.into_iter().map(Value::string).collect()));
    };
    let in_style = is_flat(&old).then(|| addition(stored, entry, value, &old, &new)).flatten();
    let all = Value::List(old.into_iter().chain(new.into_iter().map(Value::string)).collect());
    in_style
        .map(|(range, text)| splice(stored, shift(range, entry.content.start), &text))
        .and_then(|after| checked(stored, Some(block), after, &[key], Some(&all)))
        .ok_or_else(|| FrontmatterError::Unwritable { key: key.to_owned() })
}

/// Removes the entries for which `remove` says so from the list `key`: the text to store.
///
/// The last entry takes the key with it, and leaves comments on lines of their own; where the key is there twice, its last list stays, empty, so that the one
/// above it does not come to count. Refuses what [`add_to_list`] refuses.
///
/// ```
/// use vault_markdown::remove_from_list;
/// let after = remove_from_list("---\ntags: [red, blue] # mine\n---\n", "tags", |tag| tag == "red").unwrap();
/// assert_eq!(after, "---\ntags: [blue] # mine\n---\n");
/// ```
pub fn remove_from_list(stored: &str, key: &str, remove: impl Fn(&str) -> bool) -> Result<String, FrontmatterError> {
    let block = readable(stored)?;
    let old = members(block.as_ref(), key);
    let gone: Vec<bool> = old.iter().map(|item| item.as_str().is_some_and(&remove)).collect();
    let Some(block) = block.as_ref().filter(|_| gone.contains(&true)) else { return Ok(stored.to_owned()) };
    let unwritable = || FrontmatterError::Unwritable { key: key.to_owned() };
    let entry = block.entry(key).filter(|_| is_flat(&old)).ok_or_else(unwritable)?;
    if gone.iter().all(|gone| *gone) {
        let n_occurrences = block.entries.iter().filter(|entry| entry.key == key).count();
        return if n_occurrences == 1 {
            without_items(stored, block, entry, &old).map_or_else(|| unset_key(stored, key), Ok)
        } else {
            set_key(stored, key, &Value::List(Vec::new()))
        };
    }
    let content = removal(&stored[entry.content.clone()], &old, &gone).ok_or_else(unwritable)?;
    let kept = old.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(item, _)| item);
    let left = Value::List(kept.collect());
    let after = splice(stored, entry.content.clone(), &content);
    checked(stored, Some(block), after, &[key], Some(&left)).ok_or_else(unwritable)
}

/// The note without the key, but with the comments that had a line of their own among its items or below them.
///
/// `None` when there are none, or when something else would take them for its text.
fn without_items(stored: &str, block: &Frontmatter, entry: &Entry, old: &[Value]) -> Option<String> {
    list::shape(&stored[entry.content.clone()]).filter(|_| is_flat(old))?;
    let is_comment = |line: &Range<usize>| stored[line.clone()].trim_start().starts_with('#');
    let comments = lines::line_ranges(stored, entry.content.clone()).filter(is_comment);
    let comments: String = comments.map(|line| &stored[line]).collect();
    let after = splice(stored, entry.span.clone(), &comments);
    let others = block.values.iter().filter(|(key, _)| *key != entry.key);
    let new = read(&after).filter(|new| !comments.is_empty() && new.problem().is_none())?;
    let is_same = new.values.iter().eq(others) && after[new.span.end..] == stored[block.span.end..];
    is_same.then_some(after)
}

/// The items of a list. A `tags` value that is one string may hold several, parted by commas or spaces.
fn members(block: Option<&Frontmatter>, key: &str) -> Vec<Value> {
    match block.and_then(|block| block.value(key)) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Scalar { text, .. }) if key == "tags" => split(text).map(Value::string).collect(),
        Some(Value::Scalar { text, .. }) => vec![Value::string(text)],
        Some(Value::List(items)) => items.clone(),
        Some(other) => vec![other.clone()],
    }
}

fn is_flat(items: &[Value]) -> bool {
    items.iter().all(|item| matches!(item, Value::Scalar { .. } | Value::Null))
}

fn same_item(key: &str, one: &str, other: &str) -> bool {
    if key == "tags" { same_tag(one, other) } else { one == other }
}

/// Where a list in a known style takes new items, and the text that goes there.
fn addition(stored: &str, entry: &Entry, value: &Value, old: &[Value], new: &[&str]) -> Option<(Range<usize>, String)> {
    let content = &stored[entry.content.clone()];
    let ending = lines::dominant_ending(stored);
    let flow: Vec<String> = new.iter().map(|item| scalar::render(item)).collect();
    Some(match list::shape(content)? {
        Shape::Nothing { .. } => {
            let at = content.find('\n')? + 1;
            (at..at, flow.iter().map(|item| format!("  - {item}{ending}")).collect())
        }
        Shape::Single(token) => {
            let is_one = matches!(old, [item] if item.as_str() == value.as_str());
            let first = &content[token.clone()];
            let keeps_spelling = is_one && list::is_flow_scalar(first);
            let mut all = if keeps_spelling { vec![first.to_owned()] } else { rendered(old) };
            all.extend(flow);
            (token, format!("[{}]", all.join(", ")))
        }
        Shape::Flow { after_open, items } => match items.last() {
            Some(last) => (last.end..last.end, flow.iter().map(|item| format!(", {item}")).collect()),
            None => (after_open..after_open, flow.join(", ")),
        },
        Shape::Block(items) => {
            let last = items.last()?;
            let model = items.iter().rfind(|item| !item.scalar.is_empty());
            let before = model.map_or("- ", |BlockItem { line, scalar }| &content[line.start..scalar.start]);
            let indent = if model.is_none() { list::leading_space(&content[last.line.clone()]) } else { 0 };
            let before = [&content[last.line.start..last.line.start + indent], before].concat();
            (last.line.end..last.line.end, flow.iter().map(|item| format!("{before}{item}{ending}")).collect())
        }
    })
}

fn rendered<'v>(items: impl IntoIterator<Item = &'v Value>) -> Vec<String> {
    items.into_iter().filter_map(Value::as_str).map(scalar::render).collect()
}

/// The content of a key without the items that are `gone`; `None` when the style is not understood.
fn removal(content: &str, old: &[Value], gone: &[bool]) -> Option<String> {
    let cuts: Vec<Range<usize>> = match list::shape(content)? {
        Shape::Flow { items, .. } if items.len() == old.len() => flow_cuts(content, &items, gone),
        Shape::Block(items) if items.len() == old.len() => {
            items.into_iter().zip(gone).filter(|(_, gone)| **gone).map(|(item, _)| item.line).collect()
        }
        Shape::Single(token) => {
            let kept = old.iter().zip(gone).filter(|(_, gone)| !**gone).map(|(item, _)| item);
            return Some(splice(content, token, &format!("[{}]", rendered(kept).join(", "))));
        }
        _ => return None,
    };
    let mut after = String::with_capacity(content.len());
    let mut at = 0;
    for cut in cuts {
        after.push_str(&content[at..cut.start]);
        at = cut.end;
    }
    after.push_str(&content[at..]);
    Some(after)
}

/// What to cut so that each item that is `gone` goes with one comma, and no comment goes with it.
fn flow_cuts(content: &str, items: &[Range<usize>], gone: &[bool]) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut has_comma_before = false;
    for (index, item) in items.iter().enumerate() {
        let above = items[..index].last().filter(|above| !content[above.end..item.start].contains('#'));
        match above {
            _ if !gone[index] => has_comma_before = true,
            Some(above) if has_comma_before => cuts.push(above.end..item.end),
            _ => {
                cuts.push(item.clone());
                let comma = list::skip_space_and_comments(content, item.end);
                if content[comma..].starts_with(',') {
                    let space = list::leading_space(&content[comma + 1..]);
                    let goes_on = !content[comma + 1 + space..].starts_with(['#', '\r', '\n']);
                    cuts.push(comma..comma + 1 + if goes_on { space } else { 0 });
                }
                has_comma_before = false;
            }
        }
    }
    cuts
}
