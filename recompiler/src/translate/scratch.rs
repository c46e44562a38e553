//! Scratch: memory of each lane's own.
//!
//! Programs reach it by SCRATCH instructions, or through a swizzled V# of the whole ring with the wave's place in it as
//! scalar offset. Either way an access has an address within the lane's part, which is an array here. Nothing else may
//! be done with the wave's place.

use super::{Taken, Translator};
use crate::decode::Operand;
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

/// Operations that the walk for the wave's place follows.
const MAX_DEPTH: u32 = 8;

impl Translator<'_> {
    /// The offset within the lane's scratch memory, where a scalar offset counts from the wave's place.
    pub(super) fn within_scratch(&mut self, offset: Value) -> Option<Value> {
        self.without_start(offset, 0)
    }

    fn without_start(&mut self, value: Value, depth: u32) -> Option<Value> {
        let value = self.v.resolve(value);
        let inst = self.v.function.inst(value);
        match inst.op {
            Op::ScratchStart => Some(self.v.word(0)),
            Op::Add if depth < MAX_DEPTH => {
                let [a, b] = [inst.operands[0], inst.operands[1]];
                if let Some(rest) = self.without_start(a, depth + 1) {
                    return Some(self.u(Op::Add, &[rest, b]));
                }
                let rest = self.without_start(b, depth + 1)?;
                Some(self.u(Op::Add, &[a, rest]))
            }
            _ => None,
        }
    }

    /// SCRATCH instructions: an address in a VGPR or an SGPR, and the signed immediate.
    pub(super) fn scratch_instruction(&mut self, what: &str) -> Taken {
        let instruction = self.instruction;
        let base = match instruction.src[2] {
            Operand::Scalar(register) if register != 125 => self.raw(instruction.src[2])?,
            _ => self.raw(instruction.src[0])?,
        };
        let immediate = self.v.word(instruction.memory.offset.cast_unsigned());
        let address = self.u(Op::Add, &[base, immediate]);
        let count = if what.starts_with("LOAD") {
            instruction.row.width('d')
        } else {
            instruction.row.width('b')
        };
        self.scratch(what, address, count, instruction.src[1])
    }

    /// An access by the name behind its encoding's: `LOAD_DWORD` and so on.
    pub(super) fn scratch(&mut self, what: &str, address: Value, count: u8, data: Operand) -> Taken {
        let instruction = self.instruction;
        if self.registers.scratch() == 0 {
            return Err(Reason::Unsupported(
                "scratch memory without a size in TMPRING_SIZE",
            ));
        }
        let (load, kind) = match what.split_once('_') {
            Some(("LOAD", kind)) => (true, kind),
            Some(("STORE", kind)) => (false, kind),
            _ => return Err(Reason::Unsupported("atomics and formats in scratch memory")),
        };
        let bits = match kind.split('_').next() {
            Some("UBYTE" | "SBYTE" | "BYTE") => 8,
            Some("USHORT" | "SSHORT" | "SHORT") => 16,
            Some("DWORD" | "DWORDX2" | "DWORDX3" | "DWORDX4") => 32,
            _ => return Err(Reason::Unsupported("atomics and formats in scratch memory")),
        };
        let active = self.active();
        if bits == 32 {
            let mut values = Vec::new();
            for index in 0..count {
                let bytes = self.v.word(4 * u32::from(index));
                let place = self.u(Op::Add, &[address, bytes]);
                if load {
                    values.push(self.u(Op::LoadScratch, &[place]));
                } else {
                    let value = self.raw_at(data, index)?;
                    self.v
                        .emit(Op::StoreScratch, Type::Void, &[place, value, active], 0);
                }
            }
            for (index, &value) in (0_u8..).zip(&values) {
                self.set_vector(instruction.dst, index, value)?;
            }
            return Ok(true);
        }
        let old = self.u(Op::LoadScratch, &[address]);
        let shift = self.byte_shift(address);
        if load {
            let signed = kind.starts_with("SBYTE") || kind.starts_with("SSHORT");
            let operands = [old, shift, self.v.word(bits)];
            let value = self.u(if signed { Op::FieldS } else { Op::FieldU }, &operands);
            let value = self.place_half(what, instruction.dst, value)?;
            self.set_vector(instruction.dst, 0, value)?;
            return Ok(true);
        }
        let mut value = self.raw(data)?;
        if what.ends_with("D16_HI") {
            let sixteen = self.v.word(16);
            value = self.u(Op::Shr, &[value, sixteen]);
        }
        let field = self.v.word((1 << bits) - 1);
        let value = self.u(Op::And, &[value, field]);
        let value = self.u(Op::Shl, &[value, shift]);
        let hole = self.u(Op::Shl, &[field, shift]);
        let keep = self.u(Op::Not, &[hole]);
        let kept = self.u(Op::And, &[old, keep]);
        let value = self.u(Op::Or, &[kept, value]);
        self.v
            .emit(Op::StoreScratch, Type::Void, &[address, value, active], 0);
        Ok(true)
    }
}
