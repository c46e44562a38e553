//! Spin locks, which FreeBSD's POSIX library has. One that is taken for long gives way to other threads.

use std::sync::atomic::{AtomicU64, Ordering};

use relic_macros::guest_fn;

use super::{identity, place::Place};
use crate::result::{Errno, PthreadResult};

/// A spin lock: identity of the thread that holds it, 0 for none.
pub(crate) struct Spin(AtomicU64);

type SpinPlace = Place<Spin>;

/// How often the lock is looked at before the thread gives way.
const SPINS: u32 = 100;

impl Spin {
    fn try_lock(&self) -> Result<(), Errno> {
        self.0
            .compare_exchange(0, identity(), Ordering::Acquire, Ordering::Relaxed)
            .map(drop)
            .map_err(|_| Errno::EBUSY)
    }

    fn lock(&self) -> Result<(), Errno> {
        if self.0.load(Ordering::Relaxed) == identity() {
            return Err(Errno::EDEADLK);
        }
        let mut tries = 0;
        while self.try_lock().is_err() {
            tries += 1;
            if tries < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

macro_rules! spin {
    ($($(#[$doc:meta])* $name:ident($place:ident $(, $more:ident: $kind:ty)?) $body:expr;)*) => {$(
        $(#[$doc])*
        #[guest_fn(libkernel, libScePosix)]
        pub(crate) extern "sysv64" fn $name($place: SpinPlace $(, $more: $kind)?) -> PthreadResult {
            let body = || -> Result<(), Errno> { $body };
            body().into()
        }
    )*};
}

spin! {
    /// Creates a spin lock.
    pthread_spin_init(place, _shared: i32) place.set(Spin(AtomicU64::new(0)));
    /// Destroys a spin lock; EBUSY while it is held.
    pthread_spin_destroy(place) {
        if place.get(|_| None)?.0.load(Ordering::Relaxed) != 0 {
            return Err(Errno::EBUSY);
        }
        place.take().map(drop)
    };
    /// Locks.
    pthread_spin_lock(place) place.get(|_| None)?.lock();
    /// Locks if nobody holds it; EBUSY otherwise.
    pthread_spin_trylock(place) place.get(|_| None)?.try_lock();
    /// Unlocks; EPERM for a thread that does not hold it.
    pthread_spin_unlock(place) place
        .get(|_| None)?
        .0
        .compare_exchange(identity(), 0, Ordering::Release, Ordering::Relaxed)
        .map(drop)
        .map_err(|_| Errno::EPERM);
}
