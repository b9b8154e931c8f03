//! A folder of Markdown notes that people and programs share without losing a byte of it.

pub mod call;
pub mod catalog;
mod clock;
mod current;
pub mod error;
pub mod limits;
pub mod links;
mod locate;
pub mod naming;
pub mod ops;
pub mod path;
mod ranges;
mod rebase;
mod refusals;
mod report;
mod rows;
mod rules;
pub mod schema;
mod served;
pub mod shown;
pub mod store;
pub mod switches;
mod tags;
mod times;
mod vault;
mod version;

pub use call::{Call, OperationId};
pub use error::VaultError;
pub use ops::{Entry, OPERATIONS, Operation, Reply};
pub use path::{FileKind, VaultPath};
pub use store::Store;
pub use vault::Vault;
pub use version::Version;
