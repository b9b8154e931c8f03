//! From what the system says to what callers are told.

use std::io::{self, ErrorKind};

use super::disk::{is_link_error, is_odd_file_error};
use super::{HIDDEN, Store};
use crate::error::VaultError;
use crate::path::{PathProblem, VaultPath};

/// What was attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Writing,
}

impl Store {
    /// Says why a step on `path` failed.
    pub(super) fn refusal(&self, path: &VaultPath, doing: Doing, error: io::Error) -> VaultError {
        if is_link_error(&error) {
            return VaultError::InvalidPath { path: path.to_string(), problem: self.link_problem(path) };
        }
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => match self.disk.check_root() {
                Ok(()) => VaultError::NotFound { what: "file", path: path.to_string(), candidates: vec![] },
                Err(source) => VaultError::VaultUnavailable { source },
            },
            _ => refusal_of_file(path.as_str(), doing, error),
        }
    }

    fn link_problem(&self, path: &VaultPath) -> PathProblem {
        let real = self.disk.real_place(path.as_str()).and_then(|real| VaultPath::parse(&real).ok());
        PathProblem::SymbolicLink { real }
    }
}

/// Says why a step on the files that we keep in the vault failed.
pub(super) fn refusal_of_own(error: io::Error) -> VaultError {
    let kinds = [ErrorKind::NotADirectory, ErrorKind::IsADirectory, ErrorKind::InvalidInput];
    match error.kind() {
        kind if kinds.contains(&kind) => VaultError::ReadOnly { path: HIDDEN.into(), source: error },
        _ => refusal_of_file(HIDDEN, Doing::Writing, error),
    }
}

fn refusal_of_file(path: &str, doing: Doing, error: io::Error) -> VaultError {
    let path = || path.to_owned();
    if is_odd_file_error(&error) {
        return VaultError::NotANote { path: path(), why: "it is no regular file" };
    }
    match error.kind() {
        ErrorKind::IsADirectory => VaultError::NotANote { path: path(), why: "it is a folder" },
        ErrorKind::AlreadyExists => VaultError::Exists { path: path() },
        ErrorKind::InvalidFilename => VaultError::InvalidPath { path: path(), problem: PathProblem::TooLong },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => VaultError::DiskFull { source: error },
        ErrorKind::ReadOnlyFilesystem => VaultError::ReadOnly { path: path(), source: error },
        ErrorKind::PermissionDenied if doing == Doing::Writing => VaultError::ReadOnly { path: path(), source: error },
        ErrorKind::PermissionDenied => VaultError::AccessDenied { path: path(), action: "read" },
        ErrorKind::ResourceBusy => VaultError::Busy { what: format!("`{}`", path()) },
        ErrorKind::StaleNetworkFileHandle | ErrorKind::NotConnected => VaultError::VaultUnavailable { source: error },
        _ => {
            let verb = if doing == Doing::Reading { "reading" } else { "writing" };
            VaultError::Io { doing: format!("{verb} `{}`", path()), source: error }
        }
    }
}
