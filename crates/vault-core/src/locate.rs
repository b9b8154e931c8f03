//! From what a caller wrote to what is there: the one place where paths meet the disk's spelling.

use std::sync::Arc;

use crate::call::Call;
use crate::catalog::Catalog;
use crate::error::VaultError;
use crate::limits::MAX_CANDIDATES;
use crate::naming;
use crate::path::{PathProblem, VaultPath, composed, folded};
use crate::rules::Rules;
use crate::shown::shortened;
use crate::store::{EntryKind, Stat};
use crate::vault::Vault;

/// Something that was found.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Its path, spelled as on disk.
    pub(crate) path: VaultPath,
    /// Its state.
    pub(crate) stat: Stat,
}

/// What a look for a path gave.
enum Look {
    There(Located),
    /// Not there, but for these spellings that differ in letter case only.
    Missing(Vec<VaultPath>),
}

impl Vault {
    /// Finds the note that `text` names: exactly, under another Unicode normalisation, or without its extension when
    /// one note fits.
    pub(crate) fn locate_note(&self, text: &str, call: &Call) -> Result<Located, VaultError> {
        Locator::new(self)?.note(text, call)
    }

    /// Finds the file that `text` names.
    pub(crate) fn locate_file(&self, text: &str, call: &Call) -> Result<Located, VaultError> {
        Locator::new(self)?.file(text, call)
    }

    /// Finds the folder that `text`, passed as `argument`, names; nothing, `""` and `.` name the root.
    pub(crate) fn locate_folder(
        &self,
        argument: &str,
        text: Option<&str>,
        call: &Call,
    ) -> Result<VaultPath, VaultError> {
        match text {
            None | Some("" | ".") => Ok(VaultPath::root()),
            Some(text) => Locator::new(self)?.folder(argument, text, call),
        }
    }
}

/// One call's look at the vault: by one reading of its rules.
pub(crate) struct Locator<'a> {
    vault: &'a Vault,
    rules: Arc<Rules>,
}

impl Locator<'_> {
    /// Reads the rules.
    pub(crate) fn new(vault: &Vault) -> Result<Locator<'_>, VaultError> {
        Ok(Locator { vault, rules: vault.rules()? })
    }

    fn note(&self, text: &str, call: &Call) -> Result<Located, VaultError> {
        let path = self.usable(text, EntryKind::File)?;
        let named = [".md", ".markdown"].into_iter().filter_map(|end| VaultPath::parse(&format!("{text}{end}")).ok());
        let mut spellings = match self.look(&path)? {
            Look::There(found) if path.is_note() && found.stat.kind == EntryKind::File => return Ok(found),
            Look::There(found) if path.is_note() => return Err(not_a_note(&found)),
            Look::There(found) => match self.only(named.clone(), text)? {
                Look::There(note) => return Ok(note),
                Look::Missing(_) => return Err(not_a_note(&found)),
            },
            Look::Missing(spellings) => spellings,
        };
        if !path.is_note() {
            match self.only(named, text)? {
                Look::There(note) => return Ok(note),
                Look::Missing(more) => spellings.extend(more),
            }
        }
        Err(self.not_found("note", text, &spellings, call))
    }

    fn file(&self, text: &str, call: &Call) -> Result<Located, VaultError> {
        let path = self.usable(text, EntryKind::File)?;
        match self.look(&path)? {
            Look::There(found) if found.stat.kind == EntryKind::File => Ok(found),
            Look::There(found) => {
                Err(VaultError::UnsupportedType { path: found.path, wanted: "a file: it is a folder or a device" })
            }
            Look::Missing(spellings) => Err(self.not_found("file", text, &spellings, call)),
        }
    }

    fn folder(&self, argument: &str, text: &str, call: &Call) -> Result<VaultPath, VaultError> {
        let path = self.usable(text, EntryKind::Folder)?;
        match self.look(&path)? {
            Look::There(found) if found.stat.kind == EntryKind::Folder => Ok(found.path),
            Look::There(found) => Err(not_a_folder(argument, found.path.as_str())),
            Look::Missing(spellings) => Err(self.not_found("folder", text, &spellings, call)),
        }
    }

    /// Returns the path of a folder that is there or may be made: existing parts in the disk's spelling, new parts with
    /// names that every system holds. A part that only differs in letter case from what is there is refused.
    pub(crate) fn place_for_folder(&self, argument: &str, text: &str) -> Result<VaultPath, VaultError> {
        if matches!(text, "" | ".") {
            return Ok(VaultPath::root());
        }
        let path = self.usable(text, EntryKind::Folder)?;
        let mut place = VaultPath::root();
        let mut is_new = false;
        for name in path.segments() {
            let existing = if is_new { None } else { self.existing_folder(&place.join(name), text)? };
            is_new = existing.is_none();
            place = match existing {
                Some(existing) => existing,
                None => {
                    naming::check_folder_name(name)
                        .map_err(|problem| VaultError::InvalidArgument { argument: argument.into(), problem })?;
                    place.join(&composed(name))
                }
            };
        }
        Ok(place)
    }

    fn existing_folder(&self, path: &VaultPath, text: &str) -> Result<Option<VaultPath>, VaultError> {
        match self.look(path)? {
            Look::There(found) if found.stat.kind == EntryKind::Folder => Ok(Some(found.path)),
            Look::There(found) => Err(VaultError::Exists { path: found.path.to_string() }),
            Look::Missing(spellings) if spellings.is_empty() => Ok(None),
            Look::Missing(spellings) => Err(other_case("folder", text, &spellings)),
        }
    }

    /// Refuses a place for a new file that the vault's rules leave out: nobody would see the file again.
    pub(crate) fn check_visible(&self, path: &VaultPath) -> Result<(), VaultError> {
        match self.rules.hide(path, false) {
            true => Err(VaultError::InvalidPath { path: path.to_string(), problem: PathProblem::Ignored }),
            false => Ok(()),
        }
    }

    /// Refuses the place itself where a refusal would name something that the vault's rules leave out.
    pub(crate) fn conceal(&self, refusal: VaultError, place: &VaultPath) -> VaultError {
        match &refusal {
            VaultError::Exists { path: other } if self.hides_any(other) => {
                VaultError::InvalidPath { path: place.to_string(), problem: PathProblem::Ignored }
            }
            VaultError::InvalidPath { problem: PathProblem::SymbolicLink { real: Some(real) }, .. }
                if self.hides_any(real.as_str()) =>
            {
                VaultError::InvalidPath { path: place.to_string(), problem: PathProblem::SymbolicLink { real: None } }
            }
            _ => refusal,
        }
    }

    fn hides_any(&self, path: &str) -> bool {
        VaultPath::parse(path).is_ok_and(|path| self.rules.hide(&path, false) || self.rules.hide(&path, true))
    }

    /// Returns the names of what a folder shows; none when it is not there.
    pub(crate) fn names_in(&self, folder: &VaultPath) -> Result<Vec<String>, VaultError> {
        let mut names = Vec::new();
        for (path, _) in self.shown_in(folder)? {
            names.push(path.name().to_owned());
        }
        Ok(names)
    }

    /// Checks the text of a path, by its own and by the vault's rules. Whether something is there plays no part.
    fn usable(&self, text: &str, wanted: EntryKind) -> Result<VaultPath, VaultError> {
        let refusal = |problem| VaultError::InvalidPath { path: shortened(text), problem };
        let path = VaultPath::parse(text).map_err(refusal)?;
        match self.rules.hide(&path, wanted == EntryKind::Folder) {
            true => Err(refusal(PathProblem::Ignored)),
            false => Ok(path),
        }
    }

    fn look(&self, path: &VaultPath) -> Result<Look, VaultError> {
        match self.vault.store().stat(path) {
            Ok(stat) if self.rules.hide(path, stat.kind == EntryKind::Folder) => Ok(Look::Missing(vec![])),
            Ok(stat) => Ok(Look::There(Located { path: path.clone(), stat })),
            Err(VaultError::NotFound { .. }) => self.look_by_name(path),
            Err(refusal) => Err(self.conceal(refusal, path)),
        }
    }

    /// Walks down and compares names: equal after NFC is the same name, equal after case folding a near miss.
    fn look_by_name(&self, path: &VaultPath) -> Result<Look, VaultError> {
        let mut places = vec![VaultPath::root()];
        for name in path.segments() {
            let mut below = Vec::new();
            for place in &places {
                let alike = self.shown_in(place)?.into_iter().filter(|(path, _)| folded(path.name()) == folded(name));
                below.extend(alike.map(|(path, _)| path));
            }
            places = below;
        }
        let is_same = |place: &&VaultPath| composed(place.as_str()) == composed(path.as_str());
        match places.iter().find(is_same) {
            Some(place) => Ok(Look::There(Located { stat: self.vault.store().stat(place)?, path: place.clone() })),
            None => Ok(Look::Missing(places)),
        }
    }

    fn shown_in(&self, folder: &VaultPath) -> Result<Vec<(VaultPath, EntryKind)>, VaultError> {
        let listing = match self.vault.store().list(folder) {
            Err(VaultError::NotFound { .. }) => return Ok(Vec::new()),
            listing => listing?,
        };
        let paths = listing.entries.into_iter().map(|entry| (folder.join(&entry.name), entry.kind));
        Ok(paths.filter(|(path, kind)| !self.rules.hide(path, *kind == EntryKind::Folder)).collect())
    }

    /// Finds the one of `paths` that is there.
    fn only(&self, paths: impl Iterator<Item = VaultPath>, text: &str) -> Result<Look, VaultError> {
        let (mut found, mut spellings) = (Vec::new(), Vec::new());
        for path in paths {
            match self.look(&path)? {
                Look::There(one) if one.stat.kind == EntryKind::File => found.push(one),
                Look::There(_) => {}
                Look::Missing(near) => spellings.extend(near),
            }
        }
        match found.len() {
            0 => Ok(Look::Missing(spellings)),
            1 => Ok(Look::There(found.remove(0))),
            _ => Err(VaultError::Ambiguous {
                path: text.to_owned(),
                candidates: found.iter().map(|one| one.path.to_string()).collect(),
            }),
        }
    }

    fn not_found(&self, what: &'static str, text: &str, spellings: &[VaultPath], call: &Call) -> VaultError {
        if !spellings.is_empty() {
            return other_case(what, text, spellings);
        }
        let catalog = self.vault.catalog(call);
        let nearest = |catalog: Arc<Catalog>| match what {
            "folder" => catalog.nearest_folders(text, MAX_CANDIDATES),
            _ => catalog.nearest(text, MAX_CANDIDATES),
        };
        let candidates = catalog.map_or_else(|_| Vec::new(), nearest);
        VaultError::NotFound { what, path: shortened(text), candidates }
    }
}

fn other_case(what: &'static str, text: &str, spellings: &[VaultPath]) -> VaultError {
    let candidates = spellings.iter().take(MAX_CANDIDATES).map(VaultPath::to_string).collect();
    VaultError::NotFound { what, path: shortened(text), candidates }
}

/// Refuses what `argument` names, or would have to lead through.
pub(crate) fn not_a_folder(argument: &str, path: &str) -> VaultError {
    VaultError::InvalidArgument { argument: argument.into(), problem: format!("`{path}` is a file, not a folder") }
}

fn not_a_note(found: &Located) -> VaultError {
    let why = match found.stat.kind {
        EntryKind::Folder => "it is a folder",
        EntryKind::Other => "it is a pipe or a device",
        EntryKind::File => "its name does not end in `.md` or `.markdown`",
    };
    VaultError::NotANote { path: found.path.to_string(), why }
}
