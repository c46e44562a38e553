//! INDEX_TYPE, INDEX_BASE and INDEX_BUFFER_SIZE: where the indices of the draws that follow lie.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::{address, exactly, known_bits};

/// Size of an index: 0 = 16 bits, 1 = 32 bits, 2 = 8 bits.
pub(super) struct IndexType;
/// First index.
pub(super) struct IndexBase;
/// How many indices there are.
pub(super) struct IndexBufferSize;

impl Packet for IndexType {
    const NAME: &'static str = "INDEX_TYPE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x2A)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [value] = exactly(payload)?;
        // Bits 7:6 are a cache policy.
        known_bits("index type", value, 0xC3)?;
        context.state.index_type = value & 3;
        Ok(Decoded::State)
    }
}

impl Packet for IndexBase {
    const NAME: &'static str = "INDEX_BASE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x26)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [low, high] = exactly(payload)?;
        context.state.index_base = address(low, high);
        Ok(Decoded::State)
    }
}

impl Packet for IndexBufferSize {
    const NAME: &'static str = "INDEX_BUFFER_SIZE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x13)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [count] = exactly(payload)?;
        context.state.index_count = count;
        Ok(Decoded::State)
    }
}
