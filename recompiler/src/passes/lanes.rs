//! Reading a lane of a value that all lanes share is the value itself.

use crate::cfg::structured::{Merge, StructuredId};
use crate::ir::{Effect, Function, Op, Terminator, Value};
use hashbrown::HashMap;

pub(crate) fn drop_uniform_reads(function: &mut Function) {
    let divergent = divergence(function);
    let mut forward: HashMap<Value, Value> = HashMap::new();
    for block in &function.blocks {
        for &value in &block.insts {
            let inst = function.inst(value);
            let uniform = |operand: Value| !divergent[operand.0 as usize];
            if matches!(inst.op, Op::ReadFirstLane | Op::ReadLane) && uniform(inst.operands[0]) {
                forward.insert(value, inst.operands[0]);
            }
        }
    }
    if forward.is_empty() {
        return;
    }
    let resolve = |mut value: Value| {
        while let Some(&next) = forward.get(&value) {
            value = next;
        }
        value
    };
    for block in &mut function.blocks {
        block.insts.retain(|value| !forward.contains_key(value));
        match &mut block.terminator {
            Terminator::Branch { condition: value, .. } | Terminator::Switch { selector: value, .. } => {
                *value = resolve(*value);
            }
            _ => {}
        }
    }
    for inst in &mut function.insts {
        for operand in &mut inst.operands {
            *operand = resolve(*operand);
        }
    }
}

/// Which values may differ between the lanes of a wave.
///
/// A phi of equal-in-all-lanes operands is divergent only where lanes that a divergent branch parted meet: at the
/// branch's merge block and at the blocks that its arms jump to. A value made in a loop that lanes leave in different
/// rounds is divergent when it is used behind the loop.
pub(crate) fn divergence(function: &Function) -> Vec<bool> {
    let count = function.blocks.len();
    let mut divergent = vec![false; function.insts.len()];
    let mut joins = vec![false; count];
    let mut home = vec![usize::MAX; function.insts.len()];
    for (number, block) in function.blocks.iter().enumerate() {
        for &value in &block.insts {
            home[value.0 as usize] = number;
        }
    }
    loop {
        let mut changed = false;
        for block in 0..count {
            if !function
                .terminator_operand(block)
                .is_some_and(|value| divergent[value.0 as usize])
            {
                continue;
            }
            let end = match function.blocks[block].merge {
                Merge::Selection(merge) => merge.0 as usize,
                _ => count,
            };
            let mut join = |to: usize| changed |= !std::mem::replace(&mut joins[to], true);
            if end < count {
                join(end);
            }
            for inside in block..end {
                for to in function.successors(StructuredId(inside as u32)) {
                    let to = to.0 as usize;
                    if to <= block || to >= end {
                        join(to);
                    }
                }
            }
        }
        // Loops that lanes leave apart: a divergent branch inside has an arm that jumps to the merge block.
        for head in 0..count {
            let Merge::Loop { merge, .. } = function.blocks[head].merge else {
                continue;
            };
            let merge = merge.0 as usize;
            if !joins[merge] {
                continue;
            }
            for block in (0..head).chain(merge..count) {
                let used = function.blocks[block]
                    .insts
                    .iter()
                    .flat_map(|v| function.inst(*v).operands.iter().copied());
                for value in used.chain(function.terminator_operand(block)) {
                    let made = home[value.0 as usize];
                    if made >= head && made < merge {
                        changed |= !std::mem::replace(&mut divergent[value.0 as usize], true);
                    }
                }
            }
        }
        for (number, block) in function.blocks.iter().enumerate() {
            for &value in &block.insts {
                if divergent[value.0 as usize] {
                    continue;
                }
                let inst = function.inst(value);
                let any = inst.operands.iter().any(|operand| divergent[operand.0 as usize]);
                let is = match inst.op {
                    Op::LocalId
                    | Op::LocalIndex
                    | Op::LaneId
                    | Op::VertexIndex
                    | Op::InstanceIndex
                    | Op::FragCoord
                    | Op::FrontFacing
                    | Op::SampleId
                    | Op::SampleMaskIn
                    | Op::Layer
                    | Op::Barycentric
                    | Op::Attribute
                    | Op::InverseBallot
                    | Op::LoadScratch
                    | Op::Refused => true,
                    Op::BallotLow | Op::BallotHigh | Op::AnyLane | Op::ReadFirstLane | Op::ReadLane => false,
                    Op::Phi => {
                        any || joins[number] && inst.operands.windows(2).any(|pair| pair[0] != pair[1])
                    }
                    op if op.effect() == Effect::Writes => true,
                    _ => any,
                };
                if is {
                    divergent[value.0 as usize] = true;
                    changed = true;
                }
            }
        }
        if !changed {
            return divergent;
        }
    }
}

/// Blocks that all invocations of a workgroup pass together, where a barrier may stand. Lanes that a divergent branch
/// parted are together again at its merge block, unless an arm jumps further: then what lies up to its target is
/// passed by the rest alone, and a loop that some lanes have left altogether is run by the rest alone.
pub(crate) fn uniform_blocks(function: &Function) -> Vec<bool> {
    let divergent = divergence(function);
    let count = function.blocks.len();
    let mut uniform = vec![true; count];
    let mut spoil = |from: usize, to: usize| {
        for block in uniform.iter_mut().take(to).skip(from) {
            *block = false;
        }
    };
    // Blocks lie in order and constructs are contiguous.
    let loop_left_at = |target: usize, from: usize| {
        (0..from).find(|head| {
            matches!(function.blocks[*head].merge, Merge::Loop { merge, .. } if merge.0 as usize == target)
        })
    };
    for block in 0..count {
        if !function
            .terminator_operand(block)
            .is_some_and(|value| divergent[value.0 as usize])
        {
            continue;
        }
        let end = match function.blocks[block].merge {
            Merge::Selection(merge) => merge.0 as usize,
            _ => count,
        };
        spoil(block + 1, end);
        for inside in block..end {
            if matches!(function.blocks[inside].terminator, Terminator::Return) {
                spoil(0, count);
            }
            for to in function.successors(StructuredId(inside as u32)) {
                let to = to.0 as usize;
                if to > end {
                    spoil(end, to);
                    if let Some(head) = loop_left_at(to, block) {
                        spoil(head, to);
                    }
                } else if to <= block {
                    spoil(to, end);
                }
            }
        }
    }
    uniform
}
