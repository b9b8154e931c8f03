//! Clearing away, a while after a write, what it replaced.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time;

/// How long after a write, and again after that, somebody looks: first a little more than a replaced file is kept in
/// any case, then for files that a program still had open. What remains is left to the next write.
const PAUSES: [Duration; 3] = [Duration::from_secs(3), Duration::from_secs(60), Duration::from_secs(15 * 60)];

/// Sweeps after writes. Does nothing, and costs nothing, until there is one.
#[derive(Default)]
pub struct Sweeper {
    written: OnceLock<Arc<Notify>>,
}

impl Sweeper {
    /// Notes a write: `sweep` runs soon, and a few more times. Many writes share one sweep.
    ///
    /// Only the first call's `sweep` is used.
    pub fn note_write<F: Future<Output = ()> + Send + 'static>(&self, sweep: impl Fn() -> F + Send + 'static) {
        let written = self.written.get_or_init(|| {
            let written = Arc::new(Notify::new());
            tokio::spawn(sweep_after_writes(written.clone(), sweep));
            written
        });
        written.notify_one();
    }
}

async fn sweep_after_writes<F: Future<Output = ()>>(written: Arc<Notify>, sweep: impl Fn() -> F) {
    let [soon, later @ ..] = PAUSES;
    written.notified().await;
    'write: loop {
        // A write that comes meanwhile begins the pauses again, but never puts off the first sweep.
        time::sleep(soon).await;
        sweep().await;
        for pause in later {
            tokio::select! {
                biased;
                () = written.notified() => continue 'write,
                () = time::sleep(pause) => sweep().await,
            }
        }
        written.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;

    /// Writes at the seconds `writes`, and returns the seconds of the sweeps.
    async fn sweeps_after(writes: &[u64]) -> Vec<u64> {
        let begin = Instant::now();
        let seconds: Arc<Mutex<Vec<u64>>> = Arc::default();
        let sweeper = Sweeper::default();
        for write in writes {
            time::sleep_until(begin + Duration::from_secs(*write)).await;
            let seconds = seconds.clone();
            sweeper.note_write(move || {
                seconds.lock().unwrap().push(begin.elapsed().as_secs());
                std::future::ready(())
            });
        }
        time::sleep(Duration::from_secs(24 * 60 * 60)).await;
        let seconds = seconds.lock().unwrap();
        seconds.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_swept_after_a_few_times_with_growing_pauses() {
        assert!(sweeps_after(&[]).await.is_empty());
        assert_eq!(sweeps_after(&[0]).await, [3, 63, 963]);
    }

    #[tokio::test(start_paused = true)]
    async fn many_writes_share_a_sweep_and_a_late_one_gets_its_own() {
        assert_eq!(sweeps_after(&[0, 1, 2]).await, [3, 6, 66, 966]);
        assert_eq!(sweeps_after(&[0, 20]).await, [3, 23, 83, 983]);
    }
}
