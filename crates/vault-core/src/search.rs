//! The pure heart of search: what a text's terms are, what a query means, how well a note answers it.
//!
//! An index holds exactly the terms that [`Analyser`] gives and scores with [`unit_score`]; [`Analysed`] does the same
//! for one note, without an index. Both agree on which notes answer.

mod analyse;
mod evaluate;
mod query;
mod score;
mod scripts;
mod searched;
mod snippet;
mod sought;

pub use analyse::Analyser;
pub use evaluate::Analysed;
pub use query::{Filter, Query, Unit};
pub use score::{N_FIELDS, Weights, idf, in_steps, most, unit_score};
pub use searched::{ARCHIVED, Searched, label_of_folder, label_of_tag};
pub use snippet::{Passages, Snippet};
pub(crate) use sought::Sought;
