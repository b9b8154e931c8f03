//! Taking a changed view back: what the caller did not change keeps its exact bytes.

mod body;
mod equals;
mod header;
mod placeholders;

use std::borrow::Cow;

use crate::align::align;
use crate::frontmatter::{self, Frontmatter, FrontmatterError};
use crate::lines;
use crate::view::{Shown, ViewOptions};
pub(crate) use body::Origin;
pub(crate) use placeholders::Placeholders;

/// A text to store, and what became of what text cannot say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The text to store.
    pub text: String,
    /// Matches that [`edit`](crate::edit) replaced; 0 for [`merge`].
    pub replacements: usize,
    /// Managed keys that the new block held; they were not changed.
    pub ignored_keys: Vec<String>,
    /// Elements that the text had and has no more, neither by placeholder nor written out; equal ones are counted.
    pub dropped: Vec<DroppedBlock>,
}

/// An element that a new text no longer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedBlock {
    /// The id its placeholder had.
    pub id: String,
    /// Its label.
    pub label: String,
}

/// Why a new text cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A placeholder that stands for no element of the note, or for one more than there are.
    #[error("placeholder `{id}` stands for no element of this note")]
    UnknownBlock {
        /// The id in the placeholder.
        id: String,
    },
    /// A placeholder that is there twice.
    #[error("placeholder `{id}` is in the text twice")]
    RepeatedBlock {
        /// The id in the placeholder.
        id: String,
    },
    /// The fence of a placeholder is never closed.
    #[error("the fence of placeholder `{id}` is not closed")]
    UnclosedBlock {
        /// The id in the placeholder.
        id: String,
    },
    /// Something was written into a placeholder, or its kind was changed.
    #[error("placeholder `{id}` was edited, and what it stands for is not text")]
    EditedBlock {
        /// The id in the placeholder.
        id: String,
    },
    /// Where the placeholder stands now, its content would read differently.
    #[error("element `{id}` cannot be moved there: its content would change")]
    Unmovable {
        /// The id in the placeholder.
        id: String,
    },
    /// The new frontmatter block does not parse.
    #[error("the frontmatter cannot be read: line {line}: {message}")]
    InvalidFrontmatter {
        /// 1-based line in the view.
        line: usize,
        /// What is wrong there.
        message: String,
    },
}

impl From<FrontmatterError> for MergeError {
    fn from(error: FrontmatterError) -> Self {
        let (line, message) = match error {
            FrontmatterError::Invalid { line, message } => (line, message),
            FrontmatterError::Unwritable { .. } => (1, error.to_string()),
        };
        MergeError::InvalidFrontmatter { line, message }
    }
}

/// Takes `new_text`, a changed view of `stored`, back: the text to store.
///
/// A view that was not changed gives `stored`, byte for byte. Lines that are in both keep their stored bytes; new ones
/// take the file's dominant line ending. A block at the start replaces the own keys, an empty one removes them, none
/// keeps them; managed keys stay where they are. Refuses placeholders that are unknown, there twice, edited, never
/// closed or put where their element would read differently, and frontmatter that does not parse. What was stored may
/// be taken back again: it gives the same text.
///
/// ```
/// use vault_markdown::{ViewOptions, merge};
/// let stored = "---\ntitle: Fern\nlight: shade\n---\nWater.\n";
/// let new = "---\ntype: Plant\nlight: sun\ntitle: Moss\n---\nWater.\n";
/// let merged = merge(stored, new, &ViewOptions::default()).unwrap();
/// assert_eq!(merged.text, "---\ntitle: Fern\ntype: Plant\nlight: sun\n---\nWater.\n");
/// assert_eq!(merged.ignored_keys, ["title"]);
/// ```
pub fn merge(stored: &str, new_text: &str, options: &ViewOptions) -> Result<Merged, MergeError> {
    let shown = Shown::of(stored, options);
    let new = incoming(new_text, &shown.view.text);
    let new = new.strip_prefix('\u{feff}').unwrap_or(&new);
    if new == shown.view.text {
        return Ok(unchanged(&shown));
    }
    store(&shown, new, options, |body_start, placeholders| body_origins(&shown, &new[body_start..], placeholders))
}

/// `text` with `\n` line ends, as the view has them, unless the view itself holds `\r\n`.
pub(crate) fn incoming<'t>(text: &'t str, view: &str) -> Cow<'t, str> {
    if view.contains("\r\n") { Cow::Borrowed(text) } else { lines::to_lf(text) }
}

pub(crate) fn unchanged(shown: &Shown) -> Merged {
    Merged { text: shown.stored.to_owned(), ..Merged::default() }
}

/// Where the lines of a new body come from, by comparison with the old one.
///
/// A body whose line ends are all alike needs none: a line written anew has the same bytes as one that was kept.
fn body_origins(shown: &Shown, new_body: &str, placeholders: &Placeholders) -> Vec<Origin> {
    if lines::uniform_endings(shown.stored) {
        return vec![Origin::New; lines::n_lines(new_body)];
    }
    let old: Vec<&str> = shown.view.text[shown.header_len..].split_inclusive('\n').collect();
    let new = body::lines_as_shown(shown, &old, new_body, placeholders);
    let new: Vec<&str> = new.iter().map(|line| &**line).collect();
    align(&old, &new).into_iter().map(|line| line.map_or(Origin::New, Origin::Line)).collect()
}

/// Stores the view `new`; `origins` says, given where its body starts, where the lines of that come from.
pub(crate) fn store(
    shown: &Shown,
    new: &str,
    options: &ViewOptions,
    origins: impl FnOnce(usize, &Placeholders) -> Vec<Origin>,
) -> Result<Merged, MergeError> {
    let ending = lines::dominant_ending(shown.stored);
    let header = header::merge(shown, new, ending)?;
    let new_body = &new[header.body_start..];
    let placeholders = Placeholders::find(shown, new_body, options)?;
    let body = body::rebuild(shown, new_body, &origins(header.body_start, &placeholders), &placeholders, ending);
    placeholders.check_contents(shown, &body, options)?;
    let bom = &shown.stored[..lines::bom_len(shown.stored)];
    Ok(Merged {
        text: join(bom, &header.block, &body, ending),
        replacements: 0,
        ignored_keys: header.ignored_keys,
        dropped: placeholders.dropped(shown),
    })
}

/// A body that would itself read as frontmatter, or begin with a byte-order mark, gets an empty block in front.
pub(crate) fn join(bom: &str, block: &str, body: &str, ending: &str) -> String {
    let bare = block.is_empty();
    let fence_is_open = !bare && !block.ends_with('\n') && !body.is_empty();
    let text = [bom, block, if fence_is_open { ending } else { "" }, body].concat();
    let starts_wrong = (bom.is_empty() && lines::bom_len(body) > 0) || frontmatter::read(&text).is_some();
    if bare && starts_wrong { format!("{bom}---{ending}---{ending}{body}") } else { text }
}

impl Shown<'_> {
    /// The stored block, byte for byte.
    pub(crate) fn stored_block(&self) -> &str {
        self.frontmatter.as_ref().map_or("", |block: &Frontmatter| &self.stored[block.span.clone()])
    }
}
