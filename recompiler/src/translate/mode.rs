//! Program control: what waits, hints and messages mean here.

use super::{Taken, Translator};
use crate::binary::Stage;
use crate::decode::op;
use crate::ir::{Op, Type};
use crate::refusal::Reason;

/// A field of a hardware register.
#[derive(Clone, Copy)]
struct Field {
    offset: u32,
    size: u32,
}

impl Field {
    fn mask(self) -> u32 {
        u32::MAX >> (32 - self.size)
    }

    fn of(self, register: u32) -> u32 {
        register >> self.offset & self.mask()
    }
}

impl Translator<'_> {
    /// MODE as RSRC1 sets it: rounding and denormals of 32 bits and of 16 and 64, DX10_CLAMP, IEEE.
    fn initial_mode(&self) -> u32 {
        let (rsrc1, _) = self.registers.resources();
        rsrc1 >> 12 & 0xff | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9
    }

    /// The field of MODE that an access names. Only what RSRC1 tells is known.
    fn mode_field(&self) -> Result<Field, Reason> {
        let immediate = u32::from(self.instruction.immediate);
        let field = Field {
            offset: immediate >> 6 & 31,
            size: (immediate >> 11 & 31) + 1,
        };
        if immediate & 63 != 1 {
            return Err(Reason::Unsupported("hardware registers other than MODE"));
        }
        if field.offset + field.size > 10 {
            return Err(Reason::Unsupported(
                "fields of MODE other than float modes, clamp and IEEE",
            ));
        }
        Ok(field)
    }

    /// A write of what is there already is none; another would change the meaning of what follows.
    fn keep_mode(&self, field: Field, bits: u32) -> Result<(), Reason> {
        if bits & field.mask() == field.of(self.initial_mode()) {
            Ok(())
        } else {
            Err(Reason::Unsupported(
                "a change of the float mode inside the program",
            ))
        }
    }

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
            op::S_SETREG_B32 | op::S_SETREG_IMM32_B32 => {
                let field = self.mode_field()?;
                let value = match instruction.opcode() {
                    op::S_SETREG_IMM32_B32 => instruction.src[0],
                    _ => instruction.dst,
                };
                let value = self.raw(value)?;
                let Some(bits) = self.v.function.constant(value) else {
                    return Err(Reason::Unsupported("a float mode that is not constant"));
                };
                self.keep_mode(field, bits as u32)?;
            }
            op::S_GETREG_B32 => {
                let field = self.mode_field()?;
                let bits = self.v.word(field.of(self.initial_mode()));
                self.set_scalars(instruction.dst, &[bits])?;
            }
            op::S_ROUND_MODE => self.keep_mode(Field { offset: 0, size: 4 }, instruction.immediate.into())?,
            op::S_DENORM_MODE => {
                self.keep_mode(Field { offset: 4, size: 4 }, instruction.immediate.into())?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
