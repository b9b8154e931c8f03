//! Changing one key of a block. Every change is read back before it is handed out.

use std::ops::Range;

use super::list::{self, Shape};
use super::{Entry, Frontmatter, FrontmatterProblem, FrontmatterState, Value, quote_like, read, render, scalar};
use crate::lines;

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
            (block.tail.start..block.tail.start, render::entry(key, value, ending).ok_or_else(unwritable)?)
        }
        (None, None) => {
            let entry = render::entry(key, value, ending).ok_or_else(unwritable)?;
            let start = lines::bom_len(stored);
            (start..start, format!("---{ending}{entry}---{ending}"))
        }
    };
    checked(stored, block.as_ref(), splice(stored, span, &text), &[key], Some(value)).ok_or_else(unwritable)
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
    unset_keys(stored, &[key])
}

/// [`unset_key`] for several keys at once.
pub(crate) fn unset_keys(stored: &str, keys: &[&str]) -> Result<String, FrontmatterError> {
    let is_gone = |entry: &&Entry| keys.contains(&entry.key.as_str());
    let Some(block) = readable(stored)? else { return Ok(stored.to_owned()) };
    let Some(first) = block.entries.iter().find(is_gone) else { return Ok(stored.to_owned()) };
    let mut after = stored[..block.yaml.start].to_owned();
    after.push_str(&stored[block.head.clone()]);
    for entry in block.entries.iter().filter(|entry| !is_gone(entry)) {
        after.push_str(&stored[entry.span.clone()]);
    }
    after.push_str(&stored[block.tail.clone()]);
    if after.len() == block.yaml.start && can_stand_alone(&stored[block.span.end..]) {
        after.truncate(block.span.start);
        after.push_str(&stored[block.span.end..]);
        return Ok(after);
    }
    after.push_str(&stored[block.yaml.end..]);
    checked(stored, Some(&block), after, keys, None)
        .ok_or_else(|| FrontmatterError::Unwritable { key: first.key.clone() })
}

/// The block of `stored`; refuses one that cannot be read.
pub(crate) fn readable(stored: &str) -> Result<Option<Frontmatter>, FrontmatterError> {
    match read(stored) {
        Some(Frontmatter { state: FrontmatterState::Broken(problem), .. }) => Err(problem.into()),
        block => Ok(block),
    }
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
                return Some((after_colon..after_colon, format!(" {}", render::scalar_text(value)?)));
            }
            _ => {}
        }
    }
    let after_colon = list::after_key(content)?;
    Some((after_colon..end_of_value(content), render::tail_of_key(value, 1, ending)?))
}

/// Where the comments on lines of their own begin that follow a value in a style that is understood.
fn end_of_value(content: &str) -> usize {
    if list::shape(content).is_none() {
        return content.len();
    }
    let is_comment = |line: &str| line.trim_start().starts_with('#') || line.trim().is_empty();
    let below: usize = content.split_inclusive('\n').rev().take_while(|line| is_comment(line)).map(str::len).sum();
    content.len() - below
}

fn in_quotes_of(token: &str, text: &str) -> String {
    let quote = token.chars().next().filter(|c| matches!(c, '"' | '\''));
    match (quote, quote_like(text, quote)) {
        (Some(quote), Some(inner)) => format!("{quote}{inner}{quote}"),
        _ => scalar::render(text),
    }
}

/// `after`, if in it `keys` read as `value` and all else of `stored`, whose block is `old`, is the same, byte for byte.
pub(super) fn checked(
    stored: &str,
    old: Option<&Frontmatter>,
    after: String,
    keys: &[&str],
    value: Option<&Value>,
) -> Option<String> {
    let new = read(&after).filter(|block| block.problem().is_none())?;
    let value_fits = keys.iter().all(|key| match (value, new.value(key)) {
        (Some(wanted), Some(found)) => reads_back(wanted, found),
        (None, None) => true,
        _ => false,
    });
    let others = |stored: &str, block| others(stored, block, keys, value.is_some());
    let old_body = old.map_or(lines::bom_len(stored), |block| block.span.end);
    let same = value_fits
        && others(&after, &new) == old.map_or_else(String::new, |block| others(stored, block))
        && after[new.span.end..] == stored[old_body..];
    same.then_some(after)
}

/// The lines of a block that a change of `keys` leaves alone. Of several equal keys only the last is set.
fn others(stored: &str, block: &Frontmatter, keys: &[&str], keep_earlier: bool) -> String {
    let is_one = |entry: &Entry| keys.contains(&entry.key.as_str());
    let last = block.entries.iter().rposition(is_one);
    let is_other = |(index, entry): &(usize, &Entry)| !is_one(entry) || (keep_earlier && Some(*index) != last);
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

pub(super) fn splice(stored: &str, span: Range<usize>, text: &str) -> String {
    let mut after = String::with_capacity(stored.len() + text.len());
    after.push_str(&stored[..span.start]);
    after.push_str(text);
    after.push_str(&stored[span.end..]);
    after
}

pub(super) fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
