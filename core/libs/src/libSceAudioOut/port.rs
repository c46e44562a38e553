//! Ports.

use std::{
    env,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use relic_macros::guest_fn;

use super::{
    AudioError,
    format::Format,
    pace::Pace,
    wave::{self, Wave},
};
use crate::{
    libkernel::time::sceKernelGetProcessTime,
    log,
    pointer::{In, Out},
    result::SceResult,
};

/// Samples a second.
const RATE: u32 = 48_000;
/// Grains are multiples of this many samples, up to eight.
const GRAIN: u32 = 256;
const PORTS: usize = 25;
/// The volume that changes nothing.
const FULL: i32 = 32_768;
/// Names the file that the first port's sound goes to.
const WAVE: &str = "RELIC_WAVE";

/// Kinds of ports: main, background music, voice, a user's own, controller's speaker, by object, auxiliary.
const KINDS: [i32; 7] = [0, 1, 2, 3, PAD_SPEAKER, 126, 127];
const PAD_SPEAKER: i32 = 4;

#[derive(Debug)]
struct State {
    pace: Pace,
    volumes: [i32; 8],
    /// Microseconds of the process when the last grain was pushed.
    last: u64,
    wave: Option<Wave>,
}

#[derive(Debug)]
struct Port {
    kind: i32,
    samples: u32,
    format: Format,
    state: Mutex<State>,
    /// One pushes at a time, and waits with it.
    pushing: Mutex<()>,
}

impl Port {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Library {
    ports: [Option<Arc<Port>>; PORTS],
    /// How many were ever opened.
    opened: usize,
}

static LIBRARY: Mutex<Option<Library>> = Mutex::new(None);

fn with_library<T>(body: impl FnOnce(&mut Library) -> Result<T, AudioError>) -> Result<T, AudioError> {
    let mut library = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
    body(library.as_mut().ok_or(AudioError::NotInitialized)?)
}

/// Handles are places of the list, from 1.
fn place(handle: i32) -> Result<usize, AudioError> {
    let place = usize::try_from(handle)
        .ok()
        .and_then(|handle| handle.checked_sub(1));
    place
        .filter(|place| *place < PORTS)
        .ok_or(AudioError::InvalidPort)
}

fn find(handle: i32) -> Result<Arc<Port>, AudioError> {
    with_library(|library| library.ports[place(handle)?].clone().ok_or(AudioError::NotOpened))
}

fn number(result: Result<i32, AudioError>) -> SceResult {
    result.map_or_else(SceResult::from, SceResult)
}

/// Starts the library.
#[guest_fn(libSceAudioOut)]
pub(crate) extern "sysv64" fn sceAudioOutInit() -> SceResult {
    let mut library = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
    if library.is_some() {
        return AudioError::AlreadyInitialized.into();
    }
    *library = Some(Library::default());
    SceResult::OK
}

fn open_wave(opened: usize, format: Format) -> Result<Option<Wave>, AudioError> {
    let Some(path) = env::var_os(WAVE).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let path = wave::path_of(Path::new(&path), opened);
    Wave::create(&path, format, RATE).map(Some).map_err(|error| {
        log::warn(format_args!("{WAVE}: making {}: {error}", path.display()));
        AudioError::SystemResource
    })
}

/// Opens a port for grains of so many samples. Returns its handle.
#[guest_fn(
    libSceAudioOut,
    partial = "no host's sound yet: it goes nowhere, or to the wave file that RELIC_WAVE names"
)]
pub(crate) extern "sysv64" fn sceAudioOutOpen(
    _user: i32,
    kind: i32,
    _index: i32,
    samples: u32,
    rate: u32,
    parameter: u32,
) -> SceResult {
    number(with_library(|library| {
        if !KINDS.contains(&kind) {
            return Err(AudioError::InvalidPortType);
        }
        if samples == 0 || !samples.is_multiple_of(GRAIN) || samples > 8 * GRAIN {
            return Err(AudioError::InvalidSize);
        }
        if rate != RATE {
            return Err(AudioError::InvalidSampleFrequency);
        }
        let format = Format::new(parameter)?;
        let free = library.ports.iter().position(Option::is_none);
        let free = free.ok_or(AudioError::PortFull)?;
        let wave = open_wave(library.opened, format)?;
        library.opened += 1;
        library.ports[free] = Some(Arc::new(Port {
            kind,
            samples,
            format,
            state: Mutex::new(State {
                pace: Pace::new(samples, RATE),
                volumes: [FULL; 8],
                last: 0,
                wave,
            }),
            pushing: Mutex::new(()),
        }));
        Ok(free as i32 + 1)
    }))
}

/// Closes a port. What it still plays is played.
#[guest_fn(libSceAudioOut)]
pub(crate) extern "sysv64" fn sceAudioOutClose(handle: i32) -> SceResult {
    with_library(|library| {
        let port = library.ports[place(handle)?].take();
        port.map(drop).ok_or(AudioError::NotOpened)
    })
    .into()
}

/// Pushes a grain, or nothing. Returns when the caller goes on.
fn push(port: &Port, samples: In<u8>) -> Instant {
    let mut state = port.lock();
    let state = &mut *state;
    if samples.is_null() {
        return state.pace.drained(Instant::now());
    }
    if let Some(wave) = &mut state.wave
        && let Some(mut bytes) = samples.read_many(port.samples as usize * port.format.frame_bytes())
    {
        port.format.scale(&mut bytes, &state.volumes);
        if let Err(error) = wave.append(&bytes) {
            log::warn(format_args!("{WAVE}: the file ends here: {error}"));
            state.wave = None;
        }
    }
    state.last = sceKernelGetProcessTime();
    state.pace.push(Instant::now())
}

fn sleep_until(time: Instant) {
    if let Some(left) = time.checked_duration_since(Instant::now()) {
        std::thread::sleep(left);
    }
}

/// Pushes a grain, and waits until there is room for the next; null waits until all is played. Returns the number of samples.
#[guest_fn(
    libSceAudioOut,
    partial = "that it returns the number of samples is not known for sure"
)]
pub(crate) extern "sysv64" fn sceAudioOutOutput(handle: i32, samples: In<u8>) -> SceResult {
    number(find(handle).map(|port| {
        let _one = port.pushing.lock().unwrap_or_else(PoisonError::into_inner);
        sleep_until(push(&port, samples));
        port.samples as i32
    }))
}

/// A port and its grain.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Output {
    handle: i32,
    samples: In<u8>,
}

/// Pushes a grain into each of several ports, and waits for the slowest. Returns the number of samples of the first.
#[guest_fn(libSceAudioOut)]
pub(crate) extern "sysv64" fn sceAudioOutOutputs(outputs: In<Output>, count: u32) -> SceResult {
    let body = || {
        if !(1..=PORTS as u32).contains(&count) {
            return Err(AudioError::PortFull);
        }
        let outputs = outputs
            .read_many(count as usize)
            .ok_or(AudioError::InvalidPointer)?;
        // None is pushed where one of them can't be.
        let ports: Vec<_> = outputs
            .iter()
            .map(|output| find(output.handle))
            .collect::<Result<_, _>>()?;
        let mut until = Instant::now();
        for (port, output) in ports.iter().zip(&outputs) {
            until = until.max(push(port, output.samples));
        }
        sleep_until(until);
        Ok(ports[0].samples as i32)
    };
    number(body())
}

/// Sets volumes of channels, whose bits are in `channels`: one number for each channel, 32768 changes nothing.
#[guest_fn(libSceAudioOut)]
pub(crate) extern "sysv64" fn sceAudioOutSetVolume(
    handle: i32,
    channels: u32,
    volumes: In<[i32; 8]>,
) -> SceResult {
    let body = || {
        let port = find(handle)?;
        if channels & !0xff != 0 {
            return Err(AudioError::InvalidFlag);
        }
        if volumes.is_null() {
            return Err(AudioError::InvalidPointer);
        }
        let mut state = port.lock();
        let mut new = state.volumes;
        for channel in (0..8).filter(|channel| channels >> channel & 1 != 0) {
            // SAFETY: the title passes as many numbers as its last channel needs.
            let volume = unsafe { In::new(volumes.as_ptr().cast::<i32>().wrapping_add(channel)) };
            let volume = volume.read().ok_or(AudioError::InvalidPointer)?;
            if !(0..=FULL).contains(&volume) {
                return Err(AudioError::InvalidVolume);
            }
            new[channel] = volume;
        }
        state.volumes = new;
        Ok(())
    };
    body().into()
}

/// `SceAudioOutPortState`: 32 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PortState {
    /// Bits: 1 the first output, 4 a controller's speaker.
    output: u16,
    channels: u8,
    reserved: u8,
    /// -1 where it is not adjusted.
    volume: i16,
    reroutes: u16,
    flags: u64,
    reserved_end: [u64; 2],
}

/// Stores where a port's sound goes.
#[guest_fn(
    libSceAudioOut,
    partial = "always the first output, in stereo, or a controller's speaker"
)]
pub(crate) extern "sysv64" fn sceAudioOutGetPortState(handle: i32, out: Out<PortState>) -> SceResult {
    let body = || {
        let port = find(handle)?;
        let is_speaker = port.kind == PAD_SPEAKER;
        let written = out.write(PortState {
            output: if is_speaker { 4 } else { 1 },
            channels: if is_speaker {
                1
            } else {
                port.format.channels.min(2)
            },
            reserved: 0,
            volume: if is_speaker { 127 } else { -1 },
            reroutes: 0,
            flags: 0,
            reserved_end: [0; 2],
        });
        written.then_some(()).ok_or(AudioError::InvalidPointer)
    };
    body().into()
}

/// Stores when a port's last grain was pushed, in microseconds of the process.
#[guest_fn(libSceAudioOut)]
pub(crate) extern "sysv64" fn sceAudioOutGetLastOutputTime(handle: i32, out: Out<u64>) -> SceResult {
    let body = || {
        let last = find(handle)?.lock().last;
        out.write(last).then_some(()).ok_or(AudioError::InvalidPointer)
    };
    body().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_consoles_layouts() {
        assert_eq!(size_of::<PortState>(), 32);
        assert_eq!(size_of::<Output>(), 16);
    }
}
