//! The code that is appended: where the OS loader enters the program, and where missing functions lead.
//!
//! Operands are relative to the instruction pointer, so that neither stub needs a relocation.

use relic_core::program::TRAP_STUB_SIZE;

use crate::{
    address::ImageAddress,
    plan::layout::{ENTRY_STUB_SIZE, Layout, Part, TRAP_SLOT, TRAP_TAIL_SIZE},
};

/// `int3`: what fills the space between stubs stops whatever runs into it.
const FILLER: u8 = 0xcc;

/// Enters `relic_start(initial stack, &ProgramInfo)`. The third argument register still holds what the OS loader left
/// there by the platform's ABI: the function to call at exit.
pub(super) fn entry(layout: &Layout) -> Vec<u8> {
    let mut code = Code::new(layout.place(Part::EntryStub).start);
    code.bytes(&[0x31, 0xed]); // xor ebp, ebp: the outermost frame
    code.bytes(&[0x48, 0x89, 0xe7]); // mov rdi, rsp
    code.relative(&[0x48, 0x8d, 0x35], layout.place(Part::Info).start); // lea rsi, [rip + info]
    code.bytes(&[0x48, 0x83, 0xe4, 0xf0]); // and rsp, -16
    code.relative(&[0xff, 0x15], layout.place(Part::Slots).start); // call [rip + slot]
    code.bytes(&[0x0f, 0x0b]); // ud2: it does not return
    code.fill(ENTRY_STUB_SIZE);
    code.bytes
}

/// One stub an import: pushes the import's index and jumps to the tail, which says whose import it is and jumps to
/// `relic_trap`.
pub(super) fn traps(layout: &Layout, count: usize) -> Vec<u8> {
    let mut code = Code::new(layout.place(Part::TrapStubs).start);
    let tail = ImageAddress(code.start.0 + count as u64 * TRAP_STUB_SIZE);
    let slot = ImageAddress(layout.place(Part::Slots).start.0 + TRAP_SLOT);
    for index in 0..count as u32 {
        code.bytes(&[0x68]); // push imm32
        code.bytes(&index.to_le_bytes());
        code.relative(&[0xe9], tail); // jmp tail
        code.fill(u64::from(index + 1) * TRAP_STUB_SIZE);
    }
    code.relative(&[0x4c, 0x8d, 0x1d], layout.place(Part::Info).start); // lea r11, [rip + info]
    code.relative(&[0xff, 0x25], slot); // jmp [rip + slot]
    code.fill(count as u64 * TRAP_STUB_SIZE + TRAP_TAIL_SIZE);
    code.bytes
}

struct Code {
    start: ImageAddress,
    bytes: Vec<u8>,
}

impl Code {
    const fn new(start: ImageAddress) -> Self {
        Self {
            start,
            bytes: Vec::new(),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An instruction that ends in a 32-bit distance from its own end to `target`.
    fn relative(&mut self, opcode: &[u8], target: ImageAddress) {
        self.bytes(opcode);
        let end = self.start.0 + self.bytes.len() as u64 + 4;
        self.bytes(&(target.0.wrapping_sub(end) as u32).to_le_bytes());
    }

    /// Fills up to `size` bytes in all.
    fn fill(&mut self, size: u64) {
        while (self.bytes.len() as u64) < size {
            self.bytes.push(FILLER);
        }
    }
}
