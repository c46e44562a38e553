//! Checks the rules of the IR: types, operand counts, predecessors, and that values are defined before use.

use super::dominance::Dominance;
use super::op::Pattern;
use super::{Function, Op, Type, Value};
use crate::cfg::structured::StructuredId;
use crate::refusal::Reason;

fn matches(pattern: Pattern, ty: Type) -> bool {
    match pattern {
        Pattern::Is(expected) => ty == expected,
        Pattern::Int => matches!(ty, Type::U32 | Type::U64),
        Pattern::Float => matches!(ty, Type::F32 | Type::F64),
        Pattern::Any => ty != Type::Void,
    }
}

/// # Errors
/// The first rule that is broken, after the pass named.
pub(crate) fn verify(function: &Function, after: &'static str) -> Result<(), Reason> {
    let broken = |what: String| Reason::Internal(format!("after {after}: {what}"));
    let mut place = vec![None; function.insts.len()];
    for (number, block) in function.blocks.iter().enumerate() {
        for to in function.successors(StructuredId(number as u32)) {
            if !function.blocks[to.0 as usize]
                .predecessors
                .contains(&StructuredId(number as u32))
            {
                return Err(broken(format!(
                    "b{} does not know its predecessor b{number}",
                    to.0
                )));
            }
        }
        for (position, &value) in block.insts.iter().enumerate() {
            if place[value.0 as usize].replace((number, position)).is_some() {
                return Err(broken(format!("%{} stands twice", value.0)));
            }
        }
    }
    let dominance = Dominance::new(function);
    let reached = |block: usize| dominance.is_reached(block);
    let defined = |value: Value, block: usize, position: usize| match place[value.0 as usize] {
        Some((home, at)) if home == block => at < position,
        Some((home, _)) => dominance.dominates(home, block),
        None => false,
    };
    for (number, block) in function
        .blocks
        .iter()
        .enumerate()
        .filter(|(number, _)| reached(*number))
    {
        for (position, &value) in block.insts.iter().enumerate() {
            let inst = function.inst(value);
            let patterns = inst.op.operands();
            let fits = if inst.op.is_variadic() {
                inst.operands.len() >= patterns.len()
            } else {
                inst.operands.len() == patterns.len()
            };
            if !fits {
                return Err(broken(format!(
                    "%{} {} has {} operands",
                    value.0,
                    inst.op.text(),
                    inst.operands.len()
                )));
            }
            if inst.ty != Type::Void && !matches(inst.op.result(), inst.ty) {
                return Err(broken(format!(
                    "%{} {} yields {:?}",
                    value.0,
                    inst.op.text(),
                    inst.ty
                )));
            }
            let mut bound = [None; 3];
            for (&operand, &pattern) in inst.operands.iter().zip(patterns) {
                let ty = function.ty(operand);
                let slot = match pattern {
                    Pattern::Is(_) => None,
                    Pattern::Int => Some(0),
                    Pattern::Float => Some(1),
                    Pattern::Any => Some(2),
                };
                let same = slot.is_none_or(|slot: usize| *bound[slot].get_or_insert(ty) == ty);
                if !matches(pattern, ty) || !same {
                    return Err(broken(format!(
                        "%{} {} takes %{} of {ty:?}",
                        value.0,
                        inst.op.text(),
                        operand.0
                    )));
                }
            }
            if inst.op == Op::Phi {
                if inst.operands.len() != block.predecessors.len() {
                    return Err(broken(format!(
                        "phi %{} in b{number} does not match its predecessors",
                        value.0
                    )));
                }
                for (&operand, from) in inst.operands.iter().zip(&block.predecessors) {
                    let from = from.0 as usize;
                    if function.ty(operand) != inst.ty || reached(from) && !defined(operand, from, usize::MAX)
                    {
                        return Err(broken(format!(
                            "phi %{} takes %{} from b{from}",
                            value.0, operand.0
                        )));
                    }
                }
            } else if let Some(bad) = inst
                .operands
                .iter()
                .find(|operand| !defined(**operand, number, position))
            {
                return Err(broken(format!(
                    "%{} {} uses %{} before it is defined",
                    value.0,
                    inst.op.text(),
                    bad.0
                )));
            }
        }
        if let Some(value) = function.terminator_operand(number)
            && !defined(value, number, usize::MAX)
        {
            return Err(broken(format!(
                "b{number} ends on %{}, which is not defined there",
                value.0
            )));
        }
    }
    Ok(())
}
