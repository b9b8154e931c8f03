//! The real command, run as people and scripts run it: arguments in; output, errors and an exit code out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there, helpers included")]
#![allow(clippy::disallowed_methods, reason = "a test makes files, starts programs and looks at what they left")]

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

mod support;

use support::{Finished, Place};

#[test]
fn help_lists_every_command_and_the_rules() {
    let place = fern();
    insta::assert_snapshot!("help", place.vault(&["--help"]).stdout_text());
}

#[test]
fn the_arguments_of_a_command_come_from_its_schema() {
    let place = fern();
    insta::assert_snapshot!("help_edit_note", place.vault(&["edit-note", "--help"]).stdout_text());
    insta::assert_snapshot!("help_list_files", place.vault(&["list-files", "--help"]).stdout_text());
    insta::assert_snapshot!("help_list_notes", place.vault(&["list-notes", "--help"]).stdout_text());
}

#[test]
fn exit_codes_say_what_kind_of_refusal_it_was() {
    let place = fern().note("Twin.md", "one\n").note("Twin.markdown", "two\n");
    let cases: [(&[&str], i32); 12] = [
        (&["list-notes"], 0),
        (&["no-such-command"], 2),
        (&["read-note"], 2),
        (&["read-note", "Fern.md", "--offset", "many"], 2),
        (&["read-note", "Fern.md", "--offset=0"], 2),
        (&["read-note", "../outside.md"], 2),
        (&["read-note", "Missing.md"], 3),
        (&["read-note", "Twin"], 4),
        (&["update-note", "Fern.md", "x"], 5),
        (&["update-note", "Fern.md", "x", "--version", "stale"], 5),
        (&["create-folder", "Fern.md"], 5),
        (&["read-note", "Latin.md"], 1),
    ];
    fs::write(place.vault_folder().join("Latin.md"), b"caf\xe9\n").unwrap();
    for (arguments, code) in cases {
        let run = place.vault(arguments);
        assert_eq!(run.code(), code, "{arguments:?}: {}", run.stderr_text());
        assert_eq!(code == 0, run.stderr_text().is_empty(), "{arguments:?}");
        assert_eq!(code == 0, !run.stdout_text().is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_refusal_says_what_was_wrong_and_what_to_do_next() {
    let place = fern();
    let said = place.vault(&["read-note", "Missing.md"]).stderr_text();
    assert!(said.starts_with("error: there is no "), "{said}");
    assert!(said.lines().any(|line| line.starts_with("hint: ")), "{said}");
}

#[test]
fn json_is_an_answer_on_standard_output_or_a_refusal_on_standard_error() {
    let place = fern();
    let read = place.vault(&["--json", "read-note", "Fern.md"]);
    assert_eq!(read.json()["title"], "Fern");
    let refused = place.vault(&["read-note", "Missing.md", "--json"]);
    assert_eq!(refused.code(), 3);
    assert_eq!(refused.stdout_text(), "", "what reads answers gets none");
    let error: Value = serde_json::from_str(&refused.stderr_text()).unwrap();
    assert_eq!(error["error"]["code"], "not_found");
    assert_eq!(read.stderr_text(), "");
}

#[test]
fn plain_output_tells_the_version_without_mixing_it_with_the_text() {
    let place = fern();
    let read = place.vault(&["read-note", "Fern.md"]).well();
    assert_eq!(read.stdout_text(), place.vault(&["--json", "read-note", "Fern.md"]).json()["markdown"]);
    let told = read.stderr_text();
    let version = told.strip_prefix("version: ").and_then(|rest| rest.strip_suffix('\n')).unwrap();
    let edited = place.vault(&["edit-note", "Fern.md", "shade", "light", "--version", version]).well();
    assert!(edited.stderr_text().starts_with("version: "));
    assert_eq!(place.vault(&["read-note", "Fern.md", "--limit", "1"]).well().stderr_text(), "", "a part has none");
    assert_eq!(place.vault(&["list-notes"]).well().stderr_text(), "");
}

#[test]
fn a_note_is_read_changed_and_read_again() {
    let place = fern();
    let version = place.vault(&["--json", "read-note", "Fern.md"]).json()["version"].take();
    let version = version.as_str().unwrap();
    let edit = ["edit-note", "Fern.md", "shade", "light", "--version", version, "--json"];
    let edited = place.vault(&edit);
    assert_eq!(edited.code(), 0, "{}", edited.stdout_text());
    assert_eq!(place.text("Fern.md"), "# Fern\n\nA light loving plant.\n");
    assert_eq!(place.vault(&edit).code(), 5, "that version is gone");
}

#[test]
fn a_dash_reads_the_text_from_standard_input() {
    let place = fern();
    let text = "first line\n\n- last line without end";
    let created = place.vault_with_input(&["create-note", "From input", "--markdown", "-"], text.as_bytes());
    assert_eq!(created.code(), 0, "{}", created.stderr_text());
    assert_eq!(place.text("From input.md"), text);
    let version = place.vault(&["--json", "read-note", "From input.md"]).json()["version"].take();
    let update = ["update-note", "From input.md", "-", "--version", version.as_str().unwrap()];
    assert_eq!(place.vault_with_input(&update, b"all new\n").code(), 0);
    assert_eq!(place.text("From input.md"), "all new\n");
}

#[test]
fn an_edit_that_was_rebased_says_what_was_kept() {
    let place = fern();
    let made = place.vault(&["--json", "create-note", "Moss", "--markdown", "Moss\n\nA shade loving plant.\n"]).json();
    let (place, version) = (place.note("Moss.md", "Peat moss\n\nA shade loving plant.\n"), &made["version"]);
    let edit = ["edit-note", "Moss.md", "shade", "light", "--rebase", "--version", version.as_str().unwrap()];
    let edited = place.vault(&edit).well();
    let told = edited.stdout_text();
    assert!(told.contains("\nrebased: the note had changed since you read it, and this was kept:\n    "), "{told}");
    assert!(told.contains("\n    +Peat moss\n"), "{told}");
    assert_eq!(edited.stderr_text(), "", "the person does not hold that text");
}

#[test]
fn a_person_gets_lists_as_long_as_they_are() {
    let place = (0..300).fold(fern(), |place, number| place.note(&format!("A note with a long name {number}.md"), ""));
    let rows = place.vault(&["list-notes", "--limit", "1000"]).well().stdout_text();
    assert_eq!(rows.lines().count(), 301);
}

#[test]
fn standard_input_is_read_once_and_must_be_text() {
    let place = fern();
    let twice = place.vault_with_input(&["edit-note", "Fern.md", "-", "-", "--version", "x"], b"shade");
    assert_eq!(twice.code(), 2, "{}", twice.stderr_text());
    let binary = place.vault_with_input(&["create-note", "Binary", "--markdown", "-"], b"\xff\xfe");
    assert_eq!(binary.code(), 2, "{}", binary.stderr_text());
    assert!(!place.vault_folder().join("Binary.md").exists());
}

#[test]
fn texts_that_begin_with_a_dash_are_texts() {
    let place = fern().note("List.md", "- one\n- two\n");
    let version = place.vault(&["--json", "read-note", "List.md"]).json()["version"].take();
    let version = version.as_str().unwrap();
    let edited = place.vault(&["edit-note", "--version", version, "List.md", "--", "- two", "--three"]);
    assert_eq!(edited.code(), 0, "{}", edited.stderr_text());
    assert_eq!(place.text("List.md"), "- one\n--three\n");
}

#[test]
fn a_list_is_an_option_to_repeat() {
    let place = fern();
    let tagged = place.vault(&["--json", "update-tags", "Fern.md", "--add", "green", "--add", "old/fern"]);
    assert_eq!(tagged.code(), 0, "{}", tagged.stdout_text());
    let tags = tagged.json()["tags"].take();
    assert!(tags.as_array().unwrap().contains(&json!("green")), "{tags}");
    assert_eq!(tags.as_array().unwrap().len(), 2);
}

#[test]
fn the_vault_is_the_nearest_marked_folder_unless_one_is_named() {
    let place = fern();
    let deep = place.vault_folder().join("Garden/Shade");
    fs::create_dir_all(&deep).unwrap();
    let inside = |marked: bool| {
        if marked {
            fs::create_dir(place.vault_folder().join(".vault")).unwrap();
        }
        let mut command = place.command("vault", &["read-note", "Fern.md"]);
        command.env_remove("VAULT").current_dir(&deep).output().unwrap()
    };
    let lost = inside(false);
    assert_eq!(lost.code(), 2);
    assert!(lost.stderr_text().contains("`--vault`"), "{}", lost.stderr_text());
    assert_eq!(inside(true).code(), 0);
    let named = place.vault(&["--vault", "no such folder", "list-notes"]);
    assert_ne!(named.code(), 0, "what is named wins, also over the environment");
    assert_eq!(named.stderr_text().lines().filter(|line| line.starts_with("error: ")).count(), 1);
    assert!(named.stderr_text().contains("no such folder`: "), "the message names it: {}", named.stderr_text());
}

#[test]
fn switches_are_set_and_shown() {
    let place = fern();
    let state = |name: &str| place.vault(&["status", "--json"]).json()["switches"][name].take();
    assert_eq!(state("read"), json!({"set": null, "on": true}));
    assert_eq!(state("write"), json!({"set": null, "on": false}));
    place.vault(&["allow", "move", "delete"]);
    assert_eq!(state("move"), json!({"set": "allow", "on": false}), "move works only while write is on");
    let set = place.vault(&["allow", "write", "--json"]);
    assert_eq!(set.json(), place.vault(&["status", "--json"]).json());
    assert_eq!(state("move"), json!({"set": "allow", "on": true}));
    place.vault(&["deny", "delete"]);
    assert_eq!(state("delete"), json!({"set": "deny", "on": false}));
    place.vault(&["unset", "write,move,delete"]);
    assert_eq!(state("write"), json!({"set": null, "on": false}));
    assert_eq!(state("move"), json!({"set": null, "on": false}));
    assert_eq!(place.vault(&["allow", "everything"]).code(), 2);
}

#[test]
fn switches_do_not_bind_the_person() {
    let place = fern();
    place.vault(&["deny", "read", "write"]);
    assert_eq!(place.vault(&["read-note", "Fern.md"]).code(), 0);
    assert_eq!(place.vault(&["create-note", "Mine"]).code(), 0);
}

#[test]
fn nothing_in_the_vault_tells_what_agents_may_do_there() {
    let place = fern();
    place.vault(&["allow", "write"]);
    let names = |folder: &str| fs::read_dir(place.folder().join(folder)).unwrap().count();
    assert_eq!(names("vault"), 1, "only the note is there");
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_enough_is_no_error() {
    let place = fern().note("Long.md", &"line\n".repeat(100_000));
    let mut command = place.command("vault", &["read-note", "Long.md"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.code(), output.stderr_text().as_str()), (0, ""));
}

#[test]
fn a_refusal_cannot_command_the_terminal() {
    let place = fern();
    let said = place.vault(&["read-note", "\u{1b}[31mred.md"]).stderr_text();
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

/// A vault of one note.
fn fern() -> Place {
    Place::new().note("Fern.md", "# Fern\n\nA shade loving plant.\n")
}
