//! Decoding along control flow.

use iced_x86::{Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use crate::address::{ImageAddress, ImageRange};

use super::{Code, functions::Function};

impl Code<'_> {
    /// Calls `visit` for each instruction that control flow reaches from a function's start within its bounds: along
    /// branches, through its jump tables, to its landing pads, and from pointers into it that data holds. Each is visited
    /// once, in no particular order.
    pub fn explore(&self, function: &Function, visit: &mut impl FnMut(&Instruction)) {
        let mut roots = vec![function.range.start];
        roots.extend(self.landing_pads(function));
        roots.extend_from_slice(self.entry_points_in(function.range));
        self.explore_from(function.range, roots, visit);
    }

    /// As [`Self::explore`], from given addresses in a range. Says whether all was code: no path met bytes that are no
    /// instruction or ran out of the range.
    pub fn explore_from(
        &self,
        range: ImageRange,
        mut open: Vec<ImageAddress>,
        visit: &mut impl FnMut(&Instruction),
    ) -> bool {
        let Some(bytes) = self.bytes_from(range.start) else {
            return false;
        };
        let mut is_code = true;
        let size = usize::try_from(range.size).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = &bytes[..size];
        let mut seen = vec![0_u64; size.div_ceil(64)];
        // A jump through a register may lead by any of the tables that the function refers to.
        let mut tables: Vec<ImageAddress> = Vec::new();
        let mut jumps_by_table = false;
        let mut used_tables = 0;
        let mut instruction = Instruction::default();
        loop {
            while let Some(address) = open.pop() {
                let Some(mut at) = offset_in(range, address).filter(|at| *at < size) else {
                    continue;
                };
                let mut decoder = Decoder::with_ip(64, bytes, range.start.0, DecoderOptions::NONE);
                let mut ended = false;
                while at < size && seen[at / 64] >> (at % 64) & 1 == 0 {
                    seen[at / 64] |= 1 << (at % 64);
                    if decoder.set_position(at).is_err() {
                        break;
                    }
                    decoder.set_ip(range.start.0 + at as u64);
                    decoder.decode_out(&mut instruction);
                    if instruction.is_invalid() {
                        is_code = false;
                        break;
                    }
                    visit(&instruction);
                    at += instruction.len();
                    if instruction.mnemonic() == Mnemonic::Lea && instruction.is_ip_rel_memory_operand() {
                        tables.push(ImageAddress(instruction.ip_rel_memory_address()));
                    }
                    let goes_on = match instruction.flow_control() {
                        // Code without known bounds may hold several functions.
                        FlowControl::Call => {
                            open.push(ImageAddress(instruction.near_branch_target()));
                            true
                        }
                        FlowControl::Next
                        | FlowControl::IndirectCall
                        | FlowControl::Interrupt
                        | FlowControl::XbeginXabortXend => true,
                        FlowControl::ConditionalBranch => {
                            open.push(ImageAddress(instruction.near_branch_target()));
                            true
                        }
                        FlowControl::UnconditionalBranch => {
                            open.push(ImageAddress(instruction.near_branch_target()));
                            false
                        }
                        FlowControl::IndirectBranch => {
                            jumps_by_table = true;
                            false
                        }
                        FlowControl::Return => false,
                        // ud2 ends a path; a system call goes on.
                        FlowControl::Exception => is_system_call(&instruction),
                    };
                    if !goes_on {
                        ended = true;
                        break;
                    }
                }
                is_code &= ended || at < size;
            }
            if !jumps_by_table || used_tables == tables.len() {
                return is_code;
            }
            for table in tables.split_off(used_tables) {
                open.extend(self.table_targets(table, range));
                tables.insert(used_tables, table);
                used_tables += 1;
            }
        }
    }

    /// The targets of a jump table: 32-bit distances from its own start, as many as lead into the function.
    fn table_targets(&self, table: ImageAddress, range: ImageRange) -> Vec<ImageAddress> {
        let (entries, _) = self.data_from(table).as_chunks::<4>();
        let target = |entry: &[u8; 4]| {
            let distance = i64::from(i32::from_le_bytes(*entry));
            ImageAddress(table.0.wrapping_add_signed(distance))
        };
        let limit = usize::try_from(range.size).unwrap_or(usize::MAX);
        entries
            .iter()
            .take(limit)
            .map(target)
            .take_while(|target| range.covers(*target, 1))
            .collect()
    }

    /// Where exceptions that pass through a function go.
    fn landing_pads(&self, function: &Function) -> Vec<ImageAddress> {
        let Some(table) = function.landing_pads else {
            return Vec::new();
        };
        let mut reader = CallSites(self.data_from(table));
        reader.pads(function.range.start).unwrap_or_default()
    }
}

fn offset_in(range: ImageRange, address: ImageAddress) -> Option<usize> {
    usize::try_from(address.0.checked_sub(range.start.0)?).ok()
}

/// Whether an instruction enters or leaves a kernel.
#[must_use]
pub fn is_system_call(instruction: &Instruction) -> bool {
    match instruction.code() {
        Opcode::Syscall | Opcode::Sysenter | Opcode::Sysretd | Opcode::Sysretq => true,
        Opcode::Int_imm8 => instruction.op0_kind() == OpKind::Immediate8 && instruction.immediate8() == 0x80,
        _ => false,
    }
}

/// The language-specific table of a function, read from its start.
struct CallSites<'a>(&'a [u8]);

/// DW_EH_PE_omit.
const OMITTED: u8 = 0xff;

impl CallSites<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn leb128(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number in one of the encodings that call-site tables have.
    fn encoded(&mut self, encoding: u8) -> Option<u64> {
        let take = |this: &mut Self, size: usize| {
            let (bytes, rest) = this.0.split_at_checked(size)?;
            this.0 = rest;
            Some(
                bytes
                    .iter()
                    .rev()
                    .fold(0, |value, &byte| value << 8 | u64::from(byte)),
            )
        };
        match encoding & 0xf {
            0x1 => self.leb128(),
            0x2 | 0xa => take(self, 2),
            0x3 | 0xb => take(self, 4),
            0x0 | 0x4 | 0xc => take(self, 8),
            _ => None,
        }
    }

    fn pads(&mut self, start: ImageAddress) -> Option<Vec<ImageAddress>> {
        // Landing pads count from the function's start wherever compilers leave their base out, which all do.
        if self.byte()? != OMITTED {
            return None;
        }
        if self.byte()? != OMITTED {
            self.leb128()?;
        }
        let encoding = self.byte()?;
        let size = usize::try_from(self.leb128()?).ok()?;
        self.0 = self.0.get(..size)?;
        let mut pads = Vec::new();
        while !self.0.is_empty() {
            self.encoded(encoding)?;
            self.encoded(encoding)?;
            let pad = self.encoded(encoding)?;
            self.leb128()?;
            if pad != 0 {
                pads.push(ImageAddress(start.0.checked_add(pad)?));
            }
        }
        Some(pads)
    }
}
