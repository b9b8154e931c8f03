//! The MCP server over one vault: what agents see of it.
//!
//! [`Server`] answers both eras of the protocol from one handler; all it keeps of a connection is whom to tell when the
//! tools change, and [`lookout`] notices that. [`stdio`] carries its messages over the standard streams, [`pool`] runs the
//! blocking operations. Nothing here names an operation: everything is a loop over the entries of a [`Profile`].

pub mod lines;
pub mod lookout;
pub mod pool;
pub mod profile;
mod progress;
pub mod server;
pub mod stdio;
pub mod sweeper;

pub use pool::Pool;
pub use profile::Profile;
pub use server::Server;
pub use stdio::{Ending, Stdio};
