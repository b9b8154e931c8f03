//! Writing a key with its value: lists and mappings in block style, what is nested in a list in flow style.

use super::{Value, scalar};

/// `key: value` with its line end.
pub(super) fn entry(key: &str, value: &Value, ending: &str) -> Option<String> {
    Some(format!("{}:{}", scalar::render(key), tail_of_key(value, 1, ending)?))
}

/// What follows the colon of a key at `level`, line end included.
pub(super) fn tail_of_key(value: &Value, level: usize, ending: &str) -> Option<String> {
    let indent = "  ".repeat(level);
    let mut out = String::new();
    match value {
        Value::List(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&format!("{ending}{indent}- {}", inline(item)?));
            }
        }
        Value::Map(pairs) if !pairs.is_empty() => {
            for (key, value) in pairs {
                let value = tail_of_key(value, level + 1, ending)?;
                out.push_str(&format!(
                    "{ending}{indent}{}:{}",
                    scalar::render(key),
                    value.trim_end_matches(['\r', '\n'])
                ));
            }
        }
        Value::Null => {}
        value => out.push_str(&format!(" {}", inline(value)?)),
    }
    out.push_str(ending);
    Some(out)
}

fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Scalar { .. } => scalar_text(value),
        Value::List(items) => Some(format!("[{}]", items.iter().map(inline).collect::<Option<Vec<_>>>()?.join(", "))),
        Value::Map(pairs) => {
            let pair = |(key, value): &(String, Value)| Some(format!("{}: {}", scalar::render(key), inline(value)?));
            Some(format!("{{{}}}", pairs.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", ")))
        }
        Value::Alias => None,
    }
}

pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::Scalar { text, plain: true } => Some(text.clone()),
        Value::Scalar { text, plain: false } => Some(scalar::render(text)),
        _ => None,
    }
}
