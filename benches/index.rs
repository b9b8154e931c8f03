//! What it costs to make the index, and to find that nothing changed.
//!
//! On the vault in `VAULT_BENCH_VAULT`, or a generated one of 10,000 notes. Makes the index beside a bare loader of the same
//! engine: two threads, path, title and body with positions, the engine's own analyser for English, the texts read from the
//! same files. Then compares a vault in which nothing changed with its index, beside a walk that asks for the state of every
//! file. Rounds alternate; each figure is a median.
//!
//! Leaves out: cold caches; the time until folders are watched.
//!
//! `cargo bench -p vault-index --bench index`
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexWriter, TantivyDocument};
use vault_core::store::EntryKind;
use vault_core::{Call, Store, Vault};

const ROUNDS: usize = 5;

fn main() {
    let home = tempfile::tempdir().expect("a folder");
    let root = std::env::var_os("VAULT_BENCH_VAULT").map_or_else(|| make_vault(home.path(), 10_000), PathBuf::from);
    let cache = home.path().join("cache");
    let open = || Vault::on(Store::open(&root).expect("a vault").with_cache_folder(&cache));
    let files = files(&root);
    let bytes: u64 = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|stat| stat.len()).sum();
    println!("{} notes, {:.1} MB, {ROUNDS} rounds; seconds", files.len(), bytes as f64 / 1e6);

    let (mut bare, mut ours) = (vec![], vec![]);
    for round in 0..ROUNDS {
        bare.push(time(|| load(&files, &home.path().join(format!("bare {round}")))));
        let vault = open();
        let index = vault_index::attach(&vault);
        ours.push(time(|| vault_index::rebuild(&vault, &index, &|_, _| ()).map(drop).expect("an index")));
    }
    show("bare loader", &mut bare);
    show("index made anew", &mut ours);
    println!("{:34} {:8.2}", "its speed, of the bare loader's", median(&mut bare) / median(&mut ours));
    println!("{:34} {:8.2}", "its size, of the texts", size(&cache) as f64 / bytes as f64);

    let (mut walk, mut same) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        let store = Store::open(&root).expect("a vault");
        walk.push(time(|| drop(store.walk(&|_, _| true))));
        let vault = open();
        vault_index::attach(&vault);
        same.push(time(|| drop(vault.catalog(&Call::begin("bench")).expect("a catalog"))));
    }
    show("walk", &mut walk);
    show("comparison, nothing changed", &mut same);
    println!("{:34} {:8.2}", "its time, of the walk's", median(&mut same) / median(&mut walk));
}

/// Loads texts with nothing but the engine.
fn load(files: &[PathBuf], folder: &Path) {
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let words = TextFieldIndexing::default().set_tokenizer("en_stem");
    let words = words.set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let words = TextOptions::default().set_indexing_options(words);
    let [title, body] = ["title", "body"].map(|name| schema.add_text_field(name, words.clone()));
    fs::create_dir(folder).expect("a folder");
    let index = Index::create_in_dir(folder, schema.build()).expect("an index");
    let mut writer: IndexWriter = index.writer_with_num_threads(2, 200_000_000).expect("a writer");
    std::thread::scope(|scope| {
        let add = |files: &[PathBuf]| {
            for file in files {
                let Ok(text) = fs::read_to_string(file) else { continue };
                let mut document = TantivyDocument::new();
                document.add_text(path, file.to_string_lossy());
                document.add_text(title, file.file_stem().unwrap_or_default().to_string_lossy());
                document.add_text(body, text);
                writer.add_document(document).expect("a document");
            }
        };
        let (one, other) = files.split_at(files.len() / 2);
        scope.spawn(move || add(one));
        add(other);
    });
    writer.commit().expect("a commit");
    writer.wait_merging_threads().expect("merges");
}

fn files(root: &Path) -> Vec<PathBuf> {
    let found = Store::open(root).and_then(|store| store.walk(&|_, _| true)).expect("a vault");
    let notes = found.iter().filter(|(path, stat)| stat.kind == EntryKind::File && path.is_note());
    notes.map(|(path, _)| root.join(path.as_str())).collect()
}

fn make_vault(home: &Path, n_notes: usize) -> PathBuf {
    let root = home.join("vault");
    for number in 0..n_notes {
        let folder = root.join(format!("area {}", number % 40));
        fs::create_dir_all(&folder).expect("a folder");
        let words = (0..300).map(|word| format!("w{}", (number * 31 + word * word * 7) % 20_011));
        let text = format!("# Note {number}\n\n{}\n", words.collect::<Vec<_>>().join(" "));
        fs::write(folder.join(format!("note {number}.md")), text).expect("a note");
    }
    root
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |path: PathBuf| if path.is_dir() { size(&path) } else { fs::metadata(&path).map_or(0, |stat| stat.len()) };
    entries.map(|entry| of(entry.path())).sum()
}

fn time(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn show(what: &str, times: &mut [Duration]) {
    println!("{what:34} {:8.3}", median(times));
}
