//! `read_note`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault_markdown::{Document, View, ViewOptions};

use super::Operation;
use crate::call::Call;
use crate::catalog::title;
use crate::error::VaultError;
use crate::limits::MAX_WHOLE_NOTE_BYTES;
use crate::path::VaultPath;
use crate::ranges::{self, Range};
use crate::switches::Switch;
use crate::times::{parse_date, rfc3339};
use crate::vault::{Text, Vault};
use crate::version::Version;

/// Read a note as Markdown. A whole read returns the `version` that changes need.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadNote {
    /// Note to read, e.g. `Work/Plan.md`.
    pub path: String,
    /// First line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub offset: Option<usize>,
    /// Lines at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Elements as stored; no `version` then.
    #[serde(default, rename = "expandBlocks")]
    pub expand_blocks: bool,
    /// Version you hold: answers `unchanged` or a `diff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl ReadNote {
    /// Asks for the whole note at `path`.
    pub fn new(path: &str) -> ReadNote {
        ReadNote { path: path.to_owned(), offset: None, limit: None, expand_blocks: false, since: None }
    }
}

/// A note, or a part of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadNoteResponse {
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// Tags, from the frontmatter and the text.
    pub tags: Vec<String>,
    /// Frontmatter `pinned`.
    pub pinned: bool,
    /// Frontmatter `archived`.
    pub archived: bool,
    /// RFC 3339: frontmatter `created`, else the file's birth time, which every write through the vault renews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// When the file changed last, RFC 3339.
    pub updated: String,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// With `since`: how the text of that version becomes the present one (unified diff).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// With `since`: the note is still at that version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// Pass it to the tool that changes the note. Only with the whole text, so none above 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// First line returned.
    pub start_line: usize,
    /// Last line returned.
    pub end_line: usize,
    /// Lines of the whole note.
    pub total_lines: usize,
    /// Whether lines are missing.
    pub partial: bool,
    /// Why the frontmatter is shown raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontmatter_error: Option<String>,
}

impl Operation for ReadNote {
    const NAME: &'static str = "read_note";
    const EFFECT: Switch = Switch::Read;
    type Response = ReadNoteResponse;

    fn version(response: &ReadNoteResponse) -> Option<&Version> {
        response.version.as_ref()
    }

    fn run(self, vault: &Vault, call: &Call) -> Result<ReadNoteResponse, VaultError> {
        let path = vault.locate_note(&self.path, call)?.path;
        let stored = vault.read_stored(&path)?;
        let view = vault_markdown::view(&stored.text, &self.view_options());
        let range = Range::of(self.offset, self.limit, ranges::count(&view.text))?;
        let mut response = describe(&path, &stored, &view, range);
        let is_whole = !range.is_partial() && !self.expand_blocks;
        match self.since.as_deref().map(Version::from_caller) {
            Some(since) if since == stored.version => response.unchanged = Some(true),
            Some(since) if is_whole => response.show_change(vault.served_text(&path, &since).as_deref(), &view.text),
            _ => response.markdown = Some(view.text[range.bytes(&view.text)].to_owned()),
        }
        // The lines that only the view adds do not make a note larger.
        let size = |text: &String| if range.is_partial() { text.len() } else { text.len().min(stored.text.len()) };
        if let Some(text) = response.markdown.as_ref().filter(|text| size(text) as u64 > MAX_WHOLE_NOTE_BYTES) {
            let hint = "read it without `expandBlocks`, or other lines with `offset` and `limit`";
            return Err(ranges::too_large(&path, text, range.first, self.expand_blocks.then_some(hint)));
        }
        if is_whole && self.is_unranged() {
            vault.keep_served(&path, &stored.version, &stored.text);
            response.version = Some(stored.version);
        }
        Ok(response)
    }
}

impl ReadNote {
    fn view_options(&self) -> ViewOptions {
        ViewOptions { expand_blocks: self.expand_blocks, ..ViewOptions::default() }
    }

    /// A range that covers everything is a whole read, unless `since` kept the text from being sent.
    fn is_unranged(&self) -> bool {
        self.since.is_none() || self.offset.is_none() && self.limit.is_none()
    }
}

impl ReadNoteResponse {
    fn show_change(&mut self, before: Option<&str>, now: &str) {
        let diff = before.map(|before| vault_markdown::unified_diff(before, now));
        match diff.filter(|diff| diff.len() < now.len()) {
            Some(diff) => self.diff = Some(diff),
            None => self.markdown = Some(now.to_owned()),
        }
    }
}

fn describe(path: &VaultPath, stored: &Text, view: &View, range: Range) -> ReadNoteResponse {
    let document = vault_markdown::parse(&stored.text);
    let flag = |key: &str| document.frontmatter.as_ref().is_some_and(|block| block.flag(key));
    ReadNoteResponse {
        path: path.to_string(),
        title: title(path, Some(&document)),
        tags: vault_markdown::tags(&document),
        pinned: flag("pinned"),
        archived: flag("archived"),
        created: created(&document, stored),
        updated: rfc3339(stored.stat.modified),
        markdown: None,
        diff: None,
        unchanged: None,
        version: None,
        start_line: range.first,
        end_line: range.last,
        total_lines: range.total,
        partial: range.is_partial(),
        frontmatter_error: view
            .frontmatter_error
            .as_ref()
            .map(|problem| format!("line {}: {}", problem.line, problem.message)),
    }
}

fn created(document: &Document, stored: &Text) -> Option<String> {
    let written = document.frontmatter.as_ref().and_then(|block| block.strings("created").into_iter().next());
    written.and_then(|text| parse_date(&text)).or(stored.stat.created).map(rfc3339)
}

impl fmt::Display for ReadNoteResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.markdown, &self.diff) {
            (Some(markdown), _) => f.write_str(markdown),
            (None, Some(diff)) => f.write_str(diff),
            (None, None) => writeln!(f, "unchanged"),
        }
    }
}
