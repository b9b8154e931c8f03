//! Who may write: one thread of this process, and then one process.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::disk::{At, Disk, Lock};

/// A value that one thread at a time may have. Unlike a mutex, waiting for it ends.
pub(super) struct Turn<T> {
    value: Mutex<Option<T>>,
    free: Condvar,
}

/// The value, for as long as this lives.
pub(super) struct Held<'a, T> {
    turn: &'a Turn<T>,
    value: Option<T>,
}

impl<T> Turn<T> {
    pub(super) fn new(value: T) -> Turn<T> {
        Turn { value: Mutex::new(Some(value)), free: Condvar::new() }
    }

    /// Waits for the value, at most this long.
    pub(super) fn take(&self, wait: Duration) -> Option<Held<'_, T>> {
        let slot = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.free.wait_timeout_while(slot, wait, |slot| slot.is_none());
        let (mut slot, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let value = slot.take()?;
        Some(Held { turn: self, value: Some(value) })
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        *self.turn.value.lock().unwrap_or_else(PoisonError::into_inner) = self.value.take();
        self.turn.free.notify_one();
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("the value is taken out only by drop")
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("the value is taken out only by drop")
    }
}

const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Waits for the lock that other processes take too, at most this long; `None` when it stays taken.
pub(super) fn wait_for(disk: &dyn Disk, at: At, wait: Duration) -> std::io::Result<Option<Lock>> {
    let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
    loop {
        if let Some(lock) = disk.try_lock(at)? {
            return Ok(Some(lock));
        }
        if waited >= wait {
            return Ok(None);
        }
        // uneven, so that processes that wait together do not ask together
        let uneven = pause.mul_f64(0.5 + (disk.random() % 1_000) as f64 / 1_000.0);
        disk.pause(uneven);
        waited += uneven;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
