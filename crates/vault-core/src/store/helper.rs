//! One thread that waits for the disk beside the writing thread: it syncs the log while that one syncs the staged file
//! (two syncs that meet share one commit of the file system's journal), and the note's folder while that one sweeps.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel, sync_channel};

use super::disk::{Disk, Job};

/// Starts with the first job and ends with the store.
#[derive(Default)]
pub struct Helper(OnceLock<Option<Sender<Job>>>);

impl Helper {
    /// Has the job done on the thread, some time soon.
    pub(super) fn start(&self, job: Job) {
        let refused = match self.0.get_or_init(start_thread) {
            Some(thread) => thread.send(job).err().map(|refused| refused.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            // no thread to be had: one after the other is slower, and right
            job();
        }
    }

    /// Does both, at the same time where the disk has it so, and returns both answers. `beside` must not panic.
    pub(super) fn both<A: Send + 'static, B>(
        &self,
        disk: &dyn Disk,
        beside: impl FnOnce() -> io::Result<A> + Send + 'static,
        own: impl FnOnce() -> B,
    ) -> (io::Result<A>, B) {
        let (tell, told) = sync_channel(1);
        let (mut own, mut answer) = (Some(own), None);
        let job = Box::new(move || drop(tell.send(beside())));
        disk.both(self, job, &mut || answer = own.take().map(|own| own()));
        let beside = told.recv().unwrap_or_else(|_| Err(io::Error::other("the helping thread ended")));
        (beside, answer.expect("every disk does both"))
    }
}

fn start_thread() -> Option<Sender<Job>> {
    let (jobs, waiting) = channel::<Job>();
    let work = move || waiting.into_iter().for_each(|job| job());
    let thread = std::thread::Builder::new().name("vault disk".into()).spawn(work);
    thread.is_ok().then_some(jobs)
}
