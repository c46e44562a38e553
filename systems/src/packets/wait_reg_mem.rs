//! WAIT_REG_MEM and WAIT_REG_MEM64: the queue goes on when (value & mask) compares with the reference.

use relic_components::queue::{Compare, MemoryWait};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::{address, exactly};

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
        let compare = match control & 7 {
            0 => Compare::Always,
            1 => Compare::Less,
            2 => Compare::LessEqual,
            3 => Compare::Equal,
            4 => Compare::NotEqual,
            5 => Compare::GreaterEqual,
            6 => Compare::Greater,
            other => return Err(PacketRefusal(format!("compare function {other} does not exist"))),
        };
        Ok(Decoded::Wait(MemoryWait {
            address: address(low & !3, high),
            reference,
            mask,
            compare,
            wide,
        }))
    }
}
