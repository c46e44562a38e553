//! Clocks and sleep.

use std::{
    arch::x86_64::_rdtsc,
    sync::OnceLock,
    time::{Duration, Instant},
};

use relic_macros::guest_fn;

use crate::{
    libkernel::thread::wait::{self, Deadline, Stop},
    pointer::{In, Out},
    process,
    result::{Errno, PosixResult, SceResult},
};

/// `struct timespec`: seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

/// `struct timeval`: seconds and microseconds.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Timeval {
    seconds: i64,
    microseconds: i64,
}

impl Timespec {
    /// As a duration.
    pub(crate) fn duration(self) -> Result<Duration, Errno> {
        match (u64::try_from(self.seconds), u32::try_from(self.nanoseconds)) {
            (Ok(seconds), Ok(nanoseconds)) if nanoseconds < 1_000_000_000 => {
                Ok(Duration::new(seconds, nanoseconds))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// How long it is until this time of the wall clock; zero once it has passed.
    pub(crate) fn left(self) -> Result<Duration, Errno> {
        let until = self.duration()?;
        Ok(until.saturating_sub(read_clock(libc::CLOCK_REALTIME)?.duration()?))
    }
}

/// How long it is until a time of a clock, by FreeBSD's number; zero once it has passed.
pub(crate) fn left_on_clock(clock: u32, time: Timespec) -> Result<Duration, Errno> {
    let until = time.duration()?;
    Ok(until.saturating_sub(read_clock(host_clock(clock)?)?.duration()?))
}

/// Sleeps. A cancellation point: ECANCELED where the thread is to end.
fn sleep_well(duration: Duration) -> Result<(), Errno> {
    if duration.is_zero() {
        // Programs wait for others in this way.
        std::thread::yield_now();
    }
    let deadline = Deadline::after(duration);
    match wait::sleep_until(deadline, true, || None::<()>, || None) {
        Err(Stop::Cancelled) => Err(Errno::ECANCELED),
        _ => Ok(()),
    }
}

impl From<Duration> for Timespec {
    fn from(duration: Duration) -> Self {
        Self {
            seconds: duration.as_secs().cast_signed(),
            nanoseconds: i64::from(duration.subsec_nanos()),
        }
    }
}

fn read_clock(clock: libc::clockid_t) -> Result<Timespec, Errno> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for one timespec.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(Errno::EINVAL);
    }
    Ok(Timespec {
        seconds: time.tv_sec,
        nanoseconds: time.tv_nsec,
    })
}

/// The host's clock for one of FreeBSD's ids.
fn host_clock(id: u32) -> Result<libc::clockid_t, Errno> {
    match id {
        // REALTIME, its precise and fast forms, and SECOND.
        0 | 9 | 10 | 13 => Ok(libc::CLOCK_REALTIME),
        // VIRTUAL, PROF and PROCTIME: CPU time of the process.
        1 | 2 | 15 => Ok(libc::CLOCK_PROCESS_CPUTIME_ID),
        // MONOTONIC and UPTIME, with their precise and fast forms.
        4 | 5 | 7 | 8 | 11 | 12 => Ok(libc::CLOCK_MONOTONIC),
        14 => Ok(libc::CLOCK_THREAD_CPUTIME_ID),
        _ => Err(Errno::EINVAL),
    }
}

fn clock_time(id: u32, out: Out<Timespec>) -> Result<(), Errno> {
    let time = read_clock(host_clock(id)?)?;
    out.write(time).then_some(()).ok_or(Errno::EFAULT)
}

/// Time of a clock, by FreeBSD's clock ids.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelClockGettime(id: u32, out: Out<Timespec>) -> SceResult {
    clock_time(id, out).into()
}

/// Time of a clock, by FreeBSD's clock ids.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn clock_gettime(id: u32, out: Out<Timespec>) -> PosixResult {
    clock_time(id, out).into()
}

/// Wall clock time.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGettimeofday(out: Out<Timeval>) -> SceResult {
    time_of_day(out).into()
}

/// Wall clock time. The time zone is not stored: it has been obsolete since before the console.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn gettimeofday(out: Out<Timeval>, _zone: Out<u64>) -> PosixResult {
    time_of_day(out).into()
}

fn time_of_day(out: Out<Timeval>) -> Result<(), Errno> {
    let time = read_clock(libc::CLOCK_REALTIME)?;
    out.write(Timeval {
        seconds: time.seconds,
        microseconds: time.nanoseconds / 1000,
    })
    .then_some(())
    .ok_or(Errno::EFAULT)
}

cancellable! {
    /// Sleeps. A cancellation point.
    (libkernel) sceKernelUsleep(microseconds: u32) -> SceResult {
        sleep_well(Duration::from_micros(u64::from(microseconds)))
    }
    /// Sleeps. A cancellation point.
    (libkernel, libScePosix) usleep(microseconds: u32) -> PosixResult {
        sleep_well(Duration::from_micros(u64::from(microseconds)))
    }
    /// Sleeps whole seconds. A cancellation point.
    (libkernel) sceKernelSleep(seconds: u32) -> SceResult {
        sleep_well(Duration::from_secs(u64::from(seconds)))
    }
    /// Sleeps whole seconds. Returns what is left, which is nothing: no signal ends it early. A cancellation point.
    (libkernel, libScePosix) sleep(seconds: u32) -> PosixResult {
        sleep_well(Duration::from_secs(u64::from(seconds)))
    }
    /// Sleeps for a timespec. A cancellation point.
    (libkernel) sceKernelNanosleep(request: In<Timespec>, left: Out<Timespec>) -> SceResult {
        sleep_for(request, left)
    }
    /// Sleeps for a timespec. A cancellation point.
    (libkernel, libScePosix) nanosleep(request: In<Timespec>, left: Out<Timespec>) -> PosixResult {
        sleep_for(request, left)
    }
}

fn sleep_for(request: In<Timespec>, left: Out<Timespec>) -> Result<(), Errno> {
    let duration = request.read().ok_or(Errno::EFAULT)?.duration()?;
    sleep_well(duration)?;
    left.write(Timespec {
        seconds: 0,
        nanoseconds: 0,
    });
    Ok(())
}

/// Microseconds since the process started.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetProcessTime() -> u64 {
    process::started().elapsed().as_micros() as u64
}

/// Ticks since the process started, at the rate of `sceKernelGetProcessTimeCounterFrequency`.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetProcessTimeCounter() -> u64 {
    process::started().elapsed().as_nanos() as u64
}

/// Ticks a second of the process time counter.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetProcessTimeCounterFrequency() -> u64 {
    1_000_000_000
}

/// The CPU's time stamp counter.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelReadTsc() -> u64 {
    // SAFETY: every x86-64 CPU has it.
    unsafe { _rdtsc() }
}

/// Ticks a second of the time stamp counter, measured once over ten milliseconds.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetTscFrequency() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let (from, ticks) = (Instant::now(), sceKernelReadTsc());
        std::thread::sleep(Duration::from_millis(10));
        let (elapsed, ticks) = (from.elapsed(), sceKernelReadTsc().wrapping_sub(ticks));
        (u128::from(ticks) * 1_000_000_000 / elapsed.as_nanos().max(1)) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance_and_unknown_ids_are_refused() {
        let mut time = Timespec {
            seconds: 0,
            nanoseconds: 0,
        };
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(&raw mut time) };
        assert_eq!(sceKernelClockGettime(4, out), SceResult::OK);
        let before = out.read().unwrap();
        assert_eq!(sceKernelUsleep(2000), SceResult::OK);
        assert_eq!(sceKernelClockGettime(4, out), SceResult::OK);
        let passed = out.read().unwrap().duration().unwrap() - before.duration().unwrap();
        assert!(passed >= Duration::from_millis(2), "{passed:?}");
        assert_eq!(sceKernelClockGettime(77, out), SceResult::code(0x8002_0016));
        assert_eq!(clock_gettime(77, out), PosixResult(-1));
        // SAFETY: the thread's own number.
        assert_eq!(unsafe { *crate::result::errno_address() }, 22);
    }

    #[test]
    fn the_tsc_runs_at_its_frequency() {
        let frequency = sceKernelGetTscFrequency();
        let (from, ticks) = (Instant::now(), sceKernelReadTsc());
        std::thread::sleep(Duration::from_millis(30));
        let measured = (sceKernelReadTsc() - ticks) as f64 / from.elapsed().as_secs_f64();
        assert!(
            (measured / frequency as f64 - 1.0).abs() < 0.05,
            "{measured} {frequency}"
        );
    }
}
