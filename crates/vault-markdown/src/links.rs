//! Links: what they lead to, and the bytes to replace when that moves.

mod destination;
mod html;
mod spelling;
mod wiki;

use std::ops::Range;

pub(crate) use destination::{decode_percent, inline_destination, reference_destination};
pub(crate) use html::find as find_in_html;
pub(crate) use wiki::{find_in_frontmatter, wikilink};

/// A link, embed, image or definition, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// The whole link, brackets included: byte range into the stored text.
    pub span: Range<usize>,
    /// The raw bytes of the path part: without fragment, angle brackets, title, alias, quotes. Replace these, and only
    /// these, with what [`Link::spell`] gives.
    pub destination: Range<usize>,
    /// How the path part is written, and so what it may hold.
    pub spelling: Spelling,
    /// The path part, decoded; empty for a link into the same note. For [`LinkKind::External`] the whole URL.
    pub target: String,
    /// What follows the first `#`, decoded: a heading, a `^block-id`, `page=3`.
    pub fragment: Option<String>,
    /// The raw alias or link text, an image size included; empty when there is none.
    pub text: Range<usize>,
}

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `[[note|alias]]`
    Wikilink,
    /// `![[note]]`
    WikiEmbed,
    /// `[text](note.md)`
    Markdown,
    /// `![alt](picture.png)`
    Image,
    /// `[label]: note.md`; the places that use the label are not links of their own.
    ReferenceDefinition,
    /// `href` or `src` of an HTML tag.
    Html,
    /// `[[note]]` in a frontmatter value.
    Frontmatter,
    /// An entry of the frontmatter list `attachments`.
    Attachment,
    /// Any of these with a scheme or a host, and `<https://…>`: leads out of the vault.
    External,
}

/// How the path part of a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// As it is, between `[[` and `]]`.
    Wiki,
    /// The same in a YAML scalar between these quotes (`None`: plain).
    WikiInYaml(Option<char>),
    /// Between parentheses, or after a definition's colon: escapes and percent-encoding.
    Markdown,
    /// The same between angle brackets.
    Angle,
    /// An HTML attribute between these quotes (`None`: unquoted).
    Html(Option<char>),
    /// A YAML scalar between these quotes (`None`: plain).
    Yaml(Option<char>),
}

/// Whether `target` is a URL with a scheme or a host.
pub(crate) fn is_external(target: &str) -> bool {
    if target.starts_with("//") {
        return true;
    }
    let scheme = target.split([':', '/', '?', '#']).next().unwrap_or("");
    scheme.len() > 1
        && target[scheme.len()..].starts_with(':')
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
}

/// Splits raw destination bytes at the `#` that begins a fragment (not the one of an entity).
pub(crate) fn split_fragment(stored: &str, destination: Range<usize>) -> (Range<usize>, Option<Range<usize>>) {
    let raw = &stored[destination.clone()];
    let hash = raw.match_indices('#').map(|(at, _)| at).find(|at| !raw[..*at].ends_with('&'));
    match hash {
        Some(at) => {
            let cut = destination.start + at;
            (destination.start..cut, Some(cut + 1..destination.end))
        }
        None => (destination, None),
    }
}
