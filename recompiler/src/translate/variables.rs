//! Registers to SSA values.
//!
//! Each register is a variable; reading one finds or makes the value that reaches the block (simple and efficient
//! construction of SSA form, with phis completed when a loop's last block is done). A scalar register pair has two faces,
//! its words and a lane mask: writing one face leaves a note on the other, and the conversion is only made when
//! that face is read.

use super::fold::{Folded, fold};
use crate::cfg::structured::{StructuredBlock, StructuredExit, StructuredId};
use crate::ir::{Effect, Function, Inst, IrBlock, Op, Operands, Terminator, Type, Value};
use hashbrown::HashMap;

/// A guest register, or state of the translation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Variable {
    /// Scalar register's word, by operand number.
    Scalar(u8),
    /// VGPR.
    Vector(u8),
    /// The lane mask in the scalar register or register pair.
    Mask(u8),
    Scc,
    Exec,
    /// Where a multi-level exit goes.
    Route,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Definition {
    Value(Value),
    /// The mask is to be made from the words.
    FromWords,
    /// The word is to be made from the mask that starts at this register.
    FromMask(u8),
}

pub(crate) struct Variables {
    pub function: Function,
    pub current: StructuredId,
    wave: u32,
    definitions: Vec<HashMap<Variable, Definition>>,
    filled: Vec<bool>,
    incomplete: Vec<Vec<(Variable, Value)>>,
    constants: HashMap<(Type, u64), Value>,
    /// Pure values of the current block.
    available: HashMap<(Op, Type, Operands, u64), Value>,
    /// Values that turned out to be others.
    forward: HashMap<Value, Value>,
    entry_insts: Vec<Value>,
}

impl Variables {
    pub fn new(blocks: &[StructuredBlock], wave: u32) -> Self {
        let mut function = Function::default();
        for block in blocks {
            function.blocks.push(IrBlock {
                insts: Vec::new(),
                predecessors: Vec::new(),
                terminator: Terminator::Unreachable,
                merge: block.merge,
            });
        }
        // Blocks that nothing reaches (merges of constructs that never end there) have no say in phis.
        let mut reached = vec![false; blocks.len()];
        let mut work = vec![StructuredId(0)];
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut reached[id.0 as usize], true) {
                continue;
            }
            let mut edges: Vec<StructuredId> = match &blocks[id.0 as usize].exit {
                StructuredExit::End | StructuredExit::Unreachable => Vec::new(),
                StructuredExit::Goto(to) => vec![*to],
                StructuredExit::Branch { yes, no, .. } => vec![*yes, *no],
                StructuredExit::Switch { cases, default } => {
                    let mut list = cases.clone();
                    list.push(*default);
                    list
                }
            };
            edges.sort_unstable();
            edges.dedup();
            for &to in &edges {
                function.blocks[to.0 as usize].predecessors.push(id);
            }
            work.extend(edges);
        }
        for block in &mut function.blocks {
            block.predecessors.sort_unstable();
        }
        Self {
            function,
            current: StructuredId(0),
            wave,
            definitions: vec![HashMap::new(); blocks.len()],
            filled: vec![false; blocks.len()],
            incomplete: vec![Vec::new(); blocks.len()],
            constants: HashMap::new(),
            available: HashMap::new(),
            forward: HashMap::new(),
            entry_insts: Vec::new(),
        }
    }

    pub fn is_reached(&self, block: StructuredId) -> bool {
        block.0 == 0 || !self.function.blocks[block.0 as usize].predecessors.is_empty()
    }

    pub fn start(&mut self, block: StructuredId) {
        self.current = block;
        self.available.clear();
    }

    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return value;
        }
        let value = self.function.add(Inst {
            op: Op::Const,
            ty,
            operands: Operands::new(),
            immediate: bits,
        });
        self.entry_insts.push(value);
        self.constants.insert((ty, bits), value);
        value
    }

    pub fn word(&mut self, bits: u32) -> Value {
        self.constant(Type::U32, u64::from(bits))
    }

    pub fn truth(&mut self, bit: bool) -> Value {
        self.constant(Type::Bool, u64::from(bit))
    }

    /// True in lanes that a branch on their own bit led here.
    fn active(&mut self) -> Value {
        if let Some(&value) = self.constants.get(&(Type::Void, u64::MAX)) {
            return value;
        }
        let value = self.function.add(Inst {
            op: Op::Active,
            ty: Type::Bool,
            operands: Operands::new(),
            immediate: 0,
        });
        self.entry_insts.push(value);
        self.constants.insert((Type::Void, u64::MAX), value);
        value
    }

    /// Notes at the start of a block that `bit` is what `mask` is in lanes that come here from `from`: masks of that
    /// value are then known. Their words, which speak for all lanes, stay.
    pub fn refine(&mut self, from: StructuredId, mask: Value, bit: bool) {
        let known = if bit { self.active() } else { self.truth(false) };
        let mut variables: Vec<Variable> = self.definitions[from.0 as usize]
            .iter()
            .filter(|(variable, definition)| {
                matches!(variable, Variable::Mask(_) | Variable::Exec)
                    && matches!(definition, Definition::Value(value) if self.resolve(*value) == mask)
            })
            .map(|(variable, _)| *variable)
            .collect();
        variables.sort_unstable();
        for variable in variables {
            if let Variable::Mask(register) = variable {
                // The words must be found before the mask changes under their note.
                for word in [register, register | 1] {
                    self.read(Variable::Scalar(word));
                }
            }
            self.write(variable, known);
        }
    }

    pub fn undefined(&mut self, ty: Type) -> Value {
        // Keyed beside the constants by an impossible type and bits pair.
        if let Some(&value) = self.constants.get(&(Type::Void, ty as u64)) {
            return value;
        }
        let value = self.function.add(Inst {
            op: Op::Undef,
            ty,
            operands: Operands::new(),
            immediate: 0,
        });
        self.entry_insts.push(value);
        self.constants.insert((Type::Void, ty as u64), value);
        value
    }

    /// Makes a value in the current block.
    pub fn emit(&mut self, op: Op, ty: Type, operands: &[Value], immediate: u64) -> Value {
        let block = self.current;
        self.emit_in(block, op, ty, operands, immediate)
    }

    fn emit_in(
        &mut self,
        block: StructuredId,
        op: Op,
        ty: Type,
        operands: &[Value],
        immediate: u64,
    ) -> Value {
        let operands: Operands = operands.iter().map(|&value| self.resolve(value)).collect();
        match fold(&self.function, op, ty, &operands, immediate) {
            Some(Folded::Value(value)) => return value,
            Some(Folded::Const(bits)) => return self.constant(ty, bits),
            None => {}
        }
        let pure = op.effect() == Effect::Pure && op != Op::Phi && block == self.current;
        let key = (op, ty, operands, immediate);
        if pure && let Some(&value) = self.available.get(&key) {
            return value;
        }
        let value = self.function.add(Inst {
            op,
            ty,
            operands: key.2.clone(),
            immediate,
        });
        self.function.blocks[block.0 as usize].insts.push(value);
        if pure {
            self.available.insert(key, value);
        }
        value
    }

    pub fn resolve(&self, mut value: Value) -> Value {
        while let Some(&next) = self.forward.get(&value) {
            value = next;
        }
        value
    }

    pub fn write(&mut self, variable: Variable, value: Value) {
        self.definitions[self.current.0 as usize].insert(variable, Definition::Value(value));
    }

    pub fn read(&mut self, variable: Variable) -> Value {
        let value = self.read_in(self.current, variable);
        self.resolve(value)
    }

    /// Writes a scalar register's word; the mask it belongs to follows it.
    pub fn write_scalar(&mut self, register: u8, value: Value) {
        let sibling = Variable::Scalar(register ^ 1);
        if let Some(Definition::FromMask(_)) = self.definitions[self.current.0 as usize].get(&sibling) {
            // The other word is still to be made from the mask that this one takes apart.
            self.read(sibling);
        }
        self.write(Variable::Scalar(register), value);
        let base = if self.wave == 64 { register & !1 } else { register };
        self.definitions[self.current.0 as usize].insert(Variable::Mask(base), Definition::FromWords);
    }

    /// Writes a lane mask; the words follow it.
    pub fn write_mask(&mut self, register: u8, value: Value) {
        self.write(Variable::Mask(register), value);
        let definitions = &mut self.definitions[self.current.0 as usize];
        definitions.insert(Variable::Scalar(register), Definition::FromMask(register));
        if self.wave == 64 {
            definitions.insert(Variable::Scalar(register | 1), Definition::FromMask(register));
        }
    }

    /// Writes both faces of a pair at once.
    pub fn write_faces(&mut self, register: u8, mask: Value, words: &[Value]) {
        for (index, &word) in words.iter().enumerate() {
            self.write(Variable::Scalar(register + index as u8), word);
        }
        self.write(Variable::Mask(register), mask);
    }

    fn ty(variable: Variable) -> Type {
        match variable {
            Variable::Scalar(_) | Variable::Vector(_) | Variable::Route => Type::U32,
            Variable::Mask(_) | Variable::Scc | Variable::Exec => Type::Bool,
        }
    }

    fn initial(&mut self, variable: Variable) -> Value {
        match variable {
            Variable::Exec => self.truth(true),
            Variable::Vector(_) => self.undefined(Type::U32),
            Variable::Scalar(_) | Variable::Route => self.word(0),
            Variable::Mask(_) | Variable::Scc => self.truth(false),
        }
    }

    fn read_in(&mut self, block: StructuredId, variable: Variable) -> Value {
        // Chains of single predecessors are walked in a loop: programs may have thousands of them.
        let mut at = block;
        let mut passed = Vec::new();
        let value = loop {
            if let Some(&definition) = self.definitions[at.0 as usize].get(&variable) {
                break self.materialise(at, variable, definition);
            }
            let predecessors = &self.function.blocks[at.0 as usize].predecessors;
            if at.0 == 0 || predecessors.is_empty() {
                break self.initial(variable);
            }
            let sealed = predecessors.iter().all(|p| self.filled[p.0 as usize]);
            if sealed && predecessors.len() == 1 {
                passed.push(at);
                at = predecessors[0];
                continue;
            }
            let phi = self.function.add(Inst {
                op: Op::Phi,
                ty: Self::ty(variable),
                operands: Operands::new(),
                immediate: 0,
            });
            self.function.blocks[at.0 as usize].insts.insert(0, phi);
            self.definitions[at.0 as usize].insert(variable, Definition::Value(phi));
            break if sealed {
                self.complete(at, variable, phi)
            } else {
                self.incomplete[at.0 as usize].push((variable, phi));
                phi
            };
        };
        for block in passed {
            self.definitions[block.0 as usize].insert(variable, Definition::Value(value));
        }
        value
    }

    fn materialise(&mut self, block: StructuredId, variable: Variable, definition: Definition) -> Value {
        let value = match (definition, variable) {
            (Definition::Value(value), _) => return self.resolve(value),
            (Definition::FromWords, Variable::Mask(register)) => {
                let low = self.read_in(block, Variable::Scalar(register));
                let high = if self.wave == 64 {
                    self.read_in(block, Variable::Scalar(register | 1))
                } else {
                    self.word(0)
                };
                self.emit_in(
                    block,
                    Op::InverseBallot,
                    Type::Bool,
                    &[low, high],
                    u64::from(self.wave),
                )
            }
            (Definition::FromMask(base), Variable::Scalar(register)) => {
                let mask = self.read_in(block, Variable::Mask(base));
                let op = if register == base {
                    Op::BallotLow
                } else {
                    Op::BallotHigh
                };
                self.emit_in(block, op, Type::U32, &[mask], u64::from(self.wave))
            }
            (_, variable) => self.initial(variable),
        };
        self.definitions[block.0 as usize].insert(variable, Definition::Value(value));
        value
    }

    fn complete(&mut self, block: StructuredId, variable: Variable, phi: Value) -> Value {
        let predecessors = self.function.blocks[block.0 as usize].predecessors.clone();
        let operands: Operands = predecessors
            .iter()
            .map(|&from| self.read_in(from, variable))
            .collect();
        let operands: Operands = operands.iter().map(|&value| self.resolve(value)).collect();
        let mut same = None;
        let mut trivial = true;
        for &operand in operands.iter().filter(|operand| **operand != phi) {
            trivial &= *same.get_or_insert(operand) == operand;
        }
        self.function.insts[phi.0 as usize].operands = operands;
        if trivial {
            let value = same.unwrap_or_else(|| self.undefined(Self::ty(variable)));
            self.forward.insert(phi, value);
            return value;
        }
        phi
    }

    /// Ends the current block. A block whose predecessors are all done now has its open phis completed.
    pub fn finish(&mut self, terminator: Terminator) {
        let block = self.current;
        self.function.blocks[block.0 as usize].terminator = terminator;
        self.filled[block.0 as usize] = true;
        for to in self.function.successors(block) {
            let ready = self.function.blocks[to.0 as usize]
                .predecessors
                .iter()
                .all(|p| self.filled[p.0 as usize]);
            if ready {
                // Completing one phi may open others in the same block.
                while let Some((variable, phi)) = self.incomplete[to.0 as usize].pop() {
                    self.complete(to, variable, phi);
                }
            }
        }
    }

    /// The finished function: constants first, every operand what it finally became.
    pub fn into_function(mut self) -> Function {
        let mut function = std::mem::take(&mut self.function);
        let resolve = |mut value: Value| {
            while let Some(&next) = self.forward.get(&value) {
                value = next;
            }
            value
        };
        let mut entry = std::mem::take(&mut self.entry_insts);
        entry.append(&mut function.blocks[0].insts);
        function.blocks[0].insts = entry;
        for block in &mut function.blocks {
            block.insts.retain(|value| !self.forward.contains_key(value));
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
        function
    }
}
