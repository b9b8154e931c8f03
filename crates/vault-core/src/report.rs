//! What every change of a note tells its caller, and how the refusals of the pure room become the vault's.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use vault_markdown::{Document, EditError, FrontmatterError, LinkKind, MergeError, Merged};

use crate::call::{Call, OperationId};
use crate::catalog::{LinkForm, LinkTo, title};
use crate::error::{BlockProblem, VaultError};
use crate::links;
use crate::path::VaultPath;
use crate::vault::{Saved, Text, Vault};
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
    /// Elements whose placeholder was missing in the new text: they went with it.
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

/// An element that went with its placeholder.
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

impl Vault {
    /// Reads a note that a caller wants to change: refuses unless it is still what `version` names.
    pub(crate) fn read_current(&self, path: &VaultPath, version: Option<&str>) -> Result<Text, VaultError> {
        let read =
            version.map(Version::from_caller).ok_or_else(|| VaultError::VersionRequired { path: path.clone() })?;
        let stored = self.read_stored(path)?;
        match stored.version == read {
            true => Ok(stored),
            false => Err(self.stale(path, &read, &stored)),
        }
    }

    /// Refuses with the way from the text that the caller read to the present one, when we still know that text.
    pub(crate) fn stale(&self, path: &VaultPath, read: &Version, now: &Text) -> VaultError {
        let before = self.served_text(path, read);
        let diff = before.map(|before| {
            let view = vault_markdown::view(&now.text, &Default::default()).text;
            self.keep_served(path, &now.version, &view);
            vault_markdown::unified_diff(&before, &view)
        });
        let diff = diff.filter(|diff| diff.len() as u64 <= crate::limits::MAX_DIFF_BYTES);
        VaultError::StaleVersion { path: path.clone(), current: diff.is_some().then(|| now.version.clone()), diff }
    }
}

/// Describes a note after a change that gave `merged`.
pub(crate) fn write_report(
    vault: &Vault,
    path: VaultPath,
    merged: Merged,
    saved: Saved,
    call: &Call,
) -> Result<WriteReport, VaultError> {
    let document = vault_markdown::parse(&merged.text);
    let view = vault_markdown::view(&merged.text, &Default::default());
    vault.keep_served(&path, &saved.version, &view.text);
    let dropped = merged.dropped.into_iter().map(|block| DroppedBlock { id: block.id, label: block.label });
    Ok(WriteReport {
        title: title(&path, Some(&document)),
        placeholders: merged.placeholders,
        dropped_blocks: dropped.collect(),
        version: Some(saved.version),
        ignored_frontmatter_keys: merged.ignored_keys,
        unresolved_wikilinks: unresolved(vault, &path, &document, call)?,
        operation: saved.changed.then(|| call.operation.clone()),
        path: path.to_string(),
    })
}

/// Returns the names in `[[…]]` of `document` that match no note or file, each once. As far as the catalog knew a
/// moment ago.
pub(crate) fn unresolved(
    vault: &Vault,
    path: &VaultPath,
    document: &Document,
    call: &Call,
) -> Result<Vec<String>, VaultError> {
    let names: Vec<&str> =
        document.links.iter().filter(|link| is_by_name(link.kind)).map(|link| link.target.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let catalog = vault.recent_catalog(call)?;
    let mut unresolved: Vec<String> = Vec::new();
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let link = LinkTo { target: name.into(), form: LinkForm::Name };
        if links::resolve(&catalog, path, &link).is_none() && !unresolved.iter().any(|known| known == name) {
            unresolved.push(name.to_owned());
        }
    }
    Ok(unresolved)
}

/// Returns the links elsewhere that lead to the note at `path` and led nowhere, or to another file, before it was there.
pub(crate) fn captured(vault: &Vault, path: &VaultPath, call: &Call) -> Result<Vec<CapturedLink>, VaultError> {
    let catalog = vault.recent_catalog(call)?;
    let mut captured = Vec::new();
    for from in catalog.may_link_to(path).into_iter().filter(|from| *from != path) {
        let links = catalog.notes.get(from).map_or(&[][..], |note| &note.links);
        for link in links.iter().filter(|link| links::resolve(&catalog, from, link).as_ref() == Some(path)) {
            captured.push(CapturedLink { path: from.to_string(), target: link.target.to_string() });
        }
    }
    Ok(captured)
}

fn is_by_name(kind: LinkKind) -> bool {
    matches!(kind, LinkKind::Wikilink | LinkKind::WikiEmbed | LinkKind::Frontmatter)
}

/// Names the note in a refused merge.
pub(crate) fn merge_error(path: &VaultPath, error: MergeError) -> VaultError {
    let (id, problem) = match error {
        MergeError::InvalidFrontmatter { line, message } => {
            return VaultError::InvalidFrontmatter { path: path.to_string(), line, problem: message };
        }
        MergeError::UnknownBlock { id, twice: false } => (id, BlockProblem::Unknown),
        MergeError::UnknownBlock { id, twice: true } => (id, BlockProblem::Twice),
        MergeError::UnclosedBlock { id } => (id, BlockProblem::Unclosed),
        MergeError::Unmovable { id } => (id, BlockProblem::Unmovable),
    };
    VaultError::UnknownBlock { path: path.clone(), id, problem }
}

/// Names the note in a refused edit.
pub(crate) fn edit_error(path: &VaultPath, error: EditError) -> VaultError {
    match error {
        EditError::NoMatch => VaultError::NoMatch { path: path.clone() },
        EditError::NotUnique { lines } => VaultError::NotUnique { path: path.clone(), lines },
        EditError::Empty => VaultError::InvalidArgument {
            argument: "old_string".into(),
            problem: "is empty: name the text to replace".into(),
        },
        EditError::Merge(error) => merge_error(path, error),
    }
}

/// Names the note in a refused change of its frontmatter.
pub(crate) fn frontmatter_error(path: &VaultPath, error: FrontmatterError) -> VaultError {
    let (line, problem) = match error {
        FrontmatterError::Invalid { line, message } => (line, message),
        FrontmatterError::Unwritable { .. } => (1, error.to_string()),
    };
    VaultError::InvalidFrontmatter { path: path.to_string(), line, problem }
}

/// Writes one line for each of `items`.
pub(crate) fn show_list(f: &mut fmt::Formatter<'_>, what: &str, items: &[String]) -> fmt::Result {
    items.iter().try_for_each(|item| writeln!(f, "  {what}: {item}"))
}

impl fmt::Display for WriteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.operation.is_some() { "changed" } else { "unchanged:" };
        writeln!(f, "{verb} {}", self.path)?;
        for block in &self.dropped_blocks {
            writeln!(f, "  removed with its placeholder: {} ({})", block.label, block.id)?;
        }
        show_list(f, "left out of the frontmatter", &self.ignored_frontmatter_keys)?;
        show_list(f, "matches no note", &self.unresolved_wikilinks)
    }
}
