//! Runs a tape.

use super::{NONE, Step, StepOp, Tape};
use crate::plan::evaluator::{buffer_address, load_address, push_read, push_residuals};
use crate::plan::node::{Apply, NodeOp, OutOfWord};
use crate::plan::{Evaluation, PlanMemory, PlanRead, ResourcePlan, Use};
use relic_core::{GuestAddress, GuestRange};

/// Draws of one program: the rows of a run.
#[derive(Clone, Copy)]
pub struct Batch<'a, M: ?Sized> {
    /// User data words of each row, at most 64; those beyond the end read 0.
    pub user_data: &'a [&'a [u32]],
    /// Address of the program's first word.
    pub shader_base: GuestAddress,
    /// Guest memory.
    pub memory: &'a M,
}

/// One load of a run.
#[derive(Clone, Copy, Debug)]
struct Load {
    rows: u64,
    /// First of its addresses in [`Scratch::addresses`], one for each row of the batch.
    addresses: u32,
    size: u8,
    origin: Option<u8>,
    leaf: bool,
}

/// What runs write. Reused: buffers keep their capacity. One for each thread.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    lanes: usize,
    values: Vec<u32>,
    /// Rows that have reached a block.
    reached: Vec<u64>,
    /// Rows that a repeated load has been done for.
    records: Vec<u64>,
    /// Rows that an activity holds for.
    activities: Vec<u64>,
    masks: Vec<u64>,
    loads: Vec<Load>,
    addresses: Vec<u64>,
    uses: Vec<Use>,
}

impl Tape {
    /// Rows of a run at most.
    pub const MOST_ROWS: usize = 64;

    /// Walks `plan`, which this tape was compiled from, for all rows of `batch`, at most [`Self::MOST_ROWS`]. Returns
    /// the rows that came out, as bits; the evaluator has to walk the others.
    pub fn run<M: PlanMemory + ?Sized>(
        &self,
        plan: &ResourcePlan,
        batch: &Batch<'_, M>,
        scratch: &mut Scratch,
    ) -> u64 {
        match batch.user_data.len() {
            0 => 0,
            1 => self.run_lanes::<1, M>(plan, batch, scratch),
            2..=8 => self.run_lanes::<8, M>(plan, batch, scratch),
            _ => self.run_lanes::<64, M>(plan, batch, scratch),
        }
    }

    /// One row by itself, as [`crate::evaluate`]. False where the evaluator has to walk it.
    pub fn evaluate<M: PlanMemory + ?Sized>(
        &self,
        plan: &ResourcePlan,
        inputs: &crate::plan::Inputs<'_, M>,
        scratch: &mut Scratch,
        out: &mut Evaluation,
    ) -> bool {
        let batch = Batch {
            user_data: &[inputs.user_data],
            shader_base: inputs.shader_base,
            memory: inputs.memory,
        };
        out.clear();
        let finished = self.run(plan, &batch, scratch) != 0;
        if finished {
            self.results(plan, scratch, 0, out);
        }
        finished
    }

    /// Appends what the last run found for `row` to `out`; its user data's use is replaced.
    pub fn results(&self, plan: &ResourcePlan, scratch: &Scratch, row: usize, out: &mut Evaluation) {
        let lanes = scratch.lanes;
        let is_active =
            |activity: u16| activity == NONE || scratch.activities[usize::from(activity)] >> row & 1 != 0;
        let copy = |outputs: &[super::Output], out: &mut Vec<u32>| {
            for output in outputs {
                let count = usize::from(output.count);
                if is_active(output.activity) {
                    let values = scratch.values[usize::from(output.first) * lanes..].iter();
                    out.extend(values.skip(row).step_by(lanes).take(count));
                } else {
                    out.extend(std::iter::repeat_n(0, count));
                }
            }
        };
        let start = out.words.len();
        let first_read = out.reads.len();
        copy(&self.flat, &mut out.flat);
        copy(&self.words, &mut out.words);
        push_residuals(&self.buffers, plan.alignment, &out.words[start..], &mut out.flat);
        out.active
            .extend(self.descriptors.iter().map(|activity| is_active(*activity)));
        for load in scratch.loads.iter().filter(|load| load.rows >> row & 1 != 0) {
            let address = GuestAddress(scratch.addresses[load.addresses as usize + row]);
            let read = PlanRead {
                range: GuestRange::new(address, 4 * u64::from(load.size)),
                origin: load.origin,
                leaf: load.leaf,
            };
            push_read(&mut out.reads, first_read, read);
        }
        out.user_data = self.user_data.with(scratch.uses[row]);
    }

    fn run_lanes<const LANES: usize, M: PlanMemory + ?Sized>(
        &self,
        plan: &ResourcePlan,
        batch: &Batch<'_, M>,
        scratch: &mut Scratch,
    ) -> u64 {
        let rows = batch.user_data.len().min(LANES);
        let all = u64::MAX >> (64 - rows);
        scratch.lanes = LANES;
        // Only slots that were written in this run are read: what the others hold does not matter.
        if scratch.values.len() < self.slots * LANES {
            scratch.values.resize(self.slots * LANES, 0);
        }
        reset(&mut scratch.reached, plan.blocks.len(), 0);
        reset(&mut scratch.records, self.records, 0);
        reset(&mut scratch.activities, self.activities, 0);
        reset(&mut scratch.uses, rows, Use::default());
        scratch.masks.clear();
        scratch.loads.clear();
        scratch.addresses.clear();
        if let Some(start) = scratch.reached.first_mut() {
            *start = all;
        }
        let mut run = Run::<LANES, M> {
            batch,
            values: scratch.values.as_chunks_mut().0,
            records: &mut scratch.records,
            loads: &mut scratch.loads,
            addresses: &mut scratch.addresses,
            uses: &mut scratch.uses,
            mask: all,
            alive: all,
        };
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            at += 1;
            let entered = match step.op {
                StepOp::Node(op) => {
                    run.node(op, step);
                    continue;
                }
                StepOp::EnterIf => run.mask & run.nonzero(step.operands[0]),
                StepOp::EnterUnless => run.mask & !run.nonzero(step.operands[0]),
                StepOp::EnterBlock => run.mask & scratch.reached[usize::from(step.operands[0])],
                StepOp::EnterGuard => {
                    let guard = crate::plan::Guard {
                        first: step.operands[0],
                        count: step.operands[1],
                    };
                    let blocks = plan.guards[guard.range()].iter();
                    let users = blocks.fold(0, |rows, block| rows | scratch.reached[usize::from(*block)]);
                    let entered = run.mask & users;
                    scratch.activities[usize::from(step.target)] = entered;
                    entered
                }
                StepOp::Leave => {
                    run.mask = scratch.masks.pop().unwrap_or(all);
                    continue;
                }
                StepOp::Branch => {
                    let edges = plan.edges_of(&plan.blocks[usize::from(step.operands[0])]);
                    if step.operands[1] == NONE {
                        for edge in edges {
                            scratch.reached[usize::from(*edge)] |= run.mask;
                        }
                    } else {
                        let yes = run.nonzero(step.operands[1]);
                        scratch.reached[usize::from(edges[0])] |= run.mask & yes;
                        scratch.reached[usize::from(edges[1])] |= run.mask & !yes;
                    }
                    continue;
                }
            };
            if entered & run.alive == 0 {
                at = step.immediate as usize;
            } else {
                scratch.masks.push(run.mask);
                run.mask = entered;
            }
        }
        run.alive
    }
}

fn reset<T: Copy>(list: &mut Vec<T>, len: usize, value: T) {
    list.clear();
    list.resize(len, value);
}

/// The rows of a mask.
fn rows_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let row = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (row < 64).then_some(row)
    })
}

struct Run<'a, const LANES: usize, M: ?Sized> {
    batch: &'a Batch<'a, M>,
    values: &'a mut [[u32; LANES]],
    records: &'a mut [u64],
    loads: &'a mut Vec<Load>,
    addresses: &'a mut Vec<u64>,
    uses: &'a mut [Use],
    /// Rows that the steps at hand are for.
    mask: u64,
    /// Rows that are not handed back.
    alive: u64,
}

impl<const LANES: usize, M: PlanMemory + ?Sized> Run<'_, LANES, M> {
    fn nonzero(&self, slot: u16) -> u64 {
        let values = &self.values[usize::from(slot)];
        let bits = values.iter().enumerate();
        bits.fold(0, |mask, (row, value)| mask | u64::from(*value != 0) << row)
    }

    fn node(&mut self, op: NodeOp, step: &Step) {
        let target = usize::from(step.target);
        match op {
            NodeOp::Const => self.values[target] = [step.immediate; LANES],
            NodeOp::ShaderBaseLow => self.values[target] = [self.batch.shader_base.0 as u32; LANES],
            NodeOp::ShaderBaseHigh => self.values[target] = [(self.batch.shader_base.0 >> 32) as u32; LANES],
            NodeOp::UserData => {
                let number = step.immediate as usize;
                for (out, words) in self.values[target].iter_mut().zip(self.batch.user_data) {
                    *out = words.get(number).copied().unwrap_or_default();
                }
                if !step.always {
                    for row in rows_of(self.mask) {
                        self.uses[row].as_value |= 1 << number;
                    }
                }
            }
            NodeOp::LoadAddress => self.load_address(step),
            NodeOp::BufferLoad => self.load_buffer(step),
            NodeOp::Select => {
                let [condition, yes, no, _] = step.operands.map(usize::from);
                for row in 0..LANES {
                    let arm = if self.values[condition][row] != 0 { yes } else { no };
                    self.values[target][row] = self.values[arm][row];
                }
            }
            op => {
                // Operands have lower slots than what is made of them.
                let (before, out) = self.values.split_at_mut(target);
                let failed = op.apply(Rows {
                    before,
                    operands: step.operands,
                    out: &mut out[0],
                    mask: self.mask,
                });
                self.alive &= !failed;
            }
        }
    }

    /// Rows that a load is to be done for.
    fn due(&mut self, step: &Step) -> u64 {
        let due = self.mask & self.alive;
        match self.records.get_mut(usize::from(step.once)) {
            Some(done) => {
                let new = due & !*done;
                *done |= new;
                new
            }
            None => due,
        }
    }

    fn load_address(&mut self, step: &Step) {
        let mut rows = self.due(step);
        let [low, high, offset, number] = step.operands;
        let mut addresses = [0; LANES];
        let mut outside = 0;
        for row in rows_of(rows) {
            let low = if low == NONE {
                if !step.always {
                    self.uses[row].as_base |= 1 << number;
                }
                let words = self.batch.user_data[row];
                words.get(usize::from(number)).copied().unwrap_or_default()
            } else {
                self.values[usize::from(low)][row]
            };
            let high = self.values[usize::from(high)][row];
            let offset = self.values[usize::from(offset)][row];
            match load_address(low, high, offset, step.immediate) {
                Some(address) => addresses[row] = address,
                None => outside |= 1 << row,
            }
        }
        self.alive &= !outside;
        rows &= !outside;
        let origin = (low == NONE).then_some(number as u8);
        self.read(step, rows, &addresses, origin);
    }

    fn load_buffer(&mut self, step: &Step) {
        let due = self.due(step);
        let [a, b, c, d] = step.operands.map(usize::from);
        let mut addresses = [0; LANES];
        let mut rows = 0;
        for row in rows_of(due) {
            let words = [a, b, c].map(|slot| self.values[slot][row]);
            match buffer_address(words, self.values[d][row], step.immediate) {
                Ok(Some(address)) => {
                    addresses[row] = address;
                    rows |= 1 << row;
                }
                Ok(None) => self.values[usize::from(step.target)][row] = 0,
                Err(_) => self.alive &= !(1 << row),
            }
        }
        self.read(step, rows, &addresses, None);
    }

    fn read(&mut self, step: &Step, rows: u64, addresses: &[u64; LANES], origin: Option<u8>) {
        let target = usize::from(step.target);
        let count = usize::from(step.count);
        for row in rows_of(rows) {
            let address = GuestAddress(addresses[row]);
            let found = if count == 1 {
                let word = self.batch.memory.read_u32(address);
                self.values[target][row] = word.unwrap_or_default();
                word.is_some()
            } else {
                let mut words = [0; 8];
                let words = &mut words[..count];
                let found = self.batch.memory.read_words(address, words);
                for (slot, word) in self.values[target..].iter_mut().zip(words) {
                    slot[row] = *word;
                }
                found
            };
            if !found {
                self.alive &= !(1 << row);
            }
        }
        self.loads.push(Load {
            rows,
            addresses: self.addresses.len() as u32,
            size: step.count,
            origin,
            leaf: !step.feeds_address,
        });
        self.addresses.extend_from_slice(addresses);
    }
}

/// Operands of all rows. Rows outside the mask are computed too, as that is cheaper than to leave them out; nobody
/// reads them.
struct Rows<'a, const LANES: usize> {
    before: &'a [[u32; LANES]],
    operands: [u16; 4],
    out: &'a mut [u32; LANES],
    mask: u64,
}

impl<const LANES: usize> Rows<'_, LANES> {
    fn operand(&self, index: usize) -> &[u32; LANES] {
        &self.before[usize::from(self.operands[index])]
    }
}

impl<const LANES: usize> Apply for Rows<'_, LANES> {
    /// Rows of the mask that have no result.
    type Output = u64;

    #[inline(always)]
    fn one(self, f: impl Fn(u32) -> u32) -> u64 {
        let a = *self.operand(0);
        for (out, a) in self.out.iter_mut().zip(a) {
            *out = f(a);
        }
        0
    }

    #[inline(always)]
    fn two(self, f: impl Fn(u32, u32) -> u32) -> u64 {
        let (a, b) = (*self.operand(0), *self.operand(1));
        for row in 0..LANES {
            self.out[row] = f(a[row], b[row]);
        }
        0
    }

    fn checked(self, f: impl Fn(u32, u32, u32) -> Result<u32, OutOfWord>) -> u64 {
        let mut failed = 0;
        for row in 0..LANES {
            let [a, b, c] = [0, 1, 2].map(|index| self.operand(index)[row]);
            match f(a, b, c) {
                Ok(value) => self.out[row] = value,
                Err(OutOfWord { .. }) => failed |= 1 << row,
            }
        }
        failed & self.mask
    }

    fn other(self) -> u64 {
        // Inputs, loads and selections are the run's own.
        self.mask
    }
}
