//! Program control: what waits, hints and messages mean here.

use super::{Taken, Translator};
use crate::binary::Stage;
use crate::decode::op;
use crate::ir::{Op, Type};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn mode(&mut self) -> Taken {
        let instruction = self.instruction;
        match instruction.opcode() {
            // Memory operations complete in program order here, and caches are the driver's.
            op::S_NOP
            | op::S_WAITCNT
            | op::S_WAITCNT_DEPCTR
            | op::S_WAITCNT_VSCNT
            | op::S_WAITCNT_VMCNT
            | op::S_WAITCNT_EXPCNT
            | op::S_WAITCNT_LGKMCNT
            | op::S_WAIT_IDLE
            | op::S_CLAUSE
            | op::S_INST_PREFETCH
            | op::S_SETPRIO
            | op::S_SLEEP
            | op::S_WAKEUP
            | op::S_ICACHE_INV
            | op::S_TTRACEDATA
            | op::S_TTRACEDATA_IMM
            | op::S_INCPERFLEVEL
            | op::S_DECPERFLEVEL
            | op::S_VERSION
            | op::S_CODE_END => {}
            op::S_BARRIER => match self.stage() {
                Stage::Compute => {
                    self.v.emit(Op::Barrier, Type::Void, &[], 0);
                }
                // Waves of a merged vertex program meet before they ask for space; nothing is shared between them.
                Stage::Vertex => {}
                Stage::Pixel => return Err(Reason::Unsupported("a barrier in a pixel program")),
            },
            op::S_SENDMSG => match (self.stage(), instruction.immediate & 15) {
                // The request for export space of a pass-through program, and the end of its output.
                (Stage::Vertex, 9 | 3) => {}
                _ => return Err(Reason::Unsupported("a message to the fixed-function units")),
            },
            // Register 1 is MODE. Rounding and denormals are the device's; see `Interface::float_mode`.
            op::S_SETREG_B32 | op::S_SETREG_IMM32_B32 if instruction.immediate & 63 == 1 => {}
            op::S_SETREG_B32 | op::S_SETREG_IMM32_B32 | op::S_GETREG_B32 => {
                return Err(Reason::Unsupported("hardware registers other than MODE"));
            }
            op::S_ROUND_MODE | op::S_DENORM_MODE => {
                return Err(Reason::Unsupported(
                    "a change of the float mode inside the program",
                ));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
