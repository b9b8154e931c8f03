//! Search without an index: reads every note. Slow and obvious.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::call::Call;
use crate::catalog::Note;
use crate::error::VaultError;
use crate::freshness::has_words;
use crate::index::{Found, Hit, Question, Rank, Stage, path_key};
use crate::limits::MAX_NOTE_BYTES;
use crate::path::VaultPath;
use crate::search::{Analysed, Analyser, Query, Searched, Sought, Weights};
use crate::store::{Care, EntryKind, Stat, Visited, Visitor};
use crate::vault::{Vault, lock};

/// A file that may answer.
struct Candidate {
    path: VaultPath,
    note: Arc<Note>,
    analysed: Analysed,
}

/// Answers a question from the files as they are now.
pub(crate) fn search(vault: &Vault, question: &Question, call: &Call) -> Result<Found, VaultError> {
    let rules = vault.rules()?;
    let mut files = vault.store().walk(&|path, kind| !rules.hide(path, kind == EntryKind::Folder))?;
    files.retain(|(path, stat)| stat.kind == EntryKind::File && has_words(path));
    let candidates = candidates(vault, question, &files, call)?;
    let n_files = files.len();
    question.answer(|query, any| Ok(best(&candidates, n_files, question, query, any)))
}

/// Takes apart every file that may have any of the words, and keeps those that have any of the words.
fn candidates(
    vault: &Vault,
    question: &Question,
    files: &[(VaultPath, Stat)],
    call: &Call,
) -> Result<Vec<Candidate>, VaultError> {
    let (widest, sought) =
        ([Stage::Some, Stage::Begun].map(|stage| stage.asks(question.query)), Sought::of(question.query));
    let (found, refused): (Mutex<Vec<Candidate>>, Mutex<Option<VaultError>>) = Default::default();
    let n_done = AtomicUsize::new(0);
    let take = |(path, stat): &(VaultPath, Stat), visited: Option<Visited>, analyser: &mut Analyser| {
        let stat_now = visited.as_ref().and_then(|visited| visited.stat.clone());
        let text = visited.and_then(|visited| std::str::from_utf8(visited.bytes).ok()).unwrap_or_default();
        if sought.may_be_in(path.as_str(), text) {
            let stat = stat_now.unwrap_or_else(|| stat.clone());
            let candidate = Candidate::of(path, stat, text, (&sought, &mut *analyser), call);
            let answers = |query: &Query| candidate.analysed.matches(query, question.labels, true, true);
            if question.query.wanted.is_empty() || widest.iter().any(answers) {
                lock(&found).push(candidate);
            }
        }
        call.progress.tell(n_done.fetch_add(1, Ordering::Relaxed) + 1, files.len());
    };
    let (texts, others): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.is_text());
    let begin = || -> Visitor<'_> {
        let mut analyser = Analyser::default();
        let (refused, take, texts) = (&refused, &take, &texts);
        Box::new(move |place, visited| {
            if let Err(refusal) = call.check() {
                *lock(refused) = Some(refusal);
                return ControlFlow::Break(());
            }
            take(texts[place], visited.ok(), &mut analyser);
            ControlFlow::Continue(())
        })
    };
    let paths: Vec<&VaultPath> = texts.iter().map(|(path, _)| path).collect();
    vault.store().visit(&paths, Care::Whole, MAX_NOTE_BYTES, &begin);
    others.into_iter().for_each(|file| take(file, None, &mut Analyser::default()));
    if let Some(refusal) = refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(refusal);
    }
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Candidate {
    fn of(
        path: &VaultPath,
        stat: Stat,
        text: &str,
        (sought, analyser): (&Sought, &mut Analyser),
        call: &Call,
    ) -> Candidate {
        let document = path.is_note().then(|| vault_markdown::parse(text));
        let note = Arc::new(Note::new(path, stat, document.as_ref().map(|document| (text, document)), call.now));
        let searched = match &document {
            Some(document) => Searched::of_note(path, &note, document, text),
            None => Searched::of_sheet(path, text),
        };
        Candidate { analysed: Analysed::for_query(&searched, analyser, sought), path: path.clone(), note }
    }
}

fn best(
    candidates: &[Candidate],
    n_files: usize,
    question: &Question,
    query: &Query,
    any: bool,
) -> (Vec<Hit>, Weights) {
    let n_with = |unit| candidates.iter().filter(|candidate| candidate.analysed.has(unit)).count() as u64;
    let n_with: Vec<u64> = query.wanted.iter().chain(&query.optional).map(n_with).collect();
    let sum = |field: usize| candidates.iter().map(|one| u64::from(one.analysed.lengths()[field])).sum::<u64>();
    // those that have none of the words are as long as the others, as far as anybody knows
    let n_terms = std::array::from_fn(|field| sum(field) * n_files as u64 / candidates.len().max(1) as u64);
    let weights = Weights::of(&n_with, n_files as u64, &n_terms);
    let answers =
        candidates.iter().filter(|one| one.analysed.matches(query, question.labels, question.include_archived, any));
    let hit = |one: &Candidate| {
        let score = one.analysed.score(query, &weights);
        let updated = i64::try_from(one.note.stat.modified.as_nanosecond()).unwrap_or(i64::MAX);
        let rank = Rank { score, updated, key: path_key(&one.path) };
        Hit { rank, path: one.path.clone(), note: one.note.clone() }
    };
    let mut hits: Vec<Hit> =
        answers.map(hit).filter(|hit| question.after.is_none_or(|after| hit.rank > *after)).collect();
    hits.sort_by(|one, other| one.rank.cmp(&other.rank));
    hits.truncate(question.at_most);
    (hits, weights)
}
