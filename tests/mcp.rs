//! The real server, spoken to as clients do.
