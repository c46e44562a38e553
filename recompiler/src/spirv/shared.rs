//! Local data share as workgroup memory, and a lane's scratch as private memory.

use super::atomic::Place;
use super::{Emitted, Emitter};
use crate::binary::{Features, StageRegisters};
use crate::ir::{AccessKind, Atomic, Inst, Op, Type};
use crate::refusal::Reason;
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as S, StorageClass, Word};

impl Emitter<'_> {
    pub(super) fn shared_words(&self) -> u32 {
        match self.program.stage {
            // LDS size in units of 128 dwords.
            StageRegisters::Compute { rsrc2, .. } => (rsrc2 >> 15 & 0x1ff) * 128,
            _ => 0,
        }
    }

    /// The element of local data share that holds a byte address.
    pub(super) fn shared_element(&mut self, address: Word) -> Result<Place, Reason> {
        let words = self.shared_words();
        if words == 0 {
            return Err(Reason::Unsupported("local data share without a size in RSRC2"));
        }
        if words * 4 > self.program.profile.max_shared_memory {
            return Err(Reason::Device("the workgroup memory that the program asks for"));
        }
        let (numbers, shift) = if self.wide_shared {
            self.need_feature(
                Features::SHARED_INT64_ATOMICS,
                "64-bit atomics on workgroup memory",
            )?;
            self.need("Int64Atomics", Capability::Int64Atomics);
            (Type::U64, 3)
        } else {
            (Type::U32, 2)
        };
        let elements = (words * 4) >> shift;
        let element = self.ty(numbers);
        let variable = match self.shared {
            Some(variable) => variable,
            None => {
                let length = self.word(elements);
                let array = self.b.type_array(element, length);
                let variable = self.global_variable(array, StorageClass::Workgroup);
                self.shared = Some(variable);
                variable
            }
        };
        let shift = self.word(shift);
        let mut index = self.fold2(S::ShiftRightLogical, address, shift)?;
        // Workgroup memory has no robustness: an index out of range must not be formed.
        if self.known(index).is_none_or(|index| index >= elements) {
            let (word, last) = (self.u32(), self.word(elements - 1));
            index = self.ext(word, rspirv::spirv::GlslStd450Op::UMin, &[index, last])?;
        }
        let ty = self.pointer_to(StorageClass::Workgroup, element);
        Ok(Place {
            pointer: self.op(S::AccessChain, ty, &[variable, index])?,
            class: StorageClass::Workgroup,
            element,
            numbers,
        })
    }

    /// The dword of the lane's scratch memory that holds a byte address.
    pub(super) fn private_element(&mut self, address: Word) -> Emitted {
        let (word, dwords) = (self.u32(), self.program.stage.scratch());
        let variable = match self.private {
            Some(variable) => variable,
            None => {
                let length = self.word(dwords);
                let array = self.b.type_array(word, length);
                let variable = self.global_variable(array, StorageClass::Private);
                self.private = Some(variable);
                variable
            }
        };
        let mut index = self.dword_index(address)?;
        if self.known(index).is_none_or(|index| index >= dwords) {
            let last = self.word(dwords - 1);
            index = self.ext(word, rspirv::spirv::GlslStd450Op::UMin, &[index, last])?;
        }
        let pointer = self.pointer_to(StorageClass::Private, word);
        self.op(S::AccessChain, pointer, &[variable, index])
    }

    /// Bits below a byte address's dword in its 64-bit word.
    pub(super) fn half_shift(&mut self, address: Word) -> Emitted {
        let (four, three) = (self.word(4), self.word(3));
        let odd = self.fold2(S::BitwiseAnd, address, four)?;
        self.fold2(S::ShiftLeftLogical, odd, three)
    }

    /// The dword that starts `shift` bits up in a 64-bit word.
    pub(super) fn half(&mut self, whole: Word, shift: Word) -> Emitted {
        let (word, long) = (self.u32(), self.ty(Type::U64));
        let shifted = self.op(S::ShiftRightLogical, long, &[whole, shift])?;
        self.op(S::UConvert, word, &[shifted])
    }

    pub(super) fn load_shared(&mut self, address: Word) -> Emitted {
        let place = self.shared_element(address)?;
        let value = self.op(S::Load, place.element, &[place.pointer])?;
        if !self.wide_shared {
            return Ok(value);
        }
        let shift = self.half_shift(address)?;
        self.half(value, shift)
    }

    pub(super) fn store_shared(&mut self, address: Word, value: Word) -> Result<(), Reason> {
        let place = self.shared_element(address)?;
        if self.wide_shared {
            // The other half may be another lane's.
            let shift = self.half_shift(address)?;
            self.looping_atomic(Atomic::Swap, place, Some(shift), value, value)?;
            return Ok(());
        }
        self.act(
            S::Store,
            vec![Operand::IdRef(place.pointer), Operand::IdRef(value)],
        )
    }

    pub(super) fn atomic_shared(&mut self, inst: &Inst, x: &[Word]) -> Emitted {
        let AccessKind::Buffer {
            atomic: Some(atomic), ..
        } = self.access_kind(inst)?
        else {
            return Err(Reason::Internal(String::from("an atomic without its operation")));
        };
        let place = self.shared_element(x[0])?;
        if self.wide_shared && inst.op == Op::AtomicShared {
            let shift = self.half_shift(x[0])?;
            return self.looping_atomic(atomic, place, Some(shift), x[1], x[2]);
        }
        self.atomic(atomic, place, x[1], x[2])
    }
}
