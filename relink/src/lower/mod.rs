//! `--to-intel`: instructions that only AMD's processors have, in terms of those that all x86-64 processors have.
//!
//! An instruction whose replacement is not longer is replaced in place. Any other becomes a jump to a trampoline behind
//! the image: the replacement, then what else the jump covered, then a jump back. The red zone below the stack pointer and
//! the flags are as the instruction leaves them.

mod operand;
mod reciprocals;
pub mod sequences;
mod sha;
pub mod sites;

use iced_x86::{Decoder, DecoderOptions, Encoder, Instruction, code_asm::CodeAssembler};

use crate::{
    address::ImageAddress,
    code::Code,
    error::{LowerProblem, RelinkError},
    plan::rewrites::{Reason, Rewrite},
};

use sites::Site;

/// Trampolines begin at multiples of this.
const ALIGNMENT: u64 = 16;
/// Size of `jmp rel32`.
const JUMP: usize = 5;
/// `int3`, between trampolines.
const FILLER: u8 = 0xcc;

/// The processors that an output is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Target {
    /// AMD's: every instruction stays.
    #[default]
    Amd,
    /// Any with the SHA instructions: what only AMD's have is replaced.
    Sha,
    /// Any at all: the SHA instructions are replaced too.
    NoSha,
}

/// What is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lowerings {
    /// What processors of this kind lack.
    pub target: Target,
    /// Approximations of reciprocals, wherever a jump has room.
    pub exact_reciprocals: bool,
}

/// How one instruction is replaced.
#[derive(Debug, Clone)]
pub enum Lowering {
    /// By as many bytes.
    InPlace(Vec<u8>),
    /// By a sequence somewhere else.
    Sequence(sequences::Sequence),
}

/// The instructions that were found, and their replacements.
#[derive(Debug, Default)]
pub struct Lowered {
    sites: Vec<Site>,
    /// What may be instructions to replace, in code without unwind information, and stays: names and addresses.
    pub uncertain: Vec<(&'static str, ImageAddress)>,
    /// Size of all trampolines in bytes.
    pub size: u64,
}

impl Lowered {
    /// Finds every instruction to replace, and checks that each can be.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Lower`] for the first that can't.
    pub fn plan(code: &Code<'_>, lowerings: Lowerings) -> Result<Self, RelinkError> {
        if lowerings == Lowerings::default() {
            return Ok(Self::default());
        }
        let (sites, uncertain) = sites::find(code, lowerings)?;
        let mut lowered = Self {
            sites,
            uncertain,
            size: 0,
        };
        // The size of a trampoline does not depend on where it is: every distance takes 32 bits.
        let somewhere = code
            .segments
            .iter()
            .map(|segment| segment.range().end().0)
            .max()
            .unwrap_or(0)
            .next_multiple_of(ALIGNMENT);
        lowered.size = lowered.trampolines(ImageAddress(somewhere))?.len() as u64;
        Ok(lowered)
    }

    /// The trampolines, which begin at `start`.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Lower`] when one can't be encoded.
    pub fn trampolines(&self, start: ImageAddress) -> Result<Vec<u8>, RelinkError> {
        let mut bytes = Vec::new();
        for site in self.sites.iter().filter(|site| site.in_place().is_none()) {
            bytes.extend(trampoline(site, ImageAddress(start.0 + bytes.len() as u64))?);
        }
        Ok(bytes)
    }

    /// What stands in place of the instructions, when the trampolines begin at `start`: one rewrite for each.
    ///
    /// # Errors
    ///
    /// As [`Self::trampolines`].
    pub fn rewrites(&self, start: ImageAddress) -> Result<Vec<Rewrite>, RelinkError> {
        let mut next = start.0;
        let mut rewrites = Vec::with_capacity(self.sites.len());
        for site in &self.sites {
            let mut bytes = match site.in_place() {
                Some(bytes) => bytes.to_vec(),
                None => {
                    let here = next;
                    next += trampoline(site, ImageAddress(here))?.len() as u64;
                    // Image addresses are below 2^32, the distance below 2^31 by the check in `trampoline`.
                    let distance = here.wrapping_sub(site.address().0 + JUMP as u64) as u32;
                    let mut bytes = vec![0xe9];
                    bytes.extend(distance.to_le_bytes());
                    bytes.resize(site.covered(), 0x90);
                    bytes
                }
            };
            // From the last instruction on, each takes its bytes and those of what moves with it.
            let first = rewrites.len();
            for (address, was) in site.replaced().rev() {
                rewrites.push(Rewrite {
                    address,
                    bytes: bytes.split_off((address.0 - site.address().0) as usize),
                    was,
                    reason: Reason::Lowered,
                });
            }
            rewrites[first..].reverse();
        }
        Ok(rewrites)
    }
}

/// One trampoline at an address, filled up to the next.
fn trampoline(site: &Site, at: ImageAddress) -> Result<Vec<u8>, RelinkError> {
    let refuse = |problem| RelinkError::Lower {
        name: site.name(),
        address: site.address(),
        problem,
    };
    let encoding = |error: iced_x86::IcedError| refuse(LowerProblem::Encoding(error.to_string()));
    if at.0.abs_diff(site.address().0) > i32::MAX as u64 - 0x1_0000 {
        return Err(refuse(LowerProblem::TooFar { trampoline: at }));
    }
    let mut bytes = Vec::new();
    // Distances change with the place.
    let encode = |bytes: &mut Vec<u8>, mut moved: Instruction| {
        let mut encoder = Encoder::new(64);
        moved.set_code(moved.code().as_near_branch());
        encoder.encode(&moved, at.0 + bytes.len() as u64)?;
        bytes.extend(encoder.take_buffer());
        Ok(())
    };
    for piece in &site.pieces {
        match &piece.lowering {
            Some((_, Lowering::Sequence(sequence))) => {
                let mut assembler = CodeAssembler::new(64).map_err(encoding)?;
                sequence.assemble(&mut assembler).map_err(encoding)?;
                bytes.extend(assembler.assemble(at.0 + bytes.len() as u64).map_err(encoding)?);
            }
            Some((_, Lowering::InPlace(replacement))) => {
                let ip = piece.instruction.ip();
                for moved in Decoder::with_ip(64, replacement, ip, DecoderOptions::NONE).iter() {
                    encode(&mut bytes, moved).map_err(encoding)?;
                }
            }
            // What the jump covers beside the instruction.
            None => encode(&mut bytes, piece.instruction).map_err(encoding)?,
        }
    }
    if site.returns() {
        let end = at.0 + bytes.len() as u64 + JUMP as u64;
        bytes.push(0xe9);
        bytes.extend((site.next().0.wrapping_sub(end) as u32).to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), FILLER);
    Ok(bytes)
}
