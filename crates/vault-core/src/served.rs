//! The texts this process served last: they turn an old version into a diff. Pure memory, bounded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::limits::SERVED_TEXT_BYTES;
use crate::path::VaultPath;
use crate::version::Version;

/// Stored texts behind what callers saw, by note and version; the oldest go first when memory is used up.
#[derive(Debug, Default)]
pub(crate) struct Served {
    texts: HashMap<Key, Arc<str>>,
    order: VecDeque<Key>,
    bytes: usize,
}

type Key = (VaultPath, Version);

impl Served {
    /// Keeps the text that has `version`, which a caller got.
    pub(crate) fn keep(&mut self, path: &VaultPath, version: &Version, text: &str) {
        let key = (path.clone(), version.clone());
        if text.len() > SERVED_TEXT_BYTES || self.texts.contains_key(&key) {
            return;
        }
        self.bytes += text.len();
        self.texts.insert(key.clone(), text.into());
        self.order.push_back(key);
        while self.bytes > SERVED_TEXT_BYTES {
            let oldest = self.order.pop_front().expect("bytes are counted, so a text is there");
            self.bytes -= self.texts.remove(&oldest).map_or(0, |text| text.len());
        }
    }

    /// Returns the text of this version of this note, when it is still known.
    pub(crate) fn text(&self, path: &VaultPath, version: &Version) -> Option<Arc<str>> {
        self.texts.get(&(path.clone(), version.clone())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_texts_go_when_memory_is_used_up() {
        let mut served = Served::default();
        let path = VaultPath::parse("a.md").unwrap();
        let text = "x".repeat(SERVED_TEXT_BYTES / 3);
        let version = |number: u8| Version::of(&[number]);
        for number in 0..5 {
            served.keep(&path, &version(number), &text);
        }
        let known: Vec<bool> = (0..5).map(|number| served.text(&path, &version(number)).is_some()).collect();
        assert_eq!(known, [false, false, true, true, true]);
        assert!(served.bytes <= SERVED_TEXT_BYTES);
    }
}
