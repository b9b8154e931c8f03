//! What a pattern says about one line: no match goes beyond it, and its ends are the ends of a text.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use crate::error::VaultError;
use crate::limits::MAX_PATTERN_BYTES;

/// Reads a pattern; without `is_regex` it is found as it is written.
pub(super) fn parse(pattern: &str, is_regex: bool, ignore_case: bool) -> Result<Hir, VaultError> {
    if pattern.is_empty() {
        return Err(refusal("is empty: there is nothing to look for"));
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(refusal(&format!("is longer than {MAX_PATTERN_BYTES} bytes; look for a part of it")));
    }
    let line_break = || refusal("holds a line break, and lines are matched one by one; look for a part of one line");
    if pattern.contains(['\n', '\r']) {
        return Err(line_break());
    }
    let escaped = if is_regex { pattern.to_owned() } else { regex_syntax::escape(pattern) };
    // matches need not be whole characters: `(?-u:.)` is any byte
    let parsed = ParserBuilder::new().utf8(false).case_insensitive(ignore_case).build().parse(&escaped);
    let hir = parsed.map_err(|error| refusal(&problem(&error.to_string())))?;
    within_a_line(&hir).ok_or_else(line_break)
}

/// Refuses a pattern.
pub(super) fn refusal(problem: &str) -> VaultError {
    VaultError::InvalidArgument { argument: "pattern".into(), problem: problem.into() }
}

/// Tells whether the pattern has to see a line alone: it asks what else ends in a carriage return.
pub(super) fn needs_lone_lines(hir: &Hir) -> bool {
    hir.properties().look_set().contains_anchor_crlf()
}

/// The pattern for texts of many lines that matches in the lines in which `hir` matches when it is given one alone;
/// `None` where it names a line break.
fn within_a_line(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(within_a_line).collect::<Option<Vec<Hir>>>();
    Some(match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => return None,
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(class) => Hir::class(without_line_break(class)),
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        HirKind::Look(Look::End) => Hir::look(Look::EndLF),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(within_a_line(&repetition.sub)?)),
        HirKind::Capture(group) => within_a_line(&group.sub)?,
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)?),
    })
}

fn without_line_break(class: &Class) -> Class {
    match class.clone() {
        Class::Unicode(mut class) => {
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Class::Unicode(class)
        }
        Class::Bytes(mut class) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Class::Bytes(class)
        }
    }
}

/// Texts of which every match of `hir` holds one, the longer the better; none when nothing is known.
pub(super) fn required(hir: &Hir) -> Vec<&[u8]> {
    let shortest = |texts: &Vec<&[u8]>| texts.iter().map(|text| text.len()).min();
    match hir.kind() {
        HirKind::Literal(literal) => vec![&literal.0],
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Capture(group) => required(&group.sub),
        HirKind::Concat(parts) => parts.iter().map(required).max_by_key(shortest).unwrap_or_default(),
        HirKind::Alternation(parts) => {
            let all: Vec<_> = parts.iter().map(required).collect();
            if all.iter().all(|texts| !texts.is_empty()) { all.concat() } else { vec![] }
        }
        _ => vec![],
    }
}

/// Says in one line what is wrong with a pattern: the parser draws it with arrows.
fn problem(error: &str) -> String {
    let reason = error.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let reason = reason.or(error.lines().next()).unwrap_or_default();
    format!("is no regular expression: {reason}; leave `regex` out to find it as it is written")
}
