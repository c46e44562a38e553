//! A plan's walk as a flat list of steps, run for many draws of a program at a time.
//!
//! The list is the evaluator's order, unrolled once. Values have slots, and every row of the batch has all slots; one
//! step is one loop over rows. What the evaluator walks only under a condition stands between
//! [`StepOp::Enter`] and [`StepOp::Leave`]: the rows that it is walked for are the mask in force there, and where
//! there are none the steps are skipped. A value that several such places need has steps in each of them.
//!
//! A row that the tape can't finish exactly as the evaluator does (memory that is not mapped, an address or a bit field
//! out of range) is handed back: it leaves no record, and the evaluator walks it.

mod compile;
mod run;

pub use run::{Batch, Scratch};

use super::node::{MOST_OPERANDS, NodeOp};
use super::{ResourcePlan, Use};

/// Place of a value: index of the slot whose words it has.
type Slot = u16;
/// No slot, block or number.
const NONE: u16 = u16::MAX;

/// What a step does. Fields of [`Step`] are named by their use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StepOp {
    /// A node's operation on `operands` into `target`. Loads and user data fill `count` slots from `target` on.
    Node(NodeOp),
    /// Rows where slot `operands[0]` is not 0; where there are none, go on at step `immediate`.
    EnterIf,
    /// Rows where it is 0.
    EnterUnless,
    /// Rows that have reached block `operands[0]`.
    EnterBlock,
    /// Rows that have reached a block of guard (`operands[0]`, `operands[1]`); they are recorded as activity `target`.
    EnterGuard,
    /// Back to the rows before the last step of these kinds.
    Leave,
    /// The end of block `operands[0]`: rows reach its successors by slot `operands[1]`, or all of them where it is
    /// [`NONE`].
    Branch,
}

/// One step, in 20 bytes.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: StepOp,
    operands: [u16; MOST_OPERANDS],
    immediate: u32,
    target: u16,
    /// Loads and user data: number of dwords.
    count: u8,
    /// Loads: an address depends on what is loaded.
    feeds_address: bool,
    /// Loads: number of the record of rows that have it already, where another place may have loaded it.
    once: u16,
    /// It is done for all rows: its use of the user data is in [`Tape::user_data`].
    always: bool,
}

/// Where results come from: slots that follow each other.
#[derive(Clone, Copy, Debug)]
struct Output {
    first: Slot,
    count: u16,
    /// Activity that they depend on; elsewhere they are 0.
    activity: u16,
}

/// A compiled plan.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    steps: Vec<Step>,
    slots: usize,
    records: usize,
    activities: usize,
    flat: Vec<Output>,
    words: Vec<Output>,
    /// Activity of each descriptor.
    descriptors: Vec<u16>,
    /// First words of the buffers among the descriptors, whose residuals are flat words.
    buffers: Vec<u16>,
    /// What every row uses of its user data.
    user_data: Use,
}

impl Tape {
    /// Compiles a plan. None where the tape would be too long or the plan too deep: the evaluator walks those.
    #[must_use]
    pub fn compile(plan: &ResourcePlan) -> Option<Self> {
        compile::compile(plan)
    }

    /// Number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Bytes that the tape takes in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&self.steps[..])
            + size_of_val(&self.flat[..])
            + size_of_val(&self.words[..])
            + size_of_val(&self.descriptors[..])
            + size_of_val(&self.buffers[..])
    }
}
