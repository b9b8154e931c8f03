//! The one question rustix has no name for: does anybody still have this file open for writing?

use std::os::fd::{AsRawFd, OwnedFd};

use crate::store::disk::Writers;

/// Asks for a read lease, which Linux grants only while nobody can write into the file.
#[cfg(target_os = "linux")]
pub(super) fn writers(file: OwnedFd) -> Writers {
    match set_lease(&file, libc::F_RDLCK) {
        Ok(()) => Writers::None(Box::new(Lease(file))),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Writers::Some,
        Err(_) => Writers::Unknown,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn writers(_file: OwnedFd) -> Writers {
    Writers::Unknown
}

#[cfg(target_os = "linux")]
struct Lease(OwnedFd);

#[cfg(target_os = "linux")]
impl Drop for Lease {
    fn drop(&mut self) {
        // closing would do, but not while a child of another thread's fork still holds a copy
        let _ = set_lease(&self.0, libc::F_UNLCK);
    }
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "neither rustix nor std has F_SETLEASE; the calls take two integers and keep no pointer"
)]
fn set_lease(file: &OwnedFd, kind: i32) -> std::io::Result<()> {
    const F_SETSIG: i32 = 10;
    // a program that opens the file while we hold the lease would otherwise send us SIGIO, which ends a process;
    // SIGURG is ignored by default
    let done = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
