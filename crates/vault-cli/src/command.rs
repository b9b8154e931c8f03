//! Operations as subcommands: the command line made from a schema, and a request made from a command line.
//!
//! The rule, the same for every operation: required text arguments are positional, in order, except `version`; booleans
//! are flags; lists are options to repeat; everything else is an option. What is no text, number or boolean is written
//! as JSON. A text argument that is `-` is read from standard input.

use std::io::Read;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Map, Value};
use vault_core::{Entry, OPERATIONS, VaultError};

/// The argument that the operation itself asks for, because it knows how to get one.
const VERSION: &str = "version";

/// Returns the subcommand of `entry`.
pub fn command_of(entry: &Entry) -> Command {
    let schema = (entry.input_schema)();
    let arguments = properties(schema).map(|(name, property)| argument(name, property, is_required(schema, name)));
    Command::new(dashed(entry.name)).about(in_words_of_people(&entry.description())).args(arguments)
}

/// Returns the request that `matches` of the subcommand of `entry` stands for.
///
/// Reads `input` when an argument is `-`.
pub fn request(entry: &Entry, matches: &ArgMatches, input: impl Read) -> Result<Map<String, Value>, VaultError> {
    let mut input = Some(input);
    let mut request = Map::new();
    for (name, property) in properties((entry.input_schema)()) {
        let value = match kind(property) {
            Kind::Flag { default } => matches.get_flag(name).then_some(Value::Bool(!default)),
            Kind::One(kind) => match matches.get_one::<String>(name) {
                Some(text) => Some(value(name, kind, text, &mut input)?),
                None => None,
            },
            Kind::Many(kind) => match matches.get_many::<String>(name) {
                Some(texts) => Some(texts.map(|text| value(name, kind, text, &mut input)).collect::<Result<_, _>>()?),
                None => None,
            },
        };
        request.extend(value.map(|value| (name.to_owned(), value)));
    }
    Ok(request)
}

/// How a property is written on the command line.
enum Kind {
    Flag { default: bool },
    One(Scalar),
    Many(Scalar),
}

/// How one word is read.
#[derive(Clone, Copy)]
enum Scalar {
    Text,
    Integer,
    Json,
}

fn kind(property: &Value) -> Kind {
    let scalar = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("string") => Scalar::Text,
        Some("integer") => Scalar::Integer,
        _ => Scalar::Json,
    };
    match property.get("type").and_then(Value::as_str) {
        Some("boolean") => Kind::Flag { default: property.get("default") == Some(&Value::Bool(true)) },
        Some("array") => Kind::Many(property.get("items").map_or(Scalar::Json, scalar)),
        _ => Kind::One(scalar(property)),
    }
}

fn argument(name: &'static str, property: &'static Value, required: bool) -> Arg {
    let option = dashed(name);
    let argument = Arg::new(name).help(help(name, property, required));
    match kind(property) {
        Kind::Flag { default: false } => argument.long(option).action(ArgAction::SetTrue),
        Kind::Flag { default: true } => argument.long(format!("no-{option}")).action(ArgAction::SetTrue),
        Kind::One(Scalar::Text) if required && name != VERSION => {
            argument.value_name(value_name(name)).required(true).allow_hyphen_values(true)
        }
        Kind::One(scalar) => {
            valued(argument.long(option).required(required && name != VERSION), name, property, scalar)
        }
        Kind::Many(scalar) => {
            let items = property.get("items").unwrap_or(property);
            valued(argument.long(option).required(required), name, items, scalar).action(ArgAction::Append)
        }
    }
}

/// Returns what an argument means, and in brackets what the schema says besides, e.g. `[1 to 1000, default 200]`.
fn help(name: &str, property: &Value, required: bool) -> String {
    let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
    let words = in_words_of_people(description);
    let mut notes = Vec::new();
    match kind(property) {
        Kind::Flag { default: true } => return format!("Turn this off: {words}"),
        Kind::Many(_) => notes.push("repeat for several".to_owned()),
        Kind::One(_) if required && name == VERSION => notes.push("required".to_owned()),
        Kind::Flag { default: false } | Kind::One(_) => {}
    }
    match ["minimum", "maximum"].map(|bound| property.get(bound).and_then(Value::as_i64)) {
        [Some(least), Some(most)] => notes.push(format!("{least} to {most}")),
        [Some(least), None] => notes.push(format!("at least {least}")),
        [None, Some(most)] => notes.push(format!("at most {most}")),
        [None, None] => {}
    }
    match property.get("default") {
        Some(Value::String(default)) => notes.push(format!("default {default}")),
        Some(default) => notes.push(format!("default {default}")),
        None => {}
    }
    match notes.is_empty() {
        true => words,
        false => format!("{words} [{}]", notes.join(", ")),
    }
}

fn valued(argument: Arg, name: &str, schema: &'static Value, scalar: Scalar) -> Arg {
    let argument = match schema.get("enum").and_then(Value::as_array) {
        Some(choices) => argument.value_parser(PossibleValuesParser::new(choices.iter().filter_map(Value::as_str))),
        None => argument.value_parser(value_parser!(String)).allow_hyphen_values(true),
    };
    argument.value_name(match scalar {
        Scalar::Text => value_name(name),
        Scalar::Integer => "N".to_owned(),
        Scalar::Json => "JSON".to_owned(),
    })
}

fn value_name(name: &str) -> String {
    dashed(name).to_uppercase()
}

/// Returns `expand-blocks` for `expandBlocks` and `read-note` for `read_note`.
pub fn dashed(name: &str) -> String {
    name.chars().fold(String::new(), |mut dashed, letter| {
        if letter.is_uppercase() {
            dashed.push('-');
        }
        dashed.extend(if letter == '_' { '-' } else { letter }.to_lowercase());
        dashed
    })
}

/// Returns `text` with the names of commands where it has the names of tools, which is what agents call them.
pub fn in_words_of_people(text: &str) -> String {
    OPERATIONS.iter().fold(text.to_owned(), |text, entry| {
        text.replace(&format!("`{}`", entry.name), &format!("`vault {}`", dashed(entry.name)))
    })
}

fn value(name: &str, scalar: Scalar, text: &str, input: &mut Option<impl Read>) -> Result<Value, VaultError> {
    match scalar {
        Scalar::Text if text == "-" => whole_input(name, input).map(Value::String),
        Scalar::Text => Ok(Value::String(text.to_owned())),
        Scalar::Integer => text.parse::<i64>().map(Value::from).map_err(|_| refusal(name, "must be a whole number")),
        Scalar::Json => serde_json::from_str(text).map_err(|_| refusal(name, "must be JSON")),
    }
}

fn whole_input(name: &str, input: &mut Option<impl Read>) -> Result<String, VaultError> {
    let mut input = input.take().ok_or_else(|| refusal(name, "only one argument can be read from standard input"))?;
    let mut text = String::new();
    let read = input.read_to_string(&mut text);
    read.map_err(|error| refusal(name, &format!("cannot be read from standard input: {error}")))?;
    Ok(text)
}

fn refusal(argument: &str, problem: &str) -> VaultError {
    VaultError::InvalidArgument { argument: argument.to_owned(), problem: problem.to_owned() }
}

fn properties(schema: &'static Map<String, Value>) -> impl Iterator<Item = (&'static str, &'static Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, property)| (name.as_str(), property))
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|entry| entry == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dashed_whatever_style_they_come_in() {
        assert_eq!(dashed("read_note"), "read-note");
        assert_eq!(dashed("expandBlocks"), "expand-blocks");
        assert_eq!(dashed("limit"), "limit");
    }

    #[test]
    fn people_read_the_names_of_commands() {
        let hint = "call `list_notes` or `list_files`; `lists` and read_note stay";
        let words = "call `vault list-notes` or `vault list-files`; `lists` and read_note stay";
        assert_eq!(in_words_of_people(hint), words);
        assert!(OPERATIONS.iter().all(|entry| !in_words_of_people(&format!("`{}`", entry.name)).contains('_')));
    }

    #[test]
    fn every_operation_makes_a_sound_command() {
        for entry in vault_core::OPERATIONS {
            command_of(entry).debug_assert();
        }
    }
}
