//! A version: an opaque token for one exact content.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Opaque token for the exact bytes of one file (an etag).
///
/// Two contents have the same version only when they are equal byte for byte. The text form is 32 lower-case
/// hexadecimal digits: the first 128 bits of the content's BLAKE3 hash.
///
/// ```
/// use vault_core::Version;
/// assert_eq!(Version::of(b"fern\n"), Version::of(b"fern\n"));
/// assert_ne!(Version::of(b"fern\n"), Version::of(b"fern\r\n"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Version(String);

impl Version {
    /// Returns the version of `bytes`.
    pub fn of(bytes: &[u8]) -> Version {
        Version(blake3::hash(bytes).to_hex().as_str()[..32].to_owned())
    }

    /// Takes a token that a caller sent. Any text is accepted: one that we never made matches no content.
    pub fn from_caller(token: &str) -> Version {
        Version(token.trim().to_owned())
    }

    /// Returns the token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
