//! Instructions to IR.
//!
//! One file per group of instructions; each takes the instructions it knows and leaves the rest, and what nobody
//! takes is refused by name.

mod compare;
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
mod scalar;
mod scalar_memory;
mod start;
mod variables;

use crate::artifact::Interface;
use crate::binary::{ShaderBinary, Stage, StageRegisters};
use crate::cfg::structured::{StructuredBlock, StructuredExit, StructuredId, Test};
use crate::cfg::{Cfg, Condition};
use crate::decode::{Encoding, Instruction};
use crate::ir::{Access, AccessKind, Function, Op, Terminator, Type, Value};
use crate::refusal::{Fault, Reason};
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
        instruction: first,
    };
    translator.start_state()?;
    for (index, block) in blocks.iter().enumerate() {
        let id = StructuredId(index as u32);
        if !translator.v.is_reached(id) {
            continue;
        }
        translator.v.start(id);
        translator.refine(id, blocks);
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
        translator.exit(block);
    }
    Ok((translator.v.into_function(), translator.interface))
}

impl<'a> Translator<'a> {
    fn stage(&self) -> Stage {
        self.registers.stage()
    }

    fn one(&mut self) -> Result<(), Reason> {
        let taken = match self.instruction.row.encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk => {
                self.scalar()? || self.mode()?
            }
            Encoding::Sopp => self.mode()?,
            Encoding::Smem => self.scalar_memory()?,
            Encoding::Vopc => self.compare()?,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 => {
                self.lanes()? || self.integer()? || self.float()?
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

    /// On an edge that tests a mask for zero, the lane knows its own bit.
    fn refine(&mut self, id: StructuredId, blocks: &[StructuredBlock]) {
        let [from] = self.v.function.blocks[id.0 as usize].predecessors[..] else {
            return;
        };
        let StructuredExit::Branch {
            test: Test::Guest(condition),
            yes,
            no,
        } = &blocks[from.0 as usize].exit
        else {
            return;
        };
        if yes == no {
            return;
        }
        let taken = *yes == id;
        let (mask, bit) = match condition {
            Condition::ExecZero => (self.v.read(Variable::Exec), !taken),
            Condition::ExecNonZero => (self.v.read(Variable::Exec), taken),
            Condition::VccZero => (self.v.read(Variable::Mask(106)), !taken),
            Condition::VccNonZero => (self.v.read(Variable::Mask(106)), taken),
            Condition::Scc0 | Condition::Scc1 => {
                let scc = self.v.read(Variable::Scc);
                let vote = self.v.function.inst(scc);
                if vote.op != Op::AnyLane {
                    return;
                }
                (
                    self.v.resolve(vote.operands[0]),
                    taken == (*condition == Condition::Scc1),
                )
            }
        };
        if self.v.function.constant(mask).is_none() {
            self.v.refine(from, mask, bit);
        }
    }

    fn exit(&mut self, block: &StructuredBlock) {
        let condition = match block.exit {
            StructuredExit::Branch {
                test: Test::Guest(condition),
                ..
            } => Some(self.condition(condition)),
            StructuredExit::Branch {
                test: Test::Route(route),
                ..
            } => {
                let current = self.v.read(Variable::Route);
                let expected = self.v.word(route);
                Some(self.v.emit(Op::Equal, Type::Bool, &[current, expected], 0))
            }
            _ => None,
        };
        let selector =
            matches!(block.exit, StructuredExit::Switch { .. }).then(|| self.v.read(Variable::Route));
        if let Some(route) = block.route {
            let value = self.v.word(route);
            self.v.write(Variable::Route, value);
        }
        let terminator = match (&block.exit, condition, selector) {
            (StructuredExit::End, ..) => Terminator::Return,
            (StructuredExit::Goto(to), ..) => Terminator::Jump(*to),
            (StructuredExit::Branch { yes, no, .. }, Some(condition), _) => Terminator::Branch {
                condition,
                yes: *yes,
                no: *no,
            },
            (StructuredExit::Switch { cases, default }, _, Some(selector)) => Terminator::Switch {
                selector,
                cases: cases.clone(),
                default: *default,
            },
            _ => Terminator::Unreachable,
        };
        self.v.finish(terminator);
    }

    /// A branch's condition as this lane sees it. Lanes that are off at a test of EXEC or VCC go the way of zero: they
    /// only skip work that is masked off for them.
    fn condition(&mut self, condition: Condition) -> Value {
        let (value, negate) = match condition {
            Condition::Scc0 => (self.own_vote(), true),
            Condition::Scc1 => (self.own_vote(), false),
            Condition::VccZero => (self.v.read(Variable::Mask(106)), true),
            Condition::VccNonZero => (self.v.read(Variable::Mask(106)), false),
            Condition::ExecZero => (self.v.read(Variable::Exec), true),
            Condition::ExecNonZero => (self.v.read(Variable::Exec), false),
        };
        if negate {
            self.v.emit(Op::LNot, Type::Bool, &[value], 0)
        } else {
            value
        }
    }

    /// SCC for a branch: where it is a vote, this lane's own bit.
    fn own_vote(&mut self) -> Value {
        let scc = self.v.read(Variable::Scc);
        let inst = self.v.function.inst(scc);
        if inst.op == Op::AnyLane {
            self.v.resolve(inst.operands[0])
        } else {
            scc
        }
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
            instruction: self.instruction.to_string(),
            kind,
            descriptors: SmallVec::new(),
        });
        self.v.function.accesses.len() as u64 - 1
    }
}
