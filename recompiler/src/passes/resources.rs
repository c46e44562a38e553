//! Finds where descriptors come from and makes the resource plan.
//!
//! Each descriptor word is followed back to user data, constants and scalar loads. Then the words leave the program:
//! accesses name plan descriptors instead. User data and address loads that are still read become flat words.

use super::activity::Branches;
use super::dead::remove_dead;
use crate::ir::{AccessKind, BufferWidth, Function, ImageOp, Inst, Op, Type, Value};
use crate::plan::{
    AccessFlags, DescriptorKind, DescriptorSource, FlatSource, Guard, ImageDim, Node, NodeId, NodeOp,
    ResourcePlan,
};
use crate::refusal::{Fault, Reason};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Operands followed before a walk gives up; the evaluator has the same bound.
const MAX_DEPTH: u32 = 256;

struct Walk<'a> {
    function: &'a Function,
    nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
    found: HashMap<(Value, View), NodeId>,
    open: Vec<Value>,
    view: View,
}

/// Which lanes' value is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct View {
    /// Lane 0's.
    first_lane: bool,
    /// A lane's for which this mask is set.
    mask: Option<Value>,
}

/// # Errors
/// A descriptor or address that depends on something only known while the program runs.
pub(crate) fn find_resources(
    function: &mut Function,
    alignment: u32,
    pointers: bool,
) -> Result<ResourcePlan, Fault> {
    let mut plan = ResourcePlan {
        alignment,
        ..ResourcePlan::default()
    };
    let mut indices: HashMap<(DescriptorKind, SmallVec<[NodeId; 8]>, Option<ImageDim>, bool), u32> =
        HashMap::new();
    let mut walk = Walk {
        function,
        nodes: Vec::new(),
        known: HashMap::new(),
        found: HashMap::new(),
        open: Vec::new(),
        view: View::default(),
    };
    // Blocks that use each descriptor.
    let mut users: Vec<Vec<usize>> = Vec::new();
    let mut stripped: Vec<(Value, usize, SmallVec<[u32; 2]>)> = Vec::new();
    for (number, block) in walk.function.blocks.iter().enumerate() {
        for &value in &block.insts {
            let inst = walk.function.inst(value);
            let (parts, access): (SmallVec<[(DescriptorKind, AccessFlags); 2]>, _) = match inst.op {
                Op::LoadScalarBuffer => (
                    [(DescriptorKind::Buffer, AccessFlags::READ)]
                        .into_iter()
                        .collect(),
                    inst.immediate,
                ),
                Op::LoadBuffer | Op::LoadBufferFormat => {
                    let mut flags = AccessFlags::READ;
                    if inst.op == Op::LoadBufferFormat {
                        flags |= AccessFlags::FORMATTED;
                    }
                    (
                        [(DescriptorKind::Buffer, flags)].into_iter().collect(),
                        inst.immediate,
                    )
                }
                Op::StoreBuffer => (
                    [(DescriptorKind::Buffer, AccessFlags::WRITE)]
                        .into_iter()
                        .collect(),
                    inst.immediate,
                ),
                Op::StoreBufferFormat => {
                    let flags = AccessFlags::WRITE | AccessFlags::FORMATTED;
                    (
                        [(DescriptorKind::Buffer, flags)].into_iter().collect(),
                        inst.immediate,
                    )
                }
                Op::AtomicBuffer | Op::AtomicBuffer64 => {
                    let flags = AccessFlags::READ | AccessFlags::WRITE | AccessFlags::ATOMIC;
                    (
                        [(DescriptorKind::Buffer, flags)].into_iter().collect(),
                        inst.immediate,
                    )
                }
                Op::Image | Op::ImageRead => {
                    let AccessKind::Image { op, .. } = walk.function.accesses[inst.immediate as usize].kind
                    else {
                        return Err(Reason::Internal(String::from(
                            "an image operation without image access",
                        ))
                        .into());
                    };
                    let mut parts: SmallVec<[(DescriptorKind, AccessFlags); 2]> = SmallVec::new();
                    parts.push((
                        DescriptorKind::Image,
                        match op {
                            ImageOp::Store { .. } => AccessFlags::WRITE | AccessFlags::STORAGE,
                            ImageOp::Atomic(_) => {
                                AccessFlags::READ
                                    | AccessFlags::WRITE
                                    | AccessFlags::ATOMIC
                                    | AccessFlags::STORAGE
                            }
                            ImageOp::Sample { compare: true, .. } => AccessFlags::READ | AccessFlags::COMPARE,
                            _ => AccessFlags::READ,
                        },
                    ));
                    if matches!(op, ImageOp::Sample { .. } | ImageOp::QueryLod) {
                        parts.push((DescriptorKind::Sampler, AccessFlags::READ));
                    }
                    (parts, inst.immediate)
                }
                Op::LoadAddress => {
                    // Remembered while the descriptors' words still stand; a failure matters only if it stays live.
                    let _ = walk.node(value);
                    continue;
                }
                _ => continue,
            };
            let access = &walk.function.accesses[access as usize];
            let dim = match access.kind {
                AccessKind::Image { dim, .. } => Some(dim),
                _ => None,
            };
            let mut at = 0;
            let mut list = SmallVec::new();
            for (kind, mut flags) in parts {
                // Formats of their own make MTBUF's accesses independent of the V#'s format.
                if let AccessKind::Buffer {
                    formatted: Some(Some(_)),
                    ..
                } = access.kind
                {
                    flags -= AccessFlags::FORMATTED;
                }
                let mut words: SmallVec<[NodeId; 8]> = SmallVec::new();
                for word in &inst.operands[at..at + kind.words()] {
                    let node = walk.node(*word).map_err(|why| {
                        let what = match kind {
                            DescriptorKind::Buffer => "V#",
                            DescriptorKind::Image => "T#",
                            DescriptorKind::Sampler => "S#",
                        };
                        Fault::from(Reason::Unresolvable { what, why })
                            .at(access.program_counter, || access.encoded.text())
                    })?;
                    words.push(node);
                }
                at += kind.words();
                let dim = dim.filter(|_| kind == DescriptorKind::Image);
                let key = (kind, words.clone(), dim, flags.contains(AccessFlags::STORAGE));
                let index = *indices.entry(key).or_insert_with(|| {
                    let first = plan.words.len() as u16;
                    plan.words.extend(words);
                    plan.descriptors.push(DescriptorSource {
                        kind,
                        access: AccessFlags::empty(),
                        dim,
                        guard: Guard::default(),
                        first,
                    });
                    users.push(Vec::new());
                    plan.descriptors.len() as u32 - 1
                });
                plan.descriptors[index as usize].access |= flags;
                if !users[index as usize].contains(&number) {
                    users[index as usize].push(number);
                }
                list.push(index);
            }
            stripped.push((value, at, list));
        }
    }
    let Walk {
        nodes, known, found, ..
    } = walk;
    for (value, words, list) in stripped {
        let inst = &mut function.insts[value.0 as usize];
        inst.operands.drain(..words);
        let access = inst.immediate as usize;
        function.accesses[access].descriptors = list;
    }
    remove_dead(function);
    // What still reads user data or memory by address reads flat words.
    let mut walk = Walk {
        function,
        nodes,
        known,
        found,
        open: Vec::new(),
        view: View::default(),
    };
    let mut flats: Vec<(Value, u32)> = Vec::new();
    let mut flat_users: Vec<Vec<usize>> = Vec::new();
    let mut followed: Vec<(usize, Value)> = Vec::new();
    for (number, block) in walk.function.blocks.iter().enumerate() {
        for &value in &block.insts {
            let inst = walk.function.inst(value);
            if !matches!(inst.op, Op::UserData | Op::ShaderBase | Op::LoadAddress) {
                continue;
            }
            let node = walk.node(value);
            if pointers && inst.op == Op::LoadAddress && node.is_err() {
                followed.push((number, value));
                continue;
            }
            let node = node.map_err(|why| {
                let fault = Fault::from(Reason::Unresolvable { what: "address", why });
                match (inst.op, walk.function.accesses.get(inst.immediate as usize)) {
                    (Op::LoadAddress, Some(access)) => {
                        fault.at(access.program_counter, || access.encoded.text())
                    }
                    _ => fault,
                }
            })?;
            let slot = plan
                .flat
                .iter()
                .position(|known| known.node == node)
                .unwrap_or_else(|| {
                    plan.flat.push(FlatSource {
                        node,
                        guard: Guard::default(),
                    });
                    flat_users.push(Vec::new());
                    plan.flat.len() - 1
                });
            // User data is always there.
            if inst.op == Op::LoadAddress && !flat_users[slot].contains(&number) {
                flat_users[slot].push(number);
            }
            flats.push((value, slot as u32));
        }
    }
    let function_now = walk.function;
    let branches = Branches::new(function_now, |block| {
        let condition = function_now.terminator_operand(block)?;
        walk.node(condition).ok()
    });
    plan.nodes = walk.nodes;
    users.extend(flat_users);
    let mut guards = branches.plan(&users, &mut plan).into_iter();
    for (descriptor, guard) in plan.descriptors.iter_mut().zip(&mut guards) {
        descriptor.guard = guard;
    }
    for (flat, guard) in plan.flat.iter_mut().zip(guards) {
        flat.guard = guard;
    }
    if plan.words.len() > usize::from(u16::MAX) || plan.nodes.len() > usize::from(u16::MAX) {
        return Err(Reason::TooLarge(usize::from(u16::MAX), "words of descriptors").into());
    }
    plan.drop_unused();
    for (value, slot) in flats {
        let inst = &mut function.insts[value.0 as usize];
        inst.op = Op::Flat;
        inst.operands.clear();
        inst.immediate = u64::from(slot);
    }
    for (block, value) in followed {
        follow(function, block, value);
    }
    remove_dead(function);
    Ok(plan)
}

/// Makes an address load of scalars one through a guest pointer, whose every part loses its low bits.
fn follow(function: &mut Function, block: usize, value: Value) {
    let operands = function.inst(value).operands.clone();
    let mut made = Vec::new();
    let mut add = |function: &mut Function, op: Op, ty: Type, operands: &[Value], immediate: u64| {
        let value = function.add(Inst {
            op,
            ty,
            operands: operands.iter().copied().collect(),
            immediate,
        });
        made.push(value);
        value
    };
    let mask = add(function, Op::Const, Type::U64, &[], !3);
    let base = add(function, Op::Pack64, Type::U64, &operands[..2], 0);
    let base = add(function, Op::And, Type::U64, &[base, mask], 0);
    // Offsets that are negative as immediates are added with their sign.
    let offset = add(function, Op::SignExtend, Type::U64, &[operands[2]], 0);
    let offset = add(function, Op::And, Type::U64, &[offset, mask], 0);
    let address = add(function, Op::Add, Type::U64, &[base, offset], 0);
    let inst = &mut function.insts[value.0 as usize];
    inst.op = Op::LoadPointer;
    inst.operands = [address].into_iter().collect();
    function.accesses[inst.immediate as usize].kind = AccessKind::Pointer {
        width: BufferWidth::Dword,
        atomic: None,
    };
    let insts = &mut function.blocks[block].insts;
    if let Some(at) = insts.iter().position(|other| *other == value) {
        insts.splice(at..at, made);
    }
}

impl Walk<'_> {
    fn make(&mut self, op: NodeOp, operands: &[NodeId], immediate: u32) -> NodeId {
        let node = Node::new(op, operands, immediate);
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            // A plan of more nodes than ids is refused as a whole.
            NodeId((self.nodes.len() - 1) as u16)
        })
    }

    fn node(&mut self, value: Value) -> Result<NodeId, String> {
        if let Some(&node) = self.found.get(&(value, self.view)) {
            return Ok(node);
        }
        let inst = self.function.inst(value);
        if self.open.contains(&value) {
            return Err(String::from("it is carried around a loop"));
        }
        if self.open.len() as u32 > MAX_DEPTH {
            return Err(String::from("its computation nests too deeply"));
        }
        self.open.push(value);
        let node = self.compute(value);
        self.open.pop();
        let node = node.map_err(|why| {
            if why.is_empty() {
                format!("it depends on `{}`", inst.op.text())
            } else {
                why
            }
        })?;
        self.found.insert((value, self.view), node);
        Ok(node)
    }

    fn compute(&mut self, value: Value) -> Result<NodeId, String> {
        let inst = self.function.inst(value).clone();
        let binary = match inst.op {
            Op::Add => Some(NodeOp::Add),
            Op::Sub => Some(NodeOp::Sub),
            Op::Mul => Some(NodeOp::Mul),
            Op::MulHighU => Some(NodeOp::MulHigh),
            Op::And | Op::LAnd => Some(NodeOp::And),
            Op::Or | Op::LOr => Some(NodeOp::Or),
            Op::Xor | Op::LXor => Some(NodeOp::Xor),
            Op::Shl => Some(NodeOp::ShiftLeft),
            Op::Shr => Some(NodeOp::ShiftRight),
            Op::Sar => Some(NodeOp::ShiftRightSigned),
            Op::MinU => Some(NodeOp::MinUnsigned),
            Op::MaxU => Some(NodeOp::MaxUnsigned),
            Op::MinS => Some(NodeOp::MinSigned),
            Op::MaxS => Some(NodeOp::MaxSigned),
            Op::Equal => Some(NodeOp::Equal),
            Op::NotEqual => Some(NodeOp::NotEqual),
            Op::LessU => Some(NodeOp::LessUnsigned),
            Op::LessS => Some(NodeOp::LessSigned),
            _ => None,
        };
        if self.view.first_lane && self.is_lane_number(&inst) {
            return Ok(self.make(NodeOp::Const, &[], 0));
        }
        if let Some(op) = binary {
            if inst
                .operands
                .iter()
                .any(|operand| !matches!(self.function.ty(*operand), Type::U32 | Type::Bool))
            {
                return Err(String::from("it is computed in 64 bits"));
            }
            let operands = [self.node(inst.operands[0])?, self.node(inst.operands[1])?];
            return Ok(self.make(op, &operands, 0));
        }
        Ok(match inst.op {
            Op::Const if matches!(inst.ty, Type::U32 | Type::Bool | Type::F32) => {
                self.make(NodeOp::Const, &[], inst.immediate as u32)
            }
            // In every lane that comes to it.
            Op::Active => self.make(NodeOp::Const, &[], 1),
            Op::Undef => self.make(NodeOp::Const, &[], 0),
            Op::UserData => self.make(NodeOp::UserData, &[], inst.immediate as u32),
            Op::ShaderBase if inst.immediate == 0 => self.make(NodeOp::ShaderBaseLow, &[], 0),
            Op::ShaderBase => self.make(NodeOp::ShaderBaseHigh, &[], 0),
            Op::LoadAddress => {
                let (offset, immediate) = self.split(inst.operands[2]);
                let operands = [self.node(inst.operands[0])?, self.node(inst.operands[1])?];
                let offset = match offset {
                    Some(offset) => self.node(offset)?,
                    None => self.make(NodeOp::Const, &[], 0),
                };
                self.make(
                    NodeOp::LoadAddress,
                    &[operands[0], operands[1], offset],
                    immediate,
                )
            }
            Op::LoadScalarBuffer if inst.operands.len() == 5 => {
                let (offset, immediate) = self.split(inst.operands[4]);
                let mut operands = [NodeId(0); 4];
                // The fourth word says nothing about where a dword lies.
                for (slot, operand) in operands.iter_mut().zip(&inst.operands[..3]) {
                    *slot = self.node(*operand)?;
                }
                operands[3] = match offset {
                    Some(offset) => self.node(offset)?,
                    None => self.make(NodeOp::Const, &[], 0),
                };
                self.make(NodeOp::BufferLoad, &operands, immediate)
            }
            Op::Not => {
                let operand = self.node(inst.operands[0])?;
                self.make(NodeOp::Not, &[operand], 0)
            }
            Op::LNot => {
                let operands = [self.node(inst.operands[0])?, self.make(NodeOp::Const, &[], 0)];
                self.make(NodeOp::Equal, &operands, 0)
            }
            Op::FieldU | Op::FieldS => {
                let operands = [
                    self.node(inst.operands[0])?,
                    self.node(inst.operands[1])?,
                    self.node(inst.operands[2])?,
                ];
                let op = if inst.op == Op::FieldU {
                    NodeOp::BitfieldUnsigned
                } else {
                    NodeOp::BitfieldSigned
                };
                self.make(op, &operands, 0)
            }
            Op::Select if self.view.mask == Some(inst.operands[0]) => self.node(inst.operands[1])?,
            Op::Select if matches!(inst.ty, Type::U32 | Type::Bool) => {
                let operands = [
                    self.node(inst.operands[0])?,
                    self.node(inst.operands[1])?,
                    self.node(inst.operands[2])?,
                ];
                self.make(NodeOp::Select, &operands, 0)
            }
            // A first-lane read looks at a lane that its mask is set for. In compute, lane 0 is the first one wherever all
            // lanes are on. (A pixel wave's first lane may be uncovered.)
            Op::ReadFirstLane => {
                let view = View {
                    first_lane: self.function.is_all_lanes(inst.operands[1]),
                    mask: Some(inst.operands[1]),
                };
                self.node_in(inst.operands[0], view)?
            }
            // All lanes agree on what a plan can compute.
            Op::ReadLane | Op::AnyLane => self.node_in(inst.operands[0], View::default())?,
            Op::Phi => {
                let mut same = None;
                for operand in &inst.operands {
                    let node = self.node(*operand)?;
                    if *same.get_or_insert(node) != node {
                        return Err(String::from("it differs by the way the program took"));
                    }
                }
                same.ok_or_else(String::new)?
            }
            _ => return Err(String::new()),
        })
    }

    fn node_in(&mut self, value: Value, view: View) -> Result<NodeId, String> {
        let outside = std::mem::replace(&mut self.view, view);
        let node = self.node(value);
        self.view = outside;
        node
    }

    /// Compute's lane number: the invocation's number modulo the wave's size, a power of two of at most 64.
    fn is_lane_number(&self, inst: &Inst) -> bool {
        let masked = |index: usize, mask: usize| {
            self.function.inst(inst.operands[index]).op == Op::LocalIndex
                && matches!(self.function.constant(inst.operands[mask]), Some(31 | 63))
        };
        inst.op == Op::And && masked(0, 1)
    }

    /// An offset as a value and a constant.
    fn split(&self, offset: Value) -> (Option<Value>, u32) {
        if let Some(bits) = self.function.constant(offset) {
            return (None, bits as u32);
        }
        let inst = self.function.inst(offset);
        if inst.op == Op::Add
            && let Some(bits) = self.function.constant(inst.operands[1])
            && bits < 1 << 20
        {
            return (Some(inst.operands[0]), bits as u32);
        }
        (Some(offset), 0)
    }
}
