//! The YAML block at the top of a note: where it is, its keys as line segments, its values.
//!
//! A block is cut by lines, never re-rendered. Each key owns the lines from the first comment of the run right above it
//! to the blank lines below it, so that moving, changing or hiding a key takes its comments along.

mod change;
mod list;
mod list_change;
mod render;
mod scalar;
mod segments;
mod yaml;

use std::ops::Range;

use crate::lines;
pub use change::{FrontmatterError, set_key, unset_key};
pub(crate) use change::{readable, unset_keys};
pub(crate) use list::items as list_items;
pub use list_change::{add_to_list, remove_from_list};
pub(crate) use scalar::{quote_like, render as render_string};

/// Frontmatter keys that callers get as fields; the view hides them and never changes them.
pub const MANAGED_KEYS: [&str; 7] = ["title", "tags", "pinned", "archived", "created", "updated", "attachments"];

/// The frontmatter block of a note. Spans are byte ranges into the stored text.
#[derive(Clone, Debug, PartialEq)]
pub struct Frontmatter {
    /// The block with both fence lines and their line ends.
    pub span: Range<usize>,
    /// What lies between the fence lines.
    pub yaml: Range<usize>,
    /// Whether the block can be read and changed.
    pub state: FrontmatterState,
    /// Blank lines and indented comments before the first key.
    pub head: Range<usize>,
    /// The keys in order of appearance; empty when the block is [`FrontmatterState::Broken`].
    pub entries: Vec<Entry>,
    /// Column-0 comments after the last key, with what is between them.
    pub tail: Range<usize>,
    /// Keys and values; also those of a block that parses but cannot be cut into lines.
    pub values: Vec<(String, Value)>,
}

/// What a frontmatter block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontmatterState {
    /// A mapping whose keys each start their own line.
    Mapping,
    /// Nothing but blank lines and comments.
    Empty,
    /// Does not parse, or cannot be cut into lines; it is only ever kept or replaced whole.
    Broken(FrontmatterProblem),
}

/// Why a block cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontmatterProblem {
    /// 1-based line in the file.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// One top-level key with the lines that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key, unquoted.
    pub key: String,
    /// Comments above, key, value, blank lines below.
    pub span: Range<usize>,
    /// The key's line and the lines of its value, without the comments above and the blank lines below.
    pub content: Range<usize>,
}

/// A frontmatter value. Scalars keep their text: nothing is turned into a number or a date.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value, `~` or `null`.
    Null,
    /// One scalar; `plain` when it was written without quotes (so that `true` differs from `"true"`).
    Scalar {
        /// The text, unquoted and unescaped.
        text: String,
        /// Written without quotes and without a tag.
        plain: bool,
    },
    /// A list in either style.
    List(Vec<Value>),
    /// A mapping in either style; keys that are no scalars are empty strings.
    Map(Vec<(String, Value)>),
    /// A reference to an anchor, which is never expanded.
    Alias,
}

impl Value {
    /// A string, to be quoted where YAML would read it as something else.
    ///
    /// ```
    /// use vault_markdown::{Value, set_key};
    /// let stored = set_key("Text.\n", "title", &Value::string("1984")).unwrap();
    /// assert_eq!(stored, "---\ntitle: '1984'\n---\nText.\n");
    /// ```
    pub fn string(text: impl Into<String>) -> Value {
        Value::Scalar { text: text.into(), plain: false }
    }

    /// The text of a scalar.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}

impl Frontmatter {
    /// The value of `key`; of its last occurrence when it is there twice.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The scalars of `key`, which may hold one or a list of them.
    ///
    /// ```
    /// let document = vault_markdown::parse("---\naliases: [fern, 'the fern']\nup: moss\n---\n");
    /// let frontmatter = document.frontmatter.unwrap();
    /// assert_eq!(frontmatter.strings("aliases"), ["fern", "the fern"]);
    /// assert_eq!(frontmatter.strings("up"), ["moss"]);
    /// ```
    pub fn strings(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Scalar { text, .. }) => vec![text.clone()],
            Some(Value::List(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether `key` is true: `true`, or one of YAML 1.1's `yes` and `on`, in any case.
    pub fn flag(&self, key: &str) -> bool {
        let text = self.value(key).and_then(Value::as_str).unwrap_or("");
        ["true", "yes", "on"].iter().any(|word| text.eq_ignore_ascii_case(word))
    }

    /// The last entry of `key`.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// The problem of a block that cannot be read.
    pub fn problem(&self) -> Option<&FrontmatterProblem> {
        match &self.state {
            FrontmatterState::Broken(problem) => Some(problem),
            _ => None,
        }
    }
}

/// Reads the block at the start of `stored`, after a byte-order mark.
///
/// `---` … `---` is frontmatter if it is a YAML mapping, or empty, or fails to parse while its first line that is
/// neither blank nor a comment looks like `key:`. Otherwise it is a horizontal rule.
pub(crate) fn read(stored: &str) -> Option<Frontmatter> {
    let (span, yaml) = fences(stored)?;
    let text = lines::to_lf(&stored[yaml.clone()]);
    let block = |state| Frontmatter {
        span: span.clone(),
        state,
        head: yaml.start..yaml.start,
        entries: Vec::new(),
        tail: yaml.end..yaml.end,
        values: Vec::new(),
        yaml: yaml.clone(),
    };
    match yaml::read(&text) {
        yaml::Reading::Other => None,
        yaml::Reading::Empty => Some(segments::split_empty(stored, block(FrontmatterState::Empty))),
        yaml::Reading::Mapping(mapping) => Some(segments::split(stored, block(FrontmatterState::Mapping), mapping)),
        yaml::Reading::Failed(line, message) => starts_like_a_mapping(&text)
            .then(|| block(FrontmatterState::Broken(FrontmatterProblem { line: line + 1, message }))),
    }
}

/// The whole block and what is between its fences.
fn fences(stored: &str) -> Option<(Range<usize>, Range<usize>)> {
    let start = lines::bom_len(stored);
    if !stored[start..].starts_with("---") {
        return None;
    }
    let mut ranges = lines::line_ranges(stored, start..stored.len());
    let open = ranges.next().filter(|line| is_fence(&stored[line.clone()]) && stored[line.clone()].ends_with('\n'))?;
    let close = ranges.find(|line| is_fence(&stored[line.clone()]))?;
    Some((start..close.end, open.end..close.start))
}

/// What is told about lines at the top that were a block once, or look like it.
pub(crate) const BLOCK_RULE: &str = "every line of the block between the `---` lines at the top must be `key: value`; \
                                     to begin the text with a rule, leave the block that was read in front of it";

/// Whether `text` begins as a block does: a line `---`, and another one below it.
pub(crate) fn has_fences(text: &str) -> bool {
    fences(text).is_some()
}

pub(crate) fn begins_with_fence(text: &str) -> bool {
    text.lines().next().is_some_and(is_fence)
}

/// The lines that stand where a block would: from the first that is not blank to the fence that closes it, or else to
/// the next blank line. Each with its 1-based number.
pub(crate) fn top_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let trimmed = text.trim_start_matches(['\n', ' ', '\t']);
    let n_lines = fences(trimmed).map(|(_, yaml)| lines::n_lines(&trimmed[yaml]) + 2);
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let from_first = numbered.skip_while(|(_, line)| line.trim().is_empty()).enumerate();
    from_first
        .take_while(move |(index, (_, line))| {
            n_lines.map_or_else(|| !line.trim().is_empty(), |n_lines| *index < n_lines)
        })
        .map(|(_, line)| line)
}

/// 1-based line of the first of the [`top_lines`] that keeps them from being a block.
pub(crate) fn odd_line(text: &str) -> usize {
    let is_odd = |line: &str| {
        !line.trim().is_empty() && !line.starts_with(['#', ' ', '\t']) && !is_fence(line) && !is_key_line(line)
    };
    top_lines(text).find(|(_, line)| is_odd(line)).map_or(1, |(number, _)| number)
}

/// Whether a line begins as an entry does: `key:` or `key: value`.
pub(crate) fn is_key_line(line: &str) -> bool {
    let key = line.split_once(": ").map_or_else(|| line.trim_end().strip_suffix(':'), |(key, _)| Some(key));
    key.is_some_and(|key| !key.is_empty() && !key.starts_with([' ', '\t', '-', '[', '{', '>', '|']))
}

fn is_fence(raw_line: &str) -> bool {
    lines::content(raw_line).0.trim_end_matches([' ', '\t']) == "---"
}

fn starts_like_a_mapping(yaml: &str) -> bool {
    let is_content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    yaml.lines().find(is_content).is_some_and(is_key_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(stored: &str) -> Option<FrontmatterState> {
        read(stored).map(|frontmatter| frontmatter.state)
    }

    fn broken(line: usize, message: &str) -> Option<FrontmatterState> {
        Some(FrontmatterState::Broken(FrontmatterProblem { line, message: message.to_owned() }))
    }

    #[test]
    fn a_mapping_or_nothing_between_fences_is_frontmatter() {
        assert_eq!(state("---\na: 1\n---\n"), Some(FrontmatterState::Mapping));
        assert_eq!(state("\u{feff}--- \r\na: 1\r\n---\t\r\nx"), Some(FrontmatterState::Mapping));
        assert_eq!(state("---\n---"), Some(FrontmatterState::Empty));
        assert_eq!(state("---\n\n# note to self\n---\n"), Some(FrontmatterState::Empty));
    }

    #[test]
    fn prose_between_rules_and_an_open_fence_are_not() {
        assert_eq!(state("---\n\nJust a sentence.\n\n---\n"), None);
        assert_eq!(state("---\n- a\n---\n"), None);
        assert_eq!(state("---\na: 1\n"), None);
        assert_eq!(state("\n---\na: 1\n---\n"), None);
        assert_eq!(state("----\na: 1\n----\n"), None);
        assert_eq!(state("---\n\"quoted prose\" and [more\n---\n"), None);
        assert_eq!(state("---"), None);
    }

    #[test]
    fn a_failing_block_that_begins_with_a_key_says_where() {
        assert!(matches!(
            state("---\nkeep: yes\na: \"open\n---\n"),
            Some(FrontmatterState::Broken(FrontmatterProblem { line: 3.., .. }))
        ));
        assert!(matches!(state("---\n# mine\na: [\n---\n"), Some(FrontmatterState::Broken(_))));
    }

    #[test]
    fn a_block_that_cannot_be_cut_by_lines_is_kept_whole() {
        let message = "frontmatter keys must each start their own line";
        for yaml in ["{a: 1, b: 2}", "? a\n: 1", "  a: 1\n  b: 2", "{\na: 1}", "&x\na: 1", "a: 1\rb: 2"] {
            let stored = format!("---\n{yaml}\n---\n");
            assert_eq!(state(&stored), broken(2, message), "{yaml:?}");
        }
        assert_eq!(read("---\n{a: 1}\n---\n").unwrap().strings("a"), ["1"]);
    }

    #[test]
    fn the_last_of_two_equal_keys_is_the_value() {
        let frontmatter = read("---\na: 1\na: 2\n---\n").unwrap();
        assert_eq!(frontmatter.strings("a"), ["2"]);
        assert_eq!(frontmatter.entries.len(), 2);
    }

    #[test]
    fn an_alias_bomb_stays_small() {
        let mut yaml = String::from("---\na: &a [x, x]\n");
        for (name, before) in ('b'..='z').zip('a'..='y') {
            yaml.push_str(&format!("{name}: &{name} [*{before}, *{before}]\n"));
        }
        yaml.push_str("---\n");
        assert_eq!(read(&yaml).unwrap().value("z"), Some(&Value::List(vec![Value::Alias, Value::Alias])));
    }
}
