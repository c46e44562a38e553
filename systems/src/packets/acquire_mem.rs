//! ACQUIRE_MEM: caches are written back and invalidated before what follows. A full barrier on the host.

use relic_schedules::{Barrier, DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::at_least;

/// See the module's text.
pub(super) struct AcquireMem;

impl Packet for AcquireMem {
    const NAME: &'static str = "ACQUIRE_MEM";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x58), HeaderMatch::NopOperation(0x14)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let (_range, _gcr) = at_least::<6>(payload)?;
        Ok(Decoded::Row(Self))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.barrier(Barrier::Full);
        Ok(())
    }
}
