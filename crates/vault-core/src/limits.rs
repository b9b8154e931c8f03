//! Every limit of the library in one place. Each is shown in the error that it causes.

/// Longest file or folder name, in bytes of UTF-8: what common file systems hold.
pub const MAX_NAME_BYTES: usize = 255;

/// Longest path, in bytes of UTF-8: a little less than systems take with the vault's own place in front.
pub const MAX_PATH_BYTES: usize = 4_000;

/// Largest note that is read whole, in bytes of its text; a part of a larger one can be read by lines.
pub const MAX_WHOLE_NOTE_BYTES: u64 = 1024 * 1024;

/// Largest note that is opened at all, in bytes. Larger ones are listed and can be moved.
pub const MAX_NOTE_BYTES: u64 = 64 * 1024 * 1024;

/// Largest plain text file that `read_file` opens, in bytes.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Longest answer of a list or a search to an agent, in characters of its JSON.
pub const MAX_ANSWER_CHARS: usize = 25_000;

/// Most nearest paths that a `not_found` names.
pub const MAX_CANDIDATES: usize = 5;

/// Most lines that a `not_unique` names.
pub const MAX_LINES_TOLD: usize = 20;

/// Memory for the texts this process served last, in bytes: they answer `since` and a stale write with a diff.
pub const SERVED_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// Longest excerpt of a note, in characters.
pub const EXCERPT_CHARS: usize = 160;

/// How long a write waits for another process that holds the vault's lock, before it answers `busy`.
pub const LOCK_WAIT: std::time::Duration = std::time::Duration::from_secs(10);

/// How often a read starts again when the file changes under it.
pub const READ_TRIES: usize = 8;

/// How often a write makes room for a program that saves the same file at the same time, before it answers `busy`.
pub const SWAP_TRIES: usize = 8;

/// How long a replaced file is kept for programs that still write into it.
pub const DISPLACED_AGE: std::time::Duration = std::time::Duration::from_secs(2);

/// The same where the system cannot tell whether a program has the file open.
pub const DISPLACED_AGE_UNSURE: std::time::Duration = std::time::Duration::from_secs(600);

/// Most replaced files that one write clears away.
pub const SWEPT_PER_WRITE: usize = 4;

/// Size at which a new segment of the log is started, in bytes.
pub const LOG_SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// Longest segment that is read, in bytes: a full one and a record with the two largest notes.
pub const MAX_LOG_READ_BYTES: u64 = LOG_SEGMENT_BYTES + 2 * MAX_NOTE_BYTES + 1024 * 1024;

/// Most threads that walk the vault's folders.
pub const WALK_THREADS: usize = 8;

/// Longest diff in an error, in bytes; a longer one is left out together with `currentVersion`.
pub const MAX_DIFF_BYTES: u64 = 8_000;

/// Largest `.vaultignore` file, in bytes.
pub const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// Longest title in a row of a list, in characters.
pub const MAX_ROW_TITLE_CHARS: usize = 300;

/// Most tags in a row of a list, in characters altogether.
pub const MAX_ROW_TAGS_CHARS: usize = 2_000;

/// Most memory for a search pattern, in bytes; one that would need more is refused.
pub const MAX_PATTERN_MEMORY: usize = 10 * 1024 * 1024;

/// Longest search pattern, in bytes: reading it takes many times its length.
pub const MAX_PATTERN_BYTES: usize = 10_000;

/// Most work of a search for a pattern that goes on without a look at the clock: bytes of text times bytes of pattern.
pub const MAX_BLIND_WORK: usize = 1 << 31;

/// Longest line in a row of an answer, in characters of JSON.
pub const MAX_LINE_CHARS: usize = 400;

/// Most notes that an answer names as not searched.
pub const MAX_SKIPPED: usize = 100;

/// Most of a note that is searched, in bytes: its beginning.
pub const MAX_SEARCHED_BYTES: usize = 8 * 1024 * 1024;

/// Longest passage of a search result, in characters.
pub const SNIPPET_CHARS: usize = 200;

/// How often a search is done again because a file in its answer changed meanwhile.
pub const SEARCH_TRIES: usize = 8;

/// Most numbers that are tried for the name of a new note.
pub const MAX_NAME_TRIES: usize = 10_000;

/// Most paths that a watcher notes before it is cheaper to compare everything.
pub const MAX_NEWS: usize = 2_000;

/// Most texts that are kept in memory on their way to an index that somebody keeps. Where more have changed, the index is
/// told to look itself.
pub const MAX_TOLD: usize = 1_000;

/// Longest query of a search, in bytes.
pub const MAX_QUERY_BYTES: usize = 10_000;

/// Most words and phrases of a query, what it leaves out included.
pub const MAX_QUERY_UNITS: usize = 500;

/// Notes that a search reads at most because other programs changed them.
pub const MAX_LOOKS: usize = 16;

/// How old the catalog behind a report may be.
pub const RECENT: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// How long after its last change a file may still change again without a trace in its times.
pub const CLOCK_GRAIN: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// Most tags in one argument.
pub const MAX_TAGS: usize = 100;
