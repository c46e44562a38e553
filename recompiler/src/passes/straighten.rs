//! Joins a block with the only one that follows it, where no construct begins or ends between them.

use crate::cfg::structured::{Merge, StructuredId};
use crate::ir::{Function, Op, Terminator};

pub(crate) fn straighten(function: &mut Function) {
    let count = function.blocks.len();
    // Merge and continue blocks keep their names.
    let mut named = vec![false; count];
    for block in &function.blocks {
        match block.merge {
            Merge::None => {}
            Merge::Selection(merge) => named[merge.0 as usize] = true,
            Merge::Loop { merge, next_round } => {
                named[merge.0 as usize] = true;
                named[next_round.0 as usize] = true;
            }
        }
    }
    for block in 0..count {
        while let Terminator::Jump(to) = function.blocks[block].terminator {
            let next = to.0 as usize;
            let loops = |block: usize| matches!(function.blocks[block].merge, Merge::Loop { .. });
            let single = function.blocks[next].predecessors[..] == [StructuredId(block as u32)];
            let joins = single && next != block && !named[next] && !loops(block) && !loops(next);
            let phis = function.blocks[next]
                .insts
                .first()
                .is_some_and(|v| function.inst(*v).op == Op::Phi);
            if !joins || phis {
                break;
            }
            let taken = std::mem::take(&mut function.blocks[next].insts);
            let terminator =
                std::mem::replace(&mut function.blocks[next].terminator, Terminator::Unreachable);
            let merge = std::mem::replace(&mut function.blocks[next].merge, Merge::None);
            function.blocks[next].predecessors.clear();
            let this = &mut function.blocks[block];
            this.insts.extend(taken);
            this.terminator = terminator;
            this.merge = merge;
            for after in function.successors(StructuredId(block as u32)) {
                for from in &mut function.blocks[after.0 as usize].predecessors {
                    if from.0 as usize == next {
                        *from = StructuredId(block as u32);
                    }
                }
            }
        }
    }
}
