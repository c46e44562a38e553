//! Packet headers.

/// Opcodes that builders emit.
pub(crate) const NOP: u32 = 0x10;
pub(super) const SET_BASE: u32 = 0x11;
pub(super) const CLEAR_STATE: u32 = 0x12;
pub(super) const INDEX_BUFFER_SIZE: u32 = 0x13;
pub(super) const DISPATCH_DIRECT: u32 = 0x15;
pub(super) const DISPATCH_INDIRECT: u32 = 0x16;
pub(super) const SET_PREDICATION: u32 = 0x20;
pub(super) const COND_EXEC: u32 = 0x22;
pub(super) const DRAW_INDIRECT: u32 = 0x24;
pub(super) const DRAW_INDEX_INDIRECT: u32 = 0x25;
pub(super) const INDEX_BASE: u32 = 0x26;
pub(super) const DRAW_INDEX_2: u32 = 0x27;
pub(super) const DRAW_INDEX_AUTO: u32 = 0x2d;
pub(super) const NUM_INSTANCES: u32 = 0x2f;
pub(super) const DRAW_INDEX_OFFSET_2: u32 = 0x35;
pub(super) const WRITE_DATA: u32 = 0x37;
pub(super) const WAIT_REG_MEM: u32 = 0x3c;
pub(crate) const INDIRECT_BUFFER: u32 = 0x3f;
pub(super) const COPY_DATA: u32 = 0x40;
pub(super) const PFP_SYNC_ME: u32 = 0x42;
pub(super) const EVENT_WRITE: u32 = 0x46;
pub(super) const RELEASE_MEM: u32 = 0x49;
pub(super) const DMA_DATA: u32 = 0x50;
pub(super) const ACQUIRE_MEM: u32 = 0x58;
pub(super) const REWIND: u32 = 0x59;
pub(super) const SET_SH_REG_INDIRECT: u32 = 0x63;
pub(super) const SET_UCONFIG_REG_INDIRECT: u32 = 0x64;
pub(super) const SET_CONTEXT_REG: u32 = 0x69;
pub(super) const SET_SH_REG: u32 = 0x76;
pub(super) const SET_UCONFIG_REG: u32 = 0x79;
pub(super) const SET_UCONFIG_REG_INDEX: u32 = 0x7a;
pub(super) const WAIT_REG_MEM64: u32 = 0x93;
pub(super) const SET_CONTEXT_REG_INDIRECT: u32 = 0x9f;

/// Sub-operations of NOP (header bits 7:2).
pub(super) const SUB_WAIT_FLIP_DONE: u32 = 0x06;
pub(super) const SUB_RESET_COMPUTE_QUEUE: u32 = 0x09;
pub(super) const SUB_PUSH_MARKER: u32 = 0x0b;
pub(super) const SUB_POP_MARKER: u32 = 0x0c;
pub(super) const SUB_FLIP: u32 = 0x17;

/// The tag register: writes to it carry no state, and tools look at them.
pub(super) const TAG_REGISTER: u32 = 0x342;

/// Header of a type 3 packet of `words` words in all (2 to 0x4001).
pub(crate) const fn header(opcode: u32, words: usize) -> u32 {
    3 << 30 | ((words as u32).wrapping_sub(2) & 0x3fff) << 16 | opcode << 8
}

/// Header of a NOP with a sub-operation.
pub(super) const fn sub_header(operation: u32, words: usize) -> u32 {
    header(NOP, words) | operation << 2
}

/// Words of a flip packet, and its header: handle, buffer, mode, argument low and high follow.
pub(crate) const FLIP_WORDS: usize = 6;
pub(crate) const FLIP_HEADER: u32 = sub_header(SUB_FLIP, FLIP_WORDS);

/// Opcode of a type 3 packet.
pub(crate) const fn opcode(header: u32) -> u32 {
    header >> 8 & 0xff
}

/// Words of the packet with this header; `None` for types that do not occur.
pub(crate) const fn length(header: u32) -> Option<usize> {
    match header >> 30 {
        2 => Some(1),
        3 if opcode(header) == NOP && header >> 16 & 0x3fff == 0x3fff => Some(1),
        3 => Some((header >> 16 & 0x3fff) as usize + 2),
        _ => None,
    }
}

/// Low and high word of an address.
pub(super) const fn split(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_match_known_streams() {
        assert_eq!(FLIP_HEADER, 0xc004_105c);
        assert_eq!(sub_header(SUB_WAIT_FLIP_DONE, 4), 0xc002_1018);
        assert_eq!(header(RELEASE_MEM, 8), 0xc006_4900);
        assert_eq!(length(0xffff_1000), Some(1));
        assert_eq!(length(0xfffe_1000), Some(0x4000));
        assert_eq!(length(0xffff_7600), Some(0x4001));
        assert_eq!(length(0x8000_0000), Some(1));
        assert_eq!(length(0x4000_0000), None);
    }
}
