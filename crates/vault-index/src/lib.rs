//! Search, grep and watching for a vault.
