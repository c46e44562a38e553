//! Decoding along control flow.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use crate::address::{ImageAddress, ImageRange};

use super::{Code, functions::Function};

/// What an exploration met beside instructions.
#[derive(Debug, Default)]
pub struct Exploration {
    /// Whether no path met bytes that are no instruction or ran out of the range.
    pub is_code: bool,
    /// Where paths begin: what is entered otherwise than from the instruction in front. Ascending.
    pub entered: Vec<ImageAddress>,
}

impl Code<'_> {
    /// Calls `visit` for each instruction that control flow reaches from a function's start within its bounds: along
    /// branches, through its jump tables, to its landing pads, and from pointers into it that data holds. Each is visited
    /// once, in no particular order.
    pub fn explore(&self, function: &Function, visit: &mut impl FnMut(&Instruction)) -> Exploration {
        self.explore_from(function.range, self.roots(function), visit)
    }

    /// As [`Self::explore`], as far as it takes to know what the bytes at some places in the function are.
    pub fn explore_for(
        &self,
        function: &Function,
        places: &[ImageAddress],
        visit: &mut impl FnMut(&Instruction),
    ) {
        let known = |walk: &Walk<'_>| {
            let mut offsets = places.iter().map(|place| offset_in(function.range, *place));
            offsets.all(|at| at.and_then(|at| walk.bytes_known.get(at)) != Some(&Known::NOTHING))
        };
        self.walk(function.range, self.roots(function), &known, visit);
    }

    fn roots(&self, function: &Function) -> Vec<ImageAddress> {
        let mut roots = vec![function.range.start];
        roots.extend(self.landing_pads(function));
        roots.extend_from_slice(self.entry_points_in(function.range));
        roots
    }

    /// As [`Self::explore`], from given addresses in a range.
    pub fn explore_from(
        &self,
        range: ImageRange,
        roots: Vec<ImageAddress>,
        visit: &mut impl FnMut(&Instruction),
    ) -> Exploration {
        let all = |_: &Walk<'_>| false;
        self.walk(range, roots, &all, visit)
            .map_or_else(Exploration::default, |mut walk| {
                walk.entered.sort_unstable();
                walk.entered.dedup();
                Exploration {
                    is_code: walk.is_code,
                    entered: walk.entered,
                }
            })
    }

    /// Explores until `enough` says so in front of a jump table's entry.
    fn walk(
        &self,
        range: ImageRange,
        roots: Vec<ImageAddress>,
        enough: &dyn Fn(&Walk<'_>) -> bool,
        visit: &mut impl FnMut(&Instruction),
    ) -> Option<Walk<'_>> {
        let bytes = self.bytes_from(range.start)?;
        let size = usize::try_from(range.size).unwrap_or(usize::MAX).min(bytes.len());
        let mut walk = Walk::new(range, &bytes[..size]);
        for root in roots {
            walk.follow(root, visit);
        }
        // A jump through a register may lead by any of the tables that the function refers to. Where a table ends nobody
        // says; behind it stand other tables, whose distances lead anywhere. So tables are taken by ascending address, each
        // up to the next, entry by entry, and an entry that does not lead to whole instructions ends its table.
        let mut done: BTreeMap<ImageAddress, usize> = BTreeMap::new();
        while walk.jumps_by_table && !enough(&walk) {
            let next = walk
                .tables
                .iter()
                .find(|table| done.get(*table) != Some(&usize::MAX));
            let Some(&table) = next else { break };
            let entry = done.entry(table).or_insert(0);
            let end = walk.tables.range(ImageAddress(table.0 + 1)..).next().copied();
            let target = self
                .table_entry(table, *entry, end)
                .filter(|target| range.covers(*target, 1));
            match target {
                Some(target) if walk.try_to_follow(target, visit) => *entry += 1,
                _ => *entry = usize::MAX,
            }
        }
        Some(walk)
    }

    /// The target of an entry of a jump table: 32-bit distances from its own start, up to another one's.
    fn table_entry(
        &self,
        table: ImageAddress,
        index: usize,
        end: Option<ImageAddress>,
    ) -> Option<ImageAddress> {
        let at = ImageAddress(table.0.checked_add(4 * index as u64)?);
        if end.is_some_and(|end| at.0 + 4 > end.0) {
            return None;
        }
        let distance = i32::from_le_bytes(*self.data_from(at).first_chunk()?);
        Some(ImageAddress(table.0.wrapping_add_signed(i64::from(distance))))
    }

    /// Where exceptions that pass through a function go.
    fn landing_pads(&self, function: &Function) -> Vec<ImageAddress> {
        let Some(table) = function.landing_pads else {
            return Vec::new();
        };
        let mut reader = CallSites(self.data_from(table));
        reader.pads(function.range.start).unwrap_or_default()
    }
}

/// The state of an exploration.
struct Walk<'c> {
    range: ImageRange,
    bytes: &'c [u8],
    /// What each byte is known to be.
    bytes_known: Vec<Known>,
    tables: BTreeSet<ImageAddress>,
    jumps_by_table: bool,
    is_code: bool,
    entered: Vec<ImageAddress>,
}

/// What a byte is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known(u8);

impl Known {
    const NOTHING: Self = Self(0);
    /// An instruction's first byte.
    const FIRST: Self = Self(1);
    /// Another byte of one.
    const FURTHER: Self = Self(2);
}

/// Where a path goes on behind an instruction.
struct Onward {
    falls_through: bool,
    branch: Option<ImageAddress>,
}

impl<'c> Walk<'c> {
    fn new(range: ImageRange, bytes: &'c [u8]) -> Self {
        Self {
            range,
            bytes,
            bytes_known: vec![Known::NOTHING; bytes.len()],
            tables: BTreeSet::new(),
            jumps_by_table: false,
            is_code: true,
            entered: Vec::new(),
        }
    }

    /// Visits everything that a root leads to and that is not known yet.
    fn follow(&mut self, root: ImageAddress, visit: &mut impl FnMut(&Instruction)) {
        self.decode(root, false, visit);
    }

    /// The same for a root that may be none: where a path is no code, or cuts through a known instruction, nothing is
    /// visited, and the answer is false.
    fn try_to_follow(&mut self, root: ImageAddress, visit: &mut impl FnMut(&Instruction)) -> bool {
        if offset_in(self.range, root).and_then(|at| self.bytes_known.get(at)) == Some(&Known::FIRST) {
            self.entered.push(root);
            return true;
        }
        let (tables, jumps, entered) = (self.tables.clone(), self.jumps_by_table, self.entered.len());
        let mut found: Vec<Instruction> = Vec::new();
        let sound = self.decode(root, true, &mut |instruction: &Instruction| {
            found.push(*instruction);
        });
        if sound {
            found.iter().for_each(visit);
        } else {
            for instruction in found {
                let at = (instruction.ip() - self.range.start.0) as usize;
                self.bytes_known[at..at + instruction.len()].fill(Known::NOTHING);
            }
            (self.tables, self.jumps_by_table) = (tables, jumps);
            self.entered.truncate(entered);
        }
        sound
    }

    /// Decodes everything that a root leads to. A doubtful root's walk ends at the first contradiction.
    fn decode(&mut self, root: ImageAddress, doubtful: bool, visit: &mut impl FnMut(&Instruction)) -> bool {
        let size = self.bytes.len();
        let mut open = vec![root];
        let mut decoder = Decoder::with_ip(64, self.bytes, self.range.start.0, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while let Some(address) = open.pop() {
            let Some(mut at) = offset_in(self.range, address).filter(|at| *at < size) else {
                continue;
            };
            self.entered.push(address);
            let mut ended = false;
            while at < size && self.bytes_known[at] != Known::FIRST {
                if decoder.set_position(at).is_err() {
                    break;
                }
                decoder.set_ip(self.range.start.0 + at as u64);
                decoder.decode_out(&mut instruction);
                let end = at + instruction.len();
                let cuts = self.bytes_known[at] == Known::FURTHER
                    || self.bytes_known[at..end].contains(&Known::FIRST);
                if instruction.is_invalid() || cuts && doubtful {
                    if doubtful {
                        return false;
                    }
                    self.is_code = false;
                    ended = true;
                    break;
                }
                self.bytes_known[at..end].fill(Known::FURTHER);
                self.bytes_known[at] = Known::FIRST;
                visit(&instruction);
                at = end;
                let onward = self.onward(&instruction);
                open.extend(onward.branch);
                if !onward.falls_through {
                    ended = true;
                    break;
                }
            }
            self.is_code &= doubtful || ended || at < size;
        }
        true
    }

    /// Where a path goes on, and what else an instruction says about it.
    fn onward(&mut self, instruction: &Instruction) -> Onward {
        if instruction.mnemonic() == Mnemonic::Lea && instruction.is_ip_rel_memory_operand() {
            self.tables
                .insert(ImageAddress(instruction.ip_rel_memory_address()));
        }
        let falls_through = match instruction.flow_control() {
            FlowControl::Next
            | FlowControl::Call
            | FlowControl::ConditionalBranch
            | FlowControl::IndirectCall
            | FlowControl::Interrupt
            | FlowControl::XbeginXabortXend => true,
            FlowControl::UnconditionalBranch | FlowControl::Return => false,
            FlowControl::IndirectBranch => {
                self.jumps_by_table = true;
                false
            }
            // ud2 ends a path; a system call goes on.
            FlowControl::Exception => is_system_call(instruction),
        };
        // A call counts: code without known bounds may hold several functions.
        let target = instruction.near_branch_target();
        Onward {
            falls_through,
            branch: (target != 0).then_some(ImageAddress(target)),
        }
    }
}

fn offset_in(range: ImageRange, address: ImageAddress) -> Option<usize> {
    usize::try_from(address.0.checked_sub(range.start.0)?).ok()
}

/// Whether an instruction enters or leaves a kernel.
#[must_use]
pub fn is_system_call(instruction: &Instruction) -> bool {
    match instruction.code() {
        Opcode::Syscall | Opcode::Sysenter | Opcode::Sysretd | Opcode::Sysretq => true,
        Opcode::Int_imm8 => instruction.op0_kind() == OpKind::Immediate8 && instruction.immediate8() == 0x80,
        _ => false,
    }
}

/// The language-specific table of a function, read from its start.
struct CallSites<'a>(&'a [u8]);

/// DW_EH_PE_omit.
const OMITTED: u8 = 0xff;

impl CallSites<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn leb128(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number in one of the encodings that call-site tables have.
    fn encoded(&mut self, encoding: u8) -> Option<u64> {
        let take = |this: &mut Self, size: usize| {
            let (bytes, rest) = this.0.split_at_checked(size)?;
            this.0 = rest;
            Some(
                bytes
                    .iter()
                    .rev()
                    .fold(0, |value, &byte| value << 8 | u64::from(byte)),
            )
        };
        match encoding & 0xf {
            0x1 => self.leb128(),
            0x2 | 0xa => take(self, 2),
            0x3 | 0xb => take(self, 4),
            0x0 | 0x4 | 0xc => take(self, 8),
            _ => None,
        }
    }

    fn pads(&mut self, start: ImageAddress) -> Option<Vec<ImageAddress>> {
        // Landing pads count from the function's start wherever compilers leave their base out, which all do.
        if self.byte()? != OMITTED {
            return None;
        }
        if self.byte()? != OMITTED {
            self.leb128()?;
        }
        let encoding = self.byte()?;
        let size = usize::try_from(self.leb128()?).ok()?;
        self.0 = self.0.get(..size)?;
        let mut pads = Vec::new();
        while !self.0.is_empty() {
            self.encoded(encoding)?;
            self.encoded(encoding)?;
            let pad = self.encoded(encoding)?;
            self.leb128()?;
            if pad != 0 {
                pads.push(ImageAddress(start.0.checked_add(pad)?));
            }
        }
        Some(pads)
    }
}
