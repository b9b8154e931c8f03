//! What must hold whatever happens, tried at every step of a write on the simulated disk.

use std::io::ErrorKind;
use std::time::Duration;

use jiff::Timestamp;

use super::sim::{Event, MOUNT, Outside, SimDisk};
use super::{Author, Class, MachineId, Store, Written};
use crate::call::OperationId;
use crate::error::VaultError;
use crate::path::VaultPath;
use crate::version::Version;

const OLD: &[u8] = b"# Fern\n\nold text of some length, so that half of it is something\n";
const NEW: &[u8] = b"# Fern\n\nnew text, another length\n";

/// What the write under test does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Write {
    Replace,
    Create,
    CreateDeep,
    ReplaceOnMount,
    CreateOnMount,
}

impl Write {
    const ALL: [Write; 5] =
        [Write::Replace, Write::Create, Write::CreateDeep, Write::ReplaceOnMount, Write::CreateOnMount];

    fn replaces(self) -> bool {
        matches!(self, Write::Replace | Write::ReplaceOnMount)
    }

    fn place(self) -> &'static str {
        match self {
            Write::Replace => "note.md",
            Write::Create => "new.md",
            Write::CreateDeep => "a/b/new.md",
            Write::ReplaceOnMount => "mount/note.md",
            Write::CreateOnMount => "mount/new.md",
        }
    }

    fn before(self) -> Option<Vec<u8>> {
        self.replaces().then(|| OLD.to_vec())
    }

    fn run(self, store: &Store) -> Result<Written, VaultError> {
        let operation = OperationId("0000000000000000test".into());
        let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
        match self {
            Write::Replace | Write::ReplaceOnMount => store.replace(&path(self.place()), &Version::of(OLD), NEW, &by),
            _ => store.create(&path(self.place()), NEW, &by),
        }
    }
}

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn store(disk: &SimDisk) -> Store {
    Store::on(Box::new(disk.clone()), MachineId::of(b"test machine"))
}

/// A vault with one note, written before when `used`.
fn vault(seed: u64, exchanges: bool, used: bool) -> SimDisk {
    let disk = SimDisk::new(seed, exchanges);
    disk.put("note.md", OLD);
    disk.put_folder(MOUNT);
    disk.put("mount/note.md", OLD);
    if used {
        disk.put("other.md", b"one");
        let operation = OperationId("0000000000000000used".into());
        let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
        store(&disk).replace(&path("other.md"), &Version::of(b"one"), b"two", &by).unwrap();
    }
    disk
}

/// What people see: everything but dot-files.
fn visible(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    disk.files().into_iter().filter(|(place, _)| !place.split('/').any(|name| name.starts_with('.'))).collect()
}

fn leftovers(disk: &SimDisk) -> Vec<String> {
    let is_ours = |place: &String| place.starts_with(".vault/tmp/") || place.contains("/.vault-");
    disk.files().into_keys().filter(is_ours).collect()
}

/// How many steps the write takes when nothing happens.
fn steps(write: Write, exchanges: bool, used: bool) -> usize {
    let disk = vault(1, exchanges, used);
    let store = store(&disk);
    disk.plan(vec![]);
    write.run(&store).unwrap();
    assert_eq!(disk.bytes(write.place()).as_deref(), Some(NEW));
    assert_eq!(store.class().is_none(), !write.replaces());
    if write.replaces() {
        assert_eq!(store.class(), Some(if exchanges { Class::Exchange } else { Class::MoveAside }));
    }
    disk.calm()
}

/// Runs `check` for every write, way of replacing, state of the vault and step.
fn at_every_step(mut check: impl FnMut(Write, SimDisk, usize)) {
    for write in Write::ALL {
        for exchanges in [true, false] {
            for used in [true, false] {
                for step in 0..steps(write, exchanges, used) {
                    check(write, vault(step as u64, exchanges, used), step);
                }
            }
        }
    }
}

/// Starts a new process after whatever happened, lets time pass, and clears away.
fn recover(disk: &SimDisk) -> Store {
    recover_as(disk, b"test machine")
}

fn recover_as(disk: &SimDisk, machine: &[u8]) -> Store {
    disk.calm();
    disk.wait(Duration::from_secs(10));
    let after = Store::on(Box::new(disk.another_process()), MachineId::of(machine));
    // with a write, so that recovery runs also where nothing is left to sweep
    let operation = OperationId("0000000000000recover".into());
    let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
    let place = format!("recovered {}.md", machine.len());
    after.create(&path(&place), b"x", &by).unwrap();
    disk.wait(Duration::from_secs(10));
    after.sweep().unwrap();
    after
}

#[test]
fn a_crash_at_any_step_leaves_the_old_file_or_the_new_one() {
    for seed in 0..6 {
        for event in [Event::PowerLoss, Event::Kill] {
            at_every_step(|write, disk, step| {
                let case = format!("{write:?}, {event:?} at {step}, seed {seed}");
                (0..seed).for_each(|_| drop(disk.another_process()));
                disk.plan(vec![(step, event.clone())]);
                let answer = write.run(&store(&disk));
                let after = recover(&disk);
                let bytes = disk.bytes(write.place());
                assert!(bytes.as_deref() == Some(NEW) || bytes == write.before(), "{case}: {bytes:?}");
                let history = after.log().unwrap();
                assert_eq!(history.damaged, [], "{case}");
                assert!(history.records.iter().all(|logged| logged.settled), "{case}");
                if answer.is_ok() {
                    assert_eq!(bytes.as_deref(), Some(NEW), "{case}");
                    let id = history.records.iter().find(|logged| logged.record.operation.0.ends_with("test"));
                    assert!(id.is_some(), "{case}");
                }
                if bytes.as_deref() == Some(NEW) {
                    assert_eq!(after.content_of(&Version::of(NEW)).unwrap().as_deref(), Some(NEW), "{case}");
                }
                assert_eq!(leftovers(&disk), Vec::<String>::new(), "{case}");
                let outside = history.records.iter().any(|logged| logged.record.kind == super::RecordKind::Outside);
                assert!(!outside, "{case}: nobody saved anything");
            });
        }
    }
}

#[test]
fn a_machine_that_finds_the_file_of_a_dead_one_moved_aside_puts_it_back() {
    at_every_step(|write, disk, step| {
        let case = format!("{write:?}, killed at {step}");
        disk.plan(vec![(step, Event::Kill)]);
        let _ = write.run(&store(&disk));
        for machine in [&b"another machine"[..], b"test machine"] {
            recover_as(&disk, machine);
            let bytes = disk.bytes(write.place());
            assert!(bytes.as_deref() == Some(NEW) || bytes == write.before(), "{case}: {bytes:?}");
        }
    });
}

#[test]
fn an_answered_write_survives_a_power_loss_right_after() {
    for seed in 0..200 {
        for write in Write::ALL {
            let disk = vault(seed, seed % 2 == 0, seed % 3 == 0);
            let steps = steps(write, seed % 2 == 0, seed % 3 == 0);
            write.run(&store(&disk)).unwrap();
            disk.plan(vec![(0, Event::PowerLoss)]);
            assert!(store(&disk).read(&path("note.md"), 1_000).is_err(), "the power is gone");
            let after = recover(&disk);
            assert_eq!(disk.bytes(write.place()).as_deref(), Some(NEW), "{write:?}, {steps} steps");
            let history = after.log().unwrap();
            assert!(history.records.iter().any(|logged| logged.record.operation.0.ends_with("test") && logged.settled));
        }
    }
}

#[test]
fn a_step_that_fails_leaves_the_old_file_and_no_trace() {
    let kinds = [ErrorKind::StorageFull, ErrorKind::Other, ErrorKind::Interrupted, ErrorKind::PermissionDenied];
    for kind in kinds {
        at_every_step(|write, disk, step| {
            let case = format!("{write:?}, {kind:?} at {step}");
            let before = visible(&disk);
            disk.plan(vec![(step, Event::Fail(kind))]);
            let answer = write.run(&store(&disk));
            disk.calm();
            match &answer {
                Ok(_) => assert_eq!(disk.bytes(write.place()).as_deref(), Some(NEW), "{case}"),
                Err(_) => assert_eq!(visible(&disk), before, "{case}"),
            }
            if kind == ErrorKind::StorageFull && step > 0 {
                assert!(
                    matches!(&answer, Ok(_) | Err(VaultError::DiskFull { .. } | VaultError::VaultUnavailable { .. })),
                    "{case}: {answer:?}"
                );
            }
            let expected = disk.bytes(write.place());
            let after = recover(&disk);
            assert_eq!(disk.bytes(write.place()), expected, "{case}");
            assert_eq!(leftovers(&disk), Vec::<String>::new(), "{case}");
            assert_eq!(after.log().unwrap().damaged, [], "{case}");
            // and the next try works
            if answer.is_err() {
                write.run(&after).unwrap();
            }
        });
    }
}

#[test]
fn a_disk_that_fills_up_leaves_the_original_whole() {
    at_every_step(|write, disk, step| {
        let case = format!("{write:?}, full from {step}");
        disk.plan(vec![(step, Event::DiskFull)]);
        let answer = write.run(&store(&disk));
        let bytes = disk.bytes(write.place());
        assert!(bytes.as_deref() == Some(NEW) || bytes == write.before(), "{case}");
        assert!(answer.is_err() || bytes.as_deref() == Some(NEW), "{case}");
        recover(&disk);
        assert_eq!(disk.bytes(write.place()), bytes, "{case}");
        assert_eq!(leftovers(&disk), Vec::<String>::new(), "{case}");
    });
}

#[test]
fn an_answer_is_true_also_when_our_temporary_files_are_removed_at_any_step() {
    at_every_step(|write, disk, step| {
        disk.plan(vec![(step, Event::Outside(Outside::Clear(".vault/tmp")))]);
        let store = store(&disk);
        let answer = write.run(&store);
        let bytes = disk.bytes(write.place());
        let case = format!("{write:?}, cleared at {step}: {answer:?}");
        // A note that was moved aside is lost to whoever removes it there; its text is in the log.
        if store.class() != Some(Class::MoveAside) || answer.is_ok() {
            assert_eq!(bytes, if answer.is_ok() { Some(NEW.to_vec()) } else { write.before() }, "{case}");
        }
    });
}

/// Ways in which another program saves two contents during a write, beginning at a step.
fn savers(place: &'static str, step: usize, gap: usize) -> Vec<Vec<(usize, Event)>> {
    let saved = |text: &str| format!("# Saved outside\n\n{text}\n").into_bytes();
    let (one, two) = (saved("one"), saved("two"));
    let at = |n: usize, outside| (step + n * gap, Event::Outside(outside));
    use Outside::{Close, Remove, RenameOver, Truncate, Write, WriteOpened};
    vec![
        vec![at(0, RenameOver(place, one.clone()))],
        vec![at(0, RenameOver(place, one.clone())), at(1, RenameOver(place, two.clone()))],
        vec![at(0, Truncate(place)), at(1, WriteOpened(one.clone())), at(2, Close)],
        vec![at(0, RenameOver(place, one.clone())), at(1, Write(place, two.clone()))],
        vec![at(0, WriteOpened(one.clone())), at(1, Close)],
        vec![at(0, WriteOpened(one.clone())), at(1, RenameOver(place, two.clone())), at(2, Close)],
        vec![at(0, Write(place, one.clone())), at(1, WriteOpened(two.clone())), at(2, Close)],
        vec![at(0, RenameOver(place, one.clone())), at(1, Remove(place)), at(1, Close)],
        vec![at(0, Remove(place)), at(1, RenameOver(place, one)), at(2, RenameOver(place, two))],
    ]
}

/// The contents that a plan has saved whole within `steps` steps, in order.
fn saved(plan: &[(usize, Event)], steps: usize) -> Vec<Vec<u8>> {
    let saved = plan.iter().filter(|(at, _)| *at < steps).filter_map(|(_, event)| match event {
        Event::Outside(Outside::RenameOver(_, bytes) | Outside::Write(_, bytes) | Outside::WriteOpened(bytes)) => {
            Some(bytes.clone())
        }
        _ => None,
    });
    saved.collect()
}

#[test]
fn what_another_program_saves_at_any_step_is_the_file_or_in_the_log() {
    let mut stale = 0;
    for (write, exchanges) in [(Write::Replace, true), (Write::Replace, false), (Write::ReplaceOnMount, true)] {
        let steps = steps(write, exchanges, true);
        for gap in [1, 2, 3, 5, 8] {
            for step in 0..steps {
                for plan in savers(write.place(), step, gap) {
                    let disk = vault(7, exchanges, true);
                    disk.open_outside(write.place());
                    disk.plan(plan.clone());
                    let answer = write.run(&store(&disk));
                    let taken = disk.calm();
                    let after = recover(&disk);
                    let file = disk.bytes(write.place());
                    let case = format!("{write:?}, exchanges: {exchanges}, {plan:?}: {answer:?}");
                    for content in saved(&plan, taken) {
                        let kept = after.content_of(&Version::of(&content)).unwrap().is_some();
                        let is_file = file.as_deref() == Some(&content[..]);
                        let text = String::from_utf8_lossy(&content);
                        assert!(kept || is_file || disk.was_overwritten(&content), "lost {text:?}; {case}");
                    }
                    if answer.is_ok() {
                        assert!(after.content_of(&Version::of(NEW)).unwrap().is_some(), "{case}");
                    } else {
                        stale += 1;
                        assert_ne!(file.as_deref(), Some(NEW), "{case}");
                    }
                    assert_eq!(leftovers(&disk), Vec::<String>::new(), "{case}");
                }
            }
        }
    }
    assert!(stale > 100, "the race was never on: {stale}");
}

#[test]
fn a_kill_or_a_power_loss_in_the_middle_of_a_race_loses_nothing_either() {
    let (one, two) = (b"# Saved outside\n\none\n".to_vec(), b"# Saved outside\n\ntwo\n".to_vec());
    let rename = |bytes: &Vec<u8>| Outside::RenameOver("note.md", bytes.clone());
    let write = |bytes: &Vec<u8>| Outside::WriteOpened(bytes.clone());
    let plans = [
        // what a program does in two steps, and how everything ends
        ([rename(&one), rename(&two)], Event::Kill),
        ([write(&one), rename(&two)], Event::Kill),
        ([write(&one), write(&two)], Event::Kill),
        ([rename(&one), rename(&two)], Event::PowerLoss),
    ];
    for exchanges in [true, false] {
        for step in 0..steps(Write::Replace, exchanges, true) {
            for (gap, end) in (1..4).flat_map(|gap| (0..12).map(move |end| (gap, end))) {
                for ([first, second], event) in plans.clone() {
                    let disk = vault(5 + end as u64, exchanges, true);
                    disk.open_outside("note.md");
                    let case =
                        format!("{first:?} at {step}, {second:?} {gap} later, {event:?} {end} later, {exchanges}");
                    let events = [(step, Event::Outside(first)), (step + gap, Event::Outside(second))];
                    let plan = [&events[..], &[(step + end, event)]].concat();
                    disk.plan(plan.clone());
                    let answer = Write::Replace.run(&store(&disk));
                    let taken = disk.calm();
                    let after = recover(&disk);
                    let file = disk.bytes("note.md");
                    // what is planned behind the end does not happen
                    for content in saved(&plan, taken.min(step + end)) {
                        let kept = after.content_of(&Version::of(&content)).unwrap().is_some();
                        let safe = kept || file.as_ref() == Some(&content) || disk.was_overwritten(&content);
                        assert!(safe, "{case}: {answer:?}");
                    }
                    let whole = [OLD, NEW, &one, &two].iter().any(|bytes| file.as_deref() == Some(bytes));
                    assert!(whole, "{case}: {file:?}");
                    assert_eq!(leftovers(&disk), Vec::<String>::new(), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_save_during_a_write_that_fails_stays_at_the_path() {
    for (write, exchanges) in Write::ALL.into_iter().flat_map(|write| [(write, true), (write, false)]) {
        let steps = steps(write, exchanges, true);
        for (step, gap) in (0..steps).flat_map(|step| (0..12).map(move |gap| (step, gap))) {
            let disk = vault(7, exchanges, true);
            if write == Write::CreateDeep {
                disk.put_folder("a");
                disk.put_folder("a/b");
            }
            let saved = b"# Saved outside\n".to_vec();
            let save = Event::Outside(Outside::RenameOver(write.place(), saved.clone()));
            disk.plan(vec![(step, save), (step + gap, Event::Fail(ErrorKind::Other))]);
            let answer = write.run(&store(&disk));
            let taken = disk.calm();
            let case = format!("{write:?}, {exchanges}, saved at {step}, fails at {}: {answer:?}", step + gap);
            let after = recover(&disk);
            let file = disk.bytes(write.place());
            let kept = after.content_of(&Version::of(&saved)).unwrap().is_some();
            assert!(kept || file.as_ref() == Some(&saved) || taken <= step, "lost; {case}");
            // ours only when giving it back is the step that failed
            let shown = file.as_ref() == Some(&saved) || file.as_deref() == Some(NEW);
            assert!(shown || taken <= step, "{file:?}; {case}");
        }
    }
}

#[test]
fn what_a_killed_process_kept_is_durable_before_anything_is_cleared_away() {
    let saved = b"# Saved outside\n".to_vec();
    for (seed, exchanges) in (0..4).flat_map(|seed| [(seed, true), (seed, false)]) {
        let steps = steps(Write::Replace, exchanges, true) + 10;
        for (step, end) in (0..steps).flat_map(|step| (1..12).map(move |end| (step, step + end))) {
            let disk = vault(seed * 1_000 + end as u64, exchanges, true);
            let save = Event::Outside(Outside::RenameOver("note.md", saved.clone()));
            disk.plan(vec![(step, save), (end, Event::Kill)]);
            let answer = Write::Replace.run(&store(&disk));
            let taken = disk.calm();
            disk.wait(Duration::from_secs(10));
            let other = store(&disk.another_process());
            other.sweep().unwrap();
            disk.sync_names();
            disk.plan(vec![(0, Event::PowerLoss)]);
            assert!(other.read(&path("note.md"), 1_000).is_err(), "the power is gone");
            let after = recover(&disk);
            let case = format!("{exchanges}, saved at {step}, killed at {end}: {answer:?}");
            let kept = after.content_of(&Version::of(&saved)).unwrap().is_some();
            assert!(kept || disk.bytes("note.md").as_ref() == Some(&saved) || taken <= step, "lost; {case}");
        }
    }
}

#[test]
fn a_log_whose_sync_failed_once_is_trusted_no_more() {
    for (exchanges, used) in [(true, true), (true, false), (false, true)] {
        for step in 0..steps(Write::Replace, exchanges, used) {
            let disk = vault(step as u64, exchanges, used);
            disk.plan(vec![(step, Event::Fail(ErrorKind::Other))]);
            let store = store(&disk);
            let answer = Write::Replace.run(&store);
            disk.calm();
            let before = disk.bytes("note.md").unwrap();
            let operation = OperationId("000000000000000again".into());
            let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
            let next = if before == NEW { OLD } else { NEW };
            store.replace(&path("note.md"), &Version::of(&before), next, &by).unwrap();
            disk.plan(vec![(0, Event::PowerLoss)]);
            assert!(store.read(&path("note.md"), 1_000).is_err(), "the power is gone");
            let after = recover(&disk);
            for content in [OLD, NEW] {
                let kept = after.content_of(&Version::of(content)).unwrap();
                assert!(kept.is_some(), "{exchanges}, {used}, failed at {step}: {answer:?}");
            }
        }
    }
}

#[test]
fn a_replaced_file_that_looks_unfinished_is_kept_while_a_program_writes_into_it() {
    // what was replaced is the beginning of what replaced it, as a file is that was being staged
    let longer = [OLD, b"more"].concat();
    let late = b"# Saved late\n".to_vec();
    let operation = OperationId("0000000000000000test".into());
    let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
    for end in 0..60 {
        let disk = vault(end as u64, true, true);
        disk.open_outside("note.md");
        disk.plan(vec![(end, Event::Kill)]);
        let first = store(&disk);
        if first.replace(&path("note.md"), &Version::of(OLD), &longer, &by).is_ok() {
            break;
        }
        if disk.bytes("note.md").as_deref() != Some(&longer[..]) {
            continue;
        }
        disk.plan(vec![(0, Event::Outside(Outside::RenameOver("note.md", OLD.to_vec())))]);
        let second = store(&disk.another_process());
        second.create(&path("other.txt"), b"x", &by).unwrap();
        disk.plan(vec![(0, Event::Outside(Outside::WriteOpened(late.clone())))]);
        assert!(second.read(&path("note.md"), 1_000).is_ok());
        let after = recover(&disk);
        assert!(after.content_of(&Version::of(&late)).unwrap().is_some(), "killed at {end}");
    }
}

#[test]
fn two_processes_take_turns_in_one_log() {
    let disk = vault(3, true, false);
    let stores = [store(&disk), store(&disk.another_process())];
    let mut bytes = OLD.to_vec();
    for round in 0..40u32 {
        let next = format!("round {round}\n").into_bytes();
        let operation = OperationId(format!("{round:020}"));
        let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
        let store = &stores[round as usize % 2];
        let stale = store.replace(&path("note.md"), &Version::of(b"never"), &next, &by);
        assert!(matches!(stale, Err(VaultError::StaleVersion { .. })));
        store.replace(&path("note.md"), &Version::of(&bytes), &next, &by).unwrap();
        bytes = next;
    }
    let history = stores[0].log().unwrap();
    let operations: Vec<String> = history.records.iter().map(|logged| logged.record.operation.to_string()).collect();
    assert_eq!(operations, (0..40).map(|round| format!("{round:020}")).collect::<Vec<_>>());
    assert!(history.records.iter().all(|logged| logged.settled));
}
