//! Tags as arguments.

use vault_markdown::{parse_tag, tag_within};

use crate::error::VaultError;
use crate::limits::MAX_TAGS;

/// Checks the tags that a caller passed as `argument`; a leading `#` is taken off.
pub(crate) fn parse_all(argument: &str, tags: &[String]) -> Result<Vec<String>, VaultError> {
    if tags.len() > MAX_TAGS {
        let problem = format!("has {} tags, and at most {MAX_TAGS} are taken", tags.len());
        return Err(VaultError::InvalidArgument { argument: argument.into(), problem });
    }
    let parse = |tag: &String| {
        parse_tag(tag)
            .map_err(|error| VaultError::InvalidArgument { argument: argument.into(), problem: error.to_string() })
    };
    tags.iter().map(parse).collect()
}

/// Tells whether each of `wanted` is among `tags`, itself or as a tag below it.
pub(crate) fn has_all(tags: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|wanted| tags.iter().any(|tag| tag_within(tag, wanted)))
}
