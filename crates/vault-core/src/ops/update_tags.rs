//! `update_tags`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault_markdown::{Document, same_tag};

use super::Operation;
use crate::call::{Call, OperationId};
use crate::error::VaultError;
use crate::path::VaultPath;
use crate::refusals;
use crate::report;
use crate::switches::Switch;
use crate::tags;
use crate::vault::{Draft, Saved, Text, Vault};
use crate::version::Version;

/// Add or remove tags in a note's frontmatter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTags {
    /// Note, e.g. `Work/Plan.md`.
    pub path: String,
    /// Tags to add, e.g. `project/site`.
    #[serde(default)]
    pub add: Vec<String>,
    /// Tags to remove.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Version you hold: if it matches, the new one comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The tags as they are now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTagsResponse {
    /// Path in the vault.
    pub path: String,
    /// Tags, from the frontmatter and the text.
    pub tags: Vec<String>,
    /// Tags asked to be removed that stand in the text itself: edit the text to remove them.
    pub inline_tags: Vec<String>,
    /// Version of the note now, when the one you passed matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Name of this change in the vault's log; none when nothing had to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

impl Operation for UpdateTags {
    const NAME: &'static str = "update_tags";
    const EFFECT: Switch = Switch::Write;
    const IDEMPOTENT: bool = true;
    type Response = UpdateTagsResponse;

    fn version(response: &UpdateTagsResponse) -> Option<&Version> {
        response.version.as_ref()
    }

    fn run(self, vault: &Vault, call: &Call) -> Result<UpdateTagsResponse, VaultError> {
        let change =
            Change { add: tags::parse_all("add", &self.add)?, remove: tags::parse_all("remove", &self.remove)? };
        change.check()?;
        let path = vault.locate_note(&self.path, call)?.path;
        let (before, draft, saved) = change.apply(vault, &path, call)?;
        let matched = self.version.as_deref().map(Version::from_caller).is_some_and(|held| held == before.version);
        if matched {
            vault.keep_served(&path, &saved.version, &draft.text);
        }
        Ok(UpdateTagsResponse {
            path: path.to_string(),
            tags: vault_markdown::tags(&draft.document),
            inline_tags: change.remove.into_iter().filter(|tag| is_inline(&draft.document, tag)).collect(),
            version: matched.then_some(saved.version),
            operation: saved.changed.then(|| call.operation.clone()),
        })
    }
}

struct Change {
    add: Vec<String>,
    remove: Vec<String>,
}

impl Change {
    fn check(&self) -> Result<(), VaultError> {
        let refusal = |problem: &str| VaultError::InvalidArgument { argument: "add".into(), problem: problem.into() };
        if self.add.is_empty() && self.remove.is_empty() {
            return Err(refusal("name tags to `add` or to `remove`"));
        }
        if self.add.iter().any(|tag| self.remove.iter().any(|other| same_tag(tag, other))) {
            return Err(refusal("a tag cannot be added and removed at once"));
        }
        Ok(())
    }

    /// Plans on the present text, and again when somebody else was faster: no text is overwritten by this.
    fn apply(&self, vault: &Vault, path: &VaultPath, call: &Call) -> Result<(Text, Draft, Saved), VaultError> {
        loop {
            call.check()?;
            let before = vault.read_stored(path)?;
            let text = self.plan(&before.text).map_err(|error| refusals::frontmatter_error(path, error))?;
            let draft = Draft::of(text);
            match vault.replace(path, &before, &draft, UpdateTags::NAME, call) {
                Err(VaultError::StaleVersion { .. }) => {}
                result => return result.map(|saved| (before, draft, saved)),
            }
        }
    }

    fn plan(&self, stored: &str) -> Result<String, vault_markdown::FrontmatterError> {
        let present = vault_markdown::tags(&vault_markdown::parse(stored));
        let new: Vec<String> =
            self.add.iter().filter(|tag| !present.iter().any(|known| same_tag(known, tag))).cloned().collect();
        // Added first: a list that was empty in between would lose its style and its comments.
        let added = match new.is_empty() {
            true => stored.to_owned(),
            false => vault_markdown::add_to_list(stored, "tags", &new)?,
        };
        match self.remove.is_empty() {
            true => Ok(added),
            false => vault_markdown::remove_from_list(&added, "tags", |item| {
                self.remove.iter().any(|tag| same_tag(tag, item.trim_start_matches('#')))
            }),
        }
    }
}

fn is_inline(document: &Document, tag: &str) -> bool {
    document.tags.iter().any(|inline| same_tag(&inline.name, tag))
}

impl fmt::Display for UpdateTagsResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {}",
            self.path,
            self.tags.iter().map(|tag| format!("#{tag} ")).collect::<String>().trim_end()
        )?;
        report::show_list(f, "stands in the text and stays", &self.inline_tags)
    }
}
