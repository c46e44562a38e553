//! Waiting: every thread sleeps on a word of its own, and objects keep queues of threads. Whoever wakes a thread takes it out
//! of the queue first, under the object's lock; a thread that wakes looks there before it believes anything. So a wake-up that
//! comes for another reason, a request to cancel for one, costs a look and no more.

use std::{
    collections::VecDeque,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Thread, cancel, current};
use crate::{libkernel::exception, pointer::Out, result::Errno};

/// When a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    Never,
    At(Instant),
}

impl Deadline {
    pub(crate) fn after(duration: Duration) -> Self {
        Instant::now().checked_add(duration).map_or(Self::Never, Self::At)
    }

    pub(crate) fn after_microseconds(microseconds: u32) -> Self {
        Self::after(Duration::from_micros(u64::from(microseconds)))
    }

    pub(crate) fn has_passed(self) -> bool {
        matches!(self, Self::At(instant) if Instant::now() >= instant)
    }

    /// What is left; `None` for ever.
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(instant) => Some(instant.saturating_duration_since(Instant::now())),
        }
    }
}

/// Sleeps while `word` holds `expected`, at most until the deadline. May return early.
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline: Deadline) {
    let time = deadline.left().map(|left| libc::timespec {
        tv_sec: left.as_secs().cast_signed(),
        tv_nsec: i64::from(left.subsec_nanos()),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word outlives the call, and the time is null or ours.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            time,
        )
    };
}

/// Wakes at most `count` threads that wait on `word`.
pub(crate) fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: waking reads nothing.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            count,
        )
    };
}

/// The word that a thread sleeps on.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    word: AtomicU32,
}

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const SLEEPING: u32 = 2;

impl Parker {
    /// Sleeps until it is unparked, at most until the deadline. May return early; one `unpark` before is remembered. Only
    /// the word's own thread calls it.
    pub(crate) fn park(&self, deadline: Deadline) {
        if self.word.swap(SLEEPING, Ordering::Acquire) != NOTIFIED {
            wait(&self.word, SLEEPING, deadline);
        }
        self.word.swap(EMPTY, Ordering::Acquire);
    }

    /// Wakes the thread.
    pub(crate) fn unpark(&self) {
        if self.word.swap(NOTIFIED, Ordering::Release) == SLEEPING {
            wake(&self.word, 1);
        }
    }
}

/// In which order those who wait are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// First come, first served.
    First,
    /// By priority when they came; within one priority first come, first served.
    Priority,
}

struct Waiter<W> {
    ticket: u64,
    thread: Arc<Thread>,
    priority: i32,
    want: W,
}

/// Threads that wait for an object: what each wants, and the answers that they have not fetched yet.
pub(crate) struct WaitQueue<W, A> {
    waiting: VecDeque<Waiter<W>>,
    answers: Vec<(u64, A)>,
    next: u64,
    order: Order,
}

impl<W, A> WaitQueue<W, A> {
    pub(crate) const fn new(order: Order) -> Self {
        Self {
            waiting: VecDeque::new(),
            answers: Vec::new(),
            next: 0,
            order,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether nobody waits, and nobody has an answer left.
    pub(crate) fn is_unused(&self) -> bool {
        self.waiting.is_empty() && self.answers.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Enters the calling thread.
    pub(crate) fn join(&mut self, want: W) -> u64 {
        let ticket = self.next;
        self.next += 1;
        let thread = current();
        let priority = thread.priority.load(Ordering::Relaxed);
        // The lower the number, the higher the priority.
        let place = match self.order {
            Order::First => self.waiting.len(),
            Order::Priority => self
                .waiting
                .iter()
                .position(|other| other.priority > priority)
                .unwrap_or(self.waiting.len()),
        };
        self.waiting.insert(
            place,
            Waiter {
                ticket,
                thread,
                priority,
                want,
            },
        );
        ticket
    }

    /// Takes a thread out that waits no more.
    pub(crate) fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiter| waiter.ticket != ticket);
    }

    /// The answer for a thread, once.
    pub(crate) fn take(&mut self, ticket: u64) -> Option<A> {
        let index = self
            .answers
            .iter()
            .position(|(answered, _)| *answered == ticket)?;
        Some(self.answers.swap_remove(index).1)
    }

    /// Answers the first one if `decide` says so. Returns it, to be woken.
    pub(crate) fn answer_first(&mut self, decide: impl FnOnce(&W) -> Option<A>) -> Option<Arc<Thread>> {
        let answer = decide(&self.waiting.front()?.want)?;
        let waiter = self.waiting.pop_front()?;
        self.answers.push((waiter.ticket, answer));
        Some(waiter.thread)
    }

    /// Answers everyone of whom `decide` says so, in order, and wakes them. Returns how many.
    pub(crate) fn answer_each(&mut self, mut decide: impl FnMut(&W) -> Option<A>) -> usize {
        let before = self.waiting.len();
        let answers = &mut self.answers;
        self.waiting.retain(|waiter| match decide(&waiter.want) {
            Some(answer) => {
                answers.push((waiter.ticket, answer));
                waiter.thread.parker.unpark();
                false
            }
            None => true,
        });
        before - self.waiting.len()
    }

    /// Wakes everyone, to look for themselves.
    pub(crate) fn wake_all(&self) {
        for waiter in &self.waiting {
            waiter.thread.parker.unpark();
        }
    }

    /// Serves the next ones in another order.
    pub(crate) const fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// What the first one wants.
    pub(crate) fn first(&self) -> Option<&W> {
        self.waiting.front().map(|waiter| &waiter.want)
    }

    /// Answers a certain thread, if it is there. Returns it, to be woken.
    pub(crate) fn answer_thread(&mut self, handle: u64, answer: A) -> Option<Arc<Thread>> {
        let index = self
            .waiting
            .iter()
            .position(|waiter| waiter.thread.handle() == handle)?;
        let waiter = self.waiting.remove(index)?;
        self.answers.push((waiter.ticket, answer));
        Some(waiter.thread)
    }
}

/// Why a wait ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    TimedOut,
    /// The calling thread is to be cancelled: whoever asked for a wait that can be.
    Cancelled,
}

impl Stop {
    /// What a call that ends so answers. One that is cancelled does not come to that.
    pub(crate) const fn errno(self) -> Errno {
        match self {
            Self::TimedOut => Errno::ETIMEDOUT,
            Self::Cancelled => Errno::ECANCELED,
        }
    }
}

/// Sleeps until `look`, which is called again after each wake-up, has an answer. `leave` takes the thread out of its queue
/// where there is none.
pub(crate) fn sleep_until<A>(
    deadline: Deadline,
    can_be_cancelled: bool,
    mut look: impl FnMut() -> Option<A>,
    leave: impl FnOnce() -> Option<A>,
) -> Result<A, Stop> {
    let thread = current();
    loop {
        if let Some(answer) = look() {
            return Ok(answer);
        }
        let stop = if can_be_cancelled && cancel::is_due(&thread) {
            Stop::Cancelled
        } else if deadline.has_passed() {
            Stop::TimedOut
        } else {
            thread.parker.park(deadline);
            thread.exception.look();
            continue;
        };
        // The answer may have come in between.
        return leave().ok_or(stop);
    }
}

/// How long a thread waits for a lock before it looks for exceptions that were raised for it.
const SLICE: Duration = Duration::from_millis(1);

/// Waits for a lock of parking_lot's, which can't be woken for anything else: in slices, where the program raises exceptions.
/// False when the deadline has passed.
pub(crate) fn acquire(deadline: Deadline, lock: impl Fn(), try_until: impl Fn(Instant) -> bool) -> bool {
    if !exception::can_be_raised() {
        return match deadline {
            Deadline::Never => {
                lock();
                true
            }
            Deadline::At(instant) => try_until(instant),
        };
    }
    let thread = current();
    loop {
        let slice = Instant::now() + SLICE;
        let until = match deadline {
            Deadline::At(instant) => instant.min(slice),
            Deadline::Never => slice,
        };
        if try_until(until) {
            return true;
        }
        if deadline.has_passed() {
            return false;
        }
        thread.exception.look();
    }
}

/// Reads a relative timeout in microseconds; null is for ever.
pub(crate) fn deadline_of(timeout: Out<u32>) -> Deadline {
    timeout
        .read()
        .map_or(Deadline::Never, Deadline::after_microseconds)
}

/// Stores what is left of a timeout.
pub(crate) fn store_left(timeout: Out<u32>, deadline: Deadline) {
    if let Some(left) = deadline.left() {
        timeout.write(u32::try_from(left.as_micros()).unwrap_or(u32::MAX));
    }
}
