//! The computer's disk.

mod attributes;
mod lease;
mod open;

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::disk::{
    At, Disk, EntryKind, Folder, Lock, Names, Stat, Writers, is_link_error, join, link_error, odd_file_error,
};
use crate::limits::READ_TRIES;

/// A folder of the computer as a [`Disk`].
#[derive(Debug)]
pub struct RealDisk {
    path: PathBuf,
    root: OwnedFd,
    can_exchange: bool,
}

impl RealDisk {
    /// Opens a folder. Nothing is made.
    pub fn open(path: &Path) -> io::Result<RealDisk> {
        let path = path.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(RealDisk { path, root, can_exchange: true })
    }

    /// Treats the file system as one that cannot exchange two files, so that tests reach that way of writing.
    pub fn without_exchange(mut self) -> RealDisk {
        self.can_exchange = false;
        self
    }

    /// Returns the canonical path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes the root itself.
    pub fn root_stat(&self) -> io::Result<Stat> {
        stat_at(self.root.as_fd(), "", AtFlags::EMPTY_PATH)
    }

    fn open_file(&self, at: At, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        open::open_beneath(fd(at.folder)?, at.name, flags | OFlags::NOCTTY | OFlags::NONBLOCK, mode)
    }
}

impl Disk for RealDisk {
    fn check_root(&self) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the folder is gone, or another one has its name");
        let now = rustix::fs::stat(&self.path).map_err(|_| gone())?;
        let then = rustix::fs::fstat(&self.root)?;
        let same = (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino);
        if same { Ok(()) } else { Err(gone()) }
    }

    fn folder(&self, place: &str) -> io::Result<Folder> {
        open_folder(self.root.as_fd(), place, place.to_owned())
    }

    fn child(&self, folder: &Folder, name: &str) -> io::Result<Folder> {
        open_folder(fd(folder)?, name, join(&folder.place, name))
    }

    fn real_place(&self, place: &str) -> Option<String> {
        let real = self.path.join(place).canonicalize().ok()?;
        real.strip_prefix(&self.path).ok()?.to_str().map(str::to_owned)
    }

    fn list(&self, folder: &Folder) -> io::Result<Names> {
        let mut names = Names::default();
        for entry in rustix::fs::Dir::read_from(fd(folder)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                names.unreadable += 1;
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind_by_stat(folder, name),
                known => kind(known),
            };
            names.entries.push((name.to_owned(), kind));
        }
        Ok(names)
    }

    fn stat(&self, at: At) -> io::Result<Stat> {
        stat_at(fd(at.folder)?, at.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn read(&self, at: At, from: u64, limit: u64) -> io::Result<(Vec<u8>, Stat)> {
        // opened without waiting: a pipe without a writer would hold us for ever
        let mut file = File::from(self.open_file(at, OFlags::RDONLY, Mode::empty()).map_err(odd_when_nobody_listens)?);
        let mut before = stat_open(&file)?;
        for _ in 0..READ_TRIES {
            check_regular(&before)?;
            let bytes = read_whole(&mut file, from, before.size, limit)?;
            let after = stat_open(&file)?;
            if after.same_state(&before) && from + bytes.len() as u64 == after.size {
                return Ok((bytes, after));
            }
            before = after;
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the file changes all the time"))
    }

    fn read_quickly(&self, at: At, limit: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
        let file = self.open_file(at, OFlags::RDONLY, Mode::empty()).map_err(odd_when_nobody_listens)?;
        buffer.clear();
        loop {
            buffer.reserve(QUICK_READ_BYTES);
            let room = buffer.capacity() - buffer.len();
            let n_read = rustix::io::retry_on_intr(|| rustix::io::read(&file, rustix::buffer::spare_capacity(buffer)))?;
            if buffer.len() as u64 > limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            // less than there was room for: the end of a regular file
            if n_read < room {
                return Ok(());
            }
        }
    }

    fn create_folder(&self, at: At, private: bool) -> io::Result<()> {
        let mode = Mode::from_raw_mode(if private { 0o700 } else { 0o777 });
        Ok(rustix::fs::mkdirat(fd(at.folder)?, at.name, mode)?)
    }

    fn remove_folder(&self, at: At) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(fd(at.folder)?, at.name, AtFlags::REMOVEDIR)?)
    }

    fn stage(&self, at: At, bytes: &[u8], like: Option<At>) -> io::Result<()> {
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = File::from(self.open_file(at, flags, mode)?);
        let mut fill = || {
            if let Some(like) = like {
                let old = self.open_file(like, OFlags::RDONLY, Mode::empty())?;
                attributes::copy(old.as_fd(), file.as_fd())?;
            }
            file.write_all(bytes)?;
            file.sync_all()
        };
        fill().inspect_err(|_| drop(self.unlink(at)))
    }

    fn append(&self, at: At, bytes: &[u8], durable: bool) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let mut file = File::from(self.open_file(at, flags, Mode::from_raw_mode(0o600))?);
        file.write_all(bytes)?;
        if durable { file.sync_data() } else { Ok(()) }
    }

    fn exchange(&self, one: At, other: At) -> io::Result<()> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        if !self.can_exchange {
            return Err(unsupported());
        }
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        return match rename_with(one, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(unsupported()),
            done => Ok(done?),
        };
        #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
        Err(unsupported())
    }

    fn rename_away(&self, from: At, to: At) -> io::Result<()> {
        let (old, new) = (fd(from.folder)?, fd(to.folder)?);
        Ok(rustix::io::retry_on_intr(|| rustix::fs::renameat(old, from.name, new, to.name))?)
    }

    fn rename_new(&self, from: At, to: At) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        match rename_with(from, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            done => return Ok(done?),
        }
        rename_by_link(from, to)
    }

    fn unlink(&self, at: At) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(fd(at.folder)?, at.name, AtFlags::empty())?)
    }

    fn sync(&self, folder: &Folder) -> io::Result<()> {
        let folder = fd(folder)?;
        Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(folder))?)
    }

    fn try_lock(&self, at: At) -> io::Result<Option<Lock>> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = File::from(self.open_file(at, flags, Mode::from_raw_mode(0o600))?);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // the file may have been replaced while we opened it: only a lock on the one at the path counts
        let held = stat_open(&file)?;
        let there = self.stat(at);
        let same = there.is_ok_and(|there| (there.device, there.inode) == (held.device, held.inode));
        Ok(same.then(|| Box::new(file) as Lock))
    }

    fn writers(&self, at: At) -> io::Result<Writers> {
        self.open_file(at, OFlags::RDONLY, Mode::empty()).map(lease::writers)
    }

    fn shapes_new_files(&self, folder: &Folder) -> bool {
        fd(folder).is_ok_and(attributes::hands_down)
    }
}

/// Most notes are read in one go.
const QUICK_READ_BYTES: usize = 64 * 1024;

fn fd(folder: &Folder) -> io::Result<BorrowedFd<'_>> {
    folder.handle.as_ref().map(AsFd::as_fd).ok_or_else(|| io::Error::other("a folder of another disk"))
}

fn open_folder(base: BorrowedFd, name: &str, place: String) -> io::Result<Folder> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let handle = open::open_beneath(base, name, flags, Mode::empty())?;
    Ok(Folder { place, handle: Some(handle) })
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_with(from: At, to: At, flags: RenameFlags) -> rustix::io::Result<()> {
    let no_handle = |_| Errno::BADF;
    let (old, new) = (fd(from.folder).map_err(no_handle)?, fd(to.folder).map_err(no_handle)?);
    rustix::io::retry_on_intr(|| rustix::fs::renameat_with(old, from.name, new, to.name, flags))
}

/// A second name and then the first one's end, which must be a name that only we use: never replaces anything. Where names
/// cannot be shared, a look must do.
fn rename_by_link(from: At, to: At) -> io::Result<()> {
    let (old, new) = (fd(from.folder)?, fd(to.folder)?);
    match rustix::fs::linkat(old, from.name, new, to.name, AtFlags::empty()) {
        Ok(()) => Ok(rustix::fs::unlinkat(old, from.name, AtFlags::empty())?),
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            match rustix::fs::statat(new, to.name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Ok(rustix::fs::renameat(old, from.name, new, to.name)?),
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

fn read_whole(file: &mut File, from: u64, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let wanted = size.saturating_sub(from);
    if wanted > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.seek(SeekFrom::Start(from))?;
    // one byte more than expected: the read that finds the end needs no second buffer
    let mut bytes = Vec::with_capacity(wanted as usize + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

fn check_regular(stat: &Stat) -> io::Result<()> {
    match stat.kind {
        EntryKind::File => Ok(()),
        EntryKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
        EntryKind::Other => Err(odd_file_error()),
    }
}

/// Opening a socket, or a device without a driver, fails before it can be looked at.
fn odd_when_nobody_listens(error: io::Error) -> io::Error {
    let odd = [Errno::NXIO, Errno::NODEV].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    if odd && !is_link_error(&error) { odd_file_error() } else { error }
}

fn kind(file_type: FileType) -> Option<EntryKind> {
    match file_type {
        FileType::Symlink => None,
        FileType::RegularFile => Some(EntryKind::File),
        FileType::Directory => Some(EntryKind::Folder),
        _ => Some(EntryKind::Other),
    }
}

fn kind_by_stat(folder: &Folder, name: &str) -> Option<EntryKind> {
    let stat = rustix::fs::statat(fd(folder).ok()?, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    kind(FileType::from_raw_mode(stat.st_mode))
}

fn stat_open(file: &File) -> io::Result<Stat> {
    stat_at(file.as_fd(), "", AtFlags::EMPTY_PATH)
}

#[cfg(target_os = "linux")]
fn stat_at(base: BorrowedFd, name: &str, flags: AtFlags) -> io::Result<Stat> {
    use rustix::fs::StatxFlags;
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat = match rustix::fs::statx(base, name, flags, mask) {
        Err(Errno::NOSYS) => return stat_without_birth(base, name, flags),
        stat => stat?,
    };
    let time = |time: rustix::fs::StatxTimestamp| timestamp(time.tv_sec, i64::from(time.tv_nsec));
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(Stat {
        kind: kind(FileType::from_raw_mode(stat.stx_mode.into())).ok_or_else(link_error)?,
        size: stat.stx_size,
        modified: time(stat.stx_mtime),
        changed: time(stat.stx_ctime),
        created: has_birth.then(|| time(stat.stx_btime)),
        inode: stat.stx_ino,
        device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        writable: stat.stx_mode & 0o222 != 0,
    })
}

#[cfg(not(target_os = "linux"))]
use stat_without_birth as stat_at;

#[allow(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
fn stat_without_birth(base: BorrowedFd, name: &str, flags: AtFlags) -> io::Result<Stat> {
    let stat = if name.is_empty() { rustix::fs::fstat(base)? } else { rustix::fs::statat(base, name, flags)? };
    Ok(Stat {
        kind: kind(FileType::from_raw_mode(stat.st_mode)).ok_or_else(link_error)?,
        size: stat.st_size as u64,
        modified: timestamp(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: timestamp(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        created: None,
        inode: stat.st_ino as u64,
        device: stat.st_dev as u64,
        writable: stat.st_mode & 0o222 != 0,
    })
}

/// A time that no calendar holds becomes 1970 rather than an error: it is only shown and compared.
fn timestamp(seconds: i64, nanoseconds: i64) -> Timestamp {
    Timestamp::new(seconds, nanoseconds as i32).unwrap_or(Timestamp::UNIX_EPOCH)
}
