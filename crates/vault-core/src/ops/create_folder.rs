//! `create_folder`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::call::{Call, OperationId};
use crate::error::VaultError;
use crate::locate::Locator;
use crate::path::folded;
use crate::switches::Switch;
use crate::vault::Vault;

/// Create a folder and those above it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFolder {
    /// Folder to make, e.g. `Work/2026`.
    pub path: String,
}

/// The folder that was made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CreateFolderResponse {
    /// Path in the vault.
    pub path: String,
    /// Name of this change in the vault's log.
    pub operation: OperationId,
}

impl Operation for CreateFolder {
    const NAME: &'static str = "create_folder";
    const EFFECT: Switch = Switch::Write;
    type Response = CreateFolderResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<CreateFolderResponse, VaultError> {
        let locator = Locator::new(vault)?;
        let path = locator.place_for_folder("path", &self.path).map_err(|refusal| self.taken(refusal))?;
        if path.is_root() {
            return Err(VaultError::Exists { path: self.path });
        }
        vault.create_folder(&path, Self::NAME, call).map_err(|refusal| locator.conceal(refusal, &path))?;
        Ok(CreateFolderResponse { path: path.to_string(), operation: call.operation.clone() })
    }
}

impl CreateFolder {
    /// Another spelling of the whole path takes the name; one of a folder above it is only misspelled.
    fn taken(&self, refusal: VaultError) -> VaultError {
        match refusal {
            VaultError::NotFound { mut candidates, .. }
                if candidates.first().is_some_and(|other| folded(other) == folded(&self.path)) =>
            {
                VaultError::Exists { path: candidates.remove(0) }
            }
            refusal => refusal,
        }
    }
}

impl fmt::Display for CreateFolderResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "created {}/", self.path)
    }
}
