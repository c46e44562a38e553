//! The guest's system libraries beside the host's C library, in the same run: locking, waking, allocating, reading. The
//! functions are those of the runtime library that programs load, called by their NIDs as a program does.
//! `cargo bench -p relic-benches --bench system_libraries`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that can't set itself up should stop and say where"
)]

use std::{cell::UnsafeCell, ffi::c_void, fs, mem::MaybeUninit, ptr, time::Duration};

use libloading::Library;
use relic_benches::{Subject, measure};
use relic_core::Nid;
use relic_tests::runtime_library;

const READ: usize = 64 * 1024;
/// Goals, as times of ours over the host's.
const GOAL: f64 = 1.25;
const MALLOC_GOAL: f64 = 1.3;

/// The function of a name in the runtime library.
fn guest<F: Copy>(library: &Library, name: &str) -> F {
    // SAFETY: the callers name the function's own type.
    unsafe { *library.get::<F>(Nid::of(name).as_str().as_bytes()).unwrap() }
}

type OnPlace = unsafe extern "sysv64" fn(*mut u64) -> i32;
type OnTwo = unsafe extern "sysv64" fn(*mut u64, *mut u64) -> i32;

/// Calls in one measured run, so that a clock of nanoseconds shows parts of one.
const CALLS: u32 = 1000;

/// Measures ours and the host's in turn, and prints both with their ratio.
fn compare(name: &str, goal: f64, runs: u32, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let repeat = |call: &mut dyn FnMut()| (0..CALLS).for_each(|_| call());
    let times = measure(
        &mut [
            Subject {
                name: "ours",
                run: Box::new(|| repeat(&mut ours)),
            },
            Subject {
                name: "glibc",
                run: Box::new(|| repeat(&mut theirs)),
            },
        ],
        60,
        runs,
    );
    let one = |time: Duration| time.as_secs_f64() / f64::from(CALLS);
    report(name, goal, one(times[0]), one(times[1]));
}

fn report(name: &str, goal: f64, ours: f64, theirs: f64) {
    let ratio = ours / theirs;
    println!(
        "{name:<34} {:>10.1} ns {:>10.1} ns {ratio:>8.2}   goal {goal}{}",
        ours * 1e9,
        theirs * 1e9,
        if ratio > goal { "   NOT MET" } else { "" }
    );
}

/// A place that two threads use by calls that synchronise themselves.
struct Shared<T>(UnsafeCell<T>);
// SAFETY: only the objects' own functions touch it.
unsafe impl<T> Sync for Shared<T> {}

/// Passes a turn to and fro between two threads: time of a round, the best of a few batches. Which cores the threads lie on
/// decides more than the library does, so that both are measured in turn, with new threads, many times.
fn ping_pong(
    lock: impl Fn() + Sync,
    unlock: impl Fn() + Sync,
    wait: impl Fn() + Sync,
    signal: impl Fn() + Sync,
) -> Duration {
    const ROUNDS: u32 = 500;
    let turn = Shared(UnsafeCell::new(0u32));
    let turn = &turn;
    let take_turn = |me: u32| {
        lock();
        // SAFETY: the lock is held.
        while unsafe { *turn.0.get() } != me {
            wait();
        }
        // SAFETY: the lock is held.
        unsafe { *turn.0.get() = 1 - me };
        signal();
        unlock();
    };
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        const BATCHES: u32 = 3;
        scope.spawn(|| {
            for _ in 0..ROUNDS * BATCHES {
                take_turn(1);
            }
        });
        for _ in 0..BATCHES {
            let start = std::time::Instant::now();
            for _ in 0..ROUNDS {
                take_turn(0);
            }
            times.push(start.elapsed() / ROUNDS);
        }
    });
    times.into_iter().min().unwrap_or_default()
}

/// What the library's thread-local data needs when it is loaded late; programs have it from the start.
const TUNABLE: (&str, &str) = ("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=65536");

fn main() {
    if std::env::var_os(TUNABLE.0).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(std::env::args_os().skip(1))
            .env(TUNABLE.0, TUNABLE.1)
            .status()
            .unwrap();
        std::process::exit(status.code().unwrap_or(1));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), vec![7u8; READ]).unwrap();
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RELIC_APP0", folder.path()) };
    // SAFETY: the library's initialisers do nothing before a program starts.
    let library = unsafe { Library::new(runtime_library().unwrap()).unwrap() };
    // The host's library leaves atomic operations out while there is one thread, as in no game.
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
    println!("{:<34} {:>13} {:>13} {:>8}", "", "ours", "glibc", "ratio");

    let (lock, unlock): (OnPlace, OnPlace) = (
        guest(&library, "scePthreadMutexLock"),
        guest(&library, "scePthreadMutexUnlock"),
    );
    let mut ours = 0u64;
    let mut theirs = libc::PTHREAD_MUTEX_INITIALIZER;
    compare(
        "mutex lock + unlock",
        GOAL,
        100,
        // SAFETY: a mutex of ours, by the library's own functions; below, the host's.
        || unsafe {
            lock(&raw mut ours);
            unlock(&raw mut ours);
        },
        // SAFETY: as above.
        || unsafe {
            libc::pthread_mutex_lock(&raw mut theirs);
            libc::pthread_mutex_unlock(&raw mut theirs);
        },
    );

    let (wait, signal): (OnTwo, OnPlace) = (
        guest(&library, "scePthreadCondWait"),
        guest(&library, "scePthreadCondSignal"),
    );
    let (mutex, condition) = (Shared(UnsafeCell::new(0u64)), Shared(UnsafeCell::new(0u64)));
    let (mutex, condition) = (&mutex, &condition);
    let host_mutex = Shared(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
    let host_condition = Shared(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER));
    let (host_mutex, host_condition) = (&host_mutex, &host_condition);
    let ours = || {
        ping_pong(
            // SAFETY: objects that live through the call, by their own functions; so in all of these.
            || assert_eq!(unsafe { lock(mutex.0.get()) }, 0),
            // SAFETY: as above.
            || assert_eq!(unsafe { unlock(mutex.0.get()) }, 0),
            // SAFETY: as above.
            || assert_eq!(unsafe { wait(condition.0.get(), mutex.0.get()) }, 0),
            // SAFETY: as above.
            || assert_eq!(unsafe { signal(condition.0.get()) }, 0),
        )
    };
    let theirs = || {
        ping_pong(
            // SAFETY: as above.
            || assert_eq!(unsafe { libc::pthread_mutex_lock(host_mutex.0.get()) }, 0),
            // SAFETY: as above.
            || assert_eq!(unsafe { libc::pthread_mutex_unlock(host_mutex.0.get()) }, 0),
            || {
                // SAFETY: as above.
                let waited = unsafe { libc::pthread_cond_wait(host_condition.0.get(), host_mutex.0.get()) };
                assert_eq!(waited, 0);
            },
            // SAFETY: as above.
            || assert_eq!(unsafe { libc::pthread_cond_signal(host_condition.0.get()) }, 0),
        )
    };
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        our_times.push(ours());
        their_times.push(theirs());
    }
    let quartile = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 4].as_secs_f64()
    };
    report(
        "condition, to and fro",
        GOAL,
        quartile(&mut our_times),
        quartile(&mut their_times),
    );

    let malloc: unsafe extern "sysv64" fn(usize) -> *mut c_void = guest(&library, "malloc");
    let free: unsafe extern "sysv64" fn(*mut c_void) = guest(&library, "free");
    compare(
        "malloc + free of 64 bytes",
        MALLOC_GOAL,
        100,
        // SAFETY: a block is freed once, by its own library.
        || unsafe { free(std::hint::black_box(malloc(64))) },
        // SAFETY: as above.
        || unsafe { libc::free(std::hint::black_box(libc::malloc(64))) },
    );

    let create: unsafe extern "sysv64" fn(*mut u64, *const i8, u32, i32, i32, u64) -> i32 =
        guest(&library, "sceKernelCreateSema");
    let take: unsafe extern "sysv64" fn(u64, i32, *mut u32) -> i32 = guest(&library, "sceKernelWaitSema");
    let give: unsafe extern "sysv64" fn(u64, i32) -> i32 = guest(&library, "sceKernelSignalSema");
    let mut kernel = 0u64;
    // SAFETY: places of ours.
    let created = unsafe { create(&raw mut kernel, c"bench".as_ptr(), 1, 1, 1, 0) };
    assert_eq!(created, 0);
    let mut host = MaybeUninit::<libc::sem_t>::uninit();
    // SAFETY: a place of ours.
    unsafe { libc::sem_init(host.as_mut_ptr(), 0, 1) };
    let host = host.as_mut_ptr();
    // SAFETY: semaphores that exist.
    let theirs = || unsafe {
        libc::sem_wait(host);
        libc::sem_post(host);
    };
    compare(
        "kernel semaphore, wait + signal",
        GOAL,
        100,
        // SAFETY: as above.
        || unsafe {
            take(kernel, 1, ptr::null_mut());
            give(kernel, 1);
        },
        theirs,
    );
    let init: unsafe extern "sysv64" fn(*mut u64, i32, u32) -> i32 = guest(&library, "sem_init");
    let (sem_wait, sem_post): (OnPlace, OnPlace) = (guest(&library, "sem_wait"), guest(&library, "sem_post"));
    let mut posix = 0u64;
    // SAFETY: a place of ours.
    unsafe { init(&raw mut posix, 0, 1) };
    compare(
        "POSIX semaphore, wait + post",
        GOAL,
        100,
        // SAFETY: as above.
        || unsafe {
            sem_wait(&raw mut posix);
            sem_post(&raw mut posix);
        },
        theirs,
    );

    let open: unsafe extern "sysv64" fn(*const i8, i32, u32) -> i32 = guest(&library, "sceKernelOpen");
    let read: unsafe extern "sysv64" fn(i32, *mut u8, u64) -> i64 = guest(&library, "sceKernelRead");
    let seek: unsafe extern "sysv64" fn(i32, i64, i32) -> i64 = guest(&library, "sceKernelLseek");
    let mut buffer = vec![0u8; READ];
    let buffer = buffer.as_mut_ptr();
    // SAFETY: strings of ours.
    let (guest_file, host_file) = unsafe {
        let path = std::ffi::CString::new(folder.path().join("file").to_str().unwrap()).unwrap();
        (
            open(c"/app0/file".as_ptr(), 0, 0),
            libc::open(path.as_ptr(), libc::O_RDONLY),
        )
    };
    compare(
        "sceKernelRead of 64 KiB, with a seek",
        GOAL,
        1,
        // SAFETY: open files, and a buffer of that size.
        || unsafe {
            seek(guest_file, 0, 0);
            assert_eq!(read(guest_file, buffer, READ as u64), READ as i64);
        },
        // SAFETY: as above.
        || unsafe {
            libc::lseek(host_file, 0, 0);
            assert_eq!(libc::read(host_file, buffer.cast(), READ), READ as isize);
        },
    );
}
