//! Barriers: a number of threads wait for each other.

use std::cell::Cell;

use super::{
    place::Place,
    wait::{self, Deadline, Order, WaitQueue},
    word_lock::Locked,
};
use crate::{
    pointer::{Out, Text},
    result::{Errno, PthreadResult, SceResult},
};

/// A barrier.
pub(crate) struct Barrier {
    count: u32,
    queue: Locked<WaitQueue<(), ()>>,
}

type BarrierPlace = Place<Barrier>;
type AttributesPlace = Place<Cell<i32>>;

/// What the thread gets that completes the barrier.
const SERIAL: i32 = -1;

impl Barrier {
    /// Waits for the others. Returns whether this thread was the last.
    fn wait(&self) -> bool {
        let ticket = {
            let mut queue = self.queue.lock();
            if queue.len() as u32 + 1 == self.count {
                queue.answer_each(|()| Some(()));
                return true;
            }
            queue.join(())
        };
        // There is no limit, and no cancellation: it ends with an answer.
        let _ = wait::sleep_until(Deadline::Never, false, || self.queue.lock().take(ticket), || None);
        false
    }
}

fn init(place: BarrierPlace, count: u32) -> Result<(), Errno> {
    if count == 0 {
        return Err(Errno::EINVAL);
    }
    place.set(Barrier {
        count,
        queue: Locked::new(WaitQueue::new(Order::First)),
    })
}

/// Creates a barrier for a number of threads. Its name is for the console's debugger.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadBarrierInit(
    place: BarrierPlace,
    _attributes: AttributesPlace,
    count: u32,
    _name: Text,
) -> SceResult {
    init(place, count).into()
}

/// Creates a barrier for a number of threads.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_barrier_init(
    place: BarrierPlace,
    _attributes: AttributesPlace,
    count: u32,
) -> PthreadResult {
    init(place, count).into()
}

/// Waits for the others; -1 for the one that comes last.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadBarrierWait(place: BarrierPlace) -> SceResult {
    match place.get(|_| None) {
        Ok(barrier) if barrier.wait() => SceResult(SERIAL),
        Ok(_) => SceResult::OK,
        Err(error) => error.sce(),
    }
}

/// Waits for the others; -1 for the one that comes last.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_barrier_wait(place: BarrierPlace) -> PthreadResult {
    match place.get(|_| None) {
        Ok(barrier) if barrier.wait() => PthreadResult(SERIAL),
        Ok(_) => PthreadResult(0),
        Err(error) => PthreadResult(error.0),
    }
}

pthread_pair! {
    /// Destroys a barrier; EBUSY while somebody waits.
    scePthreadBarrierDestroy, pthread_barrier_destroy(place: BarrierPlace) {
        if !place.get(|_| None)?.queue.lock().is_empty() {
            return Err(Errno::EBUSY);
        }
        place.take().map(drop)
    }
    scePthreadBarrierattrInit, pthread_barrierattr_init(place: AttributesPlace) {
        place.set(Cell::new(0))
    }
    scePthreadBarrierattrDestroy, pthread_barrierattr_destroy(place: AttributesPlace) {
        place.take()?.map(drop).ok_or(Errno::EINVAL)
    }
    /// There is one process: 0 alone.
    scePthreadBarrierattrSetpshared, pthread_barrierattr_setpshared(place: AttributesPlace, shared: i32) {
        if shared != 0 {
            return Err(Errno::EINVAL);
        }
        place.get(|_| None).map(|cell| cell.set(shared))
    }
    scePthreadBarrierattrGetpshared, pthread_barrierattr_getpshared(place: AttributesPlace, out: Out<i32>) {
        let shared = place.get(|_| None)?.get();
        out.write(shared).then_some(()).ok_or(Errno::EINVAL)
    }
}
