//! `%% comments %%`: at the start of a line one may run over many blocks, inside a line it ends with its block.

use std::ops::Range;

/// The `%%` marks of a note, in order.
#[derive(Default)]
pub(super) struct Comments(Vec<Mark>);

struct Mark {
    at: usize,
    begins_line: bool,
    block: usize,
}

impl Comments {
    /// Notes the marks in one stretch of running text.
    pub(super) fn marks_in(&mut self, stored: &str, stretch: Range<usize>, fresh: bool, block: usize) {
        for (at, _) in stored[stretch.clone()].match_indices("%%") {
            let begins_line = at == 0 && fresh;
            self.0.push(Mark { at: stretch.start + at, begins_line, block });
        }
    }

    /// The commented ranges, both marks included.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut marks = self.0.iter().peekable();
        while let Some(open) = marks.next() {
            let closes = |close: &Mark| open.begins_line || close.block == open.block;
            if let Some(close) = marks.next_if(|close| closes(close)) {
                ranges.push(open.at..close.at + 2);
            }
        }
        ranges
    }
}

/// Whether `at` lies in one of the sorted `ranges`.
pub(super) fn covers(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after > 0 && ranges[after - 1].contains(&at)
}
