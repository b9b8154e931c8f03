//! What other programs changed since anybody looked: a watcher notes it, the next call takes it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits::MAX_NEWS;
use crate::path::VaultPath;

/// Watches folders on behalf of a vault, and notes in its [`News`] what happens there.
pub trait Watch: Send + Sync {
    /// Watches one folder from now on, but not those below it.
    fn begin(&self, folder: &VaultPath);
    /// No longer watches a folder and those below it: they are gone, or have other names.
    fn end(&self, folder: &VaultPath);
}

/// How what is known of a vault keeps up with the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keeping {
    /// Nobody follows the disk: each call compares everything.
    #[default]
    Nobody,
    /// Somebody has begun to, or does so from time to time: between, what is known may be a little old.
    Behind,
    /// All that happens is noted here at once.
    Watched,
}

/// Paths to look at again.
#[derive(Debug, Default)]
pub struct News(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    keeping: Keeping,
    paths: BTreeSet<VaultPath>,
    /// Looked at while everything is compared, which may have seen them as they were before.
    again: BTreeSet<VaultPath>,
    /// Counts how often something was missed.
    misses: u64,
}

/// What was missed up to a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misses(u64);

impl News {
    /// Notes that something happened at `path`, whatever it was.
    pub fn note(&self, path: VaultPath) {
        let mut noted = self.lock();
        if noted.keeping == Keeping::Nobody {
            // each call compares everything
            return;
        }
        if noted.paths.len() >= MAX_NEWS {
            // cheaper to compare everything
            noted.miss();
        }
        noted.paths.insert(path);
    }

    /// Notes that anything may have happened anywhere.
    pub fn miss(&self) {
        self.lock().miss();
    }

    /// Says that somebody follows the disk, and has yet to compare everything. Returns what [`News::watched`] takes
    /// afterwards.
    pub fn begin(&self) -> Misses {
        let mut noted = self.lock();
        noted.keeping = Keeping::Behind;
        noted.again.clear();
        Misses(noted.misses)
    }

    /// Says that nobody follows the disk after all.
    pub fn end(&self) {
        *self.lock() = Noted::default();
    }

    /// Says that everything was compared since [`News::begin`], and that all that happens is noted. `false` when
    /// something was missed meanwhile.
    pub fn watched(&self, since: Misses) -> bool {
        let mut noted = self.lock();
        let is_complete = noted.misses == since.0;
        if is_complete {
            noted.keeping = Keeping::Watched;
            let again = std::mem::take(&mut noted.again);
            noted.paths.extend(again);
        }
        is_complete
    }

    /// Tells how the disk is followed.
    pub fn keeping(&self) -> Keeping {
        self.lock().keeping
    }

    /// Hands over what was noted, `at_most` so many paths, and tells whether that was all.
    pub(crate) fn take(&self, at_most: usize) -> (BTreeSet<VaultPath>, bool) {
        let mut noted = self.lock();
        let mut taken = std::mem::take(&mut noted.paths);
        if let Some(first_left) = taken.iter().nth(at_most).cloned() {
            noted.paths = taken.split_off(&first_left);
        }
        (taken, noted.paths.is_empty())
    }

    /// Says that paths are looked at now. They are noted once more after everything was compared, when that goes on.
    pub(crate) fn looking_at(&self, paths: &BTreeSet<VaultPath>) {
        let mut noted = self.lock();
        if noted.keeping == Keeping::Behind {
            noted.again.extend(paths.iter().cloned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    fn miss(&mut self) {
        self.misses += 1;
        self.paths.clear();
        if self.keeping == Keeping::Watched {
            self.keeping = Keeping::Behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_while_everything_was_compared_is_looked_at_once_more() {
        let (news, path) = (News::default(), VaultPath::parse("a/b").expect("a path"));
        let begun = news.begin();
        news.note(path.clone());
        let (taken, is_all) = news.take(10);
        assert!(is_all);
        news.looking_at(&taken);
        assert!(news.watched(begun));
        assert_eq!(news.take(10), (BTreeSet::from([path.clone()]), true));
        news.looking_at(&BTreeSet::from([path]));
        assert_eq!(news.take(10).0.len(), 0, "nothing is compared at this moment");
    }

    #[test]
    fn much_is_taken_a_part_at_a_time() {
        let news = News::default();
        news.begin();
        let paths: Vec<VaultPath> =
            (0..5).map(|number| VaultPath::parse(&format!("{number}.md")).expect("a path")).collect();
        paths.iter().for_each(|path| news.note(path.clone()));
        let parts: Vec<_> = (0..3).map(|_| news.take(2)).collect();
        assert_eq!(parts.iter().map(|(part, _)| part.len()).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(parts.iter().map(|(_, is_all)| *is_all).collect::<Vec<_>>(), [false, false, true]);
        assert!(parts.into_iter().flat_map(|(part, _)| part).eq(paths));
    }
}
