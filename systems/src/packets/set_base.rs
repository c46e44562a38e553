//! SET_BASE: what the offsets of indirect draws and dispatches count from.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::{address, exactly};

/// See the module's text.
pub(super) struct SetBase;

/// The only base index whose packets Relic executes: draw and dispatch arguments.
const INDIRECT_ARGUMENTS: u32 = 1;

impl Packet for SetBase {
    const NAME: &'static str = "SET_BASE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x11)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [index, low, high] = exactly(payload)?;
        if index & 15 != INDIRECT_ARGUMENTS {
            return Err(PacketRefusal(format!(
                "base {} is not executed (1, indirect arguments, is)",
                index & 15
            )));
        }
        // Lists of registers give the address 8-byte alignment, but drivers set bases of records at any multiple of 4,
        // as Vulkan lets programs place them.
        let base = address(low & !3, high);
        if context.is_compute() {
            context.state.compute_indirect_base = base;
        } else {
            context.state.graphics_indirect_base = base;
        }
        Ok(Decoded::State)
    }
}
