//! Operands in memory of instructions that are replaced.

use iced_x86::{Instruction, MemoryOperand, Register};

use super::sequences::RED_ZONE;

/// How far the stack pointer is below where it was when a sequence begins: the red zone and the flags.
pub(super) const LOWERED: i64 = RED_ZONE as i64 + 8;

/// An instruction's operand in memory, with a displacement that has room to grow.
pub(super) fn of(instruction: &Instruction) -> MemoryOperand {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let displacement_size = match (base, index) {
        (Register::None, Register::None) => instruction.memory_displ_size(),
        (base, index) if base.is_gpr32() || index.is_gpr32() || base == Register::EIP => 4,
        _ => 8,
    };
    MemoryOperand::new(
        base,
        index,
        instruction.memory_index_scale(),
        instruction.memory_displacement64().cast_signed(),
        displacement_size,
        false,
        instruction.segment_prefix(),
    )
}

/// The same operand where the stack pointer, which may be its base, is so many bytes lower.
pub(super) fn below(mut operand: MemoryOperand, lowered: i64) -> MemoryOperand {
    if matches!(operand.base, Register::RSP | Register::ESP) {
        operand.displacement += lowered;
    }
    operand
}
