//! From a plan to its tape.

use super::{NONE, Output, Slot, Step, StepOp, Tape};
use crate::plan::evaluator::MAX_DEPTH;
use crate::plan::node::{MOST_OPERANDS, NodeId, NodeOp};
use crate::plan::{DescriptorKind, Guard, ResourcePlan};

/// Steps of a tape at most, for each node of its plan: places that need the same values may multiply.
const MOST_STEPS_PER_NODE: usize = 8;
/// Dwords of a load at most: a T#.
const MOST_DWORDS: usize = 8;

/// Too long or too deep.
struct Unfit;

pub(super) fn compile(plan: &ResourcePlan) -> Option<Tape> {
    let mut height = vec![0_u32; plan.nodes.len()];
    for (index, node) in plan.nodes.iter().enumerate() {
        let operands = node.used().iter().map(|operand| height[operand.index()]);
        height[index] = 1 + operands.max().unwrap_or(0);
        if height[index] > MAX_DEPTH {
            return None;
        }
    }
    // What is placed several times is known only at the end; loads among it must record the rows that have them.
    let mut first = Compiler::new(plan, vec![false; plan.nodes.len()]);
    first.all().ok()?;
    let repeated = first.places.iter().map(|places| *places > 1).collect();
    let mut second = Compiler::new(plan, repeated);
    second.all().ok()?;
    Some(second.tape)
}

struct Compiler<'a> {
    plan: &'a ResourcePlan,
    /// Nodes that are placed more than once.
    repeated: Vec<bool>,
    tape: Tape,
    slots: Vec<Slot>,
    records: Vec<u16>,
    places: Vec<u32>,
    /// Nodes whose value is there for all rows of the mask in force.
    available: Vec<bool>,
    /// Nodes that became so, for [`Compiler::leave`].
    trail: Vec<NodeId>,
    /// Places opened and not closed.
    depth: u32,
    limit: usize,
}

impl<'a> Compiler<'a> {
    fn new(plan: &'a ResourcePlan, repeated: Vec<bool>) -> Self {
        let nodes = plan.nodes.len();
        Self {
            plan,
            repeated,
            tape: Tape::default(),
            slots: vec![NONE; nodes],
            records: vec![NONE; nodes],
            places: vec![0; nodes],
            available: vec![false; nodes],
            trail: Vec::new(),
            depth: 0,
            limit: MOST_STEPS_PER_NODE * (nodes + plan.blocks.len()) + 64,
        }
    }

    fn all(&mut self) -> Result<(), Unfit> {
        for (index, block) in self.plan.blocks.iter().enumerate() {
            let index = index as u16;
            let entered = self.enter(StepOp::EnterBlock, [index, 0], 0)?;
            let condition = match block.condition {
                Some(condition) => {
                    self.place(condition)?;
                    self.slots[condition.index()]
                }
                None => NONE,
            };
            self.push(StepOp::Branch, [index, condition, 0, 0], 0, 0)?;
            self.leave(entered)?;
        }
        for source in &self.plan.flat {
            let activity = self.guarded(source.guard, &[source.node])?;
            push_output(&mut self.tape.flat, self.slots[source.node.index()], activity);
        }
        for source in &self.plan.descriptors {
            let words = self.plan.words_of(source);
            let activity = self.guarded(source.guard, words)?;
            self.tape.descriptors.push(activity);
            for word in words {
                push_output(&mut self.tape.words, self.slots[word.index()], activity);
            }
            if source.kind == DescriptorKind::Buffer {
                self.tape.buffers.push(source.first);
            }
        }
        Ok(())
    }

    /// Places nodes for the rows that use them; returns their activity, [`NONE`] where all do.
    fn guarded(&mut self, guard: Guard, nodes: &[NodeId]) -> Result<u16, Unfit> {
        if guard.count == 0 {
            self.place_all(nodes)?;
            return Ok(NONE);
        }
        let activity = number(self.tape.activities)?;
        self.tape.activities += 1;
        let entered = self.enter(StepOp::EnterGuard, [guard.first, guard.count], activity)?;
        self.place_all(nodes)?;
        self.leave(entered)?;
        Ok(activity)
    }

    /// Places nodes in their order. Loads of dwords that follow each other become one step.
    fn place_all(&mut self, nodes: &[NodeId]) -> Result<(), Unfit> {
        let mut rest = nodes;
        while let [first, behind @ ..] = rest {
            let run = self.run(rest);
            if run < 2 {
                self.place(*first)?;
                rest = behind;
                continue;
            }
            let operands = self.load_operands(*first)?;
            let target = number(self.tape.slots)?;
            self.load(*first, operands, target, run as u8)?;
            for node in &rest[..run] {
                self.slots[node.index()] = number(self.tape.slots)?;
                self.tape.slots += 1;
                self.arrive(*node);
            }
            rest = &rest[run..];
        }
        Ok(())
    }

    /// How many of `nodes`, from the first one on, are loads of dwords that follow each other.
    fn run(&self, nodes: &[NodeId]) -> usize {
        let plain = |id: NodeId| {
            let node = &self.plan.nodes[id.index()];
            (node.op == NodeOp::LoadAddress && !self.available[id.index()] && !self.repeated[id.index()])
                .then_some(node)
        };
        let Some(first) = plain(nodes[0]) else {
            return 0;
        };
        nodes
            .iter()
            .take(MOST_DWORDS)
            .enumerate()
            .take_while(|(i, id)| {
                plain(**id).is_some_and(|node| {
                    node.operands == first.operands
                        && node.feeds_address == first.feeds_address
                        && Some(node.immediate.cast_signed())
                            == first.immediate.cast_signed().checked_add(4 * *i as i32)
                })
            })
            .count()
    }

    fn place(&mut self, id: NodeId) -> Result<(), Unfit> {
        if self.available[id.index()] {
            return Ok(());
        }
        let node = &self.plan.nodes[id.index()];
        let operands = match node.op {
            NodeOp::LoadAddress => self.load_operands(id)?,
            NodeOp::Select => {
                let [condition, yes, no, _] = node.operands;
                self.place(condition)?;
                let slot = self.slots[condition.index()];
                for (op, arm) in [(StepOp::EnterIf, yes), (StepOp::EnterUnless, no)] {
                    if self.available[arm.index()] || self.plan.nodes[arm.index()].op == NodeOp::Const {
                        self.place(arm)?;
                        continue;
                    }
                    let entered = self.enter(op, [slot, 0], 0)?;
                    self.place(arm)?;
                    self.leave(entered)?;
                }
                self.slots_of(id)
            }
            _ => {
                for operand in node.used() {
                    self.place(*operand)?;
                }
                self.slots_of(id)
            }
        };
        if self.slots[id.index()] == NONE {
            self.slots[id.index()] = number(self.tape.slots)?;
            self.tape.slots += 1;
        }
        let target = self.slots[id.index()];
        if node.op == NodeOp::UserData && self.depth == 0 {
            self.tape.user_data.as_value |= 1 << node.immediate;
        }
        if node.op.loads() {
            self.load(id, operands, target, 1)?;
        } else {
            self.push(StepOp::Node(node.op), operands, node.immediate, target)?;
        }
        self.arrive(id);
        Ok(())
    }

    /// Places the operands of a load through a pointer. A base that is user data itself is no value: the load's first
    /// operand is then [`NONE`] and its last one the word's number.
    fn load_operands(&mut self, id: NodeId) -> Result<[u16; MOST_OPERANDS], Unfit> {
        let [low, high, offset, _] = self.plan.nodes[id.index()].operands;
        let base = self.plan.nodes[low.index()];
        let direct = base.op == NodeOp::UserData;
        if !direct {
            self.place(low)?;
        }
        self.place(high)?;
        self.place(offset)?;
        let slot = |id: NodeId| self.slots[id.index()];
        Ok(if direct {
            if self.depth == 0 {
                self.tape.user_data.as_base |= 1 << base.immediate;
            }
            [NONE, slot(high), slot(offset), base.immediate as u16]
        } else {
            [slot(low), slot(high), slot(offset), NONE]
        })
    }

    fn load(
        &mut self,
        id: NodeId,
        operands: [u16; MOST_OPERANDS],
        target: Slot,
        count: u8,
    ) -> Result<(), Unfit> {
        let node = &self.plan.nodes[id.index()];
        let once = if self.repeated[id.index()] {
            if self.records[id.index()] == NONE {
                self.records[id.index()] = number(self.tape.records)?;
                self.tape.records += 1;
            }
            self.records[id.index()]
        } else {
            NONE
        };
        self.push(StepOp::Node(node.op), operands, node.immediate, target)?;
        if let Some(step) = self.tape.steps.last_mut() {
            step.count = count;
            step.feeds_address = node.feeds_address;
            step.once = once;
        }
        Ok(())
    }

    fn slots_of(&self, id: NodeId) -> [u16; MOST_OPERANDS] {
        let mut slots = [NONE; MOST_OPERANDS];
        for (slot, operand) in slots.iter_mut().zip(self.plan.nodes[id.index()].used()) {
            *slot = self.slots[operand.index()];
        }
        slots
    }

    fn arrive(&mut self, id: NodeId) {
        self.available[id.index()] = true;
        self.places[id.index()] += 1;
        self.trail.push(id);
    }

    /// Opens a place for some rows. Returns what [`Self::leave`] needs.
    fn enter(&mut self, op: StepOp, operands: [u16; 2], target: u16) -> Result<(usize, usize), Unfit> {
        let at = self.tape.steps.len();
        self.push(op, [operands[0], operands[1], 0, 0], 0, target)?;
        self.depth += 1;
        Ok((at, self.trail.len()))
    }

    /// Closes it: what was placed there is not there for other rows.
    fn leave(&mut self, (at, trail): (usize, usize)) -> Result<(), Unfit> {
        self.push(StepOp::Leave, [0; MOST_OPERANDS], 0, 0)?;
        self.depth -= 1;
        self.tape.steps[at].immediate = self.tape.steps.len() as u32;
        for id in self.trail.drain(trail..) {
            self.available[id.index()] = false;
        }
        Ok(())
    }

    fn push(
        &mut self,
        op: StepOp,
        operands: [u16; MOST_OPERANDS],
        immediate: u32,
        target: u16,
    ) -> Result<(), Unfit> {
        let always = self.depth == 0;
        // User data words that follow each other are one step.
        if op == StepOp::Node(NodeOp::UserData)
            && let Some(last) = self.tape.steps.last_mut()
            && last.op == op
            && last.immediate + u32::from(last.count) == immediate
            && last.target + u16::from(last.count) == target
        {
            last.count += 1;
            return Ok(());
        }
        if self.tape.steps.len() >= self.limit {
            return Err(Unfit);
        }
        self.tape.steps.push(Step {
            op,
            operands,
            immediate,
            target,
            count: 1,
            feeds_address: false,
            once: NONE,
            always,
        });
        Ok(())
    }
}

/// Appends a slot to outputs: to the last ones where it goes on from there.
fn push_output(outputs: &mut Vec<Output>, slot: Slot, activity: u16) {
    match outputs.last_mut() {
        Some(last) if last.first + last.count == slot && last.activity == activity => last.count += 1,
        _ => outputs.push(Output {
            first: slot,
            count: 1,
            activity,
        }),
    }
}

/// A number below [`NONE`].
fn number(count: usize) -> Result<u16, Unfit> {
    u16::try_from(count)
        .ok()
        .filter(|number| *number != NONE)
        .ok_or(Unfit)
}
