//! A program looked at from outside: its blocks and IR as text, counts, and how long each pass took. For tools.

use crate::binary::{Profile, ShaderBinary};
use crate::cfg::{Cfg, Exit};
use crate::refusal::Refusal;
use crate::{Program, pipeline};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What [`inspect`] found.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Basic blocks with their instructions and successors.
    pub blocks: String,
    /// Reachable instructions.
    pub instructions: usize,
    /// Basic blocks.
    pub block_count: usize,
    /// Values of the finished IR, and its blocks.
    pub values: usize,
    /// Blocks of the structured program.
    pub structured_blocks: usize,
    /// Passes in the order they ran, with the time of each.
    pub passes: Vec<(&'static str, Duration)>,
}

/// Stops the time between passes, where anyone wants to know.
#[derive(Default)]
pub(crate) struct Clock {
    last: Option<Instant>,
    passes: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn running() -> Self {
        Self {
            last: Some(Instant::now()),
            passes: Vec::new(),
        }
    }

    /// Notes that a pass is done.
    pub fn lap(&mut self, pass: &'static str) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            self.passes.push((pass, now - *last));
            *last = now;
        }
    }
}

/// [`crate::analyse`], with what happened on the way.
///
/// # Errors
/// As that.
pub fn inspect(binary: &ShaderBinary<'_>, profile: &Profile) -> Result<(Program, Inspection), Refusal> {
    let refuse = |fault: crate::refusal::Fault| fault.refuse(binary.stage.stage());
    let mut clock = Clock::running();
    let (program, cfg) = pipeline(binary, profile, &mut clock).map_err(refuse)?;
    let inspection = Inspection {
        blocks: blocks(&cfg),
        instructions: cfg.instructions.len(),
        block_count: cfg.blocks.len(),
        values: program
            .function
            .blocks
            .iter()
            .map(|block| block.insts.len())
            .sum(),
        structured_blocks: program.function.blocks.len(),
        passes: clock.passes,
    };
    Ok((program, inspection))
}

fn blocks(cfg: &Cfg) -> String {
    let mut text = String::new();
    for (index, block) in cfg.blocks.iter().enumerate() {
        let _ = writeln!(text, "b{index}:");
        for instruction in &cfg.instructions[block.instructions.clone()] {
            let _ = writeln!(text, "{:6x}  {instruction}", instruction.program_counter.0);
        }
        let _ = match block.exit {
            Exit::End => writeln!(text, "        end"),
            Exit::Goto(to) => writeln!(text, "        to b{}", to.0),
            Exit::Branch {
                condition,
                taken,
                next,
            } => writeln!(text, "        {condition:?}: to b{}, else b{}", taken.0, next.0),
        };
    }
    text
}
