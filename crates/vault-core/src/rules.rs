//! Which paths a vault's `.vaultignore` leaves out. Pure: the file's text comes in as an argument.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::path::VaultPath;

/// The rules of a `.vaultignore`, in gitignore syntax, counted from the vault's root.
#[derive(Debug)]
pub(crate) struct Rules {
    text: String,
    matcher: Gitignore,
}

impl Rules {
    /// Reads the rules in `text`. A line that is no pattern is passed over.
    pub(crate) fn parse(text: &str) -> Rules {
        let mut builder = GitignoreBuilder::new("");
        for line in text.lines() {
            // A broken pattern names nothing; the other lines still count.
            let _ = builder.add_line(None, line);
        }
        Rules { text: text.to_owned(), matcher: builder.build().unwrap_or_else(|_| Gitignore::empty()) }
    }

    /// Tells whether these are the rules of `text`.
    pub(crate) fn are_of(&self, text: &str) -> bool {
        self.text == text
    }

    /// Tells whether the rules leave `path` out, by itself or with a folder above it: what lies in a folder that is left
    /// out cannot be taken in again.
    pub(crate) fn hide(&self, path: &VaultPath, is_folder: bool) -> bool {
        if self.matcher.is_empty() {
            return false;
        }
        let text = path.as_str();
        let folders = text.match_indices('/').map(|(end, _)| &text[..end]);
        folders.into_iter().any(|folder| self.matcher.matched(folder, true).is_ignore())
            || self.matcher.matched(text, is_folder).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_gitignore_rules() {
        let rules = Rules::parse("# private\nprivate/\n*.tmp.md\n!keep.tmp.md\n/top.md\n!private/shown.md\n[\n");
        let hides = |path: &str, is_folder| rules.hide(&VaultPath::parse(path).unwrap(), is_folder);
        assert!(hides("private", true));
        assert!(hides("a/private/deep/x.md", false));
        assert!(hides("private/shown.md", false), "its folder is left out");
        assert!(!hides("private", false), "the rule names folders only");
        assert!(hides("x.tmp.md", false));
        assert!(!hides("keep.tmp.md", false));
        assert!(hides("top.md", false));
        assert!(!hides("a/top.md", false));
    }
}
