//! What `relic relink` and `relic run` are told about the conversion alike.

use std::path::{Path, PathBuf};

use relic_relink::{FilterLevel, Lowerings, RelinkOptions, SystemCallPolicy, Target};

/// How a title is converted.
#[derive(Debug, clap::Args)]
pub struct Conversion {
    /// Search this folder, at any depth, for modules too; may be repeated
    #[arg(long, value_name = "DIR")]
    pub module_dir: Vec<PathBuf>,
    /// Apply the patches of this file; `<stem>.patches.toml` beside the program says what was done
    #[arg(long, value_name = "FILE")]
    pub patches: Option<PathBuf>,
    /// What to do about system calls in the program's own code
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    syscalls: SystemCalls,
    /// Replace instructions that only AMD's processors have, in the program and its modules; the SHA instructions too
    /// where the processor lacks them
    #[arg(long, value_name = "PROCESSOR", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "this")]
    to_intel: Option<Processor>,
    /// Compute reciprocals exactly where rcpps, rsqrtps and the like approximate them, which every processor does in its
    /// own way. Those without room for a jump stay
    #[arg(long)]
    exact_reciprocals: bool,
    /// Leave unused imports out: 0 none, 1 data without a reference, 2 whatever no reachable code uses
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=2), default_value_t = 0)]
    unused_filter: u8,
}

/// What happens to system calls.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum SystemCalls {
    /// Refuse the program
    #[default]
    Error,
    /// Replace each by an instruction that ends the program where it is reached
    Trap,
    /// Don't look for them: the host's kernel would take the console's numbers for its own
    Keep,
}

/// The processor that a program is for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Processor {
    /// Like that of this machine
    This,
    /// One with SHA instructions
    Sha,
    /// One without SHA instructions
    NoSha,
}

impl Conversion {
    /// The relinker's options.
    #[must_use]
    pub fn options(&self, input: &Path, output: &Path) -> RelinkOptions {
        RelinkOptions {
            input: input.to_owned(),
            output: output.to_owned(),
            module_folders: self.module_dir.clone(),
            patches: self.patches.clone(),
            system_calls: match self.syscalls {
                SystemCalls::Error => SystemCallPolicy::Refuse,
                SystemCalls::Trap => SystemCallPolicy::Trap,
                SystemCalls::Keep => SystemCallPolicy::Keep,
            },
            filter: match self.unused_filter {
                0 => FilterLevel::Keep,
                1 => FilterLevel::Data,
                _ => FilterLevel::Reachable,
            },
            lowerings: Lowerings {
                target: match self.to_intel {
                    None => Target::Amd,
                    Some(Processor::Sha) => Target::Sha,
                    Some(Processor::NoSha) => Target::NoSha,
                    Some(Processor::This) if std::arch::is_x86_feature_detected!("sha") => Target::Sha,
                    Some(Processor::This) => Target::NoSha,
                },
                exact_reciprocals: self.exact_reciprocals,
            },
            ..RelinkOptions::default()
        }
    }
}
