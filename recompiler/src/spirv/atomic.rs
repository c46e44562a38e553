//! Atomics: SPIR-V's own, and loops of compare-exchange where it has none.

use super::{Emitted, Emitter};
use crate::binary::Features;
use crate::ir::{Atomic, Type};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op as S, Scope, StorageClass, Word};

/// What an atomic works on.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub pointer: Word,
    pub class: StorageClass,
    /// Type of what lies there.
    pub element: Word,
    /// What atomics take it for: `U32` or `U64`.
    pub numbers: Type,
}

impl Emitter<'_> {
    /// Data and result are numbers of the place's kind, whatever its element is called.
    pub(super) fn atomic(&mut self, atomic: Atomic, place: Place, data: Word, comparand: Word) -> Emitted {
        let opcode = match atomic {
            Atomic::Swap => S::AtomicExchange,
            Atomic::Add => S::AtomicIAdd,
            Atomic::Sub => S::AtomicISub,
            Atomic::SMin => S::AtomicSMin,
            Atomic::UMin => S::AtomicUMin,
            Atomic::SMax => S::AtomicSMax,
            Atomic::UMax => S::AtomicUMax,
            Atomic::And => S::AtomicAnd,
            Atomic::Or => S::AtomicOr,
            Atomic::Xor => S::AtomicXor,
            Atomic::CompareSwap => S::AtomicCompareExchange,
            _ => return self.looping_atomic(atomic, place, None, data, comparand),
        };
        let numbers = self.ty(place.numbers);
        let data = self.cast(data, numbers, place.element)?;
        let old = if opcode == S::AtomicCompareExchange {
            let comparand = self.cast(comparand, numbers, place.element)?;
            self.compare_exchange(place, data, comparand)?
        } else {
            let (scope, relaxed) = (self.atomic_scope(place), self.word(0));
            let operands = vec![
                Operand::IdRef(place.pointer),
                Operand::IdScope(scope),
                Operand::IdMemorySemantics(relaxed),
                Operand::IdRef(data),
            ];
            self.op_with(opcode, place.element, operands)?
        };
        self.cast(old, place.element, numbers)
    }

    pub(super) fn cast(&mut self, value: Word, from: Word, to: Word) -> Emitted {
        if from == to {
            Ok(value)
        } else {
            self.op(S::Bitcast, to, &[value])
        }
    }

    pub(super) fn atomic_scope(&mut self, place: Place) -> Word {
        self.word(if place.class == StorageClass::Workgroup {
            Scope::Workgroup as u32
        } else {
            Scope::Device as u32
        })
    }

    pub(super) fn compare_exchange(&mut self, place: Place, new: Word, comparand: Word) -> Emitted {
        let (scope, relaxed) = (self.atomic_scope(place), self.word(0));
        let operands = vec![
            Operand::IdRef(place.pointer),
            Operand::IdScope(scope),
            Operand::IdMemorySemantics(relaxed),
            Operand::IdMemorySemantics(relaxed),
            Operand::IdRef(new),
            Operand::IdRef(comparand),
        ];
        self.op_with(S::AtomicCompareExchange, place.element, operands)
    }

    /// What an atomic leaves where `old` was.
    pub(super) fn replacement(
        &mut self,
        atomic: Atomic,
        numbers: Type,
        old: Word,
        data: Word,
        comparand: Word,
    ) -> Emitted {
        let (ty, truth) = (self.ty(numbers), self.truth());
        let (one, zero) = (self.constant(numbers, 1), self.constant(numbers, 0));
        let floats = match numbers {
            Type::U64 => {
                if matches!(
                    atomic,
                    Atomic::FAdd | Atomic::FMin | Atomic::FMax | Atomic::FCompareSwap
                ) {
                    self.need_feature(Features::FLOAT64, "64-bit floats")?;
                    self.ty(Type::F64)
                } else {
                    0
                }
            }
            _ => self.f32(),
        };
        let ext = |this: &mut Self, signed: bool, least: bool| {
            use rspirv::spirv::GlslStd450Op as G;
            let instruction = match (signed, least) {
                (true, true) => G::SMin,
                (true, false) => G::SMax,
                (false, true) => G::UMin,
                (false, false) => G::UMax,
            };
            this.ext(ty, instruction, &[old, data])
        };
        match atomic {
            Atomic::Swap => Ok(data),
            Atomic::Add => self.op(S::IAdd, ty, &[old, data]),
            Atomic::Sub => self.op(S::ISub, ty, &[old, data]),
            Atomic::ReverseSub => self.op(S::ISub, ty, &[data, old]),
            Atomic::And => self.op(S::BitwiseAnd, ty, &[old, data]),
            Atomic::Or => self.op(S::BitwiseOr, ty, &[old, data]),
            Atomic::Xor => self.op(S::BitwiseXor, ty, &[old, data]),
            Atomic::SMin => ext(self, true, true),
            Atomic::SMax => ext(self, true, false),
            Atomic::UMin => ext(self, false, true),
            Atomic::UMax => ext(self, false, false),
            Atomic::CompareSwap => {
                let same = self.op(S::IEqual, truth, &[old, comparand])?;
                self.op(S::Select, ty, &[same, data, old])
            }
            Atomic::Insert => {
                let keep = self.op(S::Not, ty, &[comparand])?;
                let kept = self.op(S::BitwiseAnd, ty, &[old, keep])?;
                self.op(S::BitwiseOr, ty, &[kept, data])
            }
            Atomic::Wrap => {
                let less = self.op(S::ISub, ty, &[old, data])?;
                let more = self.op(S::IAdd, ty, &[old, comparand])?;
                let fits = self.op(S::UGreaterThanEqual, truth, &[old, data])?;
                self.op(S::Select, ty, &[fits, less, more])
            }
            Atomic::Inc => {
                let next = self.op(S::IAdd, ty, &[old, one])?;
                let wraps = self.op(S::UGreaterThanEqual, truth, &[old, data])?;
                self.op(S::Select, ty, &[wraps, zero, next])
            }
            Atomic::Dec => {
                let next = self.op(S::ISub, ty, &[old, one])?;
                let empty = self.op(S::IEqual, truth, &[old, zero])?;
                let above = self.op(S::UGreaterThan, truth, &[old, data])?;
                let wraps = self.op(S::LogicalOr, truth, &[empty, above])?;
                self.op(S::Select, ty, &[wraps, data, next])
            }
            Atomic::FAdd => {
                let old = self.op(S::Bitcast, floats, &[old])?;
                let data = self.op(S::Bitcast, floats, &[data])?;
                let sum = self.op(S::FAdd, floats, &[old, data])?;
                self.op(S::Bitcast, ty, &[sum])
            }
            Atomic::FMin | Atomic::FMax => {
                let x = self.op(S::Bitcast, floats, &[old])?;
                let y = self.op(S::Bitcast, floats, &[data])?;
                let pair = if atomic == Atomic::FMin { [y, x] } else { [x, y] };
                let taken = self.op(S::FOrdLessThan, truth, &pair)?;
                self.op(S::Select, ty, &[taken, data, old])
            }
            Atomic::FCompareSwap => {
                let x = self.op(S::Bitcast, floats, &[old])?;
                let y = self.op(S::Bitcast, floats, &[comparand])?;
                let same = self.op(S::FOrdEqual, truth, &[x, y])?;
                self.op(S::Select, ty, &[same, data, old])
            }
        }
    }

    /// An atomic that SPIR-V lacks, or one on the dword `shift` bits up in a 64-bit word: a comparing exchange is tried
    /// until nobody came between. Splits the block; the operation is guarded.
    pub(super) fn looping_atomic(
        &mut self,
        atomic: Atomic,
        place: Place,
        shift: Option<Word>,
        data: Word,
        comparand: Word,
    ) -> Emitted {
        let (scope, relaxed, truth) = (self.atomic_scope(place), self.word(0), self.truth());
        let numbers = self.ty(place.numbers);
        let load = vec![
            Operand::IdRef(place.pointer),
            Operand::IdScope(scope),
            Operand::IdMemorySemantics(relaxed),
        ];
        let first = self.op_with(S::AtomicLoad, place.element, load)?;
        let before = self.block_label()?;
        let [head, body, again, out, old] = std::array::from_fn(|_| self.b.id());
        self.b.branch(head).map_err(Self::internal)?;
        self.b.begin_block(Some(head)).map_err(Self::internal)?;
        let phi_at = self
            .b
            .selected_block()
            .ok_or_else(|| Self::internal("no current block"))?;
        self.b
            .loop_merge(out, again, rspirv::spirv::LoopControl::NONE, Vec::new())
            .map_err(Self::internal)?;
        self.b.branch(body).map_err(Self::internal)?;
        self.b.begin_block(Some(body)).map_err(Self::internal)?;
        let number = self.cast(old, place.element, numbers)?;
        let (part, new) = match shift {
            Some(shift) => {
                let part = self.half(number, shift)?;
                let new = self.replacement(atomic, Type::U32, part, data, comparand)?;
                let all = self.constant(Type::U64, u64::from(u32::MAX));
                let hole = self.op(S::ShiftLeftLogical, numbers, &[all, shift])?;
                let keep = self.op(S::Not, numbers, &[hole])?;
                let kept = self.op(S::BitwiseAnd, numbers, &[number, keep])?;
                let new = self.op(S::UConvert, numbers, &[new])?;
                let new = self.op(S::ShiftLeftLogical, numbers, &[new, shift])?;
                (part, self.op(S::BitwiseOr, numbers, &[kept, new])?)
            }
            None => (
                number,
                self.replacement(atomic, place.numbers, number, data, comparand)?,
            ),
        };
        let new = self.cast(new, numbers, place.element)?;
        let seen = self.compare_exchange(place, new, old)?;
        let done = self.op(S::IEqual, truth, &[seen, old])?;
        self.b
            .branch_conditional(done, out, again, Vec::new())
            .map_err(Self::internal)?;
        self.b.begin_block(Some(again)).map_err(Self::internal)?;
        self.b.branch(head).map_err(Self::internal)?;
        self.b.begin_block(Some(out)).map_err(Self::internal)?;
        let phi = Instruction::new(
            S::Phi,
            Some(place.element),
            Some(old),
            vec![
                Operand::IdRef(first),
                Operand::IdRef(before),
                Operand::IdRef(seen),
                Operand::IdRef(again),
            ],
        );
        let function = self.b.selected_function();
        function
            .and_then(|at| self.b.module_mut().functions.get_mut(at)?.blocks.get_mut(phi_at))
            .ok_or_else(|| Self::internal("no loop to put a phi into"))?
            .instructions
            .insert(0, phi);
        Ok(part)
    }
}
