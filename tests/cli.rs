//! The real command, run as people and scripts do.
