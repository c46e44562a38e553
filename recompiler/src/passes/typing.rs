//! Words that are floats all along become floats.
//!
//! Registers have no type, so values are words that are cast wherever a float is needed. What only passes bits on (loads,
//! selections, phis) can as well be a float: it becomes one where that leaves fewer casts.

use super::dead::remove_dead;
use crate::ir::{AccessKind, BufferWidth, Function, ImageOp, Inst, Op, Operands, Type, Value};
use crate::translate::image::coordinates;
use hashbrown::HashMap;

/// What a user makes of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Float,
    Word,
    /// Takes either as it is.
    Either,
    /// Passes it on.
    Same,
}

/// Whether the value's bits come from somewhere unchanged, so that its type is a matter of taste.
fn passes_on(function: &Function, inst: &Inst) -> bool {
    inst.ty == Type::U32
        && match inst.op {
            Op::Select | Op::Phi | Op::Flat | Op::LoadScalarBuffer | Op::Extract => true,
            Op::LoadBuffer => matches!(
                function.accesses[inst.immediate as usize].kind,
                AccessKind::Buffer {
                    width: BufferWidth::Dword,
                    ..
                }
            ),
            _ => false,
        }
}

fn use_of(function: &Function, user: &Inst, operand: usize) -> Use {
    match user.op {
        Op::BitcastF32 => Use::Float,
        Op::Phi => Use::Same,
        Op::Select if operand > 0 => Use::Same,
        Op::Export if operand < 4 => Use::Float,
        Op::StoreBuffer => match function.accesses[user.immediate as usize].kind {
            AccessKind::Buffer {
                width: BufferWidth::Dword,
                ..
            } if operand == 2 => Use::Either,
            _ => Use::Word,
        },
        Op::Image | Op::ImageRead => match function.accesses[user.immediate as usize].kind {
            AccessKind::Image {
                op: ImageOp::Sample { offset, .. },
                ..
            } if operand >= usize::from(offset) => Use::Float,
            AccessKind::Image {
                op: ImageOp::QueryLod,
                ..
            } => Use::Float,
            AccessKind::Image {
                op: ImageOp::Store { mip },
                dim,
                ..
            } if (0..4).contains(&(operand as isize - (coordinates(dim) + usize::from(mip)) as isize)) => {
                Use::Either
            }
            _ => Use::Word,
        },
        _ => Use::Word,
    }
}

/// Sets of values that have one type.
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, value: Value) -> usize {
        let mut at = value.0;
        while self.0[at as usize] != at {
            let next = self.0[at as usize];
            self.0[at as usize] = self.0[next as usize];
            at = next;
        }
        at as usize
    }

    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a] = b as u32;
    }
}

pub(crate) fn type_floats(function: &mut Function) {
    let count = function.insts.len();
    let mut sets = Sets((0..count as u32).collect());
    let placed: Vec<Value> = function
        .blocks
        .iter()
        .flat_map(|block| block.insts.iter().copied())
        .collect();
    let mut free = vec![false; count];
    for &value in &placed {
        free[value.0 as usize] = passes_on(function, function.inst(value));
    }
    for block in 0..function.blocks.len() {
        if let Some(value) = function.terminator_operand(block) {
            free[value.0 as usize] = false;
        }
    }
    for &value in &placed {
        if !free[value.0 as usize] {
            continue;
        }
        let inst = function.inst(value);
        for (index, &operand) in inst.operands.iter().enumerate() {
            if use_of(function, inst, index) == Use::Same && free[operand.0 as usize] {
                sets.join(operand, value);
            }
        }
    }
    // Casts that are saved by a set of floats, less those that it needs.
    let mut gain = vec![0_i32; count];
    let mut costs = vec![false; count];
    for &value in &placed {
        let inst = function.inst(value);
        for (index, &operand) in inst.operands.iter().enumerate() {
            let kind = use_of(function, inst, index);
            if free[operand.0 as usize] {
                match kind {
                    Use::Float => gain[sets.find(operand)] += 1,
                    Use::Word if !std::mem::replace(&mut costs[operand.0 as usize], true) => {
                        gain[sets.find(operand)] -= 1;
                    }
                    _ => {}
                }
            } else if kind == Use::Same && free[value.0 as usize] {
                match function.inst(operand).op {
                    Op::BitcastU32 => gain[sets.find(value)] += 1,
                    Op::Const | Op::Undef => {}
                    _ => gain[sets.find(value)] -= 1,
                }
            }
        }
    }
    let mut floats = vec![false; count];
    for &value in &placed {
        let index = value.0 as usize;
        floats[index] = free[index] && gain[sets.find(value)] > 0;
    }
    // Users that take either take the float itself.
    let takes = placed.iter().any(|&value| {
        let inst = function.inst(value);
        inst.operands.iter().enumerate().any(|(index, operand)| {
            function.inst(*operand).op == Op::BitcastU32
                && matches!(use_of(function, inst, index), Use::Either | Use::Float)
        })
    });
    if takes || floats.contains(&true) {
        retype(function, &placed, &floats);
        remove_dead(function);
    }
}

fn retype(function: &mut Function, placed: &[Value], floats: &[bool]) {
    let is_float = |value: Value| floats.get(value.0 as usize) == Some(&true);
    let mut constants: HashMap<Value, Value> = HashMap::new();
    // Casts made, by what they cast, and where they stand: right behind it.
    let mut casts: HashMap<Value, Value> = HashMap::new();
    for &value in placed {
        let mut inst = function.inst(value).clone();
        for index in 0..inst.operands.len() {
            let operand = inst.operands[index];
            let source = function.inst(operand).clone();
            let kind = use_of(function, &inst, index);
            inst.operands[index] = match kind {
                _ if is_float(operand) => match kind {
                    Use::Word => cast(function, &mut casts, operand, Op::BitcastU32),
                    Use::Same if !is_float(value) => cast(function, &mut casts, operand, Op::BitcastU32),
                    _ => continue,
                },
                Use::Same if is_float(value) => match source.op {
                    Op::BitcastU32 => source.operands[0],
                    Op::Const | Op::Undef => *constants.entry(operand).or_insert_with(|| {
                        function.add(Inst {
                            ty: Type::F32,
                            ..source
                        })
                    }),
                    _ => cast(function, &mut casts, operand, Op::BitcastF32),
                },
                Use::Either | Use::Float if source.op == Op::BitcastU32 && inst.op != Op::BitcastF32 => {
                    source.operands[0]
                }
                _ => continue,
            };
        }
        if is_float(value) {
            inst.ty = Type::F32;
        }
        function.insts[value.0 as usize] = inst;
    }
    // A cast of what is a float now is no cast.
    let mut forward: HashMap<Value, Value> = HashMap::new();
    for &value in placed {
        let inst = function.inst(value);
        if inst.op == Op::BitcastF32 && function.ty(inst.operands[0]) == Type::F32 {
            forward.insert(value, inst.operands[0]);
        }
    }
    for block in &mut function.blocks {
        let old = std::mem::take(&mut block.insts);
        let phis = old
            .iter()
            .position(|value| function.insts[value.0 as usize].op != Op::Phi)
            .unwrap_or(old.len());
        let mut late = Vec::new();
        for (position, value) in old.into_iter().enumerate() {
            if position == phis {
                block.insts.append(&mut late);
            }
            if !forward.contains_key(&value) {
                block.insts.push(value);
            }
            if let Some(&cast) = casts.get(&value) {
                if position < phis {
                    late.push(cast);
                } else {
                    block.insts.push(cast);
                }
            }
        }
        block.insts.append(&mut late);
    }
    let mut made: Vec<Value> = constants.into_values().collect();
    made.sort_unstable();
    function.blocks[0].insts.splice(0..0, made);
    if forward.is_empty() {
        return;
    }
    for inst in &mut function.insts {
        for operand in &mut inst.operands {
            if let Some(&new) = forward.get(operand) {
                *operand = new;
            }
        }
    }
}

fn cast(function: &mut Function, casts: &mut HashMap<Value, Value>, value: Value, op: Op) -> Value {
    *casts.entry(value).or_insert_with(|| {
        function.add(Inst {
            op,
            ty: if op == Op::BitcastF32 {
                Type::F32
            } else {
                Type::U32
            },
            operands: Operands::from_slice(&[value]),
            immediate: 0,
        })
    })
}
