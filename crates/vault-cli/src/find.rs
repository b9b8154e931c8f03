//! Which vault a command is about.

use std::io;
use std::path::{Path, PathBuf};

use vault_core::{Vault, VaultError};

/// The folder that marks a vault.
const MARK: &str = ".vault";

/// Returns the folder that `named` says (`--vault` or the environment), else the nearest one at or above `here` that has
/// a `.vault` folder in it.
pub fn vault_root(named: Option<PathBuf>, here: &Path) -> Result<PathBuf, VaultError> {
    #[expect(clippy::disallowed_methods, reason = "which folder is the vault is asked before there is a vault to ask")]
    let marked = || here.ancestors().find(|folder| folder.join(MARK).is_dir()).map(Path::to_owned);
    // Made absolute, so that `vault status` says where it is; `.` leaves no trace.
    let named = named.map(|root| here.join(root).components().collect());
    named.or_else(marked).ok_or_else(|| VaultError::InvalidArgument {
        argument: "--vault".into(),
        problem:
            "say which folder is the vault (`--vault .` for this one): `VAULT` is not set, and neither this folder nor \
                  one above it has a `.vault` folder"
                .into(),
    })
}

/// Opens the vault in `root`; a refusal names the folder.
pub fn open(root: &Path) -> Result<Vault, VaultError> {
    Vault::open(root).map_err(|refusal| match refusal {
        VaultError::VaultUnavailable { source } => {
            let named = format!("`{}`: {source}", root.display());
            VaultError::VaultUnavailable { source: io::Error::new(source.kind(), named) }
        }
        refusal => refusal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes the folders that it looks for")]
    fn the_nearest_marked_folder_is_the_vault_unless_one_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let inner = temp.path().join("a/b/c");
        for folder in [&inner, &temp.path().join(MARK), &temp.path().join("a").join(MARK)] {
            std::fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(vault_root(None, &inner).unwrap(), temp.path().join("a"));
        assert_eq!(vault_root(Some(PathBuf::from("d")), &inner).unwrap(), inner.join("d"));
        assert_eq!(vault_root(Some(PathBuf::from(".")), &inner).unwrap().as_os_str(), inner.as_os_str());
    }

    #[test]
    fn without_any_the_refusal_says_what_to_do() {
        let temp = tempfile::tempdir().unwrap();
        let refusal = vault_root(None, temp.path()).unwrap_err();
        assert!(refusal.to_string().starts_with("`--vault`: say which folder"));
    }
}
