//! Keeping the parser linear: containers that a line opens far from its start are read as text.

use std::borrow::Cow;

use crate::limits::MAX_CONTAINER_PREFIX_BYTES;

/// `text` with the container markers past the limit replaced, byte for byte, so that spans stay true.
pub(crate) fn mask_deep_containers(text: &str) -> Cow<'_, str> {
    let mut masked: Option<Vec<u8>> = None;
    let bytes = text.as_bytes();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let prefix = prefix_len(line.as_bytes());
        if prefix > MAX_CONTAINER_PREFIX_BYTES && !is_rule(line) {
            let masked = masked.get_or_insert_with(|| bytes.to_vec());
            mask(&mut masked[start + MAX_CONTAINER_PREFIX_BYTES..start + prefix]);
        }
        start += line.len();
    }
    match masked.map(String::from_utf8) {
        Some(Ok(masked)) => Cow::Owned(masked),
        _ => Cow::Borrowed(text),
    }
}

/// Bytes at the start of a line that could belong to container markers.
fn prefix_len(line: &[u8]) -> usize {
    line.iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'>' | b'-' | b'*' | b'+' | b'.' | b')' | b'0'..=b'9'))
        .count()
}

/// A line of one character only is a rule, an underline or a row of a table.
fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    first != Some(b'>') && marks.all(|byte| Some(byte) == first)
}

fn mask(prefix: &mut [u8]) {
    for byte in prefix {
        if !matches!(byte, b' ' | b'\t' | b'0'..=b'9') {
            *byte = b'x';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markers_far_from_the_start_of_a_line_are_masked() {
        assert!(matches!(mask_deep_containers("> > - 1. a\n---\n"), Cow::Borrowed(_)));
        assert!(matches!(mask_deep_containers(&"-".repeat(2_000)), Cow::Borrowed(_)));
        let deep = format!("a\n{}b [[c]]\n> d\n", ">".repeat(1_000));
        let masked = mask_deep_containers(&deep);
        assert_eq!(masked.len(), deep.len());
        assert_eq!(masked.matches('>').count(), MAX_CONTAINER_PREFIX_BYTES + 1);
        assert_eq!(crate::parse(&deep).links[0].target, "c");
    }
}
