//! The hand-over from async code to blocking operations, written once.

use std::future::Future;
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task;
use vault_core::VaultError;
use vault_core::call::Cancelled;

/// Most reads that run at the same time in one process; more wait their turn.
pub const MAX_READS: usize = 8;

/// The same of writes, which may wait for another process. They have places of their own, so that no read waits with them.
pub const MAX_WRITES: usize = 4;

/// Runs blocking work, so many pieces at a time as it has places.
#[derive(Debug, Clone)]
pub struct Pool {
    places: Arc<Semaphore>,
}

impl Pool {
    /// Makes a pool.
    pub fn new(n_places: usize) -> Pool {
        Pool { places: Arc::new(Semaphore::new(n_places)) }
    }

    /// Runs `work` and returns what it returned; a panic in it is `internal`.
    ///
    /// When `gone` ends first nobody waits for the answer any more: the flag is raised, work that has not begun never
    /// does, and work that has keeps its place until it notices.
    pub async fn run<T: Send + 'static>(
        &self,
        gone: impl Future<Output = ()>,
        cancelled: Cancelled,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, VaultError> {
        let running = async {
            let place = self.places.clone().acquire_owned().await.expect("the semaphore is never closed");
            let work = move || {
                let _place = place;
                work()
            };
            task::spawn_blocking(work).await.map_err(|_| panicked())
        };
        tokio::select! {
            biased;
            () = gone => {
                cancelled.cancel();
                Err(VaultError::Timeout)
            }
            answer = running => answer,
        }
    }
}

fn panicked() -> VaultError {
    VaultError::Internal { what: "the operation came to an unforeseen end".into() }
}

/// Makes panics say where they happened, but not what: their texts can quote notes, and logs never do.
pub fn quiet_panics() {
    panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| match panic.location() {
        Some(place) => eprintln!("vault-mcp: internal fault at {}:{}", place.file(), place.line()),
        None => eprintln!("vault-mcp: internal fault"),
    }));
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_pool_lives() {
        let pool = Pool::new(1);
        let answer: Result<(), _> = pool.run(pending(), Cancelled::default(), || panic!("secret")).await;
        let refusal = answer.unwrap_err();
        assert_eq!(refusal.code(), "internal");
        assert!(!refusal.to_json().to_string().contains("secret"));
        assert_eq!(pool.run(pending(), Cancelled::default(), || 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_caller_who_goes_raises_the_flag_that_the_work_polls() {
        let cancelled = Cancelled::default();
        let (seen, until_seen) = mpsc::channel();
        let flag = cancelled.clone();
        let work = move || {
            while !flag.is_cancelled() {
                std::thread::yield_now();
            }
            seen.send(()).unwrap();
        };
        let answer = Pool::new(1).run(task::yield_now(), cancelled, work).await;
        assert!(answer.is_err());
        task::spawn_blocking(move || until_seen.recv().unwrap()).await.unwrap();
    }
}
