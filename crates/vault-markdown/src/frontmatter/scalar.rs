//! Writing strings so that every YAML reader, 1.1 or 1.2, reads the same string back.

const WORDS_WITH_A_MEANING: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];

/// `text` as a YAML string: plain when that is surely a string, else in single, else in double quotes.
pub(crate) fn render(text: &str) -> String {
    if is_surely_a_string(text) {
        text.to_owned()
    } else if text.chars().any(needs_escape) {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// `text` as it stands between the quotes `quote` of a scalar; plain text when there are none.
///
/// `None` when that style cannot hold it.
pub(crate) fn quote_like(text: &str, quote: Option<char>) -> Option<String> {
    match quote {
        Some('\'') => (!text.chars().any(needs_escape)).then(|| text.replace('\'', "''")),
        Some(_) => {
            let quoted = double_quoted(text);
            Some(quoted[1..quoted.len() - 1].to_owned())
        }
        None => is_surely_a_string(text).then(|| text.to_owned()),
    }
}

fn is_surely_a_string(text: &str) -> bool {
    let starts_well = text.chars().next().is_some_and(char::is_alphabetic);
    let harmless = |c: char| c.is_alphanumeric() || " _-/.".contains(c) || is_printable_symbol(c);
    starts_well
        && !text.ends_with(' ')
        && text.chars().all(harmless)
        && !WORDS_WITH_A_MEANING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_printable_symbol(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !needs_escape(c)
}

/// Line breaks, and what YAML does not count as printable.
fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_only_where_someone_could_read_something_else() {
        for (text, rendered) in [
            ("red", "red"),
            ("blue/dark", "blue/dark"),
            ("été-2024", "été-2024"),
            ("温室/トマト", "温室/トマト"),
            ("two words", "two words"),
            ("yes", "'yes'"),
            ("NO", "'NO'"),
            ("2024", "'2024'"),
            ("a: b", "'a: b'"),
            ("it's", "'it''s'"),
            ("", "''"),
            (" a", "' a'"),
            ("a ", "'a '"),
            ("[x]", "'[x]'"),
            ("a\nb", "\"a\\nb\""),
            ("\u{7}\"", "\"\\u0007\\\"\""),
        ] {
            assert_eq!(render(text), rendered);
        }
    }

    #[test]
    fn text_takes_the_quotes_it_is_put_between() {
        assert_eq!(quote_like("Crew's Map", Some('\'')).as_deref(), Some("Crew''s Map"));
        assert_eq!(quote_like("a \"b\"", Some('"')).as_deref(), Some("a \\\"b\\\""));
        assert_eq!(quote_like("a: b", None), None);
    }
}
