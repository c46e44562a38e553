//! Removes values that nothing needs.

use crate::ir::{Effect, Function, Value};

pub(crate) fn remove_dead(function: &mut Function) {
    let mut live = vec![false; function.insts.len()];
    let mut work: Vec<Value> = Vec::new();
    for (number, block) in function.blocks.iter().enumerate() {
        work.extend(
            block
                .insts
                .iter()
                .filter(|value| function.inst(**value).op.effect() == Effect::Writes),
        );
        work.extend(function.terminator_operand(number));
    }
    while let Some(value) = work.pop() {
        if !std::mem::replace(&mut live[value.0 as usize], true) {
            work.extend(function.inst(value).operands.iter().copied());
        }
    }
    for block in &mut function.blocks {
        block.insts.retain(|value| live[value.0 as usize]);
    }
}
