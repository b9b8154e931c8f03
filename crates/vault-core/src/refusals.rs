//! How the refusals of the pure room become the vault's: with the note's path and the contract's code.

use vault_markdown::{EditError, FrontmatterError, MergeError};

use crate::error::{BlockProblem, VaultError};
use crate::path::VaultPath;

/// Names the note in a refused merge.
pub(crate) fn merge_error(path: &VaultPath, error: MergeError) -> VaultError {
    let (id, problem) = match error {
        MergeError::InvalidFrontmatter { line, message } => {
            return VaultError::InvalidFrontmatter { path: path.to_string(), line, problem: message };
        }
        MergeError::UnknownBlock { id } => (id, BlockProblem::Unknown),
        MergeError::RepeatedBlock { id } => (id, BlockProblem::Twice),
        MergeError::UnclosedBlock { id } => (id, BlockProblem::Unclosed),
        MergeError::EditedBlock { id } => (id, BlockProblem::Edited),
        MergeError::Unmovable { id } => (id, BlockProblem::Unmovable),
    };
    VaultError::UnknownBlock { path: path.clone(), id, problem }
}

/// Names the note in a refused edit.
pub(crate) fn edit_error(path: &VaultPath, error: EditError) -> VaultError {
    match error {
        EditError::NoMatch => VaultError::NoMatch { path: path.clone() },
        EditError::NotUnique { lines } => VaultError::NotUnique { path: path.clone(), lines },
        EditError::Empty => VaultError::InvalidArgument {
            argument: "old_string".into(),
            problem: "is empty: name the text to replace".into(),
        },
        EditError::Merge(error) => merge_error(path, error),
    }
}

/// Names the note in a refused change of its frontmatter.
pub(crate) fn frontmatter_error(path: &VaultPath, error: FrontmatterError) -> VaultError {
    let (line, problem) = match error {
        FrontmatterError::Invalid { line, message } => (line, message),
        FrontmatterError::Unwritable { .. } => (1, error.to_string()),
    };
    VaultError::InvalidFrontmatter { path: path.to_string(), line, problem }
}
