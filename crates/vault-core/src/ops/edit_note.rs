//! `edit_note`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault_markdown::ViewOptions;

use super::{Operation, plural};
use crate::call::Call;
use crate::current::held_version;
use crate::error::VaultError;
use crate::path::VaultPath;
use crate::rebase;
use crate::refusals;
use crate::report::{self, WriteReport};
use crate::shown::one_line;
use crate::switches::Switch;
use crate::vault::{Draft, Text, Vault};
use crate::version::Version;

/// Replace `old_string` in a note by `new_string`, nothing else.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditNote {
    /// Note to change, e.g. `Work/Plan.md`.
    pub path: String,
    /// Text as `read_note` shows it, there once.
    pub old_string: String,
    /// New text.
    pub new_string: String,
    /// Every occurrence.
    #[serde(default)]
    pub replace_all: bool,
    /// From reading the whole note.
    // Required in the schema; its absence is answered by `version_required`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, with = "String")]
    pub version: Option<String>,
    /// If other lines changed since, edit the present text.
    #[serde(default)]
    pub rebase: bool,
}

/// The note as it is now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditNoteResponse {
    /// What every change of a note reports.
    #[serde(flatten)]
    pub report: WriteReport,
    /// How many passages were replaced; those in lines that only `read_note` adds change nothing in the file.
    pub replacements: usize,
    /// With `rebase`: what somebody else had changed meanwhile, and was kept (unified diff).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebased: Option<String>,
}

impl Operation for EditNote {
    const NAME: &'static str = "edit_note";
    const EFFECT: Switch = Switch::Write;
    const DESTRUCTIVE: bool = true;
    type Response = EditNoteResponse;

    fn version(response: &EditNoteResponse) -> Option<&Version> {
        response.report.version.as_ref()
    }

    fn run(self, vault: &Vault, call: &Call) -> Result<EditNoteResponse, VaultError> {
        let held = held_version(&self.path, self.version.as_deref())?;
        let path = vault.locate_note(&self.path, call)?.path;
        let (stored, kept) = self.read(vault, &path, &held)?;
        let options = ViewOptions::default();
        let merged = vault_markdown::edit(&stored.text, &self.old_string, &self.new_string, self.replace_all, &options)
            .map_err(|error| refusals::edit_error(&path, error))?;
        let replacements = merged.replacements;
        let draft = Draft::of(merged.text.clone());
        report::prepare(vault, &draft, call)?;
        let saved = vault.replace(&path, &stored, &draft, Self::NAME, call)?;
        let mut report = report::write_report(vault, &path, merged, &draft, saved, call);
        if kept.is_some() {
            // The caller does not hold the text that this version stands for.
            report.version = None;
        }
        Ok(EditNoteResponse { report, replacements, rebased: kept })
    }
}

impl EditNote {
    /// Reads the note and, when it may be edited although it changed, what that change was.
    fn read(&self, vault: &Vault, path: &VaultPath, held: &Version) -> Result<(Text, Option<String>), VaultError> {
        let stale = match vault.read_current(path, held) {
            Err(stale @ VaultError::StaleVersion { .. }) if self.rebase => stale,
            result => return result.map(|stored| (stored, None)),
        };
        let Some(read) = vault.served_text(path, held) else { return Err(stale) };
        let stored = vault.read_stored(path)?;
        let now = vault_markdown::view(&stored.text, &ViewOptions::default()).text;
        match rebase::is_untouched(&read, &now, &self.old_string) {
            true => Ok((stored, Some(vault_markdown::unified_diff(&read, &now)))),
            false => Err(stale),
        }
    }
}

impl fmt::Display for EditNoteResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.fmt(f)?;
        writeln!(f, "{} replaced", plural(self.replacements, "passage"))?;
        if let Some(rebased) = &self.rebased {
            writeln!(f, "rebased: the note had changed since you read it, and this was kept:")?;
            rebased.lines().try_for_each(|line| writeln!(f, "    {}", one_line(line)))?;
        }
        Ok(())
    }
}
