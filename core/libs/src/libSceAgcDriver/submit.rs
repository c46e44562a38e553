//! Submissions.

use std::sync::{Mutex, PoisonError};

use relic_components::{
    message::{CommandBuffer, Message, Submission},
    video::{FlipRequest, VideoHandle},
};
use relic_core::{GuestAddress, GuestRange, MemoryReader, QueueId, SubmissionId};
use relic_macros::guest_fn;
use smallvec::SmallVec;

use crate::{
    libSceAgc::packet::{self, FLIP_HEADER},
    libSceVideoOut, log,
    pointer::In,
    process,
    result::SceResult,
    runtime,
};

/// What a submission points at: 16 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    address: u64,
    words: u32,
    reserved: u32,
}

/// Why a submission is refused.
#[derive(Clone, Debug, thiserror::Error)]
enum SubmitError {
    #[error("the descriptor is null")]
    NoDescriptor,
    #[error("{count} command buffers; there must be 1 to 4095")]
    Count { count: u32 },
    #[error("command buffer {address} has {words} words; there must be 1 to 1048575")]
    Size { address: GuestAddress, words: u32 },
    #[error("command buffer {address} is not a multiple of 4")]
    Alignment { address: GuestAddress },
    #[error("command buffer {range} is not mapped")]
    Unmapped { range: GuestRange },
    #[error("{queue:#x} is no compute queue: those are 0x20 + 8 * pipe + queue")]
    NotCompute { queue: u32 },
    #[error("the flip of buffer {buffer} is refused with {code:#x}")]
    Flip { buffer: i32, code: u32 },
    #[error("the runtime takes no more work")]
    NoRuntime,
}

impl From<SubmitError> for SceResult {
    fn from(error: SubmitError) -> Self {
        log::warn(format_args!("libSceAgcDriver: submission refused: {error}"));
        match error {
            // The library's own code for invalid arguments.
            SubmitError::NoRuntime => Self::code(0x8a6d_0003),
            _ => Self::code(0x8a6c_000a),
        }
    }
}

/// Most words of one command buffer: the packet that starts it has 20 bits for them.
const WORD_LIMIT: u32 = 0xf_ffff;
/// Most command buffers of one submission.
const BUFFER_LIMIT: u32 = 0xfff;

/// Numbers submissions, and keeps number, flip reservation and inbox in one order.
static NEXT: Mutex<u64> = Mutex::new(1);

fn submit(queue: QueueId, descriptors: &[Descriptor]) -> Result<(), SubmitError> {
    let reader = process::memory().reader();
    let mut buffers: SmallVec<[CommandBuffer; 4]> = SmallVec::new();
    let mut flips = Vec::new();
    for descriptor in descriptors {
        let address = GuestAddress(descriptor.address);
        let words = descriptor.words;
        if words == 0 || words > WORD_LIMIT {
            return Err(SubmitError::Size { address, words });
        }
        if !address.is_aligned(4) {
            return Err(SubmitError::Alignment { address });
        }
        let range = GuestRange::new(address, 4 * u64::from(words));
        if !reader.is_mapped(range) {
            return Err(SubmitError::Unmapped { range });
        }
        if queue.is_graphics() {
            collect_flips(&reader, address, words, 0, &mut flips);
        }
        buffers.push(CommandBuffer { address, words });
    }
    drop(reader);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    for (index, flip) in flips.iter().enumerate() {
        if let Err(error) = libSceVideoOut::reserve_for_queue(*flip) {
            flips[..index].iter().copied().for_each(libSceVideoOut::cancel);
            return Err(SubmitError::Flip {
                buffer: flip.buffer,
                code: error as u32,
            });
        }
    }
    let submission = Submission {
        id: SubmissionId(*next),
        queue,
        buffers,
    };
    if !runtime::send(Message::Submit(submission)) {
        flips.iter().copied().for_each(libSceVideoOut::cancel);
        return Err(SubmitError::NoRuntime);
    }
    *next += 1;
    Ok(())
}

/// Deepest nesting of command buffers that is searched.
const DEPTH_LIMIT: u32 = 8;

/// Finds the flips in a command buffer, in their order. What can't be walked ends the search: the runtime refuses it
/// with all particulars when it gets there.
fn collect_flips(
    reader: &MemoryReader,
    address: GuestAddress,
    count: u32,
    depth: u32,
    flips: &mut Vec<FlipRequest>,
) {
    let mut words = vec![0; count as usize];
    if depth > DEPTH_LIMIT || reader.read_words(address, &mut words).is_err() {
        return;
    }
    let mut at = 0;
    while at < words.len() {
        let header = words[at];
        let Some(length) = packet::length(header).filter(|length| at + length <= words.len()) else {
            return;
        };
        let body = &words[at + 1..at + length];
        match (header, body) {
            (FLIP_HEADER, &[handle, buffer, mode, low, high]) => flips.push(FlipRequest {
                handle: VideoHandle(handle.cast_signed()),
                buffer: buffer.cast_signed(),
                mode,
                argument: (u64::from(low) | u64::from(high) << 32).cast_signed(),
            }),
            (_, &[low, high, control]) if packet::opcode(header) == packet::INDIRECT_BUFFER => {
                let target = GuestAddress(u64::from(low & !3) | u64::from(high & 0xffff) << 32);
                collect_flips(reader, target, control & WORD_LIMIT, depth + 1, flips);
            }
            _ => {}
        }
        at += length;
    }
}

/// Submits one command buffer to the graphics queue.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverSubmitDcb(descriptor: In<Descriptor>) -> SceResult {
    descriptor
        .read()
        .ok_or(SubmitError::NoDescriptor)
        .and_then(|descriptor| submit(QueueId::GRAPHICS, &[descriptor]))
        .into()
}

/// Submits one command buffer to a compute queue.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverSubmitAcb(queue: u32, descriptor: In<Descriptor>) -> SceResult {
    let body = || {
        if !(0x20..0x60).contains(&queue) {
            return Err(SubmitError::NotCompute { queue });
        }
        let descriptor = descriptor.read().ok_or(SubmitError::NoDescriptor)?;
        submit(QueueId(queue), &[descriptor])
    };
    body().into()
}

/// Submits several command buffers to the graphics queue as one submission.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverSubmitMultiDcbs(
    addresses: In<u64>,
    sizes: In<u32>,
    count: u32,
) -> SceResult {
    let body = || {
        if count == 0 || count > BUFFER_LIMIT {
            return Err(SubmitError::Count { count });
        }
        let (Some(addresses), Some(sizes)) = (
            addresses.read_many(count as usize),
            sizes.read_many(count as usize),
        ) else {
            return Err(SubmitError::NoDescriptor);
        };
        let descriptors: Vec<Descriptor> = addresses
            .into_iter()
            .zip(sizes)
            .map(|(address, words)| Descriptor {
                address,
                words,
                reserved: 0,
            })
            .collect();
        submit(QueueId::GRAPHICS, &descriptors)
    };
    body().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use relic_core::GuestMemory;

    #[test]
    fn flips_are_found_through_nested_buffers_and_skipped_bodies() {
        let flip = |argument: u32| [FLIP_HEADER, 1, 0, 1, argument, 0];
        let mut outer: Vec<u32> = flip(1).to_vec();
        // A write whose data looks like a flip.
        outer.extend([packet::header(0x37, 10), 0, 0, 0]);
        outer.extend(flip(99));
        outer.push(0x8000_0000);
        outer.extend([
            packet::header(packet::INDIRECT_BUFFER, 4),
            0x2000,
            0,
            0x0f20_0000 | 6,
        ]);
        outer.extend(flip(3));
        let mut inner = flip(2);
        let memory = GuestMemory::new();
        for (address, words) in [(0x1000, &mut outer[..]), (0x2000, &mut inner[..])] {
            let range = GuestRange::new(GuestAddress(address), 4 * words.len() as u64);
            // SAFETY: the vectors outlive the table, and nothing else uses them.
            let mapped = unsafe { memory.map(range, words.as_mut_ptr().cast(), true, "words") };
            mapped.unwrap();
        }
        let mut flips = Vec::new();
        let reader = memory.reader();
        collect_flips(&reader, GuestAddress(0x1000), outer.len() as u32, 0, &mut flips);
        let found: Vec<i64> = flips.iter().map(|flip| flip.argument).collect();
        assert_eq!(found, [1, 2, 3]);
    }

    #[test]
    fn bad_submissions_are_refused_before_the_runtime_sees_them() {
        let refused = SceResult::code(0x8a6c_000a);
        let submit = |address, words| {
            let descriptor = Descriptor {
                address,
                words,
                reserved: 0,
            };
            // SAFETY: a place of ours.
            sceAgcDriverSubmitDcb(unsafe { In::new(&raw const descriptor) })
        };
        assert_eq!(submit(0x7700_0000_0000, 4), refused, "not mapped");
        assert_eq!(submit(0x7700_0000_0002, 4), refused, "not aligned");
        assert_eq!(submit(0x7700_0000_0000, 0), refused, "empty");
        // SAFETY: null.
        let nothing = unsafe { In::new(std::ptr::null()) };
        assert_eq!(sceAgcDriverSubmitDcb(nothing), refused);
        assert_eq!(sceAgcDriverSubmitAcb(3, nothing), refused, "no compute queue");
    }
}
