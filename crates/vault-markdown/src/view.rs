//! The view: a note as callers see it, and for each of its lines the file line it stands for.
//!
//! Line ends are `\n`, the byte-order mark is gone, managed keys are hidden, elements are placeholders.

use std::collections::HashSet;
use std::ops::Range;

use crate::document::{Document, Element};
use crate::frontmatter::{self, Entry, Frontmatter, FrontmatterProblem, FrontmatterState, MANAGED_KEYS};
use crate::lines;
use crate::parse::{self, DEFAULT_KINDS, INLINE_PREFIX};

/// The line that a note without a `type` of its own is shown with.
pub(crate) const DEFAULT_TYPE_LINE: &str = "type: Note\n";

/// How a note is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewOptions {
    /// Show elements as the text that is stored.
    pub expand_blocks: bool,
    /// First words of the info strings that make a fence an element; `vault-block` is the storage form.
    pub kinds: Vec<String>,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions { expand_blocks: false, kinds: DEFAULT_KINDS.map(str::to_owned).to_vec() }
    }
}

/// A note as callers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The whole text.
    pub text: String,
    /// Why the frontmatter is shown raw.
    pub frontmatter_error: Option<FrontmatterProblem>,
    /// The elements that are shown as placeholders, in order.
    pub elements: Vec<ShownElement>,
    runs: Vec<Run>,
}

/// An element that is shown as a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownElement {
    /// The id in the placeholder.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// Its label line; the alternative text of an image.
    pub label: String,
}

/// View lines from `first` on (0-based) are the file's lines from `file_line` on, or lines that only the view has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: usize,
    file_line: Option<usize>,
}

/// Shows a note.
///
/// ```
/// use vault_markdown::{ViewOptions, view};
/// let shown = view("\u{feff}# Fern\r\n", &ViewOptions::default());
/// assert_eq!(shown.text, "---\ntype: Note\n---\n# Fern\n");
/// assert_eq!((shown.is_added(2), shown.file_line(4)), (true, Some(1)));
/// ```
pub fn view(stored: &str, options: &ViewOptions) -> View {
    Shown::of(stored, options).view
}

/// Where the lines of a note's body stand in its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyPlace {
    /// Byte of the stored text at which the body begins.
    pub begin: usize,
    /// How many lines further down each line is in the view than in the file; less than 0 is further up.
    pub shift: isize,
}

/// Tells where the body of a note, parsed as `document`, stands in its view; `None` where elements make the view differ in
/// the body, too.
///
/// ```
/// let stored = "---\ntags: [a]\n---\nFirst line.\n";
/// let place = vault_markdown::body_place(stored, &vault_markdown::parse(stored)).unwrap();
/// assert_eq!((&stored[place.begin..], place.shift), ("First line.\n", 0));
/// ```
pub fn body_place(stored: &str, document: &Document) -> Option<BodyPlace> {
    if !document.elements.is_empty() {
        return None;
    }
    let shift = match &document.frontmatter {
        None => 3,
        Some(block) if matches!(block.state, FrontmatterState::Broken(_)) => 0,
        Some(block) => {
            let hidden = block.entries.iter().filter(|entry| is_managed(&entry.key));
            let n_hidden: usize = hidden.map(|entry| stored[entry.span.clone()].matches('\n').count()).sum();
            let adds_type = block.entries.iter().all(|entry| entry.key != "type");
            isize::from(adds_type) - n_hidden as isize
        }
    };
    Some(BodyPlace { begin: document.body.start, shift })
}

impl View {
    /// The 1-based line of the file that view line `view_line` (1-based) stands for; `None` for one that only the view
    /// has.
    pub fn file_line(&self, view_line: usize) -> Option<usize> {
        let index = view_line.checked_sub(1)?;
        let run = self.run_at(index)?;
        Some(run.file_line? + index - run.first)
    }

    /// Whether only the view has this line (1-based).
    pub fn is_added(&self, view_line: usize) -> bool {
        let run = view_line.checked_sub(1).and_then(|index| self.run_at(index));
        run.is_some_and(|run| run.file_line.is_none())
    }

    /// The 0-based lines that only the view has; they follow each other.
    pub(crate) fn added_runs(&self) -> Range<usize> {
        let Some(first) = self.runs.iter().position(|run| run.file_line.is_none()) else { return 0..0 };
        let end = self.runs.get(first + 1).map_or_else(|| lines::n_lines(&self.text), |next| next.first);
        self.runs[first].first..end
    }

    fn run_at(&self, index: usize) -> Option<&Run> {
        let after = self.runs.partition_point(|run| run.first <= index);
        self.runs[..after].last()
    }
}

/// A view with what is needed to take it back.
pub(crate) struct Shown<'a> {
    pub(crate) stored: &'a str,
    pub(crate) view: View,
    /// Bytes of the view's frontmatter block.
    pub(crate) header_len: usize,
    pub(crate) frontmatter: Option<Frontmatter>,
    pub(crate) body: Range<usize>,
    pub(crate) elements: Vec<Element>,
    /// Ids in the stored text itself that look like those of inline placeholders.
    pub(crate) literals: HashSet<String>,
    /// Ids of stored `vault-block` fences that are never closed, and so are text.
    pub(crate) open_blocks: Vec<String>,
}

impl<'a> Shown<'a> {
    pub(crate) fn of(stored: &'a str, options: &ViewOptions) -> Shown<'a> {
        let frontmatter = frontmatter::read(stored);
        let start = frontmatter.as_ref().map_or(lines::bom_len(stored), |block| block.span.end);
        let Document { elements, links, open_blocks, .. } = parsed(stored, start, options);
        let literals = parse::inline_placeholders(stored, &links).map(|(id, _)| id.to_owned()).collect();
        let mut out = Builder::default();
        match &frontmatter {
            Some(block) => show_block(&mut out, stored, block),
            None => out.added("---\ntype: Note\n---\n"),
        }
        let header_len = out.text.len();
        show_body(&mut out, stored, start, &elements);
        let shown = |element: &Element| ShownElement {
            id: element.id.clone(),
            kind: element.kind.clone(),
            label: element.label.clone(),
        };
        let view = View {
            text: out.text,
            frontmatter_error: frontmatter.as_ref().and_then(Frontmatter::problem).cloned(),
            elements: elements.iter().map(shown).collect(),
            runs: out.runs,
        };
        Shown { stored, view, header_len, frontmatter, body: start..stored.len(), elements, literals, open_blocks }
    }
}

/// The body, as far as elements are in it; a look at the bytes spares most notes the parse.
fn parsed(stored: &str, start: usize, options: &ViewOptions) -> Document {
    if options.expand_blocks || !may_hold_elements(&stored[start..], &options.kinds) {
        return Document::default();
    }
    parse::body(stored, start, &options.kinds)
}

/// Whether there may be elements or placeholders in a body.
pub(crate) fn may_hold_elements<K: AsRef<str>>(body: &str, kinds: &[K]) -> bool {
    let has_fence = || body.contains("```") || body.contains("~~~");
    let has_kind = || kinds.iter().any(|kind| body.contains(kind.as_ref()));
    let has_image = || body.contains("data:") || body.contains(INLINE_PREFIX);
    (body.contains("![") && has_image()) || (has_fence() && has_kind())
}

fn show_block(out: &mut Builder, stored: &str, block: &Frontmatter) {
    let first_line = 1;
    if let FrontmatterState::Broken(_) = block.state {
        return out.stored(&stored[block.span.clone()], first_line);
    }
    let line_after = |line: usize, range: Range<usize>| line + stored[range].matches('\n').count();
    out.stored(&stored[block.span.start..block.yaml.start], first_line);
    out.stored(&stored[block.head.clone()], first_line + 1);
    let mut line = line_after(first_line + 1, block.head.clone());
    let mut entries: Vec<(&Entry, usize)> = Vec::with_capacity(block.entries.len());
    for entry in &block.entries {
        entries.push((entry, line));
        line = line_after(line, entry.span.clone());
    }
    let (types, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(entry, _)| entry.key == "type");
    if types.is_empty() {
        out.added(DEFAULT_TYPE_LINE);
    }
    let own = others.into_iter().filter(|(entry, _)| !is_managed(&entry.key));
    for (entry, line) in types.into_iter().chain(own) {
        out.stored(&stored[entry.span.clone()], line);
    }
    out.stored(&stored[block.tail.clone()], line);
    out.stored(&stored[block.yaml.end..block.span.end], line_after(line, block.tail.clone()));
}

pub(crate) fn is_managed(key: &str) -> bool {
    MANAGED_KEYS.contains(&key)
}

fn show_body(out: &mut Builder, stored: &str, start: usize, elements: &[Element]) {
    let mut at = start;
    let mut line = 1 + stored[..start].matches('\n').count();
    for element in elements {
        let before = &stored[at..element.span.start.max(at)];
        if element.inline {
            out.stored(&stored[at..element.inner.start], line);
            line += stored[at..element.inner.start].matches('\n').count();
            out.text.push_str(&format!("{INLINE_PREFIX}{}", element.id));
            at = element.inner.end;
            continue;
        }
        out.stored(before, line);
        line += before.matches('\n').count();
        let fence = Placeholder::of(stored, element);
        out.stored(&fence.opening_line(element), line);
        out.stored(&fence.label_line(element), line + 1);
        line += stored[element.span.start..element.inner.end].matches('\n').count();
        at = element.inner.end;
    }
    out.stored(&stored[at..], line);
}

/// The parts of a stored fence that its placeholder shows.
pub(crate) struct Placeholder<'a> {
    /// What stands before the opening fence on its line.
    pub(crate) opening_prefix: &'a str,
    /// What stands before the closing fence.
    pub(crate) closing_prefix: &'a str,
    fence: &'a str,
}

impl<'a> Placeholder<'a> {
    pub(crate) fn of(stored: &'a str, element: &Element) -> Placeholder<'a> {
        let line_start = lines::line_around(stored, element.span.start).start.max(lines::bom_len(stored));
        let opening = &stored[element.span.clone()];
        let mark = opening.chars().next().unwrap_or('`');
        let width = opening.len() - opening.trim_start_matches(mark).len();
        let closing = &stored[element.inner.end..element.span.end];
        let closing_prefix = closing.trim_end().trim_end_matches(mark);
        Placeholder {
            opening_prefix: &stored[line_start..element.span.start],
            closing_prefix,
            fence: &opening[..width],
        }
    }

    /// The opening line from the fence on: what precedes it on the line is shown as it is.
    fn opening_line(&self, element: &Element) -> String {
        format!("{}vault-block id={} kind={}\n", self.fence, element.id, element.kind)
    }

    fn label_line(&self, element: &Element) -> String {
        format!("{}{}\n", self.closing_prefix, element.label)
    }
}

/// The text of a view under construction, with its line map.
#[derive(Default)]
struct Builder {
    text: String,
    runs: Vec<Run>,
    counted: usize,
    n_lines: usize,
}

impl Builder {
    /// Appends stored text that begins in line `file_line` of the file.
    fn stored(&mut self, raw: &str, file_line: usize) {
        self.run(raw, Some(file_line));
        self.text.push_str(&lines::to_lf(raw));
    }

    /// Appends lines that only the view has.
    fn added(&mut self, text: &str) {
        self.run(text, None);
        self.text.push_str(text);
    }

    fn run(&mut self, text: &str, file_line: Option<usize>) {
        let begins_line = self.text.is_empty() || self.text.ends_with('\n');
        if text.is_empty() || !begins_line {
            return;
        }
        self.n_lines += self.text[self.counted..].matches('\n').count();
        self.counted = self.text.len();
        self.runs.push(Run { first: self.n_lines, file_line });
    }
}
