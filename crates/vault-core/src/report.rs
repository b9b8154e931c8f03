//! What every change of a note tells its caller.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use vault_markdown::Merged;

use crate::call::{Call, OperationId};
use crate::catalog::title;
use crate::error::VaultError;
use crate::links;
use crate::path::VaultPath;
use crate::shown::one_line;
use crate::vault::{Draft, Saved, Vault};
use crate::version::Version;

/// The note after a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteReport {
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// Ids of the elements that the note has, each shown as a placeholder.
    pub placeholders: Vec<String>,
    /// Elements that the new text no longer has, neither by placeholder nor written out.
    pub dropped_blocks: Vec<DroppedBlock>,
    /// Version of the note now; none when the text you hold is not the present one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Frontmatter keys of the text that were left out: the vault keeps them itself.
    pub ignored_frontmatter_keys: Vec<String>,
    /// Names in `[[…]]` that match no note.
    pub unresolved_wikilinks: Vec<String>,
    /// Name of this change in the vault's log; none when nothing had to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// An element that the text no longer has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DroppedBlock {
    /// Id of the element.
    pub id: String,
    /// What it was called.
    pub label: String,
}

/// A link that a new note caught.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CapturedLink {
    /// Note that holds the link.
    pub path: String,
    /// Target as written.
    pub target: String,
}

/// Describes a note after a change that gave `merged`, which was stored as `draft`. Cannot fail: the change is made.
pub(crate) fn write_report(
    vault: &Vault,
    path: &VaultPath,
    merged: Merged,
    draft: &Draft,
    saved: Saved,
    call: &Call,
) -> WriteReport {
    vault.keep_served(path, &saved.version, &draft.text);
    let dropped = merged.dropped.into_iter().map(|block| DroppedBlock { id: block.id, label: block.label });
    WriteReport {
        path: path.to_string(),
        title: title(path, Some(&draft.document)),
        placeholders: draft.document.elements.iter().map(|element| element.id.clone()).collect(),
        dropped_blocks: dropped.collect(),
        version: Some(saved.version),
        ignored_frontmatter_keys: merged.ignored_keys,
        unresolved_wikilinks: links::unresolved(&vault.known_catalog(), path, &draft.document),
        operation: saved.changed.then(|| call.operation.clone()),
    }
}

/// Makes sure, before a text is stored, that its links can be told about afterwards.
pub(crate) fn prepare(vault: &Vault, draft: &Draft, call: &Call) -> Result<(), VaultError> {
    match links::has_names(&draft.document) {
        true => vault.recent_catalog(call).map(drop),
        false => Ok(()),
    }
}

/// Writes one line for each of `items`.
pub(crate) fn show_list(f: &mut fmt::Formatter<'_>, what: &str, items: &[String]) -> fmt::Result {
    items.iter().try_for_each(|item| writeln!(f, "  {what}: {}", one_line(item)))
}

impl fmt::Display for WriteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.operation.is_some() { "changed" } else { "unchanged:" };
        writeln!(f, "{verb} {}", self.path)?;
        for block in &self.dropped_blocks {
            writeln!(f, "  no longer in the note: {} ({})", one_line(&block.label), block.id)?;
        }
        show_list(f, "left out of the frontmatter", &self.ignored_frontmatter_keys)?;
        show_list(f, "matches no note", &self.unresolved_wikilinks)
    }
}
