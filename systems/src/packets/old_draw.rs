//! Draws of the old builders: NOP sub-operations with the same meaning as the hardware's packets.

use relic_components::batch::DrawSource;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::{address, at_least};
use crate::decode::snapshot::push_draw;

/// A draw: its index in the batch.
pub(super) struct OldDraw(u32);

/// The sub-operation of the form with indices.
const INDEXED: u32 = 0x03;

impl Packet for OldDraw {
    const NAME: &'static str = "NOP draw";
    const HEADERS: &'static [HeaderMatch] =
        &[HeaderMatch::NopOperation(0x03), HeaderMatch::NopOperation(0x04)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        // The words behind are the builder's modifier, which it has used up, and reserved room.
        let source = if context.header >> 2 & 63 == INDEXED {
            let ([count, low, high], _modifier) = at_least(payload)?;
            DrawSource::Indexed {
                address: address(low, high),
                count,
                limit: count,
                index_type: context.state.index_type,
            }
        } else {
            let ([count], _modifier) = at_least(payload)?;
            DrawSource::Auto { count }
        };
        Ok(Decoded::Row(Self(push_draw(context, source))))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.draw(self.0)
    }
}
