//! Notes as values: everything about Markdown text that needs no disk.
//!
//! [`parse`] finds what a note holds, as byte spans into the stored text. [`view`] shows a note as callers see it, and
//! [`merge`] and [`edit`] take a changed view back: every byte that was not changed stays. [`set_key`] and its
//! relatives change one frontmatter key. All of it is pure: text in, values out.
//!
//! ```
//! use vault_markdown::{ViewOptions, merge, view};
//!
//! let stored = "---\r\ntags: [green]\r\nlight: shade\r\n---\r\nWater weekly.\r\n";
//! let options = ViewOptions::default();
//! let shown = view(stored, &options).text;
//! assert_eq!(shown, "---\ntype: Note\nlight: shade\n---\nWater weekly.\n");
//!
//! let changed = shown.replace("weekly", "daily");
//! let merged = merge(stored, &changed, &options).unwrap();
//! assert_eq!(merged.text, "---\r\ntags: [green]\r\nlight: shade\r\n---\r\nWater daily.\r\n");
//! ```

mod align;
mod compose;
mod document;
mod edit;
mod excerpt;
mod frontmatter;
pub mod limits;
mod lines;
mod links;
mod merge;
mod parse;
mod tags;
mod view;

pub use align::{align, unified_diff};
pub use compose::{Composed, compose};
pub use document::{Block, BlockId, BlockKind, Document, Element, Heading};
pub use edit::{EditError, edit};
pub use excerpt::excerpt;
pub use frontmatter::{
    Entry, Frontmatter, FrontmatterError, FrontmatterProblem, FrontmatterState, MANAGED_KEYS, Value, add_to_list,
    remove_from_list, set_key, unset_key,
};
pub use links::{Link, LinkKind, Spelling};
pub use merge::{DroppedBlock, MergeError, Merged, merge};
pub use parse::parse;
pub use tags::{Tag, TagError, folded_tag, parse_tag, same_tag, tag_within, tags};
pub use view::{BodyPlace, ShownElement, View, ViewOptions, body_place, view};

#[cfg(test)]
mod laws;
