//! `list_folders`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Operation, plural};
use crate::call::Call;
use crate::catalog::Catalog;
use crate::error::VaultError;
use crate::path::{FileKind, VaultPath};
use crate::shown::one_line;
use crate::switches::Switch;
use crate::vault::Vault;

/// List folders as a tree, with numbers of notes and sheets.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFolders {
    /// Folder to begin at, e.g. `Work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Levels at most; 1: direct children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub depth: Option<usize>,
}

/// Folders, each with those below it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListFoldersResponse {
    /// The folders directly below the one asked for.
    pub folders: Vec<FolderRow>,
    /// Set when even some of these were left out: more than one answer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// One folder.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct FolderRow {
    /// Path in the vault.
    pub path: String,
    /// Last part of the path.
    pub name: String,
    /// Notes and sheets directly in it.
    pub documents: usize,
    /// Notes and sheets in it and below.
    pub total_documents: usize,
    /// Folders directly below, in this same form.
    // Plain objects in the schema: a recursive type would need `$ref`, which some clients refuse.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub folders: Vec<FolderRow>,
    /// Set when folders below were left out: call again with this `path` for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

impl Operation for ListFolders {
    const NAME: &'static str = "list_folders";
    const EFFECT: Switch = Switch::Read;
    type Response = ListFoldersResponse;

    fn run(self, vault: &Vault, call: &Call) -> Result<ListFoldersResponse, VaultError> {
        let top = vault.locate_folder("path", self.path.as_deref(), call)?;
        let catalog = vault.catalog(call)?;
        let tree = Tree::of(&catalog);
        let shown = tree.choose(&top, self.depth.unwrap_or(usize::MAX), call.max_answer_chars);
        let (folders, complete) = tree.rows(&top, &shown);
        Ok(ListFoldersResponse { folders, truncated: (!complete).then_some(true) })
    }
}

/// Folders by the folder that holds them, and how many documents lie directly in each.
struct Tree {
    children: BTreeMap<VaultPath, Vec<VaultPath>>,
    documents: BTreeMap<VaultPath, usize>,
    totals: BTreeMap<VaultPath, usize>,
}

impl Tree {
    fn of(catalog: &Catalog) -> Tree {
        let mut tree = Tree { children: BTreeMap::new(), documents: BTreeMap::new(), totals: BTreeMap::new() };
        for folder in &catalog.folders {
            tree.children.entry(folder.parent()).or_default().push(folder.clone());
        }
        let sheets = catalog.files.keys().filter(|path| path.kind() == FileKind::Sheet);
        for document in catalog.notes.keys().chain(sheets) {
            let mut folder = document.parent();
            *tree.documents.entry(folder.clone()).or_default() += 1;
            while !folder.is_root() {
                *tree.totals.entry(folder.clone()).or_default() += 1;
                folder = folder.parent();
            }
        }
        tree
    }

    /// Chooses folders level by level until the answer is full, so that what is left out lies deep.
    fn choose(&self, top: &VaultPath, depth: usize, max_chars: usize) -> BTreeSet<VaultPath> {
        let mut room = max_chars.saturating_sub(ROOM_FOR_THE_REST);
        let mut shown = BTreeSet::new();
        let mut waiting: VecDeque<(&VaultPath, usize)> = self.below(top).iter().map(|path| (path, 1)).collect();
        while let Some((path, level)) = waiting.pop_front() {
            let size = path.as_str().chars().count() + path.name().chars().count() + ROW_CHARS;
            if size > room {
                break;
            }
            room -= size;
            shown.insert(path.clone());
            if level < depth {
                waiting.extend(self.below(path).iter().map(|child| (child, level + 1)));
            }
        }
        shown
    }

    /// Returns the rows below `top`, and whether all of them are there.
    fn rows(&self, top: &VaultPath, shown: &BTreeSet<VaultPath>) -> (Vec<FolderRow>, bool) {
        let children = self.below(top);
        let rows: Vec<FolderRow> =
            children.iter().filter(|path| shown.contains(*path)).map(|path| self.row(path, shown)).collect();
        let complete = rows.len() == children.len();
        (rows, complete)
    }

    fn row(&self, path: &VaultPath, shown: &BTreeSet<VaultPath>) -> FolderRow {
        let (folders, complete) = self.rows(path, shown);
        FolderRow {
            path: path.to_string(),
            name: path.name().to_owned(),
            documents: self.documents.get(path).copied().unwrap_or(0),
            total_documents: self.totals.get(path).copied().unwrap_or(0),
            folders,
            truncated: (!complete).then_some(true),
        }
    }

    fn below(&self, folder: &VaultPath) -> &[VaultPath] {
        self.children.get(folder).map_or(&[], Vec::as_slice)
    }
}

/// Characters of a row's JSON besides its path and name.
const ROW_CHARS: usize = 100;
/// Characters of the answer around the rows.
const ROOM_FOR_THE_REST: usize = 200;

impl fmt::Display for ListFoldersResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn lines(rows: &[FolderRow], depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for row in rows {
                write!(f, "{:1$}{2}/  ({3}", "", 2 * depth, one_line(&row.name), plural(row.documents, "document"))?;
                match row.total_documents == row.documents {
                    true => writeln!(f, ")")?,
                    false => writeln!(f, ", {} with the folders below)", row.total_documents)?,
                }
                lines(&row.folders, depth + 1, f)?;
            }
            Ok(())
        }
        lines(&self.folders, 0, f)
    }
}
