//! Types and constants.

use super::Emitter;
use crate::ir::Type;
use rspirv::spirv::{Capability, StorageClass, Word};

/// A type that is asked for again and again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    Int(u32),
    Signed,
    Float(u32),
    Vector(Word, u32),
    Pointer(StorageClass, Word),
}

impl Emitter<'_> {
    pub(super) fn ty(&mut self, ty: Type) -> Word {
        match ty {
            Type::Void => self.b.type_void(),
            Type::Bool => self.truth(),
            Type::U32 => self.u32(),
            Type::U64 => {
                self.need("Int64", Capability::Int64);
                self.int(64)
            }
            Type::F32 => self.f32(),
            Type::F64 => {
                self.need("Float64", Capability::Float64);
                self.kept(Kind::Float(64))
            }
            Type::U32x4 => self.vector(Type::U32, 4),
        }
    }

    /// The builder looks through all types for an equal one: each is asked for once.
    fn kept(&mut self, kind: Kind) -> Word {
        if let Some(&id) = self.types.get(&kind) {
            return id;
        }
        let id = match kind {
            Kind::Bool => self.b.type_bool(),
            Kind::Int(bits) => self.b.type_int(bits, 0),
            Kind::Signed => self.b.type_int(32, 1),
            Kind::Float(bits) => self.b.type_float(bits, None),
            Kind::Vector(element, count) => self.b.type_vector(element, count),
            Kind::Pointer(class, to) => self.b.type_pointer(None, class, to),
        };
        self.types.insert(kind, id);
        id
    }

    pub(super) fn truth(&mut self) -> Word {
        self.kept(Kind::Bool)
    }

    pub(super) fn int(&mut self, bits: u32) -> Word {
        self.kept(Kind::Int(bits))
    }

    pub(super) fn u32(&mut self) -> Word {
        self.int(32)
    }

    pub(super) fn f32(&mut self) -> Word {
        self.kept(Kind::Float(32))
    }

    pub(super) fn vector(&mut self, ty: Type, count: u32) -> Word {
        let element = self.ty(ty);
        if count == 1 {
            element
        } else {
            self.vector_of(element, count)
        }
    }

    pub(super) fn vector_of(&mut self, element: Word, count: u32) -> Word {
        self.kept(Kind::Vector(element, count))
    }

    pub(super) fn pointer_to(&mut self, class: StorageClass, to: Word) -> Word {
        self.kept(Kind::Pointer(class, to))
    }

    pub(super) fn word(&mut self, bits: u32) -> Word {
        self.constant(Type::U32, u64::from(bits))
    }

    pub(super) fn float(&mut self, value: f32) -> Word {
        self.constant(Type::F32, u64::from(value.to_bits()))
    }

    pub(super) fn constant(&mut self, ty: Type, bits: u64) -> Word {
        let type_id = self.ty(ty);
        if let Some(&id) = self.constants.get(&(type_id, bits)) {
            return id;
        }
        let id = match ty {
            Type::Bool if bits != 0 => self.b.constant_true(type_id),
            Type::Bool => self.b.constant_false(type_id),
            Type::U64 | Type::F64 => self.b.constant_bit64(type_id, bits),
            _ => self.b.constant_bit32(type_id, bits as u32),
        };
        if ty == Type::U32 {
            self.words.insert(id, bits as u32);
        }
        self.constants.insert((type_id, bits), id);
        id
    }

    /// The value of a 32-bit constant.
    pub(super) fn known(&self, id: Word) -> Option<u32> {
        self.words.get(&id).copied()
    }

    pub(super) fn signed(&mut self) -> Word {
        self.kept(Kind::Signed)
    }
}
