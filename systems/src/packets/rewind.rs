//! REWIND: streams that patch themselves. The parser stops until the packet's valid bit is set in memory, and reads
//! what follows from memory again.

use relic_components::queue::{Compare, MemoryWait};
use relic_core::GuestRange;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Retry};

use super::words::{exactly, known_bits};

/// See the module's text.
pub(super) struct Rewind;

const VALID: u32 = 1 << 31;
/// Bit 24 (offload) only says who polls.
const KNOWN: u32 = VALID | 1 << 24;

impl Packet for Rewind {
    const NAME: &'static str = "REWIND";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x59)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [control] = exactly(payload)?;
        known_bits("word", control, KNOWN)?;
        let outside = || PacketRefusal("it lies at the end of the address space".to_owned());
        let packet = context
            .position
            .buffer
            .checked_add(context.position.offset.into())
            .ok_or_else(outside)?;
        let word = packet.checked_add(4).ok_or_else(outside)?;
        let rest = packet.checked_add(8).ok_or_else(outside)?;
        // The words at hand were copied out when the buffer was entered; what counts is what memory holds now.
        if !context.settled(GuestRange::new(word, 4)) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        let now = context
            .memory
            .read_u32(word)
            .map_err(|error| PacketRefusal(format!("it can't be read again: {error}")))?;
        if now & VALID == 0 {
            return Ok(Decoded::Again(Retry::Memory(MemoryWait {
                address: word,
                reference: VALID.into(),
                mask: VALID.into(),
                compare: Compare::Equal,
                wide: false,
            })));
        }
        Ok(Decoded::Call {
            address: rest,
            words: context.remaining,
            chain: true,
        })
    }
}
