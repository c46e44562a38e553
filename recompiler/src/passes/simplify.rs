//! Folds again what construction could not see yet: phis with one value, constants behind them, branches that always
//! go one way, and the blocks that then are never reached.

use crate::cfg::structured::{Merge, StructuredId};
use crate::ir::{Effect, Function, Inst, Op, Operands, Terminator, Type, Value};
use crate::translate::fold::{Folded, fold};
use hashbrown::HashMap;

/// Rounds until nothing changes; each round removes at least one value, and real programs need two or three.
const MAX_ROUNDS: u32 = 16;

pub(crate) fn simplify(function: &mut Function) {
    for _ in 0..MAX_ROUNDS {
        if !(values(function) | branches(function)) {
            break;
        }
    }
}

fn constant(function: &mut Function, known: &mut HashMap<(Type, u64), Value>, ty: Type, bits: u64) -> Value {
    *known.entry((ty, bits)).or_insert_with(|| {
        function.insts.push(Inst {
            op: Op::Const,
            ty,
            operands: Operands::new(),
            immediate: bits,
        });
        let value = Value(function.insts.len() as u32 - 1);
        function.blocks[0].insts.insert(0, value);
        value
    })
}

fn values(function: &mut Function) -> bool {
    let mut known = HashMap::new();
    for &value in &function.blocks[0].insts {
        let inst = function.inst(value);
        if inst.op == Op::Const {
            known.insert((inst.ty, inst.immediate), value);
        }
    }
    let mut forward: HashMap<Value, Value> = HashMap::new();
    let resolve = |forward: &HashMap<Value, Value>, mut value: Value| {
        while let Some(&next) = forward.get(&value) {
            value = next;
        }
        value
    };
    for block in 0..function.blocks.len() {
        for value in function.blocks[block].insts.clone() {
            let mut inst = function.inst(value).clone();
            for operand in &mut inst.operands {
                *operand = resolve(&forward, *operand);
            }
            function.insts[value.0 as usize].operands = inst.operands.clone();
            let folded = match inst.op {
                Op::Const | Op::Undef => None,
                Op::Phi => {
                    let mut others = inst.operands.iter().copied().filter(|operand| *operand != value);
                    match others.next() {
                        Some(first) if others.all(|other| other == first) => Some(Folded::Value(first)),
                        _ => None,
                    }
                }
                op if op.effect() == Effect::Writes => None,
                op => fold(function, op, inst.ty, &inst.operands, inst.immediate),
            };
            let new = match folded {
                Some(Folded::Value(new)) => new,
                Some(Folded::Const(bits)) => constant(function, &mut known, inst.ty, bits),
                None => continue,
            };
            if new != value {
                forward.insert(value, new);
            }
        }
    }
    if forward.is_empty() {
        return false;
    }
    for block in &mut function.blocks {
        block.insts.retain(|value| !forward.contains_key(value));
        match &mut block.terminator {
            Terminator::Branch { condition: value, .. } | Terminator::Switch { selector: value, .. } => {
                *value = resolve(&forward, *value);
            }
            _ => {}
        }
    }
    for inst in &mut function.insts {
        for operand in &mut inst.operands {
            *operand = resolve(&forward, *operand);
        }
    }
    true
}

fn branches(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let id = StructuredId(block as u32);
        let before = function.successors(id);
        let to = match &function.blocks[block].terminator {
            Terminator::Branch { condition, yes, no } => match function.constant(*condition) {
                Some(bit) => Some(if bit != 0 { *yes } else { *no }),
                None if yes == no => Some(*yes),
                None => None,
            },
            Terminator::Switch {
                selector,
                cases,
                default,
            } => function
                .constant(*selector)
                .filter(|_| !cases.is_empty())
                .map(|number| cases.get(number as usize).copied().unwrap_or(*default)),
            _ => None,
        };
        let Some(to) = to else { continue };
        // A switch's arms may still break to its merge block, so only its choice is fixed, not its construct.
        if let Terminator::Switch { default, cases, .. } = &mut function.blocks[block].terminator {
            *default = to;
            cases.clear();
        } else {
            function.blocks[block].terminator = Terminator::Jump(to);
            if matches!(function.blocks[block].merge, Merge::Selection(_)) {
                function.blocks[block].merge = Merge::None;
            }
        }
        changed = true;
        for gone in before.into_iter().filter(|gone| *gone != to) {
            remove_edge(function, id, gone);
        }
    }
    if !changed {
        return false;
    }
    // What is no longer reached has no say in the phis of what is.
    let mut reached = vec![false; function.blocks.len()];
    let mut work = vec![StructuredId(0)];
    while let Some(id) = work.pop() {
        if !std::mem::replace(&mut reached[id.0 as usize], true) {
            work.extend(function.successors(id));
        }
    }
    for block in (0..function.blocks.len()).filter(|block| !reached[*block]) {
        let id = StructuredId(block as u32);
        for to in function.successors(id) {
            remove_edge(function, id, to);
        }
        let block = &mut function.blocks[block];
        block.insts.clear();
        block.terminator = Terminator::Unreachable;
        block.predecessors.clear();
        block.merge = Merge::None;
    }
    true
}

fn remove_edge(function: &mut Function, from: StructuredId, to: StructuredId) {
    let block = &mut function.blocks[to.0 as usize];
    let Some(position) = block.predecessors.iter().position(|p| *p == from) else {
        return;
    };
    block.predecessors.remove(position);
    for &value in &block.insts {
        let inst = &mut function.insts[value.0 as usize];
        if inst.op == Op::Phi {
            inst.operands.remove(position);
        }
    }
}
