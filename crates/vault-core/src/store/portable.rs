//! The computer's disk by paths alone, for systems without descriptors of folders.
//!
//! Links are looked for before each step, so one that is put there between the look and the step is followed; and there
//! is no exchange, so a replacement moves the old file aside first.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use super::disk::{At, Disk, EntryKind, Folder, Lock, Names, Stat, Writers, join, link_error, odd_file_error};
use crate::limits::READ_TRIES;

/// A folder of the computer as a [`Disk`].
#[derive(Debug)]
pub struct RealDisk {
    path: PathBuf,
}

impl RealDisk {
    /// Opens a folder. Nothing is made.
    pub fn open(path: &Path) -> io::Result<RealDisk> {
        let path = path.canonicalize()?;
        let is_folder = fs::metadata(&path)?.is_dir();
        if is_folder { Ok(RealDisk { path }) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    /// Treats the file system as one that cannot exchange two files, as this disk does anyway.
    pub fn without_exchange(self) -> RealDisk {
        self
    }

    /// Returns the canonical path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes the root itself.
    pub fn root_stat(&self) -> io::Result<Stat> {
        stat_of(&fs::metadata(&self.path)?)
    }

    /// Returns the path of a place, once no part of it is a link.
    fn resolve(&self, place: &str) -> io::Result<PathBuf> {
        let mut path = self.path.clone();
        for segment in place.split('/').filter(|segment| !segment.is_empty()) {
            path.push(segment);
            if fs::symlink_metadata(&path).is_ok_and(|known| known.is_symlink()) {
                return Err(link_error());
            }
        }
        Ok(path)
    }

    fn path_of(&self, at: At) -> io::Result<PathBuf> {
        self.resolve(&at.place())
    }
}

impl Disk for RealDisk {
    fn check_root(&self) -> io::Result<()> {
        fs::metadata(&self.path).map(drop)
    }

    fn folder(&self, place: &str) -> io::Result<Folder> {
        let known = fs::metadata(self.resolve(place)?)?;
        if known.is_dir() { Ok(Folder::without_handle(place.into())) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    fn child(&self, folder: &Folder, name: &str) -> io::Result<Folder> {
        self.folder(&join(&folder.place, name))
    }

    fn real_place(&self, place: &str) -> Option<String> {
        let real = self.path.join(place).canonicalize().ok()?;
        Some(real.strip_prefix(&self.path).ok()?.to_str()?.replace('\\', "/"))
    }

    fn list(&self, folder: &Folder) -> io::Result<Names> {
        let mut names = Names::default();
        for entry in fs::read_dir(self.resolve(&folder.place)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                names.unreadable += 1;
                continue;
            };
            let known = entry.file_type()?;
            let kind = match (known.is_symlink(), known.is_file(), known.is_dir()) {
                (true, ..) => None,
                (_, true, _) => Some(EntryKind::File),
                (_, _, true) => Some(EntryKind::Folder),
                _ => Some(EntryKind::Other),
            };
            names.entries.push((name, kind));
        }
        Ok(names)
    }

    fn stat(&self, at: At) -> io::Result<Stat> {
        stat_of(&fs::symlink_metadata(self.path_of(at)?)?)
    }

    fn read(&self, at: At, from: u64, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        let path = self.path_of(at)?;
        match self.stat(at)?.kind {
            EntryKind::File => {}
            EntryKind::Folder => return Err(ErrorKind::IsADirectory.into()),
            EntryKind::Other => return Err(odd_file_error()),
        }
        let mut file = File::open(path)?;
        let mut before = stat_of(&file.metadata()?)?;
        for _ in 0..READ_TRIES {
            if before.size.saturating_sub(from) > limit {
                return Err(ErrorKind::FileTooLarge.into());
            }
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            Read::by_ref(&mut file).take(limit + 1).read_to_end(&mut bytes)?;
            let after = stat_of(&file.metadata()?)?;
            if after.same_state(&before) && from + bytes.len() as u64 == after.size {
                return Ok((bytes, after));
            }
            before = after;
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "the file changes all the time"))
    }

    fn create_folder(&self, at: At, _private: bool) -> io::Result<()> {
        fs::create_dir(self.path_of(at)?)
    }

    fn remove_folder(&self, at: At) -> io::Result<()> {
        fs::remove_dir(self.path_of(at)?)
    }

    fn stage(&self, at: At, bytes: &[u8], like: Option<At>) -> io::Result<()> {
        let mut file = File::options().write(true).create_new(true).open(self.path_of(at)?)?;
        let mut fill = || {
            file.write_all(bytes)?;
            if let Some(like) = like {
                file.set_permissions(fs::metadata(self.path_of(like)?)?.permissions())?;
            }
            file.sync_all()
        };
        fill().inspect_err(|_| drop(self.unlink(at)))
    }

    fn append(&self, at: At, bytes: &[u8], durable: bool) -> io::Result<()> {
        let mut file = File::options().append(true).create(true).open(self.path_of(at)?)?;
        file.write_all(bytes)?;
        if durable { file.sync_data() } else { Ok(()) }
    }

    fn exchange(&self, _one: At, _other: At) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn rename_away(&self, from: At, to: At) -> io::Result<()> {
        fs::rename(self.path_of(from)?, self.path_of(to)?)
    }

    fn rename_new(&self, from: At, to: At) -> io::Result<()> {
        let (from, to) = (self.path_of(from)?, self.path_of(to)?);
        match fs::hard_link(&from, &to) {
            Ok(()) => fs::remove_file(from),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // where names cannot be shared, a look must do
            Err(_) if fs::symlink_metadata(&to).is_ok() => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        }
    }

    fn unlink(&self, at: At) -> io::Result<()> {
        fs::remove_file(self.path_of(at)?)
    }

    fn sync(&self, folder: &Folder) -> io::Result<()> {
        // Windows opens no folders as files; its file systems write names down in order
        if cfg!(windows) { Ok(()) } else { File::open(self.resolve(&folder.place)?)?.sync_all() }
    }

    fn try_lock(&self, at: At) -> io::Result<Option<Lock>> {
        let file = File::options().read(true).append(true).create(true).open(self.path_of(at)?)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn writers(&self, _at: At) -> io::Result<Writers> {
        Ok(Writers::Unknown)
    }

    fn shapes_new_files(&self, _folder: &Folder) -> bool {
        false
    }
}

fn stat_of(known: &Metadata) -> io::Result<Stat> {
    let time = |time: io::Result<SystemTime>| time.ok().and_then(|time| Timestamp::try_from(time).ok());
    let modified = time(known.modified()).unwrap_or(Timestamp::UNIX_EPOCH);
    let kind = match (known.is_symlink(), known.is_file(), known.is_dir()) {
        (true, ..) => return Err(link_error()),
        (_, true, _) => EntryKind::File,
        (_, _, true) => EntryKind::Folder,
        _ => EntryKind::Other,
    };
    Ok(Stat {
        kind,
        size: known.len(),
        modified,
        changed: modified,
        created: time(known.created()),
        inode: 0,
        device: 0,
        writable: !known.permissions().readonly(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Author, Class, MachineId, Store};
    use super::*;
    use crate::{OperationId, VaultPath, Version};

    #[test]
    fn the_same_store_writes_by_paths_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::on(Box::new(RealDisk::open(dir.path()).unwrap()), MachineId::of(b"test machine"));
        let operation = OperationId("00000000000000000001".into());
        let by = Author { operation: &operation, time: Timestamp::UNIX_EPOCH, tool: "test", client: "test" };
        let path = VaultPath::parse("a/x.md").unwrap();
        store.create(&path, b"one", &by).unwrap();
        assert_eq!(store.create(&path, b"two", &by).unwrap_err().code(), "exists");
        store.replace(&path, &Version::of(b"one"), b"two", &by).unwrap();
        assert_eq!(store.replace(&path, &Version::of(b"one"), b"three", &by).unwrap_err().code(), "stale_version");
        assert_eq!(store.read(&path, 100).unwrap().bytes, b"two");
        assert_eq!(store.class(), Some(Class::MoveAside));
        assert_eq!(store.walk(&|_, _| true).unwrap().len(), 2);
        assert_eq!(store.content_of(&Version::of(b"one")).unwrap().unwrap(), b"one");
        assert_eq!(store.log().unwrap().records.len(), 2);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", dir.path().join("way")).unwrap();
            let through = VaultPath::parse("way/x.md").unwrap();
            assert_eq!(store.read(&through, 100).unwrap_err().code(), "invalid_path");
        }
    }
}
