//! Mutexes. The uncontended path is one compare-and-swap of the lock's word and a store of the owner.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use super::{identity, place::Place, wait::Deadline, word_lock::WordLock};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Out},
    result::{Errno, PthreadResult, SceResult},
};

/// What locking a mutex again, on the thread that holds it, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ErrorCheck = 1,
    Recursive = 2,
    Normal = 3,
    Adaptive = 4,
}

impl Kind {
    const fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::ErrorCheck),
            2 => Some(Self::Recursive),
            3 => Some(Self::Normal),
            4 => Some(Self::Adaptive),
            _ => None,
        }
    }
}

/// Protocols: none, inheriting priorities, and running at the mutex's ceiling. The last two are kept and reported; the host's
/// scheduler decides.
const NONE: i32 = 0;
const PROTECT: i32 = 2;

/// Attributes of a mutex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MutexAttributes {
    kind: Kind,
    protocol: i32,
    ceiling: i32,
    shared: i32,
}

impl Default for MutexAttributes {
    fn default() -> Self {
        Self {
            kind: Kind::ErrorCheck,
            protocol: NONE,
            ceiling: 0,
            shared: 0,
        }
    }
}

/// A mutex.
pub(crate) struct Mutex {
    raw: WordLock,
    /// Identity of the thread that holds it, 0 for none. Only the holder stores.
    owner: AtomicU64,
    /// How often the holder has locked it again. Only the holder touches it.
    depth: AtomicU32,
    kind: Kind,
    protocol: i32,
    ceiling: AtomicI32,
}

pub(crate) type MutexPlace = Place<Mutex>;
type AttributesPlace = Place<std::cell::Cell<MutexAttributes>>;

impl Mutex {
    fn new(attributes: MutexAttributes) -> Self {
        Self {
            raw: WordLock::new(),
            owner: AtomicU64::new(0),
            depth: AtomicU32::new(0),
            kind: attributes.kind,
            protocol: attributes.protocol,
            ceiling: AtomicI32::new(attributes.ceiling),
        }
    }

    fn of_kind(kind: Kind) -> Self {
        Self::new(MutexAttributes {
            kind,
            ..MutexAttributes::default()
        })
    }

    /// The mutex that an initialiser stands for.
    fn of_initialiser(value: usize) -> Option<Self> {
        match value {
            0 => Some(Self::of_kind(Kind::ErrorCheck)),
            1 => Some(Self::of_kind(Kind::Adaptive)),
            _ => None,
        }
    }

    /// Locks, or counts where this thread holds it already.
    fn lock(&self, deadline: Deadline) -> Result<(), Errno> {
        let me = identity();
        if self.owner.load(Ordering::Relaxed) == me {
            match self.kind {
                Kind::Recursive => return self.deepen(),
                Kind::ErrorCheck | Kind::Adaptive => return Err(Errno::EDEADLK),
                // Waits for itself, as the console does.
                Kind::Normal => {}
            }
        }
        if !self.raw.try_acquire() && !self.wait_for_lock(deadline) {
            return Err(Errno::ETIMEDOUT);
        }
        self.owner.store(me, Ordering::Relaxed);
        Ok(())
    }

    /// Locks where nobody holds it.
    #[inline(always)]
    fn lock_free(&self) -> bool {
        let locked = self.raw.try_acquire();
        if locked {
            self.owner.store(identity(), Ordering::Relaxed);
        }
        locked
    }

    /// Unlocks where the calling thread holds it once.
    #[inline(always)]
    fn unlock_single(&self) -> bool {
        let single =
            self.owner.load(Ordering::Relaxed) == identity() && self.depth.load(Ordering::Relaxed) == 0;
        if single {
            self.owner.store(0, Ordering::Relaxed);
            self.raw.release();
        }
        single
    }

    #[cold]
    fn wait_for_lock(&self, deadline: Deadline) -> bool {
        self.raw.acquire_slowly(deadline, || {
            if let Some(pending) = super::pending_exception() {
                pending.look();
            }
        })
    }

    fn try_lock(&self) -> Result<(), Errno> {
        let me = identity();
        if self.owner.load(Ordering::Relaxed) == me {
            return if self.kind == Kind::Recursive {
                self.deepen()
            } else {
                Err(Errno::EBUSY)
            };
        }
        if !self.raw.try_acquire() {
            return Err(Errno::EBUSY);
        }
        self.owner.store(me, Ordering::Relaxed);
        Ok(())
    }

    fn deepen(&self) -> Result<(), Errno> {
        let depth = self
            .depth
            .load(Ordering::Relaxed)
            .checked_add(1)
            .ok_or(Errno::EAGAIN)?;
        self.depth.store(depth, Ordering::Relaxed);
        Ok(())
    }

    fn unlock(&self) -> Result<(), Errno> {
        if self.owner.load(Ordering::Relaxed) != identity() {
            return Err(Errno::EPERM);
        }
        let depth = self.depth.load(Ordering::Relaxed);
        if depth > 0 {
            self.depth.store(depth - 1, Ordering::Relaxed);
            return Ok(());
        }
        self.owner.store(0, Ordering::Relaxed);
        self.raw.release();
        Ok(())
    }

    /// Whether the calling thread holds it.
    pub(super) fn is_mine(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == identity()
    }

    /// Unlocks however deep it is locked. Returns the depth for [`Self::lock_again`].
    pub(super) fn unlock_fully(&self) -> Result<u32, Errno> {
        if self.owner.load(Ordering::Relaxed) != identity() {
            return Err(Errno::EPERM);
        }
        let depth = self.depth.swap(0, Ordering::Relaxed);
        self.unlock()?;
        Ok(depth)
    }

    /// Locks as deep as it was.
    pub(super) fn lock_again(&self, depth: u32) {
        if !self.raw.try_acquire() {
            self.wait_for_lock(Deadline::Never);
        }
        self.owner.store(identity(), Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
    }
}

#[cold]
#[inline(never)]
fn lock_slowly(place: MutexPlace) -> Result<(), Errno> {
    get(place)?.lock(Deadline::Never)
}

#[cold]
#[inline(never)]
fn unlock_slowly(place: MutexPlace) -> Result<(), Errno> {
    get(place)?.unlock()
}

/// The mutex at `place`.
pub(super) fn get(place: MutexPlace) -> Result<&'static Mutex, Errno> {
    place.get(Mutex::of_initialiser)
}

fn init(place: MutexPlace, attributes: AttributesPlace) -> Result<(), Errno> {
    let attributes = if attributes.is_null() {
        MutexAttributes::default()
    } else {
        attributes.get(|_| None)?.get()
    };
    place.set(Mutex::new(attributes))
}

pthread_pair! {
    scePthreadMutexLock, pthread_mutex_lock(place: MutexPlace) {
        if place.live().is_some_and(Mutex::lock_free) {
            return Ok(());
        }
        lock_slowly(place)
    }
    scePthreadMutexTrylock, pthread_mutex_trylock(place: MutexPlace) {
        get(place)?.try_lock()
    }
    scePthreadMutexUnlock, pthread_mutex_unlock(place: MutexPlace) {
        if place.live().is_some_and(Mutex::unlock_single) {
            return Ok(());
        }
        unlock_slowly(place)
    }
    scePthreadMutexDestroy, pthread_mutex_destroy(place: MutexPlace) {
        if place.existing()?.is_some_and(|mutex| mutex.raw.is_held()) {
            return Err(Errno::EBUSY);
        }
        place.take().map(drop)
    }
    scePthreadMutexattrInit, pthread_mutexattr_init(place: AttributesPlace) {
        place.set(std::cell::Cell::new(MutexAttributes::default()))
    }
    scePthreadMutexattrDestroy, pthread_mutexattr_destroy(place: AttributesPlace) {
        place.take()?.map(drop).ok_or(Errno::EINVAL)
    }
    /// Errorcheck (1), recursive (2), normal (3) or adaptive (4).
    scePthreadMutexattrSettype, pthread_mutexattr_settype(place: AttributesPlace, kind: i32) {
        let kind = Kind::from_number(kind).ok_or(Errno::EINVAL)?;
        let cell = place.get(|_| None)?;
        cell.set(MutexAttributes { kind, ..cell.get() });
        Ok(())
    }
    scePthreadMutexattrGettype, pthread_mutexattr_gettype(place: AttributesPlace, out: Out<i32>) {
        let kind = place.get(|_| None)?.get().kind;
        out.write(kind as i32).then_some(()).ok_or(Errno::EINVAL)
    }
    scePthreadMutexattrSetprotocol, pthread_mutexattr_setprotocol(place: AttributesPlace, protocol: i32) {
        if !(0..=2).contains(&protocol) {
            return Err(Errno::EINVAL);
        }
        let cell = place.get(|_| None)?;
        cell.set(MutexAttributes { protocol, ..cell.get() });
        Ok(())
    }
    scePthreadMutexattrGetprotocol, pthread_mutexattr_getprotocol(place: AttributesPlace, out: Out<i32>) {
        let protocol = place.get(|_| None)?.get().protocol;
        out.write(protocol).then_some(()).ok_or(Errno::EINVAL)
    }
    /// The priority that a holder runs at, of a mutex that protects by it (protocol 2).
    scePthreadMutexattrSetprioceiling, pthread_mutexattr_setprioceiling(place: AttributesPlace, ceiling: i32) {
        let cell = place.get(|_| None)?;
        if cell.get().protocol != PROTECT {
            return Err(Errno::EINVAL);
        }
        cell.set(MutexAttributes { ceiling, ..cell.get() });
        Ok(())
    }
    scePthreadMutexattrGetprioceiling, pthread_mutexattr_getprioceiling(place: AttributesPlace, out: Out<i32>) {
        let attributes = place.get(|_| None)?.get();
        if attributes.protocol != PROTECT {
            return Err(Errno::EINVAL);
        }
        out.write(attributes.ceiling).then_some(()).ok_or(Errno::EINVAL)
    }
    /// There is one process: 0 alone.
    scePthreadMutexattrSetpshared, pthread_mutexattr_setpshared(place: AttributesPlace, shared: i32) {
        if shared != 0 {
            return Err(Errno::EINVAL);
        }
        let cell = place.get(|_| None)?;
        cell.set(MutexAttributes { shared, ..cell.get() });
        Ok(())
    }
    scePthreadMutexattrGetpshared, pthread_mutexattr_getpshared(place: AttributesPlace, out: Out<i32>) {
        let shared = place.get(|_| None)?.get().shared;
        out.write(shared).then_some(()).ok_or(Errno::EINVAL)
    }
    scePthreadMutexGetprioceiling, pthread_mutex_getprioceiling(place: MutexPlace, out: Out<i32>) {
        let mutex = get(place)?;
        if mutex.protocol != PROTECT {
            return Err(Errno::EINVAL);
        }
        out.write(mutex.ceiling.load(Ordering::Relaxed)).then_some(()).ok_or(Errno::EINVAL)
    }
    /// Sets the ceiling while holding the mutex, and stores what it was.
    scePthreadMutexSetprioceiling, pthread_mutex_setprioceiling(place: MutexPlace, ceiling: i32, out: Out<i32>) {
        let mutex = get(place)?;
        if mutex.protocol != PROTECT {
            return Err(Errno::EINVAL);
        }
        mutex.lock(Deadline::Never)?;
        let old = mutex.ceiling.swap(ceiling, Ordering::Relaxed);
        out.write(old);
        mutex.unlock()
    }
}

/// Whether the calling thread holds a mutex.
#[relic_macros::guest_fn(libkernel, libScePosix, also = "scePthreadMutexIsowned")]
pub(crate) extern "sysv64" fn pthread_mutex_isowned_np(place: MutexPlace) -> i32 {
    i32::from(matches!(place.existing(), Ok(Some(mutex)) if mutex.is_mine()))
}

/// Creates a mutex. Its name is for the console's debugger.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadMutexInit(
    place: MutexPlace,
    attributes: AttributesPlace,
    _name: crate::pointer::Text,
) -> SceResult {
    init(place, attributes).into()
}

/// Creates a mutex.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_mutex_init(
    place: MutexPlace,
    attributes: AttributesPlace,
) -> PthreadResult {
    init(place, attributes).into()
}

/// Locks, waiting at most so many microseconds.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadMutexTimedlock(place: MutexPlace, microseconds: u32) -> SceResult {
    get(place)
        .and_then(|mutex| mutex.lock(Deadline::after_microseconds(microseconds)))
        .into()
}

/// Locks, waiting at most until the time given.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_mutex_timedlock(
    place: MutexPlace,
    until: In<Timespec>,
) -> PthreadResult {
    let lock = || {
        let mutex = get(place)?;
        let left = until.read().ok_or(Errno::EINVAL)?.left()?;
        mutex.lock(Deadline::after(left))
    };
    lock().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(value: usize) -> MutexPlace {
        // SAFETY: the layout of a place is the pointer to its variable.
        unsafe { std::mem::transmute(Box::leak(Box::new(value)) as *mut usize) }
    }

    fn of_kind(kind: Kind) -> MutexPlace {
        let place = variable(0);
        place.set(Mutex::of_kind(kind)).unwrap();
        place
    }

    const EPERM: SceResult = SceResult::code(0x8002_0001);
    const EDEADLK: SceResult = SceResult::code(0x8002_000b);
    const EBUSY: SceResult = SceResult::code(0x8002_0010);
    const EINVAL: SceResult = SceResult::code(0x8002_0016);
    const ETIMEDOUT: SceResult = SceResult::code(0x8002_003c);

    #[test]
    fn each_kind_answers_a_second_lock_in_its_way() {
        for (kind, again, try_again) in [
            (Kind::ErrorCheck, EDEADLK, EBUSY),
            (Kind::Recursive, SceResult::OK, SceResult::OK),
            (Kind::Adaptive, EDEADLK, EBUSY),
            (Kind::Normal, ETIMEDOUT, EBUSY),
        ] {
            let mutex = of_kind(kind);
            assert_eq!(scePthreadMutexLock(mutex), SceResult::OK);
            assert_eq!(scePthreadMutexTimedlock(mutex, 1000), again, "{kind:?}");
            assert_eq!(scePthreadMutexTrylock(mutex), try_again, "{kind:?}");
            let depth = if kind == Kind::Recursive { 3 } else { 1 };
            for _ in 0..depth {
                assert_eq!(scePthreadMutexUnlock(mutex), SceResult::OK);
            }
            assert_eq!(scePthreadMutexUnlock(mutex), EPERM, "{kind:?}");
            assert_eq!(scePthreadMutexDestroy(mutex), SceResult::OK);
            assert_eq!(scePthreadMutexLock(mutex), EINVAL);
        }
    }

    #[test]
    fn static_initialisers_become_mutexes_once() {
        for value in [0, 1] {
            let mutex = variable(value);
            let count = AtomicU64::new(0);
            let address = mutex.variable_address();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let count = &count;
                    scope.spawn(move || {
                        let mutex = MutexPlace::at(address);
                        for _ in 0..1000 {
                            assert_eq!(pthread_mutex_lock(mutex), PthreadResult(0));
                            let old = count.load(Ordering::Relaxed);
                            count.store(old + 1, Ordering::Relaxed);
                            assert_eq!(pthread_mutex_unlock(mutex), PthreadResult(0));
                        }
                    });
                }
            });
            assert_eq!(count.into_inner(), 4000);
        }
        assert_eq!(pthread_mutex_lock(variable(2)), PthreadResult(22));
    }

    #[test]
    fn a_timed_lock_gives_up_and_another_threads_unlock_is_refused() {
        let mutex = of_kind(Kind::ErrorCheck);
        assert_eq!(scePthreadMutexLock(mutex), SceResult::OK);
        let address = mutex.variable_address();
        std::thread::spawn(move || {
            let mutex = MutexPlace::at(address);
            assert_eq!(scePthreadMutexTimedlock(mutex, 2000), ETIMEDOUT);
            assert_eq!(scePthreadMutexUnlock(mutex), EPERM);
            assert_eq!(scePthreadMutexDestroy(mutex), EBUSY);
        })
        .join()
        .unwrap();
    }
}
