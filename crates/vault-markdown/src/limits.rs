//! Every limit of this crate, in one place.

/// Bytes of a line's start in which container markers (`>`, `-`, `1.`) are read as such.
///
/// The parser walks the open containers once per line, so a line that opens a hundred thousand of them makes every
/// later line expensive. Markers past this point are read as text; the bytes stay as they are.
pub const MAX_CONTAINER_PREFIX_BYTES: usize = 512;

/// Levels of lists and mappings inside a frontmatter value; a deeper block counts as one that does not parse.
pub const MAX_VALUE_DEPTH: usize = 64;

/// Old lines times new lines of a gap that is still compared exactly; a larger gap counts as replaced.
pub const MAX_DIFF_CELLS: usize = 16_000_000;

/// Bytes from which a `data:` URI image is an element.
pub const MIN_DATA_URI_BYTES: usize = 257;

/// Characters of an element's label; longer titles are cut.
pub const MAX_LABEL_CHARS: usize = 120;

/// Characters of an element's own id; longer ones are not ids.
pub const MAX_ELEMENT_ID_CHARS: usize = 64;

/// Lines around a change in a unified diff.
pub const DIFF_CONTEXT_LINES: usize = 3;

/// Bytes of a body in which an excerpt looks for text, once less was not enough.
pub const MAX_EXCERPT_BYTES: usize = 1_000_000;
