//! The one place that asks the machine for the time and for randomness.

use jiff::Timestamp;

use crate::call::{Call, Cancelled, OperationId};

impl Call {
    /// Begins a call on behalf of `client`: takes the time and a fresh operation id; no deadline.
    pub fn begin(client: &str) -> Call {
        let now = Timestamp::now();
        Call {
            client: client.to_owned(),
            operation: OperationId::new(now, random()),
            now,
            deadline: None,
            cancelled: Cancelled::default(),
        }
    }
}

fn random() -> u64 {
    getrandom::u64().expect("the operating system always has random numbers")
}
