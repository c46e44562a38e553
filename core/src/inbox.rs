//! The inbox: how every thread talks to the pump.
//!
//! A bounded lock-free queue. Senders that find it full wait until the pump has made room, so that a guest that
//! submits faster than the pump works is slowed down instead of filling memory. The pump never waits for a
//! sender; it parks when there is nothing to do and any send wakes it.

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    time::{Duration, Instant},
};

use crossbeam_queue::ArrayQueue;

/// A bounded queue with one receiver that parks and many senders.
#[derive(Debug)]
pub struct Inbox<T> {
    queue: ArrayQueue<T>,
    /// Set while the receiver sleeps, or is about to.
    receiver_parked: AtomicBool,
    /// How many senders wait for room.
    waiting_senders: AtomicUsize,
    closed: AtomicBool,
    lock: Mutex<()>,
    arrived: Condvar,
    room: Condvar,
}

/// The pump is gone: the message comes back to the sender.
#[derive(Debug, thiserror::Error)]
#[error("the runtime has shut down and takes no more messages")]
pub struct Closed<T>(pub T);

impl<T> Inbox<T> {
    /// An inbox for at most `capacity` messages (at least 1) that wait to be taken.
    #[must_use]
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            queue: ArrayQueue::new(capacity.max(1)),
            receiver_parked: AtomicBool::new(false),
            waiting_senders: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            lock: Mutex::new(()),
            arrived: Condvar::new(),
            room: Condvar::new(),
        })
    }

    /// Puts a message in, waiting for room if need be. Messages of one sender are taken in the order sent.
    ///
    /// # Errors
    /// [`Closed`] with the message when the receiver has closed the inbox.
    pub fn send(&self, message: T) -> Result<(), Closed<T>> {
        let mut message = message;
        loop {
            if self.closed.load(Ordering::Acquire) {
                return Err(Closed(message));
            }
            match self.queue.push(message) {
                Ok(()) => {
                    self.wake_receiver();
                    return Ok(());
                }
                Err(back) => message = back,
            }
            let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.waiting_senders.fetch_add(1, Ordering::SeqCst);
            // The receiver looks at `waiting_senders` after it has taken a message: either it sees us, or we see
            // the room it made.
            let guard = if self.queue.is_full() && !self.closed.load(Ordering::SeqCst) {
                self.room
                    .wait_timeout(guard, Duration::from_millis(100))
                    .map(|(guard, _)| guard)
                    .ok()
            } else {
                Some(guard)
            };
            self.waiting_senders.fetch_sub(1, Ordering::SeqCst);
            drop(guard);
        }
    }

    /// Takes the next message, if there is one. Only the receiver calls this.
    pub fn take(&self) -> Option<T> {
        let message = self.queue.pop()?;
        fence(Ordering::SeqCst);
        if self.waiting_senders.load(Ordering::SeqCst) > 0 {
            let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.room.notify_all();
        }
        Some(message)
    }

    /// How many messages wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no message waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sleeps until a message is there or `timeout` has passed. Only the receiver calls this. Returns whether a
    /// message is there.
    pub fn park(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.receiver_parked.store(true, Ordering::SeqCst);
            // A sender pushes, then looks at `receiver_parked`: either it sees us parked, or we see its message.
            fence(Ordering::SeqCst);
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.queue.is_empty() || left.is_zero() {
                self.receiver_parked.store(false, Ordering::SeqCst);
                return !self.queue.is_empty();
            }
            guard = match self.arrived.wait_timeout(guard, left) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Refuses further messages and wakes every sender that waits. Messages inside can still be taken.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.room.notify_all();
        self.arrived.notify_all();
    }

    fn wake_receiver(&self) {
        fence(Ordering::SeqCst);
        if self.receiver_parked.load(Ordering::SeqCst) && self.receiver_parked.swap(false, Ordering::SeqCst) {
            let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.arrived.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_wait_for_room_and_keep_their_order() {
        let inbox = Inbox::new(4);
        let senders = 3u64;
        let each = 2_000u64;
        std::thread::scope(|scope| {
            for sender in 0..senders {
                let inbox = &inbox;
                scope.spawn(move || {
                    for i in 0..each {
                        inbox.send((sender, i)).unwrap();
                    }
                });
            }
            let mut next = [0; 3];
            let mut taken = 0;
            while taken < senders * each {
                assert!(inbox.len() <= 4);
                match inbox.take() {
                    Some((sender, i)) => {
                        assert_eq!(i, next[sender as usize]);
                        next[sender as usize] += 1;
                        taken += 1;
                    }
                    None => {
                        inbox.park(Duration::from_secs(5));
                    }
                }
            }
        });
        assert!(inbox.is_empty());
    }

    #[test]
    fn a_closed_inbox_gives_messages_back_and_wakes_waiting_senders() {
        let inbox = Inbox::new(1);
        inbox.send(1).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| inbox.send(2));
            std::thread::sleep(Duration::from_millis(20));
            inbox.close();
            assert_eq!(waiting.join().unwrap().unwrap_err().0, 2);
        });
        assert_eq!(inbox.take(), Some(1));
        assert!(inbox.send(3).is_err());
    }

    #[test]
    fn parking_ends_at_the_timeout() {
        let inbox = Inbox::<u8>::new(1);
        assert!(!inbox.park(Duration::from_millis(5)));
        inbox.send(1).unwrap();
        assert!(inbox.park(Duration::from_secs(60)));
    }
}
