//! EVENT_WRITE: flushes, partial flushes and counters.

use relic_schedules::{Barrier, DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::at_least;

/// An event that orders work: a full barrier on the host.
pub(super) struct EventWrite;

/// Events that wait for work or write caches back.
const ORDERING: &[u32] = &[
    0x04, 0x07, 0x0F, 0x10, 0x14, 0x16, // cache flushes and partial flushes
    0x28, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, // bottom of pipe, depth and colour flushes
    0x2F, 0x30, 0x31, // stage done, pixel data
];
/// Events that only steer the hardware's own bookkeeping: thread trace, performance counters, statistics
/// start and stop, context rolls.
const BOOKKEEPING: &[u32] = &[
    0x12, 0x13, 0x17, 0x18, 0x19, 0x1A, 0x32, 0x33, 0x34, 0x35, 0x36, 0x38, 0x3A,
];

/// Events that write how many samples have passed.
const OCCLUSION: &[(u32, &str)] = &[(0x15, "ZPASS_DONE"), (0x39, "PIXEL_PIPE_STAT_DUMP")];

impl Packet for EventWrite {
    const NAME: &'static str = "EVENT_WRITE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x46)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let ([control], _address) = at_least(payload)?;
        let event = control & 63;
        if ORDERING.contains(&event) {
            Ok(Decoded::Row(Self))
        } else if BOOKKEEPING.contains(&event) {
            Ok(Decoded::State)
        } else if let Some((_, name)) = OCCLUSION.iter().find(|(own, _)| *own == event) {
            Err(PacketRefusal(format!(
                "event {name} ({event:#04x}) writes occlusion results, which Relic does not count yet"
            )))
        } else {
            Err(PacketRefusal(format!(
                "event {event:#04x} (index {}) is not executed",
                control >> 8 & 15
            )))
        }
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.barrier(Barrier::Full);
        Ok(())
    }
}
