//! Counting semaphores.
//!
//! A semaphore's count, whether somebody waits, and the generation of its slot are one word: where nobody waits, taking and
//! giving are one exchange. Slots are never freed, so that a handle whose semaphore is gone finds another generation.

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use relic_macros::guest_fn;

use crate::{
    libkernel::thread::{
        wait::{self, Order, WaitQueue},
        word_lock::Locked,
    },
    pointer::{Opaque, Out, Text},
    result::{Errno, SceResult},
};

/// Attribute bits: waiters are served first come first served, or by priority.
const FIFO: u32 = 1;
const PRIORITY: u32 = 2;
/// Longest name in bytes.
const NAME_LIMIT: usize = 31;

/// The place of a semaphore.
struct Slot {
    word: AtomicU64,
    initial: AtomicI32,
    maximum: AtomicI32,
    /// Generation of the slot's next semaphore.
    next: AtomicU32,
    /// Who waits, and for how many. Whoever holds it with [`WAITED`] set owns the count.
    queue: Locked<WaitQueue<i32, Result<(), Errno>>>,
}

/// The word: count in the low half, then whether somebody waits, then the generation; 0 for none.
const WAITED: u64 = 1 << 32;
const GENERATION: u32 = 33;

const fn count_of(word: u64) -> i32 {
    word as u32 as i32
}

/// Bits of a handle that say which slot it is; above them the generation.
const INDEX_BITS: u32 = 16;
const SLOTS: usize = 1 << INDEX_BITS;
const CHUNK: usize = 64;
/// Generations are positive and leave a handle's sign bit alone.
const GENERATIONS: u32 = 1 << (31 - INDEX_BITS);

/// Each null until its first slot is used.
static CHUNKS: [AtomicPtr<Slot>; SLOTS / CHUNK] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS / CHUNK];
/// Slots that were used, and how many ever were.
static FREE: Locked<(Vec<u32>, u32)> = Locked::new((Vec::new(), 0));

#[inline]
fn slot(index: u32) -> Option<&'static Slot> {
    let index = index as usize % SLOTS;
    let chunk = CHUNKS[index / CHUNK].load(Ordering::Acquire);
    // SAFETY: null, or a chunk of so many slots that is never freed.
    (!chunk.is_null()).then(|| unsafe { &*chunk.add(index % CHUNK) })
}

/// Makes a chunk. Called with the list of free slots locked.
fn new_chunk() -> *mut Slot {
    let chunk: Vec<Slot> = (0..CHUNK)
        .map(|_| Slot {
            word: AtomicU64::new(0),
            initial: AtomicI32::new(0),
            maximum: AtomicI32::new(0),
            next: AtomicU32::new(1),
            queue: Locked::new(WaitQueue::new(Order::First)),
        })
        .collect();
    Box::leak(chunk.into_boxed_slice()).as_mut_ptr()
}

/// A semaphore by its handle: operations on one that is gone meanwhile are ESRCH.
#[derive(Clone, Copy)]
struct Semaphore {
    slot: &'static Slot,
    generation: u64,
}

impl Semaphore {
    #[inline(always)]
    fn find(handle: u64) -> Result<Self, Errno> {
        let handle = u32::try_from(handle).map_err(|_| Errno::ESRCH)?;
        let generation = u64::from(handle >> INDEX_BITS);
        if generation == 0 {
            return Err(Errno::ESRCH);
        }
        Ok(Self {
            slot: slot(handle).ok_or(Errno::ESRCH)?,
            generation,
        })
    }

    /// The word as it is now.
    fn word(self) -> Result<u64, Errno> {
        let word = self.slot.word.load(Ordering::SeqCst);
        if word >> GENERATION == self.generation {
            Ok(word)
        } else {
            Err(Errno::ESRCH)
        }
    }

    /// Changes the word by what `edit` makes of it, until nobody else changes it in between. `None` leaves it.
    fn edit(self, edit: impl Fn(u64) -> Option<u64>) -> Result<bool, Errno> {
        loop {
            let word = self.word()?;
            let Some(new) = edit(word) else {
                return Ok(false);
            };
            let changed =
                self.slot
                    .word
                    .compare_exchange_weak(word, new, Ordering::SeqCst, Ordering::Relaxed);
            if changed.is_ok() {
                return Ok(true);
            }
        }
    }

    /// Takes `need` where nobody waits and so many are there.
    fn try_take(self, need: i32) -> Result<bool, Errno> {
        self.edit(|word| (word & WAITED == 0 && count_of(word) >= need).then(|| word - need as u64))
    }

    /// Changes the count where nobody waits and nobody else is at it: one exchange.
    #[inline(always)]
    fn at_once(self, change: impl FnOnce(i32, i32) -> Option<i32>) -> bool {
        let word = self.slot.word.load(Ordering::Acquire);
        if word & WAITED != 0 || word >> GENERATION != self.generation {
            return false;
        }
        match change(count_of(word), self.slot.maximum.load(Ordering::Relaxed)) {
            Some(count) => {
                let new = word >> 32 << 32 | u64::from(count.cast_unsigned());
                self.slot
                    .word
                    .compare_exchange(word, new, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
            }
            None => false,
        }
    }

    /// What one may ask for.
    fn check_need(self, need: i32) -> Result<(), Errno> {
        self.word()?;
        let maximum = self.slot.maximum.load(Ordering::Relaxed);
        if (1..=maximum).contains(&need) {
            Ok(())
        } else {
            Err(Errno::EINVAL)
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(self, need: i32, timeout: Out<u32>) -> Result<(), Errno> {
        self.check_need(need)?;
        if self.try_take(need)? {
            return Ok(());
        }
        let deadline = wait::deadline_of(timeout);
        if deadline.has_passed() {
            return Err(Errno::ETIMEDOUT);
        }
        let ticket = {
            let mut queue = self.slot.queue.lock();
            self.edit(|word| Some(word | WAITED))?;
            let ticket = queue.join(need);
            // It may be there by now.
            self.serve(&mut queue)?;
            ticket
        };
        let look = || self.slot.queue.lock().take(ticket);
        let leave = || {
            let mut queue = self.slot.queue.lock();
            let answer = queue.take(ticket);
            if answer.is_none() {
                queue.leave(ticket);
                // Whoever stood behind may fit now. Where the semaphore is gone, there was an answer.
                let _ = self.serve(&mut queue);
            }
            answer
        };
        let ended = wait::sleep_until(deadline, false, look, leave);
        wait::store_left(timeout, deadline);
        ended.unwrap_or_else(|stop| Err(stop.errno()))
    }

    /// Serves waiters from the front as far as the count reaches. The queue is locked, so that the count is ours.
    fn serve(self, queue: &mut WaitQueue<i32, Result<(), Errno>>) -> Result<(), Errno> {
        while let Some(&need) = queue.first() {
            if !self.edit(|word| (count_of(word) >= need).then(|| word - need as u64))? {
                return Ok(());
            }
            if let Some(thread) = queue.answer_first(|_| Some(Ok(()))) {
                thread.parker.unpark();
            }
        }
        self.edit(|word| Some(word & !WAITED)).map(drop)
    }

    #[cold]
    #[inline(never)]
    fn signal(self, count: i32) -> Result<(), Errno> {
        let maximum = self.slot.maximum.load(Ordering::Relaxed);
        let fits = |word: u64| {
            let sum = count_of(word).checked_add(count)?;
            (count >= 1 && sum <= maximum).then(|| word + count as u64)
        };
        if self.edit(|word| fits(word).filter(|_| word & WAITED == 0))? {
            return Ok(());
        }
        let mut queue = self.slot.queue.lock();
        if !self.edit(fits)? {
            return Err(Errno::EINVAL);
        }
        self.serve(&mut queue)
    }

    fn cancel(self, count: i32, waiters: Out<i32>) -> Result<(), Errno> {
        self.word()?;
        let maximum = self.slot.maximum.load(Ordering::Relaxed);
        if count > maximum {
            return Err(Errno::EINVAL);
        }
        let count = if count < 0 {
            self.slot.initial.load(Ordering::Relaxed)
        } else {
            count
        };
        let mut queue = self.slot.queue.lock();
        self.edit(|word| Some(word >> GENERATION << GENERATION | count as u64))?;
        let sent = queue.answer_each(|_| Some(Err(Errno::ECANCELED)));
        waiters.write(sent as i32);
        Ok(())
    }

    fn delete(self) -> Result<(), Errno> {
        let mut queue = self.slot.queue.lock();
        self.edit(|_| Some(0))?;
        queue.answer_each(|_| Some(Err(Errno::EACCES)));
        Ok(())
    }
}

fn create(attributes: u32, initial: i32, maximum: i32) -> Result<u64, Errno> {
    let index = {
        let mut free = FREE.lock();
        match free.0.pop() {
            Some(index) => index,
            None if (free.1 as usize) < SLOTS => {
                let index = free.1;
                free.1 += 1;
                if (index as usize).is_multiple_of(CHUNK) {
                    CHUNKS[index as usize / CHUNK].store(new_chunk(), Ordering::Release);
                }
                index
            }
            None => return Err(Errno::EAGAIN),
        }
    };
    let slot = slot(index).ok_or(Errno::EAGAIN)?;
    let generation = slot.next.load(Ordering::Relaxed);
    slot.next
        .store(generation % (GENERATIONS - 1) + 1, Ordering::Relaxed);
    slot.initial.store(initial, Ordering::Relaxed);
    slot.maximum.store(maximum, Ordering::Relaxed);
    slot.queue.lock().set_order(if attributes == PRIORITY {
        Order::Priority
    } else {
        Order::First
    });
    slot.word.store(
        u64::from(generation) << GENERATION | initial as u64,
        Ordering::SeqCst,
    );
    Ok(u64::from(generation << INDEX_BITS | index))
}

/// Creates a semaphore. `attributes`: waiters are served first come first served (1) or by priority (2).
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCreateSema(
    out: Out<u64>,
    name: Text,
    attributes: u32,
    initial: i32,
    maximum: i32,
    options: Opaque,
) -> SceResult {
    let valid = !out.is_null()
        && !name.is_null()
        && options.is_null()
        && attributes & !(FIFO | PRIORITY) == 0
        && attributes != FIFO | PRIORITY
        && (0..=maximum).contains(&initial)
        && maximum > 0;
    if !valid {
        return Errno::EINVAL.sce();
    }
    if name
        .bytes(NAME_LIMIT + 1)
        .is_some_and(|name| name.len() > NAME_LIMIT)
    {
        return Errno::ENAMETOOLONG.sce();
    }
    create(attributes, initial, maximum)
        .map(|handle| {
            out.write(handle);
        })
        .into()
}

/// Takes `need`, waiting for it. `timeout` in microseconds, null for ever; what is left is stored back.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelWaitSema(handle: u64, need: i32, timeout: Out<u32>) -> SceResult {
    let at_once = |semaphore: Semaphore| {
        semaphore.at_once(|count, _| (need >= 1 && count >= need).then(|| count - need))
    };
    match Semaphore::find(handle) {
        Ok(semaphore) if at_once(semaphore) => SceResult::OK,
        Ok(semaphore) => semaphore.wait(need, timeout).into(),
        Err(error) => error.sce(),
    }
}

/// Takes `need` if it is there; EBUSY otherwise.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelPollSema(handle: u64, need: i32) -> SceResult {
    let poll = || {
        let semaphore = Semaphore::find(handle)?;
        semaphore.check_need(need)?;
        semaphore.try_take(need)?.then_some(()).ok_or(Errno::EBUSY)
    };
    poll().into()
}

/// Gives `count`; EINVAL beyond the maximum.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSignalSema(handle: u64, count: i32) -> SceResult {
    let at_once = |semaphore: Semaphore| {
        semaphore.at_once(|there, maximum| {
            there
                .checked_add(count)
                .filter(|sum| count >= 1 && *sum <= maximum)
        })
    };
    match Semaphore::find(handle) {
        Ok(semaphore) if at_once(semaphore) => SceResult::OK,
        Ok(semaphore) => semaphore.signal(count).into(),
        Err(error) => error.sce(),
    }
}

/// Sends everyone away who waits, and sets the count (below 0: the initial one).
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCancelSema(handle: u64, count: i32, waiters: Out<i32>) -> SceResult {
    Semaphore::find(handle)
        .and_then(|semaphore| semaphore.cancel(count, waiters))
        .into()
}

/// Destroys a semaphore; who waits gets EACCES.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteSema(handle: u64) -> SceResult {
    let delete = || {
        Semaphore::find(handle)?.delete()?;
        // Only the one call that deleted it comes here.
        FREE.lock().0.push(handle as u32 & (SLOTS as u32 - 1));
        Ok::<(), Errno>(())
    };
    delete().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn create(initial: i32, maximum: i32) -> u64 {
        let mut handle = 0;
        // SAFETY: places of ours.
        let (out, name) = unsafe { (Out::new(&raw mut handle), Text::new(c"test".as_ptr().cast())) };
        assert_eq!(
            sceKernelCreateSema(out, name, 1, initial, maximum, std::ptr::null_mut()),
            SceResult::OK
        );
        out.read().unwrap()
    }

    fn forever() -> Out<u32> {
        // SAFETY: null.
        unsafe { Out::new(std::ptr::null_mut()) }
    }

    #[test]
    fn counts_and_times_out() {
        let semaphore = create(2, 3);
        assert_eq!(sceKernelWaitSema(semaphore, 2, forever()), SceResult::OK);
        assert_eq!(sceKernelPollSema(semaphore, 1), SceResult::code(0x8002_0010));
        let mut left = 2000u32;
        // SAFETY: a place of ours.
        let timeout = unsafe { Out::new(&raw mut left) };
        assert_eq!(
            sceKernelWaitSema(semaphore, 1, timeout),
            SceResult::code(0x8002_003c)
        );
        assert_eq!(timeout.read(), Some(0));
        assert_eq!(sceKernelSignalSema(semaphore, 4), SceResult::code(0x8002_0016));
        assert_eq!(sceKernelSignalSema(semaphore, 3), SceResult::OK);
        assert_eq!(sceKernelPollSema(semaphore, 3), SceResult::OK);
        assert_eq!(sceKernelDeleteSema(semaphore), SceResult::OK);
        assert_eq!(sceKernelPollSema(semaphore, 1), SceResult::code(0x8002_0003));
    }

    #[test]
    fn waiters_are_served_in_order_cancelled_and_refused_on_delete() {
        let semaphore = create(0, 10);
        let waiter = |need| std::thread::spawn(move || sceKernelWaitSema(semaphore, need, forever()));
        let big = waiter(5);
        std::thread::sleep(Duration::from_millis(20));
        let small = waiter(1);
        std::thread::sleep(Duration::from_millis(20));
        sceKernelSignalSema(semaphore, 4);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!small.is_finished(), "the first in the queue comes first");
        sceKernelSignalSema(semaphore, 2);
        assert_eq!(big.join().unwrap(), SceResult::OK);
        assert_eq!(small.join().unwrap(), SceResult::OK);

        let cancelled = waiter(1);
        std::thread::sleep(Duration::from_millis(20));
        let mut count = 0;
        // SAFETY: a place of ours.
        let waiters = unsafe { Out::new(&raw mut count) };
        assert_eq!(sceKernelCancelSema(semaphore, -1, waiters), SceResult::OK);
        assert_eq!(waiters.read(), Some(1));
        assert_eq!(cancelled.join().unwrap(), SceResult::code(0x8002_0055));

        let deleted = waiter(1);
        std::thread::sleep(Duration::from_millis(20));
        sceKernelDeleteSema(semaphore);
        assert_eq!(deleted.join().unwrap(), SceResult::code(0x8002_000d));
    }
}
