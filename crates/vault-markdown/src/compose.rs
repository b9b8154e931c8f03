//! The text of a new note, from the Markdown that a caller wrote.

use crate::frontmatter::{self, FrontmatterError, FrontmatterProblem, Value, add_to_list, set_key, unset_key};
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
    /// The tags of the note, inline ones included.
    pub tags: Vec<String>,
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
    if let Some(block) = frontmatter::read(&text) {
        if let Some(FrontmatterProblem { line, message }) = block.problem().cloned() {
            return Err(MergeError::InvalidFrontmatter { line, message });
        }
        let is_default_type = |entry: &&frontmatter::Entry| text[entry.content.clone()] == *DEFAULT_TYPE_LINE;
        let default_type = block.entries.iter().find(is_default_type).map(|_| "type");
        for key in IGNORED_KEYS.into_iter().filter(|key| block.entry(key).is_some()) {
            ignored_keys.push(key.to_owned());
        }
        for key in ignored_keys.iter().map(String::as_str).chain(default_type) {
            text = unset_key(&text, key).map_err(invalid)?;
        }
        if block.entries.is_empty() && block.yaml.is_empty() {
            text = join("", "", &text[block.span.end..], "\n");
        }
    } else {
        text = join("", "", &text, "\n");
    }
    let empty = Shown::of("", &ViewOptions::default());
    Placeholders::find(&empty, body_of(&text), &ViewOptions::default())?;
    text = add_to_list(&text, "tags", tags).map_err(invalid)?;
    if let Some(title) = title {
        text = set_key(&text, "title", &Value::string(title)).map_err(invalid)?;
    }
    let tags = crate::tags::tags(&crate::parse(&text));
    Ok(Composed { text, ignored_keys, tags })
}

fn body_of(text: &str) -> &str {
    frontmatter::read(text).map_or(text, |block| &text[block.span.end..])
}

fn invalid(error: FrontmatterError) -> MergeError {
    let (line, message) = match error {
        FrontmatterError::Invalid { line, message } => (line, message),
        FrontmatterError::Unwritable { .. } => (1, error.to_string()),
    };
    MergeError::InvalidFrontmatter { line, message }
}
