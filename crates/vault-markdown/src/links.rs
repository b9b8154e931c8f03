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

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, destination, target, fragment and text of each link.
    fn links(stored: &str) -> Vec<String> {
        let show = |link: &Link| {
            let fragment = link.fragment.as_ref().map_or(String::new(), |fragment| format!("#{fragment}"));
            let raw = &stored[link.destination.clone()];
            format!("{:?} {raw} -> {}{fragment} ({})", link.kind, link.target, &stored[link.text.clone()])
        };
        crate::parse(stored).links.iter().map(show).collect()
    }

    #[test]
    fn wikilinks_are_cut_into_path_fragment_and_alias() {
        assert_eq!(
            links("[[a]] ![[b c|300]] [[d#E: f|g *h*]] [[#i]] [[j#^k]] [[ l ]]\n"),
            [
                "Wikilink a -> a ()",
                "WikiEmbed b c -> b c (300)",
                "Wikilink d -> d#E: f (g *h*)",
                "Wikilink  -> #i ()",
                "Wikilink j -> j#^k ()",
                "Wikilink l -> l ()",
            ]
        );
        assert_eq!(links("| a |\n|---|\n| [[x#y\\|z]] `[[q\\|r]]` |\n"), ["Wikilink x -> x#y (z)"]);
    }

    #[test]
    fn markdown_destinations_are_located_and_decoded() {
        assert_eq!(
            links("[a](b%20c.md#d%20e \"t\") ![f](<g h.png>) [i](j\\)k.md) [l](m(n).md) [o](#p) [q](r&amp;s.md)\n"),
            [
                "Markdown b%20c.md -> b c.md#d e (a)",
                "Image g h.png -> g h.png (f)",
                "Markdown j\\)k.md -> j)k.md (i)",
                "Markdown m(n).md -> m(n).md (l)",
                "Markdown  -> #p (o)",
                "Markdown r&amp;s.md -> r&s.md (q)",
            ]
        );
        assert_eq!(
            links("> [a](\n> b.md) [![c](d.png)](e.md) [x\\]](y.md) [](z.md)\n"),
            [
                "Markdown b.md -> b.md (a)",
                "Markdown e.md -> e.md (![c](d.png))",
                "Image d.png -> d.png (c)",
                "Markdown y.md -> y.md (x\\])",
                "Markdown z.md -> z.md ()",
            ]
        );
    }

    #[test]
    fn a_definition_is_one_link_however_often_it_is_used() {
        assert_eq!(
            links("[a][r] [r] [r][]\n\n[r]: b%20c.md#d \"t\"\n[^n]: x.md\n\n> [s]: <e f.md>\n"),
            ["ReferenceDefinition b%20c.md -> b c.md#d ()", "ReferenceDefinition e f.md -> e f.md ()"]
        );
    }

    #[test]
    fn urls_lead_out_of_the_vault() {
        assert_eq!(
            links(
                "<https://a.b/c> [d](https://e.f/g%20h#i) [j](mailto:k@l) ![m](//n/o) ![p](data:image/gif;base64,AA)\n"
            ),
            [
                "External https://a.b/c -> https://a.b/c (https://a.b/c)",
                "External https://e.f/g%20h#i -> https://e.f/g%20h#i (d)",
                "External mailto:k@l -> mailto:k@l (j)",
                "External //n/o -> //n/o (m)",
            ]
        );
    }

    #[test]
    fn html_attributes_are_links_and_comments_are_not() {
        assert_eq!(
            links(
                "<div>\n<a class=x href = \"b%20c.md#d\">\n</div>\n\nText <img src='e.png'> <!-- <a href=\"f\"> -->\n"
            ),
            ["Html b%20c.md -> b c.md#d ()", "Html e.png -> e.png ()"]
        );
    }

    #[test]
    fn frontmatter_values_hold_links_and_attachments() {
        assert_eq!(
            links(
                "---\nup: \"[[a#b|c]]\" # [[no]]\nrelated:\n  - '[[it''s]]'\n  - [[d]]\nattachments: [e f.pdf, 'g.csv']\n---\n"
            ),
            [
                "Frontmatter a -> a#b (c)",
                "Frontmatter it''s -> it's ()",
                "Frontmatter d -> d ()",
                "Attachment e f.pdf -> e f.pdf ()",
                "Attachment g.csv -> g.csv ()",
            ]
        );
    }

    #[test]
    fn code_math_and_comments_hold_no_links() {
        assert_eq!(
            links(
                "`[[a]]` $[[b]]$ %%[[c]]%%\n\n```\n[[d]]\n```\n\n    [[e]]\n\n%%\n\n[[f]]\n\n%%\n50%% [[g]]\n\n%% open\n"
            ),
            ["Wikilink g -> g ()"]
        );
    }
}
