//! CONTEXT_CONTROL: which state the command processor loads and shadows by itself. Relic keeps all state.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::exactly;

/// See the module's text.
pub(super) struct ContextControl;

impl Packet for ContextControl {
    const NAME: &'static str = "CONTEXT_CONTROL";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x28)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [_load, _shadow] = exactly(payload)?;
        Ok(Decoded::State)
    }
}
