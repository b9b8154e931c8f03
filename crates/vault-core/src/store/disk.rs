//! What the store needs of a disk: a dozen small steps, each of which can fail.
//!
//! [`super::RealDisk`] takes them on the computer's disk; the tests run the same store on a simulated one that loses power
//! or room at any step.

use std::io;
use std::time::Duration;

use jiff::Timestamp;

use super::helper::Helper;

/// A disk that holds one vault. Places are relative to its root, `/`-separated; the root is the empty place.
///
/// No step follows a symbolic link: one that meets a link answers with [`link_error`]. A step that fails has changed
/// nothing, with one exception: a failed [`Disk::append`] may leave a part of its bytes at the end.
pub trait Disk: Send + Sync {
    /// Refuses when the root is no longer the folder that was opened.
    fn check_root(&self) -> io::Result<()>;
    /// Opens a folder below the root.
    fn folder(&self, place: &str) -> io::Result<Folder>;
    /// Opens a folder in a folder.
    fn child(&self, folder: &Folder, name: &str) -> io::Result<Folder>;
    /// Returns where a place leads when links are followed, when that lies below the root.
    fn real_place(&self, place: &str) -> Option<String>;

    /// Returns what a folder holds, links and dot-names included, in any order.
    fn list(&self, folder: &Folder) -> io::Result<Names>;
    /// Describes an entry; a link is an error.
    fn stat(&self, at: At) -> io::Result<Stat>;
    /// Reads a regular file from byte `from` on, whole or not at all: `FileTooLarge` beyond `limit` bytes.
    fn read(&self, at: At, from: u64, limit: u64) -> io::Result<(Vec<u8>, Stat)>;

    /// Reads a file into a buffer, in one pass and without a look at its state: what is being saved may be read half old,
    /// half new. `FileTooLarge` beyond `limit` bytes.
    fn read_quickly(&self, at: At, limit: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
        let (bytes, _) = self.read(at, 0, limit)?;
        *buffer = bytes;
        Ok(())
    }

    /// Makes a folder, closed to other users when `private`.
    fn create_folder(&self, at: At, private: bool) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, at: At) -> io::Result<()>;
    /// Makes a file that was not there, with owner, mode and extended attributes of `like`, and makes its bytes durable.
    fn stage(&self, at: At, bytes: &[u8], like: Option<At>) -> io::Result<()>;
    /// Adds to the end of a file, made when missing; durable before it returns when asked so.
    fn append(&self, at: At, bytes: &[u8], durable: bool) -> io::Result<()>;
    /// Lets two files change places in one step. `Unsupported` where the file system cannot.
    fn exchange(&self, one: At, other: At) -> io::Result<()>;
    /// Renames, in one step, whatever is there at that moment, to a name that nobody but us uses.
    fn rename_away(&self, from: At, to: At) -> io::Result<()>;
    /// Renames a file of ours without replacing: `AlreadyExists` when the target is taken.
    fn rename_new(&self, from: At, to: At) -> io::Result<()>;
    /// Removes a file.
    fn unlink(&self, at: At) -> io::Result<()>;
    /// Makes the entries of a folder durable.
    fn sync(&self, folder: &Folder) -> io::Result<()>;

    /// Takes the lock that a file stands for (made when missing), or returns `None` when somebody holds it.
    fn try_lock(&self, at: At) -> io::Result<Option<Lock>>;
    /// Asks whether any program could still write into a file through a descriptor it opened earlier.
    fn writers(&self, at: At) -> io::Result<Writers>;
    /// Tells whether files made in this folder would get rights from it, which a file renamed into it does not.
    fn shapes_new_files(&self, folder: &Folder) -> bool;

    /// Does both jobs at the same time, `beside` on the helper's thread. It may not have ended yet on return.
    fn both(&self, helper: &Helper, beside: Job, own: &mut dyn FnMut()) {
        helper.start(beside);
        own();
    }
    /// Returns the time by the clock that stamps the files.
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
    /// Returns a random number.
    fn random(&self) -> u64 {
        getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()) ^ Timestamp::now().as_nanosecond() as u64)
    }
    /// Waits.
    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// An opened folder. Where the system has descriptors, steps on it reach this folder even when its path was meanwhile
/// given to another.
#[derive(Debug)]
pub struct Folder {
    /// Place below the root under which it was opened.
    pub place: String,
    /// The descriptor; `None` on disks that have none.
    #[cfg(unix)]
    pub(super) handle: Option<std::os::fd::OwnedFd>,
}

/// A name in an opened folder.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// Folder that holds the name.
    pub folder: &'a Folder,
    /// One segment.
    pub name: &'a str,
}

impl Folder {
    /// Returns a folder known by its place alone, as simulated disks have them.
    pub fn without_handle(place: String) -> Folder {
        Folder {
            place,
            #[cfg(unix)]
            handle: None,
        }
    }

    /// Names an entry of this folder.
    pub fn at<'a>(&'a self, name: &'a str) -> At<'a> {
        At { folder: self, name }
    }
}

impl At<'_> {
    /// Returns the place of the entry below the root.
    pub fn place(&self) -> String {
        join(&self.folder.place, self.name)
    }
}

/// Puts a name below a place.
pub fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}/{name}") }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a device, a socket.
    Other,
}

/// A symbolic link is listed by [`Disk::list`] so that names can be compared, and never opened.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Name and kind; `None` stands for a symbolic link.
    pub entries: Vec<(String, Option<EntryKind>)>,
    /// How many names are not UTF-8.
    pub unreadable: usize,
}

/// What is known of an entry without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: EntryKind,
    /// Length in bytes.
    pub size: u64,
    /// When its bytes changed last.
    pub modified: Timestamp,
    /// When its bytes, its attributes or its name changed last.
    pub changed: Timestamp,
    /// When it was made, where the file system keeps that.
    pub created: Option<Timestamp>,
    /// Number of the file on its device.
    pub inode: u64,
    /// Device that holds it.
    pub device: u64,
    /// Whether its mode lets anybody write.
    pub writable: bool,
}

impl Stat {
    /// Tells whether two looks at a file saw the same state of it.
    pub fn same_state(&self, other: &Stat) -> bool {
        self == other
    }
}

/// Something to do on another thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// Held while this value lives.
pub type Lock = Box<dyn Send>;

/// Whether somebody could still write into a file.
pub enum Writers {
    /// Nobody can as long as this value lives.
    None(Lock),
    /// Somebody has it open for writing.
    Some,
    /// This file system does not say.
    Unknown,
}

/// The error of a step that met a symbolic link.
pub fn link_error() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, SymbolicLink)
}

/// Tells whether a step met a symbolic link.
pub fn is_link_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<SymbolicLink>())
}

/// The error of reading something that is neither a regular file nor a folder.
pub fn odd_file_error() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, OddFile)
}

/// Tells whether a step met a pipe, a device or a socket.
pub fn is_odd_file_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<OddFile>())
}

#[derive(Debug, thiserror::Error)]
#[error("a symbolic link is in the way")]
struct SymbolicLink;

#[derive(Debug, thiserror::Error)]
#[error("this is no regular file")]
struct OddFile;
