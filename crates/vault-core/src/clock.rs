//! The one place outside the store that asks the machine for the time and for randomness.
#![expect(clippy::disallowed_methods, reason = "everybody else takes the time from a `Call`")]

use std::time::Instant;

use jiff::Timestamp;

use crate::call::{Call, Cancelled, OperationId, ProgressListener};
use crate::error::VaultError;
use crate::limits::MAX_ANSWER_CHARS;

impl Call {
    /// Begins a call on behalf of `client`: takes the time and a fresh operation id; no deadline, and answers as
    /// long as agents get them.
    pub fn begin(client: &str) -> Call {
        let now = Timestamp::now();
        let random = getrandom::u64().expect("the operating system always has random numbers");
        Call {
            client: client.to_owned(),
            operation: OperationId::new(now, random),
            now,
            max_answer_chars: MAX_ANSWER_CHARS,
            deadline: None,
            cancelled: Cancelled::default(),
            progress: ProgressListener::default(),
        }
    }

    /// Refuses with `timeout` when the caller is gone or the time is over. Long loops ask this now and then.
    pub fn check(&self) -> Result<(), VaultError> {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || self.cancelled.is_cancelled() { Err(VaultError::Timeout) } else { Ok(()) }
    }
}
