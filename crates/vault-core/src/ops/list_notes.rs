//! `list_notes`.

use std::cmp::Reverse;
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, plural};
use crate::call::Call;
use crate::catalog::{Catalog, Note};
use crate::error::VaultError;
use crate::limits::{EXCERPT_CHARS, MAX_ROW_TITLE_CHARS};
use crate::path::{FileKind, VaultPath};
use crate::rows::{Page, Row, after_option, first_tags, page};
use crate::shown::{beginning, one_line};
use crate::switches::Switch;
use crate::tags;
use crate::times::rfc3339;
use crate::vault::Vault;

/// List notes and sheets, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNotes {
    /// Folder to list, e.g. `Work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// First text of each note.
    #[serde(default, rename = "includeExcerpt")]
    pub include_excerpt: bool,
    /// Archived notes too.
    #[serde(default, rename = "includeArchived")]
    pub include_archived: bool,
    /// Rows at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: usize,
    /// Tags all must have; `a` finds `a/b`.
    #[serde(default)]
    pub tags: Vec<String>,
    /// `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

fn default_limit() -> usize {
    200
}

/// Notes and sheets, newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListNotesResponse {
    /// The rows.
    pub notes: Vec<NoteRow>,
    /// How many there are, whatever `limit` says.
    pub total: usize,
    /// Whether rows were left out.
    pub truncated: bool,
    /// Pass as `after` for the rows that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One note or sheet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NoteRow {
    /// Path in the vault.
    pub path: String,
    /// Folder that holds it; empty at the top.
    pub folder: String,
    /// Title.
    pub title: String,
    /// `note` or `sheet`.
    pub kind: FileKind,
    /// When the file changed last, RFC 3339.
    pub updated: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Frontmatter `pinned`.
    pub pinned: bool,
    /// Frontmatter `archived`.
    pub archived: bool,
    /// First text of the note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    #[serde(skip)]
    place: Place,
}

impl Operation for ListNotes {
    const NAME: &'static str = "list_notes";
    const EFFECT: Switch = Switch::Read;
    type Response = ListNotesResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<ListNotesResponse, VaultError> {
        let folder = vault.locate_folder("folder", self.folder.as_deref(), call)?;
        let wanted = tags::parse_all("tags", &self.tags)?;
        let after = self.after.as_deref().map(Place::parse).transpose()?;
        let catalog = vault.catalog(call)?;
        let mut found = find(&catalog, &folder, &wanted, self.include_archived);
        let total = found.len();
        found.retain(|found| after.as_ref().is_none_or(|after| found.place() > after.as_ref()));
        let n_rows = found.len().min(self.limit + 1);
        // only what is shown need be in order
        if n_rows < found.len() {
            found.select_nth_unstable_by(n_rows, |one, other| one.place().cmp(&other.place()));
            found.truncate(n_rows);
        }
        found.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        let rest = found.into_iter().map(Found::row);
        let page = match self.include_excerpt {
            true => page_with_excerpts(vault, rest.collect(), self.limit, call.max_answer_chars),
            false => page(rest, self.limit, call.max_answer_chars),
        };
        Ok(ListNotesResponse { next: page.next(), total, truncated: page.truncated, notes: page.rows })
    }
}

/// Where a row stands in the list: newest first, then by path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    updated: Reverse<Timestamp>,
    path: VaultPath,
}

impl Place {
    fn as_ref(&self) -> (Reverse<Timestamp>, &VaultPath) {
        (self.updated, &self.path)
    }

    fn parse(text: &str) -> Result<Place, VaultError> {
        let place = text.split_once(' ').and_then(|(updated, path)| {
            let updated = Reverse(Timestamp::from_nanosecond(updated.parse().ok()?).ok()?);
            Some(Place { updated, path: VaultPath::parse(path).ok()? })
        });
        let problem = || "is not the `next` of an earlier answer".into();
        place.ok_or_else(|| VaultError::InvalidArgument { argument: "after".into(), problem: problem() })
    }
}

impl Row for NoteRow {
    fn cursor(&self) -> String {
        format!("{} {}", self.place.updated.0.as_nanosecond(), self.path)
    }
}

/// A note or sheet that is listed.
struct Found<'a> {
    path: &'a VaultPath,
    updated: Timestamp,
    note: Option<&'a Note>,
}

impl Found<'_> {
    fn place(&self) -> (Reverse<Timestamp>, &VaultPath) {
        (Reverse(self.updated), self.path)
    }

    fn row(self) -> NoteRow {
        let row = row(self.path, self.updated);
        match self.note {
            None => row,
            Some(note) => NoteRow {
                title: beginning(&note.title, MAX_ROW_TITLE_CHARS),
                tags: first_tags(&note.tags),
                pinned: note.pinned,
                archived: note.archived,
                ..row
            },
        }
    }
}

fn find<'a>(catalog: &'a Catalog, folder: &VaultPath, wanted: &[String], archived: bool) -> Vec<Found<'a>> {
    let notes = catalog
        .notes
        .iter()
        .filter(|(path, note)| path.is_in(folder) && (archived || !note.archived) && tags::has_all(&note.tags, wanted));
    let sheets = catalog
        .files
        .iter()
        .filter(|(path, _)| path.kind() == FileKind::Sheet && path.is_in(folder) && wanted.is_empty());
    let notes = notes.map(|(path, note)| Found { path, updated: note.stat.modified, note: Some(note) });
    notes.chain(sheets.map(|(path, sheet)| Found { path, updated: sheet.stat.modified, note: None })).collect()
}

fn row(path: &VaultPath, updated: Timestamp) -> NoteRow {
    NoteRow {
        path: path.to_string(),
        folder: path.parent().to_string(),
        title: path.stem().to_owned(),
        kind: path.kind(),
        updated: rfc3339(updated),
        tags: Vec::new(),
        pinned: false,
        archived: false,
        excerpt: None,
        place: Place { updated: Reverse(updated), path: path.clone() },
    }
}

/// Excerpts shrink before rows are left out.
fn page_with_excerpts(vault: &Vault, mut rows: Vec<NoteRow>, limit: usize, max_chars: usize) -> Page<NoteRow> {
    for row in rows.iter_mut().take(limit).filter(|row| row.kind == FileKind::Note) {
        row.excerpt = Some(excerpt(vault, &row.place.path));
    }
    for length in [EXCERPT_CHARS / 2, EXCERPT_CHARS / 4] {
        if page(rows.iter(), limit, max_chars).rows.len() == rows.len().min(limit) {
            break;
        }
        rows.iter_mut().filter_map(|row| row.excerpt.as_mut()).for_each(|text| *text = beginning(text, length));
    }
    page(rows.into_iter(), limit, max_chars)
}

/// A note that cannot be read has no text to show.
fn excerpt(vault: &Vault, path: &VaultPath) -> String {
    let text = vault.read_stored(path);
    text.map_or_else(|_| String::new(), |text| vault_markdown::excerpt(&text.text, EXCERPT_CHARS))
}

impl fmt::Display for ListNotesResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            write!(f, "{}\t{}\t{}", one_line(&note.path), one_line(&note.title), note.updated)?;
            match note.tags.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, "\t#{}", one_line(&note.tags.join(" #")))?,
            }
            if let Some(excerpt) = note.excerpt.as_ref().filter(|excerpt| !excerpt.is_empty()) {
                writeln!(f, "    {}", one_line(excerpt))?;
            }
        }
        if let Some(next) = &self.next {
            let (shown, total) = (self.notes.len(), plural(self.total, "document"));
            writeln!(f, "({shown} of {total}; the rest: {})", after_option(next))?;
        }
        Ok(())
    }
}
