//! One instruction at a time on a Vulkan device, against an independent model of what it does.
//!
//! A row of the tables in `instructions/` names an instruction, the kinds of its operands, and a function over raw bits
//! that says its result. Every row runs on the cross product of its kind's edge values and on random ones; rows with
//! float operands run again with signs changed and results clamped or scaled. Many instructions share a program, so
//! that few pipelines are built. A NaN is as good as any other; where a denormal number goes in or comes out, zero in
//! its place is right, too: that is the device's float mode, which `float_modes` looks at. Without a Vulkan device the
//! tests say that they skip.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

#[path = "instructions/assemble.rs"]
mod assemble;
#[path = "instructions/compare.rs"]
mod compare;
mod device;
#[path = "instructions/float.rs"]
mod float;
#[path = "instructions/half.rs"]
mod half;
#[path = "instructions/integer.rs"]
mod integer;
#[path = "instructions/judge.rs"]
mod judge;
#[path = "instructions/run.rs"]
mod run;
#[path = "instructions/scalar.rs"]
mod scalar;
#[path = "instructions/values.rs"]
mod values;

use run::{check_scalar, check_vector};

#[test]
fn vector_integers() {
    check_vector("integers", integer::ROWS);
}

#[test]
fn vector_floats() {
    check_vector("floats", float::ROWS);
}

#[test]
fn vector_halves() {
    check_vector("halves", half::ROWS);
}

#[test]
fn vector_comparisons() {
    check_vector("comparisons", &compare::rows());
}

#[test]
fn scalar_instructions() {
    check_scalar("scalar", scalar::ROWS);
}
