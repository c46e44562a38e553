//! Decoding along control flow.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

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
        let all = |_: &Walk<'_>| false;
        self.walk(function.range, self.roots(function), &all, visit)
            .map_or_else(Exploration::default, |mut walk| {
                walk.entered.sort_unstable();
                walk.entered.dedup();
                Exploration {
                    is_code: walk.is_code,
                    entered: walk.entered,
                }
            })
    }

    /// As [`Self::explore`], as far as it takes to know what the bytes at some places in the function are.
    pub fn explore_for(
        &self,
        function: &Function,
        places: &[ImageAddress],
        visit: &mut impl FnMut(&Instruction),
    ) {
        // Those in front of this are known.
        let first = Cell::new(0);
        let known = |walk: &Walk<'_>| {
            let unknown = |place: &ImageAddress| {
                let at = offset_in(function.range, *place);
                at.and_then(|at| walk.bytes_known.get(at)) == Some(&Known::Nothing)
            };
            let rest = places.get(first.get()..).unwrap_or_default();
            match rest.iter().position(unknown) {
                Some(more) => {
                    first.set(first.get() + more);
                    false
                }
                None => true,
            }
        };
        self.walk(function.range, self.roots(function), &known, visit);
    }

    fn roots(&self, function: &Function) -> Vec<ImageAddress> {
        let mut roots = vec![function.range.start];
        roots.extend(self.landing_pads(function));
        roots.extend_from_slice(self.entry_points_in(function.range));
        roots
    }

    /// Explores until `enough` says so in front of a jump table's entry.
    fn walk(
        &self,
        range: ImageRange,
        roots: Vec<ImageAddress>,
        enough: &dyn Fn(&Walk<'_>) -> bool,
        visit: &mut impl FnMut(&Instruction),
    ) -> Option<Walk<'_>> {
        if self.is_tangled() {
            return None;
        }
        let mut walk = Walk::new(range, self.bytes_of(range)?);
        for root in roots {
            walk.follow(root, visit);
        }
        self.follow_tables(&mut walk, enough, visit);
        Some(walk)
    }

    /// The code bytes of a range, as far as they are there.
    pub(super) fn bytes_of(&self, range: ImageRange) -> Option<&[u8]> {
        let bytes = self.bytes_from(range.start)?;
        let size = usize::try_from(range.size).unwrap_or(usize::MAX).min(bytes.len());
        bytes.get(..size)
    }

    /// A jump through a register may lead by any of the tables that the function refers to. Where a table ends nobody
    /// says; behind it stand other tables, whose distances lead anywhere. So tables are taken by ascending address, each up
    /// to the next, entry by entry, and an entry that does not lead to whole instructions ends its table.
    fn follow_tables(
        &self,
        walk: &mut Walk<'_>,
        enough: &dyn Fn(&Walk<'_>) -> bool,
        visit: &mut impl FnMut(&Instruction),
    ) {
        while walk.jumps_by_table && !enough(walk) {
            walk.work += 1;
            let Some((&table, &entry)) = walk.open_tables.first_key_value() else {
                break;
            };
            let end = walk.tables.range(ImageAddress(table.0 + 1)..).next().copied();
            let target = self
                .table_entry(table, entry, end)
                .filter(|target| walk.range.covers(*target, 1));
            if target.is_some_and(|target| walk.try_to_follow(target, visit)) {
                walk.open_tables.insert(table, entry + 1);
            } else {
                walk.open_tables.remove(&table);
                // No table at all: a label whose address is taken.
                if entry == 0 && walk.range.covers(table, 1) {
                    walk.try_to_follow(table, visit);
                }
            }
            if walk.is_tangled() {
                self.note_tangle(walk.range.start);
                break;
            }
        }
        // Many little functions could each take what is free for one.
        let beyond = walk.work.saturating_sub(walk.ordinary_work());
        if beyond > 0 && self.note_work(beyond) {
            self.note_tangle(walk.range.start);
        }
    }

    /// The target of an entry of a jump table: 32-bit distances from its own start, up to another one's.
    pub(super) fn table_entry(
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
        reader.pads(function.range).unwrap_or_default()
    }
}

/// The state of an exploration.
struct Walk<'c> {
    range: ImageRange,
    bytes: &'c [u8],
    /// What each byte is known to be.
    bytes_known: Vec<Known>,
    /// What may be a jump table.
    tables: BTreeSet<ImageAddress>,
    /// Those that have not come to their end, with the next entry of each.
    open_tables: BTreeMap<ImageAddress, usize>,
    jumps_by_table: bool,
    is_code: bool,
    entered: Vec<ImageAddress>,
    /// What roots that may be none have led to, to be undone where one is none: offsets of instructions, and tables.
    done: Vec<u32>,
    new_tables: Vec<ImageAddress>,
    /// How many instructions were decoded in vain, and how many entries tables have.
    work: usize,
}

/// What a byte is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    /// An instruction's first.
    First,
    /// An instruction's first, which a table leads to.
    Entered,
    /// Another one of an instruction.
    Further,
}

impl Known {
    const fn is_first(self) -> bool {
        matches!(self, Self::First | Self::Entered)
    }
}

/// Where a path goes on behind an instruction.
struct Onward {
    falls_through: bool,
    branch: Option<ImageAddress>,
}

/// So many times a function's size in bytes may be decoded in vain, beside [`FREE_WORK`]: compiled code stays far below.
pub(super) const WORK: usize = 16;
/// In instructions.
pub(super) const FREE_WORK: usize = 1 << 16;

impl<'c> Walk<'c> {
    fn new(range: ImageRange, bytes: &'c [u8]) -> Self {
        Self {
            range,
            bytes,
            bytes_known: vec![Known::Nothing; bytes.len()],
            tables: BTreeSet::new(),
            open_tables: BTreeMap::new(),
            jumps_by_table: false,
            is_code: true,
            entered: Vec::new(),
            done: Vec::new(),
            new_tables: Vec::new(),
            work: 0,
        }
    }

    /// Whether more work was in vain than compiled code ever costs.
    const fn is_tangled(&self) -> bool {
        self.work > FREE_WORK + self.ordinary_work()
    }

    /// What compiled code stays below unless it is little with a large table.
    const fn ordinary_work(&self) -> usize {
        WORK * self.bytes.len()
    }

    /// Visits everything that a root leads to and that is not known yet.
    fn follow(&mut self, root: ImageAddress, visit: &mut impl FnMut(&Instruction)) {
        self.decode(root, false, visit);
    }

    /// The same for a root that may be none: where a path is no code, or cuts through a known instruction, nothing is
    /// visited, and the answer is false.
    fn try_to_follow(&mut self, root: ImageAddress, visit: &mut impl FnMut(&Instruction)) -> bool {
        let known = offset_in(self.range, root).and_then(|at| self.bytes_known.get_mut(at));
        if let Some(known) = known
            && known.is_first()
        {
            // Once, however many entries lead there.
            if *known == Known::First {
                self.entered.push(root);
            }
            *known = Known::Entered;
            return true;
        }
        let (jumps, entered) = (self.jumps_by_table, self.entered.len());
        let before = self.progress();
        let mut found: Vec<Instruction> = Vec::new();
        let sound = self.decode(root, true, &mut |instruction: &Instruction| {
            found.push(*instruction);
        });
        if sound {
            found.iter().for_each(visit);
        } else {
            self.undo(before);
            self.jumps_by_table = jumps;
            self.entered.truncate(entered);
        }
        sound
    }

    /// How long the lists of what can be undone are.
    const fn progress(&self) -> [usize; 2] {
        [self.done.len(), self.new_tables.len()]
    }

    /// Takes back what was done since the lists were so long.
    fn undo(&mut self, [done, new_tables]: [usize; 2]) {
        self.work += self.done.len() - done;
        for at in self.done.split_off(done) {
            self.clear(at as usize);
        }
        for table in self.new_tables.split_off(new_tables) {
            self.tables.remove(&table);
            self.open_tables.remove(&table);
        }
    }

    /// Forgets an instruction.
    fn clear(&mut self, at: usize) {
        let mut rest = self.bytes_known[at..].iter_mut();
        if let Some(first) = rest.next() {
            *first = Known::Nothing;
        }
        for further in rest.take_while(|known| **known == Known::Further) {
            *further = Known::Nothing;
        }
    }

    /// Decodes everything that a root leads to. A doubtful root's walk ends at the first contradiction.
    fn decode(
        &mut self,
        root: ImageAddress,
        is_doubtful: bool,
        visit: &mut impl FnMut(&Instruction),
    ) -> bool {
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
            while at < size && !self.bytes_known[at].is_first() {
                if decoder.set_position(at).is_err() {
                    break;
                }
                decoder.set_ip(self.range.start.0 + at as u64);
                decoder.decode_out(&mut instruction);
                let end = at + instruction.len();
                // Roots stand for themselves: one of them may lead through another's instructions. What a table may lead to
                // does not.
                let bytes = &mut self.bytes_known[at..end];
                let cuts = || bytes[0] == Known::Further || bytes.iter().any(|known| known.is_first());
                if instruction.is_invalid() || is_doubtful && cuts() {
                    if is_doubtful {
                        return false;
                    }
                    self.is_code = false;
                    ended = true;
                    break;
                }
                bytes.fill(Known::Further);
                bytes[0] = Known::First;
                // What is code can't be undone, so nobody asks.
                if is_doubtful {
                    // Images end below 2^32.
                    self.done.push(at as u32);
                }
                visit(&instruction);
                at = end;
                let onward = self.onward(&instruction);
                open.extend(onward.branch);
                if !onward.falls_through {
                    ended = true;
                    break;
                }
            }
            if !ended && at >= size {
                self.is_code &= is_doubtful;
            }
        }
        true
    }

    /// Where a path goes on, and what else an instruction says about it.
    fn onward(&mut self, instruction: &Instruction) -> Onward {
        if instruction.mnemonic() == Mnemonic::Lea && instruction.is_ip_rel_memory_operand() {
            let table = ImageAddress(instruction.ip_rel_memory_address());
            if self.tables.insert(table) {
                self.open_tables.insert(table, 0);
                self.new_tables.push(table);
            }
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

    /// The landing pads of a function.
    fn pads(&mut self, function: ImageRange) -> Option<Vec<ImageAddress>> {
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
        // Each call site takes a byte of the function at least.
        let mut sites = 0..function.size;
        while !self.0.is_empty() && sites.next().is_some() {
            self.encoded(encoding)?;
            self.encoded(encoding)?;
            let pad = self.encoded(encoding)?;
            self.leb128()?;
            if pad != 0 {
                pads.push(ImageAddress(function.start.0.checked_add(pad)?));
            }
        }
        Some(pads)
    }
}
