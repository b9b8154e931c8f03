//! What the documents say is what the programs do: `docs/tools.md` comes from the registry, the README's Rust compiles.
//!
//! `UPDATE_DOCS=1 cargo test -p vault-mcp --test docs` writes `docs/tools.md` anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there, helpers included")]
#![allow(clippy::disallowed_methods, reason = "a test makes files, starts programs and looks at what they left")]

use std::fmt::Write;
use std::fs;

use serde_json::{Map, Value};
use vault_core::{Entry, OPERATIONS};

mod support;

use support::repository;

const TOOLS: &str = "docs/tools.md";

#[test]
fn the_page_of_tools_is_up_to_date() {
    let page = tools_page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(repository().join(TOOLS), &page).unwrap();
    }
    assert_eq!(document(TOOLS), page, "write it anew with `UPDATE_DOCS=1 cargo test -p vault-mcp --test docs`");
}

#[test]
fn every_operation_is_described_and_so_is_every_argument() {
    for entry in OPERATIONS {
        assert!(entry.description().ends_with('.'), "{}", entry.name);
        for (name, property) in properties((entry.input_schema)()).chain(properties((entry.output_schema)())) {
            assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{}: {name}", entry.name);
        }
    }
}

#[test]
fn every_operation_is_in_the_readme_and_in_the_contract() {
    for document in ["README.md", "docs/CONTRACT.md"].map(|path| (path, document(path))) {
        for entry in OPERATIONS {
            assert!(document.1.contains(&format!("`{}`", entry.name)), "{} lacks {}", document.0, entry.name);
        }
    }
}

/// The body of this function is the README's example, word for word: it compiles, and it works.
#[test]
fn the_example_in_rust_does_what_the_readme_says() {
    let example = fenced(&document("README.md"), "rust");
    let own = document("tests/docs.rs");
    let body = own.split("// README begins\n").nth(1).unwrap().split("    // README ends\n").next().unwrap();
    let mine: Vec<&str> = body.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let theirs: Vec<&str> = example.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(mine, theirs);

    let place = support::Place::new().note("Garden/Fern.md", "Water it weekly.\n");
    run_example(&place.vault_folder()).unwrap();
    assert_eq!(place.text("Garden/Fern.md"), "Water it daily.\n");
}

#[rustfmt::skip]
fn run_example(folder: &std::path::Path) -> Result<(), vault_core::VaultError> {
    // README begins
    use vault_core::ops::{EditNote, ReadNote};
    use vault_core::{Call, Operation, Vault};

    let vault = Vault::open(folder)?;
    let note = ReadNote::new("Garden/Fern.md").run(&vault, &Call::begin("my-program"))?;
    let edit = EditNote {
        path: note.path,
        old_string: "weekly".into(),
        new_string: "daily".into(),
        version: note.version.map(|version| version.to_string()),
        ..EditNote::default()
    };
    edit.run(&vault, &Call::begin("my-program"))?;
    // README ends
    Ok(())
}

fn document(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_default()
}

/// Returns the text of the first fenced block of that language.
fn fenced(text: &str, language: &str) -> String {
    let block = text.split(&format!("```{language}\n")).nth(1).expect("there is such a block");
    block.split("```").next().unwrap().to_owned()
}

fn tools_page() -> String {
    let mut page = String::from(
        "# Tools\n\nMade from the program's own descriptions: what a model is told, and what `vault COMMAND --help` says. \
         [CONTRACT.md](CONTRACT.md)\nsays what holds for all of them.\n",
    );
    for entry in OPERATIONS {
        section(&mut page, entry);
    }
    page
}

fn section(page: &mut String, entry: &Entry) {
    let Entry { name, effect, .. } = entry;
    write!(page, "\n## `{name}`\n\n{}\n\nSwitch: {effect}.\n", entry.description()).unwrap();
    table(page, "argument", (entry.input_schema)());
    table(page, "answer", (entry.output_schema)());
}

fn table(page: &mut String, what: &str, schema: &Map<String, Value>) {
    write!(page, "\n| {what} | type | meaning |\n| --- | --- | --- |\n").unwrap();
    rows(page, "", schema, what == "argument");
}

fn rows(page: &mut String, above: &str, schema: &Map<String, Value>, arguments: bool) {
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|each| each == name));
    for (name, property) in properties(schema) {
        let always = schema.contains_key("required") && required(name);
        let note = match (arguments, always) {
            (true, true) => " Required.",
            (false, false) => " Not always there.",
            _ => "",
        };
        let text = property["description"].as_str().unwrap_or_default().replace('|', "\\|");
        writeln!(page, "| `{above}{name}` | {} | {text}{note} |", type_of(property)).unwrap();
        if let Some(items) = property["items"].as_object().filter(|items| items.contains_key("properties")) {
            rows(page, &format!("{above}{name}[]."), items, arguments);
        }
    }
}

fn type_of(property: &Value) -> String {
    let mut text = property["type"].as_str().unwrap_or("any").to_owned();
    if let Some(items) = property["items"]["type"].as_str() {
        text = format!("{text} of {items}s");
    }
    if let Some(choices) = property["enum"].as_array() {
        text =
            choices.iter().filter_map(Value::as_str).map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
    }
    match (property["minimum"].as_i64(), property["maximum"].as_i64()) {
        (Some(least), Some(most)) => text += &format!(" from {least} to {most}"),
        (Some(least), None) => text += &format!(" from {least}"),
        _ => {}
    }
    if let Some(default) = property.get("default") {
        text += &format!(", else {default}").replace('"', "`");
    }
    text
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}
