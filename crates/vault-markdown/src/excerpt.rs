//! The first text of a note, for lists.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::limits::MAX_EXCERPT_BYTES;
use crate::{frontmatter, lines, parse};

/// The first `max_chars` characters of the body's text: markers off, white space single.
///
/// Code, HTML, `%%` marks and images are left out. Looks only at as much of the body as an excerpt needs, so that a
/// list of large notes stays cheap.
///
/// ```
/// let stored = "---\ntags: a\n---\n# Fern\n\nLikes **shade**, see [[moss|the moss]].\n";
/// assert_eq!(vault_markdown::excerpt(stored, 160), "Fern Likes shade, see the moss.");
/// assert_eq!(vault_markdown::excerpt(stored, 10), "Fern Likes");
/// ```
pub fn excerpt(stored: &str, max_chars: usize) -> String {
    let start = frontmatter::read(stored).map_or(lines::bom_len(stored), |block| block.span.end);
    let body = &stored[start..];
    let mut n_bytes = max_chars.saturating_mul(8).saturating_add(1_024);
    loop {
        let found = first_text(beginning(body, n_bytes), max_chars);
        if found.n_chars >= max_chars || n_bytes >= body.len().min(MAX_EXCERPT_BYTES) {
            return found.text;
        }
        n_bytes = n_bytes.saturating_mul(16);
    }
}

fn first_text(body: &str, max_chars: usize) -> Excerpt {
    let masked = parse::readable(body);
    let mut out = Excerpt { text: String::new(), n_chars: 0, max_chars, space: false };
    let mut hidden = 0_usize;
    for event in Parser::new_ext(&masked, parse::options()) {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Image { .. } | Tag::HtmlBlock) => hidden += 1,
            Event::End(TagEnd::CodeBlock | TagEnd::Image | TagEnd::HtmlBlock) => hidden -= 1,
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text)
                if hidden == 0 =>
            {
                out.push(&text);
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => out.space = true,
            Event::End(tag) if !parse::is_inline(&tag) => out.space = true,
            Event::Start(tag) if !parse::is_inline(&tag.to_end()) => out.space = true,
            _ => {}
        }
        if out.n_chars >= max_chars {
            break;
        }
    }
    out
}

/// The first `n_bytes` of the body and the rest of their last line: half an image would read as text.
fn beginning(body: &str, n_bytes: usize) -> &str {
    let boundary = |at: usize| (0..=at).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
    let limit = boundary(body.len().min(MAX_EXCERPT_BYTES.max(n_bytes)));
    let cut = boundary(n_bytes.min(limit));
    let line_end = body[cut..limit].find('\n').map_or(limit, |newline| cut + newline + 1);
    &body[..line_end]
}

struct Excerpt {
    text: String,
    n_chars: usize,
    max_chars: usize,
    space: bool,
}

impl Excerpt {
    fn push(&mut self, text: &str) {
        for c in text.replace("%%", " ").chars() {
            if c.is_whitespace() {
                self.space = true;
                continue;
            }
            if std::mem::take(&mut self.space) && !self.text.is_empty() {
                self.push_char(' ');
            }
            self.push_char(c);
        }
        while self.text.ends_with(' ') {
            self.text.pop();
        }
    }

    fn push_char(&mut self, c: char) {
        if self.n_chars < self.max_chars {
            self.text.push(c);
            self.n_chars += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_running_text_is_in_an_excerpt() {
        let stored = "\u{feff}![x](y.png)\r\n\r\n```\ncode\n```\n<div>html</div>\n\n- [ ] one\n- two  \n   three\n\n| a | b |\n|---|---|\n";
        assert_eq!(excerpt(stored, 160), "one two three a b");
        assert_eq!(excerpt("", 160), "");
        assert_eq!(excerpt("日本語のメモ", 3), "日本語");
    }

    #[test]
    fn a_huge_note_costs_no_more_than_its_beginning() {
        let stored = format!("{}\n", "word ".repeat(1_000_000));
        assert_eq!(excerpt(&stored, 9), "word word");
        let late = format!("![x](data:image/png;base64,{})\n\ntext\n", "A".repeat(20_000));
        assert_eq!(excerpt(&late, 9), "text");
    }
}
