//! Noticing that something changed outside, for as long as somebody would be told.

use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time;

/// How often somebody looks while there is anybody to tell.
const PAUSE: Duration = Duration::from_secs(1);

/// What was seen last. Costs nothing while nobody listens.
///
/// While anybody does, one task looks, and it alone says what is a change: what a call saw may be old when it is told.
pub struct Lookout<T>(Arc<Shared<T>>);

struct Shared<T> {
    seen: watch::Sender<Option<T>>,
    /// Asks for a look before its time.
    look_now: Notify,
    /// Whether the task is there. Without it nobody listens.
    is_looking: Mutex<bool>,
}

impl<T> Default for Lookout<T> {
    fn default() -> Lookout<T> {
        Lookout(Arc::new(Shared {
            seen: watch::Sender::new(None),
            look_now: Notify::new(),
            is_looking: Mutex::default(),
        }))
    }
}

impl<T: PartialEq + Send + Sync + 'static> Lookout<T> {
    /// Takes in what a call saw. When it is not what was seen before, somebody looks at once for those who listen.
    pub fn note(&self, saw: T) {
        let is_looking = self.0.is_looking();
        if !*is_looking {
            self.0.seen.send_replace(Some(saw));
        } else if self.0.seen.borrow().as_ref() != Some(&saw) {
            self.0.look_now.notify_one();
        }
    }

    /// Begins to listen. From now on `look` is asked at once and every second, until nobody listens any more; a look that
    /// gives `None` changes nothing.
    ///
    /// One task looks for all who listen, with the `look` of the one who came first.
    pub fn listen<F>(&self, look: impl Fn() -> F + Send + 'static) -> Changes<T>
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let mut is_looking = self.0.is_looking();
        let changes = Changes(self.0.seen.subscribe());
        if !mem::replace(&mut *is_looking, true) {
            tokio::spawn(look_while_heard(self.0.clone(), look));
        }
        changes
    }
}

/// What one listener hears.
pub struct Changes<T>(watch::Receiver<Option<T>>);

impl<T> Changes<T> {
    /// Waits for the next change. What is seen for the first time is none.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            // Nobody looks any more.
            std::future::pending().await
        }
    }
}

async fn look_while_heard<T, F>(shared: Arc<Shared<T>>, look: impl Fn() -> F + Send + 'static)
where
    T: PartialEq,
    F: Future<Output = Option<T>>,
{
    loop {
        if let Some(now) = look().await {
            shared.tell(now);
        }
        tokio::select! {
            () = shared.look_now.notified() => {}
            () = time::sleep(PAUSE) => {}
        }
        let mut is_looking = shared.is_looking();
        if shared.seen.is_closed() {
            *is_looking = false;
            return;
        }
    }
}

impl<T: PartialEq> Shared<T> {
    fn tell(&self, now: T) {
        self.seen.send_if_modified(|seen| {
            let is_change = seen.as_ref().is_some_and(|before| *before != now);
            *seen = Some(now);
            is_change
        });
    }
}

impl<T> Shared<T> {
    /// What the lock guards is one flag, whole after a panic too.
    fn is_looking(&self) -> MutexGuard<'_, bool> {
        self.is_looking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    /// Something outside that changes, and how often it was looked at.
    #[derive(Default)]
    struct Outside {
        value: AtomicU32,
        looks: AtomicUsize,
    }

    impl Outside {
        fn listen(self: &Arc<Self>, lookout: &Lookout<u32>) -> Changes<u32> {
            let outside = self.clone();
            lookout.listen(move || {
                outside.looks.fetch_add(1, Ordering::Relaxed);
                ready(Some(outside.value.load(Ordering::Relaxed)))
            })
        }

        fn looks(&self) -> usize {
            self.looks.load(Ordering::Relaxed)
        }
    }

    const A_WHILE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn each_change_is_heard_once_and_within_a_second() {
        let (lookout, outside) = (Lookout::default(), Arc::new(Outside::default()));
        let (mut one, mut other) = (outside.listen(&lookout), outside.listen(&lookout));
        assert!(timeout(A_WHILE, one.next()).await.is_err(), "the first look is no change");
        for value in [1, 2] {
            outside.value.store(value, Ordering::Relaxed);
            let begin = Instant::now();
            one.next().await;
            assert!(begin.elapsed() <= PAUSE);
            // Somebody else who looks sees nothing new.
            lookout.note(value);
            assert!(timeout(A_WHILE, one.next()).await.is_err(), "once");
            timeout(Duration::ZERO, other.next()).await.expect("the other one hears it too");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_call_saw_is_heard_at_once_and_what_it_saw_long_ago_is_not() {
        let (lookout, outside) = (Lookout::default(), Arc::new(Outside::default()));
        lookout.note(0);
        let mut changes = outside.listen(&lookout);
        sleep(PAUSE / 2).await;
        outside.value.store(1, Ordering::Relaxed);
        lookout.note(1);
        timeout(PAUSE / 10, changes.next()).await.unwrap();
        lookout.note(0);
        assert!(timeout(A_WHILE, changes.next()).await.is_err(), "once");
    }

    #[tokio::test(start_paused = true)]
    async fn what_changed_before_anybody_listened_is_heard_by_who_saw_it_before() {
        let (lookout, outside) = (Lookout::default(), Arc::new(Outside::default()));
        lookout.note(0);
        outside.value.store(1, Ordering::Relaxed);
        timeout(PAUSE / 10, outside.listen(&lookout).next()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_looks_while_nobody_listens() {
        let (lookout, outside) = (Lookout::default(), Arc::new(Outside::default()));
        lookout.note(0);
        sleep(A_WHILE).await;
        assert_eq!(outside.looks(), 0);
        let listeners = [outside.listen(&lookout), outside.listen(&lookout)];
        sleep(A_WHILE).await;
        assert!((59..=61).contains(&outside.looks()), "one task for both: {}", outside.looks());
        drop(listeners);
        sleep(PAUSE).await;
        let looks = outside.looks();
        sleep(A_WHILE).await;
        assert!(outside.looks() <= looks + 1);
        outside.value.store(1, Ordering::Relaxed);
        let mut again = outside.listen(&lookout);
        again.next().await;
    }
}
