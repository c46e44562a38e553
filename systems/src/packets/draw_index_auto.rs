//! DRAW_INDEX_AUTO: vertices 0 to count.

use relic_components::batch::DrawSource;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::exactly;
use crate::decode::snapshot::push_draw;

/// A draw: its index in the batch.
pub(super) struct DrawIndexAuto(u32);

impl Packet for DrawIndexAuto {
    const NAME: &'static str = "DRAW_INDEX_AUTO";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x2D)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [count, _initiator] = exactly(payload)?;
        Ok(Decoded::Row(Self(push_draw(context, DrawSource::Auto { count }))))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.draw(self.0)
    }
}
