//! A disk in memory that loses power, room or a race at any step.
