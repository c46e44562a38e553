//! Where the instructions are, and what else a jump to their replacement covers.

use std::collections::BTreeMap;

use iced_x86::{Code as Opcode, FlowControl, Instruction, OpKind, code_asm::registers};

use crate::{
    address::{ImageAddress, ImageRange},
    code::{Code, find::Found, flow::is_system_call, search},
    error::{LowerProblem, RelinkError},
};

use super::{JUMP, Lowering, Lowerings, Target, reciprocals::Reciprocal, sequences::Sequence, sha::Sha};

/// Two bytes that each instruction holds.
const PAIRS: [[u8; 2]; 4] = [[0x0f, 0x2b], [0x0f, 0x78], [0x0f, 0x79], [0x0f, 0x01]];
/// The same of the SHA instructions; `0f` stands in front.
const SHA_PAIRS: [[u8; 2]; 7] = [
    [0x38, 0xc8],
    [0x38, 0xc9],
    [0x38, 0xca],
    [0x38, 0xcb],
    [0x38, 0xcc],
    [0x38, 0xcd],
    [0x3a, 0xcc],
];
/// `nop` of three bytes, and `pause` with a `nop`.
const NOP: [u8; 3] = [0x0f, 0x1f, 0x00];
const PAUSE: [u8; 3] = [0xf3, 0x90, 0x90];
/// `mfence; stc`: all stores are done, and that went well.
const COMMIT: [u8; 4] = [0x0f, 0xae, 0xf0, 0xf9];

/// Instructions that are replaced together, one behind the other.
#[derive(Debug)]
pub(super) struct Site {
    /// The first is one to replace. Behind it, where it needs a jump and is shorter than one: what the jump covers too.
    pub(super) pieces: Vec<Piece>,
}

/// One instruction of a site.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) instruction: Instruction,
    /// Its name and replacement, where it is one to replace; any other moves as it is.
    pub(super) lowering: Option<(&'static str, Lowering)>,
}

impl Site {
    pub(super) fn address(&self) -> ImageAddress {
        ImageAddress(self.pieces.first().map_or(0, |piece| piece.instruction.ip()))
    }

    /// Name of the first instruction.
    pub(super) fn name(&self) -> &'static str {
        self.replaced().next().map_or("", |(_, name)| name)
    }

    /// What is replaced: addresses and names.
    pub(super) fn replaced(&self) -> impl DoubleEndedIterator<Item = (ImageAddress, &'static str)> {
        self.pieces.iter().filter_map(|piece| {
            let (name, _) = piece.lowering.as_ref()?;
            Some((ImageAddress(piece.instruction.ip()), *name))
        })
    }

    /// Whether the first instruction may stay as it is.
    fn is_optional(&self) -> bool {
        matches!(
            self.pieces.first().and_then(|piece| piece.lowering.as_ref()),
            Some((_, Lowering::Sequence(Sequence::Reciprocal(_))))
        )
    }

    /// The bytes that stand for the whole site, where it needs no trampoline.
    pub(super) fn in_place(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [
                Piece {
                    lowering: Some((_, Lowering::InPlace(bytes))),
                    ..
                },
            ] => Some(bytes),
            _ => None,
        }
    }

    /// How many bytes are replaced.
    pub(super) fn covered(&self) -> usize {
        self.pieces.iter().map(|piece| piece.instruction.len()).sum()
    }

    /// Where the code goes on behind them.
    pub(super) fn next(&self) -> ImageAddress {
        ImageAddress(self.address().0 + self.covered() as u64)
    }

    /// Whether it goes on there.
    pub(super) fn returns(&self) -> bool {
        self.pieces.last().is_none_or(|last| {
            !matches!(
                last.instruction.flow_control(),
                FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
            )
        })
    }
}

/// Instructions to replace by their addresses.
type Wanted = BTreeMap<u64, Piece>;

/// Names and addresses of instructions.
type Named = Vec<(&'static str, ImageAddress)>;

/// Finds all sites, in the order of their addresses; and what may be one, and must not be written over.
pub(super) fn find(code: &Code<'_>, lowerings: Lowerings) -> Result<(Vec<Site>, Named), RelinkError> {
    let (mut wanted, mut doubtful) = (Wanted::new(), Wanted::new());
    let mut note = |found: Found<Piece>| {
        let by_address = |piece: Piece| (piece.instruction.ip(), piece);
        wanted.extend(found.instructions.into_iter().map(by_address));
        doubtful.extend(found.uncertain.into_iter().map(by_address));
    };
    let piece = |instruction: &Instruction| {
        let lowering = Some(lowering(code, instruction, lowerings)?);
        let instruction = *instruction;
        Some(Piece {
            instruction,
            lowering,
        })
    };
    let mut pairs = match lowerings.target {
        Target::Amd => Vec::new(),
        Target::Sha | Target::NoSha => PAIRS.to_vec(),
    };
    if lowerings.target == Target::NoSha {
        pairs.extend(SHA_PAIRS);
    }
    let found = code.find(
        &pairs,
        |address| match code.bytes_from(address) {
            // `0f 01` begins many system instructions; of these, the third byte decides.
            Some([0x0f, 0x01, third, ..]) => (0xfa..=0xfd).contains(third),
            Some([0x38 | 0x3a, ..]) => {
                let escape = address.0.checked_sub(1).map(ImageAddress);
                escape.and_then(|escape| code.bytes_from(escape)?.first().copied()) == Some(0x0f)
            }
            _ => true,
        },
        piece,
    );
    note(found);
    if lowerings.exact_reciprocals {
        note(code.find_at(search::reciprocals(code), piece));
    }
    doubtful.retain(|address, _| !wanted.contains_key(address));
    let name = |(address, piece): (u64, Piece)| Some((piece.lowering?.0, ImageAddress(address)));
    let uncertain = doubtful.into_iter().filter_map(name).collect();
    let mut sites: Vec<Site> = Vec::with_capacity(wanted.len());
    let mut surroundings = None;
    while let Some((_, first)) = wanted.pop_first() {
        let mut site = Site { pieces: vec![first] };
        if site.in_place().is_none() && site.covered() < JUMP {
            match cover(code, &mut wanted, &mut surroundings, &mut site) {
                Ok(()) => {}
                // What every processor has may stay. What it would have taken along is looked at by itself.
                Err(_) if site.is_optional() => {
                    let others = site.pieces.into_iter().skip(1);
                    let others = others.filter(|piece| piece.lowering.is_some());
                    wanted.extend(others.map(|piece| (piece.instruction.ip(), piece)));
                    continue;
                }
                Err(problem) => {
                    return Err(RelinkError::Lower {
                        name: site.name(),
                        address: site.address(),
                        problem,
                    });
                }
            }
        }
        // Two readings of the same bytes, each of which something leads to.
        if let Some((&other, _)) = wanted.range(..site.next().0).next() {
            return Err(RelinkError::Lower {
                name: site.name(),
                address: site.address(),
                problem: LowerProblem::Overlap {
                    other: ImageAddress(other),
                },
            });
        }
        sites.push(site);
    }
    Ok((sites, uncertain))
}

/// What is known of a function that holds sites.
struct Surroundings {
    range: ImageRange,
    /// The instructions that a jump at one of its sites could cover.
    instructions: BTreeMap<u64, Instruction>,
    /// Where branches lead, ascending.
    entered: Vec<ImageAddress>,
}

impl Surroundings {
    fn of(code: &Code<'_>, around: ImageAddress, wanted: &Wanted) -> Option<Self> {
        let function = code.functions.around(around)?;
        let mut instructions = BTreeMap::new();
        let explored = code.explore(&function, &mut |instruction| {
            let ip = instruction.ip();
            let near = ip.saturating_sub(JUMP as u64)..ip;
            if near.contains(&around.0) || wanted.range(near).next().is_some() {
                instructions.insert(ip, *instruction);
            }
        });
        Some(Self {
            range: function.range,
            instructions,
            entered: explored.entered,
        })
    }
}

/// Takes instructions behind the site along until the jump has room. `known` is the function that was looked at last.
fn cover(
    code: &Code<'_>,
    wanted: &mut Wanted,
    known: &mut Option<Surroundings>,
    site: &mut Site,
) -> Result<(), LowerProblem> {
    let address = site.address();
    let surroundings = match known {
        Some(known) if known.range.covers(address, 1) => known,
        _ => known.insert(Surroundings::of(code, address, wanted).ok_or(LowerProblem::NoBounds)?),
    };
    while site.covered() < JUMP {
        let next = site.next();
        let instruction = *surroundings
            .instructions
            .get(&next.0)
            .ok_or(LowerProblem::NoRoom)?;
        if surroundings.entered.binary_search(&next).is_ok() {
            return Err(LowerProblem::BranchInto { target: next });
        }
        // What stands for a system call is written over it.
        if is_system_call(&instruction) {
            return Err(LowerProblem::NoRoom);
        }
        match instruction.flow_control() {
            // The return address would lie in the trampoline, where no unwind table reaches.
            FlowControl::Call | FlowControl::IndirectCall => return Err(LowerProblem::CallBehind),
            FlowControl::XbeginXabortXend => return Err(LowerProblem::NoRoom),
            _ => {}
        }
        site.pieces.push(wanted.remove(&next.0).unwrap_or(Piece {
            instruction,
            lowering: None,
        }));
        if !site.returns() && site.covered() < JUMP {
            return Err(LowerProblem::NoRoom);
        }
    }
    Ok(())
}

/// What replaces an instruction, if anything does: its name and replacement.
fn lowering(
    code: &Code<'_>,
    instruction: &Instruction,
    lowerings: Lowerings,
) -> Option<(&'static str, Lowering)> {
    let amd = || amd(code, instruction).filter(|_| lowerings.target != Target::Amd);
    let sha = || {
        let (name, sha) = Sha::of(instruction).filter(|_| lowerings.target == Target::NoSha)?;
        Some((name, Lowering::Sequence(Sequence::Sha(sha))))
    };
    let reciprocal = || {
        let (name, reciprocal) = Reciprocal::of(instruction).filter(|_| lowerings.exact_reciprocals)?;
        Some((name, Lowering::Sequence(Sequence::Reciprocal(reciprocal))))
    };
    amd().or_else(sha).or_else(reciprocal)
}

/// The table of instructions that only AMD's processors have: name and replacement.
fn amd(code: &Code<'_>, instruction: &Instruction) -> Option<(&'static str, Lowering)> {
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
