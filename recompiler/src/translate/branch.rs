//! Branches as one lane sees them.
//!
//! A wave branches together, on whether any lane has its bit in a mask. One invocation is one lane here, and may branch
//! on its own bit where that comes to the same: where lanes without the bit have nothing to do on the way that they
//! do not take, because EXEC keeps them from it, at the branch already or first thing behind it. Everywhere else the
//! branch stays a vote.

use super::Translator;
use super::variables::Variable;
use crate::cfg::structured::{StructuredBlock, StructuredExit, StructuredId, Test};
use crate::cfg::{Cfg, Condition};
use crate::decode::{Encoding, Instruction, Operand, op};
use crate::ir::{Op, Terminator, Type, Value};

/// EXEC's scalar register number; EXEC_HI follows.
const EXEC: u8 = 126;
/// Structured blocks without code that are looked through.
const MAX_STEPS: u32 = 16;

/// The program's shape.
pub(super) struct Graph<'a> {
    pub cfg: &'a Cfg,
    pub blocks: &'a [StructuredBlock],
}

/// What an instruction at a branch's target says about lanes without a bit in the mask tested.
enum Narrowing {
    /// Nothing: it is scalar work that they share.
    Open,
    /// From here on EXEC keeps them off.
    Off,
    /// They may take part.
    Unknown,
}

impl Translator<'_> {
    /// On an edge that tests a mask for zero, the lane knows its own bit.
    pub(super) fn refine(&mut self, id: StructuredId, graph: &Graph<'_>) {
        let [from] = self.v.function.blocks[id.0 as usize].predecessors[..] else {
            return;
        };
        let StructuredExit::Branch {
            test: Test::Guest(condition),
            yes,
            no,
        } = &graph.blocks[from.0 as usize].exit
        else {
            return;
        };
        if yes == no {
            return;
        }
        let Some((mask, non_zero)) = self.tested(*condition) else {
            return;
        };
        let bit = (*yes == id) == non_zero;
        let set = if non_zero { *yes } else { *no };
        // Where some lane has the bit, this one may not, unless it came here by its own.
        if bit && !self.is_own(mask, set, graph) {
            return;
        }
        if self.v.function.constant(mask).is_none() {
            self.v.refine(from, mask, bit);
        }
    }

    pub(super) fn exit(&mut self, block: &StructuredBlock, graph: &Graph<'_>) {
        let condition = match block.exit {
            StructuredExit::Branch {
                test: Test::Guest(condition),
                yes,
                no,
            } => Some(self.condition(condition, yes, no, graph)),
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

    /// The mask that a condition tests, and whether the branch is taken when it is not zero. `None` for an SCC that is
    /// no vote.
    fn tested(&mut self, condition: Condition) -> Option<(Value, bool)> {
        Some(match condition {
            Condition::ExecZero => (self.v.read(Variable::Exec), false),
            Condition::ExecNonZero => (self.v.read(Variable::Exec), true),
            Condition::VccZero => (self.v.read(Variable::Mask(106)), false),
            Condition::VccNonZero => (self.v.read(Variable::Mask(106)), true),
            Condition::Scc0 | Condition::Scc1 => {
                let scc = self.v.read(Variable::Scc);
                let vote = self.v.function.inst(scc);
                if vote.op != Op::AnyLane {
                    return None;
                }
                let mask = self.v.resolve(vote.operands[0]);
                (mask, condition == Condition::Scc1)
            }
        })
    }

    fn condition(
        &mut self,
        condition: Condition,
        yes: StructuredId,
        no: StructuredId,
        graph: &Graph<'_>,
    ) -> Value {
        let (value, non_zero) = match self.tested(condition) {
            Some((mask, non_zero)) => {
                let set = if non_zero { yes } else { no };
                if self.is_own(mask, set, graph) {
                    (mask, non_zero)
                } else {
                    (self.any_lane(mask), non_zero)
                }
            }
            None => (self.v.read(Variable::Scc), condition == Condition::Scc1),
        };
        if non_zero {
            value
        } else {
            self.v.emit(Op::LNot, Type::Bool, &[value], 0)
        }
    }

    /// Whether lanes without a bit in `mask` have nothing to do on the way `set`, which is gone when some lane has one.
    fn is_own(&mut self, mask: Value, set: StructuredId, graph: &Graph<'_>) -> bool {
        let exec = self.v.read(Variable::Exec);
        if self.implies(exec, mask) {
            return true;
        }
        let mut at = set;
        let mut written: Vec<u8> = Vec::new();
        for _ in 0..MAX_STEPS {
            let block = &graph.blocks[at.0 as usize];
            if let Some(code) = block.code {
                let range = graph.cfg.blocks[code.0 as usize].instructions.clone();
                for instruction in &graph.cfg.instructions[range] {
                    match self.narrows(instruction, mask, &mut written) {
                        Narrowing::Open => {}
                        Narrowing::Off => return true,
                        Narrowing::Unknown => return false,
                    }
                }
            }
            match block.exit {
                StructuredExit::Goto(to) => at = to,
                _ => return false,
            }
        }
        false
    }

    fn narrows(&mut self, instruction: &Instruction, mask: Value, written: &mut Vec<u8>) -> Narrowing {
        if !matches!(
            instruction.row.encoding,
            Encoding::Sop1
                | Encoding::Sop2
                | Encoding::Sopk
                | Encoding::Sopc
                | Encoding::Sopp
                | Encoding::Smem
        ) || instruction.opcode() == op::S_BARRIER
        {
            return Narrowing::Unknown;
        }
        let mut holds = |operand: Operand| match operand {
            Operand::Scalar(register) if register < EXEC && !written.contains(&register) => {
                self.v.read(Variable::Mask(register)) == mask
            }
            _ => false,
        };
        let [first, second, ..] = instruction.src;
        let to_exec = instruction.dst == Operand::Scalar(EXEC);
        let off = match instruction.opcode() {
            op::S_MOV_B64 | op::S_MOV_B32 if to_exec => holds(first),
            op::S_AND_B64 | op::S_AND_B32 if to_exec => holds(first) || holds(second),
            op::S_AND_SAVEEXEC_B64 | op::S_AND_SAVEEXEC_B32 => holds(first),
            _ => false,
        };
        if off {
            return Narrowing::Off;
        }
        let name = instruction.row.name;
        if name.contains("SAVEEXEC") || name.contains("WREXEC") {
            return Narrowing::Unknown;
        }
        match instruction.dst {
            Operand::Scalar(EXEC | 127) => Narrowing::Unknown,
            Operand::Scalar(register) => {
                let width = instruction.row.width('d').max(1);
                // A mask is its pair's, whichever word changes.
                written.extend((0..width).flat_map(|index| [register + index, (register + index) & !1]));
                Narrowing::Open
            }
            _ => Narrowing::Open,
        }
    }
}
