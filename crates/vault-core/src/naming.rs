//! File names from titles, and numbers for names that are taken. Pure text.

use crate::error::VaultError;
use crate::limits::MAX_NAME_BYTES;
use crate::path::{FileKind, composed, folded, split_extension};

/// File name that a title gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The name without its extension.
    pub stem: String,
    /// The title, where the name had to differ from it, so that it must be kept in the frontmatter.
    pub title: Option<String>,
}

/// Returns the file name of a note called `title`.
///
/// Characters that Linux, macOS, Windows or a wikilink cannot hold become `-`, as does a leading dot; trailing dots
/// and blanks go; Windows device names get a `_`; the result is NFC. The extension of a note is no part of its title
/// (`Plan.md` is the title `Plan`). Refused: a title that is blank, only dots, begins
/// with `../` or `..\`, or gives a name over 255 bytes. Source: CONTRACT.md section 2.
///
/// ```
/// let name = vault_core::naming::file_name("10:30 / Plan?").unwrap();
/// assert_eq!((name.stem.as_str(), name.title.as_deref()), ("10-30 - Plan-", Some("10:30 / Plan?")));
/// ```
pub fn file_name(title: &str) -> Result<FileName, VaultError> {
    let title = without_extension(title.trim());
    let refusal = |problem: &str| VaultError::InvalidArgument { argument: "title".into(), problem: problem.into() };
    if title.is_empty() {
        return Err(refusal("a title cannot be blank"));
    }
    if title.chars().all(|letter| letter == '.') {
        return Err(refusal("a title cannot be dots only"));
    }
    if title.starts_with("../") || title.starts_with("..\\") {
        return Err(refusal("a title is a name, not a path: pass the folder as `folder`"));
    }
    let stem = repaired(title);
    if stem.len() + NOTE_EXTENSION.len() > MAX_NAME_BYTES {
        return Err(refusal("the file name would be longer than 255 bytes: shorten the title"));
    }
    let title = (stem != composed(title)).then(|| title.to_owned());
    Ok(FileName { stem, title })
}

/// Extension of the notes we make.
pub const NOTE_EXTENSION: &str = ".md";

/// Returns `stem` with the first number, from 2 up, that makes it differ from all `taken` names, or as it is.
///
/// `taken` holds whole file names in the form of [`folded`]; names that only differ by letter case or Unicode
/// normalisation count as taken. The extension comes with its dot. A number that would make the name too long takes the
/// place of the stem's end.
pub fn free_name(stem: &str, extension: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = |number: usize| match number {
        1 => format!("{stem}{extension}"),
        _ => {
            let end = format!(" {number}{extension}");
            let room = MAX_NAME_BYTES.saturating_sub(end.len());
            let cut = (0..=room.min(stem.len())).rev().find(|at| stem.is_char_boundary(*at)).unwrap_or(0);
            format!("{}{end}", stem[..cut].trim_end())
        }
    };
    (1..).map(numbered).find(|name| !taken(&folded(name))).expect("some number is free")
}

/// Checks the name of a new folder. Folder names are never repaired, only refused.
pub fn check_folder_name(name: &str) -> Result<(), String> {
    if name.chars().any(is_impossible) {
        return Err(format!("`{name}` holds a character that not every system or link can hold"));
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Err(format!("`{name}` begins or ends with a blank or ends with a dot, which not every system keeps"));
    }
    if is_device_name(name) {
        return Err(format!("`{name}` is a device name on Windows"));
    }
    Ok(())
}

fn without_extension(title: &str) -> &str {
    match split_extension(title) {
        (stem, extension) if FileKind::of_extension(&extension.to_ascii_lowercase()) == FileKind::Note => {
            stem.trim_end()
        }
        _ => title,
    }
}

fn repaired(title: &str) -> String {
    let mut name: String =
        composed(title).chars().map(|letter| if is_impossible(letter) { '-' } else { letter }).collect();
    if name.starts_with('.') {
        name.replace_range(..1, "-");
    }
    name.truncate(name.trim_end_matches(['.', ' ']).len());
    if is_device_name(&name) {
        name.push('_');
    }
    name
}

/// What Linux, macOS, Windows or a wikilink cannot hold.
fn is_impossible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '#' | '^' | '[' | ']')
}

/// Windows keeps these names, whatever their case and extension.
fn is_device_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or("").trim_end().to_ascii_uppercase();
    let numbered =
        |device: &str| (stem.strip_prefix(device)).is_some_and(|rest| matches!(rest.as_bytes(), [b'1'..=b'9']));
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(title: &str) -> String {
        file_name(title).unwrap().stem
    }

    #[test]
    fn titles_become_names_that_every_system_holds() {
        let cases = [
            ("Fern", "Fern"),
            ("a/b\\c", "a-b-c"),
            ("What? [x] #1 ^2 | 3", "What- -x- -1 -2 - 3"),
            (".hidden", "-hidden"),
            ("Ends with dots...", "Ends with dots"),
            ("  blanks  ", "blanks"),
            ("con", "con_"),
            ("com1.txt", "com1.txt_"),
            ("Console", "Console"),
            ("cafe\u{301}", "café"),
            ("plan.site.south", "plan.site.south"),
            ("茶館", "茶館"),
            ("Plan.md", "Plan"),
            ("Plan .Markdown", "Plan"),
            ("Plan.txt", "Plan.txt"),
            (".md", "-md"),
        ];
        for (title, expected) in cases {
            assert_eq!(stem(title), expected, "{title:?}");
        }
        assert_eq!(file_name("cafe\u{301}").unwrap().title, None, "normalisation is not a difference");
        assert_eq!(file_name("Plan.md").unwrap().title, None, "the title is `Plan`");
        assert_eq!(file_name("Plan?.md").unwrap().title.as_deref(), Some("Plan?"));
    }

    #[test]
    fn titles_that_are_no_names_are_refused() {
        for title in ["", "  ", ".", "...", "../x", "..\\x"] {
            assert_eq!(file_name(title).unwrap_err().code(), "invalid_argument", "{title:?}");
        }
        assert!(file_name(&"x".repeat(252)).is_ok());
        assert_eq!(file_name(&"x".repeat(253)).unwrap_err().code(), "invalid_argument");
    }

    #[test]
    fn taken_names_get_the_first_free_number() {
        let taken = ["trip.md", "trip 2.md"];
        assert_eq!(free_name("Trip", ".md", |name| taken.contains(&name)), "Trip 3.md");
        let long = "é".repeat(126);
        let numbered = free_name(&long, ".md", |name| name == format!("{long}.md"));
        assert_eq!(numbered, format!("{} 2.md", "é".repeat(125)));
        assert_eq!(numbered.len(), MAX_NAME_BYTES);
        assert_eq!(free_name("Trips", ".md", |name| taken.contains(&name)), "Trips.md");
    }
}
