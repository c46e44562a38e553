//! DISPATCH_DIRECT: a compute grid.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::exactly;
use crate::decode::snapshot::{Groups, push_dispatch};

/// A dispatch: its index in the batch.
pub(super) struct DispatchDirect(u32);

impl Packet for DispatchDirect {
    const NAME: &'static str = "DISPATCH_DIRECT";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x15)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [x, y, z, initiator] = exactly(payload)?;
        Ok(Decoded::Row(Self(push_dispatch(
            context,
            Groups::Counts([x, y, z]),
            initiator,
        )?)))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.dispatch(self.0)
    }
}
