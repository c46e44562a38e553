//! Registers named by a number and M0: moves relative to M0.
//!
//! Registers are values here, so a number known only at run time chooses among all that it can name: a tree of
//! selections for a read, one for each register for a write. Numbers behind the last register name the first one where
//! they are read, and nothing where they are written.

use super::data_share::M0;
use super::{Taken, Translator};
use crate::decode::{Form, Instruction, Operand, op};
use crate::ir::{Op, Value};
use crate::refusal::Reason;

/// Scalar registers before VCC.
const SCALARS: u8 = 106;

/// Scalar registers that hold lane masks somewhere in the program, bit n for register n: no array of words lies there.
pub(super) fn masks(instructions: &[Instruction], wave: u32) -> u128 {
    let span = if wave == 64 { 3 } else { 1 };
    let bit = |operand: Operand| match operand {
        Operand::Scalar(register) if register < 128 => span << register,
        _ => 0,
    };
    // VCC and EXEC.
    let mut masks: u128 = 3 << 106 | 3 << 126;
    loop {
        let before = masks;
        for instruction in instructions {
            masks |= bit(instruction.scalar_dst);
            let name = instruction.row.name;
            let moves = instruction.row.encoding == crate::decode::Encoding::Sop1
                || instruction.row.encoding == crate::decode::Encoding::Sop2;
            let fits = u32::from(instruction.row.width('d')) * 32 == wave;
            let of_masks = instruction.src[..2].iter().any(|src| bit(*src) & masks != 0);
            if instruction.row.encoding == crate::decode::Encoding::Vopc
                || name.contains("SAVEEXEC")
                || moves && fits && of_masks
            {
                masks |= bit(instruction.dst);
            }
        }
        if masks == before {
            return masks;
        }
    }
}

impl Translator<'_> {
    pub(super) fn relative_vector(&mut self) -> Taken {
        let instruction = self.instruction;
        let [source, destination] = match instruction.opcode() {
            op::V_MOVRELS_B32 => [true, false],
            op::V_MOVRELD_B32 => [false, true],
            op::V_MOVRELSD_B32 | op::V_MOVRELSD_2_B32 | op::V_SWAPREL_B32 => [true, true],
            _ => return Ok(false),
        };
        if !matches!(instruction.form, Form::Short | Form::Long) {
            return Err(Reason::Unsupported("a register-relative move with SDWA or DPP"));
        }
        let apart = matches!(instruction.opcode(), op::V_MOVRELSD_2_B32 | op::V_SWAPREL_B32);
        let [from, to] = self.distances(apart)?;
        let value = if source {
            self.read_relative(instruction.src[0], from)?
        } else {
            self.raw(instruction.src[0])?
        };
        let swaps = instruction.opcode() == op::V_SWAPREL_B32;
        let other = if swaps {
            Some(self.read_relative(instruction.dst, to)?)
        } else {
            None
        };
        if destination {
            self.write_relative(instruction.dst, to, value)?;
        } else {
            self.set_vector(instruction.dst, 0, value)?;
        }
        if let Some(other) = other {
            self.write_relative(instruction.src[0], from, other)?;
        }
        Ok(true)
    }

    pub(super) fn relative_scalar(&mut self) -> Taken {
        let instruction = self.instruction;
        let [source, destination] = match instruction.opcode() {
            op::S_MOVRELS_B32 | op::S_MOVRELS_B64 => [true, false],
            op::S_MOVRELD_B32 | op::S_MOVRELD_B64 => [false, true],
            op::S_MOVRELSD_2_B32 => [true, true],
            _ => return Ok(false),
        };
        let [from, to] = self.distances(instruction.opcode() == op::S_MOVRELSD_2_B32)?;
        let mut words = Vec::new();
        for index in 0..instruction.row.width('d') {
            words.push(match instruction.src[0] {
                Operand::Scalar(register) if source => {
                    self.read_relative(Operand::Scalar(register + index), from)?
                }
                src if source => return Err(not_a_register(src)),
                src => self.pair(src, super::operand::Wide::Signed)?[usize::from(index)],
            });
        }
        if !destination {
            self.set_scalars(instruction.dst, &words)?;
            return Ok(true);
        }
        let Operand::Scalar(first) = instruction.dst else {
            return Err(not_a_register(instruction.dst));
        };
        for (index, &word) in (0_u8..).zip(&words) {
            self.write_relative(Operand::Scalar(first + index), to, word)?;
        }
        Ok(true)
    }

    /// How many registers source and destination are from those that the instruction names: M0, or (bits 9:0, 25:16).
    fn distances(&mut self, apart: bool) -> Result<[Value; 2], Reason> {
        let m0 = self.raw(Operand::Scalar(M0))?;
        if !apart {
            return Ok([m0, m0]);
        }
        let [zero, ten, sixteen] = [0, 10, 16].map(|bits| self.v.word(bits));
        let parts = [zero, sixteen].map(|at| self.u(Op::FieldU, &[m0, at, ten]));
        Ok(parts)
    }

    /// Registers that a number from `first` on can name.
    fn reach(&mut self, first: Operand) -> Result<Vec<Operand>, Reason> {
        let registers: Vec<Operand> = match first {
            Operand::Vector(first) => {
                // RSRC1 bits 5:0: VGPRs in units of 4 in waves of 64, of 8 in waves of 32, less one unit.
                let unit = if self.wave == 64 { 4 } else { 8 };
                let count = ((self.registers.resources().0 & 63) + 1) * unit;
                (u32::from(first)..count.min(256))
                    .map(|register| Operand::Vector(register as u8))
                    .collect()
            }
            Operand::Scalar(first) => (first..SCALARS)
                .take_while(|register| self.masks >> register & 1 == 0)
                .map(Operand::Scalar)
                .collect(),
            other => return Err(not_a_register(other)),
        };
        if registers.is_empty() {
            return Err(Reason::Unsupported(
                "a relative move from behind the last register",
            ));
        }
        Ok(registers)
    }

    fn read_relative(&mut self, first: Operand, distance: Value) -> Result<Value, Reason> {
        let registers = self.reach(first)?;
        let first = match first {
            Operand::Vector(_) => Operand::Vector(0),
            _ => Operand::Scalar(0),
        };
        if let Some(known) = self.v.function.constant(distance) {
            let register = usize::try_from(known).ok().and_then(|at| registers.get(at));
            return self.raw(register.copied().unwrap_or(first));
        }
        let values = registers
            .iter()
            .map(|&register| self.raw(register))
            .collect::<Result<Vec<_>, _>>()?;
        let mut bits = Vec::new();
        for bit in 0..values.len().next_power_of_two().trailing_zeros() {
            let (mask, zero) = (self.v.word(1 << bit), self.v.word(0));
            let part = self.u(Op::And, &[distance, mask]);
            bits.push(self.b(Op::NotEqual, &[part, zero]));
        }
        let value = self.pick(&values, &bits);
        let (first, count) = (self.raw(first)?, self.v.word(values.len() as u32));
        let inside = self.b(Op::LessU, &[distance, count]);
        Ok(self.select(inside, value, first))
    }

    /// The value whose number has these bits.
    fn pick(&mut self, values: &[Value], bits: &[Value]) -> Value {
        let [rest @ .., top] = bits else { return values[0] };
        let (low, high) = values.split_at(values.len().min(1 << rest.len()));
        let low = self.pick(low, rest);
        if high.is_empty() {
            return low;
        }
        let high = self.pick(high, rest);
        self.select(*top, high, low)
    }

    fn write_relative(&mut self, first: Operand, distance: Value, value: Value) -> Result<(), Reason> {
        for (index, register) in (0_u32..).zip(self.reach(first)?) {
            let number = self.v.word(index);
            let hit = self.b(Op::Equal, &[distance, number]);
            if self.v.function.constant(hit) == Some(0) {
                continue;
            }
            let old = self.raw(register)?;
            let new = self.select(hit, value, old);
            match register {
                Operand::Vector(_) => self.set_vector(register, 0, new)?,
                _ => self.set_scalars(register, &[new])?,
            }
        }
        Ok(())
    }
}

fn not_a_register(operand: Operand) -> Reason {
    Reason::Internal(format!("{operand:?} is moved from or to by its number"))
}
