//! A disk in memory that loses power, fails, or lets another program save, at any step a test names.
//!
//! What is not synced may be lost when the power goes: of a file's bytes any prefix of what was added survives, of the
//! changed names a prefix in their order, as journalling file systems do it.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;

use super::disk::{At, Disk, EntryKind, Folder, Job, Lock, Names, Stat, Writers, join};
use super::helper::Helper;

/// One process's view of the simulated disk.
#[derive(Clone)]
pub(super) struct SimDisk {
    world: Arc<Mutex<World>>,
    process: usize,
}

/// What happens at a step.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// The power goes: what was not synced may be lost.
    PowerLoss,
    /// The process is killed: what it wrote stays.
    Kill,
    /// The step fails.
    Fail(ErrorKind),
    /// This step and all later ones that need room fail.
    DiskFull,
    /// Another program does something first.
    Outside(Outside),
}

/// What another program does, which never asks us.
#[derive(Debug, Clone)]
pub(super) enum Outside {
    /// Saves a new file over the name, durably.
    RenameOver(&'static str, Vec<u8>),
    /// Opens the file that has the name, and empties it.
    Truncate(&'static str),
    /// Writes into the file that has the name.
    Write(&'static str, Vec<u8>),
    /// Writes into the file that it opened.
    WriteOpened(Vec<u8>),
    /// Closes that file.
    Close,
    /// Removes the name.
    Remove(&'static str),
    /// Removes everything in the folder.
    Clear(&'static str),
}

struct World {
    nodes: Vec<Node>,
    /// Names as they would be after a power loss.
    durable: Vec<BTreeMap<String, usize>>,
    /// Changes of names since, in order; each is one step and touches one or two folders.
    pending: Vec<Vec<Naming>>,
    locked: HashSet<usize>,
    dead: HashSet<usize>,
    opened: Option<usize>,
    /// Contents that other programs wrote over or removed themselves.
    overwritten: Vec<Vec<u8>>,
    events: Vec<(usize, Event)>,
    step: usize,
    full: bool,
    exchanges: bool,
    clock: i64,
    seed: u64,
}

/// A folder, a name in it, and what the name means from now on.
type Naming = (usize, String, Option<usize>);

#[derive(Clone)]
struct Node {
    /// `None` for files.
    names: Option<BTreeMap<String, usize>>,
    bytes: Vec<u8>,
    synced: Vec<u8>,
    /// Set when a sync failed: as on Linux, what was to be synced then is gone, and later syncs answer that all is well.
    sync_failed: bool,
    changed: i64,
}

const ROOT: usize = 0;

/// A folder of this name at the top is on another mount: nothing is renamed into it or out of it.
pub(super) const MOUNT: &str = "mount";

fn check_mounts(one: At, other: At) -> io::Result<()> {
    let inside = |at: At| at.place().starts_with("mount/");
    if inside(one) == inside(other) { Ok(()) } else { Err(ErrorKind::CrossesDevices.into()) }
}

impl SimDisk {
    pub(super) fn new(seed: u64, exchanges: bool) -> SimDisk {
        let mut world = World {
            nodes: vec![],
            durable: vec![],
            pending: vec![],
            locked: HashSet::new(),
            dead: HashSet::new(),
            opened: None,
            overwritten: vec![],
            events: vec![],
            step: 0,
            full: false,
            exchanges,
            clock: 1_700_000_000_000_000_000,
            seed: seed.wrapping_mul(2).wrapping_add(1),
        };
        world.add(true);
        SimDisk { world: Arc::new(Mutex::new(world)), process: 0 }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Another process on the same disk; it also stands for this one after a restart.
    pub(super) fn another_process(&self) -> SimDisk {
        let process = self.world().random() as usize | 1;
        SimDisk { world: self.world.clone(), process }
    }

    /// Makes a folder, durably.
    pub(super) fn put_folder(&self, place: &str) {
        let mut world = self.world();
        let node = world.add(true);
        let (folder, name) = world.split(place).unwrap();
        world.name(vec![(folder, name, Some(node))]);
        world.commit_all();
    }

    /// Puts a file there, durably.
    pub(super) fn put(&self, place: &str, bytes: &[u8]) {
        let mut world = self.world();
        let node = world.add(false);
        world.nodes[node].bytes = bytes.to_vec();
        world.nodes[node].synced = bytes.to_vec();
        let (folder, name) = world.split(place).unwrap();
        world.name(vec![(folder, name, Some(node))]);
        world.commit_all();
    }

    /// Lets another program open a file before the test, and keep it open.
    pub(super) fn open_outside(&self, place: &str) {
        let mut world = self.world();
        world.opened = world.find(place);
    }

    /// Plans what happens at steps counted from now.
    pub(super) fn plan(&self, events: Vec<(usize, Event)>) {
        let mut world = self.world();
        world.step = 0;
        world.events = events;
    }

    /// Makes all names durable, as the system does by itself some time.
    pub(super) fn sync_names(&self) {
        self.world().commit_all();
    }

    /// Tells whether another program wrote over that content, or removed it.
    pub(super) fn was_overwritten(&self, bytes: &[u8]) -> bool {
        self.world().overwritten.iter().any(|overwritten| overwritten == bytes)
    }

    /// Ends plans and a full disk, closes other programs' files; returns how many steps were taken since the last plan.
    pub(super) fn calm(&self) -> usize {
        let mut world = self.world();
        world.events.clear();
        world.full = false;
        world.opened = None;
        world.step
    }

    /// Lets time pass.
    pub(super) fn wait(&self, time: Duration) {
        self.world().clock += time.as_nanos() as i64;
    }

    /// Returns the bytes of a file, `None` when nothing is there.
    pub(super) fn bytes(&self, place: &str) -> Option<Vec<u8>> {
        let world = self.world();
        world.find(place).map(|node| world.nodes[node].bytes.clone())
    }

    /// Returns every file's place and bytes.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let world = self.world();
        let mut files = BTreeMap::new();
        let mut folders = vec![(String::new(), ROOT)];
        while let Some((place, folder)) = folders.pop() {
            for (name, node) in world.nodes[folder].names.iter().flatten() {
                let place = join(&place, name);
                match world.nodes[*node].names {
                    Some(_) => folders.push((place, *node)),
                    None => drop(files.insert(place, world.nodes[*node].bytes.clone())),
                }
            }
        }
        files
    }

    /// One step: what is planned for it happens.
    fn step(&self, needs_room: bool) -> io::Result<MutexGuard<'_, World>> {
        let mut world = self.world();
        if world.dead.contains(&self.process) {
            return Err(io::Error::other("this process is dead"));
        }
        let step = world.step;
        world.step += 1;
        world.clock += 1_000;
        let planned: Vec<Event> =
            world.events.iter().filter(|(at, _)| *at == step).map(|(_, event)| event.clone()).collect();
        for event in planned {
            match event {
                Event::Outside(outside) => world.outside(outside),
                Event::Fail(kind) => return Err(kind.into()),
                Event::DiskFull => world.full = true,
                Event::Kill | Event::PowerLoss => {
                    if matches!(event, Event::PowerLoss) {
                        world.lose_power();
                    }
                    world.dead.insert(self.process);
                    world.locked.clear();
                    return Err(io::Error::other("this process is dead"));
                }
            }
        }
        if needs_room && world.full { Err(ErrorKind::StorageFull.into()) } else { Ok(world) }
    }
}

impl World {
    fn add(&mut self, folder: bool) -> usize {
        let names = folder.then(BTreeMap::new);
        self.nodes.push(Node { names, bytes: vec![], synced: vec![], sync_failed: false, changed: self.clock });
        self.durable.push(BTreeMap::new());
        self.nodes.len() - 1
    }

    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 20
    }

    fn find(&self, place: &str) -> Option<usize> {
        let segments = place.split('/').filter(|segment| !segment.is_empty());
        segments.into_iter().try_fold(ROOT, |node, name| self.nodes[node].names.as_ref()?.get(name).copied())
    }

    fn split(&self, place: &str) -> io::Result<(usize, String)> {
        let (above, name) = place.rsplit_once('/').unwrap_or(("", place));
        let folder = self.find(above).ok_or(ErrorKind::NotFound)?;
        if self.nodes[folder].names.is_none() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok((folder, name.to_owned()))
    }

    fn get(&self, at: At) -> io::Result<usize> {
        self.find(&at.place()).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn name(&mut self, namings: Vec<Naming>) {
        for (folder, name, node) in &namings {
            let names = self.nodes[*folder].names.as_mut().unwrap();
            match node {
                Some(node) => drop(names.insert(name.clone(), *node)),
                None => drop(names.remove(name)),
            }
            let clock = self.clock;
            node.iter().for_each(|node| self.nodes[*node].changed = clock);
        }
        self.pending.push(namings);
    }

    fn commit(&mut self, changes: usize) {
        for (folder, name, node) in self.pending.drain(..changes).flatten() {
            match node {
                Some(node) => drop(self.durable[folder].insert(name, node)),
                None => drop(self.durable[folder].remove(&name)),
            }
        }
    }

    fn commit_all(&mut self) {
        self.commit(self.pending.len());
    }

    fn lose_power(&mut self) {
        let kept = self.random() as usize % (self.pending.len() + 1);
        self.commit(kept);
        self.pending.clear();
        for node in 0..self.nodes.len() {
            let random = self.random() as usize;
            let Node { names, bytes, synced, .. } = &mut self.nodes[node];
            match names {
                Some(names) => *names = self.durable[node].clone(),
                None if bytes != synced => {
                    let least = if bytes.starts_with(synced) { synced.len() } else { 0 };
                    bytes.truncate(least + random % (bytes.len() - least + 1));
                    *synced = bytes.clone();
                }
                None => {}
            }
        }
        self.opened = None;
    }

    fn outside(&mut self, outside: Outside) {
        match outside {
            Outside::RenameOver(place, bytes) => {
                self.overwrite(self.find(place));
                let node = self.add(false);
                self.write(node, bytes.clone());
                self.nodes[node].synced = bytes;
                let (folder, name) = self.split(place).unwrap();
                self.name(vec![(folder, name, Some(node))]);
                self.commit_all();
            }
            Outside::Truncate(place) => {
                let node = self.find_or_make(place);
                self.overwrite(Some(node));
                self.write(node, vec![]);
                self.opened = Some(node);
            }
            Outside::Write(place, bytes) => {
                let node = self.find_or_make(place);
                self.overwrite(Some(node));
                self.write(node, bytes);
            }
            Outside::WriteOpened(bytes) => {
                self.overwrite(self.opened);
                self.opened.into_iter().for_each(|node| self.write(node, bytes.clone()));
            }
            Outside::Close => self.opened = None,
            Outside::Remove(place) => {
                self.overwrite(self.find(place));
                let (folder, name) = self.split(place).unwrap();
                self.name(vec![(folder, name, None)]);
            }
            Outside::Clear(place) => {
                let Some(folder) = self.find(place) else { return };
                let names: Vec<String> =
                    self.nodes[folder].names.iter().flatten().map(|(name, _)| name.clone()).collect();
                self.name(names.into_iter().map(|name| (folder, name, None)).collect());
            }
        }
    }

    fn find_or_make(&mut self, place: &str) -> usize {
        self.find(place).unwrap_or_else(|| {
            let node = self.add(false);
            let (folder, name) = self.split(place).unwrap();
            self.name(vec![(folder, name, Some(node))]);
            node
        })
    }

    fn overwrite(&mut self, node: Option<usize>) {
        self.overwritten.extend(node.map(|node| self.nodes[node].bytes.clone()));
    }

    fn write(&mut self, node: usize, bytes: Vec<u8>) {
        self.nodes[node].bytes = bytes;
        self.nodes[node].changed = self.clock;
    }

    fn stat(&self, node: usize) -> Stat {
        let time = Timestamp::from_nanosecond(self.nodes[node].changed.into()).unwrap();
        let kind = if self.nodes[node].names.is_some() { EntryKind::Folder } else { EntryKind::File };
        Stat {
            kind,
            size: self.nodes[node].bytes.len() as u64,
            modified: time,
            changed: time,
            created: None,
            inode: node as u64,
            device: 1,
            writable: true,
        }
    }
}

struct Unlock(Arc<Mutex<World>>, usize, usize);

impl Drop for Unlock {
    fn drop(&mut self) {
        let mut world = self.0.lock().unwrap();
        if !world.dead.contains(&self.1) {
            world.locked.remove(&self.2);
        }
    }
}

impl Disk for SimDisk {
    fn check_root(&self) -> io::Result<()> {
        self.step(false).map(drop)
    }

    fn folder(&self, place: &str) -> io::Result<Folder> {
        let world = self.step(false)?;
        let node = world.find(place).ok_or(ErrorKind::NotFound)?;
        let is_folder = world.nodes[node].names.is_some();
        if is_folder { Ok(Folder::without_handle(place.into())) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    fn child(&self, folder: &Folder, name: &str) -> io::Result<Folder> {
        self.folder(&folder.at(name).place())
    }

    fn real_place(&self, _place: &str) -> Option<String> {
        None
    }

    fn list(&self, folder: &Folder) -> io::Result<Names> {
        let world = self.step(false)?;
        let node = world.find(&folder.place).ok_or(ErrorKind::NotFound)?;
        let names = world.nodes[node].names.as_ref().ok_or(ErrorKind::NotADirectory)?;
        let kind = |node: usize| world.stat(node).kind;
        let entries = names.iter().map(|(name, node)| (name.clone(), Some(kind(*node)))).collect();
        Ok(Names { entries, unreadable: 0 })
    }

    fn stat(&self, at: At) -> io::Result<Stat> {
        let world = self.step(false)?;
        world.get(at).map(|node| world.stat(node))
    }

    fn read(&self, at: At, from: u64, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let world = self.step(false)?;
        let node = world.get(at)?;
        let stat = world.stat(node);
        if stat.kind == EntryKind::Folder {
            return Err(ErrorKind::IsADirectory.into());
        }
        let bytes = world.nodes[node].bytes[(from as usize).min(stat.size as usize)..].to_vec();
        if bytes.len() as u64 > limit { Err(ErrorKind::FileTooLarge.into()) } else { Ok((bytes, stat)) }
    }

    fn create_folder(&self, at: At, _private: bool) -> io::Result<()> {
        let mut world = self.step(true)?;
        if world.get(at).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let (folder, name) = world.split(&at.place())?;
        let node = world.add(true);
        world.name(vec![(folder, name, Some(node))]);
        Ok(())
    }

    fn remove_folder(&self, at: At) -> io::Result<()> {
        let mut world = self.step(false)?;
        let node = world.get(at)?;
        if world.nodes[node].names.as_ref().is_some_and(|names| !names.is_empty()) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        let (folder, name) = world.split(&at.place())?;
        world.name(vec![(folder, name, None)]);
        Ok(())
    }

    fn stage(&self, at: At, bytes: &[u8], _like: Option<At>) -> io::Result<()> {
        let mut world = self.step(true)?;
        if world.get(at).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let (folder, name) = world.split(&at.place())?;
        let node = world.add(false);
        world.name(vec![(folder, name, Some(node))]);
        drop(world);
        let fill = || {
            let half = bytes.len() / 2;
            self.step(false)?.write(node, bytes[..half].to_vec());
            self.step(true)?.write(node, bytes.to_vec());
            let mut world = self.step(true)?;
            world.nodes[node].synced = bytes.to_vec();
            Ok(())
        };
        fill().inspect_err(|_| drop(self.unlink(at)))
    }

    fn append(&self, at: At, bytes: &[u8], durable: bool) -> io::Result<()> {
        let mut world = self.step(true)?;
        let node = match world.get(at) {
            Ok(node) => node,
            Err(_) => {
                let (folder, name) = world.split(&at.place())?;
                let node = world.add(false);
                world.name(vec![(folder, name, Some(node))]);
                node
            }
        };
        drop(world);
        let (first, second) = bytes.split_at(bytes.len() / 2);
        for part in [first, second] {
            self.step(true)?.nodes[node].bytes.extend_from_slice(part);
        }
        if durable {
            match self.step(true) {
                Ok(mut world) if !world.nodes[node].sync_failed => {
                    world.nodes[node].synced = world.nodes[node].bytes.clone();
                }
                Ok(_) => {}
                Err(error) => {
                    let mut world = self.world();
                    world.nodes[node].sync_failed = !world.dead.contains(&self.process);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn exchange(&self, one: At, other: At) -> io::Result<()> {
        let mut world = self.step(false)?;
        if !world.exchanges {
            return Err(ErrorKind::Unsupported.into());
        }
        check_mounts(one, other)?;
        let nodes = (world.get(one)?, world.get(other)?);
        let (first, second) = (world.split(&one.place())?, world.split(&other.place())?);
        world.name(vec![(first.0, first.1, Some(nodes.1)), (second.0, second.1, Some(nodes.0))]);
        Ok(())
    }

    fn rename_away(&self, from: At, to: At) -> io::Result<()> {
        let mut world = self.step(false)?;
        check_mounts(from, to)?;
        let node = world.get(from)?;
        let (old, new) = (world.split(&from.place())?, world.split(&to.place())?);
        world.name(vec![(old.0, old.1, None), (new.0, new.1, Some(node))]);
        Ok(())
    }

    fn rename_new(&self, from: At, to: At) -> io::Result<()> {
        let mut world = self.step(false)?;
        check_mounts(from, to)?;
        let node = world.get(from)?;
        if world.get(to).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let (old, new) = (world.split(&from.place())?, world.split(&to.place())?);
        world.name(vec![(old.0, old.1, None), (new.0, new.1, Some(node))]);
        Ok(())
    }

    fn unlink(&self, at: At) -> io::Result<()> {
        let mut world = self.step(false)?;
        world.get(at)?;
        let (folder, name) = world.split(&at.place())?;
        world.name(vec![(folder, name, None)]);
        Ok(())
    }

    fn sync(&self, folder: &Folder) -> io::Result<()> {
        let mut world = self.step(true)?;
        let node = world.find(&folder.place).ok_or(ErrorKind::NotFound)?;
        let touches = |change: &Vec<Naming>| change.iter().any(|(folder, ..)| *folder == node);
        let last = world.pending.iter().rposition(touches).map_or(0, |last| last + 1);
        world.commit(last);
        Ok(())
    }

    fn try_lock(&self, at: At) -> io::Result<Option<Lock>> {
        let mut world = self.step(false)?;
        let node = match world.get(at) {
            Ok(node) => node,
            Err(_) => {
                let (folder, name) = world.split(&at.place())?;
                let node = world.add(false);
                world.name(vec![(folder, name, Some(node))]);
                node
            }
        };
        let taken = !world.locked.insert(node);
        Ok((!taken).then(|| Box::new(Unlock(self.world.clone(), self.process, node)) as Lock))
    }

    fn writers(&self, at: At) -> io::Result<Writers> {
        let world = self.step(false)?;
        let node = world.get(at)?;
        Ok(if world.opened == Some(node) { Writers::Some } else { Writers::None(Box::new(())) })
    }

    fn shapes_new_files(&self, _folder: &Folder) -> bool {
        false
    }

    /// One after the other, so that every step has its number; which first is left to chance.
    fn both(&self, _helper: &Helper, beside: Job, own: &mut dyn FnMut()) {
        let own_is_first = self.random().is_multiple_of(2);
        if own_is_first {
            own();
        }
        beside();
        if !own_is_first {
            own();
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanosecond(self.world().clock.into()).unwrap()
    }

    fn random(&self) -> u64 {
        self.world().random()
    }

    fn pause(&self, time: Duration) {
        self.wait(time);
        std::thread::yield_now();
    }
}
