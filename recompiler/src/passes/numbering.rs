//! Equal pure operations on equal operands become one value, where one dominates the other.

use crate::ir::dominance::Dominance;
use crate::ir::{Effect, Function, Op, Operands, Terminator, Type, Value};
use hashbrown::HashMap;

pub(crate) fn number_values(function: &mut Function) {
    let dominance = Dominance::new(function);
    let mut seen: HashMap<(Op, Type, Operands, u64), Vec<(usize, Value)>> = HashMap::new();
    let mut forward: HashMap<Value, Value> = HashMap::new();
    for block in 0..function.blocks.len() {
        for value in function.blocks[block].insts.clone() {
            let inst = &mut function.insts[value.0 as usize];
            for operand in &mut inst.operands {
                if let Some(&new) = forward.get(operand) {
                    *operand = new;
                }
            }
            if inst.op.effect() != Effect::Pure || inst.op == Op::Phi {
                continue;
            }
            let homes = seen
                .entry((inst.op, inst.ty, inst.operands.clone(), inst.immediate))
                .or_default();
            match homes
                .iter()
                .find(|(home, _)| *home == block || dominance.dominates(*home, block))
            {
                Some(&(_, old)) => {
                    forward.insert(value, old);
                }
                None => homes.push((block, value)),
            }
        }
    }
    // Phis of loop headers name values that come later in the order.
    for block in &mut function.blocks {
        block.insts.retain(|value| !forward.contains_key(value));
        match &mut block.terminator {
            Terminator::Branch { condition: value, .. } | Terminator::Switch { selector: value, .. } => {
                if let Some(&new) = forward.get(value) {
                    *value = new;
                }
            }
            _ => {}
        }
    }
    for inst in &mut function.insts {
        for operand in &mut inst.operands {
            if let Some(&new) = forward.get(operand) {
                *operand = new;
            }
        }
    }
}
