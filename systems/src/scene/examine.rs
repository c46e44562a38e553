//! Looks into scenes without a GPU: what they hold, whether they hold together, and where two part ways. And makes them
//! smaller, with a GPU that is the CPU.

use std::collections::{BTreeMap, BTreeSet};

use relic_core::{GuestAddress, GuestRange, MemoryReader, QueueId, RangeSet};
use relic_schedules::PacketTable;
use relic_vulkan::vk;
use smallvec::SmallVec;

use super::{
    memory::SceneMemory,
    player::{PlayError, PlayOptions, play},
    script::{Event, PAGE, Scene, SceneSubmission},
};
use crate::decode::walk::packet_words;

/// What a scene holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Regions of guest memory, in the order they come into being.
    pub regions: Vec<GuestRange>,
    /// Different pages that are written whole.
    pub pages: usize,
    /// Bytes that are written, pages included.
    pub written: u64,
    /// Shaders that are registered.
    pub shaders: usize,
    /// Buffers and images that are compared.
    pub expectations: usize,
    /// Work up to each end of a frame; the last may have no end.
    pub frames: Vec<FrameWork>,
    /// How often each packet occurs in submitted buffers (not in those that they call), by name.
    pub packets: BTreeMap<String, u64>,
}

/// What is submitted for one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameWork {
    /// The frame's number. `None` for what comes behind the last.
    pub number: Option<u32>,
    /// Submissions of each queue.
    pub submissions: BTreeMap<QueueId, u64>,
    /// Words of their buffers.
    pub words: u64,
    /// Bytes that the CPU writes.
    pub written: u64,
}

/// Something wrong with a scene.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {event}: {reason}")]
pub struct Flaw {
    /// Index of the event.
    pub event: usize,
    /// What is wrong.
    pub reason: String,
}

/// Goes through a scene's script. What is wrong is told, and the rest still examined.
#[must_use]
pub fn inspect(scene: &Scene, table: &PacketTable) -> (Inspection, Vec<Flaw>) {
    let mut memory = SceneMemory::new(scene);
    let mut found = Inspection {
        pages: scene.pages.len(),
        ..Inspection::default()
    };
    let mut flaws = Vec::new();
    let mut frame = FrameWork::default();
    for (at, event) in scene.events.iter().enumerate() {
        if let Err(reason) = memory.apply(scene, event) {
            flaws.push(Flaw { event: at, reason });
        }
        match event {
            Event::Region { range, .. } => found.regions.push(*range),
            Event::Write { bytes, .. } => frame.written += bytes.len() as u64,
            Event::Pages { pages, .. } => frame.written += (pages.len() * PAGE) as u64,
            Event::Shader { .. } => found.shaders += 1,
            Event::Submit(submission) => {
                *frame.submissions.entry(submission.queue).or_default() += 1;
                for reason in packets(&memory, submission, table, &mut |name, _| {
                    *found.packets.entry(name.to_owned()).or_default() += 1;
                }) {
                    flaws.push(Flaw { event: at, reason });
                }
                let words = submission.buffers.iter().map(|(_, words)| u64::from(*words));
                frame.words += words.sum::<u64>();
            }
            Event::Frame(number) => {
                frame.number = Some(*number);
                found.written += frame.written;
                found.frames.push(std::mem::take(&mut frame));
            }
            Event::ExpectBuffer { address, bytes, .. } => {
                found.expectations += 1;
                let range = GuestRange::new(memory.address(*address), bytes.len() as u64);
                if !memory.memory().reader().is_mapped(range) {
                    flaws.push(Flaw {
                        event: at,
                        reason: format!("{range} is compared, and is not mapped"),
                    });
                }
            }
            Event::ExpectImage(_) => found.expectations += 1,
            _ => {}
        }
    }
    found.written += frame.written;
    if frame != FrameWork::default() {
        found.frames.push(frame);
    }
    (found, flaws)
}

/// Packets of a submission's buffers, told by name and words. Gives what can't be walked.
fn packets(
    memory: &SceneMemory,
    submission: &SceneSubmission,
    table: &PacketTable,
    each: &mut dyn FnMut(&str, &[u32]),
) -> Vec<String> {
    let reader = memory.memory().reader();
    let mut wrong = Vec::new();
    for (address, words) in &submission.buffers {
        let mut buffer = vec![0; *words as usize];
        let address = memory.address(*address);
        if let Err(error) = read_words(&reader, address, &mut buffer) {
            wrong.push(format!("the command buffer at {address} can't be read: {error}"));
            continue;
        }
        let mut at = 0;
        while let Some(&header) = buffer.get(at) {
            let size = packet_words(header);
            let Some(packet) = buffer.get(at..at + size) else {
                wrong.push(format!(
                    "the packet {header:#010x} at {address} + {:#x} goes beyond its buffer",
                    4 * at
                ));
                break;
            };
            if header >> 30 == 3 {
                each(&packet_name(table, packet), packet);
            }
            at += size;
        }
    }
    wrong
}

fn packet_name(table: &PacketTable, packet: &[u32]) -> String {
    match table.find(packet[0], packet.get(1).copied()) {
        Some(id) => table.entry(id).name.to_owned(),
        None => format!("opcode {:#04x}, which no plug-in executes", packet[0] >> 8 & 0xFF),
    }
}

fn read_words(reader: &MemoryReader, address: GuestAddress, words: &mut [u32]) -> Result<(), String> {
    // Before all of it is read: the size is the file's.
    let range = GuestRange::new(address, 4 * words.len() as u64);
    if !reader.is_mapped(range) {
        return Err(format!("{range} is not mapped"));
    }
    reader
        .read_words(address, words)
        .map_err(|error| error.to_string())
}

/// Where two scenes part ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// One line each.
    pub lines: Vec<String>,
}

/// Lines of one kind that are told.
const LINES: usize = 8;

/// Compares two scenes: header, regions, then submission by submission packets and memory, then expectations.
#[must_use]
pub fn diff(a: &Scene, b: &Scene, table: &PacketTable) -> Difference {
    let mut lines = Vec::new();
    for (what, a, b) in [
        ("chip", a.chip.to_string(), b.chip.to_string()),
        ("NGG", a.ngg.to_string(), b.ngg.to_string()),
    ] {
        if a != b {
            lines.push(format!("{what}: {a} and {b}"));
        }
    }
    let keys: BTreeSet<&str> = [a, b]
        .iter()
        .flat_map(|scene| scene.meta.iter().map(|(key, _)| key.as_str()))
        .collect();
    for key in keys {
        let (a, b) = (a.meta(key), b.meta(key));
        if a != b {
            lines.push(format!("meta {key}: {} and {}", text(a), text(b)));
        }
    }
    let (mut left, mut right) = (Steps::new(a), Steps::new(b));
    for number in 1.. {
        let (Some(one), Some(other)) = (left.next_submission(), right.next_submission()) else {
            let (one, other) = (left.count_all(), right.count_all());
            if one != other {
                lines.push(format!("submissions: {one} and {other}"));
            }
            break;
        };
        let before = lines.len();
        if one.queue != other.queue {
            lines.push(format!(
                "submission {number}: to the {} queue and to the {} queue",
                one.queue, other.queue
            ));
        }
        let name = |steps: &Steps<'_>, submission: &SceneSubmission| {
            let mut all = Vec::new();
            packets(&steps.memory, submission, table, &mut |name, words| {
                all.push((name.to_owned(), words.to_vec()));
            });
            all
        };
        let (one, other) = (name(&left, one), name(&right, other));
        if let Some(at) = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at)) {
            let show = |packet: Option<&(String, Vec<u32>)>| {
                packet.map_or("nothing".to_owned(), |(name, words)| {
                    let first = &words[..words.len().min(8)];
                    format!("{name} {first:08x?} ({} words)", words.len())
                })
            };
            lines.push(format!(
                "submission {number}, packet {at}: {} and {}",
                show(one.get(at)),
                show(other.get(at))
            ));
        }
        lines.extend(memory_difference(&left.memory, &right.memory, number));
        // What follows from it would hide it.
        if lines.len() - before > 0 && lines.len() > LINES {
            lines.push("and more, behind that".to_owned());
            break;
        }
    }
    let expectations = |scene: &Scene| -> Vec<Event> {
        let events = scene.events.iter();
        let compared =
            events.filter(|event| matches!(event, Event::ExpectBuffer { .. } | Event::ExpectImage(_)));
        compared.cloned().collect()
    };
    let (one, other) = (expectations(a), expectations(b));
    if one.len() != other.len() {
        lines.push(format!("expectations: {} and {}", one.len(), other.len()));
    }
    for (at, _) in one
        .iter()
        .zip(&other)
        .enumerate()
        .filter(|(_, (a, b))| a != b)
        .take(LINES)
    {
        lines.push(format!("expectation {at} differs"));
    }
    Difference { lines }
}

fn text(value: Option<&str>) -> String {
    value.map_or("none".to_owned(), |value| format!("{value:?}"))
}

/// The first pages that two memories do not have in common.
fn memory_difference(a: &SceneMemory, b: &SceneMemory, number: u32) -> Vec<String> {
    let (a, b) = (a.memory().reader(), b.memory().reader());
    let ranges = |reader: &MemoryReader| -> RangeSet {
        reader
            .regions()
            .iter()
            .map(relic_core::memory::Region::range)
            .collect()
    };
    let (one, other) = (ranges(&a), ranges(&b));
    let mut lines = Vec::new();
    if one != other {
        lines.push(format!("submission {number}: other memory is mapped"));
    }
    let mut bytes = [[0; PAGE]; 2];
    for region in a.regions() {
        for at in (region.range().start().0..region.range().end().0).step_by(PAGE) {
            let at = GuestAddress(at);
            let [left, right] = &mut bytes;
            if a.read_bytes(at, left).is_err() || b.read_bytes(at, right).is_err() {
                continue;
            }
            if let Some(byte) = left.iter().zip(&*right).position(|(a, b)| a != b) {
                lines.push(format!(
                    "submission {number}: memory from {:#x} on, {:#04x} and {:#04x}",
                    at.0 + byte as u64,
                    left[byte],
                    right[byte]
                ));
                if lines.len() == LINES {
                    return lines;
                }
            }
        }
    }
    lines
}

/// A scene's script, played as far as memory goes.
struct Steps<'a> {
    scene: &'a Scene,
    memory: SceneMemory,
    next: usize,
    submissions: usize,
}

impl<'a> Steps<'a> {
    fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            memory: SceneMemory::new(scene),
            next: 0,
            submissions: 0,
        }
    }

    /// The next submission, with memory as it finds it.
    fn next_submission(&mut self) -> Option<&'a SceneSubmission> {
        loop {
            let event = self.scene.events.get(self.next)?;
            self.next += 1;
            if let Event::Submit(submission) = event {
                self.submissions += 1;
                return Some(submission);
            }
            // A flaw: `inspect` tells.
            let _ = self.memory.apply(self.scene, event);
        }
    }

    fn count_all(&mut self) -> usize {
        while self.next_submission().is_some() {}
        self.submissions
    }
}

/// Why a scene can't be made smaller.
#[derive(Debug, thiserror::Error)]
pub enum MinimiseError {
    /// It can't be played.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// It does not pass as it is.
    #[error(
        "the scene does not pass as it is, so nobody could tell whether a smaller one is as good: see `relic replay`"
    )]
    Fails,
    /// The device reads memory past the CPU's page tables.
    #[error(
        "{device} reads memory by itself, and only a GPU that is the CPU shows what is read: try --gpu llvmpipe"
    )]
    Device {
        /// The device.
        device: String,
    },
    /// The smaller scene gives something else.
    #[error("internal: without what was not used the scene gives another result, so it stays as it is")]
    Differs,
}

/// A scene without the memory that playing it never uses. It was played, and passes.
///
/// # Errors
/// [`MinimiseError`].
pub fn minimise(scene: &Scene, options: &PlayOptions<'_>) -> Result<Scene, MinimiseError> {
    let device = options.device.report();
    if device.kind != vk::PhysicalDeviceType::CPU {
        return Err(MinimiseError::Device {
            device: device.name.clone(),
        });
    }
    let traced = PlayOptions {
        config: crate::config::Config {
            writes: crate::config::WriteTracking::Compared,
            capture: None,
            ..options.config.clone()
        },
        device: options.device.clone(),
        trace_memory: true,
        loops: 0,
        ..*options
    };
    let report = play(scene, &traced)?;
    if !report.passes() {
        return Err(MinimiseError::Fails);
    }
    let used: RangeSet = report.touched.iter().copied().collect();
    let small = keep(scene, &used);
    let again = PlayOptions {
        config: traced.config.clone(),
        device: options.device.clone(),
        trace_memory: false,
        ..traced
    };
    let second = play(&small, &again)?;
    let results = |report: &super::PlayReport| -> Vec<_> {
        let outcomes = report.outcomes.iter();
        outcomes.map(|outcome| outcome.result.clone()).collect()
    };
    if second.passes() && results(&report) == results(&second) {
        Ok(small)
    } else {
        Err(MinimiseError::Differs)
    }
}

/// The scene with only those writes that meet `used`, and the pages they need.
fn keep(scene: &Scene, used: &RangeSet) -> Scene {
    let mut numbers = BTreeMap::new();
    let mut pages = Vec::new();
    let mut events = Vec::new();
    let at_home = |address: GuestAddress| GuestAddress(address.0 & scene.address_mask);
    for event in &scene.events {
        match event {
            Event::Write { address, bytes } => {
                let range = GuestRange::new(at_home(*address), bytes.len() as u64);
                if used.overlaps(range) {
                    events.push(event.clone());
                }
            }
            Event::Pages {
                address,
                pages: written,
            } => {
                let mut runs: SmallVec<[(u64, Vec<u32>); 4]> = SmallVec::new();
                for (at, page) in written.iter().enumerate() {
                    let start = address.0 + (at * PAGE) as u64;
                    if !used.overlaps(GuestRange::new(at_home(GuestAddress(start)), PAGE as u64)) {
                        continue;
                    }
                    let number = *numbers.entry(*page).or_insert_with(|| {
                        pages.extend(scene.pages.get(*page as usize).cloned());
                        (pages.len() - 1) as u32
                    });
                    match runs.last_mut() {
                        Some((first, run)) if *first + (run.len() * PAGE) as u64 == start => run.push(number),
                        _ => runs.push((start, vec![number])),
                    }
                }
                events.extend(runs.into_iter().map(|(start, pages)| Event::Pages {
                    address: GuestAddress(start),
                    pages,
                }));
            }
            other => events.push(other.clone()),
        }
    }
    Scene {
        pages,
        events,
        meta: scene.meta.clone(),
        ..*scene
    }
}
