//! Read-write locks.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{
    RawRwLock,
    lock_api::{RawRwLock as _, RawRwLockRecursive as _, RawRwLockRecursiveTimed as _, RawRwLockTimed as _},
};

use super::{
    identity,
    place::Place,
    wait::{self, Deadline},
};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Out, Text},
    result::{Errno, PthreadResult, SceResult},
};

/// A read-write lock. Readers may lock again; a writer may not.
pub(crate) struct RwLock {
    raw: RawRwLock,
    /// Identity of the thread that writes, 0 for none.
    writer: AtomicU64,
}

/// Attributes of a read-write lock.
#[derive(Clone, Copy)]
pub(crate) struct RwLockAttributes {
    kind: i32,
    shared: i32,
}

type RwLockPlace = Place<RwLock>;
type AttributesPlace = Place<Cell<RwLockAttributes>>;

impl RwLock {
    const fn new() -> Self {
        Self {
            raw: RawRwLock::INIT,
            writer: AtomicU64::new(0),
        }
    }

    fn read(&self, deadline: Deadline) -> Result<(), Errno> {
        if self.writer.load(Ordering::Relaxed) == identity() {
            return Err(Errno::EDEADLK);
        }
        let lock = || self.raw.lock_shared_recursive();
        let locked = self.raw.try_lock_shared_recursive()
            || wait::acquire(deadline, lock, |instant| {
                self.raw.try_lock_shared_recursive_until(instant)
            });
        if !locked {
            return Err(Errno::ETIMEDOUT);
        }
        Ok(())
    }

    fn write(&self, deadline: Deadline) -> Result<(), Errno> {
        let me = identity();
        if self.writer.load(Ordering::Relaxed) == me {
            return Err(Errno::EDEADLK);
        }
        let lock = || self.raw.lock_exclusive();
        let locked = self.raw.try_lock_exclusive()
            || wait::acquire(deadline, lock, |instant| {
                self.raw.try_lock_exclusive_until(instant)
            });
        if !locked {
            return Err(Errno::ETIMEDOUT);
        }
        self.writer.store(me, Ordering::Relaxed);
        Ok(())
    }

    fn unlock(&self) -> Result<(), Errno> {
        let writer = self.writer.load(Ordering::Relaxed);
        if writer == identity() {
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
        get(place)?.read(Deadline::Never)
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
        lock.writer.store(identity(), Ordering::Relaxed);
        Ok(())
    }
    scePthreadRwlockUnlock, pthread_rwlock_unlock(place: RwLockPlace) {
        get(place)?.unlock()
    }
    scePthreadRwlockDestroy, pthread_rwlock_destroy(place: RwLockPlace) {
        if place.existing()?.is_some_and(|lock| lock.raw.is_locked()) {
            return Err(Errno::EBUSY);
        }
        place.take().map(drop)
    }
    scePthreadRwlockattrInit, pthread_rwlockattr_init(place: AttributesPlace) {
        place.set(Cell::new(RwLockAttributes { kind: 1, shared: 0 }))
    }
    scePthreadRwlockattrDestroy, pthread_rwlockattr_destroy(place: AttributesPlace) {
        place.take()?.map(drop).ok_or(Errno::EINVAL)
    }
    /// Kinds 1 and 2 behave alike: readers may always lock again.
    scePthreadRwlockattrSettype, pthread_rwlockattr_settype_np(place: AttributesPlace, kind: i32) {
        if !(1..=2).contains(&kind) {
            return Err(Errno::EINVAL);
        }
        let cell = place.get(|_| None)?;
        cell.set(RwLockAttributes { kind, ..cell.get() });
        Ok(())
    }
    scePthreadRwlockattrGettype, pthread_rwlockattr_gettype_np(place: AttributesPlace, out: Out<i32>) {
        let kind = place.get(|_| None)?.get().kind;
        out.write(kind).then_some(()).ok_or(Errno::EINVAL)
    }
    /// There is one process: 0 alone.
    scePthreadRwlockattrSetpshared, pthread_rwlockattr_setpshared(place: AttributesPlace, shared: i32) {
        if shared != 0 {
            return Err(Errno::EINVAL);
        }
        let cell = place.get(|_| None)?;
        cell.set(RwLockAttributes { shared, ..cell.get() });
        Ok(())
    }
    scePthreadRwlockattrGetpshared, pthread_rwlockattr_getpshared(place: AttributesPlace, out: Out<i32>) {
        let shared = place.get(|_| None)?.get().shared;
        out.write(shared).then_some(()).ok_or(Errno::EINVAL)
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

/// Locks for reading, waiting at most so many microseconds.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadRwlockTimedrdlock(
    place: RwLockPlace,
    microseconds: u32,
) -> SceResult {
    get(place)
        .and_then(|lock| lock.read(Deadline::after_microseconds(microseconds)))
        .into()
}

/// What is left until a time of the wall clock.
fn until(time: In<Timespec>) -> Result<Deadline, Errno> {
    Ok(Deadline::after(time.read().ok_or(Errno::EINVAL)?.left()?))
}

/// Locks for reading, waiting at most until the time given.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_rwlock_timedrdlock(
    place: RwLockPlace,
    time: In<Timespec>,
) -> PthreadResult {
    get(place).and_then(|lock| lock.read(until(time)?)).into()
}

/// Locks for writing, waiting at most until the time given.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_rwlock_timedwrlock(
    place: RwLockPlace,
    time: In<Timespec>,
) -> PthreadResult {
    get(place).and_then(|lock| lock.write(until(time)?)).into()
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
