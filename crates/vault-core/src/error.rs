//! Everything that can be refused, with the contract's code and the next step.

use std::fmt;
use std::io;

use serde_json::{Map, Value, json};

use crate::limits::MAX_LINES_TOLD;
use crate::path::{PathProblem, VaultPath};
use crate::shown::shortened;
use crate::switches::Switch;
use crate::version::Version;

/// A refused call. `Display` says what was wrong, [`VaultError::hint`] what to do next.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each field is what its name says, and each message shows how it is used")]
pub enum VaultError {
    /// Nothing is there.
    #[error("there is no {what} at `{path}`")]
    NotFound { what: &'static str, path: String, candidates: Vec<String> },
    /// Something is there, but it is no Markdown note.
    #[error("`{path}` is not a note: {why}")]
    NotANote { path: String, why: &'static str },
    /// The text is no path of this vault.
    #[error("`{path}` cannot be used: {problem}")]
    InvalidPath { path: String, problem: PathProblem },
    /// An argument has a value that the operation does not take.
    #[error("`{argument}`: {}", shortened(problem))]
    InvalidArgument { argument: String, problem: String },
    /// The frontmatter block, the file's or the one that was passed, cannot be read as YAML, so it is not written.
    #[error("the frontmatter of `{path}` cannot be used: line {line}: {}", shortened(problem))]
    InvalidFrontmatter { path: String, line: usize, problem: String },
    /// The place is taken.
    #[error("{} exists already", named(path))]
    Exists { path: String },
    /// More than one thing fits.
    #[error("`{path}` could mean {} notes", candidates.len())]
    Ambiguous { path: String, candidates: Vec<String> },
    /// The operation needs the version of a whole read, and none came.
    #[error("`{path}` can only be changed by whoever has read it: `version` is missing")]
    VersionRequired { path: VaultPath },
    /// The file is not what the caller read: it changed, or nobody ever got that version.
    #[error("`{path}` is not at the version you passed")]
    StaleVersion { path: VaultPath, current: Option<Version>, diff: Option<String> },
    /// A person has the note open with unsaved changes.
    #[error("`{path}` is open in {program} with unsaved changes")]
    OpenElsewhere { path: VaultPath, program: String },
    /// The text to replace is not in the note.
    #[error("`old_string` does not occur in `{path}`")]
    NoMatch { path: VaultPath },
    /// The text to replace is there more than once.
    #[error("`old_string` occurs {} times in `{path}`", lines.len())]
    NotUnique { path: VaultPath, lines: Vec<usize> },
    /// A placeholder cannot be turned back into an element of the note.
    #[error("the `vault-block` `{}` {problem}", shortened(id))]
    UnknownBlock { path: VaultPath, id: String, problem: BlockProblem },
    /// A person has not allowed this kind of call.
    #[error("the switch `{switch}` is off for this vault")]
    PermissionDenied { switch: Switch },
    /// The operating system does not let this process at the file.
    #[error("the operating system does not let this program {action} `{path}`")]
    AccessDenied { path: String, action: &'static str },
    /// The file is not text in UTF-8.
    #[error("`{path}` is not valid UTF-8 (first wrong byte at offset {offset})")]
    NotUtf8 { path: VaultPath, offset: usize },
    /// The file is of a kind that this operation does not read.
    #[error("`{path}` cannot be read as {wanted}")]
    UnsupportedType { path: VaultPath, wanted: &'static str },
    /// Larger than the stated limit.
    #[error("{what} is larger than the limit of {limit} bytes")]
    TooLarge { what: String, limit: u64, hint: &'static str },
    /// The call took longer than it may.
    #[error("the call took longer than its time limit")]
    Timeout,
    /// Another program kept the vault or the file busy.
    #[error("{what} is busy")]
    Busy { what: String },
    /// No room left on the device.
    #[error("no room is left on the disk: nothing was changed")]
    DiskFull { source: io::Error },
    /// The file, the folder or the whole file system cannot be written.
    #[error("`{path}` cannot be written: {source}")]
    ReadOnly { path: String, source: io::Error },
    /// The vault's folder is gone or cannot be opened.
    #[error("the vault's folder cannot be opened: {source}")]
    VaultUnavailable { source: io::Error },
    /// A failure that no caller can act on.
    #[error("{doing} failed: {source}")]
    Io { doing: String, source: io::Error },
    /// A fault of this program.
    #[error("internal fault: {what}")]
    Internal { what: String },
}

/// Why a placeholder stands for no element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockProblem {
    /// The note has no element of that id.
    Unknown,
    /// It stands in the text twice.
    Twice,
    /// Its fence is never closed.
    Unclosed,
    /// Something was written into it.
    Edited,
    /// Where it stands now, the element would read differently.
    Unmovable,
}

impl fmt::Display for BlockProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlockProblem::Unknown => "is not one of this note's",
            BlockProblem::Twice => "stands in the text twice",
            BlockProblem::Unclosed => "has no closing fence",
            BlockProblem::Edited => "was edited, and what it stands for is not text",
            BlockProblem::Unmovable => "cannot be moved there: its content would change",
        })
    }
}

impl VaultError {
    /// Returns the contract's code for this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            VaultError::NotFound { .. } => "not_found",
            VaultError::NotANote { .. } => "not_a_note",
            VaultError::InvalidPath { .. } => "invalid_path",
            VaultError::InvalidArgument { .. } => "invalid_argument",
            VaultError::InvalidFrontmatter { .. } => "invalid_frontmatter",
            VaultError::Exists { .. } => "exists",
            VaultError::Ambiguous { .. } => "ambiguous",
            VaultError::VersionRequired { .. } => "version_required",
            VaultError::StaleVersion { .. } => "stale_version",
            VaultError::OpenElsewhere { .. } => "open_elsewhere",
            VaultError::NoMatch { .. } => "no_match",
            VaultError::NotUnique { .. } => "not_unique",
            VaultError::UnknownBlock { .. } => "unknown_block",
            VaultError::PermissionDenied { .. } | VaultError::AccessDenied { .. } => "permission_denied",
            VaultError::NotUtf8 { .. } => "not_utf8",
            VaultError::UnsupportedType { .. } => "unsupported_type",
            VaultError::TooLarge { .. } => "too_large",
            VaultError::Timeout => "timeout",
            VaultError::Busy { .. } => "busy",
            VaultError::DiskFull { .. } => "disk_full",
            VaultError::ReadOnly { .. } => "read_only",
            VaultError::VaultUnavailable { .. } | VaultError::Io { .. } | VaultError::Internal { .. } => "internal",
        }
    }

    /// Returns what to do next, one sentence for a reader with one turn to recover.
    pub fn hint(&self) -> String {
        match self {
            VaultError::NotFound { candidates, what, .. } if candidates.is_empty() => {
                let list = if *what == "folder" { "list_folders" } else { "list_notes` or `list_files" };
                format!("call `{list}` for the paths that exist")
            }
            VaultError::NotFound { .. } | VaultError::Ambiguous { .. } => {
                "use one of `candidates`, spelled exactly like this".into()
            }
            VaultError::NotANote { .. } => "pass the path of a note, as `list_notes` shows it; `read_file` reads other text files".into(),
            VaultError::InvalidPath { problem, .. } => path_hint(problem),
            VaultError::InvalidArgument { argument, .. } => format!("correct `{argument}` and call again"),
            VaultError::InvalidFrontmatter { .. } => {
                "make the block between the `---` lines valid YAML, one key a line: in the text you pass or, where the note \
                 has it already, with `edit_note`; nothing was written"
                    .into()
            }
            VaultError::Exists { .. } => "choose another name, or read and change what is there".into(),
            VaultError::VersionRequired { .. } => "read the note first: `read_note` returns its `version`".into(),
            VaultError::StaleVersion { diff: Some(_), .. } => {
                "redo your change on the present text: `diff` leads to it from the text you read, and `currentVersion` is \
                 its version"
                    .into()
            }
            VaultError::StaleVersion { diff: None, .. } => {
                "call `read_note` again and redo your change on that text".into()
            }
            VaultError::OpenElsewhere { .. } => "wait until it is saved and closed, then read the note again".into(),
            VaultError::NoMatch { .. } => {
                "copy `old_string` exactly from `read_note`, blanks and line breaks included; a line that only the view \
                 adds (`type: Note`) matches only as a whole; nothing was written"
                    .into()
            }
            VaultError::NotUnique { .. } => {
                "make `old_string` longer so that it fits one place (`lines` has the first), or pass `replace_all`".into()
            }
            VaultError::UnknownBlock { problem, .. } => match problem {
                BlockProblem::Unknown => {
                    "leave placeholders as `read_note` shows them now; write an element that is new, or was removed, as its own \
                     fenced code"
                        .into()
                }
                BlockProblem::Twice => "keep each placeholder once".into(),
                BlockProblem::Unclosed => "end the placeholder with its closing fence".into(),
                BlockProblem::Edited => {
                    "leave the lines of a placeholder as `read_note` shows them; to change the element itself, replace the \
                     whole placeholder with new fenced code"
                        .into()
                }
                BlockProblem::Unmovable => "put the placeholder on lines of its own, outside other code".into(),
            },
            VaultError::PermissionDenied { switch } => {
                format!("a person can turn it on with `vault --vault . allow {switch}`, run in the vault's folder")
            }
            VaultError::AccessDenied { .. } => "a person must change the file's permissions".into(),
            VaultError::NotUtf8 { .. } => "a person can convert the file to UTF-8; it is still listed".into(),
            VaultError::UnsupportedType { .. } => "only text can be read with this tool; `list_files` tells the kinds of files".into(),
            VaultError::TooLarge { hint, .. } => (*hint).into(),
            VaultError::Timeout => "call again with a smaller range or folder".into(),
            VaultError::Busy { .. } => "wait a moment and call again; nothing was changed".into(),
            VaultError::DiskFull { .. } => "a person must make room on the disk".into(),
            VaultError::ReadOnly { .. } => "reading works; a person must make the file, or the folder, writable".into(),
            VaultError::VaultUnavailable { .. } => "a person must check that the vault's folder is there and mounted".into(),
            VaultError::Io { .. } => "call again; when it stays, a person should look at the disk".into(),
            VaultError::Internal { .. } => "this is a fault of the program; nothing was changed".into(),
        }
    }

    /// Returns the refusal as callers get it: `{"error": {"code", "message", "hint", …}}` (CONTRACT.md section 5).
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".into(), json!(self.code()));
        error.insert("message".into(), json!(self.to_string()));
        error.insert("hint".into(), json!(self.hint()));
        if let Some(path) = self.path() {
            error.insert("path".into(), json!(path));
        }
        match self {
            VaultError::NotFound { candidates, .. } | VaultError::Ambiguous { candidates, .. }
                if !candidates.is_empty() =>
            {
                error.insert("candidates".into(), json!(candidates));
            }
            VaultError::InvalidPath { problem: PathProblem::SymbolicLink { real: Some(real) }, .. } => {
                error.insert("candidates".into(), json!([real]));
            }
            VaultError::StaleVersion { current: Some(current), diff: Some(diff), .. } => {
                error.insert("currentVersion".into(), json!(current));
                error.insert("diff".into(), json!(diff));
            }
            VaultError::NotUnique { lines, .. } => {
                let mut lines = lines.clone();
                lines.dedup();
                lines.truncate(MAX_LINES_TOLD);
                error.insert("lines".into(), json!(lines));
            }
            VaultError::PermissionDenied { switch } => {
                error.insert("switch".into(), json!(switch));
            }
            VaultError::TooLarge { limit, .. } => {
                error.insert("limit".into(), json!(limit));
            }
            _ => {}
        }
        json!({ "error": error })
    }

    /// Returns the path that the refusal is about, where it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            VaultError::NotFound { path, .. }
            | VaultError::NotANote { path, .. }
            | VaultError::InvalidPath { path, .. }
            | VaultError::InvalidFrontmatter { path, .. }
            | VaultError::Exists { path }
            | VaultError::Ambiguous { path, .. }
            | VaultError::AccessDenied { path, .. }
            | VaultError::ReadOnly { path, .. } => Some(path),
            VaultError::VersionRequired { path }
            | VaultError::StaleVersion { path, .. }
            | VaultError::OpenElsewhere { path, .. }
            | VaultError::NoMatch { path }
            | VaultError::NotUnique { path, .. }
            | VaultError::UnknownBlock { path, .. }
            | VaultError::NotUtf8 { path, .. }
            | VaultError::UnsupportedType { path, .. } => Some(path.as_str()),
            VaultError::InvalidArgument { .. }
            | VaultError::PermissionDenied { .. }
            | VaultError::TooLarge { .. }
            | VaultError::Timeout
            | VaultError::Busy { .. }
            | VaultError::DiskFull { .. }
            | VaultError::VaultUnavailable { .. }
            | VaultError::Io { .. }
            | VaultError::Internal { .. } => None,
        }
    }
}

fn named(path: &str) -> String {
    match path {
        "" | "." => "the vault itself".into(),
        path => format!("`{path}`"),
    }
}

fn path_hint(problem: &PathProblem) -> String {
    match problem {
        PathProblem::SymbolicLink { real: Some(real) } => format!("use the real path, `{real}`"),
        PathProblem::SymbolicLink { real: None } => "only files that lie in the vault itself can be used".into(),
        PathProblem::Hidden | PathProblem::Ignored => "use a path that `list_notes` or `list_files` shows".into(),
        PathProblem::TooLong => "use shorter names".into(),
        PathProblem::Empty
        | PathProblem::Absolute
        | PathProblem::DriveLetter
        | PathProblem::Backslash
        | PathProblem::DotDot
        | PathProblem::EmptySegment
        | PathProblem::Control => "pass a path relative to the vault, like `Projects/Plan.md`".into(),
    }
}
