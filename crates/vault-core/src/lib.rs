//! A folder of Markdown notes that people and programs share without losing a byte of it.

pub mod call;
pub mod error;
pub mod limits;
pub mod path;
pub mod store;
pub mod switches;
mod version;

pub use call::{Call, OperationId};
pub use error::VaultError;
pub use path::{FileKind, VaultPath};
pub use store::Store;
pub use version::Version;
