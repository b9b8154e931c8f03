//! Profiles: the sets of tools that a server can publish, one per process.

use clap::ValueEnum;
use vault_core::Entry;
use vault_core::ops::{FILES, OPERATIONS};

/// A set of tools, and what a model is told about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Notes, sheets and attachments of a person's vault.
    Notes,
    /// Whole files, for agents and scripts that think in files; so far only `list_folders`.
    Files,
}

impl Profile {
    /// Returns the operations of the profile, in the order clients list them.
    pub fn entries(self) -> &'static [Entry] {
        match self {
            Profile::Notes => OPERATIONS,
            Profile::Files => FILES,
        }
    }

    /// Returns the operation of that name.
    pub fn entry(self, name: &str) -> Option<&'static Entry> {
        self.entries().iter().find(|entry| entry.name == name)
    }

    /// Returns what a model is told once about all tools together. At most 2 KB: it is in every conversation.
    pub fn instructions(self) -> &'static str {
        match self {
            Profile::Notes => include_str!("instructions/notes.md"),
            Profile::Files => include_str!("instructions/files.md"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_stay_within_2_kb() {
        for profile in Profile::value_variants() {
            assert!(profile.instructions().len() <= 2048);
        }
    }
}
