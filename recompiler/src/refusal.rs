//! Why a program cannot be recompiled, said so that a reader can act on it.

use crate::binary::Stage;
use std::fmt;
use thiserror::Error;

/// Byte offset of an instruction from the program's first word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProgramCounter(pub u32);

impl fmt::Display for ProgramCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// What stood in the way.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Reason {
    /// The words are no instruction of the dialect.
    #[error("the words {0:08x?} are no instruction of this chip")]
    UnknownEncoding(Vec<u32>),
    /// The code ends inside the program.
    #[error("the code given ends before the program does")]
    CodeEnds,
    /// A branch leads outside the code.
    #[error("it branches to byte {0}, outside the code given")]
    BranchOutside(i64),
    /// More instructions or blocks than the limit.
    #[error("the program has more than {0} {1}")]
    TooLarge(usize, &'static str),
    /// A known instruction that has no translation.
    #[error("this instruction has no translation yet")]
    Untranslated,
    /// A known instruction in a form that has no translation.
    #[error("this form of the instruction has no translation yet: {0}")]
    Unsupported(&'static str),
    /// A descriptor or address that cannot be found before the draw.
    #[error("the {what} it uses cannot be found before the draw: {why}")]
    Unresolvable {
        /// Descriptor kind or "address".
        what: &'static str,
        /// The value the walk stopped at.
        why: String,
    },
    /// The device lacks something.
    #[error("the device lacks {0}")]
    Device(&'static str),
    /// The specialization does not match the plan.
    #[error("the specialization does not fit the plan: {0}")]
    Specialization(String),
    /// The recompiler broke a rule of its own.
    #[error("a rule of the recompiler is broken (a bug in Relic): {0}")]
    Internal(String),
}

/// A program, or an instruction of one, that was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{stage} program refused at {program_counter} ({instruction}): {reason}")]
pub struct Refusal {
    /// Stage of the program.
    pub stage: Stage,
    /// Where.
    pub program_counter: ProgramCounter,
    /// The instruction in assembler's syntax, or its words, or "whole program".
    pub instruction: String,
    /// Why.
    pub reason: Reason,
}

/// A reason and the place it belongs to, before the stage is added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub program_counter: Option<ProgramCounter>,
    pub instruction: Option<String>,
    pub reason: Reason,
}

impl Fault {
    /// Whether an address was in the way that a guest pointer could be followed to.
    pub(crate) fn is_about_addresses(&self) -> bool {
        matches!(
            &self.reason,
            Reason::Unresolvable {
                what: "address" | "V#",
                ..
            }
        )
    }

    pub fn at(self, program_counter: ProgramCounter, instruction: impl FnOnce() -> String) -> Self {
        if self.program_counter.is_some() {
            return self;
        }
        Self {
            program_counter: Some(program_counter),
            instruction: self.instruction.or_else(|| Some(instruction())),
            reason: self.reason,
        }
    }

    pub fn refuse(self, stage: Stage) -> Refusal {
        Refusal {
            stage,
            program_counter: self.program_counter.unwrap_or_default(),
            instruction: self.instruction.unwrap_or_else(|| String::from("whole program")),
            reason: self.reason,
        }
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self {
            program_counter: None,
            instruction: None,
            reason,
        }
    }
}
