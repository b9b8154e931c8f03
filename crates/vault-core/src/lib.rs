//! The vault itself.
