//! How what is known of a vault keeps up with the disk: comparing everything, or looking at what was noted.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use vault_markdown::Document;

use crate::call::Call;
use crate::catalog::{Catalog, File, Note};
use crate::error::VaultError;
use crate::index::Told;
use crate::limits::{MAX_LOOKS, MAX_NOTE_BYTES, MAX_TOLD, RECENT};
use crate::news::Keeping;
use crate::path::{FileKind, VaultPath};
use crate::rules::Rules;
use crate::store::{Care, EntryKind, Stat, Visited, Visitor};
use crate::vault::{Vault, lock};

/// What is known of the files, and since when.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) catalog: Arc<Catalog>,
    /// When everything was last compared with the disk, and by which rules.
    compared: Option<(Timestamp, Arc<Rules>)>,
}

/// Takes in texts as they are read, from several threads.
pub type Intake<'a> = dyn Fn(&VaultPath, Told) + Sync + 'a;

/// What a walk found to be otherwise than it was known.
pub struct Survey {
    rules: Arc<Rules>,
    folders: BTreeSet<VaultPath>,
    /// Notes that are as they were known, for a catalog that does not have them.
    seeded: Vec<(Difference, Arc<Note>)>,
    /// Notes and sheets to be read.
    changed: Vec<(Difference, Stat)>,
    /// Other files that are new or changed.
    files: Vec<(VaultPath, Stat)>,
    gone: Vec<Difference>,
}

/// A path at which there is something else than was known.
#[derive(Debug)]
struct Difference {
    path: VaultPath,
    /// What the catalog said. When it says something else by now, a write of ours told it, which is newer.
    before: Option<Arc<Note>>,
}

impl Survey {
    /// Returns how many files have to be read.
    pub fn n_changed(&self) -> usize {
        self.changed.len()
    }

    /// Returns how many files are gone.
    pub fn n_gone(&self) -> usize {
        self.gone.len()
    }

    /// Returns the files that are gone.
    pub fn gone(&self) -> impl Iterator<Item = &VaultPath> {
        self.gone.iter().map(|gone| &gone.path)
    }
}

/// Notes as somebody knew them, by path.
pub type Seeds = HashMap<VaultPath, Arc<Note>, foldhash::fast::RandomState>;

impl Vault {
    /// Returns the catalog as the disk is now: costs a walk, and a look into the files that changed, unless somebody
    /// follows the disk.
    ///
    /// `timeout` when the call's time is over; nothing is kept then.
    pub fn catalog(&self, call: &Call) -> Result<Arc<Catalog>, VaultError> {
        let rules = self.rules()?;
        while self.follows(&rules) {
            // something may be missed while we look
            if self.look_at_news(&rules, call)? && self.follows(&rules) {
                return Ok(self.known_catalog());
            }
        }
        // One comparison at a time; reads and writes go on meanwhile.
        let _turn = lock(&self.comparing);
        if !self.follows(&rules) {
            let survey = self.survey(|| self.indexed(), call)?;
            self.adopt(survey, None, call)?;
        }
        Ok(self.known_catalog())
    }

    /// Returns the catalog as it was not long before the call, own writes included: for reports, not for decisions.
    pub(crate) fn recent_catalog(&self, call: &Call) -> Result<Arc<Catalog>, VaultError> {
        let known = lock(&self.known);
        let is_recent = |(compared, _): &(Timestamp, _)| call.now.duration_since(*compared) <= RECENT;
        match known.compared.as_ref().is_some_and(is_recent) {
            true => Ok(Arc::clone(&known.catalog)),
            false => {
                drop(known);
                self.catalog(call)
            }
        }
    }

    /// Returns the catalog as far as it is known, own writes included; nothing is looked at.
    pub(crate) fn known_catalog(&self) -> Arc<Catalog> {
        Arc::clone(&lock(&self.known).catalog)
    }

    /// Brings what is known up to date as far as that is quick, and tells whether it is complete then: when very much has
    /// changed at once, it takes more than one call.
    ///
    /// Changes by other vault processes of this machine are always known afterwards.
    pub fn freshen(&self, call: &Call) -> Result<bool, VaultError> {
        if self.news.keeping() == Keeping::Nobody {
            return self.catalog(call).map(|_| true);
        }
        let rules = self.rules()?;
        let has_seen_all = self.look_at_news(&rules, call)?;
        Ok(has_seen_all && self.follows(&rules))
    }

    /// Tells whether all that happens is noted, so that nothing need be compared. Not after `.vaultignore` changed.
    pub fn is_followed(&self) -> bool {
        self.rules().is_ok_and(|rules| self.follows(&rules))
    }

    fn follows(&self, rules: &Arc<Rules>) -> bool {
        let by_these = |(_, compared): &(Timestamp, Arc<Rules>)| Arc::ptr_eq(compared, rules);
        self.news.keeping() == Keeping::Watched && lock(&self.known).compared.as_ref().is_some_and(by_these)
    }

    /// Returns what the index knows, as long as the catalog knows nothing.
    fn indexed(&self) -> Option<Seeds> {
        let is_first = lock(&self.known).compared.is_none();
        self.index().filter(|_| is_first).map(|index| index.known().into_iter().collect())
    }

    /// Walks the vault and tells what differs from what is known: from what an index has, which is looked up meanwhile, or
    /// from the catalog alone. Folders that are found are watched, when somebody does that.
    pub fn survey(&self, indexed: impl FnOnce() -> Option<Seeds> + Send, call: &Call) -> Result<Survey, VaultError> {
        let rules = self.rules()?;
        // What other processes write from now on is told by the log, and what they wrote just now need not wait for the end.
        self.store().tail(call.now)?.paths.into_iter().for_each(|path| self.news.note(path));
        let before = self.known_catalog();
        if let Some(watch) = self.watch() {
            watch.begin(&VaultPath::root());
        }
        let (found, indexed) = self.store().walk_while(&|path, kind| self.is_entered(&rules, path, kind), indexed)?;
        Ok(Survey::of(rules, found, &before, indexed))
    }

    /// Tells whether a walk lists an entry; a folder is watched before its entries are listed.
    fn is_entered(&self, rules: &Rules, path: &VaultPath, kind: EntryKind) -> bool {
        if rules.hide(path, kind == EntryKind::Folder) {
            return false;
        }
        if let (EntryKind::Folder, Some(watch)) = (kind, self.watch()) {
            watch.begin(path);
        }
        true
    }

    /// Reads what a survey found changed, and makes the catalog what the survey found. Texts go to `intake` as they are
    /// read, or else to the index, if there is one.
    pub fn adopt(&self, survey: Survey, intake: Option<&Intake>, call: &Call) -> Result<(), VaultError> {
        let Survey { rules, folders, seeded, changed, files, gone } = survey;
        let looked = self.read_changed(changed, intake, call)?;
        let mut known = lock(&self.known);
        known.put_all(seeded);
        looked.into_iter().for_each(|look| self.settle(&mut known, look));
        for (path, stat) in files {
            known.change().put_file(path, File { stat });
        }
        for difference in gone {
            if known.put(&difference, None) {
                self.tell_index(&difference.path, None);
            }
        }
        known.change().folders = folders;
        known.compared = Some((call.now, rules));
        Ok(())
    }

    /// Makes of a file what a look found.
    fn settle(&self, known: &mut Known, look: Look) {
        let path = &look.difference.path;
        let is_news = match path.is_note() {
            true => known.put(&look.difference, Some(look.note)),
            false => {
                known.change().put_file(path.clone(), File { stat: look.note.stat.clone() });
                true
            }
        };
        if let (true, Some(told)) = (is_news, look.told) {
            self.tell_index(path, Some(*told));
        }
    }

    /// Reads notes and sheets on several threads.
    fn read_changed(
        &self,
        changed: Vec<(Difference, Stat)>,
        intake: Option<&Intake>,
        call: &Call,
    ) -> Result<Vec<Look>, VaultError> {
        let looked: Mutex<Vec<Look>> = Mutex::default();
        let refused: Mutex<Option<VaultError>> = Mutex::default();
        let (texts, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(file, _)| file.path.is_text());
        let paths: Vec<&VaultPath> = texts.iter().map(|(file, _)| &file.path).collect();
        let index = self.index().filter(|_| intake.is_none());
        let tells_index = index.is_some() && texts.len() <= MAX_TOLD;
        if let Some(index) = index.filter(|_| !tells_index) {
            index.lag();
        }
        let tells = intake.is_some() || tells_index;
        let take_in = |(file, stat): &(Difference, Stat), visited: Option<Result<Visited, VaultError>>| {
            let mut look = Look::of(file, stat, visited, tells, call.now);
            if let (Some(intake), Some(told)) = (intake, look.told.take_if(|_| intake.is_some())) {
                intake(&file.path, *told);
            }
            lock(&looked).push(look);
        };
        let begin = || -> Visitor<'_> {
            Box::new(|place, visited| {
                if let Err(refusal) = call.check() {
                    *lock(&refused) = Some(refusal);
                    return ControlFlow::Break(());
                }
                take_in(&texts[place], Some(visited));
                ControlFlow::Continue(())
            })
        };
        others.iter().for_each(|file| take_in(file, None));
        self.store().visit(&paths, Care::Whole, MAX_NOTE_BYTES, &begin);
        if let Some(refusal) = refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(refusal);
        }
        Ok(looked.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at what other processes of ours wrote, and at what was noted; of the latter, at so much that a call need not
    /// wait long. Tells whether that was all.
    fn look_at_news(&self, rules: &Arc<Rules>, call: &Call) -> Result<bool, VaultError> {
        let _turn = lock(&self.looking);
        let tailed = self.store().tail(call.now)?;
        if tailed.begun {
            self.news.miss();
        }
        let written: BTreeSet<VaultPath> = tailed.paths.into_iter().filter(|path| !self.is_as_known(path)).collect();
        self.look_or_note(written, rules, usize::MAX, call)?;
        let (noted, are_all) = self.news.take(MAX_LOOKS);
        Ok(self.look_or_note(noted, rules, MAX_LOOKS, call)? && are_all)
    }

    /// Looks at paths, or notes them for the next call when that fails.
    fn look_or_note(
        &self,
        paths: BTreeSet<VaultPath>,
        rules: &Rules,
        at_most: usize,
        call: &Call,
    ) -> Result<bool, VaultError> {
        self.news.looking_at(&paths);
        let looked = self.look_at(&paths, rules, false, at_most, call);
        if looked.is_err() {
            paths.into_iter().for_each(|path| self.news.note(path));
        }
        looked
    }

    /// Tells whether a file is now as it is known, or gone, as `None` says. One that is not is looked at by the next call.
    pub fn is_known_rightly(&self, path: &VaultPath, known: Option<&Note>) -> bool {
        let is_right = match (self.rules().and_then(|rules| self.there(path, &rules)), known) {
            (Ok(Some(stat)), Some(note)) if stat.kind == EntryKind::File => stat.same_state(&note.stat),
            (Ok(there), None) => there.is_none_or(|stat| stat.kind != EntryKind::File),
            _ => false,
        };
        if !is_right {
            self.news.note(path.clone());
        }
        is_right
    }

    /// Describes what is at a path; `None` when that is nothing for us, be it gone, hidden or closed to us.
    fn there(&self, path: &VaultPath, rules: &Rules) -> Result<Option<Stat>, VaultError> {
        match self.store().stat(path) {
            Ok(stat) => Ok(Some(stat).filter(|stat| !rules.hide(path, stat.kind == EntryKind::Folder))),
            Err(refusal @ (VaultError::Io { .. } | VaultError::VaultUnavailable { .. })) => Err(refusal),
            Err(_) => Ok(None),
        }
    }

    /// Looks at files that are not what they were known as.
    pub(crate) fn look_again(&self, paths: &BTreeSet<VaultPath>, call: &Call) -> Result<(), VaultError> {
        let rules = self.rules()?;
        let _turn = lock(&self.looking);
        self.look_at(paths, &rules, true, usize::MAX, call).map(drop)
    }

    /// Tells whether a file that vault processes write, each time as a new one, is still the one that is known.
    fn is_as_known(&self, path: &VaultPath) -> bool {
        let known = self.known_catalog();
        let known = known.notes.get(path).map(|note| &note.stat);
        known.is_some_and(|known| self.store().stat(path).is_ok_and(|now| now.same_state(known)))
    }

    /// Looks at each path: what is gone first, so that a folder that has another name now is watched under that one. With
    /// `anew`, also at what is known as it is. Texts that are more than `at_most` are noted again, and `false` is returned.
    fn look_at(
        &self,
        paths: &BTreeSet<VaultPath>,
        rules: &Rules,
        anew: bool,
        at_most: usize,
        call: &Call,
    ) -> Result<bool, VaultError> {
        let mut there = Vec::new();
        for path in paths {
            match self.there(path, rules)? {
                Some(stat) => there.push((path.clone(), stat)),
                None => self.forget(path),
            }
        }
        let mut files = Vec::new();
        for (path, stat) in there {
            match stat.kind {
                EntryKind::File => {
                    if self.known_catalog().folders.contains(&path) {
                        self.forget(&path);
                    }
                    files.push((path, stat));
                }
                EntryKind::Folder => self.enter(&path, rules, &mut files)?,
                EntryKind::Other => self.forget(&path),
            }
        }
        let (texts, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| has_words(path));
        let mut differing = self.differing(texts, anew);
        let later = differing.split_off(differing.len().min(at_most));
        let looked = self.read_changed(differing, None, call)?;
        let mut known = lock(&self.known);
        looked.into_iter().for_each(|look| self.settle(&mut known, look));
        files.into_iter().for_each(|(path, stat)| known.change().put_file(path, File { stat }));
        let is_all = later.is_empty();
        later.into_iter().for_each(|(later, _)| self.news.note(later.path));
        Ok(is_all)
    }

    /// Leaves out the files that are known as they are, unless all are to be read `anew`.
    fn differing(&self, files: Vec<(VaultPath, Stat)>, anew: bool) -> Vec<(Difference, Stat)> {
        let known = self.known_catalog();
        let is_due = |(path, stat): &(VaultPath, Stat)| anew || !is_still(&known, path, stat);
        files.into_iter().filter(is_due).map(|(path, stat)| (Difference::at(path, &known), stat)).collect()
    }

    /// Lists a folder that appeared, or is another one now, with all below it.
    fn enter(&self, folder: &VaultPath, rules: &Rules, files: &mut Vec<(VaultPath, Stat)>) -> Result<(), VaultError> {
        if let Some(watch) = self.watch() {
            watch.end(folder);
            watch.begin(folder);
        }
        let found = match self.store().walk_in(folder, &|path, kind| self.is_entered(rules, path, kind)) {
            // one that is closed to us is empty for us
            Err(VaultError::NotFound { .. } | VaultError::AccessDenied { .. }) => vec![],
            found => found?,
        };
        let is_file = |place: usize| found[place].1.kind == EntryKind::File;
        let is_gone = |path: &&VaultPath| !found.binary_search_by(|(found, _)| found.cmp(path)).is_ok_and(is_file);
        let mut gone: Vec<VaultPath> = below(&self.known_catalog(), folder).filter(is_gone).cloned().collect();
        // a file may have had the name
        gone.push(folder.clone());
        gone.iter().for_each(|path| self.forget_file(&mut lock(&self.known), path));
        let mut known = lock(&self.known);
        let folders = &mut known.change().folders;
        folders.retain(|known| !known.is_in(folder));
        folders.insert(folder.clone());
        for (path, stat) in found {
            match stat.kind {
                EntryKind::Folder => drop(folders.insert(path)),
                EntryKind::File => files.push((path, stat)),
                EntryKind::Other => {}
            }
        }
        Ok(())
    }

    /// Takes a file, or a folder with all below it, out of what is known.
    fn forget(&self, path: &VaultPath) {
        let mut known = lock(&self.known);
        let mut gone: Vec<VaultPath> = below(&known.catalog, path).cloned().collect();
        gone.push(path.clone());
        gone.iter().for_each(|path| self.forget_file(&mut known, path));
        if known.catalog.folders.contains(path) {
            known.change().folders.retain(|folder| folder != path && !folder.is_in(path));
            if let Some(watch) = self.watch() {
                watch.end(path);
            }
        }
    }

    fn forget_file(&self, known: &mut Known, path: &VaultPath) {
        let is_known = known.catalog.notes.contains_key(path) || known.catalog.files.contains_key(path);
        if is_known {
            known.change().remove(path);
        }
        if is_known || has_words(path) {
            self.tell_index(path, None);
        }
    }

    /// Tells what a write of ours made, once anybody keeps count.
    pub(crate) fn tell(&self, path: &VaultPath, text: &str, document: &Document, stat: Option<Stat>, call: &Call) {
        let index = self.index();
        if index.is_none() && lock(&self.known).compared.is_none() {
            return;
        }
        // a newer state that another program left meanwhile may be known already, and is known again after a look
        self.news.note(path.clone());
        if let Some(stat) = stat {
            let note = Arc::new(Note::new(path, stat, Some((text, document)), call.now));
            let told = Told { note: note.clone(), document: Some(document.clone()), text: text.to_owned() };
            let mut known = lock(&self.known);
            known.change().put_note(path.clone(), note);
            self.tell_index(path, Some(told));
        }
    }

    /// Called with what is known locked, so that the index hears of changes in their order.
    fn tell_index(&self, path: &VaultPath, told: Option<Told>) {
        if let Some(index) = self.index() {
            index.tell(path, told);
        }
    }
}

impl Known {
    /// Returns the catalog to be changed. A copy, when somebody reads it at this moment.
    fn change(&mut self) -> &mut Catalog {
        Arc::make_mut(&mut self.catalog)
    }

    /// Puts many notes, sorted by path, into the catalog.
    fn put_all(&mut self, notes: Vec<(Difference, Arc<Note>)>) {
        if self.catalog.notes.is_empty() {
            let are_new = |(difference, _): &(Difference, _)| difference.before.is_none();
            let notes = notes.into_iter().filter(are_new).map(|(difference, note)| (difference.path, note));
            self.change().fill(notes);
            return;
        }
        for (difference, note) in notes {
            self.put(&difference, Some(note));
        }
    }

    /// Puts a note into the catalog, or takes it out, unless the catalog says something else than it did before.
    fn put(&mut self, difference: &Difference, now: Option<Arc<Note>>) -> bool {
        let Difference { path, before } = difference;
        let known = self.catalog.notes.get(path);
        if known.map(Arc::as_ptr) != before.as_ref().map(Arc::as_ptr) {
            return false;
        }
        match now {
            Some(note) => self.change().put_note(path.clone(), note),
            None => self.change().remove(path),
        }
        true
    }
}

impl Difference {
    fn at(path: VaultPath, before: &Catalog) -> Difference {
        Difference { before: before.notes.get(&path).cloned(), path }
    }
}

impl Survey {
    /// Compares what a walk found, which is sorted by path, with what was known.
    fn of(rules: Arc<Rules>, found: Vec<(VaultPath, Stat)>, before: &Catalog, mut indexed: Option<Seeds>) -> Survey {
        let mut survey =
            Survey { rules, folders: BTreeSet::new(), seeded: vec![], changed: vec![], files: vec![], gone: vec![] };
        let mut gone: BTreeSet<VaultPath> = missing(before.notes.keys(), &found).cloned().collect();
        gone.extend(missing(before.files.keys(), &found).cloned());
        for (path, stat) in found {
            let seed = indexed.as_mut().map(|indexed| indexed.remove(&path));
            match stat.kind {
                EntryKind::File => survey.note(path, stat, before, seed),
                // a folder, or a pipe or device, may have the name of a file that was known
                kind => {
                    if seed.flatten().is_some() || before.notes.contains_key(&path) || before.files.contains_key(&path)
                    {
                        gone.insert(path.clone());
                    }
                    if kind == EntryKind::Folder {
                        survey.folders.insert(path);
                    }
                }
            }
        }
        gone.extend(indexed.into_iter().flat_map(Seeds::into_keys));
        survey.gone = gone.into_iter().map(|path| Difference::at(path, before)).collect();
        survey
    }

    /// Compares a file with what was known: `seed` is what the index has of it, or `None` where that is not asked.
    fn note(&mut self, path: VaultPath, stat: Stat, before: &Catalog, seed: Option<Option<Arc<Note>>>) {
        let seed = seed.map(|seed| seed.filter(|seed| seed.is_still(&stat)));
        if path.is_note() {
            let is_known = is_still(before, &path, &stat);
            match seed {
                None | Some(Some(_)) if is_known => {}
                Some(Some(seed)) => self.seeded.push((Difference::at(path, before), seed)),
                None | Some(None) => self.changed.push((Difference::at(path, before), stat)),
            }
            return;
        }
        let is_known = before.files.get(&path).is_some_and(|file| file.stat == stat);
        let is_searched = seed.map_or(is_known, |seed| seed.is_some());
        match has_words(&path) {
            true if !is_searched => self.changed.push((Difference::at(path, before), stat)),
            _ if !is_known => self.files.push((path, stat)),
            _ => {}
        }
    }
}

/// Returns those of `known` that were not found; both are sorted by path.
fn missing<'a>(
    known: impl Iterator<Item = &'a VaultPath>,
    found: &[(VaultPath, Stat)],
) -> impl Iterator<Item = &'a VaultPath> {
    let mut found = found.iter().map(|(path, _)| path).peekable();
    known.filter(move |path| {
        while found.next_if(|found| found < path).is_some() {}
        found.peek() != Some(path)
    })
}

/// What a look at a file found.
struct Look {
    difference: Difference,
    note: Arc<Note>,
    /// Boxed: most looks of a first walk have handed it on.
    told: Option<Box<Told>>,
}

impl Look {
    /// Describes a note or sheet; one that cannot be read is known by its name.
    fn of(
        difference: &Difference,
        stat: &Stat,
        visited: Option<Result<Visited<'_>, VaultError>>,
        tells: bool,
        now: Timestamp,
    ) -> Look {
        let Difference { path, before } = difference;
        // what may be read another time is not known to be still so
        let read_at = if matches!(visited, Some(Err(VaultError::Io { .. }))) { stat.changed } else { now };
        let visited = visited.and_then(Result::ok);
        let stat_now = visited.as_ref().and_then(|visited| visited.stat.clone());
        let stat = stat_now.unwrap_or_else(|| stat.clone());
        let text = visited.and_then(|visited| std::str::from_utf8(visited.bytes).ok());
        let document = text.filter(|_| path.is_note()).map(vault_markdown::parse);
        let note = Arc::new(Note::new(path, stat, text.zip(document.as_ref()), read_at));
        let told = || Box::new(Told { note: note.clone(), document, text: text.unwrap_or_default().to_owned() });
        let difference = Difference { path: path.clone(), before: before.clone() };
        Look { difference, told: tells.then(told), note }
    }
}

/// Tells whether a file is searched, be it by its name only.
pub(crate) fn has_words(path: &VaultPath) -> bool {
    matches!(path.kind(), FileKind::Note | FileKind::Sheet)
}

fn is_still(catalog: &Catalog, path: &VaultPath, stat: &Stat) -> bool {
    catalog.notes.get(path).is_some_and(|note| note.is_still(stat))
}

/// Returns the notes and files that lie in `folder`, at any depth.
fn below<'a>(catalog: &'a Catalog, folder: &'a VaultPath) -> impl Iterator<Item = &'a VaultPath> {
    let notes = catalog.notes.range(folder..).map(|(path, _)| path);
    let files = catalog.files.range(folder..).map(|(path, _)| path);
    // between a folder and what lies in it there may be names that go on otherwise, e.g. `a.md` and `a-b.md`
    let begins = |path: &&VaultPath| path.as_str().starts_with(folder.as_str());
    notes.take_while(begins).chain(files.take_while(begins)).filter(|path| path.is_in(folder))
}
