//! A folder of Markdown notes that people and programs share without losing a byte of it.

pub mod call;
mod clock;
pub mod error;
pub mod limits;
pub mod ops;
pub mod path;
pub mod schema;
pub mod store;
pub mod switches;
mod vault;
mod version;

pub use call::{Call, OperationId};
pub use error::VaultError;
pub use ops::{Entry, OPERATIONS, Operation, Reply};
pub use path::{FileKind, VaultPath};
pub use store::Store;
pub use vault::Vault;
pub use version::Version;
