//! NUM_INSTANCES: instances of the draws that follow; 0 acts as 1.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::exactly;

/// See the module's text.
pub(super) struct NumInstances;

impl Packet for NumInstances {
    const NAME: &'static str = "NUM_INSTANCES";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x2F)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [count] = exactly(payload)?;
        context.state.instances = count.max(1);
        Ok(Decoded::State)
    }
}
