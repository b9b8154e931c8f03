//! The text of a new note, from the Markdown that a caller wrote.

use crate::frontmatter::{self, Value, add_to_list, set_key, unset_keys};
use crate::lines;
use crate::merge::{MergeError, Placeholders, join};
use crate::view::{DEFAULT_TYPE_LINE, Shown, ViewOptions};

/// A new note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// The text to store.
    pub text: String,
    /// Managed keys of the caller's block that a note does not take from it.
    pub ignored_keys: Vec<String>,
}

/// Keys that are never taken from a block: they have arguments, or are the file's business.
const IGNORED_KEYS: [&str; 3] = ["title", "updated", "attachments"];

/// Makes the text of a new note, with `\n` line ends.
///
/// A block at the start of `markdown` stays one block: own keys, `pinned`, `archived`, `created` and `tags` are taken
/// from it, and `tags` are added to it. `title` is written when given. Refuses a block that does not parse, and
/// placeholders, which stand for nothing in a new note.
///
/// ```
/// let composed = vault_markdown::compose("---\nowner: crew\ntitle: x\n---\nBody.\n", None, &["river".into()]).unwrap();
/// assert_eq!(composed.text, "---\nowner: crew\ntags:\n  - river\n---\nBody.\n");
/// assert_eq!(composed.ignored_keys, ["title"]);
/// ```
pub fn compose(markdown: &str, title: Option<&str>, tags: &[String]) -> Result<Composed, MergeError> {
    let mut text = lines::to_lf(lines::without_bom(markdown)).into_owned();
    let mut ignored_keys = Vec::new();
    if let Some(block) = frontmatter::readable(&text)? {
        let ignored = IGNORED_KEYS.into_iter().filter(|key| block.entry(key).is_some());
        ignored_keys.extend(ignored.map(str::to_owned));
        let mut types = block.entries.iter().filter(|entry| entry.key == "type");
        let is_default = types.all(|entry| text[entry.content.clone()] == *DEFAULT_TYPE_LINE);
        let unset: Vec<&str> = ignored_keys.iter().map(String::as_str).chain(is_default.then_some("type")).collect();
        text = match block.yaml.is_empty() {
            true => join("", "", &text[block.span.end..], "\n"),
            false => unset_keys(&text, &unset)?,
        };
    } else {
        text = join("", "", &text, "\n");
    }
    let empty = Shown::of("", &ViewOptions::default());
    Placeholders::find(&empty, body_of(&text), &ViewOptions::default())?;
    text = add_to_list(&text, "tags", tags)?;
    if let Some(title) = title {
        text = set_key(&text, "title", &Value::string(title))?;
    }
    Ok(Composed { text, ignored_keys })
}

fn body_of(text: &str) -> &str {
    frontmatter::read(text).map_or(text, |block| &text[block.span.end..])
}
