//! `grep_notes`.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Mutex;

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, plural};
use crate::call::Call;
use crate::catalog::{Catalog, Note};
use crate::error::VaultError;
use crate::grep::{self, LineFinder, LineSearch, MatchingLine};
use crate::limits::{MAX_CANDIDATES, MAX_LINE_CHARS, MAX_NOTE_BYTES, MAX_SKIPPED};
use crate::path::{VaultPath, composed};
use crate::rows::{Page, Row, escaped_len, page, size_of};
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
    /// How many there are when not all are named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_skipped: Option<usize>,
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
        let skipped = counted
            .skipped
            .iter()
            .map(|(place, reason)| SkippedRow { path: notes[*place].0.to_string(), reason: (*reason).to_owned() });
        // rows matter more: there is room for a longest one and its context
        let skipped = page(skipped, MAX_SKIPPED, call.max_answer_chars / 3);
        let room = call.max_answer_chars - skipped.rows.iter().map(size_of).sum::<usize>().min(call.max_answer_chars);
        let found = || counted.found.iter().map(|(place, count)| (notes[*place].0, *count));
        let (matches, files, truncated) = match self.output_mode {
            OutputMode::Lines => {
                let page = self.lines(vault, &finder, found().map(|(path, _)| path), room, call)?;
                (Some(page.rows), None, page.truncated)
            }
            OutputMode::Files => {
                let rows = found().map(|(path, count)| CountRow { path: path.to_string(), count });
                let page = page(rows, self.limit, room);
                (None, Some(page.rows), page.truncated)
            }
        };
        Ok(GrepNotesResponse {
            matches,
            files,
            total_matches: found().map(|(_, count)| count).sum(),
            total_files: counted.found.len(),
            truncated: truncated || skipped.truncated,
            skipped: skipped.rows,
            total_skipped: skipped.truncated.then_some(counted.skipped.len()),
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
        let bare = text.map(|text| text.strip_suffix('/').filter(|bare| !bare.is_empty()).unwrap_or(text));
        let (Some(text), Some(bare)) = (text, bare) else { return Ok(Place::Folder(VaultPath::root())) };
        let refusal = match vault.locate_folder("path", Some(bare), call) {
            Ok(folder) => return Ok(Place::Folder(folder)),
            Err(no_folder) if bare != text => no_folder,
            Err(no_folder) => match vault.locate_note(text, call) {
                Ok(note) => return Ok(Place::Note(note.path)),
                Err(no_note) => neither(no_folder, no_note),
            },
        };
        match refusal {
            VaultError::NotFound { .. } if bare.contains(['*', '?', '[', '{']) => Place::glob(bare, bare != text),
            refusal => Err(refusal),
        }
    }

    fn glob(text: &str, is_folder: bool) -> Result<Place, VaultError> {
        let text = composed(text) + if is_folder { "/**" } else { "" };
        let glob = GlobBuilder::new(&text).literal_separator(true).build();
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
            Place::Glob(glob) => {
                let path = composed(path.as_str());
                // like a note, a glob need not say `.md`
                let bare = path.rsplit_once('.').map_or(&*path, |(bare, _)| bare);
                glob.is_match(&path) || glob.is_match(bare)
            }
        }
    }
}

/// Refuses what is neither a folder nor a note, with what is like it of both.
fn neither(no_folder: VaultError, no_note: VaultError) -> VaultError {
    match (no_folder, no_note) {
        (VaultError::NotFound { mut candidates, .. }, VaultError::NotFound { path, candidates: mut notes, .. }) => {
            notes.retain(|note| !candidates.contains(note));
            // some of both, where there are many
            candidates.truncate(MAX_CANDIDATES.saturating_sub(notes.len()).max(MAX_CANDIDATES / 2));
            candidates.extend(notes);
            candidates.truncate(MAX_CANDIDATES);
            VaultError::NotFound { what: "folder or note", path, candidates }
        }
        (_, no_note) => no_note,
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
    /// Place of the note in the list, and why it could not be read.
    skipped: Vec<(usize, &'static str)>,
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
    let ended: Mutex<Option<VaultError>> = Mutex::default();
    let begin = || -> Visitor<'_> {
        let mut search = finder.search(call);
        let (notes, counted, ended) = (&notes, &counted, &ended);
        Box::new(move |place, visited| {
            match call.check().and_then(|()| count_in(&mut search, notes[place], visited)) {
                Ok(0) => {}
                Ok(n_lines) => lock(counted).found.push((place, n_lines)),
                Err(refusal @ VaultError::Timeout) => {
                    *lock(ended) = Some(refusal);
                    return ControlFlow::Break(());
                }
                // gone while we looked is no longer there, like everything that never was
                Err(VaultError::NotFound { .. }) => {}
                Err(refusal) => lock(counted).skipped.push((place, refusal.code())),
            }
            ControlFlow::Continue(())
        })
    };
    vault.store().visit(&paths, Care::Quick, MAX_NOTE_BYTES, &begin);
    if let Some(refusal) = lock(&ended).take() {
        return Err(refusal);
    }
    let mut counted = std::mem::take(&mut *lock(&counted));
    counted.found.sort_unstable();
    counted.skipped.sort_unstable();
    Ok(counted)
}

fn count_in(
    search: &mut LineSearch,
    (path, note): (&VaultPath, &Note),
    visited: Result<Visited, VaultError>,
) -> Result<usize, VaultError> {
    let not_utf8 = |error: std::str::Utf8Error| VaultError::NotUtf8 { path: path.clone(), offset: error.valid_up_to() };
    let text = std::str::from_utf8(visited?.bytes).map_err(not_utf8)?;
    // the catalog knows which notes have elements
    search.count(text, note.body.is_none())
}

impl GrepNotes {
    /// Reads the notes that have matching lines once more, as far as rows are wanted.
    fn lines<'a>(
        &self,
        vault: &Vault,
        finder: &LineFinder,
        found: impl Iterator<Item = &'a VaultPath>,
        room: usize,
        call: &Call,
    ) -> Result<Page<LineRow>, VaultError> {
        let (mut search, mut places, mut rows) = (finder.search(call), finder.search(call), Vec::new());
        for path in found {
            if rows.len() > self.limit {
                break;
            }
            call.check()?;
            // changed or gone since it was counted: what it holds now is told
            let Ok(text) = vault.read_stored(path) else { continue };
            let view = grep::view(&text.text);
            let mut refused = None;
            search.each_in(&view, &mut |line| {
                match self.row(path, &view.text, &line, &mut places) {
                    Ok(row) => rows.push(row),
                    Err(refusal) => refused = Some(refusal),
                }
                match refused.is_none() && rows.len() <= self.limit {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            if let Some(refusal) = refused {
                return Err(refusal);
            }
        }
        Ok(page(rows.into_iter(), self.limit, room))
    }

    fn row(
        &self,
        path: &VaultPath,
        text: &str,
        found: &MatchingLine,
        places: &mut LineSearch,
    ) -> Result<LineRow, VaultError> {
        let shown = |line: &str| around_match(line, 0);
        let (before, line) = (&text[..found.span.start], &text[found.span.clone()]);
        let before = before.split_terminator('\n').rev().take(self.context).map(shown);
        let after = text[found.span.end..].split_inclusive('\n').skip(1).take(self.context);
        let after = after.map(|line| shown(line.strip_suffix('\n').unwrap_or(line)));
        let (mut before, after): (Vec<String>, Vec<String>) = (before.collect(), after.collect());
        before.reverse();
        Ok(LineRow {
            path: path.to_string(),
            line: found.number,
            text: around_match(line, places.place_in(line)?.start),
            before: (self.context > 0).then_some(before),
            after: (self.context > 0).then_some(after),
        })
    }
}

/// Cuts a long line to what is around byte `at`.
fn around_match(line: &str, at: usize) -> String {
    let end_of =
        |text: &str, room| end_of_room(text.char_indices().map(|(at, letter)| (at + letter.len_utf8(), letter)), room);
    if end_of(line, MAX_LINE_CHARS).unwrap_or(0) == line.len() {
        return line.to_owned();
    }
    let begin = end_of_room(line[..at].char_indices().rev(), MAX_LINE_CHARS / 2).unwrap_or(at);
    let end = begin + end_of(&line[begin..], MAX_LINE_CHARS).unwrap_or(0);
    let (before, after) = (if begin > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", &line[begin..end])
}

/// Returns the place that goes with the last of `letters` that has room in an answer of `room` characters.
fn end_of_room(letters: impl Iterator<Item = (usize, char)>, room: usize) -> Option<usize> {
    let mut size = 0;
    let fits = |(_, letter): &(usize, char)| {
        size += escaped_len(*letter);
        size <= room
    };
    letters.take_while(fits).last().map(|(at, _)| at)
}

impl Row for LineRow {}
impl Row for SkippedRow {}
impl Row for CountRow {}

impl GrepNotesResponse {
    fn n_rows(&self) -> usize {
        self.matches.as_ref().map_or(0, Vec::len) + self.files.as_ref().map_or(0, Vec::len)
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
        if let Some(n_notes) = self.total_skipped {
            writeln!(f, "({n_notes} notes were not searched; not all are named)")?;
        }
        if self.n_rows() < if self.files.is_some() { self.total_files } else { self.total_matches } {
            let (lines, notes) = (plural(self.total_matches, "line"), plural(self.total_files, "note"));
            writeln!(f, "({lines} in {notes}; not all are shown)")?;
        }
        Ok(())
    }
}
