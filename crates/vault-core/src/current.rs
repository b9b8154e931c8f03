//! The present text of a note that a caller wants to change, and the way to it from the one that was read.

use crate::error::VaultError;
use crate::limits::MAX_DIFF_BYTES;
use crate::path::VaultPath;
use crate::shown::shortened;
use crate::vault::{Text, Vault};
use crate::version::Version;

/// Asks for the version that a caller must hold to change the note that `path` names. Nothing is looked for on the disk.
pub(crate) fn held_version(path: &str, version: Option<&str>) -> Result<Version, VaultError> {
    match (version, VaultPath::parse(path)) {
        (Some(version), _) => Ok(Version::from_caller(version)),
        (None, Ok(path)) => Err(VaultError::VersionRequired { path }),
        (None, Err(problem)) => Err(VaultError::InvalidPath { path: shortened(path), problem }),
    }
}

impl Vault {
    /// Reads a note that a caller wants to change: refuses unless it is still at the version that the caller holds.
    pub(crate) fn read_current(&self, path: &VaultPath, held: &Version) -> Result<Text, VaultError> {
        let stored = self.read_stored(path)?;
        match stored.version == *held {
            true => Ok(stored),
            false => Err(self.stale(path, held, &stored)),
        }
    }

    /// Refuses with the way from the text that the caller read to the present one, when we still know that text.
    pub(crate) fn stale(&self, path: &VaultPath, read: &Version, now: &Text) -> VaultError {
        let before = self.served_text(path, read);
        let diff = before.map(|before| {
            let view = vault_markdown::view(&now.text, &Default::default()).text;
            self.keep_served(path, &now.version, &now.text);
            vault_markdown::unified_diff(&before, &view)
        });
        let diff = diff.filter(|diff| diff.len() as u64 <= MAX_DIFF_BYTES);
        VaultError::StaleVersion { path: path.clone(), current: diff.is_some().then(|| now.version.clone()), diff }
    }
}
