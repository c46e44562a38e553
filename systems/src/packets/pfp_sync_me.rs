//! PFP_SYNC_ME: the parser waits for the engine behind it. Relic's decoder reads nothing that the queue is still to
//! write without waiting for it, so there is nothing to do.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::exactly;

/// See the module's text.
pub(super) struct PfpSyncMe;

impl Packet for PfpSyncMe {
    const NAME: &'static str = "PFP_SYNC_ME";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x42)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [_dummy] = exactly(payload)?;
        Ok(Decoded::State)
    }
}
