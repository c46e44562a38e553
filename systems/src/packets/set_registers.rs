//! SET_CONTEXT_REG, SET_SH_REG, SET_UCONFIG_REG and their INDEX forms: a run of values from a register on.

use relic_components::{RegisterBank, RegisterBanks};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::at_least;
use crate::{decode::snapshot::USER_DATA, registers::user_config};

/// Context registers.
pub(super) struct SetContextRegisters;
/// Shader registers.
pub(super) struct SetShaderRegisters;
/// User-config registers.
pub(super) struct SetUserConfigRegisters;

impl Packet for SetContextRegisters {
    const NAME: &'static str = "SET_CONTEXT_REG";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x69)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let ([first], values) = at_least(payload)?;
        write_run(context, RegisterBank::Context, first & 0xFFFF, values)?;
        Ok(Decoded::State)
    }
}

impl Packet for SetShaderRegisters {
    const NAME: &'static str = "SET_SH_REG";
    /// SET_SH_REG_INDEX is 0x9B in Mesa and in the streams of its driver; lists that give 0x9A exist, so both are
    /// taken. Its index field (bits 31:28) selects how a kernel driver merges the value: the value is whole.
    const HEADERS: &'static [HeaderMatch] = &[
        HeaderMatch::Opcode(0x76),
        HeaderMatch::Opcode(0x9A),
        HeaderMatch::Opcode(0x9B),
    ];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let ([first], values) = at_least(payload)?;
        write_run(context, RegisterBank::Shader, first & 0xFFFF, values)?;
        Ok(Decoded::State)
    }
}

impl Packet for SetUserConfigRegisters {
    const NAME: &'static str = "SET_UCONFIG_REG";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x79), HeaderMatch::Opcode(0x7A)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let ([first], values) = at_least(payload)?;
        let offset = first & 0xFFFF;
        if offset as usize == user_config::VGT_INDEX_TYPE
            && let Some(&value) = values.first()
        {
            context.state.index_type = value & 3;
        }
        write_run(context, RegisterBank::UserConfig, offset, values)?;
        Ok(Decoded::State)
    }
}

/// Writes `values` to registers from `first` on, and counts a new generation when something other than user data
/// or a tag changed.
pub(super) fn write_run(
    context: &mut DecodeContext<'_>,
    bank: RegisterBank,
    first: u32,
    values: &[u32],
) -> Result<(), PacketRefusal> {
    let banks = &mut *context.banks;
    let registers: &mut [u32] = match bank {
        RegisterBank::Context => &mut banks.context[..],
        RegisterBank::Shader => &mut banks.shader[..],
        RegisterBank::UserConfig => &mut banks.user_config[..],
    };
    let first = first as usize;
    let Some(targets) = registers.get_mut(first..first + values.len()) else {
        return Err(PacketRefusal(format!(
            "it sets {} registers from {:#x} (byte address {:#x}), beyond the {} of the bank",
            values.len(),
            first,
            bank.base() as usize + 4 * first,
            bank.count()
        )));
    };
    // Runs are of a few words: a call of memcmp costs more than they do.
    let differs = targets
        .iter()
        .zip(values)
        .fold(0, |all, (old, new)| all | (old ^ new));
    if differs == 0 {
        return Ok(());
    }
    if !changes_state(bank, first, values.len()) {
        targets.copy_from_slice(values);
        return Ok(());
    }
    let mut difference = 0;
    for ((register, target), value) in (first..).zip(targets).zip(values) {
        let old = std::mem::replace(target, *value);
        if old != *value && changes_state(bank, register, 1) {
            difference ^= RegisterBanks::difference(bank, register, old, *value);
        }
    }
    banks.hash ^= difference;
    banks.generation += 1;
    Ok(())
}

/// Whether a run of registers is more than user data (which draws copy by themselves) or console tags.
pub(crate) fn changes_state(bank: RegisterBank, first: usize, count: usize) -> bool {
    let within = |start: usize, size: usize| first >= start && first + count <= start + size;
    match bank {
        RegisterBank::Context => true,
        RegisterBank::Shader => !USER_DATA.iter().any(|(start, size)| within(*start, *size)),
        RegisterBank::UserConfig => !within(user_config::CONSOLE_TAG, 2),
    }
}
