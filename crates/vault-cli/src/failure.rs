//! What a refusal means to the shell and looks like on a terminal.

use serde_json::Value;
use vault_core::VaultError;

/// Returns the exit code for `refusal`: 2 usage, 3 not found, 4 ambiguous, 5 conflict, 6 permission, 1 anything else.
pub fn exit_code(refusal: &VaultError) -> u8 {
    match refusal.code() {
        "invalid_argument" | "invalid_path" => 2,
        "not_found" => 3,
        "ambiguous" => 4,
        "version_required" | "stale_version" | "exists" | "open_elsewhere" => 5,
        "permission_denied" => 6,
        _ => 1,
    }
}

/// Returns `refusal` as a person reads it: what was wrong, what to do, and what the refusal carries besides.
pub fn text_of(refusal: &VaultError) -> String {
    let json = refusal.to_json();
    let fields = json["error"].as_object().into_iter().flatten();
    let others = fields.filter(|(name, _)| !matches!(name.as_str(), "code" | "message" | "hint" | "path"));
    let mut lines = vec![format!("error: {refusal}"), format!("hint: {}", refusal.hint())];
    lines.extend(others.map(|(name, value)| match value {
        Value::String(text) if text.contains('\n') => format!("{name}:\n{}", text.trim_end()),
        Value::String(text) => format!("{name}: {text}"),
        Value::Array(values) => format!("{name}: {}", joined(values)),
        value => format!("{name}: {value}"),
    }));
    lines.join("\n")
}

fn joined(values: &[Value]) -> String {
    let words = values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
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
}
