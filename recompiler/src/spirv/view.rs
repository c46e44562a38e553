//! How a buffer is seen: as words, floats, or four of them at a time.
//!
//! Constants are read a dword at a time by the guest. Where a V# ends at a multiple of 16 bytes and nothing stores through
//! it, its dwords are loaded four at a time and taken apart.

use super::{Emitted, Emitter};
use crate::ir::{AccessKind, BufferWidth, Inst, Op, Type, Value};
use crate::plan::AccessFlags;
use crate::refusal::Reason;
use crate::specialization::BufferShape;
use hashbrown::{HashMap, HashSet};
use relic_core::gpu::format::{GuestFormat, NumberClass};
use rspirv::dr::Operand;
use rspirv::spirv::{Op as S, Word};

/// Elements of a storage block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum View {
    U8,
    U16,
    U32,
    U64,
    F32,
    U32x4,
    F32x4,
}

impl View {
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 => 8,
            Self::U32x4 | Self::F32x4 => 16,
        }
    }
}

/// Float accesses that pay for a view of their own beside the one of words.
const WORTH_A_VIEW: u32 = 6;

/// Dwords of four at a time, by descriptor, index and number.
type Quad = (u32, Option<Value>, u32);

#[derive(Default)]
pub(super) struct Views {
    /// Descriptors whose floats are loaded as such.
    floats: HashSet<u32>,
    /// Descriptors that are loaded four dwords at a time.
    quads: HashSet<u32>,
    /// Dwords that the open block takes from each.
    wanted: HashMap<Quad, u32>,
    loaded: HashMap<Quad, Word>,
    /// Whole inputs loaded in the open block.
    pub inputs: HashMap<Word, Word>,
}

impl Views {
    /// Memory may have changed.
    pub fn forget(&mut self) {
        self.loaded.clear();
    }
}

/// A dword of a buffer that lies a constant number of bytes behind the start of its record.
struct Spot {
    descriptor: u32,
    index: Option<Value>,
    bytes: u32,
    /// Dwords from there on.
    count: u32,
}

impl Emitter<'_> {
    pub(super) fn shape(&self, descriptor: u32) -> BufferShape {
        self.buffer_shapes.get(&descriptor).copied().unwrap_or_default()
    }

    /// Whether byte `b` of record `i` lies at `i * stride + b` of the binding.
    pub(super) fn is_plain(&self, descriptor: u32) -> bool {
        let shape = self.shape(descriptor);
        !shape.swizzled && !shape.add_thread_id && !shape.misaligned
    }

    /// What a load takes; `None` where that is not known, or no dwords.
    fn spot(&self, inst: &Inst) -> Option<Spot> {
        let access = self.function.accesses.get(inst.immediate as usize)?;
        let descriptor = *access.descriptors.first()?;
        let known = |operand: usize| {
            let bits = self.function.constant(*inst.operands.get(operand)?)? as u32;
            bits.is_multiple_of(4).then_some(bits)
        };
        if inst.op == Op::LoadScalarBuffer {
            return Some(Spot {
                descriptor,
                index: None,
                bytes: known(0)?,
                count: 1,
            });
        }
        let AccessKind::Buffer {
            width: BufferWidth::Dword,
            indexed,
            formatted,
            ..
        } = access.kind
        else {
            return None;
        };
        let count = if inst.op == Op::LoadBufferFormat {
            let number = formatted
                .flatten()
                .map_or(self.shape(descriptor).format, u32::from);
            let info = GuestFormat(number as u16).info()?;
            u32::from(info.bytes) / 4
        } else {
            1
        };
        (count > 0).then_some(Spot {
            descriptor,
            index: indexed.then(|| inst.operands[0]),
            bytes: known(1)?,
            count,
        })
    }

    /// Whether a load gives floats.
    fn gives_floats(&self, inst: &Inst) -> bool {
        if inst.op != Op::LoadBufferFormat {
            return inst.ty == Type::F32;
        }
        let Some(access) = self.function.accesses.get(inst.immediate as usize) else {
            return false;
        };
        let AccessKind::Buffer { formatted, .. } = access.kind else {
            return false;
        };
        let shape = access.descriptors.first().map_or(0, |at| self.shape(*at).format);
        let number = formatted.flatten().map_or(shape, u32::from);
        GuestFormat(number as u16)
            .info()
            .is_some_and(|info| info.class == NumberClass::Float && info.components[0] == 32)
    }

    /// Chooses the views.
    pub(super) fn find_views(&mut self) {
        // Floats, words, dwords that could come four at a time.
        let mut tally: HashMap<u32, (u32, u32, u32)> = HashMap::new();
        let mut apart: HashSet<u32> = HashSet::new();
        for inst in self.function.placed() {
            let load = matches!(
                inst.op,
                Op::LoadScalarBuffer | Op::LoadBuffer | Op::LoadBufferFormat
            );
            let other = matches!(
                inst.op,
                Op::StoreBuffer | Op::StoreBufferFormat | Op::AtomicBuffer | Op::AtomicBuffer64
            );
            if !load && !other {
                continue;
            }
            let Some(access) = self.function.accesses.get(inst.immediate as usize) else {
                continue;
            };
            let Some(&descriptor) = access.descriptors.first() else {
                continue;
            };
            let counts = tally.entry(descriptor).or_default();
            let stored = inst.op == Op::StoreBuffer
                && inst
                    .operands
                    .get(2)
                    .is_some_and(|value| self.function.ty(*value) == Type::F32);
            if stored || load && self.gives_floats(inst) {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
            let shape = self.shape(descriptor);
            match self.spot(inst) {
                Some(spot)
                    if load
                        && shape.whole_quads
                        && self.is_plain(descriptor)
                        && (spot.index.is_none() || shape.stride.is_multiple_of(16)) =>
                {
                    counts.2 += spot.count;
                }
                _ => {
                    apart.insert(descriptor);
                }
            }
        }
        for (descriptor, (floats, words, dwords)) in tally {
            let written = self.program.plan.descriptors[descriptor as usize]
                .access
                .intersects(AccessFlags::WRITE | AccessFlags::ATOMIC);
            let quads = dwords > 2 && !written && !apart.contains(&descriptor);
            if quads {
                self.views.quads.insert(descriptor);
            }
            // Four at a time, one view serves both.
            if floats > 0 && (words == 0 || !quads && floats >= WORTH_A_VIEW || quads && floats > words) {
                self.views.floats.insert(descriptor);
            }
        }
    }

    /// Counts what the block takes four at a time.
    pub(super) fn enter_block(&mut self, block: usize) {
        self.views.inputs.clear();
        self.views.loaded.clear();
        self.views.wanted.clear();
        if self.views.quads.is_empty() {
            return;
        }
        for &value in &self.function.blocks[block].insts {
            let inst = self.function.inst(value);
            if !matches!(
                inst.op,
                Op::LoadScalarBuffer | Op::LoadBuffer | Op::LoadBufferFormat
            ) {
                continue;
            }
            if let Some(spot) = self.spot(inst)
                && self.views.quads.contains(&spot.descriptor)
            {
                for dword in 0..spot.count {
                    let quad = (spot.descriptor, spot.index, (spot.bytes / 4 + dword) / 4);
                    *self.views.wanted.entry(quad).or_default() += 1;
                }
            }
        }
    }

    /// The view that a descriptor's dwords are loaded or stored through.
    pub(super) fn dword_view(&self, descriptor: u32, float: bool) -> View {
        let floats = self.views.floats.contains(&descriptor);
        match (self.views.quads.contains(&descriptor), floats) {
            (true, true) => View::F32x4,
            (true, false) => View::U32x4,
            (false, true) if float => View::F32,
            (false, _) => View::U32,
        }
    }

    /// One dword of a buffer that is loaded four dwords at a time: dword `dword` of the record that `index` names.
    /// `None` for other buffers.
    pub(super) fn load_of_quad(
        &mut self,
        descriptor: u32,
        index: Option<Value>,
        dword: u32,
    ) -> Result<Option<Word>, Reason> {
        let view = self.dword_view(descriptor, true);
        if !matches!(view, View::U32x4 | View::F32x4) {
            return Ok(None);
        }
        let number = self.word(dword / 4);
        let place = match index {
            Some(index) => {
                let (index, units) = (self.id(index), self.word(self.shape(descriptor).stride / 16));
                let start = self.fold2(S::IMul, index, units)?;
                self.fold2(S::IAdd, start, number)?
            }
            None => number,
        };
        let ty = if view == View::F32x4 { Type::F32 } else { Type::U32 };
        let quad = (descriptor, index, dword / 4);
        let component = self.ty(ty);
        let value = if self.views.wanted.get(&quad).copied().unwrap_or(0) < 2 {
            let part = self.word(dword % 4);
            let pointer = self.part(descriptor, view, place, Some(part))?;
            let value = self.op(S::Load, component, &[pointer])?;
            self.same_for_all(index, component, value)?
        } else {
            let whole = match self.views.loaded.get(&quad) {
                Some(&whole) => whole,
                None => {
                    let (vector, pointer) = (self.vector(ty, 4), self.part(descriptor, view, place, None)?);
                    let whole = self.op(S::Load, vector, &[pointer])?;
                    let whole = self.same_for_all(index, vector, whole)?;
                    self.views.loaded.insert(quad, whole);
                    whole
                }
            };
            let operands = vec![Operand::IdRef(whole), Operand::LiteralBit32(dword % 4)];
            self.op_with(S::CompositeExtract, component, operands)?
        };
        if ty == Type::F32 {
            self.floats.insert(value);
        }
        Ok(Some(value))
    }

    fn same_for_all(&mut self, index: Option<Value>, ty: Word, value: Word) -> Emitted {
        if index.is_some() {
            return Ok(value);
        }
        self.for_helpers(ty, value)
    }
}
