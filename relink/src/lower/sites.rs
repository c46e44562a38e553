//! Where the instructions are, and what else a jump to their replacement covers.

use std::collections::BTreeMap;

use iced_x86::{Code as Opcode, FlowControl, Instruction, OpKind, code_asm::registers};

use crate::{
    address::ImageAddress,
    code::Code,
    error::{LowerProblem, RelinkError},
};

use super::{JUMP, Lowering, sequences::Sequence};

/// Two bytes that each instruction holds.
const PAIRS: [[u8; 2]; 4] = [[0x0f, 0x2b], [0x0f, 0x78], [0x0f, 0x79], [0x0f, 0x01]];
/// `nop` of three bytes, and `pause` with a `nop`.
const NOP: [u8; 3] = [0x0f, 0x1f, 0x00];
const PAUSE: [u8; 3] = [0xf3, 0x90, 0x90];
/// `mfence; stc`: all stores are done, and that went well.
const COMMIT: [u8; 4] = [0x0f, 0xae, 0xf0, 0xf9];

/// One instruction to replace.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) address: ImageAddress,
    pub(super) name: &'static str,
    pub(super) lowering: Lowering,
    /// The instruction's own length.
    length: usize,
    /// The instructions behind it that the jump covers too.
    pub(super) moved: Vec<Instruction>,
}

impl Site {
    /// How many bytes are replaced.
    pub(super) fn covered(&self) -> usize {
        self.length + self.moved.iter().map(Instruction::len).sum::<usize>()
    }

    /// Where the code goes on behind them.
    pub(super) fn next(&self) -> ImageAddress {
        ImageAddress(self.address.0 + self.covered() as u64)
    }

    /// Whether it goes on there.
    pub(super) fn returns(&self) -> bool {
        self.moved.last().is_none_or(|last| {
            !matches!(
                last.flow_control(),
                FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
            )
        })
    }
}

/// Finds all sites, in the order of their addresses.
pub(super) fn find(code: &Code<'_>) -> Result<Vec<Site>, RelinkError> {
    let found = code.find(
        &PAIRS,
        // `0f 01` begins many system instructions; of these, the third byte decides.
        |address| match code.bytes_from(address) {
            Some([0x0f, 0x01, third, ..]) => (0xfa..=0xfd).contains(third),
            _ => true,
        },
        |instruction| lowering(code, instruction).map(|(name, lowering)| (*instruction, name, lowering)),
    );
    let by_address: BTreeMap<u64, _> = found
        .instructions
        .into_iter()
        .map(|(instruction, name, lowering)| (instruction.ip(), (instruction, name, lowering)))
        .collect();
    let mut sites: Vec<Site> = Vec::with_capacity(by_address.len());
    for (instruction, name, lowering) in by_address.into_values() {
        let address = ImageAddress(instruction.ip());
        // One that an earlier jump covers would be moved as it is.
        if let Some(previous) = sites.last().filter(|previous| previous.next() > address) {
            return Err(RelinkError::Lower {
                name,
                address,
                problem: LowerProblem::Adjacent {
                    other: previous.address,
                },
            });
        }
        let mut site = Site {
            address,
            name,
            lowering,
            length: instruction.len(),
            moved: Vec::new(),
        };
        if let Lowering::Sequence(_) = site.lowering
            && site.length < JUMP
        {
            cover(code, &mut site).map_err(|problem| RelinkError::Lower {
                name,
                address,
                problem,
            })?;
        }
        sites.push(site);
    }
    Ok(sites)
}

/// Takes instructions behind the site along until the jump has room.
fn cover(code: &Code<'_>, site: &mut Site) -> Result<(), LowerProblem> {
    let function = code
        .functions
        .around(site.address)
        .ok_or(LowerProblem::NoBounds)?;
    let mut following: BTreeMap<u64, Instruction> = BTreeMap::new();
    let near = site.address.0..site.address.0 + 2 * JUMP as u64;
    let explored = code.explore(&function, &mut |instruction| {
        if near.contains(&instruction.ip()) {
            following.insert(instruction.ip(), *instruction);
        }
    });
    while site.covered() < JUMP {
        let next = site.next();
        let instruction = following.get(&next.0).copied().ok_or(LowerProblem::NoRoom)?;
        if explored.entered.binary_search(&next).is_ok() {
            return Err(LowerProblem::BranchInto { target: next });
        }
        match instruction.flow_control() {
            // The return address would lie in the trampoline, where no unwind table reaches.
            FlowControl::Call | FlowControl::IndirectCall => return Err(LowerProblem::CallBehind),
            FlowControl::XbeginXabortXend => return Err(LowerProblem::NoRoom),
            _ => {}
        }
        site.moved.push(instruction);
        if !site.returns() && site.covered() < JUMP {
            return Err(LowerProblem::NoRoom);
        }
    }
    Ok(())
}

/// The table of instructions: name and replacement.
fn lowering(code: &Code<'_>, instruction: &Instruction) -> Option<(&'static str, Lowering)> {
    let sequence = |name, sequence| Some((name, Lowering::Sequence(sequence)));
    let in_place = |name, bytes: &[u8]| {
        // A prefix makes it longer; what is left over is filled.
        let mut bytes = bytes.to_vec();
        bytes.resize(instruction.len().max(bytes.len()), 0x90);
        (bytes.len() == instruction.len()).then_some((name, Lowering::InPlace(bytes)))
    };
    let register = |operand| registers::get_xmm(instruction.op_register(operand));
    match instruction.code() {
        Opcode::Movntss_m32_xmm => Some(("movntss", Lowering::InPlace(plain_store(code, instruction)?))),
        Opcode::Movntsd_m64_xmm => Some(("movntsd", Lowering::InPlace(plain_store(code, instruction)?))),
        Opcode::Monitorxw | Opcode::Monitorxd | Opcode::Monitorxq => in_place("monitorx", &NOP),
        Opcode::Mwaitx => in_place("mwaitx", &PAUSE),
        Opcode::Mcommit => in_place("mcommit", &COMMIT),
        Opcode::Rdpru => sequence("rdpru", Sequence::ReadCounter),
        Opcode::Clzerow | Opcode::Clzerod => sequence("clzero", Sequence::ZeroLine { narrow: true }),
        Opcode::Clzeroq => sequence("clzero", Sequence::ZeroLine { narrow: false }),
        Opcode::Extrq_xmm_imm8_imm8 => sequence(
            "extrq",
            Sequence::Extract {
                register: register(0)?,
                length: field(instruction, 1)?,
                index: field(instruction, 2)?,
            },
        ),
        Opcode::Extrq_xmm_xmm => sequence(
            "extrq",
            Sequence::ExtractBy {
                register: register(0)?,
                field: register(1)?,
            },
        ),
        Opcode::Insertq_xmm_xmm_imm8_imm8 => sequence(
            "insertq",
            Sequence::Insert {
                register: register(0)?,
                from: register(1)?,
                length: field(instruction, 2)?,
                index: field(instruction, 3)?,
            },
        ),
        Opcode::Insertq_xmm_xmm => sequence(
            "insertq",
            Sequence::InsertBy {
                register: register(0)?,
                from: register(1)?,
            },
        ),
        _ => None,
    }
}

/// Six bits of an immediate operand: the processor looks at no others.
fn field(instruction: &Instruction, operand: u32) -> Option<u8> {
    match instruction.op_kind(operand) {
        OpKind::Immediate8 | OpKind::Immediate8_2nd => Some((instruction.immediate(operand) & 63) as u8),
        _ => None,
    }
}

/// The store without its hint: one opcode byte is another.
fn plain_store(code: &Code<'_>, instruction: &Instruction) -> Option<Vec<u8>> {
    let mut bytes = code
        .bytes_from(ImageAddress(instruction.ip()))?
        .get(..instruction.len())?
        .to_vec();
    let at = bytes.windows(2).position(|pair| pair == [0x0f, 0x2b])?;
    bytes[at + 1] = 0x11;
    Some(bytes)
}
