//! POSIX semaphores: a count that is taken by one exchange where it is not 0, and a queue of those who wait.

use std::sync::atomic::{AtomicU32, Ordering};

use relic_macros::guest_fn;

use super::{
    place::Place,
    wait::{self, Deadline, Order, WaitQueue},
    word_lock::Locked,
};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Out},
    result::{Errno, PosixResult},
};

/// A semaphore.
pub(crate) struct Semaphore {
    count: AtomicU32,
    /// How many are on the way into the queue, or in it: nobody looks there for 0.
    waiting: AtomicU32,
    queue: Locked<WaitQueue<(), ()>>,
}

type SemaphorePlace = Place<Semaphore>;

/// Largest count, as the console's kernel has it.
const MAXIMUM: u32 = 0x7fff_ffff;

fn get(place: SemaphorePlace) -> Result<&'static Semaphore, Errno> {
    place.get(|_| None)
}

impl Semaphore {
    #[inline]
    fn try_take(&self) -> bool {
        self.count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1))
            .is_ok()
    }

    fn take(&self, deadline: Deadline) -> Result<(), Errno> {
        if self.try_take() {
            return Ok(());
        }
        // A post that comes from here on looks into the queue; one that came before is seen by the next try.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let ended = self.take_slowly(deadline);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        ended
    }

    fn take_slowly(&self, deadline: Deadline) -> Result<(), Errno> {
        let ticket = {
            let mut queue = self.queue.lock();
            let ticket = queue.join(());
            self.serve(&mut queue);
            ticket
        };
        let leave = || {
            let mut queue = self.queue.lock();
            let answer = queue.take(ticket);
            queue.leave(ticket);
            answer
        };
        wait::sleep_until(deadline, true, || self.queue.lock().take(ticket), leave).map_err(wait::Stop::errno)
    }

    /// Gives the count to those who wait, the first first.
    fn serve(&self, queue: &mut WaitQueue<(), ()>) {
        while !queue.is_empty() && self.try_take() {
            if let Some(thread) = queue.answer_first(|()| Some(())) {
                thread.parker.unpark();
            }
        }
    }

    #[inline]
    fn post(&self) -> Result<(), Errno> {
        self.count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
                (count < MAXIMUM).then_some(count + 1)
            })
            // FreeBSD's EOVERFLOW.
            .map_err(|_| Errno(84))?;
        if self.waiting.load(Ordering::SeqCst) != 0 {
            self.serve_slowly();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn serve_slowly(&self) {
        self.serve(&mut self.queue.lock());
    }
}

/// Creates a semaphore with a count.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_init(place: SemaphorePlace, _shared: i32, count: u32) -> PosixResult {
    if count > MAXIMUM {
        return Err(Errno::EINVAL).into();
    }
    place
        .set(Semaphore {
            count: AtomicU32::new(count),
            waiting: AtomicU32::new(0),
            queue: Locked::new(WaitQueue::new(Order::First)),
        })
        .into()
}

/// Destroys a semaphore; EBUSY while somebody waits.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_destroy(place: SemaphorePlace) -> PosixResult {
    match get(place) {
        Ok(semaphore) if semaphore.waiting.load(Ordering::SeqCst) != 0 => Err(Errno::EBUSY).into(),
        Ok(_) => place.take().map(drop).into(),
        Err(error) => Err(error).into(),
    }
}

#[cold]
#[inline(never)]
fn wait_slowly(place: SemaphorePlace) -> Result<(), Errno> {
    get(place)?.take(Deadline::Never)
}

cancellable! {
    /// Takes one, waiting for it. A cancellation point: one that is cancelled takes nothing.
    (libkernel, libScePosix) sem_wait(place: SemaphorePlace) -> PosixResult {
        if place.live().is_some_and(Semaphore::try_take) {
            return Ok(());
        }
        wait_slowly(place)
    }
    /// Takes one, waiting at most until the time given. A cancellation point.
    (libkernel, libScePosix) sem_timedwait(place: SemaphorePlace, until: In<Timespec>) -> PosixResult {
        let semaphore = get(place)?;
        if semaphore.try_take() {
            return Ok(());
        }
        let left = until.read().ok_or(Errno::EINVAL)?.left()?;
        semaphore.take(Deadline::after(left))
    }
    /// Takes one, waiting at most so many microseconds. A cancellation point.
    (libkernel, libScePosix) sem_reltimedwait_np(place: SemaphorePlace, microseconds: u32) -> PosixResult {
        get(place)?.take(Deadline::after_microseconds(microseconds))
    }
}

/// Takes one if it is there; EAGAIN otherwise.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_trywait(place: SemaphorePlace) -> PosixResult {
    get(place)
        .and_then(|semaphore| semaphore.try_take().then_some(()).ok_or(Errno::EAGAIN))
        .into()
}

/// Gives one.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_post(place: SemaphorePlace) -> PosixResult {
    match place.live() {
        Some(semaphore) => semaphore.post().into(),
        None => get(place).and_then(Semaphore::post).into(),
    }
}

/// Stores the count.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_getvalue(place: SemaphorePlace, out: Out<u32>) -> PosixResult {
    get(place)
        .and_then(|semaphore| {
            let count = semaphore.count.load(Ordering::Acquire);
            out.write(count).then_some(()).ok_or(Errno::EINVAL)
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_post_lets_one_through() {
        let address = crate::pointer::address_of(Box::leak(Box::new(0u64)));
        assert_eq!(sem_init(Place::at(address), 0, 1), PosixResult(0));
        assert_eq!(sem_trywait(Place::at(address)), PosixResult(0));
        assert_eq!(sem_trywait(Place::at(address)), PosixResult(-1));
        // SAFETY: the thread's own number.
        assert_eq!(unsafe { *crate::result::errno_address() }, 35);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    for _ in 0..500 {
                        assert_eq!(sem_wait(Place::at(address)), PosixResult(0));
                    }
                });
            }
            for _ in 0..1500 {
                assert_eq!(sem_post(Place::at(address)), PosixResult(0));
            }
        });
        assert_eq!(sem_trywait(Place::at(address)), PosixResult(-1));
        assert_eq!(sem_destroy(Place::at(address)), PosixResult(0));
        assert_eq!(sem_post(Place::at(address)), PosixResult(-1));
    }
}
