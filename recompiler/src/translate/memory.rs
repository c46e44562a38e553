//! Untyped and typed buffers, and flat memory.

use super::{Taken, Translator};
use crate::decode::{Encoding, Operand, op};
use crate::ir::{AccessKind, Atomic, BufferWidth, Op, Type, Value};
use crate::refusal::Reason;

/// The atomic a mnemonic's last part names, and whether it is one of 64 bits.
pub(super) fn atomic_named(name: &str) -> Option<(Atomic, bool)> {
    let (name, wide) = name
        .strip_suffix("_X2")
        .map_or((name, false), |name| (name, true));
    let atomic = match name {
        "SWAP" => Atomic::Swap,
        "CMPSWAP" => Atomic::CompareSwap,
        "ADD" => Atomic::Add,
        "SUB" => Atomic::Sub,
        "SMIN" => Atomic::SMin,
        "UMIN" => Atomic::UMin,
        "SMAX" => Atomic::SMax,
        "UMAX" => Atomic::UMax,
        "AND" => Atomic::And,
        "OR" => Atomic::Or,
        "XOR" => Atomic::Xor,
        "INC" => Atomic::Inc,
        "DEC" => Atomic::Dec,
        "FMIN" => Atomic::FMin,
        "FMAX" => Atomic::FMax,
        "FCMPSWAP" => Atomic::FCompareSwap,
        _ => return None,
    };
    Some((atomic, wide))
}

/// What a load behind `LOAD_` takes, and whether it is extended with its sign; `None` for one that is none of these.
pub(super) fn load_width(what: &str) -> Option<(BufferWidth, bool)> {
    Some(match what.split('_').next()? {
        "UBYTE" => (BufferWidth::Byte, false),
        "SBYTE" => (BufferWidth::Byte, true),
        "USHORT" | "SHORT" => (BufferWidth::Short, false),
        "SSHORT" => (BufferWidth::Short, true),
        "DWORD" | "DWORDX2" | "DWORDX3" | "DWORDX4" => (BufferWidth::Dword, false),
        _ => return None,
    })
}

impl Translator<'_> {
    pub(super) fn buffer(&mut self) -> Taken {
        let instruction = self.instruction;
        let memory = instruction.memory;
        let name = instruction.row.name;
        if matches!(
            instruction.opcode(),
            op::BUFFER_WBINVL1 | op::BUFFER_GL0_INV | op::BUFFER_GL1_INV
        ) {
            return Ok(true);
        }
        if memory.tfe || memory.lds {
            return Err(Reason::Unsupported("buffer accesses with TFE or to LDS"));
        }
        // V#, index, offset.
        let mut operands = Vec::with_capacity(12);
        for index in 0..4 {
            operands.push(self.raw_at(instruction.src[1], index)?);
        }
        let mut register = 0;
        operands.push(if memory.index_enable {
            register = 1;
            self.raw_at(instruction.src[0], 0)?
        } else {
            self.v.word(0)
        });
        let mut offset = self.raw(instruction.src[2])?;
        if let Some(within) = self.within_scratch(offset) {
            return self.scratch_buffer(within);
        }
        if memory.offset_enable {
            let vector = self.raw_at(instruction.src[0], register)?;
            offset = self.u(Op::Add, &[vector, offset]);
        }
        let formatted = name.contains("FORMAT");
        let kind = |width, components, atomic| AccessKind::Buffer {
            width,
            indexed: memory.index_enable,
            formatted: formatted
                .then_some((instruction.row.encoding == Encoding::Mtbuf).then_some(memory.format)),
            components,
            d16: name.contains("D16"),
            atomic,
        };
        let at = |this: &mut Self, bytes: u32| {
            let immediate = this.v.word(memory.offset.cast_unsigned() + bytes);
            this.u(Op::Add, &[offset, immediate])
        };
        if let Some(rest) = name.strip_prefix("BUFFER_ATOMIC_") {
            let Some((atomic, wide)) = atomic_named(rest) else {
                return Ok(false);
            };
            operands.push(at(self, 0));
            self.interface.writes_memory = true;
            let access = self.access(kind(BufferWidth::Dword, 1, Some(atomic)));
            let ops = [Op::AtomicBuffer, Op::AtomicBuffer64];
            return self.vector_atomic(atomic, wide, access, ops, &operands, instruction.dst);
        }
        if formatted {
            return self.formatted(operands, at, kind);
        }
        let Some((_, what)) = name.split_once('_') else {
            return Ok(false);
        };
        if let Some(what) = what.strip_prefix("LOAD_") {
            let Some((width, signed)) = load_width(what) else {
                return Ok(false);
            };
            for index in 0..instruction.row.width('d') {
                let mut operands = operands.clone();
                operands.push(at(self, 4 * u32::from(index)));
                let access = self.access(kind(width, 1, None));
                let mut value = self.v.emit(Op::LoadBuffer, Type::U32, &operands, access);
                if signed {
                    let bits = if width == BufferWidth::Byte { 8 } else { 16 };
                    let operands = [value, self.v.word(0), self.v.word(bits)];
                    value = self.u(Op::FieldS, &operands);
                }
                let value = self.place_half(what, instruction.dst, value)?;
                self.set_vector(instruction.dst, index, value)?;
            }
            return Ok(true);
        }
        if let Some(what) = what.strip_prefix("STORE_") {
            let width = match what.split('_').next() {
                Some("BYTE") => BufferWidth::Byte,
                Some("SHORT") => BufferWidth::Short,
                _ => BufferWidth::Dword,
            };
            let active = self.active();
            self.interface.writes_memory = true;
            for index in 0..instruction.row.width('d') {
                let mut operands = operands.clone();
                operands.push(at(self, 4 * u32::from(index)));
                let mut value = self.raw_at(instruction.dst, index)?;
                if what.ends_with("D16_HI") {
                    let sixteen = self.v.word(16);
                    value = self.u(Op::Shr, &[value, sixteen]);
                }
                operands.extend([value, active]);
                let access = self.access(kind(width, 1, None));
                self.v.emit(Op::StoreBuffer, Type::Void, &operands, access);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// An access to the lane's part of the scratch ring. `offset` is what the scalar offset adds to the wave's place.
    fn scratch_buffer(&mut self, mut offset: Value) -> Taken {
        let instruction = self.instruction;
        let memory = instruction.memory;
        if memory.index_enable {
            return Err(Reason::Unsupported("scratch memory by index"));
        }
        if memory.offset_enable {
            let vector = self.raw_at(instruction.src[0], 0)?;
            offset = self.u(Op::Add, &[vector, offset]);
        }
        let immediate = self.v.word(memory.offset.cast_unsigned());
        let address = self.u(Op::Add, &[offset, immediate]);
        let Some((_, what)) = instruction.row.name.split_once('_') else {
            return Ok(false);
        };
        self.scratch(what, address, instruction.row.width('d'), instruction.dst)
    }

    /// D16 loads write one half and keep the other.
    pub(super) fn place_half(&mut self, what: &str, dst: Operand, value: Value) -> Result<Value, Reason> {
        if !what.contains("D16") {
            return Ok(value);
        }
        let old = self.raw(dst)?;
        let high = what.ends_with("HI");
        let [keep, low, shift] = [
            if high { 0xffff } else { 0xffff_0000 },
            0xffff,
            if high { 16 } else { 0 },
        ]
        .map(|bits| self.v.word(bits));
        let kept = self.u(Op::And, &[old, keep]);
        let half = self.u(Op::And, &[value, low]);
        let placed = self.u(Op::Shl, &[half, shift]);
        Ok(self.u(Op::Or, &[kept, placed]))
    }

    pub(super) fn vector_u64(&mut self, operand: Operand, index: u8) -> Result<Value, Reason> {
        let words = [self.raw_at(operand, index)?, self.raw_at(operand, index + 1)?];
        Ok(self.v.emit(Op::Pack64, Type::U64, &words, 0))
    }

    fn formatted(
        &mut self,
        mut operands: Vec<Value>,
        at: impl Fn(&mut Self, u32) -> Value,
        kind: impl Fn(BufferWidth, u8, Option<Atomic>) -> AccessKind,
    ) -> Taken {
        let instruction = self.instruction;
        let name = instruction.row.name;
        let d16 = name.contains("D16");
        let components = match name.rsplit('_').next() {
            Some("X") => 1,
            Some("XY") => 2,
            Some("XYZ") => 3,
            Some("XYZW") => 4,
            _ => return Ok(false),
        };
        operands.push(at(self, 0));
        let access = self.access(kind(BufferWidth::Dword, components, None));
        let sixteen = self.v.word(16);
        if name.contains("LOAD") {
            let texel = self.v.emit(Op::LoadBufferFormat, Type::U32x4, &operands, access);
            let mut words: Vec<_> = (0..components)
                .map(|c| self.v.emit(Op::Extract, Type::U32, &[texel], u64::from(c)))
                .collect();
            if d16 {
                words = words
                    .chunks(2)
                    .map(|pair| match pair {
                        [low, high] => {
                            let high = self.u(Op::Shl, &[*high, sixteen]);
                            self.u(Op::Or, &[*low, high])
                        }
                        _ => pair[0],
                    })
                    .collect();
            }
            for (index, &word) in words.iter().enumerate() {
                self.set_vector(instruction.dst, index as u8, word)?;
            }
            return Ok(true);
        }
        self.interface.writes_memory = true;
        let low = self.v.word(0xffff);
        for c in 0..4 {
            let word = if c >= components {
                self.v.word(0)
            } else if d16 {
                let word = self.raw_at(instruction.dst, c / 2)?;
                if c % 2 == 0 {
                    self.u(Op::And, &[word, low])
                } else {
                    self.u(Op::Shr, &[word, sixteen])
                }
            } else {
                self.raw_at(instruction.dst, c)?
            };
            operands.push(word);
        }
        let active = self.active();
        operands.push(active);
        self.v.emit(Op::StoreBufferFormat, Type::Void, &operands, access);
        Ok(true)
    }

    /// Global memory whose base is a scalar register pair goes through a buffer binding made from that base.
    pub(super) fn flat_memory(&mut self) -> Taken {
        let instruction = self.instruction;
        // A flat address that splits into a scalar base and an offset is no aperture's: it is global.
        let name = match instruction.row.encoding {
            Encoding::Scratch => {
                let what = instruction.row.name.strip_prefix("SCRATCH_");
                return self.scratch_instruction(what.unwrap_or_default());
            }
            _ => instruction.row.name,
        };
        let Some((_, what)) = name.split_once('_') else {
            return Ok(false);
        };
        if self.pointers {
            return self.pointer(what);
        }
        let (base, mut offset) = match instruction.src[2] {
            Operand::Scalar(125) | Operand::None => {
                let words = [
                    self.raw_at(instruction.src[0], 0)?,
                    self.raw_at(instruction.src[0], 1)?,
                ];
                match self.split_address(words) {
                    Some(split) => split,
                    None => {
                        return Err(Reason::Unresolvable {
                            what: "address",
                            why: String::from("it is not a scalar base and an offset"),
                        });
                    }
                }
            }
            scalar => {
                let offset = self.raw(instruction.src[0])?;
                ([self.raw_at(scalar, 0)?, self.raw_at(scalar, 1)?], offset)
            }
        };
        let high_mask = self.v.word(0xffff);
        let high = self.u(Op::And, &[base[1], high_mask]);
        // A raw V# without an end: the binding's own range bounds it.
        let descriptor = [base[0], high, self.v.word(u32::MAX), self.v.word(0x3000_0000)];
        let immediate = self.v.word(instruction.memory.offset.cast_unsigned());
        offset = self.u(Op::Add, &[offset, immediate]);
        let zero = self.v.word(0);
        let kind = |width, atomic| AccessKind::Buffer {
            width,
            indexed: false,
            formatted: None,
            components: 1,
            d16: false,
            atomic,
        };
        let at = |this: &mut Self, bytes: u32| {
            let bytes = this.v.word(bytes);
            let offset = this.u(Op::Add, &[offset, bytes]);
            let mut operands = descriptor.to_vec();
            operands.extend([zero, offset]);
            operands
        };
        if let Some(what) = what.strip_prefix("LOAD_") {
            let (width, signed) = match what.split('_').next() {
                Some("UBYTE") => (BufferWidth::Byte, false),
                Some("SBYTE") => (BufferWidth::Byte, true),
                Some("USHORT" | "SHORT") => (BufferWidth::Short, false),
                Some("SSHORT") => (BufferWidth::Short, true),
                _ => (BufferWidth::Dword, false),
            };
            for index in 0..instruction.row.width('d') {
                let operands = at(self, 4 * u32::from(index));
                let access = self.access(kind(width, None));
                let mut value = self.v.emit(Op::LoadBuffer, Type::U32, &operands, access);
                if signed {
                    let operands = [
                        value,
                        self.v.word(0),
                        self.v.word(if width == BufferWidth::Byte { 8 } else { 16 }),
                    ];
                    value = self.u(Op::FieldS, &operands);
                }
                let value = self.place_half(what, instruction.dst, value)?;
                self.set_vector(instruction.dst, index, value)?;
            }
            return Ok(true);
        }
        if let Some(what) = what.strip_prefix("STORE_") {
            let width = match what.split('_').next() {
                Some("BYTE") => BufferWidth::Byte,
                Some("SHORT") => BufferWidth::Short,
                _ => BufferWidth::Dword,
            };
            let active = self.active();
            self.interface.writes_memory = true;
            for index in 0..instruction.row.width('b') {
                let mut operands = at(self, 4 * u32::from(index));
                let mut value = self.raw_at(instruction.src[1], index)?;
                if what.ends_with("D16_HI") {
                    let sixteen = self.v.word(16);
                    value = self.u(Op::Shr, &[value, sixteen]);
                }
                operands.extend([value, active]);
                let access = self.access(kind(width, None));
                self.v.emit(Op::StoreBuffer, Type::Void, &operands, access);
            }
            return Ok(true);
        }
        let Some((atomic, wide)) = what.strip_prefix("ATOMIC_").and_then(atomic_named) else {
            return Ok(false);
        };
        let operands = at(self, 0);
        self.interface.writes_memory = true;
        let access = self.access(kind(BufferWidth::Dword, Some(atomic)));
        self.flat_atomic(
            atomic,
            wide,
            access,
            [Op::AtomicBuffer, Op::AtomicBuffer64],
            &operands,
        )
    }

    /// An atomic of FLAT or GLOBAL, by what it is on 32 and on 64 bits.
    pub(super) fn flat_atomic(
        &mut self,
        atomic: Atomic,
        wide: bool,
        access: u64,
        ops: [Op; 2],
        place: &[Value],
    ) -> Taken {
        self.vector_atomic(atomic, wide, access, ops, place, self.instruction.src[1])
    }

    /// An atomic whose data, and behind it a comparand, lie in the VGPRs from `data` on. The old value is returned on
    /// request.
    fn vector_atomic(
        &mut self,
        atomic: Atomic,
        wide: bool,
        access: u64,
        ops: [Op; 2],
        place: &[Value],
        data: Operand,
    ) -> Taken {
        let (registers, ty) = if wide { (2, Type::U64) } else { (1, Type::U32) };
        let mut sources = [data; 2].map(|_| Value(0));
        for (index, slot) in sources.iter_mut().enumerate() {
            let at = if atomic.compares() {
                registers * index as u8
            } else {
                0
            };
            *slot = if wide {
                self.vector_u64(data, at)?
            } else {
                self.raw_at(data, at)?
            };
        }
        let mut operands = place.to_vec();
        operands.extend(sources);
        operands.push(self.active());
        let old = self.v.emit(ops[usize::from(wide)], ty, &operands, access);
        if self.instruction.memory.glc {
            if wide {
                self.set_u64(old)?;
            } else {
                self.set_vector(self.instruction.dst, 0, old)?;
            }
        }
        Ok(true)
    }

    /// Takes a 64-bit lane address apart that was made by adding a lane's offset to a scalar base with carry.
    fn split_address(&self, words: [Value; 2]) -> Option<([Value; 2], Value)> {
        let f = &self.v.function;
        let uniform = |value: Value| {
            matches!(
                f.inst(value).op,
                Op::UserData | Op::Const | Op::LoadAddress | Op::LoadScalarBuffer | Op::ShaderBase
            )
        };
        if words.iter().all(|word| uniform(*word)) {
            let zero = f
                .insts
                .iter()
                .position(|inst| inst.op == Op::Const && inst.ty == Type::U32 && inst.immediate == 0)?;
            return Some((words, Value(zero as u32)));
        }
        let low = f.inst(words[0]);
        if low.op != Op::Add {
            return None;
        }
        let (base, offset) = match (uniform(low.operands[0]), uniform(low.operands[1])) {
            (true, false) => (low.operands[0], low.operands[1]),
            (false, true) => (low.operands[1], low.operands[0]),
            _ => return None,
        };
        // The high word is the base's plus the carry of that sum: look for the scalar in it.
        let mut work = vec![words[1]];
        let mut seen = 0;
        while let Some(value) = work.pop() {
            seen += 1;
            if seen > 8 {
                return None;
            }
            let inst = f.inst(value);
            match inst.op {
                Op::UserData | Op::LoadAddress | Op::LoadScalarBuffer | Op::ShaderBase => {
                    return Some(([base, value], offset));
                }
                Op::Add => work.extend(inst.operands.iter().copied()),
                Op::Select | Op::Const => {}
                _ => return None,
            }
        }
        None
    }
}
