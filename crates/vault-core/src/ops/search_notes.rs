//! `search_notes`.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::call::Call;
use crate::catalog::Note;
use crate::error::VaultError;
use crate::index::{Found, Hit, Progress, Question, Rank, Stage};
use crate::limits::{
    MAX_NOTE_BYTES, MAX_QUERY_BYTES, MAX_QUERY_UNITS, MAX_ROW_TITLE_CHARS, SEARCH_TRIES, SNIPPET_CHARS,
};
use crate::path::FileKind;
use crate::rows::{Row, after_option, first_tags, page};
use crate::scan;
use crate::search::{Analyser, Passages, Query, Snippet, label_of_tag};
use crate::shown::{beginning, one_line};
use crate::switches::Switch;
use crate::tags;
use crate::times::rfc3339;
use crate::vault::Vault;

/// Search notes and sheets, best first: words, "a phrase", -without, tag:x, path:x/, begin*.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchNotes {
    /// E.g. `fern "likes shade" -indoor`.
    pub query: String,
    /// Tags all must have; `a` finds `a/b`.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Archived notes too.
    #[serde(default, rename = "includeArchived")]
    pub include_archived: bool,
    /// Results at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 199))]
    pub limit: usize,
    /// How to search.
    #[serde(default)]
    pub mode: Mode,
    /// `next` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

fn default_limit() -> usize {
    20
}

/// How to search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Mode {
    /// The best way there is.
    #[default]
    Auto,
    /// By words.
    Keyword,
}

impl SearchNotes {
    /// Looks for `query` everywhere.
    pub fn new(query: &str) -> SearchNotes {
        let (tags, after) = (vec![], None);
        SearchNotes { query: query.into(), tags, include_archived: false, limit: 20, mode: Mode::Auto, after }
    }
}

/// Notes and sheets, best first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchNotesResponse {
    /// The results.
    pub results: Vec<SearchRow>,
    /// Whether results were left out.
    pub truncated: bool,
    /// The limit that was used.
    pub limit: usize,
    /// Pass as `after` for the results that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Set when nothing has all that was asked for: these have some of it, or words that begin so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// Set while there is no whole index: the notes themselves were read instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<bool>,
    /// How far that has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Set when changes that others made before may be missing still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<bool>,
}

/// One note or sheet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SearchRow {
    /// Path in the vault.
    pub path: String,
    /// Title.
    pub title: String,
    /// `note` or `sheet`.
    pub kind: FileKind,
    /// When the file changed last, RFC 3339.
    pub updated: String,
    /// Tags.
    pub tags: Vec<String>,
    /// The passage that fits best.
    pub snippet: String,
    /// How well it fits; only the order means something.
    pub score: f64,
    /// Line of the passage, as `read_note` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Heading above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    #[serde(skip)]
    cursor: String,
}

impl Operation for SearchNotes {
    const NAME: &'static str = "search_notes";
    const EFFECT: Switch = Switch::Read;
    type Response = SearchNotesResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<SearchNotesResponse, VaultError> {
        let query = parse(&self.query)?;
        let tags = tags::parse_all("tags", &self.tags)?;
        let labels: Vec<String> = tags.iter().map(|tag| label_of_tag(tag)).collect();
        let after = self.after.as_deref().map(Place::parse).transpose()?;
        let question = Question {
            query: &query,
            labels: &labels,
            include_archived: self.include_archived,
            after: after.as_ref().map(|place| &place.rank),
            stage: after.as_ref().map(|place| place.stage),
            at_most: self.limit.saturating_add(1),
        };
        let mut n_tries = 0;
        loop {
            n_tries += 1;
            let mut answer = Answer::of(vault, &question, after.as_ref().is_some_and(|place| place.is_scan), call)?;
            if let Some(place) = &after {
                answer.found.partial = place.partial;
            }
            let (rows, changed) = answer.rows(vault, &query, self.limit, call)?;
            // what changed since it was searched has been looked at by now
            if changed == 0 || n_tries == SEARCH_TRIES {
                let answer = Answer { is_fresh: answer.is_fresh && changed == 0, ..answer };
                return Ok(answer.response(rows, self.limit, call));
            }
        }
    }
}

fn parse(text: &str) -> Result<Query, VaultError> {
    let refusal = |problem: String| VaultError::InvalidArgument { argument: "query".into(), problem };
    if text.len() > MAX_QUERY_BYTES {
        return Err(refusal(format!("is longer than {MAX_QUERY_BYTES} bytes; look for what matters in it")));
    }
    let query = Query::parse(text);
    if query.n_units() > MAX_QUERY_UNITS {
        return Err(refusal(format!("has more than {MAX_QUERY_UNITS} words; look for those that matter")));
    }
    Ok(query)
}

/// Where an answer goes on.
struct Place {
    rank: Rank,
    stage: Stage,
    partial: bool,
    /// Whether the notes were read: an index ranks a little otherwise, so they are read again.
    is_scan: bool,
}

impl Place {
    fn parse(text: &str) -> Result<Place, VaultError> {
        let place = || {
            let mut parts = text.split('-');
            let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
            let (score, updated, key, flags) = (number()?, number()?, number()?, number()?);
            let rank = Rank { score: f32::from_bits(u32::try_from(score).ok()?), updated: updated as i64, key };
            let stage = [Stage::All, Stage::Some, Stage::Begun].into_iter().nth(usize::try_from(flags & 3).ok()?)?;
            Some(Place { rank, stage, partial: flags & 8 > 0, is_scan: flags & 4 > 0 })
        };
        let problem = || "is not the `next` of an earlier answer".into();
        place().ok_or_else(|| VaultError::InvalidArgument { argument: "after".into(), problem: problem() })
    }

    fn text(&self) -> String {
        let (Rank { score, updated, key }, flags) =
            (&self.rank, self.stage as u8 | u8::from(self.is_scan) << 2 | u8::from(self.partial) << 3);
        format!("{:x}-{:x}-{key:x}-{flags}", score.to_bits(), *updated as u64)
    }
}

/// What was found, and how far that can be relied on.
struct Answer {
    found: Found,
    is_fresh: bool,
    /// Whether the notes were read.
    is_scan: bool,
    /// Whether that was for want of an index.
    is_indexing: bool,
    progress: Option<Progress>,
}

impl Answer {
    /// Asks the index, or reads the notes where there is none yet, and where an answer goes on that came from them.
    fn of(vault: &Vault, question: &Question, goes_on_scan: bool, call: &Call) -> Result<Answer, VaultError> {
        let is_fresh = vault.freshen(call)?;
        let nothing = Answer { found: Found::default(), is_fresh, is_scan: false, is_indexing: false, progress: None };
        if question.query.is_empty() && question.labels.is_empty() {
            return Ok(nothing);
        }
        let index = vault.index().filter(|_| !goes_on_scan);
        let progress = index.and_then(|index| index.progress());
        match index.map(|index| index.search(question, call)).transpose()?.flatten() {
            Some(found) => Ok(Answer { found, ..nothing }),
            None => {
                let found = scan::search(vault, question, call)?;
                Ok(Answer { found, is_fresh: true, is_scan: true, is_indexing: index.is_some(), progress })
            }
        }
    }

    /// Cuts the passages out of the files. Those that are not what was searched any more are left out and looked at; their
    /// number is told.
    fn rows(
        &self,
        vault: &Vault,
        query: &Query,
        limit: usize,
        call: &Call,
    ) -> Result<(Vec<SearchRow>, usize), VaultError> {
        let begun = (self.found.stage == Stage::Begun).then(|| query.begun());
        let (rules, passages) = (vault.rules()?, Passages::of(begun.as_ref().unwrap_or(query), SNIPPET_CHARS));
        let mut analyser = vault.analyser();
        let (mut rows, mut changed) = (Vec::with_capacity(self.found.hits.len()), BTreeSet::new());
        for (number, hit) in self.found.hits.iter().enumerate() {
            call.check()?;
            let passage = match number < limit {
                _ if rules.hide(&hit.path, false) => Err(Changed),
                true => passage(vault, &passages, hit, &mut analyser),
                // one more than is shown tells that there is more; its passage is not needed
                false => Ok(Snippet::default()),
            };
            match passage {
                Ok(passage) => rows.push(self.row(hit, passage)),
                Err(Changed) => drop(changed.insert(hit.path.clone())),
            }
        }
        if !changed.is_empty() {
            vault.look_again(&changed, call)?;
        }
        Ok((rows, changed.len()))
    }

    fn row(&self, hit: &Hit, passage: Snippet) -> SearchRow {
        let Note { title, tags, stat, .. } = &*hit.note;
        SearchRow {
            path: hit.path.to_string(),
            title: beginning(title, MAX_ROW_TITLE_CHARS),
            kind: hit.path.kind(),
            updated: rfc3339(stat.modified),
            tags: first_tags(tags),
            snippet: passage.text,
            score: (f64::from(hit.rank.score) * 1000.0).round() / 1000.0,
            line: passage.line,
            heading: passage.heading,
            cursor: self.place(hit).text(),
        }
    }

    fn place(&self, hit: &Hit) -> Place {
        let Found { stage, partial, .. } = self.found;
        Place { rank: hit.rank.clone(), stage, partial, is_scan: self.is_scan }
    }

    /// Passages shrink before results are left out.
    fn response(&self, mut rows: Vec<SearchRow>, limit: usize, call: &Call) -> SearchNotesResponse {
        for length in [SNIPPET_CHARS / 2, SNIPPET_CHARS / 4] {
            if page(rows.iter(), limit, call.max_answer_chars).rows.len() == rows.len().min(limit) {
                break;
            }
            rows.iter_mut().for_each(|row| row.snippet = beginning(&row.snippet, length));
        }
        let page = page(rows.into_iter(), limit, call.max_answer_chars);
        SearchNotesResponse {
            next: page.next(),
            truncated: page.truncated,
            results: page.rows,
            limit,
            partial: self.found.partial.then_some(true),
            indexing: self.is_indexing.then_some(true),
            progress: self.progress.filter(|_| self.is_indexing),
            stale: (!self.is_fresh).then_some(true),
        }
    }
}

/// What a file is now is not what was searched.
struct Changed;

fn passage(vault: &Vault, passages: &Passages, hit: &Hit, analyser: &mut Analyser) -> Result<Snippet, Changed> {
    let (bytes, stat) = match vault.store().peek(&hit.path, MAX_NOTE_BYTES) {
        // Searched by its name only.
        Err(VaultError::TooLarge { .. } | VaultError::AccessDenied { .. }) => return Ok(Snippet::default()),
        content => content.map_err(|_| Changed)?,
    };
    if !stat.same_state(&hit.note.stat) {
        return Err(Changed);
    }
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(Snippet::default()) };
    Ok(match hit.path.kind() {
        FileKind::Note => passages.of_note(analyser, text, hit.note.body),
        _ => passages.of_plain(analyser, text),
    })
}

impl Row for SearchRow {
    fn cursor(&self) -> String {
        self.cursor.clone()
    }
}

impl fmt::Display for SearchNotesResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.partial == Some(true) {
            writeln!(f, "(nothing has all of that; these have some)")?;
        }
        for row in &self.results {
            let line = row.line.map_or_else(String::new, |line| format!(":{line}"));
            writeln!(f, "{}{line}\t{}", one_line(&row.path), one_line(&row.snippet))?;
        }
        if let Some(next) = &self.next {
            writeln!(f, "({} shown; the rest: {})", self.results.len(), after_option(next))?;
        }
        Ok(())
    }
}
