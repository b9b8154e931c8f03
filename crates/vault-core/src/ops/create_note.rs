//! `create_note`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::call::{Call, OperationId};
use crate::error::VaultError;
use crate::naming::{self, NOTE_EXTENSION};
use crate::path::{VaultPath, folded};
use crate::report::{self, CapturedLink};
use crate::switches::Switch;
use crate::tags;
use crate::vault::Vault;
use crate::version::Version;

/// Create a note and its folder; a taken name gets a number.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateNote {
    /// Title, e.g. `Meeting with Ada`; the file name follows it.
    pub title: String,
    /// Text; may begin with a frontmatter block.
    #[serde(default)]
    pub markdown: String,
    /// Folder, e.g. `Projects`; top when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Tags to add.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl CreateNote {
    /// Asks for a note at the top of the vault.
    pub fn new(title: &str, markdown: &str) -> CreateNote {
        CreateNote { title: title.to_owned(), markdown: markdown.to_owned(), ..CreateNote::default() }
    }
}

/// The note that was made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateNoteResponse {
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// Tags, from the frontmatter and the text.
    pub tags: Vec<String>,
    /// Pass it to the tool that changes the note.
    pub version: Version,
    /// Names in `[[…]]` that match no note.
    pub unresolved_wikilinks: Vec<String>,
    /// Frontmatter keys of the text that were left out: the vault keeps them itself.
    pub ignored_frontmatter_keys: Vec<String>,
    /// Links elsewhere that now lead to this note.
    pub captured_links: Vec<CapturedLink>,
    /// Name of this change in the vault's log.
    pub operation: OperationId,
}

impl Operation for CreateNote {
    const NAME: &'static str = "create_note";
    const EFFECT: Switch = Switch::Write;
    type Response = CreateNoteResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<CreateNoteResponse, VaultError> {
        let name = naming::file_name(&self.title)?;
        let tags = tags::parse_all(&self.tags)?;
        let title = name.differs.then(|| self.title.trim());
        let composed = vault_markdown::compose(&self.markdown, title, &tags)
            .map_err(|error| report::merge_error(&VaultPath::root().join(&name.stem), error))?;
        let folder = vault.place_for_folder(self.folder.as_deref().unwrap_or(""))?;
        let (path, version) = create(vault, &folder, &name.stem, &composed.text, call)?;
        let document = vault_markdown::parse(&composed.text);
        let view = vault_markdown::view(&composed.text, &Default::default());
        vault.keep_served(&path, &version, &view.text);
        Ok(CreateNoteResponse {
            title: crate::catalog::title(&path, Some(&document)),
            tags: vault_markdown::tags(&document),
            version,
            unresolved_wikilinks: report::unresolved(vault, &path, &document, call)?,
            ignored_frontmatter_keys: composed.ignored_keys,
            captured_links: report::captured(vault, &path, call)?,
            operation: call.operation.clone(),
            path: path.to_string(),
        })
    }
}

/// Takes the first free name, and the next one when another program was faster.
fn create(
    vault: &Vault,
    folder: &VaultPath,
    stem: &str,
    text: &str,
    call: &Call,
) -> Result<(VaultPath, Version), VaultError> {
    let mut taken = names_in(vault, folder)?;
    loop {
        call.check()?;
        let name = naming::free_name(stem, NOTE_EXTENSION, |name| taken.iter().any(|known| known == name));
        let path = VaultPath::parse(folder.join(&name).as_str())
            .map_err(|problem| VaultError::InvalidPath { path: folder.join(&name).to_string(), problem })?;
        vault.check_visible(&path)?;
        match vault.create(&path, text, CreateNote::NAME, call) {
            Ok(version) => return Ok((path, version)),
            Err(VaultError::Exists { .. }) => taken.push(folded(&name)),
            Err(error) => return Err(error),
        }
    }
}

fn names_in(vault: &Vault, folder: &VaultPath) -> Result<Vec<String>, VaultError> {
    match vault.store().list(folder) {
        Ok(listing) => Ok(listing.entries.iter().map(|entry| folded(&entry.name)).collect()),
        Err(VaultError::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl fmt::Display for CreateNoteResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "created {}", self.path)?;
        report::show_list(f, "matches no note", &self.unresolved_wikilinks)?;
        report::show_list(f, "left out of the frontmatter", &self.ignored_frontmatter_keys)?;
        let captured: Vec<String> =
            self.captured_links.iter().map(|link| format!("{} in {}", link.target, link.path)).collect();
        report::show_list(f, "now leads here", &captured)
    }
}
