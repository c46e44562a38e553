//! Runs a tape.

use super::{NONE, Output, Step, StepOp, Tape};
use crate::plan::evaluator::{buffer_address, load_address, push_read, push_residuals};
use crate::plan::node::{Apply, MOST_OPERANDS, NodeOp, OutOfWord};
use crate::plan::{Evaluation, Guard, Inputs, PlanMemory, PlanRead, ResourcePlan, Use};
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
    /// Slots of a row, then those of the next.
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

    /// One row by itself, as [`crate::evaluate`]. False where the evaluator has to walk it.
    pub fn evaluate<M: PlanMemory + ?Sized>(
        &self,
        plan: &ResourcePlan,
        inputs: &Inputs<'_, M>,
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
            self.words(plan, scratch, 0, out);
            self.reads(scratch, 0, out);
            self.uses(scratch, 0, out);
        }
        finished
    }

    /// Appends the words and flat words that the last run found for `row` to `out`.
    pub fn words(&self, plan: &ResourcePlan, scratch: &Scratch, row: usize, out: &mut Evaluation) {
        let values = &scratch.values[row * self.slots..][..self.slots];
        let copy = |outputs: &[Output], out: &mut Vec<u32>| {
            for output in outputs {
                let slots = usize::from(output.first)..usize::from(output.first + output.count);
                if scratch.is_active(output.activity, row) {
                    out.extend_from_slice(&values[slots]);
                } else {
                    out.extend(slots.map(|_| 0));
                }
            }
        };
        let start = out.words.len();
        copy(&self.flat, &mut out.flat);
        copy(&self.words, &mut out.words);
        push_residuals(&self.buffers, plan.alignment, &out.words[start..], &mut out.flat);
    }

    /// Appends what the last run read for `row` to `out`.
    pub fn reads(&self, scratch: &Scratch, row: usize, out: &mut Evaluation) {
        let first = out.reads.len();
        for load in scratch.loads.iter().filter(|load| load.rows >> row & 1 != 0) {
            let address = GuestAddress(scratch.addresses[load.addresses as usize + row]);
            let read = PlanRead {
                range: GuestRange::new(address, 4 * u64::from(load.size)),
                origin: load.origin,
                leaf: load.leaf,
            };
            push_read(&mut out.reads, first, read);
        }
    }

    /// How the last run used the user data of `row`, and which descriptors it found in use.
    pub fn uses(&self, scratch: &Scratch, row: usize, out: &mut Evaluation) {
        let is_active = |activity: &u16| scratch.is_active(*activity, row);
        out.active.extend(self.descriptors.iter().map(is_active));
        out.user_data = self.user_data.with(scratch.uses[row]);
    }

    /// Walks `plan`, which this tape was compiled from, for all rows of `batch`, at most [`Self::MOST_ROWS`]. Returns
    /// the rows that came out, as bits; the evaluator has to walk the others.
    pub fn run<M: PlanMemory + ?Sized>(
        &self,
        plan: &ResourcePlan,
        batch: &Batch<'_, M>,
        scratch: &mut Scratch,
    ) -> u64 {
        let rows = batch.user_data.len().min(Self::MOST_ROWS);
        if rows == 0 {
            return 0;
        }
        let all = u64::MAX >> (64 - rows);
        // Only slots that were written in this run are read: what the others hold does not matter.
        if scratch.values.len() < rows * self.slots {
            scratch.values.resize(rows * self.slots, 0);
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
        let mut run = Run {
            batch,
            rows,
            values: Values {
                all: &mut scratch.values,
                slots: self.slots,
            },
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
                StepOp::EnterIf => run.nonzero(step.operands[0]),
                StepOp::EnterUnless => run.mask & !run.nonzero(step.operands[0]),
                StepOp::EnterBlock => run.mask & scratch.reached[usize::from(step.operands[0])],
                StepOp::EnterGuard => {
                    let guard = Guard {
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
                        scratch.reached[usize::from(edges[0])] |= yes;
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

impl Scratch {
    fn is_active(&self, activity: u16, row: usize) -> bool {
        activity == NONE || self.activities[usize::from(activity)] >> row & 1 != 0
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

/// The slots of all rows. A row's slots stand together: loads fill several at once, and results are copied out of them.
struct Values<'a> {
    all: &'a mut [u32],
    slots: usize,
}

impl Values<'_> {
    fn row(&mut self, row: usize) -> &mut [u32] {
        &mut self.all[row * self.slots..][..self.slots]
    }
}

struct Run<'a, M: ?Sized> {
    batch: &'a Batch<'a, M>,
    rows: usize,
    values: Values<'a>,
    records: &'a mut [u64],
    loads: &'a mut Vec<Load>,
    addresses: &'a mut Vec<u64>,
    uses: &'a mut [Use],
    /// Rows that the steps at hand are for.
    mask: u64,
    /// Rows that are not handed back.
    alive: u64,
}

impl<M: PlanMemory + ?Sized> Run<'_, M> {
    /// Rows of the mask where a slot is not 0.
    fn nonzero(&mut self, slot: u16) -> u64 {
        let mut mask = 0;
        for row in rows_of(self.mask) {
            mask |= u64::from(self.values.row(row)[usize::from(slot)] != 0) << row;
        }
        mask
    }

    fn fill(&mut self, target: usize, value: u32) {
        for row in 0..self.rows {
            self.values.row(row)[target] = value;
        }
    }

    fn node(&mut self, op: NodeOp, step: &Step) {
        let target = usize::from(step.target);
        match op {
            NodeOp::Const => self.fill(target, step.immediate),
            NodeOp::ShaderBaseLow => self.fill(target, self.batch.shader_base.0 as u32),
            NodeOp::ShaderBaseHigh => self.fill(target, (self.batch.shader_base.0 >> 32) as u32),
            NodeOp::UserData => {
                let (number, count) = (step.immediate as usize, usize::from(step.count));
                for (row, words) in self.batch.user_data[..self.rows].iter().enumerate() {
                    let values = &mut self.values.row(row)[target..target + count];
                    match words.get(number..number + count) {
                        Some(words) => values.copy_from_slice(words),
                        None => {
                            for (value, number) in values.iter_mut().zip(number..) {
                                *value = words.get(number).copied().unwrap_or_default();
                            }
                        }
                    }
                }
                if !step.always {
                    let words = u64::MAX >> (64 - count) << number;
                    for row in rows_of(self.mask) {
                        self.uses[row].as_value |= words;
                    }
                }
            }
            NodeOp::LoadAddress => self.load_address(step),
            NodeOp::BufferLoad => self.load_buffer(step),
            NodeOp::Select => {
                let [condition, yes, no, _] = step.operands.map(usize::from);
                for row in rows_of(self.mask) {
                    let values = self.values.row(row);
                    values[target] = values[if values[condition] != 0 { yes } else { no }];
                }
            }
            op => {
                let failed = op.apply(Rows {
                    values: &mut self.values,
                    operands: step.operands.map(usize::from),
                    target,
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
        let due = self.due(step);
        let [low, high, offset, number] = step.operands.map(usize::from);
        let direct = step.operands[0] == NONE;
        let first = self.addresses.len();
        self.addresses.resize(first + self.rows, 0);
        let mut read = 0;
        for row in rows_of(due) {
            let values = self.values.row(row);
            let low = if direct {
                if !step.always {
                    self.uses[row].as_base |= 1 << number;
                }
                let words = self.batch.user_data[row];
                words.get(number).copied().unwrap_or_default()
            } else {
                values[low]
            };
            let address = load_address(low, values[high], values[offset], step.immediate);
            read |= u64::from(self.read(step, row, first, address)) << row;
        }
        let origin = direct.then_some(number as u8);
        self.record(step, due, read, first, origin);
    }

    fn load_buffer(&mut self, step: &Step) {
        let due = self.due(step);
        let [a, b, c, d] = step.operands.map(usize::from);
        let first = self.addresses.len();
        self.addresses.resize(first + self.rows, 0);
        let (mut read, mut past) = (0, 0);
        for row in rows_of(due) {
            let values = self.values.row(row);
            let words = [values[a], values[b], values[c]];
            match buffer_address(words, values[d], step.immediate) {
                Ok(None) => {
                    values[usize::from(step.target)] = 0;
                    past |= 1 << row;
                }
                address => {
                    let address = address.ok().flatten();
                    read |= u64::from(self.read(step, row, first, address)) << row;
                }
            }
        }
        self.record(step, due & !past, read, first, None);
    }

    /// Does a load for one row; false where it has no address, or memory is not mapped.
    fn read(&mut self, step: &Step, row: usize, first: usize, address: Option<u64>) -> bool {
        let Some(address) = address else { return false };
        self.addresses[first + row] = address;
        let target = usize::from(step.target);
        let words = &mut self.values.row(row)[target..target + usize::from(step.count)];
        self.batch.memory.read_words(GuestAddress(address), words)
    }

    /// Notes a load that was due for some rows and done for those in `read`; the others are handed back.
    fn record(&mut self, step: &Step, due: u64, read: u64, first: usize, origin: Option<u8>) {
        self.alive &= !due | read;
        self.loads.push(Load {
            rows: read,
            addresses: first as u32,
            size: step.count,
            origin,
            leaf: !step.feeds_address,
        });
    }
}

/// An operation on the rows of a mask.
struct Rows<'a, 'b> {
    values: &'a mut Values<'b>,
    operands: [usize; MOST_OPERANDS],
    target: usize,
    mask: u64,
}

impl Apply for Rows<'_, '_> {
    /// Rows of the mask that have no result.
    type Output = u64;

    #[inline(always)]
    fn one(self, f: impl Fn(u32) -> u32) -> u64 {
        self.checked(|a, _, _| Ok(f(a)))
    }

    #[inline(always)]
    fn two(self, f: impl Fn(u32, u32) -> u32) -> u64 {
        let [a, b, ..] = self.operands;
        for row in rows_of(self.mask) {
            let values = self.values.row(row);
            values[self.target] = f(values[a], values[b]);
        }
        0
    }

    #[inline(always)]
    fn checked(self, f: impl Fn(u32, u32, u32) -> Result<u32, OutOfWord>) -> u64 {
        let [a, b, c, _] = self.operands;
        let mut failed = 0;
        for row in rows_of(self.mask) {
            let values = self.values.row(row);
            let operand = |slot: usize| values.get(slot).copied().unwrap_or_default();
            match f(operand(a), operand(b), operand(c)) {
                Ok(value) => values[self.target] = value,
                Err(OutOfWord { .. }) => failed |= 1 << row,
            }
        }
        failed
    }

    fn other(self) -> u64 {
        // Inputs, loads and selections are the run's own.
        self.mask
    }
}
