//! Lines of bounded length out of a stream, whatever the peer sends.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// What is kept of each end of a line that is too long: enough to find the id of the request in it.
const END_BYTES: usize = 4 * 1024;

/// How much of the rest of such a line is read at a time.
const SKIP_BYTES: usize = 64 * 1024;

/// Above this the buffer is given back after its line, in bytes.
const KEPT_BYTES: usize = 1024 * 1024;

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Both ends of a line that is longer than the limit, joined.
    TooLong(&'a [u8]),
}

impl<'a> Line<'a> {
    /// Returns what is there of the line.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Line::Whole(bytes) | Line::TooLong(bytes) => bytes,
        }
    }
}

/// Reads lines. Never holds more than the limit and a little.
pub struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    too_long: bool,
    done: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `limit` bytes from `input`.
    pub fn new(input: R, limit: usize) -> Lines<R> {
        Lines { input: BufReader::new(input), limit, line: Vec::new(), too_long: false, done: false }
    }

    /// Returns the next line, or `None` at the end of the stream; a last line needs no line break.
    ///
    /// When the future is dropped before its end, what it has read is kept for the next call.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if std::mem::take(&mut self.done) {
            self.forget();
        }
        while !self.line.ends_with(b"\n") {
            let most = self.most();
            let room = (most - self.line.len()) as u64;
            if (&mut self.input).take(room).read_until(b'\n', &mut self.line).await? == 0 {
                if self.line.is_empty() {
                    return Ok(None);
                }
                break;
            }
            if self.line.len() == self.limit + 1 && !self.line.ends_with(b"\n") {
                self.too_long = true;
            }
            if self.too_long && self.line.len() > 2 * END_BYTES {
                self.line.drain(END_BYTES..self.line.len() - END_BYTES);
                self.line.shrink_to(2 * END_BYTES + SKIP_BYTES);
            }
        }
        self.done = true;
        let line = self.line.trim_ascii();
        Ok(Some(if self.too_long { Line::TooLong(line) } else { Line::Whole(line) }))
    }

    /// Returns how long the buffer may get by the next reading.
    fn most(&mut self) -> usize {
        if self.too_long {
            return 2 * END_BYTES + SKIP_BYTES;
        }
        if self.line.len() < KEPT_BYTES.min(self.limit + 1) {
            return KEPT_BYTES.min(self.limit + 1);
        }
        // all the room there may be at once: a buffer that doubles would be there twice while it is copied
        self.line.reserve_exact(self.limit + 1 - self.line.len());
        self.limit + 1
    }

    fn forget(&mut self) {
        self.too_long = false;
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(input, limit);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong(ends) => format!("too long: {} bytes kept", ends.len()),
            });
        }
        seen
    }

    #[tokio::test]
    async fn line_breaks_and_blanks_around_a_line_are_not_part_of_it() {
        assert_eq!(lines(b"a\r\n\n  b \nrest", 10).await, ["a", "", "b", "rest"]);
        assert!(lines(b"", 10).await.is_empty());
    }

    #[tokio::test]
    async fn a_line_as_long_as_the_limit_is_whole_and_one_byte_more_is_not() {
        let of = |n: usize| [vec![b'x'; n], b"\nnext\n".to_vec()].concat();
        assert_eq!(lines(&of(20_000), 20_000).await, ["x".repeat(20_000), "next".into()]);
        assert_eq!(lines(&of(20_001), 20_000).await, ["too long: 8191 bytes kept", "next"]);
        assert_eq!(lines(&of(3_000_000), 20_000).await, ["too long: 8191 bytes kept", "next"]);
    }

    #[tokio::test]
    async fn both_ends_of_a_long_line_are_kept() {
        let input = [b"begin".to_vec(), vec![b'x'; 500_000], b"end\n".to_vec()].concat();
        let mut lines = Lines::new(&input[..], 1000);
        let Some(Line::TooLong(ends)) = lines.next().await.unwrap() else { panic!("a long line") };
        assert!(ends.starts_with(b"begin") && ends.ends_with(b"end"));
    }
}
