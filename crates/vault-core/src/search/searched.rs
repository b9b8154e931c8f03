//! What of a file is searched: its texts, and the labels by which answers are filtered.

use std::borrow::Cow;

use vault_markdown::{Document, FrontmatterState, MANAGED_KEYS, ViewOptions, folded_tag};

use super::analyse::{Analyser, GAP};
use super::score::N_FIELDS;
use crate::catalog::Note;
use crate::limits::MAX_SEARCHED_BYTES;
use crate::path::{VaultPath, folded};

/// Label of archived notes.
pub const ARCHIVED: &str = "!archived";

/// What of a file is searched.
#[derive(Debug)]
pub struct Searched<'a> {
    path: &'a VaultPath,
    tags: &'a [String],
    is_archived: bool,
    texts: [Cow<'a, str>; N_FIELDS],
}

impl<'a> Searched<'a> {
    /// Returns what is searched of a note: of its text, what callers see of it.
    pub fn of_note(path: &'a VaultPath, note: &'a Note, document: &Document, stored: &'a str) -> Searched<'a> {
        let headings = document.headings.iter().map(|heading| heading.text.as_str());
        Searched {
            path,
            tags: &note.tags,
            is_archived: note.archived,
            texts: [
                Cow::Borrowed(&note.title),
                Cow::Owned(separated(note.tags.iter().map(String::as_str))),
                Cow::Owned(words_of(path)),
                Cow::Owned(separated(headings)),
                limited(shown(document, stored)),
            ],
        }
    }

    /// Returns what is searched of a sheet, of which `text` is the plain text.
    pub fn of_sheet(path: &'a VaultPath, text: &'a str) -> Searched<'a> {
        let nothing = || Cow::Borrowed("");
        let title = Cow::Borrowed(path.stem());
        let texts = [title, nothing(), Cow::Owned(words_of(path)), nothing(), limited(Cow::Borrowed(text))];
        Searched { path, tags: &[], is_archived: false, texts }
    }

    /// Returns the path.
    pub fn path(&self) -> &VaultPath {
        self.path
    }

    /// Returns the texts, by field.
    pub fn texts(&self) -> &[Cow<'a, str>; N_FIELDS] {
        &self.texts
    }

    /// Calls `each` with every term of every field and its position.
    pub(super) fn terms(&self, analyser: &mut Analyser, each: &mut dyn FnMut(usize, &str, u32)) {
        for (field, text) in self.texts.iter().enumerate() {
            analyser.analyse(text, 0, &mut |term, position, _| each(field, term, position));
        }
    }

    /// Returns the labels: each tag and those above it, each folder above the file, and [`ARCHIVED`].
    pub fn labels(&self) -> Vec<String> {
        let tags = self.tags.iter().map(|tag| folded_tag(tag));
        let mut labels: Vec<String> = tags.flat_map(|tag| with_all_above(&format!("#{tag}"))).collect();
        let folder = self.path.parent();
        if !folder.is_root() {
            let folders = with_all_above(&folded(folder.as_str()));
            labels.extend(folders.iter().map(|folder| label_of_folder(folder)));
        }
        labels.extend(self.is_archived.then(|| ARCHIVED.to_owned()));
        labels.sort();
        labels.dedup();
        labels
    }
}

/// Returns the label of a tag: notes with tags below it have it too.
pub fn label_of_tag(tag: &str) -> String {
    format!("#{}", folded_tag(tag))
}

/// Returns the label of all files in a folder, at any depth.
pub fn label_of_folder(folder: &str) -> String {
    format!("/{}/", folded(folder))
}

/// Makes `a`, `a/b` and `a/b/c` of `a/b/c`.
fn with_all_above(text: &str) -> Vec<String> {
    let ends = text.match_indices('/').map(|(end, _)| end).chain([text.len()]);
    ends.map(|end| text[..end].to_owned()).collect()
}

fn words_of(path: &VaultPath) -> String {
    let text = path.as_str();
    text[..text.len() - (path.name().len() - path.stem().len())].to_owned()
}

/// Puts texts one after another, so that no phrase reaches from one into the next.
fn separated<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() {
            all.push(GAP);
        }
        all.push_str(text);
    }
    all
}

/// Returns what callers see of a note, but for lines that only they see.
fn shown<'a>(document: &Document, stored: &'a str) -> Cow<'a, str> {
    if !document.elements.is_empty() {
        let view = vault_markdown::view(stored, &ViewOptions::default());
        let lines = view.text.split_inclusive('\n').enumerate().filter(|(at, _)| !view.is_added(at + 1));
        return Cow::Owned(lines.map(|(_, line)| line).collect());
    }
    let body = &stored[document.body.clone()];
    match &document.frontmatter {
        None => Cow::Borrowed(body),
        Some(block) if matches!(block.state, FrontmatterState::Broken(_)) => Cow::Borrowed(stored),
        Some(block) => {
            let own = block.entries.iter().filter(|entry| !MANAGED_KEYS.contains(&entry.key.as_str()));
            let own: String = own.map(|entry| &stored[entry.span.clone()]).collect();
            if own.is_empty() { Cow::Borrowed(body) } else { Cow::Owned(own + body) }
        }
    }
}

/// Cuts a text that is too long to be searched whole.
fn limited(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= MAX_SEARCHED_BYTES {
        return text;
    }
    let end = (0..=MAX_SEARCHED_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}
