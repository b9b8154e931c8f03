//! `grep_notes`.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, plural};
use crate::call::Call;
use crate::catalog::{Catalog, Note};
use crate::error::VaultError;
use crate::grep::{self, LineFinder, MatchingLine};
use crate::limits::{MAX_LINE_CHARS, MAX_NOTE_BYTES, MAX_SKIPPED};
use crate::path::VaultPath;
use crate::rows::{Row, page};
use crate::shown::one_line;
use crate::store::{Care, Visited, Visitor};
use crate::switches::Switch;
use crate::vault::{Vault, lock};

/// Find lines of notes by exact text or regex; for words, use `search_notes`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepNotes {
    /// E.g. `TODO`.
    pub pattern: String,
    /// The pattern is a regex.
    #[serde(default)]
    pub regex: bool,
    /// Ignore case.
    #[serde(default, rename = "ignoreCase")]
    pub ignore_case: bool,
    /// Folder, note or glob to search, e.g. `Work/**/plan*.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Lines, or notes with counts.
    #[serde(default, rename = "outputMode")]
    pub output_mode: OutputMode,
    /// Lines around each.
    #[serde(default)]
    #[schemars(range(min = 0, max = 5))]
    pub context: usize,
    /// Archived notes too.
    #[serde(default, rename = "includeArchived")]
    pub include_archived: bool,
    /// Rows at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: usize,
}

fn default_limit() -> usize {
    100
}

/// What an answer lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OutputMode {
    /// Matching lines.
    #[default]
    Lines,
    /// Notes and how many matching lines each has.
    Files,
}

impl GrepNotes {
    /// Finds the lines that hold `pattern`.
    pub fn new(pattern: &str) -> GrepNotes {
        GrepNotes {
            pattern: pattern.into(),
            regex: false,
            ignore_case: false,
            path: None,
            output_mode: OutputMode::Lines,
            context: 0,
            include_archived: false,
            limit: default_limit(),
        }
    }
}

/// Matching lines, by path and line.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepNotesResponse {
    /// The lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<Vec<LineRow>>,
    /// The notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<CountRow>>,
    /// How many lines match, whatever `limit` says.
    pub total_matches: usize,
    /// How many notes have one, whatever `limit` says.
    pub total_files: usize,
    /// Whether rows were left out.
    pub truncated: bool,
    /// Notes that could not be read, and why.
    pub skipped: Vec<SkippedRow>,
}

/// A line that matches.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LineRow {
    /// Path of the note.
    pub path: String,
    /// Line, as `read_note` counts.
    pub line: usize,
    /// The line; of a long one, what is around the match.
    pub text: String,
    /// Lines before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<String>>,
    /// Lines after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<String>>,
}

/// A note with matching lines.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CountRow {
    /// Path of the note.
    pub path: String,
    /// How many lines match.
    pub count: usize,
}

/// A note that could not be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SkippedRow {
    /// Path of the note.
    pub path: String,
    /// Why, as an error code.
    pub reason: String,
}

impl Operation for GrepNotes {
    const NAME: &'static str = "grep_notes";
    const EFFECT: Switch = Switch::Read;
    type Response = GrepNotesResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<GrepNotesResponse, VaultError> {
        let finder = LineFinder::new(&self.pattern, self.regex, self.ignore_case)?;
        let place = Place::find(vault, self.path.as_deref(), call)?;
        let catalog = vault.catalog(call)?;
        let notes = notes(&catalog, &place, self.include_archived);
        let counted = count(vault, &finder, &notes, call)?;
        let found = || counted.found.iter().map(|(place, count)| (notes[*place].0, *count));
        let (matches, files, truncated) = match self.output_mode {
            OutputMode::Lines => {
                let (rows, truncated) = self.lines(vault, &finder, found(), call)?;
                (Some(rows), None, truncated)
            }
            OutputMode::Files => {
                let rows = found().map(|(path, count)| CountRow { path: path.to_string(), count });
                let page = page(rows, self.limit, call.max_answer_chars);
                (None, Some(page.rows), page.truncated)
            }
        };
        Ok(GrepNotesResponse {
            matches,
            files,
            total_matches: counted.found.iter().map(|(_, count)| count).sum(),
            total_files: counted.found.len(),
            truncated,
            skipped: counted.skipped,
        })
    }
}

/// Where to search.
enum Place {
    Folder(VaultPath),
    Note(VaultPath),
    Glob(GlobMatcher),
}

impl Place {
    /// What is there by that very name wins; else a name with `*`, `?`, `[` or `{` is a glob.
    fn find(vault: &Vault, text: Option<&str>, call: &Call) -> Result<Place, VaultError> {
        let bare = text.map(|text| text.strip_suffix('/').unwrap_or(text));
        let (Some(text), Some(bare)) = (text, bare) else { return Ok(Place::Folder(VaultPath::root())) };
        let is_glob = text.contains(['*', '?', '[', '{']);
        match vault.locate_folder("path", Some(bare), call) {
            Ok(folder) => return Ok(Place::Folder(folder)),
            Err(refusal) if text.ends_with('/') && !is_glob => return Err(refusal),
            Err(_) => {}
        }
        match vault.locate_note(text, call) {
            Ok(note) => Ok(Place::Note(note.path)),
            Err(_) if is_glob => Place::glob(text),
            Err(refusal) => Err(refusal),
        }
    }

    fn glob(text: &str) -> Result<Place, VaultError> {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        let refusal = |error: globset::Error| VaultError::InvalidArgument {
            argument: "path".into(),
            problem: format!("is no glob: {}", error.kind()),
        };
        glob.map(|glob| Place::Glob(glob.compile_matcher())).map_err(refusal)
    }

    fn holds(&self, path: &VaultPath) -> bool {
        match self {
            Place::Folder(folder) => path.is_in(folder),
            Place::Note(note) => path == note,
            Place::Glob(glob) => glob.is_match(path.as_str()),
        }
    }
}

fn notes<'a>(catalog: &'a Catalog, place: &Place, archived: bool) -> Vec<(&'a VaultPath, &'a Note)> {
    let notes = catalog.notes.iter().map(|(path, note)| (path, &**note));
    notes.filter(|(path, note)| (archived || !note.archived) && place.holds(path)).collect()
}

/// How many lines match, by note.
#[derive(Default)]
struct Counted {
    /// Place of the note in the list, and matching lines.
    found: Vec<(usize, usize)>,
    skipped: Vec<SkippedRow>,
}

/// Looks into every note, on several threads.
fn count(
    vault: &Vault,
    finder: &LineFinder,
    notes: &[(&VaultPath, &Note)],
    call: &Call,
) -> Result<Counted, VaultError> {
    let paths: Vec<&VaultPath> = notes.iter().map(|(path, _)| *path).collect();
    let counted: Mutex<Counted> = Mutex::default();
    let refused: Mutex<Option<VaultError>> = Mutex::default();
    let begin = || -> Visitor<'_> {
        Box::new(|place, visited| {
            if let Err(refusal) = call.check() {
                *lock(&refused) = Some(refusal);
                return ControlFlow::Break(());
            }
            match count_in(finder, notes[place], visited) {
                Ok(0) => {}
                Ok(n_lines) => lock(&counted).found.push((place, n_lines)),
                Err(refusal) => {
                    let (path, reason) = (notes[place].0.to_string(), refusal.code().to_owned());
                    lock(&counted).skipped.push(SkippedRow { path, reason });
                }
            }
            ControlFlow::Continue(())
        })
    };
    vault.store().visit(&paths, Care::Quick, MAX_NOTE_BYTES, &begin);
    if let Some(refusal) = lock(&refused).take() {
        return Err(refusal);
    }
    let mut counted = std::mem::take(&mut *lock(&counted));
    counted.found.sort_unstable();
    // gone while we looked is no longer there, like everything that never was
    counted.skipped.retain(|skipped| skipped.reason != "not_found");
    counted.skipped.sort_by(|one, other| one.path.cmp(&other.path));
    counted.skipped.truncate(MAX_SKIPPED);
    Ok(counted)
}

fn count_in(
    finder: &LineFinder,
    (path, note): (&VaultPath, &Note),
    visited: Result<Visited, VaultError>,
) -> Result<usize, VaultError> {
    let bytes = visited?.bytes;
    let not_utf8 = |error: std::str::Utf8Error| VaultError::NotUtf8 { path: path.clone(), offset: error.valid_up_to() };
    let text = std::str::from_utf8(bytes).map_err(not_utf8)?;
    // the catalog knows which notes have elements: their view differs in the body, too
    let raw = note.body.and_then(|_| finder.count_raw(bytes));
    Ok(raw.unwrap_or_else(|| finder.lines_of(&grep::view(text)).len()))
}

impl GrepNotes {
    /// Reads the notes that have matching lines once more, as far as rows are wanted.
    fn lines<'a>(
        &self,
        vault: &Vault,
        finder: &LineFinder,
        found: impl Iterator<Item = (&'a VaultPath, usize)>,
        call: &Call,
    ) -> Result<(Vec<LineRow>, bool), VaultError> {
        let mut rows = Vec::new();
        for (path, _) in found {
            if rows.len() > self.limit {
                break;
            }
            call.check()?;
            // changed or gone since it was counted: what it holds now is told
            let Ok(text) = vault.read_stored(path) else { continue };
            let view = grep::view(&text.text);
            let lines: Vec<&str> = view.text.lines().collect();
            let found = finder.lines_of(&view).into_iter().take(self.limit + 1 - rows.len());
            rows.extend(found.map(|found| self.row(path, &lines, &found)));
        }
        let page = page(rows.into_iter(), self.limit, call.max_answer_chars);
        Ok((page.rows, page.truncated))
    }

    fn row(&self, path: &VaultPath, lines: &[&str], found: &MatchingLine) -> LineRow {
        let at = found.line - 1;
        let around = |range: Range<usize>| {
            let lines = lines[range].iter().map(|line| around_match(line, 0..0));
            (self.context > 0).then(|| lines.collect())
        };
        LineRow {
            path: path.to_string(),
            line: found.line,
            text: around_match(lines[at], found.span.clone()),
            before: around(at.saturating_sub(self.context)..at),
            after: around(at + 1..lines.len().min(at + 1 + self.context)),
        }
    }
}

/// Cuts a long line to what is around a match.
fn around_match(line: &str, span: Range<usize>) -> String {
    let n_before = line[..span.start].chars().count();
    let begin_char = n_before.saturating_sub(MAX_LINE_CHARS / 2);
    let mut chars = line.char_indices().skip(begin_char).map(|(at, _)| at);
    let begin = chars.next().unwrap_or(0);
    let end = chars.nth(MAX_LINE_CHARS - 1).unwrap_or(line.len());
    let (before, after) = (if begin > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", &line[begin..end])
}

impl Row for LineRow {
    fn cursor(&self) -> String {
        String::new()
    }
}

impl Row for CountRow {
    fn cursor(&self) -> String {
        String::new()
    }
}

impl fmt::Display for GrepNotesResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.matches.iter().flatten() {
            let context = |lines: &Option<Vec<String>>| lines.clone().unwrap_or_default();
            let (path, before) = (one_line(&row.path), context(&row.before));
            for (line, text) in (row.line - before.len()..).zip(before) {
                writeln!(f, "{path}-{line}-{}", one_line(&text))?;
            }
            writeln!(f, "{path}:{}:{}", row.line, one_line(&row.text))?;
            for (line, text) in (row.line + 1..).zip(context(&row.after)) {
                writeln!(f, "{path}-{line}-{}", one_line(&text))?;
            }
        }
        for row in self.files.iter().flatten() {
            writeln!(f, "{}:{}", one_line(&row.path), row.count)?;
        }
        for row in &self.skipped {
            writeln!(f, "({} was not searched: {})", one_line(&row.path), row.reason)?;
        }
        if self.truncated {
            let (lines, notes) = (plural(self.total_matches, "line"), plural(self.total_files, "note"));
            writeln!(f, "({lines} in {notes}; not all are shown)")?;
        }
        Ok(())
    }
}
