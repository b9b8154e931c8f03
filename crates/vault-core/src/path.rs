//! Paths inside a vault: what is a path, what it is called, what kind of file it names. Pure text.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::limits::{MAX_NAME_BYTES, MAX_PATH_BYTES};

/// Place of a file or folder in the vault: relative to its root, `/`-separated, with extension.
///
/// A value of this type is safe to join below the root: it has no `..`, no empty or hidden segment, no backslash and
/// no control character. The root itself is the empty path. Source: CONTRACT.md section 2.
///
/// ```
/// use vault_core::VaultPath;
/// let path = VaultPath::parse("garden/fern.md").unwrap();
/// assert_eq!((path.name(), path.stem(), path.parent().as_str()), ("fern.md", "fern", "garden"));
/// assert!(VaultPath::parse("../secret.md").is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VaultPath(String);

/// Why a text is not a usable path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathProblem {
    /// Nothing but blanks.
    Empty,
    /// Begins with `/` or `~/`-like markers of another file system.
    Absolute,
    /// Begins with a drive letter or a URL scheme.
    DriveLetter,
    /// Holds a `\`.
    Backslash,
    /// Holds a `..` segment.
    DotDot,
    /// Holds an empty or `.` segment.
    EmptySegment,
    /// Holds a control character.
    Control,
    /// Holds a segment that begins with a dot.
    Hidden,
    /// Named by the vault's `.vaultignore`.
    Ignored,
    /// A segment is longer than [`MAX_NAME_BYTES`], or the whole longer than a path may be.
    TooLong,
    /// Leads through a symbolic link; `real` is where it leads when that lies in the vault.
    SymbolicLink {
        /// The path that the link stands for, when the caller may see it.
        real: Option<VaultPath>,
    },
}

impl VaultPath {
    /// The vault itself.
    pub const fn root() -> VaultPath {
        VaultPath(String::new())
    }

    /// Checks `text` as the path of a file or a folder below the root.
    pub fn parse(text: &str) -> Result<VaultPath, PathProblem> {
        if text.trim().is_empty() {
            return Err(PathProblem::Empty);
        }
        if text.starts_with('/') {
            return Err(PathProblem::Absolute);
        }
        if text.chars().any(char::is_control) {
            return Err(PathProblem::Control);
        }
        if text.contains('\\') {
            return Err(PathProblem::Backslash);
        }
        if has_drive_letter(text) {
            return Err(PathProblem::DriveLetter);
        }
        let segments = || text.split('/');
        if segments().any(|segment| segment == "..") {
            return Err(PathProblem::DotDot);
        }
        if segments().any(|segment| segment.is_empty() || segment == ".") {
            return Err(PathProblem::EmptySegment);
        }
        if segments().any(|segment| segment.starts_with('.')) {
            return Err(PathProblem::Hidden);
        }
        if text.len() > MAX_PATH_BYTES || segments().any(|segment| segment.len() > MAX_NAME_BYTES) {
            return Err(PathProblem::TooLong);
        }
        Ok(VaultPath(text.to_owned()))
    }

    /// Checks `text` as the path of a folder, where `""` and `.` mean the root.
    pub fn parse_folder(text: &str) -> Result<VaultPath, PathProblem> {
        match text {
            "" | "." => Ok(VaultPath::root()),
            _ => VaultPath::parse(text),
        }
    }

    /// Returns the path as text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether this is the vault itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last segment, e.g. `fern.md`.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or("")
    }

    /// Returns the last segment without its extension, e.g. `fern`.
    pub fn stem(&self) -> &str {
        split_extension(self.name()).0
    }

    /// Returns the extension in lower case and without its dot, empty when there is none.
    pub fn extension(&self) -> String {
        split_extension(self.name()).1.to_ascii_lowercase()
    }

    /// Returns the folder that holds this path; the root for a path at the top and for the root.
    pub fn parent(&self) -> VaultPath {
        VaultPath(self.0.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned())
    }

    /// Returns the path of `name` in this folder. `name` must be one valid segment, as file systems give them.
    pub fn join(&self, name: &str) -> VaultPath {
        match self.is_root() {
            true => VaultPath(name.to_owned()),
            false => VaultPath(format!("{}/{name}", self.0)),
        }
    }

    /// Returns the path of what lies under `name` in this folder; `None` for a name on disk that no path can have.
    pub(crate) fn child(&self, name: &str) -> Option<VaultPath> {
        VaultPath::parse(self.join(name).as_str()).ok()
    }

    /// Returns the segments from the top down.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// Tells whether this path lies in `folder`, at any depth.
    pub fn is_in(&self, folder: &VaultPath) -> bool {
        folder.is_root() || (self.0.strip_prefix(&folder.0)).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Tells what kind of file the name promises.
    pub fn kind(&self) -> FileKind {
        FileKind::of_extension(&self.extension())
    }

    /// Tells whether the name is that of a file whose bytes are a text to search: a note's, or that of a plain sheet.
    pub(crate) fn is_text(&self) -> bool {
        self.is_note() || matches!(&*self.extension(), "csv" | "tsv")
    }

    /// Tells whether the name is a note's.
    pub fn is_note(&self) -> bool {
        self.kind() == FileKind::Note
    }
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathProblem::Empty => write!(f, "the path is blank"),
            PathProblem::Absolute => write!(f, "the path is absolute"),
            PathProblem::DriveLetter => write!(f, "the path begins with a drive letter or a scheme"),
            PathProblem::Backslash => write!(f, "the path holds a backslash"),
            PathProblem::DotDot => write!(f, "the path holds `..`"),
            PathProblem::EmptySegment => write!(f, "the path holds an empty or `.` segment"),
            PathProblem::Control => write!(f, "the path holds a control character"),
            PathProblem::Hidden => write!(f, "names that begin with a dot are not part of the vault"),
            PathProblem::Ignored => write!(f, "the vault's `.vaultignore` leaves this path out"),
            PathProblem::TooLong => {
                write!(f, "a name in the path has over {MAX_NAME_BYTES} bytes, or the path over {MAX_PATH_BYTES}")
            }
            PathProblem::SymbolicLink { .. } => {
                write!(f, "the path leads through a symbolic link, and links are never followed")
            }
        }
    }
}

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FileKind {
    /// `.md`, `.markdown`.
    Note,
    /// `.csv`, `.tsv`, `.xlsx`, `.xlsm`, `.xls`, `.ods`.
    Sheet,
    /// A picture.
    Image,
    /// A moving picture.
    Video,
    /// Sound.
    Audio,
    /// `.pdf`.
    Pdf,
    /// Everything else.
    Other,
}

impl FileKind {
    pub(crate) fn of_extension(extension: &str) -> FileKind {
        match extension {
            "md" | "markdown" => FileKind::Note,
            "csv" | "tsv" | "xlsx" | "xlsm" | "xls" | "ods" => FileKind::Sheet,
            "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" | "bmp" | "avif" | "heic" | "ico" | "tif" | "tiff" => {
                FileKind::Image
            }
            "mp4" | "mov" | "webm" | "mkv" | "avi" | "m4v" | "ogv" => FileKind::Video,
            "mp3" | "wav" | "m4a" | "ogg" | "flac" | "opus" | "aac" | "3gp" => FileKind::Audio,
            "pdf" => FileKind::Pdf,
            _ => FileKind::Other,
        }
    }
}

/// Returns a name or path in the form under which we compare spellings: NFC.
pub fn composed(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.nfc().collect()
}

/// Returns a name or path in the form under which names collide on any file system: NFC and case-folded.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    caseless::default_case_fold_str(&composed(text))
}

/// `C:x`, `C:/x` and `file://…`: a single letter or a scheme before the first colon. `note: draft.md` is a name, and so
/// is `Q: why.md` where drives have no letters.
fn has_drive_letter(text: &str) -> bool {
    let Some((before, after)) = text.split_once(':') else { return false };
    let letter = before.len() == 1 && before.bytes().all(|byte| byte.is_ascii_alphabetic());
    let scheme = after.starts_with("//") && !before.is_empty() && before.bytes().all(|b| b.is_ascii_alphanumeric());
    letter && (cfg!(windows) || !after.starts_with(' ')) || scheme
}

pub(crate) fn split_extension(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_vault_or_hide_are_refused() {
        let cases = [
            ("", PathProblem::Empty),
            (" ", PathProblem::Empty),
            ("/etc/passwd", PathProblem::Absolute),
            ("C:/x.md", PathProblem::DriveLetter),
            ("C:x.md", PathProblem::DriveLetter),
            ("file://x.md", PathProblem::DriveLetter),
            ("a\\b.md", PathProblem::Backslash),
            ("a/../b.md", PathProblem::DotDot),
            ("..", PathProblem::DotDot),
            ("a//b.md", PathProblem::EmptySegment),
            ("a/", PathProblem::EmptySegment),
            ("./a.md", PathProblem::EmptySegment),
            ("a\u{0}.md", PathProblem::Control),
            ("a\nb.md", PathProblem::Control),
            (".obsidian/app.json", PathProblem::Hidden),
            ("a/.hidden.md", PathProblem::Hidden),
        ];
        for (text, problem) in cases {
            assert_eq!(VaultPath::parse(text), Err(problem), "{text:?}");
        }
        assert_eq!(VaultPath::parse(&"x".repeat(256)), Err(PathProblem::TooLong));
    }

    #[test]
    fn odd_but_honest_names_are_paths() {
        assert_eq!(VaultPath::parse("Q: why.md").is_ok(), !cfg!(windows));
        for text in ["note: draft.md", "日本/旅.md", "a b/c.d.md", "~/x.md", "..a.md".trim_start_matches('.'), "CON.md"]
        {
            assert_eq!(VaultPath::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_folder_holds_what_lies_below_it_and_not_its_namesakes() {
        let path = |text| VaultPath::parse(text).unwrap();
        assert!(path("a/b.md").is_in(&path("a")));
        assert!(!path("ab/b.md").is_in(&path("a")));
        assert!(!path("a").is_in(&path("a")));
        assert!(path("a").is_in(&VaultPath::root()));
    }
}
