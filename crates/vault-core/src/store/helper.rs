//! One thread that waits to sync the log while the writing thread syncs the staged file: two syncs that meet share one
//! commit of the file system's journal.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

type Job = Box<dyn FnOnce() + Send>;

/// Starts with the first job and ends with the store.
#[derive(Default)]
pub(super) struct Helper(OnceLock<Option<Sender<Job>>>);

impl Helper {
    /// Does `job` on the thread. The answer comes through the receiver; none comes when the job panicked.
    pub(super) fn start<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
        let (tell, told) = sync_channel(1);
        let job: Job = Box::new(move || drop(tell.send(job())));
        let refused = match self.0.get_or_init(start_thread) {
            Some(thread) => thread.send(job).err().map(|refused| refused.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            // no thread to be had: one after the other is slower, and right
            job();
        }
        told
    }
}

fn start_thread() -> Option<Sender<Job>> {
    let (jobs, waiting) = channel::<Job>();
    let work = move || waiting.into_iter().for_each(|job| job());
    let thread = std::thread::Builder::new().name("vault log".into()).spawn(work);
    thread.is_ok().then_some(jobs)
}
