//! Code without unwind information, where nobody says what is code and what is data between.
//!
//! What proven control flow leads to is code: from the entry point, initialisers and exported functions, along branches and
//! calls, through jump tables whose length a comparison bounds. Behind a call, and where only an address is held or taken,
//! is code if it decodes to its end without contradicting any of that. The rest is a guess: it is told apart, and nothing
//! may be written over it.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::{
    address::{ImageAddress, ImageRange},
    input::{ObjectKind, symbols::SymbolKind},
};

use super::{
    Code,
    flow::{FREE_WORK, WORK, is_system_call},
};

/// What leads into gaps from elsewhere.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// Where control goes.
    pub(super) proven: Vec<ImageAddress>,
    /// What has its address taken, for whatever.
    pub(super) taken: Vec<ImageAddress>,
    /// What is read.
    pub(super) read: Vec<ImageRange>,
}

/// What was found in gaps.
#[derive(Debug)]
pub(super) struct Explored<T> {
    /// In what is code.
    pub(super) certain: Vec<T>,
    /// In what may be code.
    pub(super) uncertain: Vec<T>,
}

impl Code<'_> {
    /// What leads into code from the headers, the symbols and data.
    pub(super) fn outer_roots(&self) -> Roots {
        let object = self.object;
        let lifecycle = &object.lifecycle;
        let lists = [
            lifecycle.early_initialisers,
            lifecycle.initialisers,
            lifecycle.finalisers,
        ];
        let called = object
            .relocations
            .iter()
            .filter(|relocation| lists.iter().any(|list| list.covers(relocation.target, 1)))
            .map(|relocation| ImageAddress(relocation.addend.cast_unsigned()));
        let exported = |wanted: fn(SymbolKind) -> bool| {
            let symbols = object.symbols.iter();
            symbols
                .filter(move |symbol| !symbol.is_import() && wanted(symbol.kind))
                .map(|symbol| ImageRange {
                    start: ImageAddress(symbol.value),
                    size: symbol.size.max(1),
                })
        };
        let functions =
            exported(|kind| matches!(kind, SymbolKind::Function | SymbolKind::Other(MODULE_FUNCTION)));
        let functions = functions.map(|range| range.start);
        let entry = (object.kind == ObjectKind::Program).then_some(object.entry);
        let proven: Vec<ImageAddress> = called
            .chain(functions)
            .chain([lifecycle.initialiser, lifecycle.finaliser].into_iter().flatten())
            .chain(entry)
            .collect();
        Roots {
            proven,
            taken: self.entry_points().to_vec(),
            read: exported(|kind| kind == SymbolKind::Object).collect(),
        }
    }

    /// Explores gaps, which ascend, from roots in them.
    pub(super) fn explore_gaps<T>(
        &self,
        gaps: &[ImageRange],
        roots: Roots,
        wanted: &impl Fn(&Instruction) -> Option<T>,
    ) -> Explored<T> {
        let pieces = gaps.iter().filter_map(|gap| {
            let bytes = self.bytes_of(*gap)?;
            Some(Piece {
                start: gap.start,
                bytes,
                known: vec![Known::Nothing; bytes.len()],
            })
        });
        let pieces: Vec<Piece<'_>> = pieces.collect();
        let mut walk = Gaps {
            code: self,
            size: pieces.iter().map(|piece| piece.bytes.len()).sum(),
            pieces,
            calls: HashSet::new(),
            behind_calls: BTreeSet::new(),
            taken: BTreeSet::new(),
            disputed: Vec::new(),
            in_dispute: HashSet::new(),
            tables: HashMap::new(),
            addresses: BTreeSet::new(),
            jumps_by_table: false,
            work: 0,
            wanted,
            found: Explored {
                certain: Vec::new(),
                uncertain: Vec::new(),
            },
        };
        // Each byte once, however many say so.
        let mut reads = roots.read;
        reads.sort_unstable();
        let mut marked = ImageAddress(0);
        for read in reads {
            let end = ImageAddress(read.start.0.saturating_add(read.size));
            let start = read.start.max(marked);
            if start < end {
                walk.mark_data(ImageRange {
                    start,
                    size: end.0 - start.0,
                });
                marked = end;
            }
        }
        let taken = roots.taken.into_iter();
        walk.taken = taken.filter(|root| walk.place(*root).is_some()).collect();
        walk.prove(roots.proven);
        walk.check();
        walk.guess();
        walk.found
    }
}

/// Prefix of an instruction that other processors see at once.
const LOCK: u8 = 0xf0;

/// Sony's type of `module_start` and `module_stop`.
const MODULE_FUNCTION: u8 = 11;

/// What a byte is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    /// An instruction's first.
    First,
    /// Another one of an instruction.
    Further,
    /// Read, not executed.
    Data,
    /// The first one of what may be an instruction.
    Guessed,
}

struct Piece<'c> {
    start: ImageAddress,
    bytes: &'c [u8],
    known: Vec<Known>,
}

/// How much speaks for a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Control goes there.
    Proven,
    /// Control comes back there, unless what is called never returns.
    BehindCall,
    /// Its address is taken or held: it is code to its end, or data.
    Taken,
    /// It may be an entry of a jump table.
    Table,
    /// Its address is taken, in the middle of what is code.
    Disputed,
}

/// What one root led to.
#[derive(Debug)]
struct Attempt<T> {
    /// First bytes of instructions: piece and place, with the length.
    done: Vec<(usize, usize, usize)>,
    calls: Vec<ImageAddress>,
    behind_calls: Vec<ImageAddress>,
    addresses: Vec<ImageAddress>,
    reads: Vec<ImageRange>,
    tables: Vec<(ImageAddress, u64)>,
    jumps_by_table: bool,
    found: Vec<T>,
    /// Instructions that leave no marks.
    in_dispute: HashSet<u64>,
    /// How many instructions were decoded.
    steps: usize,
}

struct Gaps<'c, 'a, T, F> {
    code: &'c Code<'a>,
    pieces: Vec<Piece<'c>>,
    /// Of all pieces.
    size: usize,
    calls: HashSet<ImageAddress>,
    behind_calls: BTreeSet<ImageAddress>,
    taken: BTreeSet<ImageAddress>,
    disputed: Vec<ImageAddress>,
    /// Instructions that those lead to.
    in_dispute: HashSet<u64>,
    /// Jump tables with their numbers of entries.
    tables: HashMap<ImageAddress, u64>,
    /// Addresses that code takes: what may be tables.
    addresses: BTreeSet<ImageAddress>,
    /// Whether there are jumps whose table is not known.
    jumps_by_table: bool,
    /// How many instructions were decoded in vain or on a guess, and [`WORK`] for each entry of a table.
    work: usize,
    wanted: &'c F,
    found: Explored<T>,
}

impl<T, F: Fn(&Instruction) -> Option<T>> Gaps<'_, '_, T, F> {
    fn prove(&mut self, mut open: Vec<ImageAddress>) {
        while let Some(root) = open.pop().filter(|_| !self.is_tangled()) {
            if let Ok(attempt) = self.attempt(root, Evidence::Proven) {
                open.extend(self.keep(attempt));
            }
        }
    }

    /// What follows from it, as far as it decodes. What control comes back to goes first.
    fn check(&mut self) {
        while !self.is_tangled() {
            let (root, evidence) = if let Some(root) = self.behind_calls.pop_first() {
                (root, Evidence::BehindCall)
            } else if let Some(root) = self.taken.pop_first() {
                (root, Evidence::Taken)
            } else {
                return;
            };
            match self.attempt(root, evidence) {
                Ok(attempt) => {
                    let led_to = self.keep(attempt);
                    self.behind_calls.extend(led_to);
                }
                Err(()) => self.disputed.push(root),
            }
        }
    }

    fn guess(&mut self) {
        for root in std::mem::take(&mut self.disputed) {
            self.guess_from(root, Evidence::Disputed);
        }
        if !self.jumps_by_table {
            return;
        }
        let addresses: Vec<ImageAddress> = self.addresses.iter().copied().collect();
        for (index, &table) in addresses.iter().enumerate() {
            let end = addresses.get(index + 1).copied();
            if self.tables.contains_key(&table) {
                continue;
            }
            for entry in 0.. {
                let target = self.code.table_entry(table, entry, end);
                if !target.is_some_and(|target| self.guess_from(target, Evidence::Table)) {
                    break;
                }
            }
        }
    }

    fn guess_from(&mut self, root: ImageAddress, evidence: Evidence) -> bool {
        if self.is_tangled() || self.place(root).is_none() {
            return false;
        }
        match self.attempt(root, evidence) {
            Ok(attempt) => {
                self.found.uncertain.extend(attempt.found);
                self.in_dispute.extend(attempt.in_dispute);
                true
            }
            Err(()) => false,
        }
    }

    /// Whether more work was in vain than compiled code ever costs.
    fn is_tangled(&self) -> bool {
        let tangled = self.work > FREE_WORK + WORK * self.size;
        if tangled && let Some(first) = self.pieces.first() {
            self.code.note_tangle(first.start);
        }
        tangled
    }

    /// Takes what an attempt led to for code. Returns where control goes from there.
    fn keep(&mut self, attempt: Attempt<T>) -> Vec<ImageAddress> {
        self.found.certain.extend(attempt.found);
        self.behind_calls.extend(attempt.behind_calls);
        self.jumps_by_table |= attempt.jumps_by_table;
        for read in attempt.reads {
            self.mark_data(read);
        }
        let mut led_to: Vec<ImageAddress> = attempt.calls;
        led_to.retain(|call| self.calls.insert(*call));
        for (table, count) in attempt.tables {
            if self
                .tables
                .insert(table, count)
                .is_some_and(|known| known >= count)
            {
                continue;
            }
            let mut entries = 0;
            while entries < count as usize && !self.is_tangled() {
                let target = self.code.table_entry(table, entries, None);
                let Some(target) = target.filter(|target| self.place(*target).is_some()) else {
                    break;
                };
                if self.calls.insert(target) {
                    led_to.push(target);
                }
                entries += 1;
                self.work += WORK;
            }
            self.mark_data(ImageRange {
                start: table,
                size: 4 * entries as u64,
            });
        }
        for address in attempt.addresses {
            self.addresses.insert(address);
            if !self.tables.contains_key(&address) && self.place(address).is_some() {
                self.taken.insert(address);
            }
        }
        led_to
    }

    fn mark_data(&mut self, range: ImageRange) {
        let end = ImageAddress(range.start.0.saturating_add(range.size));
        let below = self.pieces.partition_point(|piece| piece.start <= range.start);
        for piece in &mut self.pieces[below.saturating_sub(1)..] {
            if piece.start >= end {
                break;
            }
            let size = piece.known.len() as u64;
            let [from, to] =
                [range.start, end].map(|at| at.0.saturating_sub(piece.start.0).min(size) as usize);
            for known in &mut piece.known[from..to] {
                if *known == Known::Nothing {
                    *known = Known::Data;
                }
            }
        }
    }

    fn place(&self, address: ImageAddress) -> Option<(usize, usize)> {
        let after = self.pieces.partition_point(|piece| piece.start <= address);
        let index = after.checked_sub(1)?;
        let piece = self.pieces.get(index)?;
        let at = usize::try_from(address.0 - piece.start.0).ok()?;
        (at < piece.bytes.len()).then_some((index, at))
    }

    /// Decodes what a root leads to without calls. An error, which leaves nothing behind, where that contradicts what is
    /// known.
    fn attempt(&mut self, root: ImageAddress, evidence: Evidence) -> Result<Attempt<T>, ()> {
        let mut attempt = Attempt {
            done: Vec::new(),
            calls: Vec::new(),
            behind_calls: Vec::new(),
            addresses: Vec::new(),
            reads: Vec::new(),
            tables: Vec::new(),
            jumps_by_table: false,
            found: Vec::new(),
            in_dispute: HashSet::new(),
            steps: 0,
        };
        let is_sound = self.follow(root, evidence, &mut attempt);
        let is_guess = matches!(evidence, Evidence::Table | Evidence::Disputed);
        if is_guess || !is_sound {
            self.work += attempt.steps;
        }
        // What is disputed leaves no marks.
        if evidence != Evidence::Disputed && (is_guess || !is_sound) {
            for &(piece, at, length) in &attempt.done {
                let known = &mut self.pieces[piece].known[at..at + length];
                known.fill(Known::Nothing);
                if is_sound {
                    known[0] = Known::Guessed;
                }
            }
        }
        if is_sound { Ok(attempt) } else { Err(()) }
    }

    fn follow(&mut self, root: ImageAddress, evidence: Evidence, attempt: &mut Attempt<T>) -> bool {
        let is_proven = evidence == Evidence::Proven;
        let mut open = vec![root];
        let mut run: Vec<Instruction> = Vec::new();
        while let Some(address) = open.pop() {
            let Some((piece, mut at)) = self.place(address) else {
                continue;
            };
            run.clear();
            let Piece { start, bytes, .. } = self.pieces[piece];
            let mut decoder = Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE);
            loop {
                if at >= bytes.len() {
                    // A gap ends where a function begins, which the code may run into, or with the segment.
                    if is_proven || self.code.functions.begins_at(ImageAddress(start.0 + at as u64)) {
                        break;
                    }
                    return false;
                }
                let ip = start.0 + at as u64;
                let is_disputed = evidence == Evidence::Disputed;
                let known = self.pieces[piece].known[at];
                if is_disputed && known == Known::Data {
                    return false;
                }
                if known == Known::First
                    || evidence == Evidence::Table && known == Known::Guessed
                    || is_disputed && (self.in_dispute.contains(&ip) || !attempt.in_dispute.insert(ip))
                    || decoder.set_position(at).is_err()
                {
                    break;
                }
                decoder.set_ip(ip);
                let instruction = decoder.decode();
                let length = instruction.len();
                if instruction.is_invalid() {
                    if is_proven {
                        break;
                    }
                    return false;
                }
                if !is_disputed && !self.skips_lock(piece, at, length) {
                    if !is_proven && self.cuts(piece, at, length) {
                        return false;
                    }
                    attempt.done.push((piece, at, length));
                    let known = &mut self.pieces[piece].known[at..at + length];
                    // A proven instruction in the middle of another: both stay.
                    for known in &mut known[1..] {
                        if *known != Known::First {
                            *known = Known::Further;
                        }
                    }
                    known[0] = Known::First;
                }
                attempt.steps += 1;
                attempt.found.extend((self.wanted)(&instruction));
                run.push(instruction);
                at += length;
                if !self.go_on(&run, evidence, attempt, &mut open) {
                    break;
                }
            }
        }
        true
    }

    /// Whether an instruction covers bytes that are something else.
    fn cuts(&self, piece: usize, at: usize, length: usize) -> bool {
        let own = &self.pieces[piece].known[at..at + length];
        own.iter()
            .any(|known| matches!(known, Known::First | Known::Further | Known::Data))
    }

    /// Whether it is a known instruction without its lock prefix, over which programs jump where nobody else runs.
    fn skips_lock(&self, piece: usize, at: usize, length: usize) -> bool {
        let Piece { bytes, known, .. } = &self.pieces[piece];
        known[at] == Known::Further
            && at
                .checked_sub(1)
                .is_some_and(|lock| bytes[lock] == LOCK && known[lock] == Known::First)
            && known[at..at + length]
                .iter()
                .all(|known| *known == Known::Further)
            && known.get(at + length) != Some(&Known::Further)
    }

    /// Notes what the last instruction of a run says. Whether the next one follows.
    fn go_on(
        &self,
        run: &[Instruction],
        evidence: Evidence,
        attempt: &mut Attempt<T>,
        open: &mut Vec<ImageAddress>,
    ) -> bool {
        let Some(instruction) = run.last() else {
            return false;
        };
        let next = ImageAddress(instruction.next_ip());
        if instruction.is_ip_rel_memory_operand() {
            let address = ImageAddress(instruction.ip_rel_memory_address());
            if instruction.mnemonic() == Mnemonic::Lea {
                attempt.addresses.push(address);
            } else if self.place(address).is_some() {
                attempt.reads.push(read_by(instruction));
            }
        }
        let target = instruction.near_branch_target();
        let branch = (target != 0).then_some(ImageAddress(target));
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::XbeginXabortXend => instruction.mnemonic() != Mnemonic::Hlt,
            FlowControl::ConditionalBranch => {
                open.extend(branch);
                true
            }
            FlowControl::UnconditionalBranch => {
                open.extend(branch);
                false
            }
            FlowControl::Call | FlowControl::IndirectCall => {
                attempt.calls.extend(branch);
                if evidence == Evidence::Taken {
                    return true;
                }
                attempt.behind_calls.push(next);
                false
            }
            FlowControl::IndirectBranch => {
                match table_of(run) {
                    Some(table) => attempt.tables.push(table),
                    None => attempt.jumps_by_table |= instruction.op0_kind() == OpKind::Register,
                }
                false
            }
            FlowControl::Interrupt => instruction.mnemonic() != Mnemonic::Int3,
            FlowControl::Return => false,
            // ud2 ends a path; a system call goes on.
            FlowControl::Exception => is_system_call(instruction),
        }
    }
}

/// What an instruction with an operand relative to its end reads or writes.
pub(super) fn read_by(instruction: &Instruction) -> ImageRange {
    ImageRange {
        start: ImageAddress(instruction.ip_rel_memory_address()),
        size: instruction.memory_size().size().max(1) as u64,
    }
}

/// The jump table of the indirect branch that ends a run of instructions, and how many entries a comparison in front of it
/// leaves:
///
/// ```text
/// cmp index, last ; ja … ; lea base, [table] ; movsxd entry, [base + 4 * index] ; add entry, base ; jmp entry
/// ```
fn table_of(run: &[Instruction]) -> Option<(ImageAddress, u64)> {
    let (jump, run) = run.split_last()?;
    let last = |run: &[Instruction], wanted: &dyn Fn(&Instruction) -> bool| run.iter().rposition(wanted);
    if jump.op0_kind() != OpKind::Register {
        return None;
    }
    let to = jump.op0_register();
    let add = last(run, &|i| i.mnemonic() == Mnemonic::Add && i.op0_register() == to)?;
    let other = run.get(add)?.op1_register();
    let run = run.get(..add)?;
    let load = last(run, &|i| {
        i.mnemonic() == Mnemonic::Movsxd
            && i.memory_index_scale() == 4
            && i.memory_displacement64() == 0
            && [(to, other), (other, to)].contains(&(i.op0_register(), i.memory_base()))
    })?;
    let (base, index) = (run.get(load)?.memory_base(), run.get(load)?.memory_index());
    let run = run.get(..load)?;
    let writes = |i: &Instruction, register: Register| {
        i.op0_kind() == OpKind::Register
            && i.op0_register().full_register() == register.full_register()
            && !matches!(i.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
    };
    let lea = run.get(last(run, &|i| writes(i, base))?)?;
    if lea.mnemonic() != Mnemonic::Lea || !lea.is_ip_rel_memory_operand() {
        return None;
    }
    let table = ImageAddress(lea.ip_rel_memory_address());
    // Backwards to what bounds the index.
    let mut index = index;
    let mut branch = None;
    for i in run.iter().rev() {
        match (i.mnemonic(), branch) {
            (Mnemonic::Ja, _) => branch = Some(1),
            (Mnemonic::Jae, _) => branch = Some(0),
            (Mnemonic::Cmp, Some(more))
                if i.op0_kind() == OpKind::Register
                    && i.op0_register().full_register() == index.full_register() =>
            {
                let count = immediate(i)?.checked_add(more)?;
                return (count <= LARGEST_TABLE).then_some((table, count));
            }
            (Mnemonic::And, _) if writes(i, index) => {
                let count = immediate(i)?.checked_add(1)?;
                return (count <= LARGEST_TABLE).then_some((table, count));
            }
            (Mnemonic::Mov | Mnemonic::Movzx, _)
                if writes(i, index) && i.op1_kind() == OpKind::Register && i.op0_register().size() >= 4 =>
            {
                index = i.op1_register();
            }
            _ if writes(i, index) || i.flow_control() == FlowControl::Call => return None,
            (Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Lea, _) => {}
            _ => branch = None,
        }
    }
    None
}

/// More entries than any compiler makes.
const LARGEST_TABLE: u64 = 1 << 16;

/// The immediate operand of an instruction with two.
fn immediate(instruction: &Instruction) -> Option<u64> {
    match instruction.op1_kind() {
        OpKind::Immediate8
        | OpKind::Immediate16
        | OpKind::Immediate32
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64
        | OpKind::Immediate32to64 => Some(instruction.immediate(1)),
        _ => None,
    }
}
