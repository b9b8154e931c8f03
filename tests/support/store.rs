//! What the tests of the store share.

use std::path::Path;

use vault_core::store::{MachineId, RealDisk};
use vault_core::{Store, VaultPath};

/// More than any note of these tests.
pub(crate) const LIMIT: u64 = 1024 * 1024;

/// Opens the vault in a folder, as another process on the same machine would.
pub(crate) fn open(dir: &Path) -> Store {
    open_with(dir, |disk| disk)
}

/// The same on a disk that `change` has changed.
pub(crate) fn open_with(dir: &Path, change: impl Fn(RealDisk) -> RealDisk) -> Store {
    Store::on(Box::new(change(RealDisk::open(dir).unwrap())), MachineId::of(b"test machine"))
}

/// Checks a path.
pub(crate) fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}
