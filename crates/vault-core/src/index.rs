//! What a full-text index offers the vault: the port that crate `vault-index` implements. Without one, search reads
//! the notes.

use std::sync::Arc;

use vault_markdown::Document;

use crate::call::Call;
use crate::catalog::Note;
use crate::error::VaultError;
use crate::path::VaultPath;
use crate::search::{Query, Weights};

/// Knows the words of all notes and sheets.
pub trait SearchIndex: Send + Sync {
    /// Returns what is known of every file in the index, so that those which did not change need not be read.
    fn known(&self) -> Vec<(VaultPath, Arc<Note>)>;

    /// Tells that a file holds this text now, or is gone. The next search knows.
    fn tell(&self, path: &VaultPath, now: Option<Told>);

    /// Tells that more changed than is told: until all is compared, there is no answer.
    fn lag(&self);

    /// Returns the best files for a question; `None` when there is no index to answer from yet.
    fn search(&self, question: &Question, call: &Call) -> Result<Option<Found>, VaultError>;

    /// Tells how far the first index has been built, while it is.
    fn progress(&self) -> Option<Progress>;
}

/// The text of a file, and what it holds.
#[derive(Debug, Clone)]
pub struct Told {
    /// What the catalog keeps of it.
    pub note: Arc<Note>,
    /// The parsed text; `None` for a sheet.
    pub document: Option<Document>,
    /// The stored text.
    pub text: String,
}

/// A search as an index understands it.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The words.
    pub query: &'a Query,
    /// Labels that a file must have, see [`crate::search::label_of_tag`].
    pub labels: &'a [String],
    /// Whether archived notes count.
    pub include_archived: bool,
    /// Where the answer goes on.
    pub after: Option<&'a Rank>,
    /// How it was answered so far, when it goes on.
    pub stage: Option<Stage>,
    /// How many files are wanted.
    pub at_most: usize,
}

impl Question<'_> {
    /// Asks `hits` for more and more, until some file answers: for a query, and whether one of its words is enough.
    pub fn answer<E>(&self, hits: impl Fn(&Query, bool) -> Result<(Vec<Hit>, Weights), E>) -> Result<Found, E> {
        let mut found = Found::default();
        for (stage, query) in self.stages() {
            let (hits, weights) = hits(&query, stage != Stage::All)?;
            found = self.found(stage, hits, &weights);
            if !found.hits.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    fn found(&self, stage: Stage, hits: Vec<Hit>, weights: &Weights) -> Found {
        let (first, _) = self.span();
        let lacks_some = stage == Stage::Some && hits.first().is_some_and(|best| best.rank.score < weights.all);
        Found { partial: !hits.is_empty() && (stage != first || lacks_some), hits, stage }
    }

    fn stages(&self) -> impl Iterator<Item = (Stage, Query)> {
        let (first, last) = self.span();
        let stages =
            [Stage::All, Stage::Some, Stage::Begun].into_iter().filter(move |stage| (first..=last).contains(stage));
        stages.map(|stage| (stage, stage.asks(self.query)))
    }

    /// Returns the first and the last stage.
    fn span(&self) -> (Stage, Stage) {
        match self.stage {
            Some(stage) => (stage, stage),
            None if self.query.wanted.is_empty() => (Stage::All, Stage::All),
            None if self.query.is_question() => (Stage::Some, Stage::Begun),
            None => (Stage::All, Stage::Begun),
        }
    }
}

/// What a file must have to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// All words.
    #[default]
    All,
    /// Some of them.
    Some,
    /// Words that begin like some of them.
    Begun,
}

impl Stage {
    /// Returns what a query asks for at this stage.
    pub fn asks(self, query: &Query) -> Query {
        match self {
            Stage::All => query.clone(),
            Stage::Some => query.loosened(),
            Stage::Begun => query.begun(),
        }
    }
}

/// Place of a file in the order of an answer: higher scores first, then what changed last.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Score.
    pub score: f32,
    /// When the file changed, in nanoseconds since 1970.
    pub updated: i64,
    /// What tells files apart that are equal in both, see [`path_key`].
    pub key: u64,
}

/// Returns a number that tells a path from others.
pub fn path_key(path: &VaultPath) -> u64 {
    let hash = blake3::hash(path.as_str().as_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes"))
}

/// The best files for a question.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How they answer.
    pub stage: Stage,
    /// Whether nothing is all that was asked for, so that these are only some of it.
    pub partial: bool,
}

/// One file that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Where it stands in the answer.
    pub rank: Rank,
    /// The file.
    pub path: VaultPath,
    /// What is known of it.
    pub note: Arc<Note>,
}

/// How far something has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Progress {
    /// Files done.
    pub done: usize,
    /// All files.
    pub total: usize,
}

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Better ranks are less, so that a sorted list is best first.
impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> std::cmp::Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| other.updated.cmp(&self.updated)).then_with(|| self.key.cmp(&other.key))
    }
}
