//! Read-write locks.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{
    RawRwLock,
    lock_api::{RawRwLock as _, RawRwLockRecursive as _, RawRwLockTimed as _},
};

use super::{current_number, place::Place, wait::Deadline};
use crate::{
    pointer::Text,
    result::{Errno, PthreadResult, SceResult},
};

/// A read-write lock. Readers may lock again; a writer may not.
pub(crate) struct RwLock {
    raw: RawRwLock,
    /// Number of the thread that writes, 0 for none.
    writer: AtomicU64,
}

/// Attributes of a read-write lock: none that matter here.
pub(crate) struct RwLockAttributes;

type RwLockPlace = Place<RwLock>;
type AttributesPlace = Place<RwLockAttributes>;

impl RwLock {
    const fn new() -> Self {
        Self {
            raw: RawRwLock::INIT,
            writer: AtomicU64::new(0),
        }
    }

    fn read(&self) -> Result<(), Errno> {
        if self.writer.load(Ordering::Relaxed) == current_number() {
            return Err(Errno::EDEADLK);
        }
        self.raw.lock_shared_recursive();
        Ok(())
    }

    fn write(&self, deadline: Deadline) -> Result<(), Errno> {
        let me = current_number();
        if self.writer.load(Ordering::Relaxed) == me {
            return Err(Errno::EDEADLK);
        }
        match deadline {
            Deadline::Never => self.raw.lock_exclusive(),
            Deadline::At(instant) => {
                if !self.raw.try_lock_exclusive_until(instant) {
                    return Err(Errno::ETIMEDOUT);
                }
            }
        }
        self.writer.store(me, Ordering::Relaxed);
        Ok(())
    }

    fn unlock(&self) -> Result<(), Errno> {
        let writer = self.writer.load(Ordering::Relaxed);
        if writer == current_number() {
            self.writer.store(0, Ordering::Relaxed);
            // SAFETY: the writer word says that this thread writes.
            unsafe { self.raw.unlock_exclusive() };
        } else if writer == 0 && self.raw.is_locked() {
            // SAFETY: locked and not by a writer, so by readers, of which the guest says it is one.
            unsafe { self.raw.unlock_shared() };
        } else {
            return Err(Errno::EPERM);
        }
        Ok(())
    }
}

fn get(place: RwLockPlace) -> Result<&'static RwLock, Errno> {
    place.get(|value| (value == 0).then(RwLock::new))
}

pthread_pair! {
    scePthreadRwlockRdlock, pthread_rwlock_rdlock(place: RwLockPlace) {
        get(place)?.read()
    }
    scePthreadRwlockWrlock, pthread_rwlock_wrlock(place: RwLockPlace) {
        get(place)?.write(Deadline::Never)
    }
    scePthreadRwlockTryrdlock, pthread_rwlock_tryrdlock(place: RwLockPlace) {
        get(place)?.raw.try_lock_shared_recursive().then_some(()).ok_or(Errno::EBUSY)
    }
    scePthreadRwlockTrywrlock, pthread_rwlock_trywrlock(place: RwLockPlace) {
        let lock = get(place)?;
        if !lock.raw.try_lock_exclusive() {
            return Err(Errno::EBUSY);
        }
        lock.writer.store(current_number(), Ordering::Relaxed);
        Ok(())
    }
    scePthreadRwlockUnlock, pthread_rwlock_unlock(place: RwLockPlace) {
        get(place)?.unlock()
    }
    scePthreadRwlockDestroy, pthread_rwlock_destroy(place: RwLockPlace) {
        if !place.is_null() && get(place)?.raw.is_locked() {
            return Err(Errno::EBUSY);
        }
        place.take().map(drop)
    }
    scePthreadRwlockattrInit, pthread_rwlockattr_init(place: AttributesPlace) {
        place.set(RwLockAttributes)
    }
    scePthreadRwlockattrDestroy, pthread_rwlockattr_destroy(place: AttributesPlace) {
        place.take().map(drop)
    }
}

/// Creates a read-write lock. Its name is for the console's debugger.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadRwlockInit(
    place: RwLockPlace,
    _attributes: AttributesPlace,
    _name: Text,
) -> SceResult {
    place.set(RwLock::new()).into()
}

/// Creates a read-write lock.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_rwlock_init(
    place: RwLockPlace,
    _attributes: AttributesPlace,
) -> PthreadResult {
    place.set(RwLock::new()).into()
}

/// Locks for writing, waiting at most so many microseconds.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadRwlockTimedwrlock(
    place: RwLockPlace,
    microseconds: u32,
) -> SceResult {
    get(place)
        .and_then(|lock| lock.write(Deadline::after_microseconds(microseconds)))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_writers_exclude() {
        let address = crate::pointer::address_of(Box::leak(Box::new(0u64)));
        let lock = Place::at(address);
        assert_eq!(scePthreadRwlockRdlock(lock), SceResult::OK);
        assert_eq!(scePthreadRwlockRdlock(lock), SceResult::OK);
        assert_eq!(scePthreadRwlockTrywrlock(lock), SceResult::code(0x8002_0010));
        std::thread::spawn(move || {
            assert_eq!(scePthreadRwlockTryrdlock(Place::at(address)), SceResult::OK);
            assert_eq!(scePthreadRwlockUnlock(Place::at(address)), SceResult::OK);
            assert_eq!(
                scePthreadRwlockTimedwrlock(Place::at(address), 1000),
                SceResult::code(0x8002_003c)
            );
        })
        .join()
        .unwrap();
        assert_eq!(scePthreadRwlockUnlock(lock), SceResult::OK);
        assert_eq!(scePthreadRwlockUnlock(lock), SceResult::OK);
        assert_eq!(scePthreadRwlockUnlock(lock), SceResult::code(0x8002_0001));
        assert_eq!(scePthreadRwlockWrlock(lock), SceResult::OK);
        assert_eq!(scePthreadRwlockWrlock(lock), SceResult::code(0x8002_000b));
        assert_eq!(scePthreadRwlockUnlock(lock), SceResult::OK);
        assert_eq!(scePthreadRwlockDestroy(lock), SceResult::OK);
    }
}
