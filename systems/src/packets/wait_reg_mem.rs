//! WAIT_REG_MEM and WAIT_REG_MEM64: the queue goes on when (value & mask) compares with the reference.

use relic_components::queue::{Compare, MemoryWait};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::{address, at_least, exactly, known_bits};

/// See the module's text.
pub(super) struct WaitRegMem;

const MEMORY_SPACE: u32 = 1 << 4;

impl Packet for WaitRegMem {
    const NAME: &'static str = "WAIT_REG_MEM";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x3C), HeaderMatch::Opcode(0x93)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let wide = context.header >> 8 & 0xFF == 0x93;
        let (control, low, high, reference, mask) = if wide {
            let [control, low, high, ref_low, ref_high, mask_low, mask_high, _poll] = exactly(payload)?;
            let reference = u64::from(ref_low) | u64::from(ref_high) << 32;
            (
                control,
                low,
                high,
                reference,
                u64::from(mask_low) | u64::from(mask_high) << 32,
            )
        } else {
            let [control, low, high, reference, mask, _poll] = exactly(payload)?;
            (control, low, high, u64::from(reference), u64::from(mask))
        };
        if control & MEMORY_SPACE == 0 {
            return Err(PacketRefusal(format!(
                "it waits on register {low:#x}, and only memory is supported"
            )));
        }
        Ok(Decoded::Wait(MemoryWait {
            address: address(low & !3, high),
            reference,
            mask,
            compare: compare_function(control)?,
            wide,
        }))
    }
}

/// The same, as the console's libraries put it inside a NOP: address, mask, reference, compare function, poll interval.
pub(super) struct ConsoleWait;

/// The sub-operation of the form with 64 bits.
const WIDE_OPERATION: u8 = 0x16;
/// Of the word with the compare function: the function, memory space, operation, cache policy.
const KNOWN: u32 = 0x7 | MEMORY_SPACE | 0xF << 6 | 3 << 25;

impl Packet for ConsoleWait {
    const NAME: &'static str = "WAIT_MEM";
    const HEADERS: &'static [HeaderMatch] = &[
        HeaderMatch::NopOperation(0x0A),
        HeaderMatch::NopOperation(WIDE_OPERATION),
    ];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let wide = (context.header >> 2 & 63) as u8 == WIDE_OPERATION;
        let (low, high, mask, reference, control) = if wide {
            let ([low, high, mask_low, mask_high, ref_low, ref_high, control, _poll], _reserved) =
                at_least(payload)?;
            let mask = u64::from(mask_low) | u64::from(mask_high) << 32;
            let reference = u64::from(ref_low) | u64::from(ref_high) << 32;
            (low, high, mask, reference, control)
        } else {
            let ([low, high, mask, reference, control, _poll], _reserved) = at_least(payload)?;
            (low, high, u64::from(mask), u64::from(reference), control)
        };
        known_bits("compare word", control, KNOWN)?;
        Ok(Decoded::Wait(MemoryWait {
            address: address(low & !3, high),
            reference,
            mask,
            compare: compare_function(control)?,
            wide,
        }))
    }
}

/// The function that bits 2:0 name.
pub(super) fn compare_function(control: u32) -> Result<Compare, PacketRefusal> {
    Ok(match control & 7 {
        0 => Compare::Always,
        1 => Compare::Less,
        2 => Compare::LessEqual,
        3 => Compare::Equal,
        4 => Compare::NotEqual,
        5 => Compare::GreaterEqual,
        6 => Compare::Greater,
        other => return Err(PacketRefusal(format!("compare function {other} does not exist"))),
    })
}
