//! Decoding along control flow.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
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
        self.explore_from(function.range, self.roots(function), visit)
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
                at.and_then(|at| walk.bytes_known.get(at)) == Some(&Known::NOTHING)
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
        let mut walk = Walk::new(range, self.bytes_of(range)?);
        for root in roots {
            walk.follow(root, visit);
        }
        self.follow_tables(&mut walk, enough, visit);
        Some(walk)
    }

    /// The code bytes of a range, as far as they are there.
    fn bytes_of(&self, range: ImageRange) -> Option<&[u8]> {
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
            let Some((&table, &entry)) = walk.open_tables.first_key_value() else {
                break;
            };
            let next = walk.tables.range(ImageAddress(table.0 + 1)..).next();
            let end = next.map(|(next, _)| *next);
            let within = walk.function_around(walk.tables.get(&table).copied());
            let target = self
                .table_entry(table, entry, end)
                .filter(|target| within.covers(*target, 1));
            if target.is_some_and(|target| walk.try_to_follow(target, visit)) {
                walk.open_tables.insert(table, entry + 1);
            } else {
                walk.open_tables.remove(&table);
            }
            if walk.is_tangled() {
                self.note_tangle(walk.range.start);
                break;
            }
        }
    }

    /// Explores code without known bounds, of which several roots are known. `visit` gets what the certain ones lead to, and
    /// what each of the doubtful ones leads to if that is code to its end. None is told twice what an earlier one led to.
    pub fn explore_gap<T>(
        &self,
        range: ImageRange,
        certain: Vec<ImageAddress>,
        doubtful: Vec<ImageAddress>,
        wanted: &impl Fn(&Instruction) -> Option<T>,
    ) -> Vec<T> {
        let all = |_: &Walk<'_>| false;
        let mut found = Vec::new();
        let Some(bytes) = self.bytes_of(range) else {
            return found;
        };
        let mut walk = Walk::new(range, bytes);
        walk.called = Some(certain.iter().copied().collect());
        let mut visit = |instruction: &Instruction| found.extend(wanted(instruction));
        for root in certain {
            walk.follow(root, &mut visit);
        }
        self.follow_tables(&mut walk, &all, &mut visit);
        walk.settle_all();
        for root in doubtful {
            let before = found.len();
            walk.begin_root();
            let mut visit = |instruction: &Instruction| found.extend(wanted(instruction));
            let sound = walk.decode(root, Doubt::InRange, &mut visit);
            if sound {
                self.follow_tables(&mut walk, &all, &mut visit);
            } else {
                found.truncate(before);
            }
            walk.end_root(sound);
            if walk.is_tangled() {
                self.note_tangle(range.start);
                break;
            }
        }
        found
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
        reader.pads(function.range).unwrap_or_default()
    }
}

/// The state of an exploration.
struct Walk<'c> {
    range: ImageRange,
    bytes: &'c [u8],
    /// What each byte is known to be.
    bytes_known: Vec<Known>,
    /// What may be a jump table, with an instruction that takes its address.
    tables: BTreeMap<ImageAddress, ImageAddress>,
    /// Those that have not come to their end, with the next entry of each.
    open_tables: BTreeMap<ImageAddress, usize>,
    /// Where functions begin, as far as calls say so, in code without known bounds; `None` where the bounds are known.
    called: Option<BTreeSet<ImageAddress>>,
    jumps_by_table: bool,
    is_code: bool,
    entered: Vec<ImageAddress>,
    /// What the current root's walk has done, to be undone where it turns out to be none: offsets of instructions, and
    /// tables.
    done: Vec<u32>,
    new_tables: Vec<ImageAddress>,
    new_called: Vec<ImageAddress>,
    /// How many instructions were decoded in vain.
    undone: usize,
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
    /// Added where an instruction that an earlier root led to begins: nothing is left to see there.
    const SETTLED: u8 = 4;
    /// Added to its other bytes.
    const SETTLED_FURTHER: u8 = 8;

    /// As the current root has it.
    const fn own(self) -> Self {
        Self(self.0 & 3)
    }

    const fn with(self, own: Self) -> Self {
        Self(self.0 & !3 | own.0)
    }

    const fn is_seen(self) -> bool {
        self.0 & 3 == Self::FIRST.0 || self.0 & Self::SETTLED != 0
    }
}

/// What contradicts that a path is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// Nothing does: it is code.
    None,
    /// Bytes that are no instruction, or the middle of one that is known.
    Path,
    /// These, or the end of the range.
    InRange,
}

/// Where a path goes on behind an instruction.
struct Onward {
    falls_through: bool,
    branch: Option<ImageAddress>,
}

/// So many times a function's size in bytes may be decoded in vain, beside [`FREE_WORK`]: compiled code stays far below.
const WORK: usize = 16;
/// In instructions.
const FREE_WORK: usize = 1 << 16;

impl<'c> Walk<'c> {
    fn new(range: ImageRange, bytes: &'c [u8]) -> Self {
        Self {
            range,
            bytes,
            bytes_known: vec![Known::NOTHING; bytes.len()],
            tables: BTreeMap::new(),
            open_tables: BTreeMap::new(),
            called: None,
            jumps_by_table: false,
            is_code: true,
            entered: Vec::new(),
            done: Vec::new(),
            new_tables: Vec::new(),
            new_called: Vec::new(),
            undone: 0,
        }
    }

    /// Whether more work was in vain than compiled code ever costs.
    const fn is_tangled(&self) -> bool {
        self.undone > FREE_WORK + WORK * self.bytes.len()
    }

    /// Visits everything that a root leads to and that is not known yet.
    fn follow(&mut self, root: ImageAddress, visit: &mut impl FnMut(&Instruction)) {
        self.decode(root, Doubt::None, visit);
    }

    /// The same for a root that may be none: where a path is no code, or cuts through a known instruction, nothing is
    /// visited, and the answer is false.
    fn try_to_follow(&mut self, root: ImageAddress, visit: &mut impl FnMut(&Instruction)) -> bool {
        if offset_in(self.range, root)
            .and_then(|at| self.bytes_known.get(at))
            .map(|known| known.own())
            == Some(Known::FIRST)
        {
            self.entered.push(root);
            return true;
        }
        let (jumps, entered) = (self.jumps_by_table, self.entered.len());
        let before = self.progress();
        let mut found: Vec<Instruction> = Vec::new();
        let sound = self.decode(root, Doubt::Path, &mut |instruction: &Instruction| {
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
    const fn progress(&self) -> [usize; 3] {
        [self.done.len(), self.new_tables.len(), self.new_called.len()]
    }

    /// Takes back what was done since the lists were so long.
    fn undo(&mut self, [done, new_tables, new_called]: [usize; 3]) {
        self.undone += self.done.len() - done;
        for at in self.done.split_off(done) {
            self.clear(at as usize, [0; 2]);
        }
        for table in self.new_tables.split_off(new_tables) {
            self.tables.remove(&table);
            self.open_tables.remove(&table);
        }
        for function in self.new_called.split_off(new_called) {
            self.called.iter_mut().for_each(|called| {
                called.remove(&function);
            });
        }
    }

    /// The function around an instruction: all of the range where its bounds are those of a function, and otherwise from
    /// what is called to what is called next.
    fn function_around(&self, instruction: Option<ImageAddress>) -> ImageRange {
        let (Some(called), Some(instruction)) = (&self.called, instruction) else {
            return self.range;
        };
        let start = called.range(..=instruction).next_back();
        let end = called.range(ImageAddress(instruction.0 + 1)..).next();
        let start = start.copied().unwrap_or(self.range.start);
        let end = end.copied().unwrap_or_else(|| self.range.end());
        ImageRange {
            start,
            size: end.0 - start.0,
        }
    }

    /// Forgets what the current root has at an instruction; adds to its first byte and to its others.
    fn clear(&mut self, at: usize, [first, further]: [u8; 2]) {
        let mut rest = self.bytes_known[at..].iter_mut();
        if let Some(known) = rest.next() {
            *known = Known(known.with(Known::NOTHING).0 | first);
        }
        for known in rest.take_while(|known| known.own() == Known::FURTHER) {
            *known = Known(known.with(Known::NOTHING).0 | further);
        }
    }

    /// Everything that is known now was led to by roots that are no longer of interest.
    fn settle_all(&mut self) {
        for known in &mut self.bytes_known {
            *known = Known(match known.own() {
                Known::FIRST => Known::SETTLED,
                Known::FURTHER => Known::SETTLED_FURTHER,
                _ => 0,
            });
        }
        self.begin_root();
    }

    fn begin_root(&mut self) {
        self.done.clear();
        self.new_tables.clear();
        self.new_called.clear();
        self.tables.clear();
        self.open_tables.clear();
        self.jumps_by_table = false;
        self.entered.clear();
    }

    /// Keeps what the current root has led to, or takes it back.
    fn end_root(&mut self, sound: bool) {
        if sound {
            for at in std::mem::take(&mut self.done) {
                self.clear(at as usize, [Known::SETTLED, Known::SETTLED_FURTHER]);
            }
        } else {
            self.undo([0; 3]);
        }
    }

    /// Decodes everything that a root leads to. A doubtful root's walk ends at the first contradiction.
    fn decode(&mut self, root: ImageAddress, doubt: Doubt, visit: &mut impl FnMut(&Instruction)) -> bool {
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
            while at < size && !self.bytes_known[at].is_seen() {
                if decoder.set_position(at).is_err() {
                    break;
                }
                decoder.set_ip(self.range.start.0 + at as u64);
                decoder.decode_out(&mut instruction);
                let end = at + instruction.len();
                // Roots stand for themselves: one of them may lead through another's instructions. What a table may lead to
                // does not.
                let [first, further] = match doubt {
                    Doubt::Path => [Known::SETTLED, Known::SETTLED_FURTHER],
                    Doubt::None | Doubt::InRange => [0; 2],
                };
                let bytes = &self.bytes_known[at..end];
                let cuts = bytes[0].own() == Known::FURTHER
                    || bytes[0].0 & further != 0
                    || bytes
                        .iter()
                        .any(|known| known.own() == Known::FIRST || known.0 & first != 0);
                if instruction.is_invalid() || cuts && doubt != Doubt::None {
                    if doubt != Doubt::None {
                        return false;
                    }
                    self.is_code = false;
                    ended = true;
                    break;
                }
                for known in &mut self.bytes_known[at..end] {
                    *known = known.with(Known::FURTHER);
                }
                self.bytes_known[at] = self.bytes_known[at].with(Known::FIRST);
                // What is code can't be undone, so nobody asks.
                if doubt != Doubt::None {
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
                if doubt == Doubt::InRange {
                    return false;
                }
                self.is_code &= doubt == Doubt::Path;
            }
        }
        true
    }

    /// Where a path goes on, and what else an instruction says about it.
    fn onward(&mut self, instruction: &Instruction) -> Onward {
        if instruction.mnemonic() == Mnemonic::Lea && instruction.is_ip_rel_memory_operand() {
            let table = ImageAddress(instruction.ip_rel_memory_address());
            if let Entry::Vacant(new) = self.tables.entry(table) {
                new.insert(ImageAddress(instruction.ip()));
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
        // A call counts: code without known bounds may hold several functions.
        let target = instruction.near_branch_target();
        if let Some(called) = &mut self.called
            && instruction.flow_control() == FlowControl::Call
            && self.range.covers(ImageAddress(target), 1)
            && called.insert(ImageAddress(target))
        {
            self.new_called.push(ImageAddress(target));
        }
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
