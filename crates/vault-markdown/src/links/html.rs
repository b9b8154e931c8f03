//! `href` and `src` in HTML tags.

use std::ops::Range;

use super::{Link, LinkKind, Spelling, decode_percent, is_external, split_fragment};

/// Finds the links in one stretch of HTML. Comments hold none.
pub(crate) fn find(stored: &str, stretch: Range<usize>, found: &mut Vec<Link>) {
    let mut at = stretch.start;
    while let Some(open) = stored[at..stretch.end].find('<').map(|open| at + open) {
        let rest = &stored[open..stretch.end];
        if rest.starts_with("<!--") {
            let Some(end) = rest.find("-->") else { return };
            at = open + end + 3;
            continue;
        }
        at = open + 1;
        if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            at = tag(stored, open..stretch.end, found);
        }
    }
}

/// Reads the attributes of the tag at `within.start`; returns where it ends.
fn tag(stored: &str, within: Range<usize>, found: &mut Vec<Link>) -> usize {
    let bytes = stored.as_bytes();
    let mut at = within.start + 1;
    while at < within.end && bytes[at] != b'>' {
        let name =
            at..skip(stored, at..within.end, |b| !b.is_ascii_whitespace() && !matches!(b, b'=' | b'>' | b'"' | b'\''));
        at = skip(stored, name.end..within.end, |b| b.is_ascii_whitespace());
        if at >= within.end || bytes[at] != b'=' {
            at = at.max(name.start + 1);
            continue;
        }
        at = skip(stored, at + 1..within.end, |b| b.is_ascii_whitespace());
        let Some((value, quote, end)) = attribute_value(stored, at..within.end) else { return within.end };
        at = end;
        let name = &stored[name];
        if name.eq_ignore_ascii_case("href") || name.eq_ignore_ascii_case("src") {
            found.extend(link(stored, within.start..end, value, quote));
        }
    }
    at
}

fn attribute_value(stored: &str, within: Range<usize>) -> Option<(Range<usize>, Option<char>, usize)> {
    let quote = stored[within.clone()].chars().next().filter(|c| matches!(c, '"' | '\''));
    let start = within.start + usize::from(quote.is_some());
    match quote {
        Some(quote) => {
            let end = start + stored[start..within.end].find(quote)?;
            Some((start..end, Some(quote), end + 1))
        }
        None => {
            let end = skip(stored, within, |b| !b.is_ascii_whitespace() && b != b'>');
            Some((start..end, None, end))
        }
    }
}

fn skip(stored: &str, within: Range<usize>, keep: impl Fn(u8) -> bool) -> usize {
    let taken = stored.as_bytes()[within.clone()].iter().take_while(|b| keep(**b)).count();
    within.start + taken
}

fn link(stored: &str, span: Range<usize>, value: Range<usize>, quote: Option<char>) -> Option<Link> {
    let raw = decode_entities(&stored[value.clone()]);
    if raw.is_empty() || raw.starts_with("data:") {
        return None;
    }
    let external = is_external(&raw);
    let (path, fragment) = if external { (value.clone(), None) } else { split_fragment(stored, value.clone()) };
    let decode = |range: Range<usize>| decode_percent(&decode_entities(&stored[range])).into_owned();
    Some(Link {
        kind: if external { LinkKind::External } else { LinkKind::Html },
        span,
        target: if external { raw } else { decode(path.clone()) },
        destination: path,
        spelling: Spelling::Html(quote),
        fragment: fragment.map(decode),
        text: value.end..value.end,
    })
}

fn decode_entities(text: &str) -> String {
    let entities = [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    entities.iter().fold(
        text.to_owned(),
        |text, (entity, character)| {
            if text.contains(entity) { text.replace(entity, character) } else { text }
        },
    )
}
