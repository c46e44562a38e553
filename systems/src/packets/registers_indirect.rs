//! SET_SH_REG_INDIRECT, SET_UCONFIG_REG_INDIRECT, SET_CONTEXT_REG_INDIRECT: (offset, value) pairs in memory.

use relic_components::RegisterBank;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::{
    set_registers::write_run,
    words::{address, exactly},
};

/// See the module's text.
pub(super) struct RegistersIndirect;

/// A pair with this offset is a hole.
const HOLE: u32 = 0xFFFF_FFFF;
/// Flag bits above the offset that list writers set.
const FLAGS: u32 = 0x7000_0000;

impl Packet for RegistersIndirect {
    const NAME: &'static str = "SET_REG_INDIRECT";
    const HEADERS: &'static [HeaderMatch] = &[
        HeaderMatch::Opcode(0x63),
        HeaderMatch::Opcode(0x64),
        HeaderMatch::Opcode(0x9F),
    ];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [low, high, _flags, count] = exactly(payload)?;
        let bank = match context.header >> 8 & 0xFF {
            0x63 => RegisterBank::Shader,
            0x64 => RegisterBank::UserConfig,
            _ => RegisterBank::Context,
        };
        let list = address(low & !3, high);
        for i in 0..u64::from(count & 0x3FFF) {
            let mut pair = [0; 2];
            let at = list.checked_add(8 * i).unwrap_or(list);
            context
                .memory
                .read_words(at, &mut pair)
                .map_err(|error| PacketRefusal(format!("its register list can't be read: {error}")))?;
            let [offset, value] = pair;
            if offset == HOLE {
                continue;
            }
            write_run(context, bank, offset & !FLAGS, &[value])?;
        }
        Ok(Decoded::State)
    }
}
