//! Every limit of this crate in one place.

use std::time::Duration;

/// Version of the index's fields, terms and rows. An index of another version is left alone, and this one is built
/// beside it.
pub const INDEX_VERSION: u32 = 1;

/// Most changed files that are searched in memory; beyond that a batch is written, and the notes are read meanwhile.
pub const MAX_OVERLAY: usize = 4_000;

/// Changed files from which a batch is written at once.
pub const FULL_OVERLAY: usize = 256;

/// How long nothing must have changed before a batch is written.
pub const QUIET: Duration = Duration::from_millis(700);

/// How often the log of other processes is looked at while nothing happens. Calls look for themselves.
pub const IDLE: Duration = Duration::from_secs(5);

/// How long a change may wait for its batch while others follow.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Changed files from which they go to the index as they are read, and not by way of memory.
pub const MIN_BULK: usize = 256;

/// How often a process asks for the index's lock while another one has it.
pub const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// How long calls may go first while the keeper looks at very many changes.
pub const LOOK_PAUSE: Duration = Duration::from_millis(1);

/// How often everything is compared where folders cannot be watched.
pub const POLL_PAUSE: Duration = Duration::from_secs(2);

/// How many times as long as a comparison takes nothing is compared afterwards, where folders cannot be watched.
pub const POLL_SHARE: u32 = 20;

/// How long the system is trusted to tell of every change. It does not tell what is written through another hard link, by
/// way of memory, or by another machine.
pub const LONGEST_TRUST: Duration = Duration::from_secs(600);

/// How long at most the index is left alone after it could not be written.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Threads that build an index, at most.
pub const MAX_BUILD_THREADS: usize = 4;

/// Memory of each of these threads, in bytes: when it is full, a part of the index is written.
pub const BUILD_THREAD_BYTES: usize = 30 * 1024 * 1024;

/// Memory for a batch, in bytes.
pub const BATCH_BYTES: usize = 16 * 1024 * 1024;
