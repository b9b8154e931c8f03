//! Front-end.
