//! What a rewritten file keeps besides its name: owner, mode bits, extended attributes (access lists are such).

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{
    Gid, Mode, Uid, fchmod, fchown, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fsetxattr, fstat,
};
use rustix::io::Errno;

/// Gives `to` what `from` has.
pub(super) fn copy(from: BorrowedFd, to: BorrowedFd) -> io::Result<()> {
    let (old, new) = (fstat(from)?, fstat(to)?);
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) {
        // only root may give files away; the group may still be ours to set
        let group = Some(Gid::from_raw(old.st_gid));
        if fchown(to, Some(Uid::from_raw(old.st_uid)), group).is_err() {
            let _ = fchown(to, None, group);
        }
    }
    fchmod(to, Mode::from_raw_mode(old.st_mode & 0o7777))?;
    copy_extended(from, to)
}

fn copy_extended(from: BorrowedFd, to: BorrowedFd) -> io::Result<()> {
    let names = match list(from) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match get(from, name).and_then(|value| fsetxattr(to, name, &value, rustix::fs::XattrFlags::empty())) {
            Ok(()) => {}
            // labels that the system sets by its own rules, and one that vanished while we looked
            Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | NO_ATTRIBUTE) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const NO_ATTRIBUTE: Errno = Errno::NODATA;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const NO_ATTRIBUTE: Errno = Errno::NOATTR;

/// Most files have none, so the first question is for the length alone.
fn list(file: BorrowedFd) -> rustix::io::Result<Vec<u8>> {
    loop {
        let length = flistxattr_query(file)?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let mut names = vec![0; length];
        match flistxattr(file, &mut names[..]) {
            Ok(length) => {
                names.truncate(length);
                return Ok(names);
            }
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
        }
    }
}

fn get(file: BorrowedFd, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    loop {
        let length = fgetxattr_query(file, name)?;
        let mut value = vec![0; length];
        match fgetxattr(file, name, &mut value[..]) {
            Ok(length) => {
                value.truncate(length);
                return Ok(value);
            }
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Tells whether a folder hands down an access list or its group.
pub(super) fn hands_down(folder: BorrowedFd) -> bool {
    let group = fstat(folder).is_ok_and(|stat| stat.st_mode & 0o2000 != 0);
    group || get(folder, b"system.posix_acl_default").is_ok()
}
