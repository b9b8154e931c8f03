//! Threads, processes and programs that do not ask us, all after the same note on a real disk.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test plays the other programs"
)]

#[path = "support/store.rs"]
mod support;

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use support::{LIMIT, open, open_with, path};
use tempfile::TempDir;
use vault_core::store::{Author, Class, RealDisk, Written};
use vault_core::{OperationId, Store, VaultError, Version};

fn replace(store: &Store, expected: &Version, bytes: &[u8]) -> Result<Written, VaultError> {
    let operation = OperationId::new(Timestamp::now(), u64::from_le_bytes(bytes[..8].try_into().unwrap()));
    let by = Author { operation: &operation, time: Timestamp::now(), tool: "test", client: "test" };
    store.replace(&path("note.md"), expected, bytes, &by)
}

#[test]
fn of_threads_with_one_version_exactly_one_wins() {
    const THREADS: usize = 8;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("note.md"), "start: nothing\n").unwrap();
    let store = open(dir.path());
    for round in 0..40 {
        let seen = store.read(&path("note.md"), LIMIT).unwrap().version;
        let barrier = Barrier::new(THREADS);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let run = |thread: usize| {
                let (store, seen, barrier) = (&store, &seen, &barrier);
                scope.spawn(move || {
                    let bytes = format!("thread {thread} in round {round}\n").into_bytes();
                    barrier.wait();
                    (replace(store, seen, &bytes), bytes)
                })
            };
            let threads: Vec<_> = (0..THREADS).map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(answer, _)| answer.is_ok());
        assert_eq!(won.len(), 1, "round {round}");
        assert_eq!(fs::read(dir.path().join("note.md")).unwrap(), won[0].1, "round {round}");
        for (answer, _) in lost {
            assert!(matches!(answer, Err(VaultError::StaleVersion { .. })), "{answer:?}");
        }
    }
    assert_eq!(store.log().unwrap().records.len(), 40);
}

/// What the processes of the two tests below do: they are started with this variable. Without it, nothing.
#[test]
fn no_test_but_what_the_processes_of_a_race_do() {
    let Some(dir) = std::env::var_os("VAULT_TEST_RACE").map(PathBuf::from) else { return };
    let last: u64 = std::env::var("VAULT_TEST_ROUNDS").unwrap().parse().unwrap();
    let store = open(&dir);
    loop {
        let seen = store.read(&path("note.md"), LIMIT).unwrap();
        let round: u64 = String::from_utf8_lossy(&seen.bytes)[..8].parse().unwrap();
        if round == last {
            break;
        }
        let next = format!("{:08} by {}\n{}", round + 1, std::process::id(), "text ".repeat(400));
        match replace(&store, &seen.version, next.as_bytes()) {
            Ok(_) | Err(VaultError::StaleVersion { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn start_process(dir: &Path, rounds: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_test_but_what_the_processes_of_a_race_do"])
        .env("VAULT_TEST_RACE", dir)
        .env("VAULT_TEST_ROUNDS", rounds.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Every accepted write, as pairs of what it replaced and what it wrote, in the log's order.
fn accepted(store: &Store) -> Vec<(Version, Version)> {
    let history = store.log().unwrap();
    assert_eq!(history.damaged, []);
    let change = |logged: &vault_core::store::Logged| {
        let change = &logged.record.changes[0];
        (change.before.clone().unwrap(), change.after.clone().unwrap())
    };
    history.records.iter().map(change).collect()
}

#[test]
fn of_processes_with_one_version_exactly_one_wins() {
    const ROUNDS: u64 = 120;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("note.md"), "00000000 start\n").unwrap();
    let processes: Vec<Child> = (0..4).map(|_| start_process(dir.path(), ROUNDS)).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    // each accepted write replaced what the one before it wrote: a chain, so no content was replaced twice
    let mut chain: HashMap<_, _> = accepted(&open(dir.path())).into_iter().collect();
    assert_eq!(chain.len() as u64, ROUNDS);
    let mut version = Version::of(b"00000000 start\n");
    while let Some(next) = chain.remove(&version) {
        version = next;
    }
    assert!(chain.is_empty());
    assert_eq!(version, Version::of(&fs::read(dir.path().join("note.md")).unwrap()));
}

#[test]
fn a_killed_process_leaves_whole_files_and_a_readable_log() {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("note.md");
    fs::write(&note, "00000000 start\n").unwrap();
    let round = || fs::read_to_string(&note).unwrap()[..8].parse::<u64>().unwrap();
    for _ in 0..25 {
        let (before, mut process) = (round(), start_process(dir.path(), u64::MAX));
        while round() < before + 3 {
            assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        let text = fs::read_to_string(&note).unwrap();
        assert!(text.ends_with(&"text ".repeat(400)), "torn: {text:?}");
    }
    let store = open(dir.path());
    let present = store.read(&path("note.md"), LIMIT).unwrap();
    replace(&store, &present.version, b"the last one\n").unwrap();
    assert!(store.log().unwrap().records.iter().all(|logged| logged.settled));
    let chain: HashMap<_, _> = accepted(&store).into_iter().collect();
    assert!(chain.contains_key(&Version::of(b"00000000 start\n")));
    clear_away(dir.path(), store);
}

/// How often each kind of program saves during a write of ours.
const ROUNDS: u64 = 1_000;

/// How a program saves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Saver {
    RenameOver,
    TruncateThenWrite,
    OpenedLongBefore,
}

/// A program that saves, and remembers what it saved.
struct Program {
    note: PathBuf,
    /// Descriptors it opened in earlier rounds, oldest first.
    opened: VecDeque<File>,
}

impl Program {
    fn save(&mut self, saver: Saver, bytes: &[u8]) -> u64 {
        match saver {
            Saver::RenameOver => {
                let temp = self.note.with_extension("saving");
                fs::write(&temp, bytes).unwrap();
                fs::rename(&temp, &self.note).unwrap();
                0
            }
            Saver::TruncateThenWrite => {
                fs::write(&self.note, bytes).unwrap();
                0
            }
            Saver::OpenedLongBefore => {
                let file = self.opened.pop_front().unwrap();
                file.write_all_at(bytes, 0).unwrap();
                file.set_len(bytes.len() as u64).unwrap();
                file.metadata().unwrap().ino()
            }
        }
    }
}

/// A folder in memory, where that is a file system on which two files can change places: it allows many more rounds.
fn folder_in_memory() -> TempDir {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return tempfile::tempdir().unwrap() };
    fs::write(dir.path().join("note.md"), "old text").unwrap();
    let store = open(dir.path());
    let written = replace(&store, &Version::of(b"old text"), b"new text");
    let exchanges = written.is_ok() && store.class() == Some(Class::Exchange);
    let other = if exchanges { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    other.unwrap()
}

fn race(saver: Saver, rounds: u64, dir: TempDir, disk: impl Fn(RealDisk) -> RealDisk) {
    let note = dir.path().join("note.md");
    fs::write(&note, "00000000 start\n").unwrap();
    let store = open_with(dir.path(), disk);
    let mut program = Program { note: note.clone(), opened: VecDeque::new() };
    // saved into a file that was replaced already, by its number: the sweep must find it
    let mut late: HashMap<u64, Vec<u8>> = HashMap::new();
    let (mut refused, mut usual) = (0, Duration::from_millis(2));
    for round in 0..rounds {
        while program.opened.len() < 3 {
            program.opened.push_back(File::options().write(true).open(&note).unwrap());
        }
        let before = store.read(&path("note.md"), LIMIT).unwrap();
        let ours = format!("{round:08} ours {}\n", "a".repeat(round as usize % 900)).into_bytes();
        let theirs = format!("{round:08} {saver:?} {}\n", "b".repeat(round as usize * 7 % 900)).into_bytes();
        let (barrier, wait) = (Barrier::new(2), usual);
        let (answer, inode) = std::thread::scope(|scope| {
            let program = scope.spawn(|| {
                barrier.wait();
                // somewhere in the write, or a little after it
                let start = Instant::now();
                let part = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
                while start.elapsed() < wait.mul_f64(part as f64 / 800.0) {
                    std::hint::spin_loop();
                }
                program.save(saver, &theirs)
            });
            barrier.wait();
            let start = Instant::now();
            let answer = replace(&store, &before.version, &ours);
            if answer.is_ok() {
                usual = (usual * 7 + start.elapsed()) / 8;
            }
            (answer, program.join().unwrap())
        });
        let file = fs::read(&note).unwrap();
        let case = format!("{saver:?} in round {round}: {answer:?}");
        let whole = [&ours, &theirs, &before.bytes].contains(&&file);
        assert!(whole, "{case}: the file is {:?}", String::from_utf8_lossy(&file));
        if file != theirs && store.content_of(&Version::of(&theirs)).unwrap().is_none() {
            assert!(is_displaced(dir.path(), &theirs), "{case}: lost");
            late.insert(inode, theirs);
        }
        match answer {
            Ok(_) => assert!(store.content_of(&Version::of(&ours)).unwrap().is_some(), "{case}"),
            Err(VaultError::StaleVersion { .. } | VaultError::Busy { .. }) => {
                assert_ne!(file, ours, "{case}");
                refused += 1;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    drop(program);
    let found = clear_away(dir.path(), store);
    let store = open(dir.path());
    for theirs in late.values() {
        let version = Version::of(theirs);
        assert!(store.content_of(&version).unwrap().is_some(), "lost: {:?}", String::from_utf8_lossy(theirs));
    }
    println!("{saver:?}: {rounds} rounds, {refused} refused, {} late, {found} found by the sweep", late.len());
}

fn is_displaced(dir: &Path, bytes: &[u8]) -> bool {
    let files = fs::read_dir(dir.join(".vault/tmp")).unwrap();
    files.into_iter().any(|file| fs::read(file.unwrap().path()).is_ok_and(|there| there == bytes))
}

/// Sweeps everything, as if its time had come, and returns how many late saves there were.
fn clear_away(dir: &Path, store: Store) -> usize {
    let store = store.with_displaced_age(Duration::ZERO);
    let (start, mut found) = (Instant::now(), 0);
    loop {
        found += store.sweep().unwrap().len();
        if fs::read_dir(dir.join(".vault/tmp")).unwrap().next().is_none() {
            return found;
        }
        // a process that another test starts at this moment holds copies of our descriptors until it runs
        assert!(start.elapsed() < Duration::from_secs(30), "replaced files stay");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_is_lost_to_a_program_that_renames_over_the_note() {
    race(Saver::RenameOver, ROUNDS, folder_in_memory(), |disk| disk);
}

#[test]
fn nothing_is_lost_to_a_program_that_truncates_and_writes() {
    race(Saver::TruncateThenWrite, ROUNDS, folder_in_memory(), |disk| disk);
}

#[test]
fn nothing_is_lost_to_a_program_that_opened_the_note_long_before() {
    race(Saver::OpenedLongBefore, ROUNDS, folder_in_memory(), |disk| disk);
}

#[test]
fn nothing_is_lost_on_a_disk_that_takes_its_time() {
    for saver in [Saver::RenameOver, Saver::TruncateThenWrite, Saver::OpenedLongBefore] {
        race(saver, ROUNDS / 10, tempfile::tempdir().unwrap(), |disk| disk);
    }
}

#[test]
fn nothing_is_lost_where_the_file_system_cannot_exchange() {
    for saver in [Saver::RenameOver, Saver::OpenedLongBefore] {
        race(saver, ROUNDS, folder_in_memory(), RealDisk::without_exchange);
    }
}
