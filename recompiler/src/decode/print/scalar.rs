//! Program control, hardware registers and messages.

use crate::binary::Dialect;
use crate::decode::{Instruction, op};
use std::fmt::{self, Write as _};

/// Messages by number; empty where there is none.
const MESSAGES: [&str; 16] = [
    "",
    "MSG_INTERRUPT",
    "MSG_GS",
    "MSG_GS_DONE",
    "MSG_SAVEWAVE",
    "MSG_STALL_WAVE_GEN",
    "MSG_HALT_WAVES",
    "MSG_ORDERED_PS_DONE",
    "",
    "MSG_GS_ALLOC_REQ",
    "MSG_GET_DOORBELL",
    "MSG_GET_DDID",
    "",
    "",
    "",
    "MSG_SYSMSG",
];

/// Operations of the geometry messages.
const GEOMETRY: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];

/// Operations of the system message.
const SYSTEM: [&str; 5] = [
    "",
    "SYSMSG_OP_ECC_ERR_INTERRUPT",
    "SYSMSG_OP_REG_RD",
    "SYSMSG_OP_HOST_TRAP_ACK",
    "SYSMSG_OP_TTRACE_PC",
];

/// Hardware registers by number. Two are in one dialect only.
const REGISTERS: [&str; 30] = [
    "",
    "MODE",
    "STATUS",
    "TRAPSTS",
    "",
    "GPR_ALLOC",
    "LDS_ALLOC",
    "IB_STS",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "SH_MEM_BASES",
    "TBA_LO",
    "TBA_HI",
    "TMA_LO",
    "TMA_HI",
    "FLAT_SCR_LO",
    "FLAT_SCR_HI",
    "XNACK_MASK",
    "HW_ID1",
    "HW_ID2",
    "POPS_PACKER",
    "",
    "",
    "",
    "SHADER_CYCLES",
];

impl Instruction {
    pub(super) fn program_control(&self, tail: &mut String) -> fmt::Result {
        let immediate = self.immediate;
        match self.opcode() {
            op::S_WAITCNT => {
                let vector = (immediate & 15) | (immediate >> 14 & 3) << 4;
                let export = immediate >> 4 & 7;
                let scalar = immediate >> 8 & 63;
                let all = (vector, export, scalar) == (63, 7, 63);
                if vector != 63 || all {
                    write!(tail, " vmcnt({vector})")?;
                }
                if export != 7 || all {
                    write!(tail, " expcnt({export})")?;
                }
                if scalar != 63 || all {
                    write!(tail, " lgkmcnt({scalar})")?;
                }
            }
            op::S_SENDMSG | op::S_SENDMSGHALT => {
                tail.push(' ');
                tail.push_str(&message(immediate));
            }
            op::S_INST_PREFETCH
            | op::S_CLAUSE
            | op::S_WAITCNT_DEPCTR
            | op::S_ROUND_MODE
            | op::S_TTRACEDATA_IMM => {
                write!(tail, " {immediate:#x}")?;
            }
            op::S_ENDPGM if immediate != 0 => write!(tail, " {immediate}")?,
            _ if self.row.operands().any(|operand| operand == "t") => write!(tail, " {immediate}")?,
            _ if self.row.operands().next().is_some() && immediate <= 64 => write!(tail, " {immediate}")?,
            _ if self.row.operands().next().is_some() => write!(tail, " {immediate:#x}")?,
            _ => {}
        }
        Ok(())
    }
}

pub(super) fn sopk_immediate(instruction: &Instruction) -> String {
    match instruction.opcode() {
        op::S_CALL_B64 | op::S_SUBVECTOR_LOOP_BEGIN | op::S_SUBVECTOR_LOOP_END => {
            instruction.immediate.to_string()
        }
        _ => format!("{:#x}", instruction.immediate),
    }
}

/// A message to the fixed-function units: by name where number, operation and stream make one.
fn message(immediate: u16) -> String {
    // Bit 7 is ignored.
    let (id, operation, stream) = (immediate & 15, immediate >> 4 & 7, immediate >> 8 & 3);
    let name = MESSAGES[usize::from(id)];
    if immediate & !0x3ff != 0 {
        return immediate.to_string();
    }
    match (id, operation, stream) {
        (3, 0, 0) => format!("sendmsg({name}, {})", GEOMETRY[0]),
        (2 | 3, 1..=3, _) => format!("sendmsg({name}, {}, {stream})", GEOMETRY[usize::from(operation)]),
        (15, 1..=4, 0) => format!("sendmsg({name}, {})", SYSTEM[usize::from(operation)]),
        (2 | 15, ..) => format!("sendmsg({id}, {operation}, {stream})"),
        (_, 0, 0) if !name.is_empty() && id != 3 => format!("sendmsg({name})"),
        _ => format!("sendmsg({id}, {operation}, {stream})"),
    }
}

pub(super) fn hardware_register(immediate: u16, dialect: Dialect) -> String {
    let id = usize::from(immediate & 63);
    let (offset, size) = (immediate >> 6 & 31, (immediate >> 11) + 1);
    let elsewhere = match dialect {
        Dialect::Gfx1013 => 29,
        Dialect::Gfx1030 => 22,
    };
    let name = REGISTERS
        .get(id)
        .filter(|name| !name.is_empty() && id != elsewhere)
        .map_or_else(|| id.to_string(), |name| format!("HW_REG_{name}"));
    if (offset, size) == (0, 32) {
        format!("hwreg({name})")
    } else {
        format!("hwreg({name}, {offset}, {size})")
    }
}
