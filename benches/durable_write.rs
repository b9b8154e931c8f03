//! What a durable write costs, beside the least that any program must pay for one.
//!
//! The floor is a temporary file of the same size written and synced, renamed over the old one, and the folder synced.
//! Floor, replace and create take turns, so that a busy machine slows all three. Notes of 2 KB and 20 KB, in a folder
//! of 200. Left out: planning, parsing, everything above the store.
//!
//! `cargo bench -p vault-core --bench durable_write` measures in the folder that `BENCH_DIR` names, else in the
//! system's folder for temporary files; run it on the disk that matters.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use vault_core::store::Author;
use vault_core::{OperationId, Store, VaultPath};

const ROUNDS: usize = 600;
const WARM_UP: usize = 50;

fn main() {
    let base = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{:>6} {:>8} {:>9} {:>9} {:>7}", "bytes", "what", "p50 µs", "p95 µs", "× floor");
    for size in [2 * 1024, 20 * 1024] {
        let dir = tempfile::tempdir_in(&base).unwrap();
        measure(dir.path(), size);
    }
}

fn measure(dir: &Path, size: usize) {
    let (raw, vault) = (dir.join("raw"), dir.join("vault"));
    for folder in [&raw, &vault] {
        fs::create_dir(folder).unwrap();
        for n in 0..200 {
            fs::write(folder.join(format!("other {n}.md")), text(size, n)).unwrap();
        }
    }
    fs::write(vault.join("note.md"), text(size, 0)).unwrap();
    let store = Store::open(&vault).unwrap();
    let (mut floor, mut replace, mut create) = (vec![], vec![], vec![]);
    for round in 0..ROUNDS + WARM_UP {
        let bytes = text(size, round + 1);
        let times = [
            time(|| write_raw(&raw, &bytes)),
            time(|| edit(&store, &text(size, round), &bytes, round)),
            time(|| add(&store, &bytes, round)),
        ];
        if round >= WARM_UP {
            floor.push(times[0]);
            replace.push(times[1]);
            create.push(times[2]);
        }
    }
    let base = report(size, "floor", &mut floor, None);
    report(size, "replace", &mut replace, Some(base));
    report(size, "create", &mut create, Some(base));
}

fn write_raw(folder: &Path, bytes: &[u8]) {
    let temp = folder.join(".temp");
    let mut file = File::create(&temp).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    fs::rename(&temp, folder.join("note.md")).unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
}

fn edit(store: &Store, old: &[u8], new: &[u8], round: usize) {
    let path = VaultPath::parse("note.md").unwrap();
    let read = store.read(&path, old.len() as u64).unwrap();
    assert_eq!(read.bytes, old);
    with_author(round, |by| store.replace_seen(&path, read.seen(), new, by).map(drop).unwrap());
}

fn add(store: &Store, bytes: &[u8], round: usize) {
    let path = VaultPath::parse(&format!("new/{}/{round}.md", round / 200)).unwrap();
    with_author(round, |by| store.create(&path, bytes, by).map(drop).unwrap());
}

fn with_author(round: usize, write: impl FnOnce(&Author)) {
    let time = Timestamp::now();
    let operation = OperationId::new(time, round as u64);
    write(&Author { operation: &operation, time, tool: "bench", client: "bench" });
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn report(size: usize, what: &str, times: &mut [Duration], floor: Option<Duration>) -> Duration {
    times.sort_unstable();
    let (median, high) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    let ratio = floor.map_or(String::new(), |floor| format!("{:.2}", median.as_secs_f64() / floor.as_secs_f64()));
    println!("{size:>6} {what:>8} {:>9} {:>9} {ratio:>7}", median.as_micros(), high.as_micros());
    median
}

/// Text that compresses about as well as notes do, another one for each round.
fn text(size: usize, round: usize) -> Vec<u8> {
    let mut state = round as u64 * 2 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ["fern", "moss", "garden", "water", "light", "shade", "soil", "root"][(state >> 61) as usize]
    };
    let mut text = format!("# Note {round}\n\n");
    while text.len() < size {
        text.push_str(word());
        text.push(if text.len() % 80 > 72 { '\n' } else { ' ' });
    }
    text.truncate(size);
    text.into_bytes()
}
