//! Instructions to IR.
//!
//! One file per group of instructions; each takes the instructions it knows and leaves the rest, and what nobody
//! takes is refused by name.

mod branch;
mod bytes;
mod compare;
mod convert;
mod data_share;
pub(crate) mod export;
mod float;
pub(crate) mod fold;
pub(crate) mod image;
mod integer;
pub(crate) mod lanes;
mod memory;
mod mode;
mod operand;
mod packed;
mod pointer;
mod relative;
mod scalar;
mod scalar_bits;
mod scalar_compare;
mod scalar_memory;
mod scratch;
mod start;
mod variables;

use crate::artifact::Interface;
use crate::binary::{ShaderBinary, Stage, StageRegisters};
use crate::cfg::Cfg;
use crate::cfg::structured::{StructuredBlock, StructuredId};
use crate::decode::{Encoding, Instruction, Operand};
use crate::ir::{Access, AccessKind, Encoded, Function, Op, Terminator, Type, Value};
use crate::refusal::{Fault, Reason};
use branch::Graph;
use smallvec::SmallVec;
use variables::{Variable, Variables};

/// Most values a program may grow to.
const MAX_VALUES: usize = 1 << 22;

/// Whether a group took the instruction.
type Taken = Result<bool, Reason>;

pub(crate) struct Translator<'a> {
    registers: StageRegisters,
    wave: u32,
    v: Variables,
    interface: Interface,
    /// Global memory goes through guest pointers.
    pointers: bool,
    /// Scalar registers that hold lane masks, as [`relative::masks`] finds them.
    masks: u128,
    instruction: &'a Instruction,
}

/// Translates a structured program.
///
/// # Errors
/// The first instruction without a translation.
pub(crate) fn translate(
    binary: &ShaderBinary<'_>,
    cfg: &Cfg,
    blocks: &[StructuredBlock],
    pointers: bool,
) -> Result<(Function, Interface), Fault> {
    let registers = binary.stage;
    let wave = registers.wave_size();
    let Some(first) = cfg.instructions.first() else {
        let mut v = Variables::new(blocks, wave);
        v.finish(Terminator::Return);
        return Ok((v.into_function(), Interface::default()));
    };
    let mut translator = Translator {
        registers,
        wave,
        v: Variables::new(blocks, wave),
        interface: Interface {
            float_mode: (registers.resources().0 >> 12) as u8,
            ..Interface::default()
        },
        pointers,
        masks: if cfg
            .instructions
            .iter()
            .any(|i| i.row.name.starts_with("S_MOVREL"))
        {
            relative::masks(&cfg.instructions, wave)
        } else {
            0
        },
        instruction: first,
    };
    translator.start_state()?;
    let graph = Graph { cfg, blocks };
    for (index, block) in blocks.iter().enumerate() {
        let id = StructuredId(index as u32);
        if !translator.v.is_reached(id) {
            continue;
        }
        translator.v.start(id);
        translator.refine(id, &graph);
        if let Some(code) = block.code {
            for instruction in &cfg.instructions[cfg.blocks[code.0 as usize].instructions.clone()] {
                translator.instruction = instruction;
                translator.one().map_err(|reason| {
                    Fault::from(reason).at(instruction.program_counter, || instruction.to_string())
                })?;
                if translator.v.function.insts.len() > MAX_VALUES {
                    return Err(Reason::TooLarge(MAX_VALUES, "values").into());
                }
            }
        }
        translator.exit(block, &graph);
    }
    Ok((translator.v.into_function(), translator.interface))
}

impl<'a> Translator<'a> {
    fn stage(&self) -> Stage {
        self.registers.stage()
    }

    fn one(&mut self) -> Result<(), Reason> {
        self.check_alignment()?;
        let taken = match self.instruction.row.encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk => {
                self.scalar()? || self.relative_scalar()? || self.mode()?
            }
            Encoding::Sopp => self.mode()?,
            Encoding::Smem => self.scalar_memory()?,
            Encoding::Vopc => self.compare()?,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 => {
                self.lanes()?
                    || self.integer()?
                    || self.float()?
                    || self.packed_accumulate()?
                    || self.relative_vector()?
            }
            Encoding::Vop3p => self.packed()?,
            Encoding::Vintrp => self.interpolate()?,
            Encoding::Ds => self.data_share()?,
            Encoding::Flat | Encoding::Scratch | Encoding::Global => self.flat_memory()?,
            Encoding::Mubuf | Encoding::Mtbuf => self.buffer()?,
            Encoding::Mimg => self.image()?,
            Encoding::Exp => self.export()?,
        };
        if taken { Ok(()) } else { Err(Reason::Untranslated) }
    }

    /// Pairs of scalar registers start at an even one, longer tuples at a multiple of four. What the chip makes of
    /// others is not documented.
    fn check_alignment(&self) -> Result<(), Reason> {
        let instruction = self.instruction;
        let row = instruction.row;
        let slots = [
            (row.width('d'), instruction.dst),
            (row.width('a'), instruction.src[0]),
            (row.width('b'), instruction.src[1]),
            (row.width('c'), instruction.src[2]),
        ];
        let off = slots.iter().any(|&(width, operand)| match operand {
            Operand::Scalar(register) if register < 106 => {
                width == 2 && register & 1 != 0 || width > 2 && register & 3 != 0
            }
            _ => false,
        });
        // Lane masks of waves of 64 are pairs.
        let masks = [
            (row.encoding == Encoding::Vopc).then_some(instruction.dst),
            Some(instruction.scalar_dst),
        ];
        let off = off
            || self.wave == 64
                && masks.iter().flatten().any(
                    |mask| matches!(mask, Operand::Scalar(register) if *register < 106 && register & 1 != 0),
                );
        if off {
            return Err(Reason::Unsupported(
                "scalar registers that start off their alignment",
            ));
        }
        Ok(())
    }

    fn u(&mut self, op: Op, operands: &[Value]) -> Value {
        self.v.emit(op, Type::U32, operands, 0)
    }

    fn f(&mut self, op: Op, operands: &[Value]) -> Value {
        self.v.emit(op, Type::F32, operands, 0)
    }

    fn b(&mut self, op: Op, operands: &[Value]) -> Value {
        self.v.emit(op, Type::Bool, operands, 0)
    }

    fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        let ty = self.v.function.ty(yes);
        self.v.emit(Op::Select, ty, &[condition, yes, no], 0)
    }

    /// Whether any lane has it. EXEC goes with it: where all lanes that are on agree, no vote is needed.
    fn any_lane(&mut self, truth: Value) -> Value {
        let exec = self.v.read(Variable::Exec);
        self.b(Op::AnyLane, &[truth, exec])
    }

    fn word(&mut self, bits: u32) -> Value {
        self.v.word(bits)
    }

    /// Adds the static part of a memory operation and yields its index.
    fn access(&mut self, kind: AccessKind) -> u64 {
        self.v.function.accesses.push(Access {
            program_counter: self.instruction.program_counter,
            encoded: Encoded {
                words: self.instruction.words,
                dialect: self.instruction.dialect,
            },
            kind,
            descriptors: SmallVec::new(),
        });
        self.v.function.accesses.len() as u64 - 1
    }
}
