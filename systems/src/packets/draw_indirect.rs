//! DRAW_INDIRECT and DRAW_INDEX_INDIRECT: a draw whose counts lie in memory.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder, Retry};

use super::{
    indirect_arguments::{Locations, arguments, location, push_indirect, records},
    words::exactly,
};

/// A draw: its index in the batch.
pub(super) struct DrawIndirect(u32);

/// The opcode of the form with indices.
const INDEXED: u8 = 0x25;

impl Packet for DrawIndirect {
    const NAME: &'static str = "DRAW_INDIRECT";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x24), HeaderMatch::Opcode(INDEXED)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [offset, vertex, instance, _initiator] = exactly(payload)?;
        let indexed = (context.header >> 8) as u8 == INDEXED;
        let locations = Locations {
            vertex: location("first vertex", vertex)?,
            instance: location("first instance", instance)?,
            draw: None,
        };
        let at = arguments(context, offset)?;
        if !context.settled(records(at, 1, 0, indexed)) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        push_indirect(context, at, indexed, locations, 0).map(|draw| Decoded::Row(Self(draw)))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.draw(self.0)
    }
}
