//! `list_notes`.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, plural};
use crate::call::Call;
use crate::catalog::Catalog;
use crate::error::VaultError;
use crate::limits::EXCERPT_CHARS;
use crate::path::{FileKind, VaultPath};
use crate::rows::{Page, page};
use crate::switches::Switch;
use crate::tags;
use crate::times::rfc3339;
use crate::vault::Vault;

/// List notes and sheets, newest first: see what the vault holds or what changed lately.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNotes {
    /// Folder to list, e.g. `Projects`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Add first text.
    #[serde(default, rename = "includeExcerpt")]
    pub include_excerpt: bool,
    /// Archived ones too.
    #[serde(default, rename = "includeArchived")]
    pub include_archived: bool,
    /// Most rows.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: usize,
    /// Tags that all must have; `a` finds `a/b`.
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
    /// First text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

impl Operation for ListNotes {
    const NAME: &'static str = "list_notes";
    const EFFECT: Switch = Switch::Read;
    type Response = ListNotesResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<ListNotesResponse, VaultError> {
        let folder =
            self.folder.as_deref().map_or(Ok(VaultPath::root()), |folder| vault.locate_folder(folder, call))?;
        let wanted = tags::parse_all(&self.tags)?;
        let after = self.after.as_deref().map(Place::parse).transpose()?;
        let catalog = vault.catalog(call)?;
        let mut found = find(&catalog, &folder, &wanted, self.include_archived);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let total = found.len();
        let rest = found.into_iter().filter(|(place, _)| after.as_ref().is_none_or(|after| place > after));
        let page = match self.include_excerpt {
            true => page_with_excerpts(vault, rest.map(|(_, row)| row).take(self.limit + 1).collect(), self.limit),
            false => page(rest.map(|(_, row)| row), self.limit),
        };
        let last = page.rows.last().filter(|_| page.truncated);
        let next = last.and_then(|row| place_of(&catalog, &row.path)).map(|place| place.to_string());
        Ok(ListNotesResponse { notes: page.rows, total, truncated: page.truncated, next })
    }
}

/// Where a row stands in the list: newest first, then by path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    updated: std::cmp::Reverse<Timestamp>,
    path: VaultPath,
}

impl Place {
    fn new(updated: Timestamp, path: &VaultPath) -> Place {
        Place { updated: std::cmp::Reverse(updated), path: path.clone() }
    }

    fn parse(text: &str) -> Result<Place, VaultError> {
        let parts = text.split_once(' ');
        let place = parts.and_then(|(updated, path)| {
            Some(Place::new(Timestamp::from_nanosecond(updated.parse().ok()?).ok()?, &VaultPath::parse(path).ok()?))
        });
        place.ok_or_else(|| VaultError::InvalidArgument {
            argument: "after".into(),
            problem: "is not the `next` of an earlier answer".into(),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.updated.0.as_nanosecond(), self.path)
    }
}

fn place_of(catalog: &Catalog, path: &str) -> Option<Place> {
    let path = VaultPath::parse(path).ok()?;
    let note = catalog.notes.get(&path).map(|note| &note.stat);
    let stat = note.or_else(|| catalog.files.get(&path).map(|file| &file.stat))?;
    Some(Place::new(stat.modified, &path))
}

fn find(catalog: &Catalog, folder: &VaultPath, wanted: &[String], archived: bool) -> Vec<(Place, NoteRow)> {
    let notes = catalog
        .notes
        .iter()
        .filter(|(path, note)| path.is_in(folder) && (archived || !note.archived) && tags::has_all(&note.tags, wanted));
    let sheets = catalog
        .files
        .iter()
        .filter(|(path, _)| path.kind() == FileKind::Sheet && path.is_in(folder) && wanted.is_empty());
    let notes = notes.map(|(path, note)| {
        let row = NoteRow {
            title: note.title.clone(),
            tags: note.tags.clone(),
            pinned: note.pinned,
            archived: note.archived,
            ..row(path, note.stat.modified)
        };
        (Place::new(note.stat.modified, path), row)
    });
    let sheets = sheets.map(|(path, sheet)| (Place::new(sheet.stat.modified, path), row(path, sheet.stat.modified)));
    notes.chain(sheets).collect()
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
    }
}

/// Excerpts shrink before rows are left out.
fn page_with_excerpts(vault: &Vault, mut rows: Vec<NoteRow>, limit: usize) -> Page<NoteRow> {
    for row in rows.iter_mut().take(limit).filter(|row| row.kind == FileKind::Note) {
        row.excerpt = Some(excerpt(vault, &row.path));
    }
    for length in [EXCERPT_CHARS / 2, EXCERPT_CHARS / 4] {
        let page = page(rows.iter(), limit);
        if page.rows.len() == rows.len().min(limit) {
            break;
        }
        rows.iter_mut().filter_map(|row| row.excerpt.as_mut()).for_each(|excerpt| shorten(excerpt, length));
    }
    page(rows.into_iter(), limit)
}

fn shorten(excerpt: &mut String, length: usize) {
    if let Some((end, _)) = excerpt.char_indices().nth(length) {
        excerpt.truncate(end);
        excerpt.push('…');
    }
}

/// A note that cannot be read has no text to show.
fn excerpt(vault: &Vault, path: &str) -> String {
    let text = VaultPath::parse(path).ok().and_then(|path| vault.read_stored(&path).ok());
    text.map_or_else(String::new, |text| vault_markdown::excerpt(&text.text, EXCERPT_CHARS))
}

impl fmt::Display for ListNotesResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            write!(f, "{}\t{}\t{}", note.path, note.title, note.updated)?;
            match note.tags.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, "\t#{}", note.tags.join(" #"))?,
            }
        }
        if self.truncated {
            writeln!(f, "({} of {})", self.notes.len(), plural(self.total, "note"))?;
        }
        Ok(())
    }
}
