//! What the catalog knows of a note as plain data, for whoever keeps it in a file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vault_markdown::BodyPlace;

use super::{LinkForm, LinkTo, Note};
use crate::path::VaultPath;
use crate::store::{EntryKind, Stat};

/// Everything about a note but its path. Times are nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteParts {
    size: u64,
    modified: i64,
    changed: i64,
    created: Option<i64>,
    inode: u64,
    device: u64,
    writable: bool,
    read_at: i64,
    /// `None` when it is the file name.
    title: Option<String>,
    tags: Vec<String>,
    aliases: Vec<String>,
    pinned: bool,
    archived: bool,
    /// Targets, and whether each is a path.
    links: Vec<(Box<str>, bool)>,
    /// Begin of the body, and how far down its lines are in the view.
    body: Option<(usize, isize)>,
}

impl NoteParts {
    /// Takes a note at `path` apart.
    pub fn of(path: &VaultPath, note: &Note) -> NoteParts {
        let Note { stat, title, tags, aliases, pinned, archived, links, body, read_at } = note;
        NoteParts {
            size: stat.size,
            modified: nanoseconds(stat.modified),
            changed: nanoseconds(stat.changed),
            created: stat.created.map(nanoseconds),
            inode: stat.inode,
            device: stat.device,
            writable: stat.writable,
            read_at: nanoseconds(*read_at),
            title: (title != path.stem()).then(|| title.clone()),
            tags: tags.clone(),
            aliases: aliases.clone(),
            pinned: *pinned,
            archived: *archived,
            links: links.iter().map(|link| (link.target.clone(), link.form == LinkForm::Path)).collect(),
            body: body.map(|body| (body.begin, body.shift)),
        }
    }

    /// Puts the note at `path` together again.
    pub fn into_note(self, path: &VaultPath) -> Note {
        let link = |(target, is_path)| LinkTo { target, form: if is_path { LinkForm::Path } else { LinkForm::Name } };
        Note {
            stat: Stat {
                kind: EntryKind::File,
                size: self.size,
                modified: timestamp(self.modified),
                changed: timestamp(self.changed),
                created: self.created.map(timestamp),
                inode: self.inode,
                device: self.device,
                writable: self.writable,
            },
            title: self.title.unwrap_or_else(|| path.stem().to_owned()),
            tags: self.tags,
            aliases: self.aliases,
            pinned: self.pinned,
            archived: self.archived,
            links: self.links.into_iter().map(link).collect(),
            body: self.body.map(|(begin, shift)| BodyPlace { begin, shift }),
            read_at: timestamp(self.read_at),
        }
    }
}

/// A time that no 64 bits hold is as good as one that the file system does not keep.
fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or_default()
}

fn timestamp(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds.into()).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_as_it_was() {
        let path = VaultPath::parse("garden/fern.md").unwrap();
        let at = |nanosecond: i128| Timestamp::from_nanosecond(nanosecond).unwrap();
        let stat = Stat {
            kind: EntryKind::File,
            size: 7,
            modified: at(1_700_000_000_123_456_789),
            changed: at(1_700_000_001_000_000_001),
            created: Some(at(-5)),
            inode: 42,
            device: 99,
            writable: true,
        };
        let stored = "---\ntitle: Fern!\ntags: [a]\naliases: [x]\npinned: true\n---\n[[moss]] [t](../tree.md) #b\n";
        for text in [stored, "no header\n"] {
            let document = vault_markdown::parse(text);
            let note = Note::new(&path, stat.clone(), Some((text, &document)), at(1_700_000_009_000_000_000));
            let parts = NoteParts::of(&path, &note);
            let again = parts.clone().into_note(&path);
            assert_eq!((NoteParts::of(&path, &again), &again.title, &again.links), (parts, &note.title, &note.links));
            assert_eq!((again.stat, again.tags, again.body), (note.stat, note.tags, note.body));
        }
    }
}
