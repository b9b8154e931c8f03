//! Elements: which fences and images are one, and the ids they go by.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::document::{Document, Element};
use crate::limits::{MAX_ELEMENT_ID_CHARS, MAX_LABEL_CHARS, MIN_DATA_URI_BYTES};
use crate::lines;
use crate::links::Link;

/// First words of the info strings that make a fence an element; the first is our storage form.
pub(crate) const DEFAULT_KINDS: [&str; 7] =
    ["vault-block", "chart", "vega", "vega-lite", "plotly", "compressed-json", "drawio"];

/// What the destination of an inline placeholder begins with.
pub(crate) const INLINE_PREFIX: &str = "vault-block:";

/// A fence of an element kind that is being read.
pub(super) struct Fence {
    word: String,
    kind: String,
    own_id: Option<String>,
    span: Range<usize>,
    content: String,
    content_end: usize,
    inner_start: usize,
}

impl Fence {
    pub(super) fn open<K: AsRef<str>>(stored: &str, info: &str, span: Range<usize>, kinds: &[K]) -> Option<Fence> {
        let word = info.split_whitespace().next()?;
        if !kinds.iter().any(|kind| kind.as_ref() == word) {
            return None;
        }
        let own_kind = attribute(info, "kind").filter(|kind| word == DEFAULT_KINDS[0] && is_name(kind));
        let first_line = lines::line_around(stored, span.start).end;
        let inner_start = (first_line + 1).min(span.end);
        Some(Fence {
            word: word.to_owned(),
            kind: own_kind.unwrap_or(word).to_owned(),
            own_id: own_id_of(info),
            content: String::new(),
            content_end: inner_start,
            inner_start,
            span,
        })
    }

    pub(super) fn content(&mut self, stored: &str, text: &str, range: Range<usize>) {
        // The parser read a text in which deep markers are masked; tabs that a container cut have no bytes of their own.
        let raw = &stored[range.clone()];
        self.content.push_str(if raw.len() == text.len() { raw } else { text });
        self.content_end = self.content_end.max(range.end);
    }

    pub(super) fn close(mut self, stored: &str, document: &mut Document) {
        let fence = stored[self.span.clone()].as_bytes()[0];
        let width = stored[self.span.clone()].bytes().take_while(|byte| *byte == fence).count();
        let rest = &stored[self.content_end..self.span.end];
        let before_fence = rest.trim_end().trim_end_matches(char::from(fence));
        let closing = rest.trim_end().len() - before_fence.len();
        let on_own_line = before_fence.chars().all(|c| matches!(c, ' ' | '\t' | '>' | '\r' | '\n'));
        if closing < width || !on_own_line || self.span.end <= self.inner_start {
            document.open_blocks.extend(self.own_id.filter(|_| self.word == DEFAULT_KINDS[0]));
            return;
        }
        if self.content.contains('\r') {
            self.content = lines::to_lf(&self.content).into_owned();
        }
        let close_line = stored[..self.span.end].rfind('\n').map_or(0, |newline| newline + 1);
        document.elements.push(Element {
            id: String::new(),
            label: self.label(),
            kind: self.kind,
            inline: false,
            own_id: self.own_id,
            content: self.content,
            inner: self.inner_start..close_line,
            span: self.span,
        });
    }

    fn label(&self) -> String {
        let found = if self.word == DEFAULT_KINDS[0] { self.content.lines().next() } else { title(&self.content) };
        clean_label(found.unwrap_or(""), &self.kind)
    }
}

/// The element that an image is when its destination `raw` is a long `data:` URI.
pub(super) fn image_element(stored: &str, span: Range<usize>, raw: Range<usize>, alt: Range<usize>) -> Option<Element> {
    let uri = &stored[raw.clone()];
    if uri.len() < MIN_DATA_URI_BYTES || !uri.starts_with("data:") {
        return None;
    }
    Some(Element {
        id: String::new(),
        kind: "image".to_owned(),
        label: clean_label(&stored[alt], "image"),
        span,
        inline: true,
        own_id: None,
        content: uri.to_owned(),
        inner: raw,
    })
}

/// The id that an info string carries.
fn own_id_of(info: &str) -> Option<String> {
    attribute(info, "id").filter(|id| is_name(id)).map(str::to_owned)
}

/// Gives each element its id: [`base_id`], and for later equal ones that with `-2`, `-3`.
pub(super) fn assign_ids(stored: &str, document: &mut Document) {
    // No element may be shown under an id that stands in the text itself.
    let taken: HashSet<&str> = inline_placeholders(stored, &document.links).map(|(id, _)| id).collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for element in &mut document.elements {
        let base = base_id(stored, element);
        let last = numbers.entry(base.clone()).or_default();
        let is_free = |number: &usize| !taken.contains(numbered(&base, *number).as_str());
        *last = (*last + 1..).find(is_free).expect("there are more numbers than placeholders");
        element.id = numbered(&base, *last);
    }
}

fn numbered(base: &str, number: usize) -> String {
    if number == 1 { base.to_owned() } else { format!("{base}-{number}") }
}

/// What equal elements share and others do not: the id that they carry or their kind, and a hash of their own bytes.
pub(crate) fn base_id(stored: &str, element: &Element) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in own_bytes(stored, element) {
        hasher.update(part.as_bytes()).update(b"\n");
    }
    let name = element.own_id.as_ref().unwrap_or(&element.kind);
    let name: String = name.chars().take(MAX_ELEMENT_ID_CHARS - HASH_DIGITS - NUMBER_CHARS).collect();
    format!("{name}-{}", &hasher.finalize().to_hex()[..HASH_DIGITS])
}

/// Hexadecimal digits of a hash in an id; no number has as many.
const HASH_DIGITS: usize = 16;

/// Room for two dashes and a number.
const NUMBER_CHARS: usize = 10;

/// The base of an id that is shown, or was.
pub(crate) fn base_of(id: &str) -> &str {
    match id.rsplit_once('-') {
        Some((base, number)) if number.len() < NUMBER_CHARS && number.bytes().all(|digit| digit.is_ascii_digit()) => {
            base
        }
        _ => id,
    }
}

/// What an element keeps wherever it stands: its opening line from the fence on, its content, its closing fence. An
/// image has only content. Elements are equal when these are.
pub(crate) type OwnBytes<'a> = [&'a str; 3];

pub(crate) fn own_bytes<'a>(stored: &'a str, element: &'a Element) -> OwnBytes<'a> {
    if element.inline {
        return ["", &element.content, ""];
    }
    let opening = lines::content(&stored[element.span.start..element.inner.start]).0;
    let closing = stored[element.inner.end..element.span.end].trim_end();
    [opening, &element.content, closing.trim_start_matches(|c| !matches!(c, '`' | '~'))]
}

/// What stands in a text as `![…](vault-block:ID)`: the ids, and the destinations that they are in.
pub(crate) fn inline_placeholders<'a>(
    text: &'a str,
    links: &'a [Link],
) -> impl Iterator<Item = (&'a str, Range<usize>)> {
    let images = links.iter().filter(|link| text[link.span.clone()].starts_with("!["));
    images.filter_map(|link| {
        Some((text[link.destination.clone()].strip_prefix(INLINE_PREFIX)?, link.destination.clone()))
    })
}

fn attribute<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.split_whitespace().skip(1).find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !text.is_empty() && text.len() <= MAX_ELEMENT_ID_CHARS && text.chars().all(fits)
}

/// The first `title:` or `"title":` of a chart's source.
fn title(content: &str) -> Option<&str> {
    let after =
        content.split_once("\"title\"").map(|(_, after)| after.trim_start().trim_start_matches(':').trim_start());
    if let Some(quoted) = after.and_then(|after| after.strip_prefix('"')) {
        return quoted.split_once('"').map(|(title, _)| title);
    }
    let line = content.lines().find_map(|line| line.trim_start().strip_prefix("title:"))?;
    Some(line.trim().trim_matches(['"', '\'']))
}

/// One line that cannot end a fence.
fn clean_label(text: &str, fallback: &str) -> String {
    let line: String =
        text.lines().next().unwrap_or("").chars().filter(|c| !c.is_control()).take(MAX_LABEL_CHARS).collect();
    let label = line.trim().trim_start_matches(['`', '~']).trim_start();
    if label.is_empty() { fallback.to_owned() } else { label.to_owned() }
}
