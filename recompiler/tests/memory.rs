//! Memory instructions on a Vulkan device, one at a time, against an independent model.
//!
//! A row of `memory/rows.rs` names an instruction and says what it does to bytes. Each lane has 32 bytes of memory of
//! its own, data, and an old value in the destination; EXEC is off in some lanes. Every row runs on edge values and
//! random ones, in local data share (made of 32-bit and of 64-bit words), in buffers (plain, by index, swizzled, with
//! lanes past the end) and behind pointers (by a scalar base and through the page table), and in scratch memory. Without a Vulkan device the
//! tests say that they skip.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

#[path = "instructions/assemble.rs"]
#[expect(dead_code, reason = "shared with the tests of arithmetic")]
mod assemble;
mod device;
#[path = "device/pages.rs"]
mod pages;
#[path = "memory/rows.rs"]
mod rows;
#[path = "memory/run.rs"]
mod run;
mod validate;

use run::{Space, check};

#[test]
fn local_data_share() {
    check(&rows::shared(), Space::Shared { wide: false });
}

#[test]
fn local_data_share_of_64_bit_words() {
    check(&rows::shared(), Space::Shared { wide: true });
}

#[test]
fn buffers() {
    check(&rows::buffers(), Space::Buffer);
}

#[test]
fn buffers_by_index() {
    check(&rows::buffers(), Space::Indexed { swizzled: false });
}

#[test]
fn swizzled_buffers() {
    let rows: Vec<_> = rows::buffers()
        .into_iter()
        .filter(|row| row.bytes() <= 4)
        .collect();
    check(&rows, Space::Indexed { swizzled: true });
}

#[test]
fn global_memory_with_a_scalar_base() {
    check(&rows::flat("global_"), Space::ScalarBase);
}

#[test]
fn global_memory_through_the_page_table() {
    check(&rows::flat("global_"), Space::Pointer);
}

#[test]
fn flat_memory_through_the_page_table() {
    check(&rows::flat("flat_"), Space::Pointer);
}

#[test]
fn scratch_memory() {
    check(&rows::scratch(false), Space::Scratch { ring: false });
}

#[test]
fn scratch_memory_through_the_ring() {
    check(&rows::scratch(true), Space::Scratch { ring: true });
}
