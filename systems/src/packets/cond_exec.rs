//! COND_EXEC: the packets behind it run where a word of memory is not 0.

use relic_core::GuestRange;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Retry};

use super::words::{address, exactly};

/// See the module's text.
pub(super) struct CondExec;

impl Packet for CondExec {
    const NAME: &'static str = "COND_EXEC";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x22)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [low, high, _reserved, words] = exactly(payload)?;
        let condition = address(low & !3, high);
        if !context.settled(GuestRange::new(condition, 4)) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        let value = context
            .memory
            .read_u32(condition)
            .map_err(|error| PacketRefusal(format!("its condition can't be read: {error}")))?;
        Ok(if value == 0 {
            Decoded::Skip {
                words: words & 0x3FFF,
            }
        } else {
            Decoded::State
        })
    }
}
