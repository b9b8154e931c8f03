//! What links can lead to inside a note: headings with their sections, and block ids.

use std::ops::Range;

use crate::document::{BlockId, Heading};

/// A section ends where the next heading of the same or a higher rank begins.
pub(super) fn close_sections(headings: &mut [Heading]) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..headings.len() {
        let (level, start) = (headings[index].level, headings[index].span.start);
        while let Some(above) = open.pop_if(|above| headings[*above].level >= level) {
            headings[above].section.end = start;
        }
        open.push(index);
    }
}

/// The `^id` at the end of a stretch that ends a line.
pub(super) fn block_id(stored: &str, stretch: Range<usize>, fresh: bool) -> Option<BlockId> {
    let text = stored[stretch.clone()].trim_end();
    let caret = text.rfind('^')?;
    let id = &text[caret + 1..];
    let stands_alone = if caret == 0 { fresh } else { text[..caret].ends_with([' ', '\t']) };
    let is_id = !id.is_empty() && id.chars().all(|c| c.is_alphanumeric() || c == '-');
    let start = stretch.start + caret;
    (stands_alone && is_id).then(|| BlockId { id: id.to_owned(), span: start..start + 1 + id.len() })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_section_reaches_to_the_next_heading_of_its_rank() {
        let stored = "# A\n## B\ntext\n### C\n## D\n\nE\n=\nend\n";
        let document = crate::parse(stored);
        let sections: Vec<(u8, &str, &str)> = (document.headings.iter())
            .map(|heading| (heading.level, heading.text.as_str(), &stored[heading.section.clone()]))
            .collect();
        assert_eq!(
            sections,
            [
                (1, "A", "# A\n## B\ntext\n### C\n## D\n\n"),
                (2, "B", "## B\ntext\n### C\n"),
                (3, "C", "### C\n"),
                (2, "D", "## D\n\n"),
                (1, "E", "E\n=\nend\n"),
            ]
        );
    }

    #[test]
    fn block_ids_stand_at_line_ends() {
        let stored = "a ^one\nb ^two c\n\n^three\n\n- d ^four-4\n\n`x ^no`\n\ne^f [[g#^h]]\n";
        let ids: Vec<String> = crate::parse(stored).block_ids.into_iter().map(|id| id.id).collect();
        assert_eq!(ids, ["one", "three", "four-4"]);
    }
}
