//! What [`parse`](crate::parse) finds in a note. Every span is a byte range into the stored text.

use std::ops::Range;

use crate::frontmatter::Frontmatter;
use crate::links::Link;
use crate::tags::Tag;

/// A note as values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The YAML block at the top.
    pub frontmatter: Option<Frontmatter>,
    /// What follows it (or the byte-order mark) to the end.
    pub body: Range<usize>,
    /// The blocks that stand in no other block, in order.
    pub blocks: Vec<Block>,
    /// Headings in order, those in quotes and lists included.
    pub headings: Vec<Heading>,
    /// Links of all kinds, in order.
    pub links: Vec<Link>,
    /// `#tags` of the body, in order.
    pub tags: Vec<Tag>,
    /// `^ids` at line ends, in order.
    pub block_ids: Vec<BlockId>,
    /// What text should not be trusted to carry, in order.
    pub elements: Vec<Element>,
    /// Own ids of `vault-block` fences that are never closed.
    pub(crate) open_blocks: Vec<String>,
}

/// A top-level block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// All of it, from the first marker on.
    pub span: Range<usize>,
}

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Running text.
    Paragraph,
    /// `# heading`, or an underlined one.
    Heading,
    /// A block quote or callout.
    Quote,
    /// A list of any kind.
    List,
    /// Fenced or indented code.
    Code,
    /// A table.
    Table,
    /// Raw HTML.
    Html,
    /// A horizontal rule.
    Rule,
    /// The text of a footnote.
    Footnote,
}

/// A heading and what stands below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text without markers.
    pub text: String,
    /// The heading itself.
    pub span: Range<usize>,
    /// From the heading to the next one of the same or a higher rank.
    pub section: Range<usize>,
}

/// A `^id` that links can lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockId {
    /// The id without `^`.
    pub id: String,
    /// With `^`.
    pub span: Range<usize>,
}

/// A chart, drawing, calculation or embedded binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Unique in the note: the id that it carries or its kind, a hash of its own bytes, and a number for later equal ones.
    pub id: String,
    /// `chart`, `drawio`, …; `image` for an inline `data:` URI.
    pub kind: String,
    /// One line for people and models.
    pub label: String,
    /// From the opening fence to the end of the closing one; of an inline image, all of it.
    pub span: Range<usize>,
    /// Inside a line, rather than a fenced block.
    pub inline: bool,
    /// The id that the element carries, as written.
    pub(crate) own_id: Option<String>,
    /// A fence's inner text without container prefixes, line ends `\n`; an image's destination.
    pub(crate) content: String,
    /// What a placeholder replaces: a fence's inner lines with their prefixes, or an image's destination.
    pub(crate) inner: Range<usize>,
}

impl Document {
    /// The section of the first heading whose text is `text`, compared without case and surrounding space.
    ///
    /// ```
    /// let stored = "# A\none\n## B\ntwo\n# C\n";
    /// let section = vault_markdown::parse(stored).section("b").unwrap();
    /// assert_eq!(&stored[section], "## B\ntwo\n");
    /// ```
    pub fn section(&self, text: &str) -> Option<Range<usize>> {
        let wanted = text.trim().to_lowercase();
        let heading = self.headings.iter().find(|heading| heading.text.trim().to_lowercase() == wanted)?;
        Some(heading.section.clone())
    }
}
