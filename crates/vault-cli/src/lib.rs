//! The `vault` command: every operation as a subcommand, and what only people do.
//!
//! [`command`] builds the subcommands of operations from their schemas and turns arguments back into the request that a
//! server would get; nothing here names an operation. The other modules are one command of a person each.

pub mod command;
pub mod failure;
pub mod find;
pub mod index;
pub mod output;
pub mod status;
pub mod switch;
