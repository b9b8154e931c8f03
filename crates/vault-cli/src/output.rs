//! Answers on standard output, talk on standard error, and nothing in either that a terminal would obey.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use vault_core::{VaultError, Version, shown};

use crate::failure;

/// Where answers go: as JSON for programs, or as text for people.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// An answer is one line of JSON on standard output, a refusal one on standard error.
    pub json: bool,
}

impl Output {
    /// Prints an answer: `value` as JSON, or `text`.
    ///
    /// The `version` that a text goes with is a line on standard error, so that what reads standard output gets the note
    /// and nothing else. A reader who went before the end of the text gets none.
    pub fn answer(
        self,
        value: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
        version: Option<&Version>,
    ) -> io::Result<()> {
        let stdout = io::stdout();
        let answer = match self.json {
            true => json_line(&value()),
            false if stdout.is_terminal() => visible(&text()).into_owned(),
            false => text(),
        };
        let line_end = if answer.is_empty() || answer.ends_with('\n') { "" } else { "\n" };
        let written = write!(stdout.lock(), "{answer}{line_end}").and_then(|()| io::stdout().flush());
        if self.json || written.is_err() {
            return quiet_when_nobody_reads(written);
        }
        match version {
            Some(version) => talk(&format!("version: {version}")),
            None => Ok(()),
        }
    }

    /// Prints a refusal, as JSON or as text: never where answers go, so that whatever reads them gets none.
    pub fn refusal(self, refusal: &VaultError) -> io::Result<()> {
        match self.json {
            true => talk(&json_line(&refusal.to_json())),
            false => talk(&visible(&failure::text_of(refusal))),
        }
    }
}

fn talk(line: &str) -> io::Result<()> {
    quiet_when_nobody_reads(writeln!(io::stderr(), "{line}"))
}

/// `vault list-notes | head` is no error: the reader had enough.
fn quiet_when_nobody_reads(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// JSON escapes the control characters up to U+001F itself; terminals obey more.
fn json_line(value: &Value) -> String {
    let line = value.to_string();
    match line.contains(is_obeyed) {
        true => line.chars().map(|c| if is_obeyed(c) { escaped(c) } else { c.to_string() }).collect(),
        false => line,
    }
}

/// Returns `text` with every character that a terminal would obey written out, as `\u001b`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_obeyed(c) { escaped(c) } else { c.to_string() }).collect())
}

/// Tab and line feed do what a text wants of them.
fn is_obeyed(c: char) -> bool {
    shown::is_obeyed(c) && c != '\n' && c != '\t'
}

fn escaped(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(visible("a\tb\nc ☕"), "a\tb\nc ☕");
        assert_eq!(visible("\u{1b}[31m\u{9b}2J\r\u{7f}\u{202e}"), "\\u001b[31m\\u009b2J\\u000d\\u007f\\u202e");
    }

    #[test]
    fn escaped_json_still_says_the_same() {
        let value = serde_json::json!({"text": "\u{1b}\u{7f}\u{9b}\u{202e}\n"});
        let line = json_line(&value);
        assert!(line.is_ascii());
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
