//! Tags: what counts as one, which are the same, and where they stand in running text.

use std::collections::HashSet;
use std::ops::Range;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use crate::document::Document;

/// A `#tag` in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The tag as written, without `#`.
    pub name: String,
    /// Byte range into the stored text, `#` included.
    pub span: Range<usize>,
}

/// Why a text is no tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// Nothing there, or nothing between two slashes.
    #[error("`{0}` is no tag: it has an empty part")]
    EmptyPart(String),
    /// A character that would end the tag in running text.
    #[error("`{tag}` is no tag: it holds {character:?}")]
    Character {
        /// The text that was given.
        tag: String,
        /// The first character that does not fit.
        character: char,
    },
}

/// Reads a tag as a caller writes it: a leading `#` is optional.
///
/// Letters, digits, marks and symbols of all scripts, `_`, `-`, and `/` between non-empty parts make a tag; white
/// space, control characters and other ASCII punctuation do not.
///
/// ```
/// assert_eq!(vault_markdown::parse_tag("#温室/トマト").unwrap(), "温室/トマト");
/// assert!(vault_markdown::parse_tag("a b").is_err());
/// assert!(vault_markdown::parse_tag("a//b").is_err());
/// ```
pub fn parse_tag(text: &str) -> Result<String, TagError> {
    let tag = text.strip_prefix('#').unwrap_or(text);
    let fits = |c: &char| !c.is_whitespace() && !c.is_control() && (!c.is_ascii_punctuation() || "_-/".contains(*c));
    if let Some(character) = tag.chars().find(|c| !fits(c)) {
        return Err(TagError::Character { tag: text.to_owned(), character });
    }
    if tag.split('/').any(str::is_empty) {
        return Err(TagError::EmptyPart(text.to_owned()));
    }
    Ok(tag.to_owned())
}

/// The tags of a note: those of the frontmatter, then those of the body, each once.
///
/// ```
/// let document = vault_markdown::parse("---\ntags: [red, Blue]\n---\nA #blue/dark #blue day.\n");
/// assert_eq!(vault_markdown::tags(&document), ["red", "Blue", "blue/dark"]);
/// ```
pub fn tags(document: &Document) -> Vec<String> {
    let mut seen = HashSet::new();
    let inline = document.tags.iter().map(|tag| tag.name.clone());
    frontmatter_tags(document).into_iter().chain(inline).filter(|tag| seen.insert(folded_tag(tag))).collect()
}

fn frontmatter_tags(document: &Document) -> Vec<String> {
    let Some(frontmatter) = &document.frontmatter else { return Vec::new() };
    match frontmatter.value("tags") {
        Some(crate::Value::Scalar { text, .. }) => split(text).map(str::to_owned).collect(),
        _ => {
            let names = frontmatter.strings("tags").into_iter();
            names.map(|tag| tag.trim().trim_start_matches('#').to_owned()).filter(|tag| !tag.is_empty()).collect()
        }
    }
}

/// The tags in one frontmatter string: `red`, `red, blue`, `#red #blue`.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace());
    parts.map(|tag| tag.trim_start_matches('#')).filter(|tag| !tag.is_empty())
}

/// Whether two tags are the same: equal after case and width folding.
///
/// ```
/// use vault_markdown::same_tag;
/// assert!(same_tag("Straße", "STRASSE") && same_tag("ｇｏ", "Go") && same_tag("cafe\u{301}", "CAFÉ"));
/// assert!(!same_tag("cafe", "café"));
/// ```
pub fn same_tag(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    folded_tag(one) == folded_tag(other)
}

/// Whether `tag` is what a filter for `filter` finds: the same tag, or one below it.
///
/// ```
/// use vault_markdown::tag_within;
/// assert!(tag_within("Project/Site", "project") && tag_within("project", "project"));
/// assert!(!tag_within("projects", "project"));
/// ```
pub fn tag_within(tag: &str, filter: &str) -> bool {
    let (tag, filter) = (folded_tag(tag), folded_tag(filter));
    tag.strip_prefix(filter.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The form in which same tags are equal texts.
///
/// ```
/// assert_eq!(vault_markdown::folded_tag("Straße/Süd"), "strasse/süd");
/// ```
pub fn folded_tag(tag: &str) -> String {
    if tag.is_ascii() {
        return tag.to_ascii_lowercase();
    }
    tag.nfkc().default_case_fold().nfkc().collect()
}

/// Finds the tags in one stretch of running text. `fresh`: the stretch begins a line, a cell or an emphasis.
pub(crate) fn find(stored: &str, stretch: Range<usize>, fresh: bool, found: &mut Vec<Tag>) {
    let text = &stored[stretch.clone()];
    for (at, _) in text.match_indices('#') {
        let start = stretch.start + at;
        let opens = (at == 0 && fresh && !stored[..start].ends_with('\\')) || may_precede(&stored[..start]);
        if !opens || found.last().is_some_and(|tag| tag.span.end > start) {
            continue;
        }
        let name = &text[at + 1..];
        let end = name.char_indices().find(|(_, c)| !is_tag_char(*c)).map_or(name.len(), |(end, _)| end);
        let name = name[..end].trim_end_matches('/');
        if !name.starts_with('/') && name.chars().any(|c| !c.is_numeric() && !"_-/".contains(c)) {
            found.push(Tag { name: name.to_owned(), span: start..start + 1 + name.len() });
        }
    }
}

fn may_precede(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'".contains(c))
}

fn is_tag_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || "_-/".contains(c);
    }
    c.is_alphanumeric() || !(c.is_whitespace() || c.is_control() || is_punctuation(c))
}

/// Punctuation outside ASCII; joiners and variation selectors, which make emoji, are not.
fn is_punctuation(c: char) -> bool {
    matches!(c,
        '\u{a1}'..='\u{bf}' | '\u{d7}' | '\u{f7}' | '\u{37e}' | '\u{387}' | '\u{55a}'..='\u{55f}' | '\u{589}' | '\u{58a}'
        | '\u{5be}' | '\u{5c0}' | '\u{5c3}' | '\u{5c6}' | '\u{5f3}' | '\u{5f4}' | '\u{609}'..='\u{60d}' | '\u{61b}'
        | '\u{61d}'..='\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}' | '\u{964}' | '\u{965}' | '\u{e4f}' | '\u{e5a}'
        | '\u{2000}'..='\u{200c}' | '\u{200e}'..='\u{206f}' | '\u{20a0}'..='\u{20cf}' | '\u{2190}'..='\u{22ff}'
        | '\u{2e00}'..='\u{2e7f}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{3030}' | '\u{303d}'
        | '\u{30fb}' | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe6f}' | '\u{feff}' | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}' | '\u{ffe0}'..='\u{ffff}')
}

#[cfg(test)]
mod tests {
    fn inline(text: &str) -> Vec<String> {
        let document = crate::parse(text);
        for tag in &document.tags {
            assert_eq!(&text[tag.span.clone()], format!("#{}", tag.name));
        }
        document.tags.into_iter().map(|tag| tag.name).collect()
    }

    #[test]
    fn tags_start_where_a_word_starts() {
        assert_eq!(
            inline("#a (#b) \"#c\" x#d \\#e {#f} **#g** *#h_i* > #j\n>#k\n- #l\n"),
            ["a", "b", "c", "f", "g", "h_i", "j", "k", "l"]
        );
        assert_eq!(inline("https://example.org/#a ##b #c#d"), ["c"]);
    }

    #[test]
    fn tags_are_made_of_the_letters_of_all_scripts() {
        assert_eq!(
            inline("#温室/トマト。#x、 #été-2024, #👩‍🌾❤️! #cafe\u{301} #हिन्दी।"),
            ["温室/トマト", "été-2024", "👩‍🌾❤️", "cafe\u{301}", "हिन्दी"]
        );
        assert_eq!(inline("#a/b/ #1984 #2024/x #1-2 # #/ #-a"), ["a/b", "2024/x", "-a"]);
    }

    #[test]
    fn links_code_math_html_and_comments_hold_no_tags() {
        assert_eq!(
            inline("[[x#a]] [#b](c) `#d` $#e$ <!-- #f --> <b title=\" #g\"> %% #h %%\n\n```\n #i\n```\n\n    #j\n"),
            [] as [&str; 0]
        );
        assert_eq!(inline("# Heading #a\n\n| #b |\n|---|\n| #c |\n"), ["a", "b", "c"]);
    }

    #[test]
    fn what_callers_may_write() {
        for (text, tag) in [("#a", Some("a")), ("a/b_c-d", Some("a/b_c-d")), ("2024", Some("2024"))] {
            assert_eq!(super::parse_tag(text).ok().as_deref(), tag);
        }
        for text in ["", "#", "##a", "a b", "a,b", "/a", "a/", "a//b", "a\u{7}", "a.b", "a\u{3000}b"] {
            assert!(super::parse_tag(text).is_err(), "{text:?}");
        }
    }
}
