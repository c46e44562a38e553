//! NOP: filler, with or without data. Its console sub-operations are packets of their own.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::known_bits;

/// See the module's text.
pub(super) struct Nop;

/// Payload words tagged like this carry the console's user-data markers, which mean something.
const CONSOLE_TAG: u32 = 0x6875_0000;

impl Packet for Nop {
    const NAME: &'static str = "NOP";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x10)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        known_bits("header", context.header & 0xFF, 0x03)?;
        match payload.first() {
            Some(&tag) if tag & 0xFFFF_0000 == CONSOLE_TAG => Err(PacketRefusal(format!(
                "payload tag {tag:#010x} is a console marker that Relic does not execute"
            ))),
            _ => Ok(Decoded::State),
        }
    }
}
