//! Code that the output has otherwise than the input.

use hashbrown::HashMap;

use crate::{
    address::ImageAddress,
    code::{
        Code,
        syscalls::{self, SystemCallPolicy, SystemCalls, TRAP},
    },
    error::RelinkError,
    filter::Stub,
};

use super::relocations::OutputRelocation;

/// Some bytes of code, replaced in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Where.
    pub address: ImageAddress,
    /// What stands there in the output.
    pub bytes: Vec<u8>,
    /// What was there, for people.
    pub was: &'static str,
    /// Why.
    pub reason: Reason,
}

/// Why code is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It is a system call.
    SystemCall,
    /// It is an instruction that not every processor has.
    Lowered,
    /// The procedure linkage table is compacted.
    Linkage,
}

/// How many places a message names.
const NAMED: usize = 8;

/// Applies the policy to the system calls that are certain. Returns what was found: what is uncertain may be data, so that
/// nothing refuses it and nothing is written over it.
pub(super) fn system_calls(
    code: &Code<'_>,
    policy: SystemCallPolicy,
    rewrites: &mut Vec<Rewrite>,
) -> Result<SystemCalls, RelinkError> {
    if policy == SystemCallPolicy::Keep {
        return Ok(SystemCalls::default());
    }
    let found = syscalls::find(code);
    if policy == SystemCallPolicy::Refuse && !found.calls.is_empty() {
        return Err(RelinkError::SystemCalls {
            count: found.calls.len(),
            places: places(found.calls.iter().map(|call| (call.name, call.address))),
        });
    }
    rewrites.extend(found.calls.iter().map(|call| Rewrite {
        address: call.opcode,
        bytes: TRAP.to_vec(),
        was: call.name,
        reason: Reason::SystemCall,
    }));
    Ok(found)
}

/// The first few of a list of instructions, for a message.
pub(crate) fn places(instructions: impl Iterator<Item = (&'static str, ImageAddress)>) -> String {
    let mut instructions = instructions.map(|(name, address)| format!("{name} at {address}"));
    let mut named: Vec<String> = instructions.by_ref().take(NAMED).collect();
    named.extend(instructions.next().map(|_| "...".to_owned()));
    named.join(", ")
}

/// `jmp [rip + displacement]`.
const STUB_JUMP: u64 = 6;
/// `push imm32`.
const PUSH: u8 = 0x68;
/// A stub whose function nobody calls: whatever comes there after all ends at once.
const DEAD_STUB: [u8; STUB_JUMP as usize] = [TRAP[0], TRAP[1], 0xcc, 0xcc, 0xcc, 0xcc];

/// Compacts the procedure linkage table: each stub pushes the index of its slot among those that are left.
pub(super) fn linkage_table(
    code: &Code<'_>,
    stubs: &[Stub],
    jump_slots: &[OutputRelocation],
    left_out: impl Fn(ImageAddress) -> bool,
    rewrites: &mut Vec<Rewrite>,
) {
    let indices: HashMap<ImageAddress, u32> = jump_slots
        .iter()
        .zip(0..)
        .map(|(relocation, index)| (relocation.target, index))
        .collect();
    for stub in stubs {
        if left_out(stub.slot) {
            rewrites.push(Rewrite {
                address: stub.jump,
                bytes: DEAD_STUB.to_vec(),
                was: "unused linkage stub",
                reason: Reason::Linkage,
            });
        } else if let Some(index) = indices.get(&stub.slot) {
            let push = ImageAddress(stub.jump.0 + STUB_JUMP);
            let mut bytes = vec![PUSH];
            bytes.extend(index.to_le_bytes());
            let found = code.bytes_from(push).and_then(|bytes| bytes.get(..5));
            // Stubs of another kind have no index.
            if found.is_some_and(|found| found.first() == Some(&PUSH) && found != bytes) {
                rewrites.push(Rewrite {
                    address: push,
                    bytes,
                    was: "index of a linkage stub",
                    reason: Reason::Linkage,
                });
            }
        }
    }
}
