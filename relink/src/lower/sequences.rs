//! What stands for each instruction, out of place.

use iced_x86::{
    IcedError,
    code_asm::{
        AsmRegisterXmm, CodeAssembler, cl, eax, ecx, edx, ptr, qword_ptr, r8, r9, rax, rcx, rdx, rsp,
    },
};

use super::{reciprocals::Reciprocal, sha::Sha};

/// The 128 bytes below the stack pointer that code may use without saying so.
pub(super) const RED_ZONE: i32 = 0x80;
/// Bytes in a cache line.
const LINE: i32 = 64;

/// A replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// EXTRQ: a field of the register's low half, moved to its bit 0.
    Extract {
        /// The register.
        register: AsmRegisterXmm,
        /// How many bits; 64 stands as 0.
        length: u8,
        /// The first of them.
        index: u8,
    },
    /// EXTRQ with the field in a register: length in bits 0 to 5, index in bits 8 to 13.
    ExtractBy {
        /// The register.
        register: AsmRegisterXmm,
        /// The register with the field.
        field: AsmRegisterXmm,
    },
    /// INSERTQ: the low bits of `from` into a field of the register's low half.
    Insert {
        /// The register.
        register: AsmRegisterXmm,
        /// Where the bits come from.
        from: AsmRegisterXmm,
        /// How many bits; 64 stands as 0.
        length: u8,
        /// The first bit that they go to.
        index: u8,
    },
    /// INSERTQ with the field in the high half of `from`.
    InsertBy {
        /// The register.
        register: AsmRegisterXmm,
        /// Where the bits come from.
        from: AsmRegisterXmm,
    },
    /// CLZERO: a cache line of zeros.
    ZeroLine {
        /// Whether the address is in `eax` alone.
        narrow: bool,
    },
    /// RDPRU: the time-stamp counter for the two counters that it reads, 0 for any other.
    ReadCounter,
    /// One of the SHA instructions.
    Sha(Sha),
    /// A reciprocal.
    Reciprocal(Reciprocal),
}

impl Sequence {
    /// Writes the sequence.
    pub(super) fn assemble(self, a: &mut CodeAssembler) -> Result<(), IcedError> {
        a.lea(rsp, qword_ptr(rsp - RED_ZONE))?;
        a.pushfq()?;
        match self {
            Self::Extract {
                register,
                length,
                index,
            } => {
                a.push(rax)?;
                a.movq(rax, register)?;
                extract(a, length, index)?;
                a.movq(register, rax)?;
                a.pop(rax)?;
            }
            Self::ExtractBy { register, field } => {
                a.push(rax)?;
                a.push(rcx)?;
                a.push(rdx)?;
                a.movq(rax, register)?;
                a.movq(rdx, field)?;
                a.mov(ecx, edx)?;
                a.shr(ecx, 8)?;
                // A shift takes its count modulo 64.
                a.shr(rax, cl)?;
                a.mov(ecx, edx)?;
                a.neg(ecx)?;
                a.shl(rax, cl)?;
                a.shr(rax, cl)?;
                a.movq(register, rax)?;
                a.pop(rdx)?;
                a.pop(rcx)?;
                a.pop(rax)?;
            }
            Self::Insert {
                register,
                from,
                length,
                index,
            } => {
                let bits = if length == 0 { 64 } else { u32::from(length) };
                let mask = (u64::MAX >> (64 - bits)).wrapping_shl(u32::from(index));
                a.push(rax)?;
                a.push(rcx)?;
                a.push(rdx)?;
                a.movq(rax, register)?;
                a.movq(rcx, from)?;
                a.mov(rdx, mask)?;
                if index > 0 {
                    a.shl(rcx, u32::from(index))?;
                }
                a.and(rcx, rdx)?;
                a.not(rdx)?;
                a.and(rax, rdx)?;
                a.or(rax, rcx)?;
                a.movq(register, rax)?;
                a.pop(rdx)?;
                a.pop(rcx)?;
                a.pop(rax)?;
            }
            Self::InsertBy { register, from } => {
                for saved in [rax, rcx, rdx, r8, r9] {
                    a.push(saved)?;
                }
                // The high half is reached through memory.
                a.lea(rsp, qword_ptr(rsp - 16))?;
                a.movups(ptr(rsp), from)?;
                a.mov(rdx, qword_ptr(rsp + 8))?;
                a.mov(r8, qword_ptr(rsp))?;
                a.lea(rsp, qword_ptr(rsp + 16))?;
                a.movq(rax, register)?;
                a.mov(ecx, edx)?;
                a.neg(ecx)?;
                a.mov(r9, -1_i64)?;
                a.shl(r9, cl)?;
                a.shr(r9, cl)?;
                a.and(r8, r9)?;
                a.mov(ecx, edx)?;
                a.shr(ecx, 8)?;
                a.shl(r8, cl)?;
                a.shl(r9, cl)?;
                a.not(r9)?;
                a.and(rax, r9)?;
                a.or(rax, r8)?;
                a.movq(register, rax)?;
                for saved in [r9, r8, rdx, rcx, rax] {
                    a.pop(saved)?;
                }
            }
            Self::ZeroLine { narrow } => {
                a.push(rax)?;
                if narrow {
                    a.mov(eax, eax)?;
                }
                a.and(rax, -LINE)?;
                for word in 0..LINE / 8 {
                    a.mov(qword_ptr(rax + 8 * word), 0)?;
                }
                a.pop(rax)?;
            }
            Self::ReadCounter => {
                let (mut other, mut done) = (a.create_label(), a.create_label());
                a.cmp(ecx, 1)?;
                a.ja(other)?;
                a.rdtsc()?;
                a.jmp(done)?;
                a.set_label(&mut other)?;
                a.xor(eax, eax)?;
                a.xor(edx, edx)?;
                a.set_label(&mut done)?;
                a.zero_bytes()?;
            }
            Self::Sha(sha) => sha.assemble(a)?,
            Self::Reciprocal(reciprocal) => reciprocal.assemble(a)?,
        }
        a.popfq()?;
        a.lea(rsp, qword_ptr(rsp + RED_ZONE))
    }
}

/// The field of `rax` into its low bits.
fn extract(a: &mut CodeAssembler, length: u8, index: u8) -> Result<(), IcedError> {
    let bits = if length == 0 { 64 } else { u32::from(length) };
    if index > 0 {
        a.shr(rax, u32::from(index))?;
    }
    if bits < 64 {
        a.shl(rax, 64 - bits)?;
        a.shr(rax, 64 - bits)?;
    }
    Ok(())
}
