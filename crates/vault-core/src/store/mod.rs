//! The one room with a disk.

/// The vault's files, its lock and its log.
pub struct Store;
