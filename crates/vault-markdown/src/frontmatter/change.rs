//! Changing one key of a block. Every change is read back before it is handed out.

use std::ops::Range;

use super::list::{self, BlockItem, Shape};
use super::{Entry, Frontmatter, FrontmatterProblem, FrontmatterState, Value, quote_like, read, scalar};
use crate::lines;
use crate::tags::same_tag;

/// Why a key was not changed. The stored text is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// The block does not parse, or cannot be cut into lines.
    #[error("the frontmatter cannot be read: line {line}: {message}")]
    Invalid {
        /// 1-based line in the file.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The result would not read back as what was asked for.
    #[error("frontmatter key `{key}` cannot be written here without touching something else")]
    Unwritable {
        /// The key.
        key: String,
    },
}

impl From<FrontmatterProblem> for FrontmatterError {
    fn from(FrontmatterProblem { line, message }: FrontmatterProblem) -> Self {
        FrontmatterError::Invalid { line, message }
    }
}

/// Sets `key` to `value` and leaves every other byte: the text to store.
///
/// A key that is there twice is changed where it is there last. A new key comes after the last one; a note without
/// frontmatter gets a block. Refuses a block that cannot be read, and values that hold an alias.
///
/// ```
/// use vault_markdown::{Value, set_key};
/// let stored = "---\ntitle: \"Old\" # ours\nzeta: 1\n---\nText.\n";
/// let after = set_key(stored, "title", &Value::string("New")).unwrap();
/// assert_eq!(after, "---\ntitle: \"New\" # ours\nzeta: 1\n---\nText.\n");
/// ```
pub fn set_key(stored: &str, key: &str, value: &Value) -> Result<String, FrontmatterError> {
    let unwritable = || FrontmatterError::Unwritable { key: key.to_owned() };
    let block = readable(stored)?;
    if block.as_ref().and_then(|block| block.value(key)).is_some_and(|old| reads_back(value, old)) {
        return Ok(stored.to_owned());
    }
    let ending = lines::dominant_ending(stored);
    let entry = block.as_ref().and_then(|block| block.entry(key));
    let (span, text) = match (&block, entry) {
        (_, Some(entry)) => replacement(&stored[entry.content.clone()], value, ending)
            .map(|(range, text)| (shift(range, entry.content.start), text))
            .ok_or_else(unwritable)?,
        (Some(block), None) => {
            (block.tail.start..block.tail.start, rendered(key, value, ending).ok_or_else(unwritable)?)
        }
        (None, None) => {
            let entry = rendered(key, value, ending).ok_or_else(unwritable)?;
            let start = lines::bom_len(stored);
            (start..start, format!("---{ending}{entry}---{ending}"))
        }
    };
    checked(stored, splice(stored, span, &text), key, Some(value)).ok_or_else(unwritable)
}

/// Removes `key`, all its occurrences with their comments: the text to store.
///
/// A block that then holds not a single line goes with its fences. So setting an absent key and unsetting it gives the
/// first bytes back, except that a block of two bare fences is gone afterwards: once the key was in, nothing tells
/// such a block from one that [`set_key`] made.
///
/// ```
/// use vault_markdown::unset_key;
/// assert_eq!(unset_key("---\na: 1\n# b\nb: 2\n---\n", "b").unwrap(), "---\na: 1\n---\n");
/// assert_eq!(unset_key("---\na: 1\n---\nText.\n", "a").unwrap(), "Text.\n");
/// ```
pub fn unset_key(stored: &str, key: &str) -> Result<String, FrontmatterError> {
    let Some(block) = readable(stored)?.filter(|block| block.entry(key).is_some()) else {
        return Ok(stored.to_owned());
    };
    let mut after = stored[..block.yaml.start].to_owned();
    after.push_str(&stored[block.head.clone()]);
    for entry in block.entries.iter().filter(|entry| entry.key != key) {
        after.push_str(&stored[entry.span.clone()]);
    }
    after.push_str(&stored[block.tail.clone()]);
    if after.len() == block.yaml.start && can_stand_alone(&stored[block.span.end..]) {
        after.truncate(block.span.start);
        after.push_str(&stored[block.span.end..]);
        return Ok(after);
    }
    after.push_str(&stored[block.yaml.end..]);
    checked(stored, after, key, None).ok_or_else(|| FrontmatterError::Unwritable { key: key.to_owned() })
}

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

fn readable(stored: &str) -> Result<Option<Frontmatter>, FrontmatterError> {
    match read(stored) {
        Some(Frontmatter { state: FrontmatterState::Broken(problem), .. }) => Err(problem.into()),
        block => Ok(block),
    }
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

/// The range of `content` to replace so that its key has `value`, and the replacement.
fn replacement(content: &str, value: &Value, ending: &str) -> Option<(Range<usize>, String)> {
    if let Value::Scalar { text, plain } = value {
        match list::shape(content) {
            Some(Shape::Single(token)) => {
                let scalar = if *plain { text.clone() } else { in_quotes_of(&content[token.clone()], text) };
                return Some((token, scalar));
            }
            Some(Shape::Nothing { after_colon }) => {
                return Some((after_colon..after_colon, format!(" {}", scalar(value)?)));
            }
            _ => {}
        }
    }
    let after_colon = list::after_key(content)?;
    Some((after_colon..content.len(), tail_of_key(value, 1, ending)?))
}

fn in_quotes_of(token: &str, text: &str) -> String {
    let quote = token.chars().next().filter(|c| matches!(c, '"' | '\''));
    match (quote, quote_like(text, quote)) {
        (Some(quote), Some(inner)) => format!("{quote}{inner}{quote}"),
        _ => scalar::render(text),
    }
}

/// `key: value` with its line end.
fn rendered(key: &str, value: &Value, ending: &str) -> Option<String> {
    Some(format!("{}:{}", scalar::render(key), tail_of_key(value, 1, ending)?))
}

/// What follows the colon of a key at `level`, line end included.
fn tail_of_key(value: &Value, level: usize, ending: &str) -> Option<String> {
    let indent = "  ".repeat(level);
    let mut out = String::new();
    match value {
        Value::List(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&format!("{ending}{indent}- {}", inline(item)?));
            }
        }
        Value::Map(pairs) if !pairs.is_empty() => {
            for (key, value) in pairs {
                let value = tail_of_key(value, level + 1, ending)?;
                out.push_str(&format!(
                    "{ending}{indent}{}:{}",
                    scalar::render(key),
                    value.trim_end_matches(['\r', '\n'])
                ));
            }
        }
        Value::Null => {}
        value => out.push_str(&format!(" {}", inline(value)?)),
    }
    out.push_str(ending);
    Some(out)
}

fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Scalar { .. } => scalar(value),
        Value::List(items) => Some(format!("[{}]", items.iter().map(inline).collect::<Option<Vec<_>>>()?.join(", "))),
        Value::Map(pairs) => {
            let pair = |(key, value): &(String, Value)| Some(format!("{}: {}", scalar::render(key), inline(value)?));
            Some(format!("{{{}}}", pairs.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", ")))
        }
        Value::Alias => None,
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Scalar { text, plain: true } => Some(text.clone()),
        Value::Scalar { text, plain: false } => Some(scalar::render(text)),
        _ => None,
    }
}

/// `after`, if in it `key` reads as `value` and all else of `stored` is the same, byte for byte.
fn checked(stored: &str, after: String, key: &str, value: Option<&Value>) -> Option<String> {
    let new = read(&after).filter(|block| block.problem().is_none())?;
    let old = read(stored);
    let old_others = old.as_ref().map_or_else(String::new, |block| others(stored, block, key, value.is_some()));
    let value_fits = match (value, new.value(key)) {
        (Some(wanted), Some(found)) => reads_back(wanted, found),
        (None, None) => true,
        _ => false,
    };
    let old_body = old.map_or(lines::bom_len(stored), |block| block.span.end);
    let same = value_fits
        && others(&after, &new, key, value.is_some()) == old_others
        && after[new.span.end..] == stored[old_body..];
    same.then_some(after)
}

/// The lines of a block that a change of `key` leaves alone. Of several equal keys only the last is set.
fn others(stored: &str, block: &Frontmatter, key: &str, keep_earlier: bool) -> String {
    let last = block.entries.iter().rposition(|entry| entry.key == key);
    let is_other = |(index, entry): &(usize, &Entry)| entry.key != key || (keep_earlier && Some(*index) != last);
    let entries = block.entries.iter().enumerate().filter(is_other).map(|(_, entry)| &stored[entry.span.clone()]);
    std::iter::once(&stored[block.head.clone()]).chain(entries).chain([&stored[block.tail.clone()]]).collect()
}

/// Whether `found` is what was meant by `wanted`; a string may be written in any style.
fn reads_back(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Scalar { text, plain: true }, Value::Scalar { text: other, plain }) => *plain && text == other,
        (Value::Scalar { text, plain: false }, Value::Scalar { text: other, .. }) => text == other,
        (Value::List(items), Value::List(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(item, other)| reads_back(item, other))
        }
        (Value::Map(pairs), Value::Map(others)) => {
            let same = |((key, value), (other, found)): (&(String, Value), &(String, Value))| {
                key == other && reads_back(value, found)
            };
            pairs.len() == others.len() && pairs.iter().zip(others).all(same)
        }
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

fn can_stand_alone(body: &str) -> bool {
    lines::bom_len(body) == 0 && read(body).is_none()
}

fn splice(stored: &str, span: Range<usize>, text: &str) -> String {
    let mut after = String::with_capacity(stored.len() + text.len());
    after.push_str(&stored[..span.start]);
    after.push_str(text);
    after.push_str(&stored[span.end..]);
    after
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
