//! Opening beneath the root without following a symbolic link.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::store::disk::link_error;

/// Opens `place` below `base`. A symbolic link anywhere in it, also one put there this moment, is refused.
pub(super) fn open_beneath(base: BorrowedFd, place: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    let place = if place.is_empty() { "." } else { place };
    #[cfg(target_os = "linux")]
    match open_in_one_step(base, place, flags, mode) {
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened.map_err(to_io),
    }
    open_step_by_step(base, place, flags, mode).map_err(to_io)
}

#[cfg(target_os = "linux")]
fn open_in_one_step(base: BorrowedFd, place: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        match openat2(base, place, flags, mode, resolve) {
            // EAGAIN: something was renamed while the kernel walked; the walk says nothing then
            Err(Errno::INTR | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
}

/// The same for systems without `openat2`: each folder is opened from the one above it.
fn open_step_by_step(base: BorrowedFd, place: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let mut segments = place.split('/').peekable();
    let mut folder: Option<OwnedFd> = None;
    loop {
        let segment = segments.next().unwrap_or(".");
        let from = folder.as_ref().map_or(base, AsFd::as_fd);
        if segments.peek().is_none() {
            let flags = flags | OFlags::NOFOLLOW;
            return link_or(openat(from, segment, flags, mode), from, segment);
        }
        let step = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let next = link_or(openat(from, segment, step, Mode::empty()), from, segment)?;
        folder = Some(next);
    }
}

/// `O_DIRECTORY | O_NOFOLLOW` calls a link "not a directory": say that it is a link.
fn link_or(opened: rustix::io::Result<OwnedFd>, from: BorrowedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    match opened {
        Err(Errno::NOTDIR | Errno::MLINK) if is_link(from, name) => Err(Errno::LOOP),
        opened => opened,
    }
}

fn is_link(from: BorrowedFd, name: &str) -> bool {
    let stat = rustix::fs::statat(from, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink)
}

fn to_io(error: Errno) -> io::Error {
    match error {
        // with `RESOLVE_BENEATH`, EXDEV means that the walk would have left the root
        Errno::LOOP | Errno::XDEV => link_error(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::is_link_error;

    #[test]
    fn both_ways_of_opening_refuse_links_in_every_position() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::write(dir.path().join("a/b/c.md"), "x").unwrap();
        std::os::unix::fs::symlink("b", dir.path().join("a/link")).unwrap();
        std::os::unix::fs::symlink("c.md", dir.path().join("a/b/link.md")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("out")).unwrap();
        let root: OwnedFd = std::fs::File::open(dir.path()).unwrap().into();
        type Way = fn(BorrowedFd, &str, OFlags, Mode) -> io::Result<OwnedFd>;
        let slow: Way =
            |base, place, flags, mode| open_step_by_step(base, place, flags | OFlags::NOFOLLOW, mode).map_err(to_io);
        for way in [open_beneath as Way, slow] {
            let open = |place: &str| way(root.as_fd(), place, OFlags::RDONLY, Mode::empty());
            assert!(open("a/b/c.md").is_ok());
            assert!(open("a/b").is_ok());
            for place in ["a/link/c.md", "a/b/link.md", "out/passwd", "out"] {
                assert!(is_link_error(&open(place).unwrap_err()), "{place}");
                let folder = way(root.as_fd(), place, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
                assert!(is_link_error(&folder.unwrap_err()), "{place} as a folder");
            }
            assert_eq!(open("a/none/c.md").unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
