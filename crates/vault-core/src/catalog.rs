//! What the vault holds, without its texts: notes with title, tags and links, other files, folders. Pure memory; the
//! vault fills it from the store.

mod parts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use vault_markdown::{BodyPlace, Document, LinkKind};

use crate::limits::CLOCK_GRAIN;
use crate::path::{VaultPath, folded};
use crate::store::Stat;
pub use parts::NoteParts;

/// One moment's list of a vault's files.
#[derive(Debug, Default, Clone)]
pub struct Catalog {
    /// Every note, by path.
    pub notes: BTreeMap<VaultPath, Arc<Note>>,
    /// Every other file, by path.
    pub files: BTreeMap<VaultPath, File>,
    /// Every folder below the root, empty ones too.
    pub folders: BTreeSet<VaultPath>,
    /// Made when it is first asked for: reading, listing and searching do without.
    names: OnceLock<Names>,
}

/// Where names and links lead.
#[derive(Debug, Default, Clone)]
struct Names {
    /// Paths by folded file name, and notes also by their name without extension.
    by_name: Lookup,
    /// Notes by folded title and aliases.
    by_title: Lookup,
    /// Notes that hold a link, by the folded name that the link's target ends in.
    by_link: Lookup,
}

type Lookup = HashMap<String, Vec<VaultPath>, foldhash::fast::RandomState>;

/// What the catalog knows of a note.
#[derive(Debug, Clone)]
pub struct Note {
    /// State of the file when it was read.
    pub stat: Stat,
    /// Frontmatter `title`, else the file name without extension.
    pub title: String,
    /// Frontmatter tags, then inline ones, each once.
    pub tags: Vec<String>,
    /// Other names, from the frontmatter.
    pub aliases: Vec<String>,
    /// Frontmatter `pinned`.
    pub pinned: bool,
    /// Frontmatter `archived`.
    pub archived: bool,
    /// Links to places in the vault, in order.
    pub links: Vec<LinkTo>,
    /// Where the body stands in the view, when only the header makes a difference.
    pub body: Option<BodyPlace>,
    /// When the file was read.
    read_at: Timestamp,
}

/// Where a link points, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTo {
    /// Decoded path part of the destination.
    pub target: Box<str>,
    /// How the target is to be understood.
    pub form: LinkForm,
}

/// How a link's target is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkForm {
    /// A name or a part of a path, as in `[[fern]]`.
    Name,
    /// A path counted from the note's folder, or from the root when it begins with `/`.
    Path,
}

/// What the catalog knows of a file that is no note.
#[derive(Debug, Clone)]
pub struct File {
    /// State of the file when it was listed.
    pub stat: Stat,
}

impl Note {
    /// Describes the note at `path` from its stored text, parsed.
    pub fn new(path: &VaultPath, stat: Stat, parsed: Option<(&str, &Document)>, read_at: Timestamp) -> Note {
        let document = parsed.map(|(_, document)| document);
        let frontmatter = document.and_then(|document| document.frontmatter.as_ref());
        let strings = |key: &str| frontmatter.map_or_else(Vec::new, |block| block.strings(key));
        let flag = |key: &str| frontmatter.is_some_and(|block| block.flag(key));
        Note {
            stat,
            title: title(path, document),
            tags: document.map_or_else(Vec::new, vault_markdown::tags),
            aliases: strings("aliases"),
            pinned: flag("pinned"),
            archived: flag("archived"),
            links: document.map_or_else(Vec::new, links),
            body: parsed.and_then(|(stored, document)| vault_markdown::body_place(stored, document)),
            read_at,
        }
    }

    /// Tells whether a file in this state must still hold what was read.
    ///
    /// A file that was touched just before it was read may have been changed again without a trace in its times, on file
    /// systems with coarse clocks.
    pub fn is_still(&self, stat: &Stat) -> bool {
        self.stat.same_state(stat) && self.read_at.duration_since(stat.changed) > CLOCK_GRAIN
    }
}

impl Note {
    /// Tells whether both are found by the same names and link to the same places: then no index changes.
    fn is_known_as(&self, other: &Note) -> bool {
        (&self.title, &self.aliases, &self.links) == (&other.title, &other.aliases, &other.links)
    }
}

/// Returns the title of a note: frontmatter `title`, else the file name without extension.
pub fn title(path: &VaultPath, document: Option<&Document>) -> String {
    let block = document.and_then(|document| document.frontmatter.as_ref());
    let given = block.and_then(|block| block.strings("title").into_iter().next());
    given.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| path.stem().to_owned())
}

impl Catalog {
    /// Adds a note or puts it in the place of what was known of it.
    pub fn put_note(&mut self, path: VaultPath, note: Arc<Note>) {
        if let Some(known) = self.notes.get_mut(&path).filter(|known| known.is_known_as(&note)) {
            *known = note;
            return;
        }
        self.remove(&path);
        if let Some(known) = self.names.get_mut() {
            known.add_note(&path, &note);
        }
        self.notes.insert(path, note);
    }

    /// Takes in the first notes, sorted by path: quicker than one by one.
    pub(crate) fn fill(&mut self, notes: impl Iterator<Item = (VaultPath, Arc<Note>)>) {
        self.notes = notes.collect();
        self.names = OnceLock::new();
    }

    /// Adds a file that is no note.
    pub fn put_file(&mut self, path: VaultPath, file: File) {
        if let Some(known) = self.files.get_mut(&path) {
            *known = file;
            return;
        }
        self.remove(&path);
        if let Some(known) = self.names.get_mut() {
            known.add_file(&path);
        }
        self.files.insert(path, file);
    }

    /// Forgets a note or file.
    pub fn remove(&mut self, path: &VaultPath) {
        let note = self.notes.remove(path);
        if note.is_none() && self.files.remove(path).is_none() {
            return;
        }
        if let Some(known) = self.names.get_mut() {
            known.remove(path, note.as_deref());
        }
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let mut names = Names::default();
            self.notes.iter().for_each(|(path, note)| names.add_note(path, note));
            self.files.keys().for_each(|path| names.add_file(path));
            names
        })
    }

    /// Returns the paths whose file name is `name` when letter case is ignored; notes answer without extension too.
    pub fn named(&self, name: &str) -> &[VaultPath] {
        self.names().by_name.get(&folded(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns the notes that have `title` as title or alias when letter case is ignored.
    pub fn titled(&self, title: &str) -> &[VaultPath] {
        self.names().by_title.get(&folded(title)).map_or(&[], Vec::as_slice)
    }

    /// Returns the notes with links that may lead to the note at `path`: their targets end in its name, its title or an
    /// alias of it.
    pub fn may_link_to(&self, path: &VaultPath) -> BTreeSet<&VaultPath> {
        let mut names = names(path);
        names.extend(self.notes.get(path).iter().flat_map(|note| titles(note)));
        let keys = names.iter().map(|name| link_name(name));
        keys.filter_map(|key| self.names().by_link.get(&key)).flatten().collect()
    }

    /// Returns the existing notes and files that look most like `wanted`, best first.
    pub fn nearest(&self, wanted: &str, at_most: usize) -> Vec<String> {
        nearest(self.notes.keys().chain(self.files.keys()), wanted, at_most)
    }

    /// Returns the existing folders that look most like `wanted`, best first.
    pub fn nearest_folders(&self, wanted: &str, at_most: usize) -> Vec<String> {
        nearest(self.folders.iter(), wanted, at_most)
    }
}

impl Names {
    fn add_note(&mut self, path: &VaultPath, note: &Note) {
        self.add_file(path);
        for title in titles(note) {
            self.by_title.entry(title).or_default().push(path.clone());
        }
        for name in linked_names(note) {
            self.by_link.entry(name).or_default().push(path.clone());
        }
    }

    fn add_file(&mut self, path: &VaultPath) {
        for name in names(path) {
            self.by_name.entry(name).or_default().push(path.clone());
        }
    }

    fn remove(&mut self, path: &VaultPath, note: Option<&Note>) {
        if let Some(note) = note {
            titles(note).iter().for_each(|title| forget(&mut self.by_title, title, path));
            linked_names(note).iter().for_each(|name| forget(&mut self.by_link, name, path));
        }
        names(path).iter().for_each(|name| forget(&mut self.by_name, name, path));
    }
}

fn nearest<'a>(paths: impl Iterator<Item = &'a VaultPath>, wanted: &str, at_most: usize) -> Vec<String> {
    let wanted = pairs(&folded(wanted));
    let mut scored: Vec<(f32, &VaultPath)> = paths.map(|path| (likeness(&wanted, path), path)).collect();
    scored.retain(|(score, _)| *score > LEAST_LIKENESS);
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    scored.into_iter().take(at_most).map(|(_, path)| path.to_string()).collect()
}

/// Likeness below which a path is no suggestion: fewer than four in ten letter pairs shared.
const LEAST_LIKENESS: f32 = 0.4;

fn titles(note: &Note) -> Vec<String> {
    let mut titles: Vec<String> = note.aliases.iter().chain([&note.title]).map(|title| folded(title)).collect();
    titles.sort();
    titles.dedup();
    titles
}

fn names(path: &VaultPath) -> Vec<String> {
    let mut names = vec![folded(path.name())];
    if path.is_note() {
        names.push(folded(path.stem()));
    }
    names
}

fn linked_names(note: &Note) -> BTreeSet<String> {
    note.links.iter().map(|link| link_name(&link.target)).collect()
}

/// The last part of a target, folded, without a note's extension.
fn link_name(target: &str) -> String {
    let name = folded(target.rsplit('/').next().unwrap_or(target).trim());
    let bare = [".md", ".markdown"].iter().find_map(|extension| name.strip_suffix(extension));
    bare.map_or(name.clone(), str::to_owned)
}

fn forget(index: &mut Lookup, key: &str, path: &VaultPath) {
    if let Some(paths) = index.get_mut(key) {
        paths.retain(|known| known != path);
        if paths.is_empty() {
            index.remove(key);
        }
    }
}

fn links(document: &Document) -> Vec<LinkTo> {
    document.links.iter().filter_map(link).collect()
}

fn link(link: &vault_markdown::Link) -> Option<LinkTo> {
    let form = match link.kind {
        LinkKind::External => return None,
        LinkKind::Wikilink | LinkKind::WikiEmbed | LinkKind::Frontmatter => LinkForm::Name,
        LinkKind::Markdown
        | LinkKind::Image
        | LinkKind::ReferenceDefinition
        | LinkKind::Html
        | LinkKind::Attachment => LinkForm::Path,
    };
    (!link.target.is_empty()).then(|| LinkTo { target: link.target.as_str().into(), form })
}

/// Share of letter pairs in common (Dice), the better of the whole path and the bare name.
fn likeness(wanted: &[(char, char)], path: &VaultPath) -> f32 {
    let dice = |text: &str| {
        let mut rest = pairs(&folded(text));
        let all = wanted.len() + rest.len();
        let common = wanted.iter().filter(|pair| take(&mut rest, pair)).count();
        if all == 0 { 0.0 } else { 2.0 * common as f32 / all as f32 }
    };
    dice(path.as_str()).max(dice(path.name())).max(dice(path.stem()))
}

fn take(pairs: &mut Vec<(char, char)>, wanted: &(char, char)) -> bool {
    let found = pairs.iter().position(|pair| pair == wanted);
    found.map(|at| pairs.swap_remove(at)).is_some()
}

fn pairs(text: &str) -> Vec<(char, char)> {
    text.chars().zip(text.chars().skip(1)).collect()
}
