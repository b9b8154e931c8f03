//! `update_note`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::call::Call;
use crate::current::held_version;
use crate::error::VaultError;
use crate::refusals;
use crate::report::{self, WriteReport};
use crate::switches::Switch;
use crate::vault::{Draft, Vault};
use crate::version::Version;

/// Rewrite a whole note. Prefer `edit_note` for small changes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateNote {
    /// Note to rewrite, e.g. `Work/Plan.md`.
    pub path: String,
    /// Whole new text. Without a frontmatter block, the present keys stay.
    pub markdown: String,
    /// From reading the whole note.
    // Required in the schema; its absence is answered by `version_required`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, with = "String")]
    pub version: Option<String>,
}

/// The note as it is now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct UpdateNoteResponse(pub WriteReport);

impl Operation for UpdateNote {
    const NAME: &'static str = "update_note";
    const EFFECT: Switch = Switch::Write;
    const DESTRUCTIVE: bool = true;
    const IDEMPOTENT: bool = true;
    type Response = UpdateNoteResponse;

    fn version(response: &UpdateNoteResponse) -> Option<&Version> {
        response.0.version.as_ref()
    }

    fn run(self, vault: &Vault, call: &Call) -> Result<UpdateNoteResponse, VaultError> {
        let held = held_version(&self.path, self.version.as_deref())?;
        let path = vault.locate_note(&self.path, call)?.path;
        let stored = vault.read_current(&path, &held)?;
        let merged = vault_markdown::merge(&stored.text, &self.markdown, &Default::default())
            .map_err(|error| refusals::merge_error(&path, error))?;
        let draft = Draft::of(merged.text.clone());
        report::prepare(vault, &draft, call)?;
        let saved = vault.replace(&path, &stored, &draft, Self::NAME, call)?;
        Ok(UpdateNoteResponse(report::write_report(vault, &path, merged, &draft, saved, call)))
    }
}

impl fmt::Display for UpdateNoteResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
