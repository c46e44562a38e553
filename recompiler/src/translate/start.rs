//! Registers as the hardware leaves them at a program's start.

use super::Translator;
use super::variables::Variable;
use crate::binary::StageRegisters;
use crate::ir::{Op, Type, Value};
use crate::refusal::{Fault, Reason};

impl Translator<'_> {
    fn input(&mut self, op: Op, immediate: u64) -> Value {
        self.v.emit(op, Type::U32, &[], immediate)
    }

    fn set_input(&mut self, register: u8, value: Value) {
        self.v.write(Variable::Vector(register), value);
    }

    pub(super) fn start_state(&mut self) -> Result<(), Fault> {
        self.v.start(crate::cfg::structured::StructuredId(0));
        let count = self.registers.user_data_count();
        let first = match self.registers {
            StageRegisters::Vertex { merged: true, .. } => 8,
            _ => 0,
        };
        if first + count > 104 {
            return Err(Reason::Unsupported("more user data than scalar registers").into());
        }
        for index in 0..count {
            let value = self.input(Op::UserData, u64::from(index));
            self.v.write_scalar((first + index) as u8, value);
        }
        match self.registers {
            StageRegisters::Compute {
                rsrc2, num_thread, ..
            } => self.start_compute(count, rsrc2, num_thread),
            StageRegisters::Vertex { merged, .. } => {
                let vertex = self.input(Op::VertexIndex, 0);
                let instance = self.input(Op::InstanceIndex, 0);
                if merged {
                    // Waves are full: as many vertices and primitives as lanes, in wave 0 of the subgroup.
                    let lanes = self.wave;
                    let subgroup = self.v.word(lanes << 12 | lanes << 22);
                    let wave = self.v.word(lanes | lanes << 8);
                    self.v.write_scalar(2, subgroup);
                    self.v.write_scalar(3, wave);
                    self.start_scratch(5);
                    self.set_input(5, vertex);
                    self.set_input(8, instance);
                } else {
                    self.start_scratch(count as u8);
                    self.set_input(0, vertex);
                    self.set_input(3, instance);
                }
            }
            StageRegisters::Pixel { input_addr, .. } => {
                // Behind the mask of primitives.
                self.start_scratch(count as u8 + 1);
                self.start_pixel(input_addr);
            }
        }
        Ok(())
    }

    /// The wave's place in the scratch ring, where the program has any of it.
    fn start_scratch(&mut self, register: u8) {
        if self.registers.scratch() > 0 {
            let start = self.input(Op::ScratchStart, 0);
            self.v.write_scalar(register, start);
        }
    }

    fn start_compute(&mut self, user_data: u32, rsrc2: u32, num_thread: [u32; 3]) {
        let mut next = user_data as u8;
        for axis in 0..3_u32 {
            if rsrc2 >> (7 + axis) & 1 != 0 {
                let id = self.input(Op::WorkgroupId, u64::from(axis));
                self.v.write_scalar(next, id);
                next += 1;
            }
        }
        if rsrc2 >> 10 & 1 != 0 {
            // Waves in the group in bits 5:0, this wave's number from bit 6.
            let threads: u32 = num_thread
                .iter()
                .fold(1, |all, n| all.saturating_mul((*n).max(1)));
            let waves = self.v.word(threads.div_ceil(self.wave) & 63);
            let index = self.input(Op::LocalIndex, 0);
            let (shift, six) = (self.v.word(self.wave.trailing_zeros()), self.v.word(6));
            let number = self.u(Op::Shr, &[index, shift]);
            let number = self.u(Op::Shl, &[number, six]);
            let value = self.u(Op::Or, &[number, waves]);
            self.v.write_scalar(next, value);
            next += 1;
        }
        self.start_scratch(next);
        let components = (rsrc2 >> 11 & 3).min(2);
        for axis in 0..=components {
            let value = if num_thread[axis as usize] <= 1 {
                self.v.word(0)
            } else {
                self.input(Op::LocalId, u64::from(axis))
            };
            self.set_input(axis as u8, value);
        }
    }

    fn start_pixel(&mut self, input_addr: u32) {
        let mut next = 0_u8;
        for bit in 0..16_u32 {
            if input_addr >> bit & 1 == 0 {
                continue;
            }
            match bit {
                0..=6 => {
                    let registers = if bit == 3 { 3 } else { 2 };
                    for component in 0..registers {
                        let mark = self.input(Op::Barycentric, u64::from(bit * 4 + component));
                        self.set_input(next, mark);
                        next += 1;
                    }
                    continue;
                }
                8..=11 => {
                    let mut value = self.v.emit(Op::FragCoord, Type::F32, &[], u64::from(bit - 8));
                    if bit == 11 {
                        // The hardware gives w, the API its reciprocal.
                        let one = self.v.constant(Type::F32, 0x3f80_0000);
                        value = self.f(Op::FDiv, &[one, value]);
                    }
                    let word = self.u(Op::BitcastU32, &[value]);
                    self.set_input(next, word);
                }
                12 => {
                    let front = self.b(Op::FrontFacing, &[]);
                    let (all, none) = (self.v.word(u32::MAX), self.v.word(0));
                    let word = self.select(front, all, none);
                    self.set_input(next, word);
                }
                13 => {
                    let (sample, eight) = (self.input(Op::SampleId, 0), self.v.word(8));
                    let (layer, sixteen) = (self.input(Op::Layer, 0), self.v.word(16));
                    let sample = self.u(Op::Shl, &[sample, eight]);
                    let layer = self.u(Op::Shl, &[layer, sixteen]);
                    let word = self.u(Op::Or, &[sample, layer]);
                    self.set_input(next, word);
                }
                14 => {
                    let mask = self.input(Op::SampleMaskIn, 0);
                    self.set_input(next, mask);
                }
                15 => {
                    // Whole pixel position, x in the low half.
                    let mut words = [self.v.word(0); 2];
                    for (component, word) in words.iter_mut().enumerate() {
                        let value = self.v.emit(Op::FragCoord, Type::F32, &[], component as u64);
                        *word = self.u(Op::F32ToU32, &[value]);
                    }
                    let sixteen = self.v.word(16);
                    let high = self.u(Op::Shl, &[words[1], sixteen]);
                    let word = self.u(Op::Or, &[words[0], high]);
                    self.set_input(next, word);
                }
                _ => {}
            }
            next += 1;
        }
    }
}
