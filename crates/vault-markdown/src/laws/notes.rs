//! Notes for laws to be tried on: every line ending, every state of the frontmatter, every element in every container.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Frontmatter entries, managed ones included; each is a whole segment.
pub(crate) const ENTRIES: [&str; 20] = [
    "type: Guide\n",
    "# about zeta\nzeta: 1\n",
    "alpha: [x,  y]\n\n",
    "tags:\n  - one\n  - two # second\n",
    "title: 'The title'\n",
    "note: |\n  two\n\n  # no comment\n\n",
    "quoted: \"over\n  two lines\"\n",
    "empty:\n",
    "when: 2024-03-01T10:00:00+02:00 # verbatim\n",
    "pinned: true\n",
    "日本: 値\n",
    "cafe\u{301}: 👩‍🌾\n",
    "dup: 1\n",
    "dup: 2\n",
    "list:\n- a\n# inside\n- b\n",
    "nested:\n  a:\n    - b: {c: d}\n",
    "# above\n\n# and above\n'odd key': ~\n",
    "created: 2024-01-05\n\n",
    "folded: >-\n  text\n  more\n",
    "attachments: [a.pdf]\n",
];

/// Lines of frontmatter that belong together or not.
const UGLY_LINES: [&str; 36] = [
    "a: 1\n",
    "a: \n",
    "b: [x, 'y', # c\n",
    "  z]\n",
    "tags: [a, b]\n",
    "tags:\n",
    "tags: a b, c # d\n",
    "- x\n",
    "  - y # z\n",
    "  -\n",
    "  - {p: q}\n",
    "# top\n",
    "  # inner\n",
    "\n",
    " \t\n",
    "type: Note\n",
    "type: Guide # own\n",
    "\"type\": Note\n",
    "title: x\n",
    "c: |\n",
    "c: >-\n",
    "c: |+\n",
    "  text\n",
    "    # text\n",
    "d: &x v\n",
    "e: *x\n",
    "f: \"open\n",
    "  close\"\n",
    "g: {h: 1,\n",
    "  i: 2}\n",
    "? j\n",
    ": k\n",
    "<<: *x\n",
    "!!str l: m\n",
    "n: o: p\n",
    "-\n",
];

/// Blocks without elements.
const BLOCKS: [&str; 22] = [
    "Plain words TODO.\n",
    "# Heading #tag\n",
    "- a\n  - b\n    - [ ] c ^id-1\n      1. d\n",
    "> quote\n> > deeper\nlazy\n",
    "````\n```chart\nnot one\n```\n````\n",
    "~~~ text\n[[no link]]\n~~~\n",
    "    indented\n\tcode\n",
    "| a | b |\n|---|---|\n| [[x\\|y]] | `p\\|q` |\n",
    "日本語の行。#温室/トマト\n",
    "emoji 👩‍🌾 cafe\u{301} café \u{a0}\u{200b}\n",
    "trailing  \nback\\\nslash\n",
    "---\n",
    "***\n\n\n",
    "key: value\n",
    "%% hidden [[x]] %%\n",
    "<div href=\"a.md\">\n[[b]]\n</div>\n",
    "$$\na_1 * b_2\n$$\n",
    "[a](b%20c.md#d \"t\") ![e](<f g.png>) [[h#i|j]] ![[k|300]]\n",
    "[ref]: x.md \"T\"\n",
    "lone \r return\n",
    "same\n",
    "[^1]: note\n",
];

/// Elements, each with its own content so that ids differ.
const ELEMENTS: [&str; 9] = [
    "```chart\ntype: bar\ntitle: Sales\n```\n",
    "> ```vega-lite\n> {\"title\": \"T\"}\n>\n> ```\n",
    "- item\n\n  ~~~~ plotly\n  {}\n\n    indented\n  ~~~~\n",
    "1. ```drawio\n   <xml>\n   ```\n",
    "```vault-block id=c1 kind=sum\nTotal\n{\"payload\": [1, 2]}\n```\n",
    "> - ```vault-block kind=calc\n>   Label\n>   opaque\n>   ```\n",
    " ```compressed-json\n N4Kg\n  ```\n",
    "```vault-block id=c1\nSame id\nother payload\n```\n",
    "```vega\n```\n",
];

/// An image of the same content wherever it stands.
pub(crate) const TWIN_IMAGE: &str = concat!(
    "Same ![alt](data:image/png;base64,",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA) more.\n"
);

/// Elements of different ids, which may be there more than once.
pub(crate) const TWINS: [&str; 4] =
    [TWIN_IMAGE, "```chart\na\n```\n", "~~~chart id=own\na\n~~~\n", "````vault-block id=c1 kind=sum\nTotal\n1\n````\n"];

/// Elements that share ids, contents or both.
pub(crate) const NAMESAKES: [&str; 12] = [
    "```vault-block id=c1 kind=sum\nTotal\n1\n```\n",
    "```vault-block id=c1 kind=sum\nTotal\n2\n```\n",
    "```vault-block id=c1 kind=calc\nTotal\n2\n```\n",
    "~~~vault-block id=c1 kind=sum\nTotal\n2\n~~~\n",
    "```vault-block id=c1-2 kind=sum\nOther\n3\n```\n",
    "```chart id=c1\na\n```\n",
    "```chart\na\n```\n",
    "```chart x\na\n```\n",
    "```vault-block id=chart-81c4b7f7 kind=sum\nOther\n3\n```\n",
    "```chart\na\n````\n",
    "```chart id=c1-2\na\n```\n",
    "```chart id=chart-81c4b7f7-2\na\n```\n",
];

/// A block of the body with its elements.
pub(crate) fn element_block() -> impl Strategy<Value = String> {
    let image = "[a-z]{270}".prop_map(|data| format!("Text ![alt](data:image/png;base64,{data}) more.\n"));
    let twins = select(
        &[ELEMENTS[0], ELEMENTS[1], ELEMENTS[3], TWIN_IMAGE, "> ```chart\n>type: bar\n> title: Sales\n> ```\n"][..],
    );
    prop_oneof![4 => select(&ELEMENTS[..]).prop_map(str::to_owned), 1 => image, 4 => twins.prop_map(str::to_owned)]
}

pub(crate) fn plain_block() -> impl Strategy<Value = String> {
    select(&BLOCKS[..]).prop_map(str::to_owned)
}

/// A line for an edit to write.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let lines =
        ["new", "", "same", "# h", "> q", "- l", "```", "---", "a\rb", "key: value", "日本", "  indented", "***"];
    select(lines.to_vec()).prop_map(|line| format!("{line}\n"))
}

/// Own entries and managed ones in any order; equal keys possible.
pub(crate) fn entries() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(&ENTRIES[..], 0..8).prop_shuffle()
}

/// How the items of a list are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    Flow,
    Block(&'static str),
}

/// Items as they are spelled in a list, each with what is read.
pub(crate) const ITEMS: [(&str, Option<&str>); 12] = [
    ("a", Some("a")),
    ("'b'", Some("b")),
    ("\"c d\"", Some("c d")),
    ("null", None),
    ("~", None),
    ("007", Some("007")),
    ("two words", Some("two words")),
    ("'it''s'", Some("it's")),
    ("日本", Some("日本")),
    ("true", Some("true")),
    ("'#e'", Some("#e")),
    ("a/b", Some("a/b")),
];

pub(crate) fn items() -> impl Strategy<Value = Vec<(&'static str, Option<&'static str>)>> {
    proptest::collection::vec(select(&ITEMS[..]), 1..6)
}

pub(crate) fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::Flow), select(&["- ", "  - ", "  -   "][..]).prop_map(Layout::Block)]
}

/// What stands behind the colon of a key whose value is a list.
pub(crate) fn list_text(items: &[(&str, Option<&str>)], layout: Layout) -> String {
    let spelled: Vec<&str> = items.iter().map(|(spelled, _)| *spelled).collect();
    match layout {
        Layout::Flow => format!(" [{}] # of the list\n", spelled.join(", ")),
        Layout::Block(dash) => {
            let lines = spelled.iter().enumerate().map(|(index, item)| match index % 2 {
                0 => format!("{dash}{item} # of {item}\n"),
                _ => format!("{dash}{item}\n"),
            });
            format!("\n{}", lines.collect::<String>())
        }
    }
}

/// Lists of any kind, understood or not, as text behind a colon.
pub(crate) fn ugly_list() -> impl Strategy<Value = String> {
    let bits = [
        "a",
        "b",
        "'b'",
        "\"a\"",
        "[",
        "]",
        ",",
        ", ",
        "{",
        "}",
        "- ",
        "-",
        "\n",
        "\n- ",
        "\n  - ",
        "\n-\n",
        "null",
        "~",
        " # c",
        "# c",
        ": ",
        ":",
        "&x ",
        "*x",
        "!!str ",
        "|",
        ">-\n    t",
        "  ",
        "\t",
        "a # x\n",
        "\r\n",
        "\n\n",
        "''",
        "\"a\n  b\"",
        "#a",
    ];
    let mess = proptest::collection::vec(select(bits.to_vec()), 0..9).prop_map(|bits| bits.concat());
    let flow = proptest::collection::vec(
        (
            select(&["a", "b", "'b'", "null", "[a]", "{a: b}", "\"a\"", "c d", "&x a"][..]),
            select(&[",", ", ", " ,", ", # c\n  ", " # d\n  , ", "\n  , # e\n\n  "][..]),
        ),
        1..6,
    )
    .prop_map(|items| format!("[{}]", items.iter().flat_map(|(item, comma)| [*item, *comma]).collect::<String>()));
    prop_oneof![1 => mess, 2 => flow].prop_map(|list| format!(" {list}\n"))
}

fn header() -> impl Strategy<Value = String> {
    let mapping = (select(&["", "\n"][..]), entries(), select(&["", "# the end\n", "# a\n\n# b\n"][..]))
        .prop_map(|(head, entries, tail)| format!("---\n{head}{}{tail}---\n", entries.concat()));
    let odd = select(
        &[
            "",
            "---\n---\n",
            "--- \n\n--- \t\n",
            "---\n# only a comment\n---\n",
            "---\na: \"open\nkeep: yes\n---\n",
            "---\n{a: 1, tags: [x]}\n---\n",
            "---\n\nprose between rules\n\n---\n",
            "---\nopen: block\n",
            "---\n? odd\n: key\n---\n",
        ][..],
    );
    let ugly = proptest::collection::vec(select(&UGLY_LINES[..]), 1..9)
        .prop_map(|lines| format!("---\n{}---\n", lines.concat()));
    prop_oneof![3 => mapping, 2 => odd.prop_map(str::to_owned), 2 => ugly]
}

/// How the lines of a note end.
#[derive(Clone, Debug)]
enum Endings {
    Lf,
    Crlf,
    Mixed(Vec<bool>),
}

fn endings() -> impl Strategy<Value = Endings> {
    prop_oneof![
        2 => Just(Endings::Lf),
        2 => Just(Endings::Crlf),
        1 => proptest::collection::vec(any::<bool>(), 1..7).prop_map(Endings::Mixed),
    ]
}

fn assemble(bom: bool, header: &str, body: &str, endings: &Endings, last_newline: bool) -> String {
    let lf = [header, body].concat();
    let lf = if last_newline { &lf[..] } else { lf.trim_end_matches('\n') };
    let mut text = String::from(if bom { "\u{feff}" } else { "" });
    for (index, line) in lf.split_inclusive('\n').enumerate() {
        let crlf = match endings {
            Endings::Lf => false,
            Endings::Crlf => true,
            Endings::Mixed(pattern) => pattern[index % pattern.len()],
        };
        match line.strip_suffix('\n') {
            Some(content) => text.extend([content, if crlf { "\r\n" } else { "\n" }]),
            None => text.push_str(line),
        }
    }
    text
}

fn note_of(block: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let body = proptest::collection::vec(block, 0..7).prop_map(|blocks| blocks.join("\n"));
    (any::<bool>(), header(), body, endings(), any::<bool>())
        .prop_map(|(bom, header, body, endings, last)| assemble(bom, &header, &body, &endings, last))
}

/// A note without elements.
pub(crate) fn plain_note() -> impl Strategy<Value = String> {
    note_of(plain_block())
}

/// A note with elements.
pub(crate) fn note() -> impl Strategy<Value = String> {
    note_of(prop_oneof![plain_block(), element_block()])
}

/// Bits of Markdown and YAML in any order.
pub(crate) fn noise() -> impl Strategy<Value = String> {
    let bits = [
        "[",
        "]",
        "(",
        ")",
        "![",
        "[[",
        "]]",
        "|",
        "\\",
        "`",
        "```",
        "~~~",
        "*",
        "_",
        "$",
        "$$",
        "%%",
        "#",
        "^",
        ">",
        "- ",
        "1. ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "---\n",
        "a: ",
        "'",
        "\"",
        "<",
        "<a href=",
        "<!--",
        "-->",
        "chart",
        "vault-block id=x",
        "data:",
        "&amp;",
        "é",
        "日",
        "👩‍🌾",
        "\u{301}",
        "\u{feff}",
        "\0",
        "a",
        " ",
        ":",
        "%20",
    ];
    proptest::collection::vec(select(bits.to_vec()), 0..40).prop_map(|bits| bits.concat())
}
