//! `read_file`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::call::Call;
use crate::error::VaultError;
use crate::limits::{MAX_FILE_BYTES, MAX_WHOLE_NOTE_BYTES};
use crate::path::FileKind;
use crate::ranges::{self, Range};
use crate::switches::Switch;
use crate::vault::Vault;

/// Read a text file as stored: code, CSV, JSON. For notes, use `read_note`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// File to read, e.g. `data/list.csv`.
    pub path: String,
    /// First line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub offset: Option<usize>,
    /// Lines at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

/// The text of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadFileResponse {
    /// Path in the vault.
    pub path: String,
    /// The text, line ends as stored.
    pub content: String,
    /// Length of the whole file in bytes.
    pub size: u64,
    /// Lines in the whole file.
    pub total_lines: usize,
    /// Whether `content` is only a part.
    pub partial: bool,
}

impl Operation for ReadFile {
    const NAME: &'static str = "read_file";
    const EFFECT: Switch = Switch::Read;
    type Response = ReadFileResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<ReadFileResponse, VaultError> {
        let path = vault.locate_file(&self.path, call)?.path;
        let stored = match vault.read_text(&path, MAX_FILE_BYTES) {
            Err(VaultError::NotUtf8 { .. }) if !is_plain(path.kind()) => {
                return Err(VaultError::UnsupportedType { path, wanted: "plain text" });
            }
            result => result?,
        };
        let range = Range::of(self.offset, self.limit, ranges::count(&stored.text))?;
        let content = &stored.text[range.bytes(&stored.text)];
        if content.len() as u64 > MAX_WHOLE_NOTE_BYTES {
            return Err(ranges::too_large(&path, content, range.first, None));
        }
        Ok(ReadFileResponse {
            path: path.to_string(),
            content: content.to_owned(),
            size: stored.stat.size,
            total_lines: range.total,
            partial: range.is_partial(),
        })
    }
}

fn is_plain(kind: FileKind) -> bool {
    matches!(kind, FileKind::Note | FileKind::Other)
}

impl fmt::Display for ReadFileResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.content)
    }
}
