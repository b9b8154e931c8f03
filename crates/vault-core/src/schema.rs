//! JSON Schemas of requests and responses in the plain form that every MCP client takes, and checks against them.
//!
//! Flat: no `$ref`, no `null` in types, no formats, no titles. Source: CONTRACT.md section 7; clients that refuse more
//! than that are common.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::error::VaultError;

/// Returns the schema of `T` as a plain object, made at the first call.
pub fn schema_of<T: JsonSchema + 'static>() -> &'static Map<String, Value> {
    static SCHEMAS: LazyLock<Mutex<HashMap<TypeId, &'static Map<String, Value>>>> = LazyLock::new(Mutex::default);
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    schemas.entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(generate::<T>())))
}

fn generate<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let schema = settings.with_transform(Plain).into_generator().into_root_schema_for::<T>();
    match schema.to_value() {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Checks `arguments` against the flat object schema `schema`, so that each refusal names the argument and its limits.
///
/// Missing arguments are left to the operation, which may know more about them than a schema says.
pub fn check(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Result<(), VaultError> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.and_then(|properties| properties.get(name));
    for (name, value) in arguments {
        let Some(property) = known(name) else {
            let names: Vec<&str> = properties.into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
            return Err(refusal(name, format!("there is no such argument; there are: {}", names.join(", "))));
        };
        check_value(property, value).map_err(|problem| refusal(name, problem))?;
    }
    Ok(())
}

/// Returns what is wrong with `value`, if anything is.
fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(kind) = schema.get("type").and_then(Value::as_str)
        && !has_type(value, kind)
    {
        return Err(format!("must be {}, not {}", article(kind), passed(value, kind)));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Err(format!("must be one of {}", choices.join(", ")));
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    if let Some(number) = value.as_f64() {
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_some_and(|least| number < least as f64) || most.is_some_and(|most| number > most as f64) {
            return Err(range_text(least, most));
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        let checked = values.iter().try_for_each(|value| check_value(items, value));
        return checked.map_err(|problem| format!("every item {problem}"));
    }
    Ok(())
}

fn range_text(least: Option<i64>, most: Option<i64>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("must lie between {least} and {most}"),
        (Some(least), None) => format!("must be at least {least}"),
        (_, most) => format!("must be at most {}", most.unwrap_or(i64::MAX)),
    }
}

fn refusal(argument: &str, problem: String) -> VaultError {
    const MOST_CHARS: usize = 64;
    VaultError::InvalidArgument { argument: argument.chars().take(MOST_CHARS).collect(), problem }
}

fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => type_of(value) == kind,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Names a value that is not of the type `wanted`.
fn passed(value: &Value, wanted: &str) -> String {
    match (value, wanted) {
        (Value::Number(number), "integer") => number.to_string(),
        _ => article(type_of(value)),
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "integer" => "a whole number".to_owned(),
        "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(map) = schema.as_object_mut() {
            for key in ["title", "format", "$schema"] {
                map.remove(key);
            }
            drop_null_type(map);
            list_choices(map);
            // What goes without saying costs every caller context: nothing, no, and that a count is not negative.
            map.retain(|key, value| !(key == "default" && is_nothing(value)));
            map.retain(|key, value| !(key == "minimum" && value.as_f64() == Some(0.0)));
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The documented choices of an enumeration (`oneOf` constants) become a plain `enum`.
fn list_choices(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let mut values = Vec::new();
    for choice in choices {
        let several = choice.get("enum").and_then(Value::as_array);
        match (choice.get("const"), several) {
            (Some(value), _) => values.push(value.clone()),
            (None, Some(several)) => values.extend(several.iter().cloned()),
            (None, None) => return,
        }
    }
    map.remove("oneOf");
    map.insert("type".into(), "string".into());
    map.insert("enum".into(), Value::Array(values));
}

/// `["string", "null"]` becomes `"string"`, and `anyOf: [X, null]` becomes X.
fn drop_null_type(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(mut choices)) = map.remove("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        match (choices.pop(), choices.is_empty()) {
            (Some(Value::Object(only)), true) => {
                for (key, value) in only {
                    map.entry(key).or_insert(value);
                }
            }
            (last, _) => {
                choices.extend(last);
                map.insert("anyOf".into(), Value::Array(choices));
            }
        }
    }
}
