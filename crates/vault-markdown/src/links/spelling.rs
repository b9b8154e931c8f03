//! Writing a path so that the link, where it stands, reads as that path.

use std::fmt::Write;

use super::{Link, Spelling};
use crate::frontmatter::quote_like;

impl Link {
    /// The bytes to put at `destination` so that the link leads to `path`; `None` when this kind of link cannot say it.
    ///
    /// Keeps the style of `stored`, the text that the link is from: percent-encoding where the old path had some.
    ///
    /// ```
    /// let stored = "See [it](Old%20name.md#top).\n";
    /// let link = &vault_markdown::parse(stored).links[0];
    /// assert_eq!(link.target, "Old name.md");
    /// assert_eq!(link.spell(stored, "a b.md").as_deref(), Some("a%20b.md"));
    /// assert_eq!(&stored[link.destination.clone()], "Old%20name.md");
    /// ```
    pub fn spell(&self, stored: &str, path: &str) -> Option<String> {
        let old = &stored[self.destination.clone()];
        match self.spelling {
            Spelling::Wiki => fits_wikilink(path).then(|| path.to_owned()),
            Spelling::WikiInYaml(None) => {
                fits_wikilink(path).then(|| path.to_owned()).filter(|path| !path.contains([',', ':', '"', '{', '}']))
            }
            Spelling::WikiInYaml(quote) => fits_wikilink(path).then(|| quote_like(path, quote)).flatten(),
            Spelling::Markdown => Some(markdown(path, old)),
            Spelling::Angle => Some(encode(path, |c| c.is_control() || "<>%#\\&".contains(c))),
            Spelling::Html(quote) => Some(html(path, old, quote)),
            Spelling::Yaml(None) => quote_like(path, None).or_else(|| Some(crate::frontmatter::render_string(path))),
            Spelling::Yaml(quote) => quote_like(path, quote),
        }
    }
}

fn fits_wikilink(path: &str) -> bool {
    !path.contains(['[', ']', '|', '#', '\n', '\r'])
}

/// Between parentheses nothing may end the destination early; letters of other scripts stay readable unless the old
/// path had them encoded.
fn markdown(path: &str, old: &str) -> String {
    let encodes_letters = old.match_indices('%').any(|(at, _)| old[at + 1..].starts_with(|c: char| c > '7'));
    let colon = super::is_external(path);
    encode(path, |c| {
        c.is_control()
            || (c == ':' && colon)
            || c.is_whitespace()
            || "()<>%#\\&[]`|?$".contains(c)
            || (encodes_letters && !c.is_ascii())
    })
}

fn html(path: &str, old: &str, quote: Option<char>) -> String {
    let spaces = quote.is_none() || old.contains('%') || !old.contains(' ');
    encode(path, |c| c.is_control() || "\"'<>%#&`=\\".contains(c) || (spaces && c.is_whitespace()))
}

fn encode(path: &str, encoded: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(path.len());
    let mut buffer = [0; 4];
    for c in path.chars() {
        if encoded(c) {
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}
