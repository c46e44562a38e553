//! Looking at relinked programs as readelf would.

use goblin::elf::{Elf, dynamic::DT_NULL};

/// A program header's type and flags, for tests that compare lists of them.
#[must_use]
pub fn header_kinds(elf: &Elf<'_>) -> Vec<(u32, u32)> {
    elf.program_headers
        .iter()
        .map(|header| (header.p_type, header.p_flags))
        .collect()
}

/// The value of a dynamic tag, in a file whose dynamic table is at its program header's file offset.
#[must_use]
pub fn dynamic_value(elf: &Elf<'_>, tag: u64) -> Option<u64> {
    let entries = elf
        .dynamic
        .as_ref()?
        .dyns
        .iter()
        .take_while(|entry| entry.d_tag != DT_NULL);
    entries
        .filter(|entry| entry.d_tag == tag)
        .map(|entry| entry.d_val)
        .next()
}
