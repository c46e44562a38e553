//! CLEAR_STATE: context registers back to their defaults.

use relic_components::registers::CONTEXT_REGISTERS;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::exactly;

/// See the module's text.
pub(super) struct ClearState;

impl Packet for ClearState {
    const NAME: &'static str = "CLEAR_STATE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x12)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [_state] = exactly(payload)?;
        context.banks.change_context(|registers| reset_context(registers));
        Ok(Decoded::State)
    }
}

/// Context registers whose default is not 0: (offset, value).
const DEFAULTS: &[(usize, u32)] = &[
    (0x083, 0xFFFF),
    (0x08C, 0xAA99_AAAA),
    (0x202, 0x00CC_0010),
    (0x206, 0x43F),
    (0x292, 2),
    (0x2DC, 0xAA00),
    (0x2F9, 0x2D),
    (0x30E, 0xFFFF_FFFF),
    (0x30F, 0xFFFF_FFFF),
    (0x313, 0x6000),
];

/// Scissors: top left with the window offset off, bottom right at the largest.
const SCISSORS: [usize; 3] = [0x00C, 0x081, 0x090];
const VIEWPORT_SCISSORS: usize = 0x094;
const BLEND_CONTROLS: usize = 0x1E0;

/// Puts the defaults of a cleared context in.
pub fn reset_context(context: &mut [u32; CONTEXT_REGISTERS]) {
    context.fill(0);
    for &(offset, value) in DEFAULTS {
        context[offset] = value;
    }
    for first in SCISSORS
        .into_iter()
        .chain((0..16).map(|i| VIEWPORT_SCISSORS + 2 * i))
    {
        context[first] = 0x8000_0000;
        context[first + 1] = 0x4000_4000;
    }
    context[SCISSORS[0]] = 0;
    for i in 0..8 {
        context[BLEND_CONTROLS + i] = 0x2001_0001;
    }
}
