//! Watching the vault's folders for what other programs do. Each folder is watched by itself, so that nothing is heard
//! of hidden ones; an event says no more than that there is something to look at.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(crate) use linux::Folders;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Folders;
