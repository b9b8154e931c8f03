//! Wikilinks: the same cut for those in the body and those in frontmatter values.

use std::ops::Range;

use super::{Link, LinkKind, Spelling, split_fragment};
use crate::frontmatter::{Frontmatter, FrontmatterState, list_items};
use crate::lines;

/// Cuts `[[…]]` or `![[…]]` at `span`. The pipe before an alias may be written `\|`, as table cells need it.
pub(crate) fn wikilink(stored: &str, span: Range<usize>) -> Link {
    let embed = stored[span.clone()].starts_with('!');
    let inner = span.start + 2 + usize::from(embed)..span.end.saturating_sub(2);
    let (destination, text) = cut_alias(stored, inner);
    let (path, fragment) = split_fragment(stored, destination);
    let path = trimmed(stored, path);
    Link {
        kind: if embed { LinkKind::WikiEmbed } else { LinkKind::Wikilink },
        span,
        target: stored[path.clone()].to_owned(),
        destination: path,
        spelling: Spelling::Wiki,
        fragment: fragment.map(|range| stored[range].trim().to_owned()),
        text,
    }
}

fn cut_alias(stored: &str, inner: Range<usize>) -> (Range<usize>, Range<usize>) {
    match stored[inner.clone()].find('|') {
        Some(pipe) => {
            let pipe = inner.start + pipe;
            let escaped = usize::from(stored[inner.start..pipe].ends_with('\\'));
            (inner.start..pipe - escaped, pipe + 1..inner.end)
        }
        None => (inner.clone(), inner.end..inner.end),
    }
}

fn trimmed(stored: &str, range: Range<usize>) -> Range<usize> {
    let text = &stored[range.clone()];
    let start = range.start + text.len() - text.trim_start().len();
    start..start + text.trim().len()
}

/// The wikilinks in frontmatter values, and the entries of `attachments`.
pub(crate) fn find_in_frontmatter(stored: &str, block: &Frontmatter, found: &mut Vec<Link>) {
    if !matches!(block.state, FrontmatterState::Mapping) {
        return;
    }
    for entry in &block.entries {
        if entry.key == "attachments" {
            attachments(stored, entry.content.clone(), found);
        }
        for line in lines::line_ranges(stored, entry.content.clone()) {
            in_line(stored, line, found);
        }
    }
}

fn in_line(stored: &str, line: Range<usize>, found: &mut Vec<Link>) {
    let text = &stored[line.clone()];
    let mut at = 0;
    while let Some(open) = text[at..].find("[[").map(|open| at + open) {
        let Some(close) = text[open..].find("]]").map(|close| open + close + 2) else { return };
        if is_comment(&text[..open]) {
            return;
        }
        let inner_open = text[open..close].rfind("[[").map_or(open, |inner| open + inner);
        let mut link = wikilink(stored, line.start + inner_open..line.start + close);
        if !link.target.is_empty() || link.fragment.is_some() {
            let quote = quote_around(&text[..inner_open]);
            link.kind = LinkKind::Frontmatter;
            link.spelling = Spelling::WikiInYaml(quote);
            link.target = unquoted(&link.target, quote);
            link.fragment = link.fragment.map(|fragment| unquoted(&fragment, quote));
            found.push(link);
        }
        at = close;
    }
}

fn attachments(stored: &str, content: Range<usize>, found: &mut Vec<Link>) {
    for item in list_items(&stored[content.clone()]).unwrap_or_default() {
        let scalar = content.start + item.start..content.start + item.end;
        let quote = stored[scalar.clone()].chars().next().filter(|c| matches!(c, '"' | '\''));
        let inset = usize::from(quote.is_some());
        let destination = scalar.start + inset..scalar.end - inset;
        let target = unquoted(&stored[destination.clone()], quote);
        if target.contains("[[") || target.is_empty() {
            continue;
        }
        let kind = if super::is_external(&target) { LinkKind::External } else { LinkKind::Attachment };
        let text = destination.end..destination.end;
        found.push(Link {
            kind,
            span: scalar,
            destination,
            spelling: Spelling::Yaml(quote),
            target,
            fragment: None,
            text,
        });
    }
}

/// The quote that is open at the end of `before`, on one line.
fn quote_around(before: &str) -> Option<char> {
    let mut open = None;
    let mut escaped = false;
    let mut previous = ' ';
    for c in before.chars() {
        match open {
            None if matches!(c, '"' | '\'') && " \t[{,:-".contains(previous) => open = Some(c),
            Some(quote) if c == quote && !escaped => open = None,
            _ => {}
        }
        escaped = open == Some('"') && c == '\\' && !escaped;
        previous = c;
    }
    open
}

fn is_comment(before: &str) -> bool {
    quote_around(before).is_none() && (before.trim_start().starts_with('#') || before.contains(" #"))
}

fn unquoted(text: &str, quote: Option<char>) -> String {
    match quote {
        Some('\'') => text.replace("''", "'"),
        Some(_) => text.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => text.to_owned(),
    }
}
