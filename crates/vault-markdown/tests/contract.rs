//! What callers may rely on of the view, sentence by sentence, with exact bytes.

use vault_markdown::{
    DroppedBlock, EditError, FrontmatterError, MergeError, Merged, ViewOptions, add_to_list, compose, edit, merge,
    remove_from_list, view,
};

fn shown(stored: &str) -> String {
    view(stored, &ViewOptions::default()).text
}

fn merged(stored: &str, new: &str) -> Merged {
    merge(stored, new, &ViewOptions::default()).expect("the new text can be stored")
}

fn refused(stored: &str, new: &str) -> MergeError {
    merge(stored, new, &ViewOptions::default()).expect_err("the new text cannot be stored")
}

fn edited(stored: &str, old: &str, new: &str) -> Result<String, EditError> {
    edit(stored, old, new, false, &ViewOptions::default()).map(|merged| merged.text)
}

/// Stored, the text that is written, stored afterwards.
fn check_merges(cases: &[(&str, &str, &str)]) {
    for (stored, new, after) in cases {
        assert_eq!(merged(stored, new).text, *after, "{new:?} onto {stored:?}");
    }
}

#[test]
fn the_view_has_line_feeds_no_byte_order_mark_and_a_type() {
    for (stored, view) in [
        ("", "---\ntype: Note\n---\n"),
        ("\u{feff}a\r\nb\rc\nd", "---\ntype: Note\n---\na\nb\rc\nd"),
        ("---\n---\n\n# T\n", "---\ntype: Note\n---\n\n# T\n"),
        ("---\n# hi\n---\n", "---\ntype: Note\n# hi\n---\n"),
        ("---\r\nb: 1\r\n# ty\r\ntype: Guide\r\n---\r\n", "---\n# ty\ntype: Guide\nb: 1\n---\n"),
        ("---\n\nprose\n\n---\n", "---\ntype: Note\n---\n---\n\nprose\n\n---\n"),
        ("---\na: \"x\nb: 1\n---\n", "---\na: \"x\nb: 1\n---\n"),
    ] {
        assert_eq!(shown(stored), view, "{stored:?}");
    }
}

#[test]
fn managed_keys_are_hidden_and_own_keys_are_as_written() {
    let stored =
        "---\n# mine\nzeta: 'x'   # why\ntitle: T\n# of tags\ntags:\n  - a\n\nalpha: [1,  2]\n# end\n---\nText.\n";
    assert_eq!(shown(stored), "---\ntype: Note\n# mine\nzeta: 'x'   # why\nalpha: [1,  2]\n# end\n---\nText.\n");
}

#[test]
fn each_view_line_knows_its_file_line() {
    let stored = "---\ntitle: T\nb: 1\ntype: G\n---\n```chart\na\nb\n```\nx\n";
    let view = view(stored, &ViewOptions::default());
    let lines: Vec<Option<usize>> = (1..=view.text.lines().count()).map(|line| view.file_line(line)).collect();
    assert_eq!(lines, [Some(1), Some(4), Some(3), Some(5), Some(6), Some(7), Some(9), Some(10)]);
    assert_eq!((view.file_line(0), view.file_line(99).is_some()), (None, true));
    assert!(!view.is_added(2));
}

#[test]
fn a_failing_block_says_where_and_is_kept() {
    let stored = "---\na: \"x\nb: 1\n---\nText.\n";
    let error = view(stored, &ViewOptions::default()).frontmatter_error.unwrap();
    assert!(error.line >= 2 && !error.message.is_empty());
    check_merges(&[
        (stored, "---\na: \"x\nb: 1\n---\nNew.\n", "---\na: \"x\nb: 1\n---\nNew.\n"),
        (stored, "New.\n", "---\na: \"x\nb: 1\n---\nNew.\n"),
        (stored, "---\na: x\ntitle: T\n---\nText.\n", "---\na: x\ntitle: T\n---\nText.\n"),
    ]);
    let still_broken = refused(stored, "---\na: \"y\nb: 1\n---\nText.\n");
    assert!(matches!(still_broken, MergeError::InvalidFrontmatter { .. }));
}

#[test]
fn a_block_replaces_the_own_keys_none_keeps_them_and_an_empty_one_removes_them() {
    let stored = "---\r\na: 1\r\ntitle: T\r\nb: 2\r\n---\r\nText.\r\n";
    check_merges(&[
        (stored, "---\ntype: Note\nb: 3\na: 1\n---\nText.\n", "---\r\nb: 3\r\na: 1\r\ntitle: T\r\n---\r\nText.\r\n"),
        (stored, "New.\n", "---\r\na: 1\r\ntitle: T\r\nb: 2\r\n---\r\nNew.\r\n"),
        (stored, "---\n---\nText.\n", "---\r\ntitle: T\r\n---\r\nText.\r\n"),
        ("---\na: 1\n---\nText.\n", "---\n---\nText.\n", "Text.\n"),
        ("---\n---\nText.\n", "---\n---\nNew.\n", "---\n---\nNew.\n"),
        ("Text.\n", "---\ntype: Note\n---\nNew.\n", "New.\n"),
        ("Text.\n", "---\ntype: Plant\n---\nText.\n", "---\ntype: Plant\n---\nText.\n"),
        ("---\nz: 1\ntype: G\na: 2\n---\n", "---\ntype: H\na: 2\nz: 1\n---\n", "---\na: 2\nz: 1\ntype: H\n---\n"),
    ]);
}

#[test]
fn managed_keys_in_a_new_block_are_ignored_and_listed() {
    let merged = merged("---\ntags: [a]\n---\n", "---\ntitle: X\n'tags': [b]\nown: 1\n---\n");
    assert_eq!(merged.text, "---\ntags: [a]\nown: 1\n---\n");
    assert_eq!(merged.ignored_keys, ["title", "tags"]);
}

#[test]
fn a_body_that_would_read_as_frontmatter_gets_an_empty_block() {
    let new = "---\ntype: Note\n---\n---\na: 1\n---\n";
    check_merges(&[("", new, "---\n---\n---\na: 1\n---\n")]);
    assert_eq!(shown("---\n---\n---\na: 1\n---\n"), new);
}

#[test]
fn a_block_that_lost_its_fence_is_refused() {
    let error = refused("---\na: 1\n---\nText.\n", "---\ntype: Note\na: 1\nText.\n");
    assert!(matches!(error, MergeError::InvalidFrontmatter { line: 1, .. }));
}

#[test]
fn untouched_lines_keep_their_endings_and_new_ones_take_the_dominant() {
    let stored = "one\r\ntwo\nthree\r\nfour\r\nsame\nsame\r\n";
    let header = "---\ntype: Note\n---\n";
    check_merges(&[
        (
            stored,
            &format!("{header}one\nTWO\nthree\nfour\nsame\nsame\n"),
            "one\r\nTWO\r\nthree\r\nfour\r\nsame\nsame\r\n",
        ),
        (stored, &format!("{header}one\r\ntwo\r\nthree\r\nfour\r\nsame\r\nsame\r\n"), stored),
        ("\u{feff}a\r\n", "\u{feff}b\nc", "\u{feff}b\r\nc"),
    ]);
    assert_eq!(edited(stored, "two", "2").unwrap(), stored.replace("two", "2"));
}

#[test]
fn an_edit_is_exact_and_unique() {
    let stored = "---\ntitle: T\n---\na\nTYPE\na\n";
    assert_eq!(edited(stored, "", "x"), Err(EditError::Empty));
    assert_eq!(edited(stored, "b", "x"), Err(EditError::NoMatch));
    assert_eq!(edited(stored, "title", "x"), Err(EditError::NoMatch));
    assert_eq!(edited(stored, "a\n", "x"), Err(EditError::NotUnique { lines: vec![4, 6] }));
    let all = edit(stored, "a\n", "$& \\1\n", true, &ViewOptions::default()).unwrap();
    assert_eq!((all.text.as_str(), all.replacements), ("---\ntitle: T\n---\n$& \\1\nTYPE\n$& \\1\n", 2));
}

#[test]
fn a_line_that_only_the_view_has_is_matched_whole_or_not_at_all() {
    assert_eq!(edited("Text.\n", "Note", "x"), Err(EditError::NoMatch));
    assert_eq!(edited("Text.\n", "type: Note", "type: Plant").unwrap(), "---\ntype: Plant\n---\nText.\n");
    assert_eq!(edited("# A\n", "\n# A", "\n# B").unwrap(), "# B\n");
    assert_eq!(edited("A Note.\n", "Note", "x").unwrap(), "A x.\n");
    assert_eq!(edited("---\na: 1\n---\n", "type: Note\na: 1", "type: Note\na: 2").unwrap(), "---\na: 2\n---\n");
}

#[test]
fn elements_are_placeholders_that_carry_them_through() {
    let stored =
        "A\n\n```vault-block id=c1 kind=chart\nSales by quarter\n{\"a\": 1}\n```\n\n> ```drawio\n> <x>\n> ```\n";
    let view = view(stored, &ViewOptions::default());
    let [chart, drawing] = ["c1-ee62d2b384423586", "drawio-8a3de7a105b26d13"];
    let text = format!(
        "---\ntype: Note\n---\nA\n\n```vault-block id={chart} kind=chart\nSales by quarter\n```\n\n\
         > ```vault-block id={drawing} kind=drawio\n> drawio\n> ```\n"
    );
    assert_eq!(view.text, text);
    let moved = format!("> - ```vault-block id={chart} kind=chart\n>   Sales by quarter\n>   ```\nB\n");
    let merged = merged(stored, &moved);
    assert_eq!(merged.text, "> - ```vault-block id=c1 kind=chart\n>   Sales by quarter\n>   {\"a\": 1}\n>   ```\nB\n");
    assert_eq!(merged.dropped, [DroppedBlock { id: drawing.into(), label: "drawio".into() }]);
    for (was, is) in [
        ("Sales by quarter", "Another label"),
        ("quarter\n", "quarter\nMore\n"),
        ("kind=chart", "kind=pie"),
        ("kind=chart", "kind=chart more"),
    ] {
        let written = text.replace(was, is);
        assert_eq!(refused(stored, &written), MergeError::EditedBlock { id: chart.into() }, "{is}");
    }
}

#[test]
fn unknown_and_repeated_placeholders_are_refused() {
    let stored = "```chart\na: 1\n```\n";
    let id = &view(stored, &ViewOptions::default()).elements[0].id;
    let block = format!("```vault-block id={id} kind=chart\nchart\n```\n");
    let twice = MergeError::RepeatedBlock { id: id.clone() };
    assert_eq!(refused(stored, &block.repeat(2)), twice);
    let unknown = |id: &str| MergeError::UnknownBlock { id: id.to_owned() };
    assert_eq!(refused(stored, "```vault-block id=x kind=chart\nl\n```\n"), unknown("x"));
    assert_eq!(refused(stored, "![a](vault-block:y)\n"), unknown("y"));
    assert_eq!(refused(stored, block.trim_end_matches("```\n")), MergeError::UnclosedBlock { id: id.clone() });
    assert!(compose(&block, None, &[]).is_err());
}

#[test]
fn long_data_images_show_their_id_and_short_ones_stay() {
    let uri = format!("data:image/png;base64,{}", "A".repeat(300));
    let stored = format!("| a |\n|---|\n| ![x]({uri} \"t\") |\n\n![y](data:image/gif;base64,AA)\n");
    let view = view(&stored, &ViewOptions::default());
    let id = view.elements[0].id.clone();
    assert!(view.text.contains(&format!("| ![x](vault-block:{id} \"t\") |\n")));
    assert!(view.text.contains("![y](data:image/gif;base64,AA)\n"));
    let new = format!("Moved: ![z](vault-block:{id}).\n");
    assert_eq!(merged(&stored, &new).text, format!("Moved: ![z]({uri}).\n"));
    assert_eq!(merged(&stored, "x\n").dropped[0].id, id);
}

#[test]
fn a_setting_chooses_the_kinds_and_expanding_shows_what_is_stored() {
    let stored = "```chart\na\n```\n\n```mermaid\nb\n```\n";
    let expanded = ViewOptions { expand_blocks: true, ..ViewOptions::default() };
    assert!(view(stored, &expanded).text.ends_with(stored));
    let mermaid = ViewOptions { kinds: vec!["mermaid".into()], ..ViewOptions::default() };
    let shown = view(stored, &mermaid);
    assert_eq!(shown.elements.iter().map(|element| element.kind.as_str()).collect::<Vec<_>>(), ["mermaid"]);
    assert_eq!(merge(stored, &shown.text, &mermaid).unwrap().text, stored);
}

#[test]
fn an_id_begins_with_the_one_that_is_carried_and_equal_elements_are_numbered() {
    let stored = "```chart\na\n```\n```chart\na\n```\n```chart id=mine\nb\n```\n";
    let ids: Vec<String> =
        view(stored, &ViewOptions::default()).elements.into_iter().map(|element| element.id).collect();
    assert_eq!(ids[1], format!("{}-2", ids[0]));
    assert!(ids[2].starts_with("mine-"), "{}", ids[2]);
}

#[test]
fn list_edits_keep_the_style_of_the_list() {
    let add = |stored: &str| add_to_list(stored, "tags", &["zeta".into()]).unwrap();
    for (before, after) in [
        ("---\na: 1\n---\n", "---\na: 1\ntags:\n  - zeta\n---\n"),
        ("Text.\r\n", "---\r\ntags:\r\n  - zeta\r\n---\r\nText.\r\n"),
        ("---\ntags:\n- a # x\n# y\n- 'b'\nc: 1\n---\n", "---\ntags:\n- a # x\n# y\n- 'b'\n- zeta\nc: 1\n---\n"),
        ("---\ntags: [a,\n  b,]\n---\n", "---\ntags: [a,\n  b, zeta,]\n---\n"),
        ("---\ntags: []\n---\n", "---\ntags: [zeta]\n---\n"),
        ("---\ntags: # none\n---\n", "---\ntags: # none\n  - zeta\n---\n"),
        ("---\ntags: red, 'blue\n---\n", "---\ntags: [red, '''blue', zeta]\n---\n"),
        ("---\ntags: 2024 # year\n---\n", "---\ntags: [2024, zeta] # year\n---\n"),
        ("---\ntags: [ZETA]\n---\n", "---\ntags: [ZETA]\n---\n"),
    ] {
        assert_eq!(add(before), after);
    }
    let remove = |stored: &str| remove_from_list(stored, "tags", |tag| tag == "a").unwrap();
    for (before, after) in [
        ("---\ntags: [a, b, a, c]\n---\n", "---\ntags: [b, c]\n---\n"),
        ("---\ntags:\n  - b\n  - a # x\nz: 1\n---\n", "---\ntags:\n  - b\nz: 1\n---\n"),
        ("---\n# mine\ntags: a\nz: 1\n---\n", "---\nz: 1\n---\n"),
        ("---\ntags: [b]\n---\n", "---\ntags: [b]\n---\n"),
    ] {
        assert_eq!(remove(before), after);
    }
    assert!(add_to_list("---\ntags: *x\nb: &x [a]\n---\n", "tags", &["z".into()]).is_err());
    assert!(add_to_list("---\na: \"open\nkeep: yes\n---\n", "tags", &["z".into()]).is_err());
}

#[test]
fn list_edits_keep_what_is_not_the_item() {
    let remove = |stored: &str| remove_from_list(stored, "tags", |tag| tag == "a").unwrap();
    for (before, after) in [
        ("tags: [a, null] # c\n", "tags: [null] # c\n"),
        ("tags:\n  - a\n  - # later\n  - ~ # c\n  - 007\n", "tags:\n  - # later\n  - ~ # c\n  - 007\n"),
        ("tags: [blue] # mine\nz: 1\ntags: [a]\n", "tags: [blue] # mine\nz: 1\ntags: []\n"),
        ("tags: [a]\nz: 1\ntags: [b, a]\n", "tags: [a]\nz: 1\ntags: [b]\n"),
        ("tags: [a, # of a\n  b, # of b\n  a]\n", "tags: [ # of a\n  b, # of b\n  ]\n"),
        ("tags: [x, # of x\n  a, a, y, a,]\n", "tags: [x, # of x\n  y,]\n"),
        ("tags: a, b c # three\n", "tags: [b, c] # three\n"),
        ("tags: '#a #b' # two\n", "tags: [b] # two\n"),
        ("tags: {a: b}\n", "tags: {a: b}\n"),
        ("tags: [a]\n  # c\n", "  # c\n"),
        ("z: 1\ntags: # gone\n  # of a\n  - a # gone\n# end\n", "z: 1\n  # of a\n# end\n"),
        ("z: |\n  text\ntags: [a]\n  # no text\ny: 1\n", "z: |\n  text\ny: 1\n"),
        ("tags: [b]\ntags: [a]\n  # c\ny: 1\n", "tags: [b]\ntags: []\n  # c\ny: 1\n"),
    ] {
        assert_eq!(remove(&format!("---\n{before}---\nText.\n")), format!("---\n{after}---\nText.\n"));
    }
    let add = |key: &str, stored: &str| add_to_list(stored, key, &["zeta".into()]).unwrap();
    for (key, before, after) in [
        ("tags", "tags: [a, null] # c\n", "tags: [a, null, zeta] # c\n"),
        ("tags", "tags:\n-\n", "tags:\n-\n- zeta\n"),
        ("tags", "tags:\n  - a # c\n  -\n", "tags:\n  - a # c\n  -\n  - zeta\n"),
        ("tags", "tags: \"red, blue\" # c\n", "tags: [red, blue, zeta] # c\n"),
        ("aliases", "aliases: The fern, big # c\n", "aliases: ['The fern, big', zeta] # c\n"),
        ("aliases", "aliases: true # c\n", "aliases: [true, zeta] # c\n"),
        ("tags", "tags: ~ # c\n", "tags: [zeta] # c\n"),
    ] {
        assert_eq!(add(key, &format!("---\n{before}---\n")), format!("---\n{after}---\n"));
    }
}

#[test]
fn lists_that_are_not_flat_or_not_understood_are_refused_and_kept() {
    for list in
        ["[a, {b: c}]", "[a, [b]]", "\n  - a\n  - b: c", "\n  - a\n  - >\n    b", "&x [a, b]", "[a, \"b\n  c\"]"]
    {
        let stored = format!("---\ntags: {list}\n---\n");
        let refused = FrontmatterError::Unwritable { key: "tags".into() };
        assert_eq!(remove_from_list(&stored, "tags", |tag| tag == "a"), Err(refused.clone()), "{stored}");
        assert_eq!(add_to_list(&stored, "tags", &["z".into()]), Err(refused), "{stored}");
        assert_eq!(add_to_list(&stored, "tags", &["a".into()]).as_ref(), Ok(&stored));
    }
}

#[test]
fn a_new_note_has_one_block() {
    let new = |markdown: &str, title: Option<&str>| compose(markdown, title, &["river".into()]).unwrap().text;
    assert_eq!(new("Body.\n", None), "---\ntags:\n  - river\n---\nBody.\n");
    assert_eq!(
        new("\u{feff}---\r\ntype: Note\r\npinned: true\r\ntags: [a]\r\nupdated: x\r\n---\r\nBody.\r\n", Some("A: b")),
        "---\npinned: true\ntags: [a, river]\ntitle: 'A: b'\n---\nBody.\n"
    );
    assert_eq!(compose("---\ntitle: x\n---\n#inline\n", None, &[]).unwrap().text, "#inline\n");
    assert_eq!(compose("---\ntype: A\ntype: Note\n---\n", None, &[]).unwrap().text, "---\ntype: A\ntype: Note\n---\n");
    assert!(matches!(compose("---\na: [\n---\n", None, &[]), Err(MergeError::InvalidFrontmatter { .. })));
}

#[test]
fn hostile_notes_of_a_hundred_kilobytes_come_back_whole() {
    let options = ViewOptions::default();
    for pattern in ["*", "![", "<", "$", "[[", "#", "|", "\t", "a: ", "%%", "```\n", "```chart\n```\n", "- a\n"] {
        let filler = pattern.repeat(100_000 / pattern.len());
        for stored in [filler.clone(), format!("---\nk: {filler}\n---\n")] {
            vault_markdown::parse(&stored);
            let shown = view(&stored, &options);
            assert_eq!(merge(&stored, &shown.text, &options).unwrap().text, stored);
        }
    }
}

/// Ends in seconds, where a parser that looks back at every mark would need hours; nobody measures them here.
#[test]
fn hostile_megabytes_are_read_to_the_end_and_come_back_whole() {
    let nested: String = (0..1_000).map(|depth| format!("{}- a\n", "  ".repeat(depth))).collect();
    let mixed = "[`*>![[ <a $$ %% ]( ~~~\n\t- | ";
    for stored in ["[".repeat(1_000_000), ">".repeat(1_000_000), "`".repeat(1_000_000)]
        .into_iter()
        .chain(["> ", "` ", "[a](", "- ", "> - "].map(|mark| mark.repeat(1_000_000 / mark.len())))
        .chain([nested, mixed.repeat(1_000_000 / mixed.len())])
        .chain([format!("{} a\n{}[[x]]\n", ">".repeat(25_000), "a\n".repeat(25_000))])
    {
        let document = vault_markdown::parse(&stored);
        let blocks = document.blocks.iter().map(|block| &block.span);
        let mut below = document.body.start;
        for span in blocks {
            assert!(span.start >= below && span.end <= stored.len() && stored.get(span.clone()).is_some());
            below = span.end;
        }
        for span in document.links.iter().map(|link| &link.span) {
            assert!(stored.get(span.clone()).is_some_and(|text| !text.is_empty()));
        }
        let options = ViewOptions::default();
        assert_eq!(merge(&stored, &view(&stored, &options).text, &options).unwrap().text, stored);
        assert_eq!(edit(&stored, &stored[..1], "x", true, &options).unwrap().text.len(), stored.len());
    }
}

#[test]
fn a_placeholder_where_its_content_would_read_differently_is_refused() {
    let uri = format!("data:image/svg+xml;utf8,svg a b|c{}", "y z".repeat(100));
    let stored = format!("![x](<{uri}>)\n");
    let id = view(&stored, &ViewOptions::default()).elements[0].id.clone();
    for new in [format!("![x](vault-block:{id})\n"), format!("| a |\n|---|\n| ![x](<vault-block:{id}>) |\n")] {
        assert_eq!(refused(&stored, &new), MergeError::Unmovable { id: id.clone() });
    }
    assert_eq!(merged(&stored, &format!("> ![y](<vault-block:{id}>)\n")).text, format!("> ![y](<{uri}>)\n"));
}

#[test]
fn a_placeholder_inside_code_is_dropped_and_reported() {
    let image = format!("![x](data:image/png;base64,{})\n", "A".repeat(300));
    for stored in ["```chart\na\n```\n", "> ```drawio\n> x\n> ```\n", &image] {
        let shown = view(stored, &ViewOptions::default());
        let dropped = DroppedBlock { id: shown.elements[0].id.clone(), label: shown.elements[0].label.clone() };
        let body = shown.text.strip_prefix("---\ntype: Note\n---\n").unwrap();
        for new in [
            format!("~~~~\n{body}~~~~\n"),
            format!("a\n\n    {}", body.replace('\n', "\n    ")),
            format!("<!--\n{body}-->\n"),
            format!("`````\n{body}"),
        ] {
            let merged = merged(stored, &new);
            assert_eq!(merged.dropped, std::slice::from_ref(&dropped), "{new}");
        }
    }
}

#[test]
fn a_block_that_stops_being_one_is_refused_and_never_stored_as_text() {
    let stored = "---\nfoo: 1\n---\nbody\n";
    let edited = edit(stored, "type: Note", "Plant", false, &ViewOptions::default());
    assert!(matches!(edited, Err(EditError::Merge(MergeError::InvalidFrontmatter { .. }))), "{edited:?}");
    for new in ["---\nJust words\nbar: 2\n---\nbody\n", "---\n- a\n---\nbody\n", "---\njust words\n---\n"] {
        let merged = merge(stored, new, &ViewOptions::default());
        assert!(matches!(merged, Err(MergeError::InvalidFrontmatter { .. })), "{new}: {merged:?}");
    }
    // A text that begins with rules of its own goes on without its block.
    let ruled = "---\n\nprose\n\n---\nbody\n";
    let merged = merge(ruled, "---\n\nother prose\n\n---\nbody\n", &ViewOptions::default()).unwrap();
    assert_eq!(merged.text, "---\n\nother prose\n\n---\nbody\n");
    assert!(merge(stored, "---\nOne rule only.\n", &ViewOptions::default()).is_ok());
}

#[test]
fn a_repaired_block_keeps_the_bytes_of_the_lines_that_were_right() {
    let stored = "---\r\nbad: \"\nx: 1\n\nkeep: 2\r\n---\r\nbody\n";
    let edited = edit(stored, "bad: \"", "bad: 1", false, &ViewOptions::default()).unwrap();
    assert_eq!(edited.text, "---\r\nbad: 1\nx: 1\n\nkeep: 2\r\n---\r\nbody\n");
    let stored = "---\nlist:\r\n- a\n- b\r\n# c\nd: 1\n---\nbody\n";
    for (old, new, after) in [
        ("- a", "- A", "---\nlist:\r\n- A\n- b\r\n# c\nd: 1\n---\nbody\n"),
        ("# c\n", "# c\nnew: 1\n", "---\nlist:\r\n- a\n- b\r\n# c\nnew: 1\nd: 1\n---\nbody\n"),
    ] {
        assert_eq!(self::edited(stored, old, new).as_deref(), Ok(after));
    }
}

#[test]
fn elements_that_carry_the_same_id_keep_theirs_when_they_change_places() {
    let block = |payload: &str| format!("```vault-block id=c1 kind=drawing\nPlan\n{payload}\n```\n");
    let stored = format!("{}{}", block("PAY1"), block("PAY2"));
    let shown = view(&stored, &ViewOptions::default()).text;
    let at = shown.rfind("```vault-block").unwrap();
    let header = shown.find("```vault-block").unwrap();
    let swapped = format!("{}{}{}", &shown[..header], &shown[at..], &shown[header..at]);
    let merged = merge(&stored, &swapped, &ViewOptions::default()).unwrap();
    assert_eq!(merged.text, format!("{}{}", block("PAY2"), block("PAY1")));
    assert_eq!(view(&merged.text, &ViewOptions::default()).text, swapped, "the held text still means the same");
}

#[test]
fn what_is_left_of_a_damaged_block_is_never_text() {
    let stored = "---\nfoo: 1\n---\nbody\n";
    let view = shown(stored);
    for (old, new, line) in [
        ("type: Note", "Plant", 2),
        ("foo: 1", "Just words", 4),
        ("type: Note\nfoo: 1\n---", "Plant", 2),
        ("foo: 1\n---\n", "foo: 1\n--\n", 4),
        ("---\ntype: Note", "--\ntype: Note", 1),
        (&view[..view.len() - 5], "", 1),
    ] {
        match edited(stored, old, new) {
            Err(EditError::Merge(MergeError::InvalidFrontmatter { line: found, .. })) => {
                assert_eq!(found, line, "{new}")
            }
            other => panic!("{old:?} -> {new:?}: {other:?}"),
        }
    }
    for new in [
        "\n---\ntype: Note\nfoo: 1\n---\nbody\n",
        "type: Note\nfoo: 1\n---\nbody\n",
        "---\nPlant\nfoo: 1\nbody\n",
        "---\nfoo: 1\nJust words\n---\nbody\n",
    ] {
        assert!(matches!(refused(stored, new), MergeError::InvalidFrontmatter { .. }), "{new}");
    }
    let ruled = "---\nfoo: 1\n---\n---\n\nprose\n\n---\n";
    assert!(matches!(refused(ruled, "---\n\nprose\nfoo: 1\n---\n"), MergeError::InvalidFrontmatter { line: 4, .. }));
    assert_eq!(merged(ruled, "---\n\nPROSE\n\n---\n").text, "---\nfoo: 1\n---\n---\n\nPROSE\n\n---\n");
    assert_eq!(edited(ruled, "prose", "poetry").as_deref(), Ok("---\nfoo: 1\n---\n---\n\npoetry\n\n---\n"));
    assert_eq!(edited("Text.\n", "---\ntype: Note\n---\nText.\n", "New.\n").as_deref(), Ok("New.\n"));
}

#[test]
fn ids_do_not_depend_on_the_order_of_elements() {
    let ids = |stored: &str| -> Vec<String> {
        view(stored, &ViewOptions::default()).elements.into_iter().map(|element| element.id).collect()
    };
    let chart = "```chart\na\n```\n";
    let named = format!("```vault-block id={} kind=sum\nSum\n1\n```\n", ids(chart)[0]);
    let kinds = ["```vault-block id=c1 kind=a\nL\n```\n", "```vault-block id=c1 kind=b\nL\n```\n"];
    let numbered = ["```vault-block id=c-2\nX\n```\n", "```vault-block id=c\nL\n```\n```vault-block id=c\nL\n```\n"];
    for [one, other] in [[chart, &named], kinds, numbered] {
        let mut there = ids(&[one, other].concat());
        let n_first = ids(one).len();
        there.rotate_left(n_first);
        assert_eq!(there, ids(&[other, one].concat()));
    }
    let long = format!("```vault-block id={} kind=a\nL\n1\n```\n", "x".repeat(64));
    let twice = format!("{long}{}", long.replace('1', "2"));
    let text = shown(&twice) + "More.\n";
    assert_eq!(merged(&twice, &text).text, format!("{twice}More.\n"));
}

#[test]
fn an_id_that_is_held_stays_valid_when_its_namesake_goes() {
    let block = |payload: &str| format!("```vault-block id=c1 kind=drawing\nPlan\n{payload}\n```\n");
    let stored = format!("{}{}", block("PAY1"), block("PAY2"));
    let text = shown(&stored);
    let first = text.find("```vault-block").unwrap();
    let second = text.rfind("```vault-block").unwrap();
    let held = [&text[..first], &text[second..]].concat();
    let after = merged(&stored, &held).text;
    assert_eq!(after, block("PAY2"));
    assert_eq!(merged(&after, &format!("{held}More.\n")).text, format!("{after}More.\n"));
}

/// The placeholders of a note's only blocks, each as the view shows it.
fn placeholders(stored: &str) -> Vec<String> {
    let text = shown(stored);
    let body = text.strip_prefix("---\ntype: Note\n---\n").expect("a note without a block of its own");
    body.split_inclusive('\n').collect::<Vec<_>>().chunks(3).map(<[&str]>::concat).collect()
}

#[test]
fn equal_elements_stand_for_each_other_in_a_text_that_was_stored() {
    let chart = "```chart\na\n```\n";
    let stored = chart.repeat(3);
    let held = placeholders(&stored);
    for (kept, dropped) in [(vec![1, 2], vec![0]), (vec![0, 2], vec![1]), (vec![2, 1], vec![0]), (vec![2], vec![0, 1])]
    {
        let sent: String = kept.iter().map(|index| held[*index].as_str()).collect();
        let first = merged(&stored, &sent);
        assert_eq!(first.text, chart.repeat(kept.len()));
        let ids = view(&stored, &ViewOptions::default()).elements.into_iter().map(|element| element.id);
        let gone: Vec<String> =
            ids.enumerate().filter(|(index, _)| dropped.contains(index)).map(|(_, id)| id).collect();
        assert_eq!(first.dropped.into_iter().map(|block| block.id).collect::<Vec<_>>(), gone);
        let again = merged(&first.text, &sent);
        assert_eq!((again.text, again.dropped), (first.text.clone(), vec![]), "{sent}");
        assert_eq!(merged(&first.text, &format!("{chart}{sent}More.\n")).text, format!("{chart}{}More.\n", first.text));
    }
    let last = merged(&stored, &held[2]).text;
    assert!(matches!(refused(&last, &held[1..].concat()), MergeError::UnknownBlock { .. }));
    let other = "```chart\nb\n```\n";
    assert!(matches!(refused(other, &held[1]), MergeError::UnknownBlock { .. }));
}

#[test]
fn an_element_that_carries_the_id_of_a_placeholder_is_another_one() {
    let stored = "```chart\na\n```\n".repeat(2);
    let held = placeholders(&stored).concat();
    for element in view(&stored, &ViewOptions::default()).elements {
        let other = format!("```chart id={}\nb\n```\n", element.id);
        let sent = held.clone() + &other;
        let after = merged(&stored, &sent).text;
        assert_eq!(after, stored.clone() + &other);
        assert_eq!(merged(&after, &sent).text, after);
    }
    let own = "```chart id=own\na\n```\n";
    assert_eq!(merged(own, &(placeholders(own).concat() + own)).text, own.repeat(2));
}

#[test]
fn an_element_that_is_written_out_is_not_dropped() {
    let chart = "> ```chart\n> a\n> ```\n";
    let image = format!("![x](data:image/png;base64,{})\n", "A".repeat(300));
    for element in [chart, &image] {
        let sent = format!("Text.\n\n{element}");
        let first = merged("Text.\n", &sent);
        assert_eq!((first.text.as_str(), first.dropped), (sent.as_str(), vec![]));
        let again = merged(&sent, &sent);
        assert_eq!((again.text, again.dropped), (sent.clone(), vec![]));
        let one_less = merged(&format!("{sent}\n{element}"), &sent);
        assert_eq!(one_less.dropped.len(), 1);
    }
    // Another closing fence makes another element.
    assert_eq!(merged("```chart\na\n```\n", "```chart\na\n````\n").dropped.len(), 1);
    let mixed = "one\r\n\n```chart\r\na\n```\n";
    assert_eq!(merged(mixed, "one\n\n```chart\na\n```\nmore\n").text, format!("{mixed}more\n"));
}

#[test]
fn an_element_that_would_be_bent_is_refused_although_an_equal_one_is_written_out() {
    let stored = "```chart\ntitle: Sales\n```\n";
    let id = view(stored, &ViewOptions::default()).elements[0].id.clone();
    let sent = format!("```vault-block id={id} kind=chart\nSales\n   ```\n\n{stored}");
    assert_eq!(refused(stored, &sent), MergeError::Unmovable { id });
}

#[test]
fn an_id_that_was_removed_leads_to_nothing_else() {
    // Among these are hashes that look like numbers.
    let block = |number: usize| format!("```vault-block id=c1 kind=sum\nTotal\n{number}\n```\n");
    for number in 0..200 {
        let stored = block(number) + &block(number + 1);
        let held = placeholders(&stored);
        let after = merged(&stored, &held[0]).text;
        assert_eq!(after, block(number));
        let id = view(&stored, &ViewOptions::default()).elements.swap_remove(1).id;
        assert_eq!(refused(&after, &held.concat()), MergeError::UnknownBlock { id });
    }
}

#[test]
fn lines_between_elements_keep_their_endings_when_a_text_is_sent_again() {
    let stored = "\r\n```chart\n\r\na\n\n```\n";
    let sent = format!("```chart\n\na\n\n```\n\n{}", placeholders(stored).concat());
    let after = merged(stored, &sent).text;
    assert_eq!(merged(&after, &sent).text, after);
}

#[test]
fn a_key_that_is_renamed_stays_where_it_was() {
    let stored = "---\nkey: 1\ntags: [a]\nother: 2\npinned: true\n---\nx\n";
    let renamed = stored.replace("key", "kex");
    assert_eq!(edited(stored, "key: 1", "kex: 1").as_deref(), Ok(&*renamed));
    assert_eq!(edited(&renamed, "kex: 1", "key: 1").as_deref(), Ok(stored));
    let swapped = "---\nkey: 1\ntags: [a]\nthird: 3\npinned: true\n---\nx\n";
    assert_eq!(edited(stored, "other: 2", "third: 3").as_deref(), Ok(swapped));
}

#[test]
fn comments_around_the_added_line_stay_and_take_no_key_s_place() {
    let stored = "---\npinned: true\na: 1\ngone: 2\ntitle: T\n---\nbody\n";
    let sent = "---\na: 1\n# note\ntype: Note\nnew: 2\n---\nbody\n";
    let after = merged(stored, sent).text;
    assert_eq!(after, "---\npinned: true\na: 1\n# note\nnew: 2\ntitle: T\n---\nbody\n");
    assert_eq!(merged(&after, sent).text, after);
}

#[test]
fn a_changed_key_keeps_the_end_of_its_line() {
    let stored = "---\r\ntype: Guide\nb: 1\r\nc: 1\n---\nbody\n";
    let changed = stored.replace("b: 1", "b: 2");
    assert_eq!(edited(stored, "b: 1", "b: 2").as_deref(), Ok(&*changed));
    assert_eq!(edited(&changed, "b: 2", "b: 1").as_deref(), Ok(stored));
}

#[test]
fn a_comment_that_was_shown_does_not_go_with_a_key_that_is_ignored() {
    for stored in ["---\n# note\n---\nbody\n", "---\na: 1\npinned: true\n# note\nb: 2\n---\nbody\n"] {
        let sent = shown(stored).replace("# note\n", "# note\ntitle: New\n");
        let after = merged(stored, &sent);
        assert_eq!((after.text.as_str(), after.ignored_keys), (stored, vec!["title".to_owned()]));
        assert_eq!(merged(stored, &sent.replace("# note\n", "")).text, stored.replace("# note\n", ""));
    }
}
