//! Odd entries, refused calls, and what a write keeps, on a real disk.
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

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use support::{LIMIT, open, open_with, path};
use vault_core::path::PathProblem;
use vault_core::store::{Author, EntryKind, RealDisk, RecordKind, Written};
use vault_core::{OperationId, Store, VaultError, VaultPath, Version};

fn author<T>(write: impl FnOnce(&Author) -> T) -> T {
    let operation = OperationId("00000000000000000001".into());
    write(&Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test 1.0" })
}

fn create(store: &Store, at: &str, bytes: &[u8]) -> Result<Written, VaultError> {
    author(|by| store.create(&path(at), bytes, by))
}

fn replace(store: &Store, at: &str, old: &[u8], new: &[u8]) -> Result<Written, VaultError> {
    author(|by| store.replace(&path(at), &Version::of(old), new, by))
}

/// Every entry below a folder with its bytes, mode and times.
fn tree(dir: &Path) -> BTreeMap<String, (Vec<u8>, u32, i64, i64)> {
    let mut entries = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let stat = fs::symlink_metadata(entry.path()).unwrap();
            if stat.is_dir() {
                folders.push(entry.path());
            }
            let bytes = if stat.is_file() { fs::read(entry.path()).unwrap() } else { vec![] };
            let known = (bytes, stat.mode(), stat.mtime(), stat.mtime_nsec());
            entries.insert(entry.path().to_str().unwrap().to_owned(), known);
        }
    }
    entries
}

#[test]
fn reading_makes_nothing_and_writing_makes_one_private_folder() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("a/x.md"), "text").unwrap();
    let before = tree(dir.path());
    let store = open(dir.path());
    assert_eq!(store.read(&path("a/x.md"), LIMIT).unwrap().bytes, b"text");
    assert_eq!(store.stat(&path("a")).unwrap().kind, EntryKind::Folder);
    assert_eq!(store.list(&VaultPath::root()).unwrap().entries.len(), 1);
    assert_eq!(store.walk(&|_, _| true).unwrap().len(), 2);
    assert!(store.log().unwrap().records.is_empty());
    assert_eq!(store.content_of(&Version::of(b"text")).unwrap(), None);
    assert_eq!(store.sweep().unwrap(), []);
    assert_eq!(store.ignore_file().unwrap(), None);
    assert!(matches!(replace(&store, "a/x.md", b"other", b"new"), Err(VaultError::StaleVersion { .. })));
    assert!(matches!(create(&store, "a/x.md", b"new"), Err(VaultError::Exists { .. })));
    assert_eq!(tree(dir.path()), before);
    replace(&store, "a/x.md", b"text", b"new").unwrap();
    let mode = fs::metadata(dir.path().join(".vault")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(store.list(&VaultPath::root()).unwrap().entries.len(), 1);
    assert_eq!(store.walk(&|_, _| true).unwrap().len(), 2);
}

#[test]
fn a_refused_call_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    create(&store, "notes/Fern.md", b"one").unwrap();
    create(&store, "notes/caf\u{e9}.md", b"one").unwrap();
    fs::create_dir(dir.path().join("notes/folder.md")).unwrap();
    symlink("Fern.md", dir.path().join("notes/link.md")).unwrap();
    symlink("notes", dir.path().join("way")).unwrap();
    let before = tree(dir.path());
    let long = format!("notes/{}", "x".repeat(255));
    let refusals: [(&str, Result<Written, VaultError>); 17] = [
        ("stale_version", replace(&store, "notes/Fern.md", b"two", b"three")),
        ("not_found", replace(&store, "notes/Moss.md", b"two", b"three")),
        ("not_found", replace(&store, "none/Moss.md", b"two", b"three")),
        ("not_found", replace(&store, "notes/Fern.md/x.md", b"two", b"three")),
        ("not_a_note", replace(&store, "notes/folder.md", b"two", b"three")),
        ("invalid_path", replace(&store, "notes/link.md", b"one", b"three")),
        ("invalid_path", replace(&store, "way/Fern.md", b"one", b"three")),
        ("exists", create(&store, "notes/Fern.md", b"x")),
        ("exists", create(&store, "notes/FERN.md", b"x")),
        ("exists", create(&store, "NOTES/new.md", b"x")),
        ("exists", create(&store, "notes/cafe\u{301}.md", b"x")),
        ("exists", create(&store, "notes/Fern.md/x.md", b"x")),
        ("invalid_path", create(&store, "notes/link.md", b"x")),
        ("invalid_path", create(&store, "way/new.md", b"x")),
        ("invalid_path", create(&store, "notes/LINK.md", b"x")),
        ("invalid_path", create(&store, "WAY/new.md", b"x")),
        ("exists", author(|by| store.create_folder(&path("Notes"), by)).map(|()| unreachable!())),
    ];
    for (n, (code, answer)) in refusals.into_iter().enumerate() {
        let refusal = answer.unwrap_err();
        assert_eq!(refusal.code(), code, "case {n}");
        let told = refusal.to_json().to_string();
        let names_link = told.contains("link.md") && !told.contains("`notes/link.md`");
        assert!(!names_link, "case {n}: {told}");
    }
    assert_eq!(tree(dir.path()), before);
    // what we write back unchanged is no change either
    replace(&store, "notes/Fern.md", b"one", b"one").unwrap();
    assert_eq!(tree(dir.path()), before);
    // 255 bytes are a name; the longer one of the temporary file never shows
    create(&store, &long, b"x").unwrap();
}

#[test]
fn links_are_refused_with_the_real_path_and_never_listed() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "secret").unwrap();
    fs::create_dir_all(dir.path().join("real/.hidden")).unwrap();
    fs::write(dir.path().join("real/x.md"), "text").unwrap();
    fs::write(dir.path().join("real/.hidden/y.md"), "text").unwrap();
    symlink("real", dir.path().join("way")).unwrap();
    symlink("real/x.md", dir.path().join("x.md")).unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink("real/.hidden", dir.path().join("in")).unwrap();
    symlink("nowhere", dir.path().join("broken.md")).unwrap();
    symlink("loop.md", dir.path().join("loop.md")).unwrap();
    let store = open(dir.path());
    let cases = [
        ("way/x.md", Some("real/x.md")),
        ("x.md", Some("real/x.md")),
        ("out/secret.md", None),
        ("in/y.md", None),
        ("broken.md", None),
        ("loop.md", None),
    ];
    for (at, real) in cases {
        for answer in [store.read(&path(at), LIMIT).map(drop), store.stat(&path(at)).map(drop)] {
            let Err(VaultError::InvalidPath { problem: PathProblem::SymbolicLink { real: found }, .. }) = answer else {
                panic!("{at}: {answer:?}");
            };
            assert_eq!(found.as_ref().map(VaultPath::as_str), real, "{at}");
        }
    }
    assert_eq!(store.list(&path("way")).unwrap_err().code(), "invalid_path");
    let names: Vec<_> = store.list(&VaultPath::root()).unwrap().entries.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["real"]);
    let walked: Vec<_> = store.walk(&|_, _| true).unwrap().into_iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(walked, ["real", "real/x.md"]);
    // a vault that is itself reached through a link is the folder behind it
    let root = outside.path().join("vault");
    symlink(dir.path(), &root).unwrap();
    assert_eq!(open(&root).read(&path("real/x.md"), LIMIT).unwrap().bytes, b"text");
}

#[test]
fn our_own_folder_may_not_be_a_link_or_a_file() {
    for make in [|vault: &Path| symlink("/tmp", vault).unwrap(), |vault: &Path| fs::write(vault, "x").unwrap()] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.md"), "one").unwrap();
        make(&dir.path().join(".vault"));
        let before = tree(dir.path());
        let store = open(dir.path());
        assert_eq!(store.read(&path("x.md"), LIMIT).unwrap().bytes, b"one");
        for answer in [replace(&store, "x.md", b"one", b"two"), create(&store, "a/y.md", b"x")] {
            assert!(matches!(&answer, Err(VaultError::ReadOnly { path, .. }) if path == ".vault"), "{answer:?}");
        }
        assert_eq!(tree(dir.path()), before);
    }
}

#[test]
fn a_file_that_is_marked_read_only_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.md"), "one").unwrap();
    let store = open(dir.path());
    fs::set_permissions(dir.path().join("a.md"), fs::Permissions::from_mode(0o444)).unwrap();
    let refused = replace(&store, "a.md", b"one", b"two").unwrap_err();
    assert_eq!(refused.code(), "read_only");
    assert_eq!(fs::read(dir.path().join("a.md")).unwrap(), b"one");
    assert!(!dir.path().join(".vault").exists(), "a refused write makes nothing");
}

#[test]
fn pipes_folders_and_large_files_answer_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.md");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket.md")).unwrap();
    fs::create_dir(dir.path().join("folder.md")).unwrap();
    fs::File::create(dir.path().join("large.md")).unwrap().set_len(50 * LIMIT).unwrap();
    let store = open(dir.path());
    for (at, code) in
        [("pipe.md", "not_a_note"), ("socket.md", "not_a_note"), ("folder.md", "not_a_note"), ("large.md", "too_large")]
    {
        assert_eq!(store.read(&path(at), LIMIT).unwrap_err().code(), code, "{at}");
    }
    assert_eq!(replace(&store, "pipe.md", b"", b"x").unwrap_err().code(), "not_a_note");
    assert_eq!(store.stat(&path("pipe.md")).unwrap().kind, EntryKind::Other);
    let long = (0..30).map(|_| "x".repeat(200)).collect::<Vec<_>>().join("/");
    assert_eq!(VaultPath::parse(&long).unwrap_err(), PathProblem::TooLong);
    assert!(!dir.path().join(".vault").exists());
}

#[test]
fn names_that_are_no_text_are_counted() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"\xff.md")), "x").unwrap();
    fs::write(dir.path().join("cafe\u{301}.md"), "x").unwrap();
    let listing = open(dir.path()).list(&VaultPath::root()).unwrap();
    assert_eq!((listing.entries[0].name.as_str(), listing.unreadable_names), ("cafe\u{301}.md", 1));
}

#[test]
fn a_vault_that_is_gone_says_so() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("vault");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("x.md"), "one").unwrap();
    assert!(matches!(Store::open(&base.path().join("none")), Err(VaultError::VaultUnavailable { .. })));
    let store = open(&dir);
    fs::rename(&dir, base.path().join("elsewhere")).unwrap();
    fs::create_dir(&dir).unwrap();
    assert!(matches!(replace(&store, "x.md", b"one", b"two"), Err(VaultError::VaultUnavailable { .. })));
    fs::remove_dir_all(base.path().join("elsewhere")).unwrap();
    assert!(matches!(store.read(&path("x.md"), LIMIT), Err(VaultError::VaultUnavailable { .. })));
    assert!(matches!(create(&store, "x.md", b"one"), Err(VaultError::VaultUnavailable { .. })));
}

#[test]
fn a_write_keeps_mode_owner_and_attributes_and_parts_hard_links() {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("x.md");
    fs::write(&note, "one").unwrap();
    fs::set_permissions(&note, fs::Permissions::from_mode(0o640)).unwrap();
    let owned = std::os::unix::fs::chown(&note, Some(1234), Some(4321)).is_ok();
    let file = fs::File::options().write(true).open(&note).unwrap();
    let tagged = rustix::fs::fsetxattr(&file, "user.tag", b"green", rustix::fs::XattrFlags::empty()).is_ok();
    drop(file);
    fs::hard_link(&note, dir.path().join("same.md")).unwrap();
    for disk in [|disk| disk, RealDisk::without_exchange as fn(RealDisk) -> RealDisk] {
        let store = open_with(dir.path(), disk);
        let old = fs::read(&note).unwrap();
        let new = [&old[..], b" more"].concat();
        replace(&store, "x.md", &old, &new).unwrap();
        let stat = fs::metadata(&note).unwrap();
        assert_eq!(stat.mode() & 0o7777, 0o640);
        assert!(!owned || (stat.uid(), stat.gid()) == (1234, 4321));
        let mut tag = [0; 16];
        let tag = rustix::fs::getxattr(&note, "user.tag", &mut tag[..]).map(|length| tag[..length].to_vec());
        assert!(!tagged || tag.unwrap() == b"green");
        assert_eq!(fs::read(dir.path().join("same.md")).unwrap(), b"one");
    }
}

#[test]
fn new_files_get_the_rights_that_other_programs_would_give_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    create(&store, "a/ours.md", b"x").unwrap();
    fs::write(dir.path().join("a/theirs.md"), "x").unwrap();
    fs::create_dir(dir.path().join("theirs")).unwrap();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().mode();
    assert_eq!(mode("a/ours.md"), mode("a/theirs.md"));
    assert_eq!(mode("a"), mode("theirs"));
    // a folder that hands down its group does so to our files too
    fs::create_dir(dir.path().join("shared")).unwrap();
    if std::os::unix::fs::chown(dir.path().join("shared"), None, Some(4321)).is_ok() {
        fs::set_permissions(dir.path().join("shared"), fs::Permissions::from_mode(0o2775)).unwrap();
        create(&store, "shared/x.md", b"x").unwrap();
        assert_eq!(fs::metadata(dir.path().join("shared/x.md")).unwrap().gid(), 4321);
        let names: Vec<_> = fs::read_dir(dir.path().join("shared")).unwrap().collect();
        assert_eq!(names.len(), 1);
    }
}

/// The segments of the log, in order.
fn segments(dir: &Path) -> Vec<std::path::PathBuf> {
    let machine = fs::read_dir(dir.join(".vault/log")).unwrap().next().unwrap().unwrap().path();
    let mut segments: Vec<_> = fs::read_dir(machine).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    segments
}

#[test]
fn the_log_tells_who_changed_what_and_keeps_every_content() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let large: Vec<u8> = (0..5_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    create(&store, "x.md", b"").unwrap();
    replace(&store, "x.md", b"", &large).unwrap();
    replace(&store, "x.md", &large, b"small").unwrap();
    fs::write(dir.path().join("x.md"), "saved by a person").unwrap();
    replace(&store, "x.md", b"saved by a person", b"after that").unwrap();
    author(|by| store.create_folder(&path("a/b"), by)).unwrap();
    for store in [store, open(dir.path())] {
        let history = store.log().unwrap();
        let kinds: Vec<_> = history.records.iter().map(|logged| logged.record.kind).collect();
        use RecordKind::{Folder, Write};
        assert_eq!(kinds, [Write, Write, Write, Write, Folder]);
        assert!(history.records.iter().all(|logged| logged.settled && logged.record.client == "test 1.0"));
        for content in [&b""[..], &large, b"small", b"saved by a person", b"after that"] {
            assert_eq!(store.content_of(&Version::of(content)).unwrap().as_deref(), Some(content));
        }
    }
}

#[test]
fn a_torn_tail_or_garbage_starts_a_segment_and_hides_nothing() {
    let tails: [&[u8]; 3] = [b"vaultlg1\xff\xff", b"\0\0\0\0", b"garbage from elsewhere"];
    let dir = tempfile::tempdir().unwrap();
    create(&open(dir.path()), "x.md", b"0").unwrap();
    for (n, tail) in tails.into_iter().enumerate() {
        let last = segments(dir.path()).pop().unwrap();
        let torn = [&fs::read(&last).unwrap()[..], tail].concat();
        fs::write(&last, &torn).unwrap();
        // one process that starts now, and one that has read the log before
        let store = open(dir.path());
        replace(&store, "x.md", n.to_string().as_bytes(), (n + 1).to_string().as_bytes()).unwrap();
        assert_eq!(fs::read(&last).unwrap(), torn, "nothing is rewritten");
        assert_eq!(segments(dir.path()).len(), n + 2);
        let history = store.log().unwrap();
        assert_eq!((history.records.len(), history.damaged.len()), (n + 2, 0));
    }
}

#[test]
fn a_log_that_was_removed_cut_or_exchanged_gets_both_texts_again() {
    let other = tempfile::tempdir().unwrap();
    create(&open(other.path()), "x.md", &[b'y'; 5_000]).unwrap();
    let other = segments(other.path()).remove(0);
    type Harm<'a> = &'a dyn Fn(&Path);
    let log = |dir: &Path| segments(dir).pop().unwrap();
    let cut = |dir: &Path, left: u64| fs::File::options().write(true).open(log(dir)).unwrap().set_len(left).unwrap();
    let length = |dir: &Path| fs::metadata(log(dir)).unwrap().len();
    let harms: [(&str, Harm); 9] = [
        ("our folder removed", &|dir| fs::remove_dir_all(dir.join(".vault")).unwrap()),
        ("all logs removed", &|dir| fs::remove_dir_all(dir.join(".vault/log")).unwrap()),
        ("one log removed", &|dir| fs::remove_file(log(dir)).unwrap()),
        ("emptied", &|dir| cut(dir, 0)),
        ("cut by a byte", &|dir| cut(dir, length(dir) - 1)),
        ("cut to a few bytes", &|dir| cut(dir, 10)),
        ("cut, then zeros", &|dir| {
            let whole = length(dir);
            cut(dir, 10);
            cut(dir, whole);
        }),
        ("another log renamed over it", &|dir| {
            fs::copy(&other, dir.join("copy")).unwrap();
            fs::rename(dir.join("copy"), log(dir)).unwrap();
        }),
        ("another log written into it", &|dir| {
            fs::copy(&other, log(dir)).unwrap();
        }),
    ];
    for (name, harm) in harms {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        create(&store, "x.md", b"one").unwrap();
        replace(&store, "x.md", b"one", b"two").unwrap();
        harm(dir.path());
        replace(&store, "x.md", b"two", b"one").unwrap();
        for store in [store, open(dir.path())] {
            for content in [b"one", b"two"] {
                let kept = store.content_of(&Version::of(content)).unwrap();
                assert_eq!(kept.as_deref(), Some(&content[..]), "{name}");
            }
            let last = store.log().unwrap().records.pop().unwrap();
            assert!(last.settled, "{name}");
        }
    }
}

#[test]
fn files_that_are_no_segments_of_ours_stop_nobody() {
    let dir = tempfile::tempdir().unwrap();
    create(&open(dir.path()), "x.md", b"one").unwrap();
    let log = segments(dir.path()).pop().unwrap();
    let own = log.parent().unwrap();
    for name in ["4294967295.log", "7.log", "+5.log", "99999999999.log", "notes.txt"] {
        fs::write(own.join(name), b"x").unwrap();
    }
    let other = own.parent().unwrap().join("0000000000000000");
    fs::create_dir_all(other.join("0002.log")).unwrap();
    symlink("/etc/passwd", other.join("0001.log")).unwrap();
    let store = open(dir.path());
    replace(&store, "x.md", b"one", b"two").unwrap();
    assert_eq!(store.content_of(&Version::of(b"one")).unwrap().as_deref(), Some(&b"one"[..]));
    assert_eq!(store.log().unwrap().records.len(), 2);
    assert!(!own.join("0002.log").exists(), "no segment was begun");
}

#[test]
fn a_segment_that_is_too_long_to_be_read_is_reported_and_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    create(&open(dir.path()), "x.md", b"one").unwrap();
    let log = segments(dir.path()).pop().unwrap();
    fs::File::options().write(true).open(log).unwrap().set_len(1 << 30).unwrap();
    let store = open(dir.path());
    replace(&store, "x.md", b"one", b"two").unwrap();
    for content in [b"one", b"two"] {
        assert_eq!(store.content_of(&Version::of(content)).unwrap().as_deref(), Some(&content[..]));
    }
    assert_eq!(store.log().unwrap().damaged.len(), 1);
}

#[test]
fn a_save_into_a_replaced_file_is_kept_also_when_the_log_was_removed_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.md"), "one").unwrap();
    let opened = fs::File::options().write(true).open(dir.path().join("x.md")).unwrap();
    let store = open(dir.path()).with_displaced_age(Duration::ZERO);
    replace(&store, "x.md", b"one", b"two").unwrap();
    fs::remove_dir_all(dir.path().join(".vault/log")).unwrap();
    opened.write_all_at(b"late", 0).unwrap();
    drop(opened);
    let found = store.sweep().unwrap();
    assert_eq!(found.iter().map(|late| late.path.as_str()).collect::<Vec<_>>(), ["x.md"]);
    assert_eq!(fs::read_dir(dir.path().join(".vault/tmp")).unwrap().count(), 0);
    assert_eq!(store.content_of(&Version::of(b"late")).unwrap().as_deref(), Some(&b"late"[..]));
}

#[test]
fn a_flipped_byte_is_reported_and_never_served() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for n in 0..3 {
        create(&store, &format!("{n}.md"), format!("content number {n}").as_bytes()).unwrap();
    }
    let log = segments(dir.path()).pop().unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let place = bytes.windows(9).position(|window| window == b"\"1.md\",\"b").unwrap();
    bytes[place + 1] ^= 1;
    fs::write(&log, bytes).unwrap();
    let store = open(dir.path());
    let history = store.log().unwrap();
    assert_eq!((history.records.len(), history.damaged.len()), (2, 1));
    assert_eq!(store.content_of(&Version::of(b"content number 1")).unwrap(), None);
    assert!(store.content_of(&Version::of(b"content number 2")).unwrap().is_some());
    replace(&store, "1.md", b"content number 1", b"new").unwrap();
    assert_eq!(store.content_of(&Version::of(b"content number 1")).unwrap().unwrap(), b"content number 1");
}

#[test]
fn a_full_segment_is_followed_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let noise = |n: u64| -> Vec<u8> {
        let mut state = n + 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..3_000_000).map(|_| next()).collect()
    };
    for n in 0..5 {
        create(&store, &format!("{n}.md"), &noise(n)).unwrap();
    }
    assert_eq!(segments(dir.path()).len(), 3);
    let other = open(dir.path());
    create(&other, "last.md", b"x").unwrap();
    for store in [store, other] {
        assert_eq!(store.log().unwrap().records.len(), 6);
        assert_eq!(store.content_of(&Version::of(&noise(0))).unwrap().unwrap(), noise(0));
    }
}
