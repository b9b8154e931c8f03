//! What others wrote, as errors and plain lists repeat it: in one line, and not endless. Pure text.

/// Most characters that are kept of each end of a long text in an error.
const END_CHARS: usize = 200;

/// Tells whether a terminal obeys `letter` instead of showing it: control characters, and those that reorder the text
/// around them.
pub fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `text` in one line, with `�` for whatever a terminal would obey.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if is_obeyed(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Returns `text` in one line as errors repeat it: the middle of a long one is left out.
pub(crate) fn shortened(text: &str) -> String {
    let cut = text.char_indices().nth(END_CHARS).map(|(start, _)| start);
    let rest = cut.and_then(|start| Some((start, text[start..].char_indices().rev().nth(END_CHARS - 1)?.0)));
    match rest {
        Some((start, skipped)) if skipped > 0 => one_line(&text[..start]) + "…" + &one_line(&text[start + skipped..]),
        _ => one_line(text),
    }
}

/// Returns the first `n_chars` characters of `text`, and `…` when there are more.
pub(crate) fn beginning(text: &str, n_chars: usize) -> String {
    match text.char_indices().nth(n_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_bends_it() {
        assert_eq!(one_line("a\tb\n\u{1b}[31m\u{202e}é☕"), "a\u{fffd}b\u{fffd}\u{fffd}[31m\u{fffd}é☕");
    }

    #[test]
    fn of_a_long_text_both_ends_are_told() {
        let text = |n_chars: usize| format!("{}{}", "é".repeat(n_chars - 5), "\nend.");
        let told = |text: &str| text.replace('\n', "\u{fffd}");
        for short in [10, END_CHARS, 2 * END_CHARS - 1, 2 * END_CHARS] {
            assert_eq!(shortened(&text(short)), told(&text(short)), "{short}");
        }
        let long = shortened(&text(2 * END_CHARS + 1));
        assert_eq!(long, format!("{}…{}", "é".repeat(END_CHARS), told(&text(END_CHARS))));
    }
}
