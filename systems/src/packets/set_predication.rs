//! SET_PREDICATION: whether packets with the predicate bit in their header run from here on.

use relic_core::GuestRange;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Retry};

use super::words::{address, exactly, known_bits};

/// See the module's text.
pub(super) struct SetPredication;

// Fields of the control word.
const RUN_WHEN_TRUE: u32 = 1 << 8;
const WAIT_HINT: u32 = 1 << 12;
const OPERATION: u32 = 7 << 16;

impl Packet for SetPredication {
    const NAME: &'static str = "SET_PREDICATION";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x20)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [control, low, high] = exactly(payload)?;
        known_bits("control word", control, RUN_WHEN_TRUE | WAIT_HINT | OPERATION)?;
        let bytes = match (control & OPERATION) >> 16 {
            0 => {
                context.state.skip_predicated = false;
                return Ok(Decoded::State);
            }
            3 => 8,
            4 => 4,
            other => {
                let name = match other {
                    1 => "zpass: occlusion results",
                    2 => "primcount: streamout overflow",
                    _ => "unknown",
                };
                return Err(PacketRefusal(format!(
                    "operation {other} ({name}) is not executed (0, 3 and 4, values in memory, are)"
                )));
            }
        };
        let predicate = address(low & !15, high);
        if !context.settled(GuestRange::new(predicate, bytes)) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        let value = if bytes == 8 {
            context.memory.read_u64(predicate)
        } else {
            context.memory.read_u32(predicate).map(u64::from)
        };
        let value = value.map_err(|error| PacketRefusal(format!("its predicate can't be read: {error}")))?;
        context.state.skip_predicated = (value != 0) != (control & RUN_WHEN_TRUE != 0);
        Ok(Decoded::State)
    }
}
