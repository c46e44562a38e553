//! The SHA instructions in general registers, by their definition in Intel's manual.

use iced_x86::{
    Code as Opcode, IcedError, Instruction, MemoryOperand, OpKind,
    code_asm::{
        AsmMemoryOperand, AsmRegister32, AsmRegister64, AsmRegisterXmm, CodeAssembler, dword_ptr, eax, ecx,
        edx, ptr, qword_ptr, r8, r8d, r9, r9d, r10, r10d, r11, r11d, r12, r12d, r13, r13d, r14, r14d, r15,
        r15d, rax, rcx, rdx, registers, rsp, xmm0,
    },
};

use super::operand::{self, LOWERED};

/// Registers that the replacements use.
const SAVED: [AsmRegister64; 11] = [rax, rcx, rdx, r8, r9, r10, r11, r12, r13, r14, r15];
/// The words of a hash's state while it goes through rounds.
const STATE: [AsmRegister32; 8] = [r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d];
/// SHA-1's constants, one for 20 rounds each.
const ROUNDS_1: [i32; 4] = [
    0x5a82_7999,
    0x6ed9_eba1,
    0x8f1b_bcdc_u32.cast_signed(),
    0xca62_c1d6_u32.cast_signed(),
];

/// One of the SHA instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sha {
    operation: Operation,
    /// First operand and result.
    register: AsmRegisterXmm,
    source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// SHA1RNDS4: four rounds of one of four kinds.
    Rounds1(u8),
    /// SHA1NEXTE: the fifth word of the state, four rounds later, into the schedule.
    Next1,
    /// SHA1MSG1 and SHA1MSG2: the two steps to the next four words of the schedule.
    Schedule1,
    Scheduled1,
    /// SHA256RNDS2: two rounds.
    Rounds256,
    /// SHA256MSG1 and SHA256MSG2: as for SHA-1.
    Schedule256,
    Scheduled256,
}

/// Second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Register(AsmRegisterXmm),
    Memory(MemoryOperand),
}

/// Words of the first operand, of the second, and of `xmm0`, where [`Sha::assemble`] has put them; word 0 is the lowest.
fn first(word: i32) -> AsmMemoryOperand {
    dword_ptr(rsp + 4 * word)
}
fn second(word: i32) -> AsmMemoryOperand {
    dword_ptr(rsp + 16 + 4 * word)
}
fn third(word: i32) -> AsmMemoryOperand {
    dword_ptr(rsp + 32 + 4 * word)
}

impl Sha {
    /// What an instruction is, where it is one of these: its name and itself.
    pub(super) fn of(instruction: &Instruction) -> Option<(&'static str, Self)> {
        let (name, operation) = match instruction.code() {
            Opcode::Sha1rnds4_xmm_xmmm128_imm8 => {
                ("sha1rnds4", Operation::Rounds1(instruction.immediate8() & 3))
            }
            Opcode::Sha1nexte_xmm_xmmm128 => ("sha1nexte", Operation::Next1),
            Opcode::Sha1msg1_xmm_xmmm128 => ("sha1msg1", Operation::Schedule1),
            Opcode::Sha1msg2_xmm_xmmm128 => ("sha1msg2", Operation::Scheduled1),
            Opcode::Sha256rnds2_xmm_xmmm128 => ("sha256rnds2", Operation::Rounds256),
            Opcode::Sha256msg1_xmm_xmmm128 => ("sha256msg1", Operation::Schedule256),
            Opcode::Sha256msg2_xmm_xmmm128 => ("sha256msg2", Operation::Scheduled256),
            _ => return None,
        };
        let source = match instruction.op1_kind() {
            OpKind::Register => Source::Register(registers::get_xmm(instruction.op1_register())?),
            _ => Source::Memory(operand::of(instruction)),
        };
        let register = registers::get_xmm(instruction.op0_register())?;
        Some((
            name,
            Self {
                operation,
                register,
                source,
            },
        ))
    }

    /// Writes the replacement, which follows `lea rsp, [rsp - RED_ZONE]; pushfq`.
    pub(super) fn assemble(self, a: &mut CodeAssembler) -> Result<(), IcedError> {
        for saved in SAVED {
            a.push(saved)?;
        }
        // From the top: xmm0, the second operand, the first.
        a.lea(rsp, qword_ptr(rsp - 16))?;
        a.movups(ptr(rsp), xmm0)?;
        match self.source {
            Source::Register(from) => {
                a.lea(rsp, qword_ptr(rsp - 16))?;
                a.movups(ptr(rsp), from)?;
            }
            Source::Memory(operand) => {
                // Pushed in halves: that needs no register, so the operand's own are still as they were. The stack
                // pointer, which may be one of them, is not.
                let lowered = LOWERED + 8 * SAVED.len() as i64 + 16;
                for (half, pushed) in [(8, 0), (0, 8)] {
                    let mut operand = operand::below(operand, lowered + pushed);
                    operand.displacement += half;
                    a.add_instruction(Instruction::with1(Opcode::Push_rm64, operand)?)?;
                }
            }
        }
        a.lea(rsp, qword_ptr(rsp - 16))?;
        a.movups(ptr(rsp), self.register)?;
        match self.operation {
            Operation::Rounds1(kind) => rounds_1(a, kind)?,
            Operation::Next1 => {
                a.mov(eax, first(3))?;
                a.rol(eax, 30)?;
                a.add(eax, second(3))?;
                a.mov(first(3), eax)?;
                for word in 0..3 {
                    a.mov(eax, second(word))?;
                    a.mov(first(word), eax)?;
                }
            }
            Operation::Schedule1 => {
                for (word, with) in [(3, first(1)), (2, first(0)), (1, second(3)), (0, second(2))] {
                    a.mov(eax, with)?;
                    a.xor(first(word), eax)?;
                }
            }
            Operation::Scheduled1 => {
                // The last word takes the first one's result.
                for (word, with) in [(3, second(2)), (2, second(1)), (1, second(0)), (0, first(3))] {
                    a.mov(eax, with)?;
                    a.xor(eax, first(word))?;
                    a.rol(eax, 1)?;
                    a.mov(first(word), eax)?;
                }
            }
            Operation::Rounds256 => rounds_256(a)?,
            Operation::Schedule256 => {
                for (word, of) in [(0, first(1)), (1, first(2)), (2, first(3)), (3, second(0))] {
                    a.mov(edx, of)?;
                    mix(a, [7, 18], Last::Shift(3))?;
                    a.add(first(word), ecx)?;
                }
            }
            Operation::Scheduled256 => {
                // The last two words take the first two's results.
                for (word, of) in [(0, second(2)), (1, second(3)), (2, first(0)), (3, first(1))] {
                    a.mov(edx, of)?;
                    mix(a, [17, 19], Last::Shift(10))?;
                    a.add(first(word), ecx)?;
                }
            }
        }
        a.movups(self.register, ptr(rsp))?;
        a.lea(rsp, qword_ptr(rsp + 48))?;
        for saved in SAVED.into_iter().rev() {
            a.pop(saved)?;
        }
        Ok(())
    }
}

/// Four rounds of SHA-1. The fifth word of the state is in the first word of the schedule already.
fn rounds_1(a: &mut CodeAssembler, kind: u8) -> Result<(), IcedError> {
    let [mut state @ .., _, _, _] = STATE;
    for (word, register) in (0..4).rev().zip(state) {
        a.mov(register, first(word))?;
    }
    a.xor(state[4], state[4])?;
    for word in (0..4).rev() {
        let [s0, s1, s2, s3, s4] = state;
        match kind {
            0 => choose(a, s1, s2, s3)?,
            2 => majority(a, s1, s2, s3)?,
            _ => {
                a.mov(eax, s1)?;
                a.xor(eax, s2)?;
                a.xor(eax, s3)?;
            }
        }
        a.add(s4, eax)?;
        a.add(s4, second(word))?;
        a.mov(ecx, s0)?;
        a.rol(ecx, 5)?;
        a.add(s4, ecx)?;
        a.add(s4, ROUNDS_1[usize::from(kind)])?;
        a.rol(s1, 30)?;
        state.rotate_right(1);
    }
    for (word, register) in (0..4).rev().zip(state) {
        a.mov(first(word), register)?;
    }
    Ok(())
}

/// Two rounds of SHA-256.
fn rounds_256(a: &mut CodeAssembler) -> Result<(), IcedError> {
    let mut state = STATE;
    let halves = [
        second(3),
        second(2),
        first(3),
        first(2),
        second(1),
        second(0),
        first(1),
        first(0),
    ];
    for (register, word) in state.into_iter().zip(halves) {
        a.mov(register, word)?;
    }
    for round in 0..2 {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = state;
        a.add(s7, third(round))?;
        choose(a, s4, s5, s6)?;
        a.add(s7, eax)?;
        a.mov(edx, s4)?;
        mix(a, [6, 11], Last::Rotate(25))?;
        a.add(s7, ecx)?;
        a.add(s3, s7)?;
        majority(a, s0, s1, s2)?;
        a.add(s7, eax)?;
        a.mov(edx, s0)?;
        mix(a, [2, 13], Last::Rotate(22))?;
        a.add(s7, ecx)?;
        state.rotate_right(1);
    }
    for (word, register) in [(3, state[0]), (2, state[1]), (1, state[4]), (0, state[5])] {
        a.mov(first(word), register)?;
    }
    Ok(())
}

/// Into `eax`: bits of `y` where `x` has ones, of `z` elsewhere.
fn choose(
    a: &mut CodeAssembler,
    x: AsmRegister32,
    y: AsmRegister32,
    z: AsmRegister32,
) -> Result<(), IcedError> {
    a.mov(eax, y)?;
    a.xor(eax, z)?;
    a.and(eax, x)?;
    a.xor(eax, z)
}

/// Into `eax`: what at least two of three have. Changes `ecx`.
fn majority(
    a: &mut CodeAssembler,
    x: AsmRegister32,
    y: AsmRegister32,
    z: AsmRegister32,
) -> Result<(), IcedError> {
    a.mov(eax, x)?;
    a.or(eax, y)?;
    a.and(eax, z)?;
    a.mov(ecx, x)?;
    a.and(ecx, y)?;
    a.or(eax, ecx)
}

/// The third part of a mix.
enum Last {
    Rotate(u32),
    Shift(u32),
}

/// Into `ecx`: `edx` rotated right by two distances and rotated or shifted by a third, combined by exclusive or. Changes
/// `eax` and `edx`.
fn mix(a: &mut CodeAssembler, rotations: [u32; 2], last: Last) -> Result<(), IcedError> {
    a.mov(ecx, edx)?;
    a.ror(ecx, rotations[0])?;
    a.mov(eax, edx)?;
    a.ror(eax, rotations[1])?;
    a.xor(ecx, eax)?;
    match last {
        Last::Rotate(distance) => a.ror(edx, distance)?,
        Last::Shift(distance) => a.shr(edx, distance)?,
    }
    a.xor(ecx, edx)
}
