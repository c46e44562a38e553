//! INDIRECT_BUFFER: go on in another command buffer, and come back unless it is chained.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::{address, exactly};

/// See the module's text.
pub(super) struct IndirectBuffer;

const CHAIN: u32 = 1 << 20;

impl Packet for IndirectBuffer {
    const NAME: &'static str = "INDIRECT_BUFFER";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x3F), HeaderMatch::Opcode(0x33)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [low, high, control] = exactly(payload)?;
        Ok(Decoded::Call {
            address: address(low & !3, high),
            words: control & 0xF_FFFF,
            chain: control & CHAIN != 0,
        })
    }
}
