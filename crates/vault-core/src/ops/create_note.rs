//! `create_note`.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::call::{Call, OperationId};
use crate::error::VaultError;
use crate::limits::MAX_NAME_TRIES;
use crate::links;
use crate::locate::{self, Locator};
use crate::naming::{self, NOTE_EXTENSION};
use crate::path::{VaultPath, folded};
use crate::refusals;
use crate::report::{self, CapturedLink};
use crate::switches::Switch;
use crate::tags;
use crate::vault::{Draft, Vault};
use crate::version::Version;

/// Create a note and its folder; a taken name gets a number.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateNote {
    /// Title; the file name follows it.
    pub title: String,
    /// Text, with or without frontmatter.
    #[serde(default)]
    pub markdown: String,
    /// Folder, e.g. `Work`; top when left out.
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

    fn version(response: &CreateNoteResponse) -> Option<&Version> {
        Some(&response.version)
    }

    fn run(self, vault: &Vault, call: &Call) -> Result<CreateNoteResponse, VaultError> {
        let name = naming::file_name(&self.title)?;
        let tags = tags::parse_all("tags", &self.tags)?;
        let locator = Locator::new(vault)?;
        let folder = locator.place_for_folder("folder", self.folder.as_deref().unwrap_or(""));
        let folder = folder.map_err(|refusal| match refusal {
            VaultError::Exists { path } => locate::not_a_folder("folder", &path),
            refusal => refusal,
        })?;
        let composed = vault_markdown::compose(&self.markdown, name.title.as_deref(), &tags)
            .map_err(|error| refusals::merge_error(&folder.join(&format!("{}{NOTE_EXTENSION}", name.stem)), error))?;
        let draft = Draft::of(composed.text);
        // Links that lead here are looked for in any case.
        vault.recent_catalog(call)?;
        let (path, version) = create(vault, &locator, &folder, &name.stem, &draft, call)?;
        vault.keep_served(&path, &version, &draft.text);
        let catalog = vault.known_catalog();
        let captured = links::leading_to(&catalog, &path).into_iter();
        Ok(CreateNoteResponse {
            path: path.to_string(),
            title: crate::catalog::title(&path, Some(&draft.document)),
            tags: vault_markdown::tags(&draft.document),
            version,
            unresolved_wikilinks: links::unresolved(&catalog, &path, &draft.document),
            ignored_frontmatter_keys: composed.ignored_keys,
            captured_links: captured.map(|(from, target)| CapturedLink { path: from.to_string(), target }).collect(),
            operation: call.operation.clone(),
        })
    }
}

/// Takes the first free name, and the next one when another program was faster.
fn create(
    vault: &Vault,
    locator: &Locator,
    folder: &VaultPath,
    stem: &str,
    draft: &Draft,
    call: &Call,
) -> Result<(VaultPath, Version), VaultError> {
    let mut taken: HashSet<String> = HashSet::new();
    for _ in 0..MAX_NAME_TRIES {
        call.check()?;
        let name = naming::free_name(stem, NOTE_EXTENSION, |name| taken.contains(name));
        let path = VaultPath::parse(folder.join(&name).as_str()).map_err(|_| VaultError::InvalidArgument {
            argument: "title".into(),
            problem: "the title, or the whole path, is too long for a file name: shorten it".into(),
        })?;
        if let Err(refusal) = locator.check_visible(&path) {
            // A number that the vault's rules leave out is passed over; the name that was asked for is not.
            if taken.is_empty() {
                return Err(refusal);
            }
            taken.insert(folded(&name));
            continue;
        }
        match vault.create(&path, draft, CreateNote::NAME, call) {
            // Another name, e.g. that of a folder above, is nothing that a number helps against.
            Err(VaultError::Exists { path: other }) if folded(&other) == folded(path.as_str()) => {
                // Only a first name that is taken makes it worth reading the folder.
                if taken.is_empty() {
                    taken.extend(locator.names_in(folder)?.iter().map(|name| folded(name)));
                }
                taken.insert(folded(&name));
            }
            Err(refusal) => return Err(locator.conceal(refusal, &path)),
            Ok(version) => return Ok((path, version)),
        }
    }
    Err(VaultError::Busy { what: format!("the name `{stem}`") })
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
