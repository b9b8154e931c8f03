//! The full-text index beside the slow, obvious search: same notes, whatever was written, by whom, and however processes
//! ended.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use vault_core::ops::{CreateNote, EditNote, ListFolders, ListNotes, ReadNote, SearchNotes, SearchNotesResponse};
use vault_core::{Call, Operation, Store, Vault};
use vault_index::Keeper;

/// A folder with notes, and where its index lies.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.folder()).unwrap();
        place
    }

    fn folder(&self) -> std::path::PathBuf {
        self.0.path().join("vault")
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.folder().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// A process of its own: a vault with an index that is kept.
    fn process(&self) -> Process {
        let store = Store::open(&self.folder()).unwrap().with_cache_folder(&self.0.path().join("cache"));
        let vault = Arc::new(Vault::on(store));
        let keeper = Keeper::start(&vault);
        Process { vault, _keeper: keeper }
    }

    /// The slow, obvious search.
    fn scan(&self, query: &str) -> BTreeSet<String> {
        paths(&search(&Vault::open(&self.folder()).unwrap(), query))
    }
}

struct Process {
    vault: Arc<Vault>,
    _keeper: Keeper,
}

impl Process {
    fn search(&self, query: &str) -> SearchNotesResponse {
        search(&self.vault, query)
    }

    /// Waits until the index answers, and knows of everything.
    fn ready(self) -> Process {
        until(|| {
            let answer = self.search("anything");
            (answer.indexing, answer.stale) == (None, None)
        });
        self
    }
}

fn call() -> Call {
    Call { max_answer_chars: usize::MAX, ..Call::begin("test") }
}

fn search(vault: &Vault, query: &str) -> SearchNotesResponse {
    SearchNotes { limit: 199, ..SearchNotes::new(query) }.run(vault, &call()).unwrap()
}

fn paths(answer: &SearchNotesResponse) -> BTreeSet<String> {
    answer.results.iter().map(|row| row.path.clone()).collect()
}

/// Waits for what another thread does, but not for ever.
fn until(done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing came of it");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const WORDS: [&str; 10] =
    ["fern", "ferns", "moss", "snake_case", "検索", "検索中", "café", "v1.2", "the", "#green/wild"];

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS.to_vec());
    (prop::collection::vec(word, 0..6), any::<bool>()).prop_map(|(words, archived)| {
        let header = if archived { "---\narchived: true\ntags: [x]\n---\n" } else { "" };
        format!("{header}{}\n", words.join(" "))
    })
}

fn query() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "fern",
        "ferns",
        "moss",
        "case",
        "snake_case",
        "検索",
        "索中",
        "検",
        "cafe",
        "1.2",
        "\"fern moss\"",
        "-moss",
        "fer*",
        "tag:green",
        "-tag:green",
        "path:a/",
        "path:1",
        "the",
        "absent",
        "fer",
        "snak",
        "\"ferns\"",
    ]);
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.join(" "))
}

/// What happens to a vault.
#[derive(Debug, Clone)]
enum Step {
    Save(usize, String),
    Remove(usize),
    Move(usize, usize),
    /// A folder takes the name of a file, with a file in it.
    Folder(usize, String),
    /// The process ends, and another one begins.
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..8, text()).prop_map(|(file, text)| Step::Save(file, text)),
        1 => (0usize..8).prop_map(Step::Remove),
        1 => (0usize..8, 0usize..8).prop_map(|(from, to)| Step::Move(from, to)),
        1 => (0usize..8, text()).prop_map(|(file, text)| Step::Folder(file, text)),
        1 => Just(Step::Restart),
    ]
}

fn file(number: usize) -> String {
    format!("{}/note {number}.md", if number.is_multiple_of(2) { "a" } else { "b/c" })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_what_the_scan_finds(
        notes in prop::collection::vec(text(), 1..8),
        steps in prop::collection::vec(step(), 0..8),
        queries in prop::collection::vec(query(), 1..6),
    ) {
        let place = Place::new();
        notes.iter().enumerate().for_each(|(number, text)| place.write(&file(number), text));
        let mut process = place.process().ready();
        for step in steps {
            match step {
                Step::Save(number, text) => {
                    drop(fs::remove_dir_all(place.folder().join(file(number))));
                    place.write(&file(number), &text);
                }
                Step::Remove(number) => drop(fs::remove_file(place.folder().join(file(number)))),
                Step::Move(from, to) => {
                    let [from, to] = [from, to].map(|number| place.folder().join(file(number)));
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    drop(fs::rename(from, to));
                }
                Step::Folder(number, text) => {
                    drop(fs::remove_file(place.folder().join(file(number))));
                    place.write(&format!("{}/inner.md", file(number)), &text);
                }
                Step::Restart => process = place.process().ready(),
            }
        }
        for query in &queries {
            let expected = place.scan(query);
            // the system tells of changes a moment later
            let begin = Instant::now();
            while paths(&process.search(query)) != expected && begin.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
            prop_assert_eq!(paths(&process.search(query)), expected, "{}", query);
        }
    }
}

#[test]
fn own_writes_are_found_by_the_next_search() {
    let place = Place::new();
    place.write("a.md", "first\n");
    let process = place.process().ready();
    for number in 0..50 {
        let word = format!("word{number}x");
        let made =
            CreateNote::new(&format!("N{number}"), &format!("{word} here\n")).run(&process.vault, &call()).unwrap();
        assert_eq!(paths(&process.search(&word)), BTreeSet::from([made.path.clone()]));
        let edit = EditNote {
            path: made.path.clone(),
            old_string: word.clone(),
            new_string: format!("other{number}x"),
            version: Some(made.version.to_string()),
            ..EditNote::default()
        };
        edit.run(&process.vault, &call()).unwrap();
        assert!(paths(&process.search(&word)).is_empty(), "{word}");
        assert_eq!(paths(&process.search(&format!("other{number}x"))), BTreeSet::from([made.path]));
    }
}

#[test]
fn writes_of_another_process_are_found_by_the_next_search() {
    let place = Place::new();
    place.write("a.md", "first\n");
    let (one, other) = (place.process().ready(), place.process().ready());
    for number in 0..20 {
        let (writer, reader) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let word = format!("word{number}x");
        let made = CreateNote::new(&format!("N{number}"), &word).run(&writer.vault, &call()).unwrap();
        assert_eq!(paths(&reader.search(&word)), BTreeSet::from([made.path]), "{number}");
    }
}

#[test]
fn what_other_programs_do_is_found_soon_and_nothing_leads_to_a_file_that_is_gone() {
    let place = Place::new();
    place.write("a/one.md", "walrus\n");
    place.write("a/deep/two.md", "walrus\n");
    let process = place.process().ready();
    place.write("new/deeper/three.md", "walrus\n");
    until(|| process.search("walrus").results.len() == 3);
    fs::rename(place.folder().join("a"), place.folder().join("z")).unwrap();
    let moved = ["new/deeper/three.md", "z/deep/two.md", "z/one.md"].map(str::to_owned);
    until(|| paths(&process.search("walrus")) == BTreeSet::from(moved.clone()));
    place.write("z/deep/four.md", "walrus\n");
    until(|| process.search("walrus").results.len() == 4);
    fs::remove_dir_all(place.folder().join("z")).unwrap();
    // at once: a hit is looked at before it is told
    assert_eq!(paths(&process.search("walrus")), BTreeSet::from(["new/deeper/three.md".to_owned()]));
    let listed = ListNotes { limit: 10, ..ListNotes::default() };
    until(|| listed.clone().run(&process.vault, &call()).unwrap().total == 1);
}

#[test]
fn a_folder_that_takes_the_name_of_a_note_ends_the_note() {
    let place = Place::new();
    place.write("a.md", "walrus\n");
    let process = place.process().ready();
    fs::remove_file(place.folder().join("a.md")).unwrap();
    place.write("a.md/b.md", "walrus\n");
    let expected = BTreeSet::from(["a.md/b.md".to_owned()]);
    until(|| paths(&process.search("walrus")) == expected);
    let listed = ListNotes { limit: 10, ..ListNotes::default() };
    until(|| listed.clone().run(&process.vault, &call()).unwrap().total == 1);
    drop(process);
    // and when nobody looks on
    fs::remove_dir_all(place.folder().join("a.md")).unwrap();
    place.write("a.md", "walrus\n");
    drop(place.process().ready());
    fs::remove_file(place.folder().join("a.md")).unwrap();
    place.write("a.md/b.md", "walrus\n");
    assert_eq!(paths(&place.process().ready().search("walrus")), expected);
}

#[test]
fn a_file_that_takes_the_name_of_a_folder_ends_the_folder() {
    let place = Place::new();
    place.write("box/deep/one.md", "walrus\n");
    place.write("b/x.md", "walrus\n");
    place.write("d/x.md/in.md", "walrus\n");
    let process = place.process().ready();
    fs::remove_dir_all(place.folder().join("box")).unwrap();
    place.write("box", "no note\n");
    // what is a note in one of them is a folder in the other
    fs::rename(place.folder().join("b"), place.0.path().join("away")).unwrap();
    fs::rename(place.folder().join("d"), place.folder().join("b")).unwrap();
    fs::rename(place.0.path().join("away"), place.folder().join("d")).unwrap();
    let expected = BTreeSet::from(["b/x.md/in.md".to_owned(), "d/x.md".to_owned()]);
    until(|| paths(&process.search("walrus")) == expected);
    let listed = ListNotes { limit: 10, ..ListNotes::default() };
    until(|| listed.clone().run(&process.vault, &call()).unwrap().total == 2);
    let folders = || ListFolders::default().run(&process.vault, &call()).unwrap().to_string();
    until(|| folders() == "b/  (0 documents, 1 with the folders below)\n  x.md/  (1 document)\nd/  (1 document)\n");
}

#[test]
fn a_vault_without_notes_has_an_index_too() {
    let place = Place::new();
    let process = place.process();
    until(|| process.search("walrus").indexing.is_none());
}

#[test]
fn a_process_that_stands_still_while_it_makes_the_index_holds_nobody_up() {
    let place = Place::new();
    place.write("a.md", "walrus\n");
    let cache = place.0.path().join("cache");
    fs::create_dir(&cache).unwrap();
    let lock = fs::File::create(cache.join("lock")).unwrap();
    lock.lock().unwrap();
    let process = place.process();
    CreateNote::new("B", "walrus").run(&process.vault, &call()).unwrap();
    assert_eq!(process.search("walrus").results.len(), 2);
    drop(lock);
    assert_eq!(process.ready().search("walrus").results.len(), 2);
}

#[test]
fn a_folder_that_takes_the_place_of_another_is_listed_as_it_is() {
    let place = Place::new();
    place.write("a/x/one.md", "walrus\n");
    place.write("b/y/two.md", "heron\n");
    let process = place.process().ready();
    fs::rename(place.folder().join("a"), place.0.path().join("away")).unwrap();
    fs::rename(place.folder().join("b"), place.folder().join("a")).unwrap();
    until(|| paths(&process.search("heron")) == BTreeSet::from(["a/y/two.md".to_owned()]));
    let folders = || ListFolders::default().run(&process.vault, &call()).unwrap().to_string();
    until(|| folders().contains("y/") && !folders().contains("x/") && !folders().contains("b/"));
}

#[test]
fn a_folder_of_many_notes_that_moves_holds_no_search_up() {
    let place = Place::new();
    (0..120).for_each(|number| place.write(&format!("a/{number}.md"), "heron\n"));
    let process = place.process().ready();
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "c")] {
        fs::rename(place.folder().join(from), place.folder().join(to)).unwrap();
        let there = |path: &String| place.folder().join(path).exists();
        assert!(paths(&process.search("heron")).iter().all(there), "to {to}");
        until(|| process.search("heron").results.len() == 120);
    }
}

#[test]
fn many_processes_build_one_index() {
    let place = Place::new();
    (0..400).for_each(|number| place.write(&format!("{number}.md"), &format!("heron number{number}x\n")));
    let processes: Vec<Process> = (0..8).map(|_| place.process()).collect();
    for process in &processes {
        assert_eq!(process.search("number17x").results.len(), 1, "by reading the notes meanwhile");
    }
    for process in processes {
        let process = process.ready();
        assert_eq!(process.search("heron").results.len(), 199);
        assert_eq!(process.search("number399x").results.len(), 1);
    }
}

#[test]
fn what_is_left_out_is_not_found_at_once_and_what_is_taken_in_again_is_found_soon() {
    let place = Place::new();
    place.write("open.md", "walrus\n");
    place.write("private/secret.md", "walrus\n");
    let process = place.process().ready();
    let names = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    for _ in 0..3 {
        assert_eq!(paths(&process.search("walrus")), names(&["open.md", "private/secret.md"]));
        place.write(".vaultignore", "private/\n");
        assert_eq!(paths(&process.search("walrus")), names(&["open.md"]));
        until(|| process.search("walrus").stale.is_none());
        fs::remove_file(place.folder().join(".vaultignore")).unwrap();
        until(|| process.search("walrus").results.len() == 2);
    }
}

#[test]
fn a_damaged_index_is_built_anew() {
    let place = Place::new();
    (0..20).for_each(|number| place.write(&format!("{number}.md"), "heron\n"));
    drop(place.process().ready());
    let index = files_below(&place.0.path().join("cache"));
    assert!(index.len() > 3);
    for damage in ["", "x", "{}"] {
        for file in files_below(&place.0.path().join("cache")) {
            drop(fs::write(file, damage));
        }
        let process = place.process();
        assert_eq!(process.search("heron").results.len(), 20);
        assert_eq!(process.ready().search("heron").results.len(), 20);
    }
}

#[test]
fn an_index_that_is_damaged_while_it_is_used_is_built_anew() {
    let place = Place::new();
    (0..20).for_each(|number| place.write(&format!("{number}.md"), "heron\n"));
    let process = place.process().ready();
    for number in 0..3 {
        for file in files_below(&place.0.path().join("cache")) {
            drop(fs::remove_file(file));
        }
        place.write(&format!("new {number}.md"), "heron\n");
        until(|| process.search("heron").results.len() == 21 + number);
        until(|| process.search("heron").indexing.is_none());
    }
}

#[test]
fn single_bits_that_are_wrong_are_noticed() {
    let place = Place::new();
    (0..20).for_each(|number| place.write(&format!("{number}.md"), "heron\n"));
    for extension in ["fast", "fieldnorm", "idx", "pos", "store", "term"] {
        drop(place.process().ready());
        let files = files_below(&place.0.path().join("cache"));
        let file = files.iter().find(|file| file.extension().is_some_and(|found| found == extension)).unwrap();
        let mut bytes = fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(file, &bytes).unwrap();
        let process = place.process();
        until(|| !file.exists());
        assert_eq!(process.ready().search("heron").results.len(), 20, "{extension}");
    }
}

#[test]
fn a_passage_is_where_it_says() {
    let place = Place::new();
    let text = "---\ntags: [x]\n---\n# Top\n\nsome text\n\n## Birds\n\nA heron stands.\n";
    place.write("a.md", text);
    let process = place.process().ready();
    let answer = process.search("heron");
    let row = &answer.results[0];
    assert_eq!((row.line, row.heading.as_deref()), (Some(10), Some("Birds")));
    let read = ReadNote { offset: row.line, limit: Some(1), ..ReadNote::new("a.md") };
    assert_eq!(read.run(&process.vault, &call()).unwrap().markdown.as_deref(), Some("A heron stands.\n"));
}

#[test]
fn a_word_that_nothing_has_is_the_beginning_of_one() {
    let place = Place::new();
    place.write("a.md", "first\n\nA walrus stands.\n");
    place.write("b.md", "a heron\n");
    let process = place.process().ready();
    for vault in [&process.vault, &Arc::new(Vault::open(&place.folder()).unwrap())] {
        let found = search(vault, "walr");
        assert_eq!((paths(&found), found.partial), (BTreeSet::from(["a.md".to_owned()]), Some(true)));
        assert_eq!((found.results[0].line, found.results[0].snippet.contains("walrus")), (Some(6), true));
        assert_eq!(paths(&search(vault, "walr heron")), BTreeSet::from(["b.md".to_owned()]), "something has a word");
        assert_eq!(search(vault, "alrus").results.len(), 0);
        assert_eq!(search(vault, "alrus").partial, None);
    }
}

#[test]
fn the_best_of_many_are_the_best_of_all() {
    let place = Place::new();
    // words of different rarity, all of them in many notes, some of them in the others, one in each: then the scan knows
    // the lengths of all
    for number in 0..120 {
        let words = ["heron", "moss", "fern", "walrus"].into_iter().enumerate();
        let words = words.filter(|(at, _)| *at == 0 || number % 3 == 0 || number % (at + 2) == 0);
        let text: String = words.map(|(at, word)| format!("{word} ").repeat(1 + number * (at + 3) % 11)).collect();
        place.write(&format!("{}/{number}.md", number % 4), &format!("{text}{}\n", "x ".repeat(number % 30)));
    }
    let process = place.process().ready();
    let scan = Vault::open(&place.folder()).unwrap();
    for query in
        ["heron moss fern walrus", "how does a heron in the moss of the fern grow", "walrus fern heron", "heron absent"]
    {
        for limit in [1, 5, 30] {
            let request = || SearchNotes { limit, ..SearchNotes::new(query) };
            let order = |answer: SearchNotesResponse| -> Vec<String> {
                answer.results.into_iter().map(|row| row.path).collect()
            };
            let found = request().run(&process.vault, &call()).unwrap();
            let expected = request().run(&scan, &call()).unwrap();
            assert_eq!(found.partial, expected.partial, "{query}");
            assert_eq!(order(found), order(expected), "{query}, {limit}");
        }
    }
}

#[test]
fn sheets_are_found_after_the_index_is_built_anew_and_folders_with_names_of_notes_are_left_in_peace() {
    let place = Place::new();
    place.write("data/list.csv", "name,place\nwalrus,ice\n");
    place.write("a.md", "heron\n");
    let process = place.process().ready();
    fs::create_dir(place.folder().join("Plan.md")).unwrap();
    let expected = BTreeSet::from(["data/list.csv".to_owned()]);
    assert_eq!(paths(&process.search("walrus")), expected);
    for number in 0..2 {
        for file in files_below(&place.0.path().join("cache")) {
            drop(fs::remove_file(file));
        }
        place.write(&format!("new {number}.md"), "heron\n");
        until(|| process.search("heron").results.len() == 2 + number);
        until(|| process.search("heron").indexing.is_none());
        assert_eq!(paths(&process.search("walrus")), expected);
    }
    // nothing is written when nothing changes
    let meta = || files_below(&place.0.path().join("cache")).into_iter().find(|path| path.ends_with("meta.json"));
    let written = || meta().and_then(|path| fs::metadata(path).ok()).map(|stat| stat.modified().unwrap());
    std::thread::sleep(Duration::from_secs(2));
    let before = written();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(written(), before);
}

#[test]
fn a_note_that_is_too_large_to_be_opened_is_found_by_its_name() {
    let place = Place::new();
    place.write("Walrus.md", "");
    fs::File::options().write(true).open(place.folder().join("Walrus.md")).unwrap().set_len(80 << 20).unwrap();
    let answer = place.process().ready().search("walrus");
    assert_eq!((paths(&answer), answer.stale), (BTreeSet::from(["Walrus.md".to_owned()]), None));
}

#[test]
fn a_query_beyond_all_measure_is_refused() {
    let place = Place::new();
    let process = place.process();
    for query in ["x".repeat(20_000), (0..2_000).map(|number| format!("w{number} ")).collect()] {
        let refusal = SearchNotes::new(&query).run(&process.vault, &call()).unwrap_err();
        assert_eq!(refusal.code(), "invalid_argument", "{refusal}");
    }
}

#[test]
fn an_answer_goes_on_where_it_ended() {
    let place = Place::new();
    (0..30).for_each(|number| place.write(&format!("{number}.md"), &format!("heron {}\n", "x ".repeat(number % 5))));
    let process = place.process().ready();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let request = SearchNotes { limit: 7, after: after.take(), ..SearchNotes::new("heron") };
        let answer = request.run(&process.vault, &call()).unwrap();
        seen.extend(answer.results.iter().map(|row| row.path.clone()));
        match answer.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (30, 30));
}

#[test]
fn an_answer_that_began_without_an_index_goes_on_without_it() {
    let place = Place::new();
    let text = |number: usize| format!("heron {}\n", "moss ".repeat(number * 7 % 60));
    (0..60).for_each(|number| place.write(&format!("{number}.md"), &text(number)));
    // held, so that there is no index yet
    fs::create_dir(place.0.path().join("cache")).unwrap();
    let lock = fs::File::create(place.0.path().join("cache/lock")).unwrap();
    lock.lock().unwrap();
    let process = place.process();
    let first = SearchNotes { limit: 20, ..SearchNotes::new("heron") }.run(&process.vault, &call()).unwrap();
    assert_eq!(first.indexing, Some(true));
    drop(lock);
    let process = process.ready();
    let rest = SearchNotes { limit: 100, after: first.next.clone(), ..SearchNotes::new("heron") };
    let rest = rest.run(&process.vault, &call()).unwrap();
    assert_eq!(rest.indexing, None);
    let all: BTreeSet<String> = paths(&first).union(&paths(&rest)).cloned().collect();
    assert_eq!((first.results.len() + rest.results.len(), all.len()), (60, 60));
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    // a process that ends may still be at work there
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
