//! System calls in code. A console program makes them through its libraries; one of its own would reach the host's kernel
//! with the console's numbers.

use hashbrown::HashMap;
use iced_x86::{Code as Opcode, Instruction, Mnemonic};
use rayon::prelude::*;

use crate::address::{ImageAddress, ImageRange};

use super::{
    Code,
    flow::is_system_call,
    functions::Function,
    search::{pairs, references},
};

/// The second and first byte that each of the four instructions ends in: `syscall`, `int 0x80`, `sysenter`, `sysret`.
const PAIRS: [[u8; 2]; 4] = [[0x0f, 0x05], [0xcd, 0x80], [0x0f, 0x34], [0x0f, 0x07]];
/// `ud2`: as long as each of them.
pub const TRAP: [u8; 2] = [0x0f, 0x0b];

/// What happens to a program that holds system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SystemCallPolicy {
    /// It is refused.
    #[default]
    Refuse,
    /// Each is replaced by an instruction that faults.
    Trap,
    /// They are not looked for, and stay: the host's kernel will take the console's numbers for its own.
    Keep,
}

/// One system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemCall {
    /// Where the instruction begins.
    pub address: ImageAddress,
    /// Where its last two bytes stand.
    pub opcode: ImageAddress,
    /// Its name.
    pub name: &'static str,
}

/// What was found.
#[derive(Debug, Default)]
pub struct SystemCalls {
    /// Every system call that control flow reaches, ascending.
    pub calls: Vec<SystemCall>,
    /// Byte pairs that no control flow reaches as an instruction: data, or code that nothing leads to.
    pub unreached: usize,
}

/// Finds all system calls.
#[must_use]
pub fn find(code: &Code<'_>) -> SystemCalls {
    let candidates = pairs(code, &PAIRS);
    if candidates.is_empty() {
        return SystemCalls::default();
    }
    // Candidates ascend, so those of one function stand together.
    let mut functions: Vec<Function> = Vec::new();
    let mut gaps: Vec<ImageRange> = Vec::new();
    for &address in &candidates {
        if functions
            .last()
            .is_some_and(|function| function.range.covers(address, 1))
            || gaps.last().is_some_and(|gap| gap.covers(address, 1))
        {
            continue;
        }
        match code.functions.around(address) {
            Some(function) => functions.push(function),
            None => {
                let segment = code
                    .segments
                    .iter()
                    .find(|segment| segment.range().covers(address, 1));
                gaps.extend(segment.map(|segment| code.functions.gap_around(address, segment.range())));
            }
        }
    }
    let mut calls: Vec<SystemCall> = functions
        .par_iter()
        .flat_map_iter(|function| {
            let mut calls = Vec::new();
            code.explore(function, &mut |instruction| {
                calls.extend(system_call(instruction));
            });
            calls
        })
        .collect();
    calls.extend(in_gaps(code, &gaps));
    calls.sort_unstable();
    calls.dedup();
    let found: hashbrown::HashSet<ImageAddress> = calls.iter().map(|call| call.opcode).collect();
    let unreached = candidates
        .iter()
        .filter(|address| !found.contains(*address))
        .count();
    SystemCalls { calls, unreached }
}

/// The system calls in code without unwind information, as far as anything leads there.
fn in_gaps(code: &Code<'_>, gaps: &[ImageRange]) -> Vec<SystemCall> {
    let (Some(first), Some(last)) = (gaps.first(), gaps.last()) else {
        return Vec::new();
    };
    let within = ImageRange {
        start: first.start,
        size: last.end().0 - first.start.0,
    };
    let gap_of = |address: ImageAddress| {
        let after = gaps.partition_point(|gap| gap.start <= address);
        let index = after.checked_sub(1)?;
        gaps.get(index)?.covers(address, 1).then_some(index)
    };
    // What is branched to is code; what only has its address taken may be data too.
    let mut branched: HashMap<usize, Vec<ImageAddress>> = HashMap::new();
    let mut taken: HashMap<usize, Vec<ImageAddress>> = HashMap::new();
    for reference in references(code, within, &[0], |target| gap_of(target).is_some()) {
        if let Some(gap) = gap_of(reference.target)
            && gap_of(reference.place) != Some(gap)
        {
            let roots = match use_of(code, reference.place, reference.target) {
                Some(Use::Branch) => &mut branched,
                Some(Use::Address) => &mut taken,
                None => continue,
            };
            roots.entry(gap).or_default().push(reference.target);
        }
    }
    gaps.par_iter()
        .enumerate()
        .flat_map_iter(|(index, gap)| {
            let mut calls = Vec::new();
            let open = branched.get(&index).cloned().unwrap_or_default();
            code.explore_from(*gap, open, &mut |instruction| {
                calls.extend(system_call(instruction));
            });
            let mut open = taken.get(&index).cloned().unwrap_or_default();
            open.extend_from_slice(code.entry_points_in(*gap));
            open.sort_unstable();
            open.dedup();
            for root in open {
                let mut found = Vec::new();
                if code.explore_from(*gap, vec![root], &mut |instruction| {
                    found.extend(system_call(instruction));
                }) {
                    calls.append(&mut found);
                }
            }
            calls
        })
        .collect()
}

/// How an instruction uses an address in code.
enum Use {
    Branch,
    Address,
}

/// How the instruction uses `target` whose displacement stands at `place`. Where no function is known around it, it is
/// taken for a branch.
fn use_of(code: &Code<'_>, place: ImageAddress, target: ImageAddress) -> Option<Use> {
    let Some(function) = code.functions.around(place) else {
        return Some(Use::Branch);
    };
    let mut found = None;
    code.explore(&function, &mut |instruction| {
        if covers(instruction, place) {
            if instruction.near_branch_target() == target.0 {
                found = Some(Use::Branch);
            } else if instruction.mnemonic() == Mnemonic::Lea
                && instruction.ip_rel_memory_address() == target.0
            {
                found = Some(Use::Address);
            }
        }
    });
    found
}

fn covers(instruction: &Instruction, place: ImageAddress) -> bool {
    let start = instruction.ip();
    start < place.0 && place.0 < start + instruction.len() as u64
}

/// Whether an instruction covers `place` and has `target` as its operand in memory.
pub(crate) fn refers(instruction: &Instruction, place: ImageAddress, target: ImageAddress) -> bool {
    covers(instruction, place)
        && instruction.is_ip_rel_memory_operand()
        && instruction.ip_rel_memory_address() == target.0
}

fn system_call(instruction: &Instruction) -> Option<SystemCall> {
    if !is_system_call(instruction) {
        return None;
    }
    let name = match instruction.code() {
        Opcode::Syscall => "syscall",
        Opcode::Sysenter => "sysenter",
        Opcode::Int_imm8 => "int 0x80",
        _ => "sysret",
    };
    let address = ImageAddress(instruction.ip());
    let opcode = ImageAddress(address.0 + instruction.len() as u64 - TRAP.len() as u64);
    Some(SystemCall {
        address,
        opcode,
        name,
    })
}
