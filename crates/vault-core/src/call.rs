//! One call of an operation: who calls, when, and whether they still want the answer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Everything about a call that is not its arguments.
#[derive(Debug, Clone)]
pub struct Call {
    /// Program on whose behalf the call runs, as it names itself, e.g. `claude-code 2.1.280`; kept in the history.
    pub client: String,
    /// Name of this change in the vault's log, should there be one.
    pub operation: OperationId,
    /// Time of the call.
    pub now: Timestamp,
    /// Longest answer of a list, in characters of its JSON; `usize::MAX` for no limit.
    pub max_answer_chars: usize,
    /// When the call must have ended, if ever.
    pub deadline: Option<Instant>,
    /// Set once the caller no longer wants the answer.
    pub cancelled: Cancelled,
    /// Hears how far long work has come.
    pub progress: ProgressListener,
}

/// Hears how far long work has come, if anybody wants to.
#[derive(Clone, Default)]
pub struct ProgressListener(Option<Arc<Hear>>);

/// Takes the number of things done and of all things.
type Hear = dyn Fn(usize, usize) + Send + Sync;

impl ProgressListener {
    /// Calls `hear` with the number of things done and of all things, perhaps from several threads and very often.
    pub fn new(hear: impl Fn(usize, usize) + Send + Sync + 'static) -> ProgressListener {
        ProgressListener(Some(Arc::new(hear)))
    }

    /// Tells how far it has come.
    pub fn tell(&self, done: usize, total: usize) {
        if let Some(hear) = &self.0 {
            hear(done, total);
        }
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProgressListener").field(&self.0.is_some()).finish()
    }
}

/// A flag that the caller raises and long work polls.
#[derive(Debug, Clone, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Raises the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Tells whether the flag is up.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Name of one accepted change in the log: 20 characters, sorted by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct OperationId(pub String);

impl OperationId {
    /// Makes the id of a change at `now`; `random` keeps changes of the same millisecond apart.
    pub fn new(now: Timestamp, random: u64) -> OperationId {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let time = (now.as_millisecond().max(0) as u128) << 52;
        let bits = time | u128::from(random >> 12);
        let digit = |place: u32| char::from(DIGITS[((bits >> (5 * place)) & 31) as usize]);
        OperationId((0..20).rev().map(digit).collect())
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_ids_sort_by_time_and_differ_within_a_millisecond() {
        let at = |ms, random| OperationId::new(Timestamp::from_millisecond(ms).unwrap(), random);
        assert!(at(1_000, u64::MAX) < at(1_001, 0));
        assert_ne!(at(1_000, 1 << 12), at(1_000, 2 << 12));
        assert_eq!(at(1_000, 0).0.len(), 20);
    }
}
