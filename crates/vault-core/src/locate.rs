//! From what a caller wrote to what is there: the one place where paths meet the disk's spelling.

use crate::call::Call;
use crate::error::VaultError;
use crate::limits::MAX_CANDIDATES;
use crate::naming;
use crate::path::{PathProblem, VaultPath, composed, folded};
use crate::store::{EntryKind, Stat};
use crate::vault::Vault;

/// Something that was found.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Its path, spelled as on disk.
    pub path: VaultPath,
    /// Its state.
    pub stat: Stat,
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
        let path = self.usable(text, EntryKind::File)?;
        let named = [".md", ".markdown"].map(|extension| VaultPath::parse(&format!("{text}{extension}")));
        let mut spellings = match self.look(&path)? {
            Look::There(found) if found.stat.kind == EntryKind::File && path.is_note() => return Ok(found),
            Look::There(found) if path.is_note() => return Err(not_a_note(&found)),
            Look::There(found) => match self.only(named.into_iter().flatten(), text)? {
                Look::There(note) => return Ok(note),
                Look::Missing(_) => return Err(not_a_note(&found)),
            },
            Look::Missing(spellings) => spellings,
        };
        if !path.is_note() {
            match self.only(named.into_iter().flatten(), text)? {
                Look::There(note) => return Ok(note),
                Look::Missing(more) => spellings.extend(more),
            }
        }
        Err(self.not_found("note", text, spellings, call))
    }

    /// Finds the file that `text` names.
    pub(crate) fn locate_file(&self, text: &str, call: &Call) -> Result<Located, VaultError> {
        let path = self.usable(text, EntryKind::File)?;
        match self.look(&path)? {
            Look::There(found) if found.stat.kind == EntryKind::File => Ok(found),
            Look::There(found) => {
                Err(VaultError::UnsupportedType { path: found.path, wanted: "a file: it is a folder or a device" })
            }
            Look::Missing(spellings) => Err(self.not_found("file", text, spellings, call)),
        }
    }

    /// Finds the folder that `text` names; `""` and `.` name the root.
    pub(crate) fn locate_folder(&self, text: &str, call: &Call) -> Result<VaultPath, VaultError> {
        if VaultPath::parse_folder(text).is_ok_and(|path| path.is_root()) {
            return Ok(VaultPath::root());
        }
        let path = self.usable(text, EntryKind::Folder)?;
        match self.look(&path)? {
            Look::There(found) if found.stat.kind == EntryKind::Folder => Ok(found.path),
            Look::There(_) => Err(VaultError::InvalidArgument {
                argument: "folder".into(),
                problem: format!("`{text}` is a file, not a folder"),
            }),
            Look::Missing(spellings) => Err(self.not_found("folder", text, spellings, call)),
        }
    }

    /// Returns the path of a folder that is there or may be made: existing parts in the disk's spelling, new parts with
    /// names that every system holds. A part that only differs in letter case from what is there is refused.
    pub(crate) fn place_for_folder(&self, text: &str) -> Result<VaultPath, VaultError> {
        if VaultPath::parse_folder(text).is_ok_and(|path| path.is_root()) {
            return Ok(VaultPath::root());
        }
        let path = self.usable(text, EntryKind::Folder)?;
        let mut place = VaultPath::root();
        let mut is_new = false;
        for name in path.segments() {
            let wanted = place.join(name);
            if !is_new {
                match self.look(&wanted)? {
                    Look::There(found) if found.stat.kind == EntryKind::Folder => {
                        place = found.path;
                        continue;
                    }
                    Look::There(found) => return Err(VaultError::Exists { path: found.path.to_string() }),
                    Look::Missing(spellings) if !spellings.is_empty() => {
                        return Err(other_case("folder", text, spellings));
                    }
                    Look::Missing(_) => is_new = true,
                }
            }
            naming::check_folder_name(name)
                .map_err(|problem| VaultError::InvalidArgument { argument: "folder".into(), problem })?;
            place = place.join(&composed(name));
        }
        Ok(place)
    }

    /// Refuses a place for a new file that the vault's rules leave out: nobody would see the file again.
    pub(crate) fn check_visible(&self, path: &VaultPath) -> Result<(), VaultError> {
        match self.rules()?.hide(path, false) {
            true => Err(VaultError::InvalidPath { path: path.to_string(), problem: PathProblem::Ignored }),
            false => Ok(()),
        }
    }

    /// Checks the text of a path, by its own and by the vault's rules. Whether something is there plays no part.
    fn usable(&self, text: &str, wanted: EntryKind) -> Result<VaultPath, VaultError> {
        let refusal = |problem| VaultError::InvalidPath { path: shown(text), problem };
        let path = VaultPath::parse(text).map_err(refusal)?;
        match self.rules()?.hide(&path, wanted == EntryKind::Folder) {
            true => Err(refusal(PathProblem::Ignored)),
            false => Ok(path),
        }
    }

    fn look(&self, path: &VaultPath) -> Result<Look, VaultError> {
        let look = match self.store().stat(path) {
            Ok(stat) => Look::There(Located { path: path.clone(), stat }),
            Err(VaultError::NotFound { .. }) => self.look_by_name(path)?,
            Err(error) => return Err(error),
        };
        let rules = self.rules()?;
        Ok(match look {
            Look::There(found) if rules.hide(&found.path, found.stat.kind == EntryKind::Folder) => {
                Look::Missing(vec![])
            }
            Look::There(found) => Look::There(found),
            Look::Missing(mut near) => {
                near.retain(|path| !rules.hide(path, false) && !rules.hide(path, true));
                Look::Missing(near)
            }
        })
    }

    /// Walks down and compares names: equal after NFC is the same name, equal after case folding a near miss.
    fn look_by_name(&self, path: &VaultPath) -> Result<Look, VaultError> {
        let mut place = VaultPath::root();
        let mut is_exact = true;
        for name in path.segments() {
            let entries = match self.store().list(&place) {
                Ok(listing) => listing.entries,
                Err(VaultError::NotFound { .. } | VaultError::InvalidArgument { .. }) => {
                    return Ok(Look::Missing(vec![]));
                }
                Err(error) => return Err(error),
            };
            let same = |entry: &&crate::store::Entry| composed(&entry.name) == composed(name);
            let alike = |entry: &&crate::store::Entry| folded(&entry.name) == folded(name);
            let exact = entries.iter().find(|entry| entry.name == name).or_else(|| entries.iter().find(same));
            let Some(entry) = exact.or_else(|| entries.iter().find(alike)) else { return Ok(Look::Missing(vec![])) };
            is_exact &= exact.is_some();
            place = place.join(&entry.name);
        }
        match is_exact {
            true => Ok(Look::There(Located { stat: self.store().stat(&place)?, path: place })),
            false => Ok(Look::Missing(vec![place])),
        }
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

    fn not_found(&self, what: &'static str, text: &str, spellings: Vec<VaultPath>, call: &Call) -> VaultError {
        if !spellings.is_empty() {
            return other_case(what, text, spellings);
        }
        let catalog = self.recent_catalog(call);
        let candidates = catalog.map_or_else(|_| Vec::new(), |catalog| catalog.nearest(text, MAX_CANDIDATES));
        VaultError::NotFound { what, path: shown(text), candidates }
    }
}

fn other_case(what: &'static str, text: &str, spellings: Vec<VaultPath>) -> VaultError {
    let candidates = spellings.iter().map(VaultPath::to_string).collect();
    VaultError::NotFound { what, path: shown(text), candidates }
}

fn not_a_note(found: &Located) -> VaultError {
    let why = match found.stat.kind {
        EntryKind::Folder => "it is a folder",
        EntryKind::Other => "it is a pipe or a device",
        EntryKind::File => "its name does not end in `.md` or `.markdown`",
    };
    VaultError::NotANote { path: found.path.to_string(), why }
}

/// A path as errors repeat it: not endless, without control characters.
fn shown(text: &str) -> String {
    const MOST: usize = 200;
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    let mut shown: String = text.chars().take(MOST).map(clean).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}
