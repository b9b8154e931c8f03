//! Where links lead. Pure: asks the catalog, touches nothing.

use std::cmp::Reverse;

use vault_markdown::{Document, LinkKind};

use crate::catalog::{Catalog, LinkForm, LinkTo};
use crate::path::{VaultPath, composed, folded};

/// Returns the file that a link in the note `from` leads to, `None` when it leads nowhere in the vault.
///
/// A name is understood as the common vault editors do: exact path, then the end of a path, in the note's own folder
/// first, then the shortest path; with or without `.md`; ignoring letter case and Unicode normalisation where the exact
/// spelling misses; at last by title or alias, when exactly one note has it. A path is counted from the note's folder, or
/// from the root when it begins with `/`, and is tried as a name when nothing is there.
pub fn resolve(catalog: &Catalog, from: &VaultPath, link: &LinkTo) -> Option<VaultPath> {
    match link.form {
        LinkForm::Name => resolve_name(catalog, from, &link.target),
        LinkForm::Path => {
            resolve_path(catalog, from, &link.target).or_else(|| resolve_name(catalog, from, &link.target))
        }
    }
}

/// Returns the names in `[[…]]` of a note at `from` that match no note or file, each once.
pub fn unresolved(catalog: &Catalog, from: &VaultPath, document: &Document) -> Vec<String> {
    let mut unresolved: Vec<String> = Vec::new();
    for target in names(document) {
        let link = LinkTo { target: target.into(), form: LinkForm::Name };
        if resolve(catalog, from, &link).is_none() && !unresolved.iter().any(|known| known == target) {
            unresolved.push(target.to_owned());
        }
    }
    unresolved
}

/// Tells whether a note links by name at all.
pub fn has_names(document: &Document) -> bool {
    names(document).next().is_some()
}

/// Returns the links elsewhere that lead to the note at `path`, as linking note and target, each once.
pub fn leading_to(catalog: &Catalog, path: &VaultPath) -> Vec<(VaultPath, String)> {
    let mut leading = Vec::new();
    for from in catalog.may_link_to(path).into_iter().filter(|from| *from != path) {
        let links = catalog.notes.get(from).map_or(&[][..], |note| &note.links);
        let here = links.iter().filter(|link| resolve(catalog, from, link).as_ref() == Some(path));
        leading.extend(here.map(|link| (from.clone(), link.target.to_string())));
    }
    leading.sort();
    leading.dedup();
    leading
}

fn names(document: &Document) -> impl Iterator<Item = &str> {
    let by_name = document
        .links
        .iter()
        .filter(|link| matches!(link.kind, LinkKind::Wikilink | LinkKind::WikiEmbed | LinkKind::Frontmatter));
    by_name.map(|link| link.target.as_str()).filter(|target| !target.is_empty())
}

fn resolve_path(catalog: &Catalog, from: &VaultPath, target: &str) -> Option<VaultPath> {
    let path = match target.strip_prefix('/') {
        Some(rooted) => joined(&VaultPath::root(), rooted)?,
        None => joined(&from.parent(), target)?,
    };
    let fits = |known: &&VaultPath| {
        let known_text = folded(known.as_str());
        known_text == folded(&path) || known.is_note() && folded(without_extension(known)) == folded(&path)
    };
    best(catalog.named(path.rsplit('/').next()?).iter().filter(fits), from, &path)
}

fn resolve_name(catalog: &Catalog, from: &VaultPath, target: &str) -> Option<VaultPath> {
    let target = target.trim().trim_start_matches('/');
    let last = target.rsplit('/').next().filter(|last| !last.is_empty())?;
    let wanted = folded(target);
    let fits = |known: &&VaultPath| {
        ends_with(&folded(known.as_str()), &wanted)
            || known.is_note() && ends_with(&folded(without_extension(known)), &wanted)
    };
    let by_name = best(catalog.named(last).iter().filter(fits), from, target);
    by_name.or_else(|| match catalog.titled(target) {
        [only] => Some(only.clone()),
        _ => None,
    })
}

/// The exact path first, then the exact spelling, then the note's own folder, then the shortest path.
fn best<'a>(paths: impl Iterator<Item = &'a VaultPath>, from: &VaultPath, target: &str) -> Option<VaultPath> {
    let target = composed(target);
    let rank = |path: &&VaultPath| {
        let text = composed(path.as_str());
        let bare = composed(without_extension(path));
        let exact = text == target || path.is_note() && bare == target;
        let spelled = ends_with(&text, &target) || path.is_note() && ends_with(&bare, &target);
        let near = path.parent() == from.parent();
        (Reverse(exact), Reverse(spelled), Reverse(near), path.segments().count(), text.len(), text)
    };
    paths.min_by_key(rank).cloned()
}

fn without_extension(path: &VaultPath) -> &str {
    let text = path.as_str();
    &text[..text.len() - (path.name().len() - path.stem().len())]
}

/// Tells whether the segments of `tail` are the last ones of `path`.
fn ends_with(path: &str, tail: &str) -> bool {
    path.strip_suffix(tail).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Counts `target` from `folder`, `.` and `..` included; `None` when it leaves the vault.
fn joined(folder: &VaultPath, target: &str) -> Option<String> {
    let mut segments: Vec<&str> = folder.segments().collect();
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    (!segments.is_empty()).then(|| segments.join("/"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use crate::catalog::{File, Note};
    use crate::store::{EntryKind, Stat};

    fn catalog(paths: &[&str]) -> Catalog {
        let at = Timestamp::UNIX_EPOCH;
        let stat = Stat {
            kind: EntryKind::File,
            size: 0,
            modified: at,
            changed: at,
            created: None,
            inode: 0,
            device: 0,
            writable: true,
        };
        let mut catalog = Catalog::default();
        for text in paths {
            let path = VaultPath::parse(text).unwrap();
            match path.is_note() {
                true => catalog.put_note(path.clone(), Arc::new(Note::new(&path, stat.clone(), None, at))),
                false => catalog.put_file(path, File { stat: stat.clone() }),
            }
        }
        catalog
    }

    fn leads(catalog: &Catalog, from: &str, target: &str, form: LinkForm) -> String {
        let link = LinkTo { target: target.into(), form };
        resolve(catalog, &VaultPath::parse(from).unwrap(), &link)
            .map_or_else(|| "-".to_owned(), |path| path.to_string())
    }

    #[test]
    fn names_lead_where_vault_editors_lead() {
        let vault =
            catalog(&["fern.md", "a/fern.md", "a/b/moss.md", "c/moss.md", "Tree.md", "map.png", "cafe\u{301}.md"]);
        let cases = [
            ("a/x.md", "fern", "fern.md"), // the exact path wins over the own folder
            ("c/x.md", "moss", "c/moss.md"),
            ("x.md", "moss", "c/moss.md"),
            ("x.md", "b/moss", "a/b/moss.md"),
            ("x.md", "moss.md", "c/moss.md"),
            ("x.md", "tree", "Tree.md"),
            ("x.md", "map.png", "map.png"),
            ("x.md", "map", "-"),
            ("x.md", "café", "cafe\u{301}.md"),
            ("x.md", "oss", "-"),
        ];
        for (from, target, expected) in cases {
            assert_eq!(leads(&vault, from, target, LinkForm::Name), expected, "[[{target}]] in {from}");
        }
    }

    #[test]
    fn paths_are_counted_from_the_note() {
        let vault = catalog(&["a/b/moss.md", "a/fern.md", "fern.md"]);
        let cases = [
            ("a/b/x.md", "../fern.md", "a/fern.md"),
            ("a/b/x.md", "/fern.md", "fern.md"),
            ("a/x.md", "fern", "a/fern.md"),
            ("a/x.md", "../../fern.md", "-"),
            ("x.md", "moss.md", "a/b/moss.md"),
        ];
        for (from, target, expected) in cases {
            assert_eq!(leads(&vault, from, target, LinkForm::Path), expected, "({target}) in {from}");
        }
    }
}
