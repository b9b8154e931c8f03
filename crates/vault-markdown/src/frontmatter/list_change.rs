//! Adding to and removing from a list, in the style that it is written in.

use std::ops::Range;

use super::change::{FrontmatterError, checked, readable, set_key, shift, splice, unset_key};
use super::list::{self, BlockItem, Shape};
use super::{Entry, Frontmatter, Value, scalar};
use crate::lines;
use crate::tags::same_tag;

/// Adds the `items` that the list `key` lacks, in the list's own style: the text to store.
///
/// One string becomes a list, a missing key a block list. Entries of `tags` are compared as tags, others exactly.
///
/// ```
/// use vault_markdown::add_to_list;
/// let after = add_to_list("---\ntags: red\n---\n", "tags", &["blue/dark".into(), "Red".into()]).unwrap();
/// assert_eq!(after, "---\ntags: [red, blue/dark]\n---\n");
/// ```
pub fn add_to_list(stored: &str, key: &str, items: &[String]) -> Result<String, FrontmatterError> {
    let block = readable(stored)?;
    let old = block.as_ref().map_or_else(Vec::new, |block| members(block, key));
    let mut new: Vec<&str> = Vec::new();
    for item in items {
        let known = |other: &str| same_item(key, other, item);
        if !old.iter().any(|other| known(other)) && !new.iter().any(|other| known(other)) {
            new.push(item);
        }
    }
    if new.is_empty() {
        return Ok(stored.to_owned());
    }
    let all = Value::List(old.iter().map(String::as_str).chain(new.iter().copied()).map(Value::string).collect());
    let in_style = block.as_ref().and_then(|block| {
        let entry = block.entry(key)?;
        let (range, text) = addition(stored, entry, block.value(key)?, &new)?;
        checked(stored, splice(stored, shift(range, entry.content.start), &text), key, Some(&all))
    });
    in_style.map_or_else(|| replace_list(stored, key, &block, all), Ok)
}

/// Removes the entries for which `remove` says so from the list `key`; the last one takes the key with it.
///
/// ```
/// use vault_markdown::remove_from_list;
/// let after = remove_from_list("---\ntags: [red, blue] # mine\n---\n", "tags", |tag| tag == "red").unwrap();
/// assert_eq!(after, "---\ntags: [blue] # mine\n---\n");
/// ```
pub fn remove_from_list(stored: &str, key: &str, remove: impl Fn(&str) -> bool) -> Result<String, FrontmatterError> {
    let block = readable(stored)?;
    let old = block.as_ref().map_or_else(Vec::new, |block| members(block, key));
    let kept: Vec<&String> = old.iter().filter(|item| !remove(item)).collect();
    if kept.len() == old.len() {
        return Ok(stored.to_owned());
    }
    if kept.is_empty() {
        return unset_key(stored, key);
    }
    let left = Value::List(kept.into_iter().map(Value::string).collect());
    let in_style = block.as_ref().and_then(|block| {
        let entry = block.entry(key)?;
        let content = removal(&stored[entry.content.clone()], &old, &remove)?;
        checked(stored, splice(stored, entry.content.clone(), &content), key, Some(&left))
    });
    in_style.map_or_else(|| replace_list(stored, key, &block, left), Ok)
}

/// The scalars of a list. A `tags` value that is one string may hold several, parted by commas or spaces.
fn members(block: &Frontmatter, key: &str) -> Vec<String> {
    let strings = block.strings(key);
    match block.value(key) {
        Some(Value::Scalar { text, .. }) if key == "tags" => crate::tags::split(text).map(str::to_owned).collect(),
        _ => strings,
    }
}

fn same_item(key: &str, one: &str, other: &str) -> bool {
    if key == "tags" { same_tag(one, other) } else { one == other }
}

/// Where a list in a known style takes new items, and the text that goes there.
fn addition(stored: &str, entry: &Entry, old: &Value, new: &[&str]) -> Option<(Range<usize>, String)> {
    let content = &stored[entry.content.clone()];
    let flow: Vec<String> = new.iter().map(|item| scalar::render(item)).collect();
    Some(match list::shape(content)? {
        Shape::Nothing { .. } => {
            let at = content.find('\n')? + 1;
            let ending = lines::dominant_ending(stored);
            (at..at, flow.iter().map(|item| format!("  - {item}{ending}")).collect())
        }
        Shape::Single(token) => {
            let first = one_item(&content[token.clone()], old);
            let all: Vec<&str> = first.iter().chain(&flow).map(String::as_str).collect();
            (token, format!("[{}]", all.join(", ")))
        }
        Shape::Flow { after_open, items } => match items.last() {
            Some(last) => (last.end..last.end, flow.iter().map(|item| format!(", {item}")).collect()),
            None => (after_open..after_open, flow.join(", ")),
        },
        Shape::Block(items) => {
            let BlockItem { line, scalar } = items.last()?;
            let before = &content[line.start..scalar.start];
            let ending = lines::dominant_ending(stored);
            (line.end..line.end, flow.iter().map(|item| format!("{before}{item}{ending}")).collect())
        }
    })
}

/// A single value as items of a flow list: its own spelling where that means the same there.
fn one_item(token: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Scalar { text, plain: true } => crate::tags::split(text).map(scalar::render).collect(),
        Value::Scalar { .. } => vec![token.to_owned()],
        _ => Vec::new(),
    }
}

/// The content of a key without some of its items; `None` when the style is not understood.
fn removal(content: &str, old: &[String], remove: &impl Fn(&str) -> bool) -> Option<String> {
    let gone = |index: usize| remove(&old[index]);
    let mut after = content.to_owned();
    match list::shape(content)? {
        Shape::Flow { items, .. } if items.len() == old.len() => {
            for index in (0..items.len()).rev().filter(|index| gone(*index)) {
                let item = items[index].clone();
                if index > 0 {
                    after.replace_range(items[index - 1].end..item.end, "");
                } else {
                    let rest = after[item.end..].trim_start().trim_start_matches(',').trim_start().len();
                    after.replace_range(item.start..after.len() - rest, "");
                }
            }
        }
        Shape::Block(items) if items.len() == old.len() => {
            for index in (0..items.len()).rev().filter(|index| gone(*index)) {
                after.replace_range(items[index].line.clone(), "");
            }
        }
        _ => return None,
    }
    Some(after)
}

/// Writes the whole list anew; refuses where that would lose what a list of strings cannot say.
fn replace_list(stored: &str, key: &str, block: &Option<Frontmatter>, list: Value) -> Result<String, FrontmatterError> {
    let is_flat = match block.as_ref().and_then(|block| block.value(key)) {
        Some(Value::List(items)) => items.iter().all(|item| matches!(item, Value::Scalar { .. } | Value::Null)),
        Some(Value::Map(_) | Value::Alias) => false,
        _ => true,
    };
    if !is_flat {
        return Err(FrontmatterError::Unwritable { key: key.to_owned() });
    }
    set_key(stored, key, &list)
}
