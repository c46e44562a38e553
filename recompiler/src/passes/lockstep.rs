//! Barriers that a wave does not need.
//!
//! Lanes of a wave run in lockstep, so compilers leave out barriers in groups of one wave: what one lane writes to
//! shared memory, the next instruction of another reads. Where the device's subgroups are narrower than the guest's
//! waves, the lockstep has to be made: a barrier stands between two accesses to shared memory of which one writes,
//! wherever all invocations pass together.

use super::lanes::uniform_blocks;
use crate::ir::{Function, Inst, Op, Operands, Type, Value};

pub(crate) fn keep_lockstep(function: &mut Function) {
    let touches = |op: Op| {
        matches!(
            op,
            Op::LoadShared | Op::StoreShared | Op::AtomicShared | Op::AtomicShared64
        )
    };
    let uses = |function: &Function, block: usize| {
        function.blocks[block]
            .insts
            .iter()
            .any(|value| touches(function.inst(*value).op))
    };
    let count = function.blocks.len();
    if !(0..count).any(|block| uses(function, block)) {
        return;
    }
    let uniform = uniform_blocks(function);
    for block in (0..count).filter(|block| uniform[*block]) {
        let old = std::mem::take(&mut function.blocks[block].insts);
        let mut new = Vec::with_capacity(old.len() + 4);
        // Divergent code before this block may have used shared memory.
        let mut read = (0..block).any(|before| !uniform[before] && uses(function, before));
        let mut written = read;
        for value in old {
            match function.inst(value).op {
                Op::Barrier => (read, written) = (false, false),
                Op::LoadShared => {
                    if written {
                        new.push(barrier(function));
                        written = false;
                    }
                    read = true;
                }
                op if touches(op) => {
                    if read || written {
                        new.push(barrier(function));
                        read = false;
                    }
                    written = true;
                }
                _ => {}
            }
            new.push(value);
        }
        // The next block may be divergent and can't wait.
        if read || written {
            new.push(barrier(function));
        }
        function.blocks[block].insts = new;
    }
}

fn barrier(function: &mut Function) -> Value {
    function.add(Inst {
        op: Op::Barrier,
        ty: Type::Void,
        operands: Operands::new(),
        immediate: 0,
    })
}
