//! The operations through the library: vault in, calls, exact answers and exact bytes out.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that looks at the disk itself")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use vault_core::ops::{EditNote, UpdateNote};
use vault_core::{Call, OPERATIONS, Operation, Reply, Vault, VaultError};

/// A vault on disk with a few shorthands; the folder goes with it.
struct Fixture {
    folder: TempDir,
    vault: Vault,
}

fn vault(files: &[(&str, &str)]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text.as_bytes());
    }
    let vault = Vault::open(folder.path()).unwrap();
    Fixture { folder, vault }
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, bytes).unwrap();
}

impl Fixture {
    fn call(&self, name: &str, arguments: Value) -> Result<Value, VaultError> {
        self.reply(name, arguments, &Call::begin("test")).map(|reply| reply.value())
    }

    fn reply(&self, name: &str, arguments: Value, call: &Call) -> Result<Reply, VaultError> {
        let entry = OPERATIONS.iter().find(|entry| entry.name == name).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        entry.call(arguments, &self.vault, call)
    }

    fn ok(&self, name: &str, arguments: Value) -> Value {
        self.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {}", error.to_json()))
    }

    /// Returns the refusal as callers get it; nothing on disk may have changed.
    fn refused(&self, name: &str, arguments: Value) -> Value {
        let before = self.tree();
        let refusal = self.call(name, arguments).err().unwrap_or_else(|| panic!("{name} is not refused"));
        assert_eq!(self.tree(), before, "{name} was refused and changed something");
        refusal.to_json()["error"].clone()
    }

    fn code(&self, name: &str, arguments: Value) -> String {
        self.refused(name, arguments)["code"].as_str().unwrap().to_owned()
    }

    fn version(&self, path: &str) -> Value {
        self.ok("read_note", json!({ "path": path }))["version"].clone()
    }

    fn markdown(&self, path: &str) -> String {
        self.ok("read_note", json!({ "path": path }))["markdown"].as_str().unwrap().to_owned()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    /// Every file with its bytes, `.vault` included, and every folder.
    fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let mut tree = BTreeMap::new();
        let mut waiting = vec![self.folder.path().to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.folder.path()).unwrap().to_string_lossy().into_owned();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                match (kind.is_dir(), kind.is_symlink()) {
                    (true, _) => waiting.push(path),
                    (_, true) => drop(tree.insert(name, b"a link".to_vec())),
                    (false, false) => drop(tree.insert(name, fs::read(path).unwrap())),
                }
            }
        }
        tree
    }

    fn n_records(&self) -> usize {
        self.vault.store().log().unwrap().records.len()
    }
}

#[test]
fn a_whole_read_has_a_version_and_a_part_has_none() {
    let fixture = vault(&[("a.md", "one\ntwo\nthree\n")]);
    let whole = fixture.ok("read_note", json!({"path": "a.md"}));
    assert_eq!(whole["markdown"], "---\ntype: Note\n---\none\ntwo\nthree\n");
    assert_eq!((&whole["totalLines"], &whole["partial"]), (&json!(6), &json!(false)));
    assert!(whole["version"].is_string());
    let part = fixture.ok("read_note", json!({"path": "a.md", "offset": 4, "limit": 2}));
    assert_eq!(part["markdown"], "one\ntwo\n");
    assert_eq!((&part["startLine"], &part["endLine"], &part["partial"]), (&json!(4), &json!(5), &json!(true)));
    assert_eq!(part["version"], Value::Null);
    let generous = fixture.ok("read_note", json!({"path": "a.md", "offset": 1, "limit": 100}));
    assert_eq!(generous["version"], whole["version"], "a range that covers everything is the whole note");
    let expanded = fixture.ok("read_note", json!({"path": "a.md", "expandBlocks": true}));
    assert_eq!(expanded["version"], Value::Null);
}

#[test]
fn managed_keys_come_as_fields() {
    let text = "---\ntitle: Fern\ntags: [plant, plant/green]\npinned: true\narchived: yes\ncreated: 2024-01-05\nowner: ada\n---\nText #inline.\n";
    let fixture = vault(&[("a.md", text)]);
    let read = fixture.ok("read_note", json!({"path": "a.md"}));
    assert_eq!(read["title"], "Fern");
    assert_eq!(read["tags"], json!(["plant", "plant/green", "inline"]));
    assert_eq!((&read["pinned"], &read["archived"]), (&json!(true), &json!(true)));
    assert_eq!(read["created"], "2024-01-05T00:00:00Z");
    assert_eq!(read["markdown"], "---\ntype: Note\nowner: ada\n---\nText #inline.\n");
}

#[test]
fn since_answers_unchanged_or_the_shorter_of_diff_and_text() {
    let long = (0..100).map(|line| format!("line {line}\n")).collect::<String>();
    let fixture = vault(&[("a.md", &long)]);
    let version = fixture.version("a.md");
    let same = fixture.ok("read_note", json!({"path": "a.md", "since": version}));
    assert_eq!((&same["unchanged"], &same["markdown"], &same["version"]), (&json!(true), &Value::Null, &version));
    write(fixture.folder.path(), "a.md", long.replace("line 50\n", "line fifty\n").as_bytes());
    let changed = fixture.ok("read_note", json!({"path": "a.md", "since": version}));
    assert!(changed["diff"].as_str().unwrap().contains("-line 50\n+line fifty\n"));
    assert_eq!(changed["markdown"], Value::Null);
    assert_eq!(changed["version"], fixture.version("a.md"));
    let unknown = fixture.ok("read_note", json!({"path": "a.md", "since": "0000"}));
    assert_eq!(unknown["diff"], Value::Null);
    assert!(unknown["markdown"].is_string());
}

#[test]
fn writing_back_what_was_read_changes_nothing_and_makes_no_record() {
    let fixture = vault(&[("a.md", "\u{feff}---\r\nzeta: 1\ntags: [x]\r\n---\r\nOne\r\ntwo\nno end")]);
    let before = fixture.tree();
    let read = fixture.ok("read_note", json!({"path": "a.md"}));
    let written =
        fixture.ok("update_note", json!({"path": "a.md", "markdown": read["markdown"], "version": read["version"]}));
    assert_eq!(written["version"], read["version"]);
    assert_eq!(written["operation"], Value::Null);
    assert_eq!(fixture.tree(), before);
}

#[test]
fn changing_a_note_needs_the_version_of_its_present_text() {
    let fixture = vault(&[("a.md", "one\n")]);
    let edit = |version: &Value| json!({"path": "a.md", "old_string": "one", "new_string": "1", "version": version});
    assert_eq!(
        fixture.code("edit_note", json!({"path": "a.md", "old_string": "one", "new_string": "1"})),
        "version_required"
    );
    assert_eq!(fixture.code("update_note", json!({"path": "a.md", "markdown": "x"})), "version_required");
    let version = fixture.version("a.md");
    write(fixture.folder.path(), "a.md", b"one\ntwo\n");
    let stale = fixture.refused("edit_note", edit(&version));
    assert_eq!(stale["code"], "stale_version");
    assert!(stale["diff"].as_str().unwrap().contains("+two"), "the way from what was read comes along");
    fixture.ok("edit_note", edit(&stale["currentVersion"]));
    assert_eq!(fixture.text("a.md"), "1\ntwo\n");
    let unknown = fixture.refused("edit_note", edit(&json!("never handed out")));
    assert_eq!((&unknown["currentVersion"], &unknown["diff"]), (&Value::Null, &Value::Null));
}

#[test]
fn an_edit_is_rebased_only_when_asked_and_only_over_other_lines() {
    let fixture = vault(&[("a.md", "one\ntwo\nthree\n")]);
    let version = fixture.version("a.md");
    write(fixture.folder.path(), "a.md", b"ONE\ntwo\nthree\n");
    let edit = |old: &str, rebase: bool| json!({"path": "a.md", "old_string": old, "new_string": "new", "version": version, "rebase": rebase});
    assert_eq!(fixture.code("edit_note", edit("three", false)), "stale_version");
    assert_eq!(fixture.code("edit_note", edit("one", true)), "stale_version");
    let rebased = fixture.ok("edit_note", edit("three", true));
    assert!(rebased["rebased"].as_str().unwrap().contains("+ONE"));
    assert_eq!(rebased["version"], Value::Null, "the caller does not hold that text");
    assert_eq!(fixture.text("a.md"), "ONE\ntwo\nnew\n");
}

#[test]
fn a_refused_edit_says_where_to_look() {
    let fixture = vault(&[("a.md", "one\ntwo\none\n")]);
    let version = fixture.version("a.md");
    let edit = |old: &str| json!({"path": "a.md", "old_string": old, "new_string": "x", "version": version});
    assert_eq!(fixture.code("edit_note", edit("three")), "no_match");
    assert_eq!(fixture.code("edit_note", edit("")), "invalid_argument");
    let twice = fixture.refused("edit_note", edit("one"));
    assert_eq!((&twice["code"], &twice["lines"]), (&json!("not_unique"), &json!([4, 6])));
    let all = json!({"path": "a.md", "old_string": "one", "new_string": "1", "version": version, "replace_all": true});
    assert_eq!(fixture.ok("edit_note", all)["replacements"], 2);
    assert_eq!(fixture.text("a.md"), "1\ntwo\n1\n");
}

#[test]
fn a_refusal_stays_short_whatever_was_asked() {
    let fixture = vault(&[("a.md", &"x x x\n".repeat(100))]);
    let edit = json!({"path": "a.md", "old_string": "x", "new_string": "y", "version": fixture.version("a.md")});
    let many = fixture.refused("edit_note", edit);
    assert_eq!(many["message"], "`old_string` occurs 300 times in `a.md`");
    assert_eq!(many["lines"], json!((4..24).collect::<Vec<_>>()), "each line once, and the first 20");
    let long = "x".repeat(200_000);
    let version = fixture.version("a.md");
    for (name, arguments) in [
        ("update_tags", json!({"path": "a.md", "add": [format!("{long} y")]})),
        (
            "update_note",
            json!({"path": "a.md", "version": version, "markdown": format!("```vault-block id={long} kind=chart\n```\n")}),
        ),
        ("create_note", json!({"title": "T", "markdown": format!("---\na: *{long}\n---\n")})),
        ("create_note", json!({"title": "T", "folder": long})),
        ("read_note", json!({"path": long})),
        ("list_notes", json!({"after": long})),
        ("list_notes", json!({ &long: 1 })),
        ("list_files", json!({"include": long})),
    ] {
        let refused = fixture.refused(name, arguments);
        assert!(refused.to_string().len() < 1_500, "{name}: {} bytes", refused.to_string().len());
    }
}

#[test]
fn an_element_survives_a_rewrite_by_its_placeholder_and_goes_with_it() {
    let chart = "```chart\ntype: bar\ntitle: Sales\nlabels: [a, b]\n```\n";
    let fixture = vault(&[("a.md", &format!("Intro\n\n{chart}\nEnd\n"))]);
    let read = fixture.markdown("a.md");
    assert!(!read.contains("labels"), "{read}");
    let at = read.find("```vault-block").unwrap();
    let end = at + read[at..].find("```\n").unwrap() + 4;
    let placeholder = &read[at..end];
    let moved = format!("{placeholder}\nIntro\n");
    let written =
        fixture.ok("update_note", json!({"path": "a.md", "markdown": moved, "version": fixture.version("a.md")}));
    assert_eq!(fixture.text("a.md"), format!("{chart}\nIntro\n"));
    assert_eq!(written["placeholders"].as_array().unwrap().len(), 1);
    let gone = fixture.ok("update_note", json!({"path": "a.md", "markdown": "Intro\n", "version": written["version"]}));
    assert_eq!(gone["droppedBlocks"][0]["label"], "Sales");
    let unknown = json!({"path": "a.md", "markdown": placeholder, "version": gone["version"]});
    assert_eq!(fixture.code("update_note", unknown), "unknown_block");
}

#[test]
fn a_text_that_was_stored_is_stored_again_although_equal_elements_went() {
    let chart = "```chart\ntitle: Sales\n```\n";
    let fixture = vault(&[("a.md", &format!("{chart}\n{chart}\nEnd\n"))]);
    let read = fixture.markdown("a.md");
    let sent = &read[read.rfind("```vault-block").unwrap()..];
    let update = |markdown: &str, version: &Value| {
        fixture.ok("update_note", json!({"path": "a.md", "markdown": markdown, "version": version}))
    };
    let first = update(sent, &fixture.version("a.md"));
    assert_eq!(first["droppedBlocks"].as_array().unwrap().len(), 1);
    let again = update(sent, &first["version"]);
    assert_eq!(
        (&again["version"], &again["droppedBlocks"], &again["operation"]),
        (&first["version"], &json!([]), &Value::Null)
    );
    let edit = json!({"path": "a.md", "old_string": "End", "new_string": "Fin", "version": first["version"]});
    let edited = fixture.ok("edit_note", edit);
    let held = sent.replace("End", "Fin");
    assert_eq!(update(&held, &edited["version"])["version"], edited["version"]);
    assert_eq!(fixture.text("a.md"), format!("{chart}\nFin\n"));
}

#[test]
fn a_write_answers_the_elements_that_the_note_has() {
    let fixture = vault(&[("a.md", "Intro\n")]);
    let ids = || -> Vec<String> {
        let read = fixture.markdown("a.md");
        read.split("vault-block id=").skip(1).map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
    };
    let sent = "Intro\n\n```chart\ntitle: Sales\n```\n";
    let first = json!({"path": "a.md", "markdown": sent, "version": fixture.version("a.md")});
    let first = fixture.ok("update_note", first);
    assert_eq!((&first["placeholders"], ids().len()), (&json!(ids()), 1));
    let more = json!({"path": "a.md", "old_string": "Intro\n", "new_string": "```vega\n{}\n```\n", "version": first["version"]});
    let edited = fixture.ok("edit_note", more);
    assert_eq!((&edited["placeholders"], ids().len()), (&json!(ids()), 2));
}

#[test]
fn an_element_that_is_written_out_again_is_not_dropped() {
    let fixture = vault(&[("a.md", "Intro\n")]);
    let sent = "Intro\n\n```chart\ntitle: Sales\n```\n";
    let update = |path: &str, version: &Value| {
        fixture.ok("update_note", json!({"path": path, "markdown": sent, "version": version}))
    };
    let updated = update("a.md", &fixture.version("a.md"));
    let made = fixture.ok("create_note", json!({"title": "B", "markdown": sent}));
    for (path, written) in [("a.md", updated), ("B.md", made)] {
        let again = update(path, &written["version"]);
        assert_eq!((&again["version"], &again["droppedBlocks"]), (&written["version"], &json!([])));
        assert_eq!(again["placeholders"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_new_note_never_takes_a_place_that_is_taken() {
    let fixture = vault(&[("Trip.md", "old\n"), ("sub/cafe\u{301}.md", "old\n")]);
    let made = fixture.ok("create_note", json!({"title": "trip", "markdown": "new"}));
    assert_eq!(made["path"], "trip 2.md");
    assert_eq!(fixture.text("trip 2.md"), "new");
    let made = fixture.ok("create_note", json!({"title": "café", "folder": "sub"}));
    assert_eq!(made["path"], "sub/café 2.md");
    assert_eq!(fixture.text("Trip.md"), "old\n");
}

#[test]
fn a_title_that_is_no_file_name_is_kept_in_the_frontmatter() {
    let fixture = vault(&[]);
    let made = fixture.ok("create_note", json!({"title": "Plan: A/B?", "folder": "New/Deep", "tags": ["#x/y"]}));
    assert_eq!((&made["path"], &made["title"]), (&json!("New/Deep/Plan- A-B-.md"), &json!("Plan: A/B?")));
    assert_eq!(made["tags"], json!(["x/y"]));
    assert_eq!(fixture.markdown("New/Deep/Plan- A-B-.md"), "---\ntype: Note\n---\n");
    for title in ["", "..", "../x", &"x".repeat(300)] {
        assert_eq!(fixture.code("create_note", json!({"title": title})), "invalid_argument", "{title}");
    }
    assert_eq!(fixture.code("create_note", json!({"title": "x", "folder": "../out"})), "invalid_path");
    assert_eq!(fixture.code("create_note", json!({"title": "x", "folder": "a*b"})), "invalid_argument");
    assert_eq!(
        fixture.code("create_note", json!({"title": "x", "folder": "new"})),
        "not_found",
        "only the case differs"
    );
    let in_the_way = fixture.refused("create_note", json!({"title": "x", "folder": "New/Deep/Plan- A-B-.md/Sub"}));
    assert_eq!(in_the_way["message"], "`folder`: `New/Deep/Plan- A-B-.md` is a file, not a folder");
    let made = fixture.ok("create_note", json!({"title": "Plan.md"}));
    assert_eq!((&made["path"], &made["title"]), (&json!("Plan.md"), &json!("Plan")));
    assert_eq!(fixture.text("Plan.md"), "");
    assert_eq!(
        fixture.code("create_note", json!({"title": "x", "markdown": "---\na: \"b\n---\n"})),
        "invalid_frontmatter"
    );
}

#[test]
fn links_that_lead_nowhere_and_links_that_a_new_note_catches_are_reported() {
    let fixture = vault(&[("a.md", "See [[Fern]] and [[Moss]].\n"), ("Moss.md", "")]);
    let made = fixture.ok("create_note", json!({"title": "Fern", "markdown": "[[Moss]] [[Nowhere]] [[Fern]]\n"}));
    assert_eq!(made["capturedLinks"], json!([{"path": "a.md", "target": "Fern"}]));
    assert_eq!(made["unresolvedWikilinks"], json!(["Nowhere"]));
}

#[test]
fn tags_change_without_a_version_and_without_touching_the_text() {
    let fixture = vault(&[("a.md", "---\nb: 1 # kept\ntags: [one] # mine\n---\nText #inline\n")]);
    let version = fixture.version("a.md");
    let changed = fixture
        .ok("update_tags", json!({"path": "a.md", "add": ["#two", "Inline"], "remove": ["ONE"], "version": version}));
    assert_eq!(changed["tags"], json!(["two", "inline"]));
    assert_eq!(changed["version"], fixture.version("a.md"));
    assert_eq!(fixture.text("a.md"), "---\nb: 1 # kept\ntags: [two] # mine\n---\nText #inline\n");
    let stale = fixture.ok("update_tags", json!({"path": "a.md", "remove": ["two", "inline"], "version": version}));
    assert_eq!((&stale["version"], &stale["inlineTags"]), (&Value::Null, &json!(["inline"])));
    assert_eq!(fixture.text("a.md"), "---\nb: 1 # kept\n---\nText #inline\n");
    let records = fixture.n_records();
    let same = fixture.ok("update_tags", json!({"path": "a.md", "add": ["inline"]}));
    assert_eq!((&same["operation"], fixture.n_records()), (&Value::Null, records), "held inline: nothing is written");
    for add in ["two words", "", "#", "a//b"] {
        assert_eq!(fixture.code("update_tags", json!({"path": "a.md", "add": [add]})), "invalid_argument", "{add:?}");
    }
}

#[test]
fn notes_are_found_by_the_spellings_that_mean_them_and_by_no_other() {
    let fixture =
        vault(&[("Sub/Fern.md", ""), ("cafe\u{301}.md", ""), ("both.md", ""), ("both.markdown", ""), ("data.csv", "")]);
    let path = |text: &str| fixture.ok("read_note", json!({"path": text}))["path"].clone();
    assert_eq!(path("Sub/Fern"), "Sub/Fern.md");
    assert_eq!(path("café.md"), "cafe\u{301}.md");
    assert_eq!(path("café"), "cafe\u{301}.md");
    let case = fixture.refused("read_note", json!({"path": "sub/fern.md"}));
    assert_eq!((&case["code"], &case["candidates"]), (&json!("not_found"), &json!(["Sub/Fern.md"])));
    let both = fixture.refused("read_note", json!({"path": "both"}));
    assert_eq!((&both["code"], both["candidates"].as_array().unwrap().len()), (&json!("ambiguous"), 2));
    assert_eq!(fixture.code("read_note", json!({"path": "data.csv"})), "not_a_note");
    assert_eq!(fixture.code("read_note", json!({"path": "Sub"})), "not_a_note");
    let near = fixture.refused("read_note", json!({"path": "Fren.md"}));
    assert_eq!(near["candidates"][0], "Sub/Fern.md");
    fs::remove_file(fixture.folder.path().join("Sub/Fern.md")).unwrap();
    let gone = fixture.refused("read_note", json!({"path": "Sub/Fern.md"}));
    assert_eq!(gone["candidates"], Value::Null, "what is gone is no suggestion");
}

#[test]
fn what_is_hidden_answers_like_what_is_not_there() {
    let shown = [("a.md", "text\n"), (".vaultignore", "private/\n*.secret.md\n")];
    let hidden =
        [("private/key.md", "k\n"), ("x.secret.md", "s\n"), (".obsidian/app.json", "{}"), (".hidden.md", "h\n")];
    let with = vault(&[&shown[..], &hidden[..]].concat());
    let without = vault(&shown);
    let calls = [
        ("list_notes", json!({})),
        ("list_files", json!({"include": "all"})),
        ("list_folders", json!({})),
        ("read_note", json!({"path": "private/key.md"})),
        ("read_note", json!({"path": "private/other.md"})),
        ("read_note", json!({"path": "private"})),
        ("read_note", json!({"path": "x.secret.md"})),
        ("read_note", json!({"path": "x.secret"})),
        ("read_file", json!({"path": ".obsidian/app.json"})),
        ("read_file", json!({"path": "private/key.md"})),
        ("list_notes", json!({"folder": "private"})),
        ("create_folder", json!({"path": "private/new"})),
        ("read_note", json!({"path": "key.md"})),
        ("read_note", json!({"path": "Private/key.md"})),
        ("create_note", json!({"title": "x.secret"})),
    ];
    let shape = |fixture: &Fixture, (name, arguments): &(&str, Value)| {
        let answer = fixture.call(name, arguments.clone()).unwrap_or_else(|error| error.to_json());
        let text = answer.to_string();
        text.split("\"updated\"")
            .map(|part| part.split_once(',').map_or(part, |(_, rest)| rest).to_owned())
            .collect::<String>()
    };
    for call in &calls {
        assert_eq!(shape(&with, call), shape(&without, call), "{call:?}");
    }
    let refused = with.refused("create_note", json!({"title": "x", "folder": "private"}));
    assert_eq!(refused["code"], "invalid_path");
    assert_eq!(with.code("create_note", json!({"title": "y.secret"})), "invalid_path", "it could not be seen again");
}

#[test]
fn lists_say_what_is_there_and_where_to_go_on() {
    let fixture = vault(&[
        ("a.md", "---\ntags: [x/y]\n---\nFirst text.\n"),
        ("sub/b.md", "#x\n"),
        ("sub/c.md", "---\narchived: true\n---\n"),
        ("sub/deep/d.csv", "1,2\n"),
        ("pic.png", "not really"),
    ]);
    fs::create_dir(fixture.folder.path().join("empty")).unwrap();
    let notes = fixture.ok("list_notes", json!({}));
    assert_eq!((&notes["total"], &notes["truncated"]), (&json!(3), &json!(false)));
    assert_eq!(fixture.ok("list_notes", json!({"includeArchived": true}))["total"], 4);
    assert_eq!(fixture.ok("list_notes", json!({"tags": ["#X"]}))["total"], 2);
    assert_eq!(fixture.ok("list_notes", json!({"tags": ["x/y", "x"]}))["total"], 1);
    assert_eq!(fixture.ok("list_notes", json!({"folder": "sub"}))["total"], 2);
    let mut seen = Vec::new();
    let mut after = Value::Null;
    loop {
        let page = fixture.ok("list_notes", json!({"limit": 1, "after": after, "includeExcerpt": true}));
        seen.extend(page["notes"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap().to_owned()));
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["a.md", "sub/b.md", "sub/deep/d.csv"]);
    let files = fixture.ok("list_files", json!({}));
    let paths: Vec<&str> = files["files"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["pic.png", "sub/deep/d.csv"]);
    let top = fixture.ok("list_files", json!({"recursive": false, "include": "all"}));
    assert_eq!(top["files"].as_array().unwrap().len(), 2);
    let folders = fixture.ok("list_folders", json!({}));
    let sub = json!({"path": "sub", "name": "sub", "documents": 2, "totalDocuments": 3, "folders": [
        {"path": "sub/deep", "name": "deep", "documents": 1, "totalDocuments": 1, "folders": []}]});
    let empty = json!({"path": "empty", "name": "empty", "documents": 0, "totalDocuments": 0, "folders": []});
    assert_eq!(folders["folders"], json!([empty, sub]));
    assert_eq!(fixture.ok("list_folders", json!({"depth": 1}))["folders"][1]["truncated"], true);
    assert_eq!(fixture.code("list_notes", json!({"limit": 0})), "invalid_argument");
    assert_eq!(fixture.code("list_notes", json!({"after": "nonsense"})), "invalid_argument");
    assert_eq!(fixture.code("list_notes", json!({"folder": "nowhere"})), "not_found");
}

#[test]
fn lines_are_found_with_true_totals_and_where_they_stand() {
    let fixture = vault(&[
        ("a/one.md", "---\ntags: [owl]\n---\nowl 1\nnone\nowl 2\n"),
        ("a/b/two.md", "---\narchived: true\n---\nowl 3\n"),
        ("c/three.md", "An OWL.\nowl 4"),
        ("c/[x].md", "owl 5\n"),
        ("sheet.csv", "owl\n"),
    ]);
    write(fixture.folder.path(), "bad.md", b"owl \xff\n");
    let grep = |arguments: Value| fixture.ok("grep_notes", arguments);
    let lines = |answer: &Value| -> Vec<String> {
        let rows = answer["matches"].as_array().unwrap().iter();
        rows.map(|row| format!("{}:{}", row["path"].as_str().unwrap(), row["line"])).collect()
    };

    let all = grep(json!({"pattern": "owl"}));
    assert_eq!(lines(&all), ["a/one.md:4", "a/one.md:6", "c/[x].md:4", "c/three.md:5"]);
    assert_eq!((&all["totalMatches"], &all["totalFiles"], &all["truncated"]), (&json!(4), &json!(3), &json!(false)));
    assert_eq!(all["skipped"], json!([{"path": "bad.md", "reason": "not_utf8"}]));
    assert_eq!(all.get("files"), None);

    let cut = grep(json!({"pattern": "owl", "limit": 1, "context": 1, "includeArchived": true}));
    let row = json!({"path": "a/b/two.md", "line": 4, "text": "owl 3", "before": ["---"], "after": []});
    assert_eq!(cut["matches"], json!([row]));
    assert_eq!((&cut["totalMatches"], &cut["truncated"]), (&json!(5), &json!(true)));

    let files = grep(json!({"pattern": "owl", "ignoreCase": true, "outputMode": "files"}));
    let counts = [("a/one.md", 2), ("c/[x].md", 1), ("c/three.md", 2)]
        .map(|(path, count)| json!({"path": path, "count": count}));
    assert_eq!(files["files"], json!(counts));

    for (path, expected) in [
        ("a", vec!["a/one.md:4", "a/one.md:6"]),
        ("c/", vec!["c/[x].md:4", "c/three.md:5"]),
        ("c/three", vec!["c/three.md:5"]),
        ("c/[x].md", vec!["c/[x].md:4"]),
        ("**/t*.md", vec!["c/three.md:5"]),
        ("*/one.md", vec!["a/one.md:4", "a/one.md:6"]),
        ("*.md", vec![]),
    ] {
        assert_eq!(lines(&grep(json!({"pattern": "owl", "path": path}))), expected, "{path}");
    }
    assert_eq!(fixture.code("grep_notes", json!({"pattern": "owl", "path": "nowhere"})), "not_found");
    assert_eq!(fixture.code("grep_notes", json!({"pattern": "owl", "path": "a[/"})), "invalid_argument");
    assert_eq!(fixture.code("grep_notes", json!({"pattern": "(", "regex": true})), "invalid_argument");
    assert_eq!(fixture.code("grep_notes", json!({"pattern": ""})), "invalid_argument");
}

#[test]
fn a_long_line_is_told_around_the_match_and_many_stay_within_an_answer() {
    let long = format!("{}owl{}\n", "é".repeat(5_000), "x".repeat(5_000));
    let fixture = vault(&[("a.md", &long), ("b.md", &"an owl sits here and waits for another one\n".repeat(600))]);
    let answer = fixture.ok("grep_notes", json!({"pattern": "owl", "limit": 500}));
    let text = answer["matches"][0]["text"].as_str().unwrap();
    assert!(text.starts_with('…') && text.contains("owl") && text.ends_with('…') && text.chars().count() < 450);
    assert!(answer.to_string().chars().count() <= 25_000);
    assert_eq!((&answer["totalMatches"], &answer["truncated"]), (&json!(601), &json!(true)));
}

#[test]
fn an_answer_of_grep_keeps_to_its_limit_whatever_stands_in_the_notes() {
    let fixture = vault(&[("a.md", &format!("{}owl\n", "\u{1}".repeat(390)).repeat(40)), ("b.md", "\"owl\\\"")]);
    let name = |n: usize| format!("{n:03}{}.md", "x".repeat(240));
    for n in 0..150 {
        write(fixture.folder.path(), &name(n), b"owl \xff\n");
    }
    for context in [0, 5] {
        let answer = fixture.ok("grep_notes", json!({"pattern": "owl", "context": context, "limit": 500}));
        let n_chars = answer.to_string().chars().count();
        assert!((15_000..=25_000).contains(&n_chars), "{n_chars}");
        assert_eq!((&answer["totalMatches"], &answer["totalFiles"]), (&json!(41), &json!(2)));
        assert_eq!((&answer["truncated"], &answer["totalSkipped"]), (&json!(true), &json!(150)));
        assert_eq!(answer["skipped"][0], json!({"path": name(0), "reason": "not_utf8"}));
        assert!(answer["matches"][0]["text"].as_str().unwrap().ends_with("owl"));
    }
}

#[test]
fn a_pattern_may_end_inside_a_character() {
    let fixture = vault(&[("a.md", &format!("{}é{}\nü\n", "☕".repeat(600), "☕".repeat(600)))]);
    for (pattern, n_lines) in
        [(r"(?-u)\xc3", 2), (r"(?-u)\xa9", 1), (r"(?-u:\xe2.)", 1), ("(?-u:.)$", 2), ("(?-u)[^a]", 2)]
    {
        let answer = fixture.ok("grep_notes", json!({"pattern": pattern, "regex": true, "context": 1}));
        assert_eq!(answer["totalMatches"], json!(n_lines), "{pattern}: {answer}");
        assert_eq!(answer["matches"].as_array().unwrap().len(), n_lines, "{pattern}");
    }
}

#[test]
fn a_place_to_search_is_named_as_everywhere() {
    let decomposed = "Cafe\u{301}";
    let fixture = vault(&[
        ("Projects/plan-a.md", "owl\n"),
        ("Projects/Old/plan-b.markdown", "owl\n"),
        (&format!("{decomposed}/menu.md"), "owl\n"),
        ("photo.png", "owl"),
    ]);
    let menu = format!("{decomposed}/menu.md");
    for (path, expected) in [
        ("Caf\u{e9}", vec![menu.as_str()]),
        ("Caf\u{e9}/*.md", vec![&menu]),
        ("Caf\u{e9}/m*", vec![&menu]),
        ("Projects/", vec!["Projects/Old/plan-b.markdown", "Projects/plan-a.md"]),
        ("Proj*/", vec!["Projects/Old/plan-b.markdown", "Projects/plan-a.md"]),
        ("Projects/plan-?", vec!["Projects/plan-a.md"]),
        ("**/plan-?", vec!["Projects/Old/plan-b.markdown", "Projects/plan-a.md"]),
        ("**/plan-{b,c}.*", vec!["Projects/Old/plan-b.markdown"]),
        ("projects/*", vec![]),
        ("Nowhere/*.md", vec![]),
        ("Nowhere*/", vec![]),
    ] {
        let answer = fixture.ok("grep_notes", json!({"pattern": "owl", "path": path, "outputMode": "files"}));
        let paths: Vec<&str> =
            answer["files"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
        assert_eq!(paths, expected, "{path}");
    }
    let refused = |path: &str| fixture.refused("grep_notes", json!({"pattern": "owl", "path": path}));
    for (path, code) in [
        ("Nowhere", "not_found"),
        ("Nowhere/", "not_found"),
        ("./Projects", "invalid_path"),
        ("./Projects/*", "invalid_path"),
        ("../*.md", "invalid_path"),
        ("/Projects/*", "invalid_path"),
        ("Projects//*", "invalid_path"),
        (".vault/*", "invalid_path"),
        ("photo.png", "not_a_note"),
        ("a[", "invalid_argument"),
        ("a[/", "invalid_argument"),
    ] {
        assert_eq!(refused(path)["code"], code, "{path}");
    }
    assert_eq!(refused("Project")["candidates"][0], "Projects");
    assert_eq!(refused("projects")["candidates"], json!(["Projects"]));
    let near = refused("Projects/plan-x")["candidates"].clone();
    assert!(near.as_array().unwrap().contains(&json!("Projects/plan-a.md")), "{near}");
}

#[test]
fn notes_are_searched_without_an_index_too() {
    let fixture = vault(&[
        ("Garden/Fern.md", "---\ntags: [plant/green]\n---\n# Fern\n\nLikes deep shade.\n"),
        ("Garden/Moss.md", "---\narchived: true\n---\nMoss likes shade.\n"),
        ("data.csv", "name;light\nfern;shade\n"),
    ]);
    let paths = |arguments: Value| -> Vec<String> {
        let answer = fixture.ok("search_notes", arguments);
        answer["results"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(json!({"query": "shade -csv", "tags": ["plant"]})), ["Garden/Fern.md"]);
    assert_eq!(paths(json!({"query": "fern shade"})).len(), 2);
    assert_eq!(paths(json!({"query": "moss"})), [""; 0]);
    assert_eq!(paths(json!({"query": "moss", "includeArchived": true})), ["Garden/Moss.md"]);
    assert_eq!(paths(json!({"query": "tag:plant/green"})), ["Garden/Fern.md"]);
    let answer = fixture.ok("search_notes", json!({"query": "shade unheard"}));
    assert_eq!((answer["results"].as_array().unwrap().len(), &answer["partial"]), (2, &json!(true)));
    let row = fixture.ok("search_notes", json!({"query": "deep"}))["results"][0].clone();
    assert_eq!((&row["line"], &row["heading"], &row["kind"]), (&json!(6), &json!("Fern"), &json!("note")));
    assert_eq!(row["snippet"], "# Fern Likes deep shade.");
    for query in ["", "*", "\"", "-"] {
        assert_eq!(paths(json!({"query": query})), [""; 0], "{query}");
    }
    assert_eq!(fixture.code("search_notes", json!({"query": "x", "after": "y"})), "invalid_argument");
    assert_eq!(fixture.code("search_notes", json!({"query": "x", "limit": 200})), "invalid_argument");
}

#[test]
fn long_lists_stay_within_an_answer() {
    let names: Vec<String> = (0..400)
        .map(|number| format!("A folder with a long name {number}/A note with a long name {number}.md"))
        .collect();
    let text = "word ".repeat(100);
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let fixture = vault(&files);
    for (name, arguments) in [
        ("list_notes", json!({"limit": 1000, "includeExcerpt": true})),
        ("list_files", json!({"limit": 5000, "include": "all"})),
        ("list_folders", json!({})),
    ] {
        let answer = fixture.ok(name, arguments.clone());
        assert!(answer.to_string().chars().count() < 25_000, "{name}");
        assert_eq!(answer["truncated"], true, "{name}");
        let call = Call { max_answer_chars: usize::MAX, ..Call::begin("test") };
        let whole = fixture.reply(name, arguments, &call).unwrap().value();
        assert_ne!(whole["truncated"], true, "{name}");
    }
}

#[test]
fn plain_rows_are_lines_whatever_stands_in_them() {
    let long = format!("---\ntitle: \"a\\tb\\e[31m\\u202E\"\n---\nFirst {}\n", "text ".repeat(8));
    let fixture = vault(&[("Beds/Children's bed.md", &long), ("Beds/Deep/b.md", "")]);
    let text = |name: &str, arguments: Value| fixture.reply(name, arguments, &Call::begin("test")).unwrap().text();
    let notes = text("list_notes", json!({"folder": "Beds", "includeExcerpt": true}));
    let row = notes.lines().find(|line| line.contains("Children")).unwrap();
    assert!(row.starts_with("Beds/Children's bed.md\ta\u{fffd}b\u{fffd}[31m\u{fffd}\t"), "{row:?}");
    assert!(notes.contains("\n    First text text"), "{notes}");
    let files = text("list_files", json!({"include": "all", "limit": 1}));
    assert!(files.ends_with("(1 file; the rest: --after 'Beds/Children'\\''s bed.md')\n"), "{files}");
    let folders = text("list_folders", json!({}));
    assert_eq!(folders, "Beds/  (1 document, 2 with the folders below)\n  Deep/  (1 document)\n");
}

#[test]
fn plain_files_are_read_as_stored() {
    let fixture = vault(&[("a.md", "---\ntitle: T\n---\r\nx\r\n"), ("b.txt", "1\n2\n3"), ("empty.txt", "")]);
    write(fixture.folder.path(), "pic.png", b"\x89PNG\xff");
    write(fixture.folder.path(), "latin.txt", b"caf\xe9");
    let read = |arguments: Value| fixture.ok("read_file", arguments);
    assert_eq!(read(json!({"path": "a.md"}))["content"], "---\ntitle: T\n---\r\nx\r\n");
    let part = read(json!({"path": "b.txt", "offset": 2, "limit": 1}));
    assert_eq!((&part["content"], &part["totalLines"], &part["partial"]), (&json!("2\n"), &json!(3), &json!(true)));
    assert_eq!(read(json!({"path": "empty.txt"}))["totalLines"], 0);
    assert_eq!(fixture.code("read_file", json!({"path": "pic.png"})), "unsupported_type");
    assert_eq!(fixture.code("read_file", json!({"path": "latin.txt"})), "not_utf8");
    assert_eq!(fixture.code("read_file", json!({"path": "b.txt", "offset": 4})), "invalid_argument");
}

#[test]
fn what_is_too_large_is_read_in_parts() {
    let fixture = vault(&[("big.md", &"line of text\n".repeat(100_000)), ("long.md", &"x".repeat(1_000_000))]);
    let refused = fixture.refused("read_note", json!({"path": "big.md"}));
    assert_eq!((&refused["code"], &refused["limit"]), (&json!("too_large"), &json!(1_048_576)));
    let part = fixture.ok("read_note", json!({"path": "big.md", "offset": 90_000, "limit": 2}));
    assert_eq!((&part["markdown"], &part["totalLines"]), (&json!("line of text\nline of text\n"), &json!(100_003)));
    assert!(fixture.ok("read_note", json!({"path": "long.md"}))["version"].is_string());
    write(fixture.folder.path(), "exact.md", &[b'x'; 1_048_576]);
    assert!(fixture.ok("read_note", json!({"path": "exact.md"}))["version"].is_string(), "up to 1 MiB, whole");
    write(fixture.folder.path(), "over.md", &[b'x'; 1_048_577]);
    assert_eq!(fixture.code("read_note", json!({"path": "over.md"})), "too_large");
}

#[test]
fn the_hint_of_what_is_too_large_says_what_works() {
    let line = "x".repeat(1_100_000);
    let image = format!("![]({}{})\n", "data:image/png;base64,", "A".repeat(1_100_000));
    let fixture = vault(&[
        ("big.md", &"line of text\n".repeat(100_000)),
        ("line.md", &format!("first\n{line}\nlast\n")),
        ("line.txt", &format!("first\n{line}\nlast\n")),
        ("image.md", &image),
    ]);
    let said = |tool: &str, arguments: Value| {
        let refused = fixture.refused(tool, arguments);
        format!("{}; {}", refused["message"].as_str().unwrap(), refused["hint"].as_str().unwrap())
    };
    let whole = said("read_note", json!({"path": "big.md"}));
    assert!(whole.ends_with("read fewer lines at a time, with `offset` and `limit`"), "{whole}");
    let half = said("read_note", json!({"path": "big.md", "offset": 5}));
    assert_eq!(half, whole);
    for (tool, path, number) in [("read_note", "line.md", 5), ("read_file", "line.txt", 2), ("read_file", "line.md", 2)]
    {
        let whole = said(tool, json!({"path": path}));
        assert!(whole.starts_with(&format!("line {number} of `{path}` alone is larger than")), "{whole}");
        assert_eq!(said(tool, json!({"path": path, "offset": number, "limit": 1})), whole);
        let after = fixture.ok(tool, json!({"path": path, "offset": number + 1}));
        assert!(after["markdown"] == "last\n" || after["content"] == "last\n", "what the hint says works");
    }
    assert!(fixture.ok("read_note", json!({"path": "image.md"}))["version"].is_string());
    let shown = said("read_note", json!({"path": "image.md", "expandBlocks": true}));
    assert!(shown.contains("without `expandBlocks`"), "{shown}");
}

#[test]
fn a_note_above_the_limit_is_changed_with_the_version_that_a_write_answered() {
    let fixture = vault(&[]);
    let made = fixture.ok("create_note", json!({"title": "Big", "markdown": "line of text\n".repeat(100_000)}));
    let part = fixture.ok("read_note", json!({"path": "Big.md", "limit": 5}));
    assert_eq!(part.get("version"), None);
    let edit = |version: &Value, old: &str| {
        let edit = json!({"path": "Big.md", "old_string": old, "new_string": "new", "version": version});
        fixture.ok("edit_note", edit)["version"].clone()
    };
    let all = "line of text\n".repeat(100_000);
    let version = edit(&made["version"], &all);
    edit(&version, "new");
}

#[test]
fn bytes_that_are_no_text_are_listed_and_never_rewritten() {
    let fixture = vault(&[("good.md", "text\n")]);
    write(fixture.folder.path(), "bad.md", b"caf\xe9\n");
    assert_eq!(fixture.ok("list_notes", json!({}))["total"], 2);
    assert_eq!(fixture.code("read_note", json!({"path": "bad.md"})), "not_utf8");
    assert_eq!(fixture.code("update_tags", json!({"path": "bad.md", "add": ["x"]})), "not_utf8");
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let fixture = vault(&[("a.md", "")]);
    let message =
        |name: &str, arguments: Value| fixture.refused(name, arguments)["message"].as_str().unwrap().to_owned();
    assert_eq!(message("read_note", json!({})), "`path`: is missing");
    assert_eq!(message("read_note", json!({"path": 1})), "`path`: must be a string, not a number");
    assert_eq!(message("read_note", json!({"path": "a.md", "limit": 1.5})), "`limit`: must be a whole number, not 1.5");
    assert!(
        message("read_note", json!({"path": "a.md", "offest": 1})).starts_with("`offest`: there is no such argument")
    );
    assert_eq!(message("list_notes", json!({"limit": 1001})), "`limit`: must lie between 1 and 1000");
    assert_eq!(
        message("list_files", json!({"include": "some"})),
        "`include`: must be one of \"files\", \"notes\", \"all\""
    );
    assert_eq!(message("list_notes", json!({"tags": [1]})), "`tags`: every item must be a string, not a number");
    fixture.ok("read_note", json!({"path": "a.md", "limit": null, "offset": 1.0}));
    fixture.ok("list_notes", json!({"tags": null, "includeArchived": null, "limit": null}));
    assert_eq!(message("update_tags", json!({"path": "a.md", "add": ["a b"]})).split(':').next(), Some("`add`"));
    assert_eq!(message("create_folder", json!({"path": "a?"})).split(':').next(), Some("`path`"));
    let no_version = json!({"path": "a.md", "markdown": "", "version": null});
    assert_eq!(fixture.code("update_note", no_version), "version_required");
}

#[test]
fn a_missing_version_is_asked_for_before_the_note_is_looked_for() {
    let fixture = vault(&[]);
    let edit = json!({"path": "missing.md", "old_string": "a", "new_string": "b"});
    assert_eq!(fixture.code("edit_note", edit), "version_required");
    let no_text = fixture.refused("update_note", json!({"path": "missing.md"}));
    assert_eq!(no_text["message"], "`markdown`: is missing");
    assert_eq!(fixture.code("update_note", json!({"path": "../x.md", "markdown": ""})), "invalid_path");
    assert_eq!(fixture.code("update_tags", json!({"path": "missing.md", "add": ["a"]})), "not_found");
    let call = Call::begin("test");
    let edit = EditNote { path: "missing.md".into(), ..EditNote::default() };
    assert_eq!(edit.run(&fixture.vault, &call).unwrap_err().code(), "version_required");
    let update = UpdateNote { path: "missing.md".into(), markdown: String::new(), version: None };
    assert_eq!(update.run(&fixture.vault, &call).unwrap_err().code(), "version_required");
    let malformed = UpdateNote { path: "../x.md".into(), markdown: String::new(), version: None };
    assert_eq!(malformed.run(&fixture.vault, &call).unwrap_err().code(), "invalid_path");
}

#[test]
fn an_empty_path_is_refused_in_words() {
    let fixture = vault(&[("a.md", "")]);
    let said = |name: &str, arguments: Value| fixture.refused(name, arguments)["message"].as_str().unwrap().to_owned();
    for (name, arguments) in [
        ("read_note", json!({"path": ""})),
        ("read_file", json!({"path": " "})),
        ("update_note", json!({"path": "", "markdown": "", "version": "x"})),
        ("edit_note", json!({"path": "", "old_string": "a", "new_string": "b"})),
        ("update_tags", json!({"path": "", "add": ["a"]})),
        ("create_folder", json!({"path": " "})),
        ("create_note", json!({"title": "T", "folder": " "})),
        ("list_notes", json!({"folder": " "})),
        ("list_files", json!({"path": " "})),
        ("list_folders", json!({"path": " "})),
    ] {
        let said = said(name, arguments);
        assert!(said.ends_with("cannot be used: the path is blank"), "{name}: {said}");
    }
    assert_eq!(said("create_folder", json!({"path": ""})), "the vault itself exists already");
    assert_eq!(said("create_folder", json!({"path": "."})), "the vault itself exists already");
}

#[cfg(unix)]
#[test]
fn what_no_path_can_name_is_not_listed() {
    let fixture = vault(&[("a.md", ""), ("C:x.md", ""), ("D:/b.md", ""), ("sub/C:y.md", ""), ("ab: c.md", "")]);
    let rows = |name: &str, key: &str| {
        let answer = fixture.ok(name, json!({}))[key].take();
        answer.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut notes = rows("list_notes", "notes");
    notes.sort();
    assert_eq!(notes, ["a.md", "ab: c.md", "sub/C:y.md"]);
    for path in notes {
        assert_eq!(fixture.ok("read_note", json!({ "path": path }))["path"], json!(path));
    }
    assert_eq!(rows("list_folders", "folders"), ["sub"]);
    assert_eq!(fixture.code("read_note", json!({"path": "C:x.md"})), "invalid_path");
}

#[test]
fn refusals_are_true_in_each_case() {
    let fixture = vault(&[("a.md", "text\n"), ("broken.md", "---\na: [1\n---\n")]);
    let said = |name: &str, arguments: Value| {
        let refused = fixture.refused(name, arguments);
        format!("{}; {}", refused["message"].as_str().unwrap(), refused["hint"].as_str().unwrap())
    };
    let made = said("create_note", json!({"title": "T", "markdown": "---\na: [1\n---\n"}));
    assert!(made.starts_with("the frontmatter of `T.md` cannot be used: line "), "{made}");
    assert!(made.contains("in the text you pass"), "{made}");
    let tagged = said("update_tags", json!({"path": "broken.md", "add": ["x"]}));
    assert!(tagged.contains("with `edit_note`"), "{tagged}");
    let invented = json!({"path": "a.md", "markdown": "x", "version": "invented"});
    assert!(
        said("update_note", invented).starts_with("`a.md` is not at the version you passed; call `read_note` again")
    );
}

#[test]
fn a_name_that_is_taken_out_of_sight_is_refused_and_not_told() {
    let fixture = vault(&[("a.md", ""), (".vaultignore", "private/\n"), ("private/x.md", "")]);
    for call in ["create_note", "create_folder"] {
        let arguments = match call {
            "create_note" => json!({"title": "x", "folder": "Private"}),
            _ => json!({"path": "Private/y"}),
        };
        let refused = fixture.refused(call, arguments);
        assert_eq!(refused["code"], "invalid_path", "{call}");
        assert!(!refused.to_string().contains("`private`"), "{refused}");
    }
}

#[test]
fn a_number_that_the_rules_leave_out_is_passed_over() {
    let fixture = vault(&[(".vaultignore", "Draft 3.md\n")]);
    let made = || fixture.ok("create_note", json!({"title": "Draft"}))["path"].clone();
    assert_eq!([made(), made(), made()], ["Draft.md", "Draft 2.md", "Draft 4.md"]);
    assert_eq!(fixture.refused("create_note", json!({"title": "Draft 3"}))["code"], "invalid_path");
}

#[test]
fn a_vault_that_is_gone_is_an_error_and_no_empty_vault() {
    let fixture = vault(&[("a.md", "")]);
    let place = fixture.folder.path().to_owned();
    let aside = place.with_extension("aside");
    fs::rename(&place, &aside).unwrap();
    let calls = [
        ("list_notes", json!({})),
        ("list_folders", json!({})),
        ("list_files", json!({})),
        ("read_note", json!({"path": "a.md"})),
    ];
    for another_has_its_name in [false, true] {
        if another_has_its_name {
            fs::create_dir(&place).unwrap();
        }
        for (name, arguments) in &calls {
            let refusal = fixture.call(name, arguments.clone()).unwrap_err();
            assert!(matches!(refusal, VaultError::VaultUnavailable { .. }), "{name}: {refusal}");
        }
    }
    fs::remove_dir(&place).unwrap();
    fs::rename(&aside, &place).unwrap();
    assert_eq!(fixture.ok("list_notes", json!({}))["total"], 1);
}

#[test]
fn a_link_to_a_hidden_file_does_not_tell_its_name() {
    let fixture = vault(&[("a.md", ""), (".vaultignore", "secret.md\n"), ("secret.md", "s"), ("open.md", "o")]);
    std::os::unix::fs::symlink("secret.md", fixture.folder.path().join("leak.md")).unwrap();
    std::os::unix::fs::symlink("open.md", fixture.folder.path().join("link.md")).unwrap();
    let refused = fixture.refused("read_note", json!({"path": "leak.md"}));
    assert!(refused["code"] == "invalid_path" && !refused.to_string().contains("secret"), "{refused}");
    assert_eq!(fixture.refused("read_note", json!({"path": "link.md"}))["candidates"], json!(["open.md"]));
}

#[test]
fn a_row_stays_a_row_whatever_the_frontmatter_says() {
    let tags: String = (0..5_000).map(|number| format!("  - tag-number-{number}\n")).collect();
    let text = format!("---\ntitle: {}\ntags:\n{tags}---\n", "long ".repeat(10_000));
    let fixture = vault(&[("a.md", &text), ("b.md", &text)]);
    let answer = fixture.ok("list_notes", json!({}));
    assert!(answer.to_string().chars().count() < 25_000);
    assert_eq!(answer["notes"].as_array().unwrap().len(), 2);
    assert_eq!(fixture.ok("list_notes", json!({"tags": ["tag-number-4999"]}))["total"], 2);
}

#[test]
fn a_title_that_leaves_no_room_for_a_number_is_cut_for_it() {
    let title = "x".repeat(252);
    let fixture = vault(&[(&format!("{title}.md"), "")]);
    assert_eq!(fixture.ok("create_note", json!({"title": title}))["path"], format!("{} 2.md", "x".repeat(250)));
    assert_eq!(fixture.refused("create_note", json!({"title": "x".repeat(253)}))["code"], "invalid_argument");
}

#[test]
fn a_folder_is_made_with_those_above_it_and_only_once() {
    let fixture = vault(&[("a.md", "")]);
    assert_eq!(fixture.ok("create_folder", json!({"path": "one/two"}))["path"], "one/two");
    assert_eq!(fixture.code("create_folder", json!({"path": "one/two"})), "exists");
    assert_eq!(fixture.code("create_folder", json!({"path": "ONE/three"})), "not_found");
    let taken = fixture.refused("create_folder", json!({"path": "one/TWO"}));
    assert_eq!((&taken["code"], &taken["path"]), (&json!("exists"), &json!("one/two")));
    assert_eq!(fixture.code("create_folder", json!({"path": "a.md/x"})), "exists");
    assert_eq!(fixture.code("create_folder", json!({"path": "what?"})), "invalid_argument");
    assert_eq!(fixture.code("create_folder", json!({"path": ""})), "exists");
}

#[test]
fn reading_makes_nothing() {
    let fixture = vault(&[("a.md", "[[b]]\n")]);
    let before = fixture.tree();
    for (name, arguments) in [
        ("list_notes", json!({})),
        ("read_note", json!({"path": "a.md"})),
        ("list_folders", json!({})),
        ("list_files", json!({})),
    ] {
        fixture.ok(name, arguments);
    }
    assert_eq!(fixture.tree(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the bytes of a note: writing back what was read changes no byte, no version and no record.
    #[test]
    fn writing_back_is_nothing(text in "(\u{feff})?(---\r?\n(title: x\r?\n|own: [1, 2]\n|# c\n|tags:\n  - a\n|bad: \"\n)*---\r?\n)?([a-z#>` *|\\[\\]é日\u{301}-]{0,12}\r?\n){0,12}[a-z]{0,3}") {
        let fixture = vault(&[("a.md", &text)]);
        let before = fixture.tree();
        let read = fixture.ok("read_note", json!({"path": "a.md"}));
        let written = fixture.ok("update_note", json!({"path": "a.md", "markdown": read["markdown"], "version": read["version"]}));
        prop_assert_eq!(&written["version"], &read["version"]);
        prop_assert_eq!(fixture.tree(), before);
    }

    /// An edit and the inverse edit lead back to the first bytes, and the log holds every text on the way.
    #[test]
    fn an_edit_and_its_inverse_are_nothing(lines in proptest::collection::vec("[a-z]{1,8}(\r?\n)", 1..8), at in any::<prop::sample::Index>()) {
        let mut lines = lines;
        let place = at.index(lines.len());
        lines.insert(place, "MARK\r\n".into());
        let text = lines.concat();
        let fixture = vault(&[("a.md", &text)]);
        let edit = |old: &str, new: &str, version: &Value| fixture.ok("edit_note", json!({"path": "a.md", "old_string": old, "new_string": new, "version": version}));
        let first = fixture.version("a.md");
        let there = edit("MARK", "SIGN\nTWO", &first);
        let changed = fixture.text("a.md");
        let back = edit("SIGN\nTWO", "MARK", &there["version"]);
        prop_assert_eq!(&back["version"], &first);
        prop_assert_eq!(fixture.text("a.md"), text.clone());
        let kept = |version: &Value| fixture.vault.store().content_of(&serde_json::from_value(version.clone()).unwrap()).unwrap();
        prop_assert_eq!(kept(&first), Some(text.clone().into_bytes()));
        prop_assert_eq!(kept(&there["version"]), Some(changed.into_bytes()));
    }
}
