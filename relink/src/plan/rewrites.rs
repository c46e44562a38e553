//! Code that the output has otherwise than the input.

use crate::{
    address::ImageAddress,
    code::{
        Code,
        syscalls::{self, SystemCallPolicy, TRAP},
    },
    error::RelinkError,
};

/// Some bytes of code, replaced in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Where.
    pub address: ImageAddress,
    /// What stands there in the output.
    pub bytes: Vec<u8>,
    /// What was there, for people.
    pub was: &'static str,
}

/// How many places a message names.
const NAMED: usize = 8;

/// Applies the policy. Returns how many byte pairs look like a system call and are none that anything reaches.
pub(super) fn system_calls(
    code: &Code<'_>,
    policy: SystemCallPolicy,
    rewrites: &mut Vec<Rewrite>,
) -> Result<usize, RelinkError> {
    if policy == SystemCallPolicy::Keep {
        return Ok(0);
    }
    let found = syscalls::find(code);
    if policy == SystemCallPolicy::Refuse && !found.calls.is_empty() {
        let places: Vec<String> = found
            .calls
            .iter()
            .take(NAMED)
            .map(|call| format!("{} at {}", call.name, call.address))
            .chain((found.calls.len() > NAMED).then(|| "...".to_owned()))
            .collect();
        return Err(RelinkError::SystemCalls {
            count: found.calls.len(),
            places: places.join(", "),
        });
    }
    rewrites.extend(found.calls.iter().map(|call| Rewrite {
        address: call.opcode,
        bytes: TRAP.to_vec(),
        was: call.name,
    }));
    Ok(found.unreached)
}
