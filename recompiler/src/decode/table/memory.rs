//! Opcodes: flat memory, scratch memory, global memory, untyped buffers, typed buffers. The row format is described in the parent module.

use super::table;

table! {
    /// Flat memory.
    FLAT_ROWS: Flat {
        FLAT_LOAD_UBYTE = 0x08 Both "d1 a2";
        FLAT_LOAD_SBYTE = 0x09 Both "d1 a2";
        FLAT_LOAD_USHORT = 0x0a Both "d1 a2";
        FLAT_LOAD_SSHORT = 0x0b Both "d1 a2";
        FLAT_LOAD_DWORD = 0x0c Both "d1 a2";
        FLAT_LOAD_DWORDX2 = 0x0d Both "d2 a2";
        FLAT_LOAD_DWORDX4 = 0x0e Both "d4 a2";
        FLAT_LOAD_DWORDX3 = 0x0f Both "d3 a2";
        FLAT_STORE_BYTE = 0x18 Both "a2 b1";
        FLAT_STORE_BYTE_D16_HI = 0x19 Both "a2 b1";
        FLAT_STORE_SHORT = 0x1a Both "a2 b1";
        FLAT_STORE_SHORT_D16_HI = 0x1b Both "a2 b1";
        FLAT_STORE_DWORD = 0x1c Both "a2 b1";
        FLAT_STORE_DWORDX2 = 0x1d Both "a2 b2";
        FLAT_STORE_DWORDX4 = 0x1e Both "a2 b4";
        FLAT_STORE_DWORDX3 = 0x1f Both "a2 b3";
        FLAT_LOAD_UBYTE_D16 = 0x20 Both "d1 a2";
        FLAT_LOAD_UBYTE_D16_HI = 0x21 Both "d1 a2";
        FLAT_LOAD_SBYTE_D16 = 0x22 Both "d1 a2";
        FLAT_LOAD_SBYTE_D16_HI = 0x23 Both "d1 a2";
        FLAT_LOAD_SHORT_D16 = 0x24 Both "d1 a2";
        FLAT_LOAD_SHORT_D16_HI = 0x25 Both "d1 a2";
        FLAT_ATOMIC_SWAP = 0x30 Both "a2 b1";
        FLAT_ATOMIC_CMPSWAP = 0x31 Both "a2 b2";
        FLAT_ATOMIC_ADD = 0x32 Both "a2 b1";
        FLAT_ATOMIC_SUB = 0x33 Both "a2 b1";
        FLAT_ATOMIC_SMIN = 0x35 Both "a2 b1";
        FLAT_ATOMIC_UMIN = 0x36 Both "a2 b1";
        FLAT_ATOMIC_SMAX = 0x37 Both "a2 b1";
        FLAT_ATOMIC_UMAX = 0x38 Both "a2 b1";
        FLAT_ATOMIC_AND = 0x39 Both "a2 b1";
        FLAT_ATOMIC_OR = 0x3a Both "a2 b1";
        FLAT_ATOMIC_XOR = 0x3b Both "a2 b1";
        FLAT_ATOMIC_INC = 0x3c Both "a2 b1";
        FLAT_ATOMIC_DEC = 0x3d Both "a2 b1";
        FLAT_ATOMIC_FCMPSWAP = 0x3e Both "a2 b2";
        FLAT_ATOMIC_FMIN = 0x3f Both "a2 b1";
        FLAT_ATOMIC_FMAX = 0x40 Both "a2 b1";
        FLAT_ATOMIC_SWAP_X2 = 0x50 Both "a2 b2";
        FLAT_ATOMIC_CMPSWAP_X2 = 0x51 Both "a2 b4";
        FLAT_ATOMIC_ADD_X2 = 0x52 Both "a2 b2";
        FLAT_ATOMIC_SUB_X2 = 0x53 Both "a2 b2";
        FLAT_ATOMIC_SMIN_X2 = 0x55 Both "a2 b2";
        FLAT_ATOMIC_UMIN_X2 = 0x56 Both "a2 b2";
        FLAT_ATOMIC_SMAX_X2 = 0x57 Both "a2 b2";
        FLAT_ATOMIC_UMAX_X2 = 0x58 Both "a2 b2";
        FLAT_ATOMIC_AND_X2 = 0x59 Both "a2 b2";
        FLAT_ATOMIC_OR_X2 = 0x5a Both "a2 b2";
        FLAT_ATOMIC_XOR_X2 = 0x5b Both "a2 b2";
        FLAT_ATOMIC_INC_X2 = 0x5c Both "a2 b2";
        FLAT_ATOMIC_DEC_X2 = 0x5d Both "a2 b2";
        FLAT_ATOMIC_FCMPSWAP_X2 = 0x5e Both "a2 b4";
        FLAT_ATOMIC_FMIN_X2 = 0x5f Both "a2 b2";
        FLAT_ATOMIC_FMAX_X2 = 0x60 Both "a2 b2";
    }
}

table! {
    /// Scratch memory.
    SCRATCH_ROWS: Scratch {
        SCRATCH_LOAD_UBYTE = 0x08 Both "d1 a1";
        SCRATCH_LOAD_SBYTE = 0x09 Both "d1 a1";
        SCRATCH_LOAD_USHORT = 0x0a Both "d1 a1";
        SCRATCH_LOAD_SSHORT = 0x0b Both "d1 a1";
        SCRATCH_LOAD_DWORD = 0x0c Both "d1 a1";
        SCRATCH_LOAD_DWORDX2 = 0x0d Both "d2 a1";
        SCRATCH_LOAD_DWORDX4 = 0x0e Both "d4 a1";
        SCRATCH_LOAD_DWORDX3 = 0x0f Both "d3 a1";
        SCRATCH_STORE_BYTE = 0x18 Both "a1 b1";
        SCRATCH_STORE_BYTE_D16_HI = 0x19 Both "a1 b1";
        SCRATCH_STORE_SHORT = 0x1a Both "a1 b1";
        SCRATCH_STORE_SHORT_D16_HI = 0x1b Both "a1 b1";
        SCRATCH_STORE_DWORD = 0x1c Both "a1 b1";
        SCRATCH_STORE_DWORDX2 = 0x1d Both "a1 b2";
        SCRATCH_STORE_DWORDX4 = 0x1e Both "a1 b4";
        SCRATCH_STORE_DWORDX3 = 0x1f Both "a1 b3";
        SCRATCH_LOAD_UBYTE_D16 = 0x20 Both "d1 a1";
        SCRATCH_LOAD_UBYTE_D16_HI = 0x21 Both "d1 a1";
        SCRATCH_LOAD_SBYTE_D16 = 0x22 Both "d1 a1";
        SCRATCH_LOAD_SBYTE_D16_HI = 0x23 Both "d1 a1";
        SCRATCH_LOAD_SHORT_D16 = 0x24 Both "d1 a1";
        SCRATCH_LOAD_SHORT_D16_HI = 0x25 Both "d1 a1";
    }
}

table! {
    /// Global memory.
    GLOBAL_ROWS: Global {
        GLOBAL_LOAD_UBYTE = 0x08 Both "d1 a2";
        GLOBAL_LOAD_SBYTE = 0x09 Both "d1 a2";
        GLOBAL_LOAD_USHORT = 0x0a Both "d1 a2";
        GLOBAL_LOAD_SSHORT = 0x0b Both "d1 a2";
        GLOBAL_LOAD_DWORD = 0x0c Both "d1 a2";
        GLOBAL_LOAD_DWORDX2 = 0x0d Both "d2 a2";
        GLOBAL_LOAD_DWORDX4 = 0x0e Both "d4 a2";
        GLOBAL_LOAD_DWORDX3 = 0x0f Both "d3 a2";
        GLOBAL_LOAD_DWORD_ADDTID = 0x16 Gfx1030 "d1";
        GLOBAL_STORE_DWORD_ADDTID = 0x17 Gfx1030 "b1";
        GLOBAL_STORE_BYTE = 0x18 Both "a2 b1";
        GLOBAL_STORE_BYTE_D16_HI = 0x19 Both "a2 b1";
        GLOBAL_STORE_SHORT = 0x1a Both "a2 b1";
        GLOBAL_STORE_SHORT_D16_HI = 0x1b Both "a2 b1";
        GLOBAL_STORE_DWORD = 0x1c Both "a2 b1";
        GLOBAL_STORE_DWORDX2 = 0x1d Both "a2 b2";
        GLOBAL_STORE_DWORDX4 = 0x1e Both "a2 b4";
        GLOBAL_STORE_DWORDX3 = 0x1f Both "a2 b3";
        GLOBAL_LOAD_UBYTE_D16 = 0x20 Both "d1 a2";
        GLOBAL_LOAD_UBYTE_D16_HI = 0x21 Both "d1 a2";
        GLOBAL_LOAD_SBYTE_D16 = 0x22 Both "d1 a2";
        GLOBAL_LOAD_SBYTE_D16_HI = 0x23 Both "d1 a2";
        GLOBAL_LOAD_SHORT_D16 = 0x24 Both "d1 a2";
        GLOBAL_LOAD_SHORT_D16_HI = 0x25 Both "d1 a2";
        GLOBAL_ATOMIC_SWAP = 0x30 Both "a2 b1";
        GLOBAL_ATOMIC_CMPSWAP = 0x31 Both "a2 b2";
        GLOBAL_ATOMIC_ADD = 0x32 Both "a2 b1";
        GLOBAL_ATOMIC_SUB = 0x33 Both "a2 b1";
        GLOBAL_ATOMIC_CSUB = 0x34 Gfx1030 "d1 a2 b1";
        GLOBAL_ATOMIC_SMIN = 0x35 Both "a2 b1";
        GLOBAL_ATOMIC_UMIN = 0x36 Both "a2 b1";
        GLOBAL_ATOMIC_SMAX = 0x37 Both "a2 b1";
        GLOBAL_ATOMIC_UMAX = 0x38 Both "a2 b1";
        GLOBAL_ATOMIC_AND = 0x39 Both "a2 b1";
        GLOBAL_ATOMIC_OR = 0x3a Both "a2 b1";
        GLOBAL_ATOMIC_XOR = 0x3b Both "a2 b1";
        GLOBAL_ATOMIC_INC = 0x3c Both "a2 b1";
        GLOBAL_ATOMIC_DEC = 0x3d Both "a2 b1";
        GLOBAL_ATOMIC_FCMPSWAP = 0x3e Both "a2 b2";
        GLOBAL_ATOMIC_FMIN = 0x3f Both "a2 b1";
        GLOBAL_ATOMIC_FMAX = 0x40 Both "a2 b1";
        GLOBAL_ATOMIC_SWAP_X2 = 0x50 Both "a2 b2";
        GLOBAL_ATOMIC_CMPSWAP_X2 = 0x51 Both "a2 b4";
        GLOBAL_ATOMIC_ADD_X2 = 0x52 Both "a2 b2";
        GLOBAL_ATOMIC_SUB_X2 = 0x53 Both "a2 b2";
        GLOBAL_ATOMIC_SMIN_X2 = 0x55 Both "a2 b2";
        GLOBAL_ATOMIC_UMIN_X2 = 0x56 Both "a2 b2";
        GLOBAL_ATOMIC_SMAX_X2 = 0x57 Both "a2 b2";
        GLOBAL_ATOMIC_UMAX_X2 = 0x58 Both "a2 b2";
        GLOBAL_ATOMIC_AND_X2 = 0x59 Both "a2 b2";
        GLOBAL_ATOMIC_OR_X2 = 0x5a Both "a2 b2";
        GLOBAL_ATOMIC_XOR_X2 = 0x5b Both "a2 b2";
        GLOBAL_ATOMIC_INC_X2 = 0x5c Both "a2 b2";
        GLOBAL_ATOMIC_DEC_X2 = 0x5d Both "a2 b2";
        GLOBAL_ATOMIC_FCMPSWAP_X2 = 0x5e Both "a2 b4";
        GLOBAL_ATOMIC_FMIN_X2 = 0x5f Both "a2 b2";
        GLOBAL_ATOMIC_FMAX_X2 = 0x60 Both "a2 b2";
    }
}

table! {
    /// Untyped buffers.
    MUBUF_ROWS: Mubuf {
        BUFFER_LOAD_FORMAT_X = 0x00 Both "d1 a1 b4 c1|l";
        BUFFER_LOAD_FORMAT_XY = 0x01 Both "d2 a1 b4 c1";
        BUFFER_LOAD_FORMAT_XYZ = 0x02 Both "d3 a1 b4 c1";
        BUFFER_LOAD_FORMAT_XYZW = 0x03 Both "d4 a1 b4 c1";
        BUFFER_STORE_FORMAT_X = 0x04 Both "d1 a1 b4 c1";
        BUFFER_STORE_FORMAT_XY = 0x05 Both "d2 a1 b4 c1";
        BUFFER_STORE_FORMAT_XYZ = 0x06 Both "d3 a1 b4 c1";
        BUFFER_STORE_FORMAT_XYZW = 0x07 Both "d4 a1 b4 c1";
        BUFFER_LOAD_UBYTE = 0x08 Both "d1 a1 b4 c1|l";
        BUFFER_LOAD_SBYTE = 0x09 Both "d1 a1 b4 c1|l";
        BUFFER_LOAD_USHORT = 0x0a Both "d1 a1 b4 c1|l";
        BUFFER_LOAD_SSHORT = 0x0b Both "d1 a1 b4 c1|l";
        BUFFER_LOAD_DWORD = 0x0c Both "d1 a1 b4 c1|l";
        BUFFER_LOAD_DWORDX2 = 0x0d Both "d2 a1 b4 c1";
        BUFFER_LOAD_DWORDX4 = 0x0e Both "d4 a1 b4 c1";
        BUFFER_LOAD_DWORDX3 = 0x0f Both "d3 a1 b4 c1";
        BUFFER_STORE_BYTE = 0x18 Both "d1 a1 b4 c1";
        BUFFER_STORE_BYTE_D16_HI = 0x19 Both "d1 a1 b4 c1";
        BUFFER_STORE_SHORT = 0x1a Both "d1 a1 b4 c1";
        BUFFER_STORE_SHORT_D16_HI = 0x1b Both "d1 a1 b4 c1";
        BUFFER_STORE_DWORD = 0x1c Both "d1 a1 b4 c1";
        BUFFER_STORE_DWORDX2 = 0x1d Both "d2 a1 b4 c1";
        BUFFER_STORE_DWORDX4 = 0x1e Both "d4 a1 b4 c1";
        BUFFER_STORE_DWORDX3 = 0x1f Both "d3 a1 b4 c1";
        BUFFER_LOAD_UBYTE_D16 = 0x20 Both "d1 a1 b4 c1";
        BUFFER_LOAD_UBYTE_D16_HI = 0x21 Both "d1 a1 b4 c1";
        BUFFER_LOAD_SBYTE_D16 = 0x22 Both "d1 a1 b4 c1";
        BUFFER_LOAD_SBYTE_D16_HI = 0x23 Both "d1 a1 b4 c1";
        BUFFER_LOAD_SHORT_D16 = 0x24 Both "d1 a1 b4 c1";
        BUFFER_LOAD_SHORT_D16_HI = 0x25 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_SWAP = 0x30 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_CMPSWAP = 0x31 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_ADD = 0x32 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_SUB = 0x33 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_CSUB = 0x34 Gfx1030 "d1 a1 b4 c1";
        BUFFER_ATOMIC_SMIN = 0x35 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_UMIN = 0x36 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_SMAX = 0x37 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_UMAX = 0x38 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_AND = 0x39 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_OR = 0x3a Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_XOR = 0x3b Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_INC = 0x3c Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_DEC = 0x3d Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_FCMPSWAP = 0x3e Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_FMIN = 0x3f Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_FMAX = 0x40 Both "d1 a1 b4 c1";
        BUFFER_ATOMIC_SWAP_X2 = 0x50 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_CMPSWAP_X2 = 0x51 Both "d4 a1 b4 c1";
        BUFFER_ATOMIC_ADD_X2 = 0x52 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_SUB_X2 = 0x53 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_SMIN_X2 = 0x55 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_UMIN_X2 = 0x56 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_SMAX_X2 = 0x57 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_UMAX_X2 = 0x58 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_AND_X2 = 0x59 Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_OR_X2 = 0x5a Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_XOR_X2 = 0x5b Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_INC_X2 = 0x5c Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_DEC_X2 = 0x5d Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_FCMPSWAP_X2 = 0x5e Both "d4 a1 b4 c1";
        BUFFER_ATOMIC_FMIN_X2 = 0x5f Both "d2 a1 b4 c1";
        BUFFER_ATOMIC_FMAX_X2 = 0x60 Both "d2 a1 b4 c1";
        BUFFER_GL0_INV = 0x71 Both "";
        BUFFER_GL1_INV = 0x72 Both "";
        BUFFER_LOAD_FORMAT_D16_X = 0x80 Both "d1 a1 b4 c1";
        BUFFER_LOAD_FORMAT_D16_XY = 0x81 Both "d1 a1 b4 c1";
        BUFFER_LOAD_FORMAT_D16_XYZ = 0x82 Both "d2 a1 b4 c1";
        BUFFER_LOAD_FORMAT_D16_XYZW = 0x83 Both "d2 a1 b4 c1";
        BUFFER_STORE_FORMAT_D16_X = 0x84 Both "d1 a1 b4 c1";
        BUFFER_STORE_FORMAT_D16_XY = 0x85 Both "d1 a1 b4 c1";
        BUFFER_STORE_FORMAT_D16_XYZ = 0x86 Both "d2 a1 b4 c1";
        BUFFER_STORE_FORMAT_D16_XYZW = 0x87 Both "d2 a1 b4 c1";
        BUFFER_WBINVL1 = 0xf1 Both "";
    }
}

table! {
    /// Typed buffers.
    MTBUF_ROWS: Mtbuf {
        TBUFFER_LOAD_FORMAT_X = 0x00 Both "d1 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_XY = 0x01 Both "d2 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_XYZ = 0x02 Both "d3 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_XYZW = 0x03 Both "d4 a1 b4 c1";
        TBUFFER_STORE_FORMAT_X = 0x04 Both "d1 a1 b4 c1";
        TBUFFER_STORE_FORMAT_XY = 0x05 Both "d2 a1 b4 c1";
        TBUFFER_STORE_FORMAT_XYZ = 0x06 Both "d3 a1 b4 c1";
        TBUFFER_STORE_FORMAT_XYZW = 0x07 Both "d4 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_D16_X = 0x08 Both "d1 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_D16_XY = 0x09 Both "d1 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_D16_XYZ = 0x0a Both "d2 a1 b4 c1";
        TBUFFER_LOAD_FORMAT_D16_XYZW = 0x0b Both "d2 a1 b4 c1";
        TBUFFER_STORE_FORMAT_D16_X = 0x0c Both "d1 a1 b4 c1";
        TBUFFER_STORE_FORMAT_D16_XY = 0x0d Both "d1 a1 b4 c1";
        TBUFFER_STORE_FORMAT_D16_XYZ = 0x0e Both "d2 a1 b4 c1";
        TBUFFER_STORE_FORMAT_D16_XYZW = 0x0f Both "d2 a1 b4 c1";
    }
}
