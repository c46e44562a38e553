//! SET_SH_REG_INDIRECT, SET_UCONFIG_REG_INDIRECT, SET_CONTEXT_REG_INDIRECT: (offset, value) pairs in memory.

use relic_components::RegisterBank;
use relic_core::GuestRange;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Retry, packet::NOP};

use super::{
    set_registers::write_run,
    words::{address, at_least, exactly},
};
use crate::registers::user_config;

/// See the module's text.
pub(super) struct RegistersIndirect;

// Sub-operations of NOP with which the old builders said the same: count, address.
const SHADER_OPERATION: u8 = 0x11;
const USER_CONFIG_OPERATION: u8 = 0x13;
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
        HeaderMatch::NopOperation(SHADER_OPERATION),
        HeaderMatch::NopOperation(0x12),
        HeaderMatch::NopOperation(USER_CONFIG_OPERATION),
    ];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let opcode = (context.header >> 8) as u8;
        let (count, low, high) = if opcode == NOP {
            let ([count, low, high], _reserved) = at_least(payload)?;
            (count, low, high)
        } else {
            let [low, high, _flags, count] = exactly(payload)?;
            (count, low, high)
        };
        let operation = (context.header >> 2 & 63) as u8;
        let bank = match (opcode, operation) {
            (0x63, _) | (NOP, SHADER_OPERATION) => RegisterBank::Shader,
            (0x64, _) | (NOP, USER_CONFIG_OPERATION) => RegisterBank::UserConfig,
            _ => RegisterBank::Context,
        };
        let list = address(low & !3, high);
        let count = u64::from(count & 0x3FFF);
        if !context.settled(GuestRange::new(list, 8 * count)) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        for i in 0..count {
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
            let offset = offset & !FLAGS;
            if bank == RegisterBank::UserConfig && offset as usize == user_config::VGT_INDEX_TYPE {
                context.state.index_type = value & 3;
            }
            write_run(context, bank, offset, &[value])?;
        }
        Ok(Decoded::State)
    }
}
