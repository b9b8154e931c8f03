//! `list_files`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, plural};
use crate::call::Call;
use crate::catalog::Catalog;
use crate::error::VaultError;
use crate::path::{FileKind, VaultPath};
use crate::rows::{Row, after_option, page};
use crate::shown::one_line;
use crate::switches::Switch;
use crate::vault::Vault;

/// List files that are no notes (sheets, images, …), or all, by path.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFiles {
    /// Folder to list, e.g. `Work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Folders below too.
    #[serde(default = "default_recursive")]
    pub recursive: bool,
    /// `files`: all but notes.
    #[serde(default)]
    pub include: Include,
    /// Rows at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 5000))]
    pub limit: usize,
    /// `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Which files a list holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Include {
    /// All but notes.
    #[default]
    Files,
    /// Notes only.
    Notes,
    /// Every file.
    All,
}

fn default_recursive() -> bool {
    true
}

fn default_limit() -> usize {
    500
}

/// Files by path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListFilesResponse {
    /// The rows.
    pub files: Vec<FileRow>,
    /// Whether rows were left out.
    pub truncated: bool,
    /// Pass as `after` for the rows that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FileRow {
    /// Path in the vault.
    pub path: String,
    /// What it is, by its name.
    pub kind: FileKind,
    /// Length in bytes.
    pub size: u64,
}

impl Operation for ListFiles {
    const NAME: &'static str = "list_files";
    const EFFECT: Switch = Switch::Read;
    type Response = ListFilesResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<ListFilesResponse, VaultError> {
        let folder = vault.locate_folder("path", self.path.as_deref(), call)?;
        let catalog = vault.catalog(call)?;
        let mut rows = find(&catalog, &folder, self.recursive, self.include);
        rows.sort_by(|one, other| one.path.cmp(&other.path));
        let rest = rows.into_iter().filter(|row| self.after.as_ref().is_none_or(|after| row.path > *after));
        let page = page(rest, self.limit, call.max_answer_chars);
        Ok(ListFilesResponse { next: page.next(), truncated: page.truncated, files: page.rows })
    }
}

impl Row for FileRow {
    fn cursor(&self) -> String {
        self.path.clone()
    }
}

fn find(catalog: &Catalog, folder: &VaultPath, recursive: bool, include: Include) -> Vec<FileRow> {
    let notes = catalog.notes.iter().map(|(path, note)| (path, note.stat.size));
    let files = catalog.files.iter().map(|(path, file)| (path, file.stat.size));
    let wanted = |path: &VaultPath| match include {
        Include::Files => !path.is_note(),
        Include::Notes => path.is_note(),
        Include::All => true,
    };
    let there = |path: &VaultPath| if recursive { path.is_in(folder) } else { path.parent() == *folder };
    let rows = notes.chain(files).filter(|(path, _)| wanted(path) && there(path));
    rows.map(|(path, size)| FileRow { path: path.to_string(), kind: path.kind(), size }).collect()
}

impl fmt::Display for ListFilesResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            writeln!(f, "{}\t{}", one_line(&file.path), file.size)?;
        }
        if let Some(next) = &self.next {
            writeln!(f, "({}; the rest: {})", plural(self.files.len(), "file"), after_option(next))?;
        }
        Ok(())
    }
}
