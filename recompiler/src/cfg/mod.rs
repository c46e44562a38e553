//! Reachable code as basic blocks.

pub(crate) mod structure;
pub(crate) mod structured;

use crate::binary::ShaderBinary;
use crate::decode::{Encoding, Instruction, decode, op};
use crate::refusal::{Fault, ProgramCounter, Reason};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// Most instructions a program may have; the largest known titles' shaders stay below a tenth of it.
const MAX_INSTRUCTIONS: usize = 1 << 18;
/// Most basic blocks.
const MAX_BLOCKS: usize = 1 << 14;

/// Index of a basic block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BlockId(pub u32);

/// What a conditional branch tests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Condition {
    Scc0,
    Scc1,
    VccZero,
    VccNonZero,
    ExecZero,
    ExecNonZero,
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    End,
    Goto(BlockId),
    Branch {
        condition: Condition,
        taken: BlockId,
        next: BlockId,
    },
}

/// A basic block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub instructions: Range<usize>,
    pub exit: Exit,
}

/// A program's reachable code. Block 0 is the entry.
#[derive(Clone, Debug)]
pub(crate) struct Cfg {
    pub instructions: Vec<Instruction>,
    pub blocks: Vec<Block>,
    /// First byte behind the last reachable instruction.
    pub end: ProgramCounter,
}

impl Cfg {
    pub fn successors(&self, block: BlockId) -> impl Iterator<Item = BlockId> {
        let (first, second) = match self.blocks[block.0 as usize].exit {
            Exit::End => (None, None),
            Exit::Goto(to) => (Some(to), None),
            Exit::Branch { taken, next, .. } => (Some(taken), Some(next)),
        };
        first.into_iter().chain(second)
    }
}

fn condition(instruction: &Instruction) -> Option<Condition> {
    Some(match instruction.opcode() {
        op::S_CBRANCH_SCC0 => Condition::Scc0,
        op::S_CBRANCH_SCC1 => Condition::Scc1,
        op::S_CBRANCH_VCCZ => Condition::VccZero,
        op::S_CBRANCH_VCCNZ => Condition::VccNonZero,
        op::S_CBRANCH_EXECZ => Condition::ExecZero,
        op::S_CBRANCH_EXECNZ => Condition::ExecNonZero,
        _ => return None,
    })
}

fn ends(instruction: &Instruction) -> bool {
    matches!(
        instruction.opcode(),
        op::S_ENDPGM | op::S_ENDPGM_SAVED | op::S_ENDPGM_ORDERED_PS_DONE
    )
}

/// Decodes what is reachable from the first word and cuts it into blocks.
///
/// # Errors
/// Unknown words, branches that leave the code, jumps through registers, or too large a program.
pub(crate) fn build(binary: &ShaderBinary<'_>) -> Result<Cfg, Fault> {
    let mut decoded: HashMap<u32, Instruction> = HashMap::new();
    let mut leaders = BTreeSet::from([0_u32]);
    let mut work = vec![ProgramCounter(0)];
    while let Some(start) = work.pop() {
        let mut at = start;
        loop {
            if decoded.contains_key(&at.0) {
                break;
            }
            if decoded.len() >= MAX_INSTRUCTIONS {
                return Err(Reason::TooLarge(MAX_INSTRUCTIONS, "instructions").into());
            }
            let instruction = decode(binary.code, at, binary.dialect).map_err(|reason| {
                let word = binary.code.get((at.0 / 4) as usize).copied();
                Fault::from(reason).at(at, || {
                    word.map_or_else(|| String::from("end of code"), |w| format!("{w:08x}"))
                })
            })?;
            decoded.insert(at.0, instruction);
            let branches = condition(&instruction).is_some();
            if branches || instruction.opcode() == op::S_BRANCH {
                let target = instruction.branch_target();
                let inside = u32::try_from(target)
                    .ok()
                    .filter(|t| (*t / 4) < binary.code.len() as u32);
                let Some(target) = inside else {
                    return Err(Fault::from(Reason::BranchOutside(target)).at(at, || instruction.to_string()));
                };
                leaders.insert(target);
                work.push(ProgramCounter(target));
                if !branches {
                    break;
                }
                leaders.insert(instruction.next().0);
            }
            if ends(&instruction) {
                break;
            }
            let jumps = matches!(
                instruction.opcode(),
                op::S_SETPC_B64 | op::S_SWAPPC_B64 | op::S_CALL_B64 | op::S_RFE_B64
            ) || instruction.row.encoding == Encoding::Sopp
                && instruction.row.name.starts_with("S_CBRANCH")
                && !branches;
            if jumps {
                let reason = Reason::Unsupported("jumps through registers and calls are not followed");
                return Err(Fault::from(reason).at(at, || instruction.to_string()));
            }
            at = instruction.next();
        }
    }
    // A leader inside another instruction means that two decodings overlap: both are kept, each from its leader.
    if leaders.len() > MAX_BLOCKS {
        return Err(Reason::TooLarge(MAX_BLOCKS, "basic blocks").into());
    }
    let ids: HashMap<u32, BlockId> = leaders
        .iter()
        .enumerate()
        .map(|(index, &leader)| (leader, BlockId(index as u32)))
        .collect();
    let block_at = |at: ProgramCounter| {
        ids.get(&at.0)
            .copied()
            .ok_or_else(|| Fault::from(Reason::Internal(format!("no block at {at}"))))
    };
    let mut cfg = Cfg {
        instructions: Vec::with_capacity(decoded.len()),
        blocks: Vec::with_capacity(leaders.len()),
        end: decoded.values().map(Instruction::next).max().unwrap_or_default(),
    };
    for &leader in &leaders {
        let first = cfg.instructions.len();
        let mut at = ProgramCounter(leader);
        let exit = loop {
            let Some(&instruction) = decoded.get(&at.0) else {
                return Err(Reason::Internal(format!("no instruction at {at}")).into());
            };
            if cfg.instructions.len() >= 2 * MAX_INSTRUCTIONS {
                return Err(Reason::TooLarge(MAX_INSTRUCTIONS, "instructions").into());
            }
            if ends(&instruction) {
                break Exit::End;
            }
            let target = || {
                block_at(ProgramCounter(
                    u32::try_from(instruction.branch_target()).unwrap_or(u32::MAX),
                ))
            };
            if let Some(condition) = condition(&instruction) {
                let (taken, next) = (target()?, block_at(instruction.next())?);
                break if taken == next {
                    Exit::Goto(next)
                } else {
                    Exit::Branch {
                        condition,
                        taken,
                        next,
                    }
                };
            }
            if instruction.opcode() == op::S_BRANCH {
                break Exit::Goto(target()?);
            }
            cfg.instructions.push(instruction);
            at = instruction.next();
            if let Some(&next) = ids.get(&at.0) {
                break Exit::Goto(next);
            }
        };
        cfg.blocks.push(Block {
            instructions: first..cfg.instructions.len(),
            exit,
        });
    }
    Ok(cfg)
}
