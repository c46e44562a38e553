//! DRAW_INDEX_2: indices at an address of the packet's own.

use relic_components::batch::DrawSource;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::{address, exactly};
use crate::decode::snapshot::push_draw;

/// A draw: its index in the batch.
pub(super) struct DrawIndex2(u32);

impl Packet for DrawIndex2 {
    const NAME: &'static str = "DRAW_INDEX_2";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x27)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [limit, low, high, count, _initiator] = exactly(payload)?;
        let index_type = context.state.index_type;
        let source = DrawSource::Indexed {
            address: address(low, high),
            count,
            limit,
            index_type,
        };
        Ok(Decoded::Row(Self(push_draw(context, source))))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.draw(self.0)
    }
}
