//! One pass over the parser's events that collects everything a document holds.

mod comments;
mod depth;
mod elements;
mod outline;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, OffsetIter, Options, Parser, Tag as MdTag, TagEnd};

use crate::document::{Block, BlockKind, Document, Heading};
use crate::frontmatter;
use crate::lines;
use crate::links::{self, Link, LinkKind, Spelling};
use crate::tags;
use comments::Comments;
#[cfg(test)]
pub(crate) use elements::own_bytes;
pub(crate) use elements::{DEFAULT_KINDS, INLINE_PREFIX, base_id, base_of, inline_placeholders};
use elements::{Fence, assign_ids, image_element};
use outline::{block_id, close_sections};

/// Parses a note: one pass over its Markdown, one over its frontmatter.
///
/// Never fails and never panics: odd Markdown is text. Time and memory grow with the length of `stored` (container
/// markers past [`MAX_CONTAINER_PREFIX_BYTES`](crate::limits::MAX_CONTAINER_PREFIX_BYTES) of a line are text).
///
/// ```
/// let document = vault_markdown::parse("---\nup: '[[home]]'\n---\n# Fern\nSee [[moss|the moss]] #green\n");
/// assert_eq!(document.headings[0].text, "Fern");
/// assert_eq!(document.links[1].target, "moss");
/// assert_eq!(document.tags[0].name, "green");
/// ```
pub fn parse(stored: &str) -> Document {
    parse_with(stored, &DEFAULT_KINDS)
}

/// [`parse`] with other kinds of elements.
pub(crate) fn parse_with<K: AsRef<str>>(stored: &str, kinds: &[K]) -> Document {
    let frontmatter = frontmatter::read(stored);
    let start = frontmatter.as_ref().map_or(lines::bom_len(stored), |block| block.span.end);
    let mut document = body(stored, start, kinds);
    if let Some(block) = &frontmatter {
        let mut found = Vec::new();
        links::find_in_frontmatter(stored, block, &mut found);
        document.links.splice(0..0, found);
    }
    document.frontmatter = frontmatter;
    document
}

/// Parses `stored` from byte `start` on as Markdown without frontmatter.
pub(crate) fn body<K: AsRef<str>>(stored: &str, start: usize, kinds: &[K]) -> Document {
    let masked = depth::mask_deep_containers(&stored[start..]);
    let events = Parser::new_ext(&masked, options()).into_offset_iter();
    let mut collector = Collector::new(stored, start, kinds);
    collector.definitions(&events);
    for (event, range) in events {
        collector.event(event, range.start + start..range.end + start);
    }
    collector.finish()
}

/// The Markdown that is read: what people's editors agree on.
pub(crate) fn options() -> Options {
    Options::ENABLE_WIKILINKS
        | Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
}

struct Collector<'a, K> {
    stored: &'a str,
    start: usize,
    kinds: &'a [K],
    document: Document,
    /// The stretch of running text that is being read, and whether it begins a line, cell or emphasis.
    text: Option<(Range<usize>, bool)>,
    fresh: bool,
    html: Option<Range<usize>>,
    open_links: Vec<OpenLink<'a>>,
    fence: Option<Fence>,
    in_code: bool,
    heading: Option<Heading>,
    depth: usize,
    n_paragraphs: usize,
    comments: Comments,
    has_comments: bool,
}

/// A link whose text is being read.
struct OpenLink<'a> {
    span: Range<usize>,
    url: CowStr<'a>,
    is_wiki: bool,
    is_image: bool,
    is_reference: bool,
    text_end: usize,
}

impl<'a, K: AsRef<str>> Collector<'a, K> {
    fn new(stored: &'a str, start: usize, kinds: &'a [K]) -> Self {
        Collector {
            stored,
            start,
            kinds,
            document: Document { body: start..stored.len(), ..Document::default() },
            text: None,
            fresh: true,
            html: None,
            open_links: Vec::new(),
            fence: None,
            in_code: false,
            heading: None,
            depth: 0,
            n_paragraphs: 0,
            comments: Comments::default(),
            has_comments: stored.contains("%%"),
        }
    }

    /// Reference definitions, which have no events.
    fn definitions(&mut self, events: &OffsetIter<'_>) {
        for (_, definition) in events.reference_definitions().iter() {
            let span = definition.span.start + self.start..definition.span.end + self.start;
            if let Some((raw, spelling)) = links::reference_destination(self.stored, span.clone()) {
                let text = span.start..span.start;
                self.push_link(LinkKind::ReferenceDefinition, span, raw, &definition.dest, spelling, text);
            }
        }
    }

    fn event(&mut self, event: Event<'a>, range: Range<usize>) {
        if !matches!(event, Event::Text(_)) {
            self.end_text(&event);
        }
        if !matches!(event, Event::Html(_)) {
            self.end_html();
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => self.text(&text, range),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.inline(&text, range),
            Event::Html(_) => self.html_line(range),
            Event::InlineHtml(_) => {
                links::find_in_html(self.stored, range.clone(), &mut self.document.links);
                self.inline("", range);
            }
            Event::FootnoteReference(_) => self.inline("", range),
            Event::SoftBreak | Event::HardBreak => self.inline(" ", range),
            Event::TaskListMarker(_) => {}
            Event::Rule => self.block(BlockKind::Rule, range),
        }
    }

    fn start(&mut self, tag: MdTag<'a>, range: Range<usize>) {
        self.fresh = true;
        match tag {
            MdTag::Paragraph => self.block(BlockKind::Paragraph, range),
            MdTag::Heading { level, .. } => {
                self.block(BlockKind::Heading, range.clone());
                let section = range.start..self.stored.len();
                self.heading = Some(Heading { level: level as u8, text: String::new(), span: range, section });
            }
            MdTag::BlockQuote(_) => self.block(BlockKind::Quote, range),
            MdTag::List(_) => self.block(BlockKind::List, range),
            MdTag::Table(_) => self.block(BlockKind::Table, range),
            MdTag::HtmlBlock => self.block(BlockKind::Html, range),
            MdTag::FootnoteDefinition(_) => self.block(BlockKind::Footnote, range),
            MdTag::CodeBlock(kind) => {
                self.block(BlockKind::Code, range.clone());
                self.in_code = true;
                if let CodeBlockKind::Fenced(info) = kind {
                    self.fence = Fence::open(self.stored, &info, range, self.kinds);
                }
            }
            MdTag::Link { link_type, dest_url, .. } => self.open_link(link_type, dest_url, range, false),
            MdTag::Image { link_type, dest_url, .. } => self.open_link(link_type, dest_url, range, true),
            _ => {}
        }
        self.depth += 1;
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        self.depth -= 1;
        self.fresh = false;
        match tag {
            TagEnd::Heading(_) => self.document.headings.extend(self.heading.take()),
            TagEnd::CodeBlock => {
                self.in_code = false;
                if let Some(fence) = self.fence.take() {
                    fence.close(self.stored, &mut self.document);
                }
            }
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
        if let Some(link) = self.open_links.last_mut() {
            link.text_end = link.text_end.max(range.end);
        }
    }

    fn block(&mut self, kind: BlockKind, span: Range<usize>) {
        self.n_paragraphs += 1;
        if self.depth == 0 {
            self.document.blocks.push(Block { kind, span });
        }
    }

    fn text(&mut self, text: &CowStr<'_>, range: Range<usize>) {
        if self.in_code {
            if let Some(fence) = &mut self.fence {
                fence.content(self.stored, text, range);
            }
            return;
        }
        if let Some(heading) = &mut self.heading {
            heading.text.push_str(text);
        }
        if let Some(link) = self.open_links.last_mut() {
            link.text_end = link.text_end.max(range.end);
            return;
        }
        match &mut self.text {
            Some((stretch, _)) if stretch.end == range.start => stretch.end = range.end,
            _ => {
                self.end_stretch(false);
                self.text = Some((range, self.fresh));
            }
        }
        self.fresh = false;
    }

    /// Something inside a line that is no running text.
    fn inline(&mut self, text: &str, range: Range<usize>) {
        self.fresh = text == " ";
        if let Some(heading) = &mut self.heading {
            heading.text.push_str(text);
        }
        if let Some(link) = self.open_links.last_mut() {
            link.text_end = link.text_end.max(range.end);
        }
    }

    fn end_text(&mut self, event: &Event<'_>) {
        let goes_on = match event {
            Event::Start(tag) => is_inline(&tag.to_end()),
            Event::End(tag) => is_inline(tag),
            Event::SoftBreak | Event::HardBreak | Event::Rule => false,
            _ => true,
        };
        self.end_stretch(!goes_on);
    }

    fn end_stretch(&mut self, at_line_end: bool) {
        let Some((stretch, fresh)) = self.text.take() else { return };
        tags::find(self.stored, stretch.clone(), fresh, &mut self.document.tags);
        if self.has_comments {
            self.comments.marks_in(self.stored, stretch.clone(), fresh, self.n_paragraphs);
        }
        if at_line_end {
            self.document.block_ids.extend(block_id(self.stored, stretch, fresh));
        }
    }

    fn html_line(&mut self, range: Range<usize>) {
        match &mut self.html {
            Some(html) if html.end == range.start => html.end = range.end,
            _ => {
                self.end_html();
                self.html = Some(range);
            }
        }
    }

    fn end_html(&mut self) {
        if let Some(html) = self.html.take() {
            links::find_in_html(self.stored, html, &mut self.document.links);
        }
    }

    fn open_link(&mut self, kind: LinkType, url: CowStr<'a>, span: Range<usize>, is_image: bool) {
        self.open_links.push(OpenLink {
            text_end: span.start + 1 + usize::from(is_image),
            span,
            url,
            is_wiki: matches!(kind, LinkType::WikiLink { .. }),
            is_reference: !matches!(
                kind,
                LinkType::WikiLink { .. } | LinkType::Inline | LinkType::Autolink | LinkType::Email
            ),
            is_image,
        });
    }

    fn close_link(&mut self) {
        let Some(link) = self.open_links.pop() else { return };
        let OpenLink { span, text_end, is_image, .. } = link;
        if link.is_wiki {
            self.document.links.push(links::wikilink(self.stored, span));
        } else if self.stored[span.clone()].starts_with('<') {
            let raw = span.start + 1..span.end - 1;
            let text = raw.clone();
            self.push_link(LinkKind::External, span, raw, &link.url, Spelling::Angle, text);
        } else if !link.is_reference
            && let Some((raw, close, spelling)) = links::inline_destination(self.stored, span.clone(), text_end)
        {
            let text = span.start + 1 + usize::from(is_image)..close;
            if is_image && let Some(element) = image_element(self.stored, span.clone(), raw.clone(), text.clone()) {
                self.document.elements.push(element);
                return;
            }
            let kind = if is_image { LinkKind::Image } else { LinkKind::Markdown };
            self.push_link(kind, span, raw, &link.url, spelling, text);
        }
    }

    fn push_link(
        &mut self,
        kind: LinkKind,
        span: Range<usize>,
        raw: Range<usize>,
        url: &str,
        spelling: Spelling,
        text: Range<usize>,
    ) {
        if url.starts_with("data:") {
            return;
        }
        if kind == LinkKind::External || links::is_external(url) {
            let kind = LinkKind::External;
            let target = url.to_owned();
            self.document.links.push(Link { kind, span, destination: raw, spelling, target, fragment: None, text });
            return;
        }
        let (path, _) = links::split_fragment(self.stored, raw);
        let (target, fragment) = match url.split_once('#') {
            Some((target, fragment)) => (target, Some(links::decode_percent(fragment).into_owned())),
            None => (url, None),
        };
        let target = links::decode_percent(target).into_owned();
        self.document.links.push(Link { kind, span, destination: path, spelling, target, fragment, text });
    }

    fn finish(mut self) -> Document {
        self.end_stretch(true);
        self.end_html();
        let mut document = self.document;
        document.links.sort_by_key(|link| link.span.start);
        document.elements.sort_by_key(|element| element.inner.start);
        let comments = self.comments.ranges();
        if !comments.is_empty() {
            document.links.retain(|link| !comments::covers(&comments, link.span.start));
            document.tags.retain(|tag| !comments::covers(&comments, tag.span.start));
            document.block_ids.retain(|id| !comments::covers(&comments, id.span.start));
        }
        assign_ids(self.stored, &mut document);
        close_sections(&mut document.headings);
        document
    }
}

pub(crate) fn is_inline(tag: &TagEnd) -> bool {
    matches!(tag, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

/// The text whose events [`body`] reads, for others that walk them.
pub(crate) fn readable(body: &str) -> Cow<'_, str> {
    depth::mask_deep_containers(body)
}
