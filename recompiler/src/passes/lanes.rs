//! Reading a lane of a value that all lanes share is the value itself.

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

/// Which values may differ between the lanes of a wave. A phi counts as divergent when its block joins ways that a
/// divergent branch may have split; with one such branch anywhere, all phis with different operands do.
pub(crate) fn divergence(function: &Function) -> Vec<bool> {
    let mut divergent = vec![false; function.insts.len()];
    loop {
        let splits = (0..function.blocks.len())
            .filter_map(|block| function.terminator_operand(block))
            .any(|value| divergent[value.0 as usize]);
        let mut changed = false;
        for block in &function.blocks {
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
                    | Op::MaskedBitCount => true,
                    Op::BallotLow | Op::BallotHigh | Op::AnyLane | Op::ReadFirstLane | Op::ReadLane => false,
                    Op::Phi => any || splits,
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
