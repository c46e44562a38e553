//! DRAW_INDEX_OFFSET_2: indices from an offset in INDEX_BASE's buffer.

use relic_components::{batch::DrawSource, queue::PacketState};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::exactly;
use crate::decode::snapshot::push_draw;

/// A draw: its index in the batch.
pub(super) struct DrawIndexOffset2(u32);

impl Packet for DrawIndexOffset2 {
    const NAME: &'static str = "DRAW_INDEX_OFFSET_2";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x35)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [limit, first, count, _initiator] = exactly(payload)?;
        let source = indices_from_base(context.state, first, count, limit)?;
        Ok(Decoded::Row(Self(push_draw(context, source))))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.draw(self.0)
    }
}

/// `count` indices from index `first` of INDEX_BASE's buffer, which has `limit` of them.
pub(super) fn indices_from_base(
    state: &PacketState,
    first: u32,
    count: u32,
    limit: u32,
) -> Result<DrawSource, PacketRefusal> {
    let bytes = match state.index_type {
        0 => 2,
        1 => 4,
        _ => 1,
    };
    let address = state
        .index_base
        .checked_add(u64::from(first) * bytes)
        .ok_or_else(|| PacketRefusal(format!("first index {first} lies outside of the address space")))?;
    Ok(DrawSource::Indexed {
        address,
        count,
        limit: limit.saturating_sub(first),
        index_type: state.index_type,
    })
}
