//! Search for a vault: a full-text index that is always up to date.
//!
//! [`Keeper::start`] lets an index answer a vault's searches and keeps it on a thread of its own; [`attach`] only lets
//! it answer. The index lies where this machine keeps what can be made again; deleting it costs time, never data.

mod best;
mod committed;
mod cursor;
mod fields;
mod full_text;
mod keeper;
pub mod limits;
mod overlay;
mod segment;
mod watch;

pub use full_text::FullText;
pub use keeper::{Keeper, attach, build, rebuild};
