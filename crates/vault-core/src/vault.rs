//! A vault: the front door of the library.

use std::path::Path;

use crate::error::VaultError;
use crate::switches::{Granted, Settings, Switch};

/// One folder of notes, opened. Cheap to share between threads.
pub struct Vault {}

impl Vault {
    /// Opens the vault in `root`. Creates nothing and reads no note.
    pub fn open(root: &Path) -> Result<Vault, VaultError> {
        let _ = root;
        Ok(Vault {})
    }

    /// Returns what a person has set for agents on this machine, read anew.
    pub fn settings(&self) -> Result<Settings, VaultError> {
        Ok(Settings::default())
    }

    /// Changes what agents may do on this machine; effective at the next call of every process.
    pub fn change_settings(&self, change: impl FnOnce(&mut Settings)) -> Result<Settings, VaultError> {
        let mut settings = self.settings()?;
        change(&mut settings);
        Ok(settings)
    }

    /// Tells whether agents of a process started with `granted` may use `switch` at this moment.
    pub fn allows(&self, granted: &Granted, switch: Switch) -> Result<bool, VaultError> {
        Ok(crate::switches::allows(&self.settings()?, granted, switch))
    }
}
