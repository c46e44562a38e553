//! Votes that need no vote.
//!
//! Where all lanes that are on agree, "any lane" is what they agree on: compilers test uniform conditions so. Branches on
//! a lane's own bit are the translation's to decide, which sees what EXEC is at their targets.

use super::lanes::divergence;
use crate::ir::{Function, Op, Value};

pub(crate) fn relax_votes(function: &mut Function) {
    let divergent = divergence(function);
    for block in 0..function.blocks.len() {
        let mut position = 0;
        while position < function.blocks[block].insts.len() {
            let value = function.blocks[block].insts[position];
            let inst = function.inst(value).clone();
            if inst.op == Op::AnyLane {
                let mut made = Vec::new();
                if let Some(agreed) = agreed(
                    function,
                    &divergent,
                    inst.operands[0],
                    inst.operands[1],
                    0,
                    &mut made,
                ) {
                    // The vote becomes a copy of the agreed bit, which later folding removes.
                    let inst = &mut function.insts[value.0 as usize];
                    inst.op = Op::LAnd;
                    inst.operands = [agreed, agreed].into_iter().collect();
                    let count = made.len();
                    function.blocks[block].insts.splice(position..position, made);
                    position += count;
                }
            }
            position += 1;
        }
    }
}

/// The truth of `value` in lanes that are on, where it is the same in all of them. New values are listed in `made`.
fn agreed(
    function: &mut Function,
    divergent: &[bool],
    value: Value,
    exec: Value,
    depth: u32,
    made: &mut Vec<Value>,
) -> Option<Value> {
    if divergent
        .get(value.0 as usize)
        .is_some_and(|divergent| !divergent)
    {
        return Some(value);
    }
    let inst = function.inst(value).clone();
    if depth > 16 {
        return None;
    }
    match inst.op {
        Op::LAnd if inst.operands[0] == exec => {
            agreed(function, divergent, inst.operands[1], exec, depth + 1, made)
        }
        Op::LAnd if inst.operands[1] == exec => {
            agreed(function, divergent, inst.operands[0], exec, depth + 1, made)
        }
        Op::LAnd | Op::LOr | Op::LXor | Op::LNot => {
            let mut new = inst;
            for operand in &mut new.operands {
                *operand = agreed(function, divergent, *operand, exec, depth + 1, made)?;
            }
            let value = function.add(new);
            made.push(value);
            Some(value)
        }
        _ => None,
    }
}
