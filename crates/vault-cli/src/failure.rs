//! What a refusal means to the shell and looks like on a terminal.

use serde_json::Value;
use vault_core::VaultError;

use crate::command;

/// Returns the exit code for `refusal`: 2 usage, 3 not found, 4 ambiguous, 5 conflict, 6 permission, 1 anything else.
pub fn exit_code(refusal: &VaultError) -> u8 {
    match refusal {
        VaultError::InvalidArgument { .. } | VaultError::InvalidPath { .. } => 2,
        VaultError::NotFound { .. } => 3,
        VaultError::Ambiguous { .. } => 4,
        VaultError::VersionRequired { .. }
        | VaultError::StaleVersion { .. }
        | VaultError::Exists { .. }
        | VaultError::OpenElsewhere { .. } => 5,
        VaultError::PermissionDenied { .. } | VaultError::AccessDenied { .. } => 6,
        VaultError::NotANote { .. }
        | VaultError::InvalidFrontmatter { .. }
        | VaultError::NoMatch { .. }
        | VaultError::NotUnique { .. }
        | VaultError::UnknownBlock { .. }
        | VaultError::NotUtf8 { .. }
        | VaultError::UnsupportedType { .. }
        | VaultError::TooLarge { .. }
        | VaultError::Timeout
        | VaultError::Busy { .. }
        | VaultError::DiskFull { .. }
        | VaultError::ReadOnly { .. }
        | VaultError::VaultUnavailable { .. }
        | VaultError::Io { .. }
        | VaultError::Internal { .. } => 1,
    }
}

/// Returns `refusal` as a person reads it: what was wrong, what to do, and what the refusal carries besides.
pub fn text_of(refusal: &VaultError) -> String {
    let json = refusal.to_json();
    let fields = json["error"].as_object().into_iter().flatten();
    let others = fields.filter(|(name, _)| !matches!(name.as_str(), "code" | "message" | "hint" | "path"));
    let mut lines =
        vec![format!("error: {refusal}"), format!("hint: {}", command::in_words_of_people(&refusal.hint()))];
    lines.extend(others.map(|(name, value)| (label(name), value)).map(|(name, value)| match value {
        Value::String(text) if text.contains('\n') => format!("{name}:\n{}", text.trim_end()),
        Value::String(text) => format!("{name}: {text}"),
        Value::Array(values) => format!("{name}: {}", joined(values)),
        value => format!("{name}: {value}"),
    }));
    lines.join("\n")
}

/// Lines of a note are counted in the text that callers edit, which may begin with more lines than the file.
fn label(field: &str) -> &str {
    match field {
        "lines" => "lines, as `vault read-note` shows them",
        field => field,
    }
}

fn joined(values: &[Value]) -> String {
    let words = values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use vault_core::VaultPath;

    use super::*;

    #[test]
    fn a_refusal_says_what_to_do_and_names_the_candidates() {
        let candidates = vec!["a.md".to_owned(), "b.md".to_owned()];
        let refusal = VaultError::Ambiguous { path: "x".into(), candidates };
        assert_eq!(exit_code(&refusal), 4);
        insta::assert_snapshot!(text_of(&refusal), @r"
        error: `x` could mean 2 notes
        hint: use one of `candidates`, spelled exactly like this
        candidates: a.md, b.md
        ");
    }

    #[test]
    fn a_hint_names_the_commands_of_a_person() {
        let refusal = VaultError::NotFound { what: "note", path: "x".into(), candidates: vec![] };
        assert!(
            text_of(&refusal)
                .ends_with("\nhint: call `vault list-notes` or `vault list-files` for the paths that exist")
        );
    }

    #[test]
    fn lines_of_a_note_are_those_that_a_reader_of_it_counts() {
        let refusal = VaultError::NotUnique { path: VaultPath::parse("a.md").unwrap(), lines: vec![5, 9] };
        assert_eq!(exit_code(&refusal), 1);
        assert!(text_of(&refusal).ends_with("\nlines, as `vault read-note` shows them: 5, 9"), "{}", text_of(&refusal));
    }
}
