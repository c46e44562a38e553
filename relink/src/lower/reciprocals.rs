//! Reciprocals and reciprocal square roots, which every processor approximates in its own way, by square root and division:
//! each rounded correctly, and so the same everywhere.
//!
//! The approximations take no notice of the rounding mode, treat subnormal numbers as zero and raise no exception: so the
//! replacements set MXCSR accordingly, and put it back.

use iced_x86::{
    Code as Opcode, IcedError, Instruction, MemoryOperand, OpKind, Register,
    code_asm::{
        AsmRegisterXmm, AsmRegisterYmm, CodeAssembler, dword_ptr, ptr, qword_ptr, registers, rsp, xmm0, xmm1,
        xmm2, xmm3,
    },
};

use super::operand::{self, LOWERED};

/// Every exception masked, results and operands that are subnormal taken for zero, rounding to the nearest.
const CONTROL: i32 = 0x9fc0;
/// 1.0 in single precision.
const ONE: i32 = 0x3f80_0000;
/// The frame in bytes: MXCSR as it was and as it is here, a number, eight ones, a register.
const FRAME: i32 = 0x60;
const OWN_CONTROL: i32 = 4;
const NUMBER: i32 = 8;
const ONES: i32 = 0x10;
const SAVED: i32 = 0x30;

/// One of these instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reciprocal {
    /// Of the square root.
    root: bool,
    form: Form,
    register: AsmRegisterXmm,
    source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Four numbers; with VEX what lies above them becomes zero.
    Packed { vex: bool },
    /// Eight numbers.
    Wide,
    /// One; the others come from the register itself, or with VEX from another, and zero above.
    Scalar { others: Option<AsmRegisterXmm> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Register(AsmRegisterXmm),
    Memory(MemoryOperand),
}

/// The register with this number, of either size.
fn low(register: Register) -> Option<AsmRegisterXmm> {
    let number = u32::try_from(register.number()).ok()?;
    registers::get_xmm(Register::XMM0 + number)
}

fn wide(register: AsmRegisterXmm) -> Option<AsmRegisterYmm> {
    let number = u32::try_from(Register::from(register).number()).ok()?;
    registers::get_ymm(Register::YMM0 + number)
}

impl Reciprocal {
    /// What an instruction is, where it is one of these: its name and itself.
    pub(super) fn of(instruction: &Instruction) -> Option<(&'static str, Self)> {
        let packed = |vex| Form::Packed { vex };
        let others = || low(instruction.op1_register());
        let (name, root, form, source) = match instruction.code() {
            Opcode::Rcpps_xmm_xmmm128 => ("rcpps", false, packed(false), 1),
            Opcode::Rsqrtps_xmm_xmmm128 => ("rsqrtps", true, packed(false), 1),
            Opcode::Rcpss_xmm_xmmm32 => ("rcpss", false, Form::Scalar { others: None }, 1),
            Opcode::Rsqrtss_xmm_xmmm32 => ("rsqrtss", true, Form::Scalar { others: None }, 1),
            Opcode::VEX_Vrcpps_xmm_xmmm128 => ("vrcpps", false, packed(true), 1),
            Opcode::VEX_Vrsqrtps_xmm_xmmm128 => ("vrsqrtps", true, packed(true), 1),
            Opcode::VEX_Vrcpps_ymm_ymmm256 => ("vrcpps", false, Form::Wide, 1),
            Opcode::VEX_Vrsqrtps_ymm_ymmm256 => ("vrsqrtps", true, Form::Wide, 1),
            Opcode::VEX_Vrcpss_xmm_xmm_xmmm32 => (
                "vrcpss",
                false,
                Form::Scalar {
                    others: Some(others()?),
                },
                2,
            ),
            Opcode::VEX_Vrsqrtss_xmm_xmm_xmmm32 => (
                "vrsqrtss",
                true,
                Form::Scalar {
                    others: Some(others()?),
                },
                2,
            ),
            _ => return None,
        };
        let source = match instruction.op_kind(source) {
            OpKind::Register => Source::Register(low(instruction.op_register(source))?),
            _ => Source::Memory(operand::of(instruction)),
        };
        let register = low(instruction.op0_register())?;
        Some((
            name,
            Self {
                root,
                form,
                register,
                source,
            },
        ))
    }

    /// A register that the instruction does not name.
    fn spare(&self) -> AsmRegisterXmm {
        let named = |register: &AsmRegisterXmm| {
            let others = match self.form {
                Form::Scalar { others } => others,
                _ => None,
            };
            *register == self.register
                || Some(*register) == others
                || self.source == Source::Register(*register)
        };
        // At most three are named.
        [xmm0, xmm1, xmm2]
            .into_iter()
            .find(|register| !named(register))
            .unwrap_or(xmm3)
    }

    /// Writes the replacement, which follows `lea rsp, [rsp - RED_ZONE]; pushfq`.
    pub(super) fn assemble(self, a: &mut CodeAssembler) -> Result<(), IcedError> {
        let spare = self.spare();
        a.lea(rsp, qword_ptr(rsp - FRAME))?;
        a.stmxcsr(dword_ptr(rsp))?;
        a.mov(dword_ptr(rsp + OWN_CONTROL), CONTROL)?;
        a.ldmxcsr(dword_ptr(rsp + OWN_CONTROL))?;
        for word in 0..8 {
            a.mov(dword_ptr(rsp + ONES + 4 * word), ONE)?;
        }
        if let (Form::Wide, Some(spare), Some(register)) = (self.form, wide(spare), wide(self.register)) {
            a.vmovups(ptr(rsp + SAVED), spare)?;
            match self.source {
                Source::Register(from) => match wide(from) {
                    Some(from) => a.vmovups(spare, from)?,
                    None => return a.ud2(),
                },
                Source::Memory(from) => load(a, Opcode::VEX_Vmovups_ymm_ymmm256, spare.into(), from)?,
            }
            if self.root {
                a.vsqrtps(spare, spare)?;
            }
            a.vmovups(register, ptr(rsp + ONES))?;
            a.vdivps(register, register, spare)?;
            a.vmovups(spare, ptr(rsp + SAVED))?;
        } else {
            // Instructions without VEX leave the upper half of the spare register as it is.
            a.movups(ptr(rsp + SAVED), spare)?;
            let scalar = matches!(self.form, Form::Scalar { .. });
            match self.source {
                Source::Register(from) => a.movaps(spare, from)?,
                Source::Memory(from) if scalar => load(a, Opcode::Movss_xmm_xmmm32, spare.into(), from)?,
                Source::Memory(from) => load(a, Opcode::Movups_xmm_xmmm128, spare.into(), from)?,
            }
            match (scalar, self.root) {
                (true, true) => a.sqrtss(spare, spare)?,
                (false, true) => a.sqrtps(spare, spare)?,
                (_, false) => {}
            }
            match self.form {
                Form::Scalar { others } => {
                    a.movss(dword_ptr(rsp + NUMBER), spare)?;
                    a.movss(spare, dword_ptr(rsp + ONES))?;
                    a.divss(spare, dword_ptr(rsp + NUMBER))?;
                    match others {
                        Some(others) => a.vmovss_3(self.register, others, spare)?,
                        None => a.movss(self.register, spare)?,
                    }
                }
                Form::Packed { vex: true } => {
                    a.vmovups(self.register, ptr(rsp + ONES))?;
                    a.vdivps(self.register, self.register, spare)?;
                }
                _ => {
                    a.movups(self.register, ptr(rsp + ONES))?;
                    a.divps(self.register, spare)?;
                }
            }
            a.movups(spare, ptr(rsp + SAVED))?;
        }
        a.ldmxcsr(dword_ptr(rsp))?;
        a.lea(rsp, qword_ptr(rsp + FRAME))
    }
}

/// Loads the instruction's operand in memory.
fn load(
    a: &mut CodeAssembler,
    opcode: Opcode,
    register: Register,
    from: MemoryOperand,
) -> Result<(), IcedError> {
    let from = operand::below(from, LOWERED + i64::from(FRAME));
    a.add_instruction(Instruction::with2(opcode, register, from)?)
}
