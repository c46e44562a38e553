//! POSIX semaphores.

use std::sync::atomic::{AtomicU32, Ordering};

use relic_macros::guest_fn;

use super::{
    place::Place,
    wait::{self, Deadline},
};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Out},
    result::{Errno, PosixResult},
};

/// A semaphore: its count, waited on directly.
pub(crate) struct Semaphore {
    count: AtomicU32,
}

type SemaphorePlace = Place<Semaphore>;

/// Largest count, as the console's kernel has it.
const MAXIMUM: u32 = 0x7fff_ffff;

fn get(place: SemaphorePlace) -> Result<&'static Semaphore, Errno> {
    place.get(|_| None)
}

impl Semaphore {
    fn try_take(&self) -> bool {
        self.count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1))
            .is_ok()
    }

    fn take(&self, deadline: Deadline) -> Result<(), Errno> {
        while !self.try_take() {
            if deadline.has_passed() {
                return Err(Errno::ETIMEDOUT);
            }
            wait::wait(&self.count, 0, deadline);
        }
        Ok(())
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
        })
        .into()
}

/// Destroys a semaphore.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_destroy(place: SemaphorePlace) -> PosixResult {
    place.take().map(drop).into()
}

/// Takes one, waiting for it.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_wait(place: SemaphorePlace) -> PosixResult {
    get(place)
        .and_then(|semaphore| semaphore.take(Deadline::Never))
        .into()
}

/// Takes one if it is there; EAGAIN otherwise.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_trywait(place: SemaphorePlace) -> PosixResult {
    get(place)
        .and_then(|semaphore| semaphore.try_take().then_some(()).ok_or(Errno::EAGAIN))
        .into()
}

/// Takes one, waiting at most until the time given.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_timedwait(place: SemaphorePlace, until: In<Timespec>) -> PosixResult {
    let body = || {
        let semaphore = get(place)?;
        let left = until.read().ok_or(Errno::EINVAL)?.left()?;
        semaphore.take(Deadline::after(left))
    };
    body().into()
}

/// Gives one.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn sem_post(place: SemaphorePlace) -> PosixResult {
    let body = || {
        let semaphore = get(place)?;
        semaphore
            .count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                (count < MAXIMUM).then_some(count + 1)
            })
            // FreeBSD's EOVERFLOW.
            .map_err(|_| Errno(84))?;
        wait::wake(&semaphore.count, 1);
        Ok(())
    };
    body().into()
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
