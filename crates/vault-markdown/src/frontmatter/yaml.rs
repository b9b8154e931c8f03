//! YAML events to values and key lines. Nothing here is trusted with columns of values: edits go by lines.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::Value;
use crate::limits::MAX_VALUE_DEPTH;

/// What a text between two fences is.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Nothing, blank lines or comments.
    Empty,
    /// A mapping with its top-level keys.
    Mapping(Mapping),
    /// YAML, but no mapping: a sentence, a list.
    Other,
    /// No YAML: the 1-based line in the text, and why.
    Failed(usize, String),
}

#[derive(Debug, Default)]
pub(crate) struct Mapping {
    pub(crate) keys: Vec<Key>,
    pub(crate) values: Vec<(String, Value)>,
}

/// Where a top-level key stands, by 0-based lines.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) line: usize,
    /// A scalar at the start of its line: what a block can be cut at.
    pub(crate) at_line_start: bool,
    /// Last line that a quoted scalar or a flow collection of its value reaches.
    pub(crate) closed_line: usize,
}

/// Reads `yaml` (line ends `\n`).
pub(crate) fn read(yaml: &str) -> Reading {
    if yaml.contains('\0') {
        let line = yaml.split('\0').next().unwrap_or("").matches('\n').count();
        return Reading::Failed(line + 1, "a NUL character".to_owned());
    }
    let mut reader = Reader { parser: Parser::new_from_str(yaml), closed_line: 0 };
    reader.document().unwrap_or_else(|Problem { line, message }| Reading::Failed(line, message))
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    closed_line: usize,
}

struct Problem {
    line: usize,
    message: String,
}

impl From<ScanError> for Problem {
    fn from(error: ScanError) -> Self {
        Problem { line: error.marker().line(), message: error.info().to_owned() }
    }
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Reading, Problem> {
        let mut reading = Reading::Empty;
        let mut n_documents = 0;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(reading),
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) => {
                    n_documents += 1;
                    if n_documents > 1 {
                        return Err(problem(span, "more than one YAML document"));
                    }
                }
                Event::MappingStart(..) => reading = Reading::Mapping(self.root()?),
                // An empty document is a plain `~` without an extent.
                Event::Scalar(_, ScalarStyle::Plain, 0, None) if span.is_empty() => {}
                other => {
                    self.value(other, span, 0)?;
                    reading = Reading::Other;
                }
            }
        }
    }

    fn root(&mut self) -> Result<Mapping, Problem> {
        let mut mapping = Mapping::default();
        loop {
            let (event, span) = self.next()?;
            let (key, simple) = match event {
                Event::MappingEnd => return Ok(mapping),
                Event::Scalar(text, ..) => (text.into_owned(), true),
                other => {
                    self.value(other, span, 1)?;
                    (String::new(), false)
                }
            };
            let line = zero_based(span.start.line());
            self.closed_line = line;
            let (event, value_span) = self.next()?;
            let value = self.value(event, value_span, 1)?;
            let at_line_start = simple && span.start.col() == 0 && span.end.line() == span.start.line();
            mapping.keys.push(Key { line, at_line_start, closed_line: self.closed_line });
            mapping.values.push((key, value));
        }
    }

    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Value, Problem> {
        if depth > MAX_VALUE_DEPTH {
            return Err(problem(span, "values are nested too deeply"));
        }
        match event {
            Event::Scalar(text, style, _, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
                    self.closes(span);
                }
                Ok(if plain && is_null(&text) { Value::Null } else { Value::Scalar { text: text.into_owned(), plain } })
            }
            Event::SequenceStart(..) => self.list(depth),
            Event::MappingStart(..) => self.map(depth),
            _ => Ok(Value::Alias),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Problem> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                self.closes(span);
                return Ok(Value::List(items));
            }
            items.push(self.value(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Problem> {
        let mut pairs = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                self.closes(span);
                return Ok(Value::Map(pairs));
            }
            let key = match self.value(event, span, depth + 1)? {
                Value::Scalar { text, .. } => text,
                _ => String::new(),
            };
            let (event, span) = self.next()?;
            pairs.push((key, self.value(event, span, depth + 1)?));
        }
    }

    /// Remembers where something with a closing character ends; what ends by indentation has no extent.
    fn closes(&mut self, span: Span) {
        if !span.is_empty() {
            self.closed_line = self.closed_line.max(zero_based(span.end.line()));
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Problem> {
        match self.parser.next_event() {
            Some(result) => Ok(result?),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }
}

fn problem(span: Span, message: &str) -> Problem {
    Problem { line: span.start.line(), message: message.to_owned() }
}

fn zero_based(line: usize) -> usize {
    line.saturating_sub(1)
}

/// Whether a plain scalar is YAML's null.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(yaml: &str) -> Vec<(usize, bool, usize)> {
        match read(yaml) {
            Reading::Mapping(mapping) => {
                mapping.keys.iter().map(|key| (key.line, key.at_line_start, key.closed_line)).collect()
            }
            other => panic!("no mapping: {other:?}"),
        }
    }

    #[test]
    fn keys_know_their_lines_and_where_brackets_close() {
        assert_eq!(
            keys("a: 1\nb: [x,\n  y]\nc: 'q\n  r'\nd: |\n  # text\ne:\n  - 1\n"),
            [(0, true, 0), (1, true, 2), (3, true, 4), (5, true, 5), (7, true, 7),]
        );
        assert_eq!(keys("{a: 1,\nb: 2}\n"), [(0, false, 0), (1, true, 1)]);
        assert_eq!(keys("? a\n: 1\n"), [(0, false, 0)]);
        assert_eq!(keys("\"a b\": 1\n'c': {x: 1}\n"), [(0, true, 0), (1, true, 1)]);
    }

    #[test]
    fn what_is_no_mapping_is_told_apart() {
        assert!(matches!(read("\n# only a comment\n"), Reading::Empty));
        assert!(matches!(read(""), Reading::Empty));
        assert!(matches!(read("\nJust a sentence.\n\n"), Reading::Other));
        assert!(matches!(read("- a\n- b\n"), Reading::Other));
        assert!(matches!(read("~\n"), Reading::Other));
        assert!(matches!(read("a: 1\nb: [\n"), Reading::Failed(..)));
        assert!(matches!(read("a: 1\nb: \0\n"), Reading::Failed(2, _)));
        assert!(matches!(read("a: *gone\n"), Reading::Failed(1, _)));
        assert!(matches!(read(&format!("a: {}", "- ".repeat(100))), Reading::Failed(1, _)));
    }
}
