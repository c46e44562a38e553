//! The float mode that RSRC1 asks for, as execution modes: rounding, and what becomes of denormal numbers.
//!
//! Halves are computed in 32 bits and rounded when they are packed, so their mode has to be nearest even, and so has that
//! of 32 bits beside them. What the device cannot do is refused where the program computes at all.

use super::Emitter;
use crate::binary::Features;
use crate::ir::{Op, Type};
use crate::refusal::Reason;
use rspirv::spirv::{Capability, ExecutionMode, Word};

const NEAREST: u8 = 0;
const ZERO: u8 = 3;
/// Both inputs and results keep denormal numbers.
const PRESERVE: u8 = 3;
const FLUSH: u8 = 0;

/// Operations whose results are rounded.
const fn rounds(op: Op) -> bool {
    matches!(
        op,
        Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::Fma
            | Op::Sqrt
            | Op::InverseSqrt
            | Op::Exp2
            | Op::Log2
            | Op::Sin
            | Op::Cos
            | Op::Ldexp
            | Op::U32ToF32
            | Op::S32ToF32
            | Op::F64ToF32
    )
}

impl Emitter<'_> {
    pub(super) fn float_controls(&mut self, main: Word) -> Result<(), Reason> {
        let mode = self.program.interface.float_mode;
        let (round32, round_others) = (mode & 3, mode >> 2 & 3);
        let (denormal32, features) = (mode >> 4 & 3, self.program.profile.features);
        let live = || {
            self.function
                .blocks
                .iter()
                .flat_map(|block| &block.insts)
                .map(|value| self.function.inst(*value))
        };
        let computes = |ty: Type| live().any(|inst| inst.ty == ty && rounds(inst.op));
        let (in_32, in_64) = (computes(Type::F32), computes(Type::F64));
        let halves = live().any(|inst| inst.op == Op::PackHalf);
        let infinite = |mode: u8| matches!(mode, 1 | 2);
        if in_32 && infinite(round32) || (in_64 || halves) && infinite(round_others) {
            return Err(Reason::Unsupported("rounding toward an infinity"));
        }
        if halves && (round_others != NEAREST || in_32 && round32 != NEAREST) {
            return Err(Reason::Unsupported(
                "16-bit floats where not all rounding is to nearest",
            ));
        }
        if in_32 && round32 == ZERO {
            self.need_feature(Features::ROUND_ZERO_32, "rounding of 32-bit floats toward zero")?;
            self.float_control(
                main,
                ExecutionMode::RoundingModeRTZ,
                "RoundingModeRTZ",
                Capability::RoundingModeRTZ,
                32,
            );
        }
        if in_64 && round_others == ZERO {
            self.need_feature(
                Features::ROUND_ZERO_16_64,
                "rounding of 64-bit floats toward zero",
            )?;
            self.float_control(
                main,
                ExecutionMode::RoundingModeRTZ,
                "RoundingModeRTZ",
                Capability::RoundingModeRTZ,
                64,
            );
        }
        if in_32 && denormal32 == PRESERVE && features.contains(Features::DENORM_PRESERVE_32) {
            self.float_control(
                main,
                ExecutionMode::DenormPreserve,
                "DenormPreserve",
                Capability::DenormPreserve,
                32,
            );
        }
        if in_32 && denormal32 == FLUSH && features.contains(Features::DENORM_FLUSH_32) {
            let name = "DenormFlushToZero";
            self.float_control(
                main,
                ExecutionMode::DenormFlushToZero,
                name,
                Capability::DenormFlushToZero,
                32,
            );
        }
        Ok(())
    }

    fn float_control(
        &mut self,
        main: Word,
        mode: ExecutionMode,
        name: &'static str,
        capability: Capability,
        width: u32,
    ) {
        self.need(name, capability);
        self.b.execution_mode(main, mode, [width]);
    }
}
