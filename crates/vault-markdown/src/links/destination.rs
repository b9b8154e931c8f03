//! Where the destination of a Markdown link stands, and what it decodes to.

use std::borrow::Cow;
use std::ops::Range;

use super::Spelling;

/// The destination of `[text](…)` whose text ends before `after_text`: raw bytes without angle brackets.
///
/// The second value is the place of the `]`.
pub(crate) fn inline_destination(
    stored: &str,
    span: Range<usize>,
    after_text: usize,
) -> Option<(Range<usize>, usize, Spelling)> {
    let close = after_text + stored[after_text..span.end].find("](")?;
    let (destination, spelling) = destination_at(stored, close + 2..span.end)?;
    Some((destination, close, spelling))
}

/// The destination of a definition `[label]: …`.
pub(crate) fn reference_destination(stored: &str, span: Range<usize>) -> Option<(Range<usize>, Spelling)> {
    let label_end = end_of_label(&stored[span.clone()])?;
    destination_at(stored, span.start + label_end..span.end)
}

fn end_of_label(definition: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in definition.char_indices() {
        if c == ']' && !escaped && definition[at..].starts_with("]:") {
            return Some(at + 2);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

fn destination_at(stored: &str, within: Range<usize>) -> Option<(Range<usize>, Spelling)> {
    let start = skip_space(stored, within.clone());
    let text = &stored[start..within.end];
    if let Some(angle) = text.strip_prefix('<') {
        let end = unescaped(angle).find(|(_, c)| *c == '>')?.0;
        return Some((start + 1..start + 1 + end, Spelling::Angle));
    }
    let mut depth = 0_usize;
    for (at, c) in unescaped(text) {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some((start..start + at, Spelling::Markdown)),
            ')' => depth -= 1,
            c if c.is_ascii_whitespace() || c.is_ascii_control() => {
                return Some((start..start + at, Spelling::Markdown));
            }
            _ => {}
        }
    }
    Some((start..within.end, Spelling::Markdown))
}

/// Characters that no backslash precedes.
fn unescaped(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut escaped = false;
    text.char_indices().filter(move |(_, c)| {
        let hidden = escaped;
        escaped = *c == '\\' && !escaped;
        !hidden
    })
}

/// Skips white space, and the quote markers at the start of a following line.
fn skip_space(stored: &str, within: Range<usize>) -> usize {
    let mut after_newline = false;
    for (at, c) in stored[within.clone()].char_indices() {
        match c {
            '\n' => after_newline = true,
            ' ' | '\t' | '\r' => {}
            '>' if after_newline => {}
            _ => return within.start + at,
        }
    }
    within.end
}

/// Decodes `%20` and the like; what is not valid UTF-8 then stays as it is.
pub(crate) fn decode_percent(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten().and_then(hex_byte);
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn hex_byte(digits: &str) -> Option<u8> {
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}
