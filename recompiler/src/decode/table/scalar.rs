//! Opcodes: scalar, two sources, scalar with a 16-bit immediate, scalar, one source, scalar comparisons, program control, scalar memory. The row format is described in the parent module.

use super::table;

table! {
    /// Scalar, two sources.
    SOP2_ROWS: Sop2 {
        S_ADD_U32 = 0x00 Both "d1 a1 b1";
        S_SUB_U32 = 0x01 Both "d1 a1 b1";
        S_ADD_I32 = 0x02 Both "d1 a1 b1";
        S_SUB_I32 = 0x03 Both "d1 a1 b1";
        S_ADDC_U32 = 0x04 Both "d1 a1 b1";
        S_SUBB_U32 = 0x05 Both "d1 a1 b1";
        S_MIN_I32 = 0x06 Both "d1 a1 b1";
        S_MIN_U32 = 0x07 Both "d1 a1 b1";
        S_MAX_I32 = 0x08 Both "d1 a1 b1";
        S_MAX_U32 = 0x09 Both "d1 a1 b1";
        S_CSELECT_B32 = 0x0a Both "d1 a1 b1";
        S_CSELECT_B64 = 0x0b Both "d2 a2 b2";
        S_AND_B32 = 0x0e Both "d1 a1 b1";
        S_AND_B64 = 0x0f Both "d2 a2 b2";
        S_OR_B32 = 0x10 Both "d1 a1 b1";
        S_OR_B64 = 0x11 Both "d2 a2 b2";
        S_XOR_B32 = 0x12 Both "d1 a1 b1";
        S_XOR_B64 = 0x13 Both "d2 a2 b2";
        S_ANDN2_B32 = 0x14 Both "d1 a1 b1";
        S_ANDN2_B64 = 0x15 Both "d2 a2 b2";
        S_ORN2_B32 = 0x16 Both "d1 a1 b1";
        S_ORN2_B64 = 0x17 Both "d2 a2 b2";
        S_NAND_B32 = 0x18 Both "d1 a1 b1";
        S_NAND_B64 = 0x19 Both "d2 a2 b2";
        S_NOR_B32 = 0x1a Both "d1 a1 b1";
        S_NOR_B64 = 0x1b Both "d2 a2 b2";
        S_XNOR_B32 = 0x1c Both "d1 a1 b1";
        S_XNOR_B64 = 0x1d Both "d2 a2 b2";
        S_LSHL_B32 = 0x1e Both "d1 a1 b1";
        S_LSHL_B64 = 0x1f Both "d2 a2 b1";
        S_LSHR_B32 = 0x20 Both "d1 a1 b1";
        S_LSHR_B64 = 0x21 Both "d2 a2 b1";
        S_ASHR_I32 = 0x22 Both "d1 a1 b1";
        S_ASHR_I64 = 0x23 Both "d2 a2 b1";
        S_BFM_B32 = 0x24 Both "d1 a1 b1";
        S_BFM_B64 = 0x25 Both "d2 a1 b1";
        S_MUL_I32 = 0x26 Both "d1 a1 b1";
        S_BFE_U32 = 0x27 Both "d1 a1 b1";
        S_BFE_I32 = 0x28 Both "d1 a1 b1";
        S_BFE_U64 = 0x29 Both "d2 a2 b1";
        S_BFE_I64 = 0x2a Both "d2 a2 b1";
        S_ABSDIFF_I32 = 0x2c Both "d1 a1 b1";
        S_LSHL1_ADD_U32 = 0x2e Both "d1 a1 b1";
        S_LSHL2_ADD_U32 = 0x2f Both "d1 a1 b1";
        S_LSHL3_ADD_U32 = 0x30 Both "d1 a1 b1";
        S_LSHL4_ADD_U32 = 0x31 Both "d1 a1 b1";
        S_PACK_LL_B32_B16 = 0x32 Both "d1 a1 b1";
        S_PACK_LH_B32_B16 = 0x33 Both "d1 a1 b1";
        S_PACK_HH_B32_B16 = 0x34 Both "d1 a1 b1";
        S_MUL_HI_U32 = 0x35 Both "d1 a1 b1";
        S_MUL_HI_I32 = 0x36 Both "d1 a1 b1";
    }
}

table! {
    /// Scalar with a 16-bit immediate.
    SOPK_ROWS: Sopk {
        S_MOVK_I32 = 0x00 Both "d1 k";
        S_VERSION = 0x01 Both "k";
        S_CMOVK_I32 = 0x02 Both "d1 k";
        S_CMPK_EQ_I32 = 0x03 Both "d1 k";
        S_CMPK_LG_I32 = 0x04 Both "d1 k";
        S_CMPK_GT_I32 = 0x05 Both "d1 k";
        S_CMPK_GE_I32 = 0x06 Both "d1 k";
        S_CMPK_LT_I32 = 0x07 Both "d1 k";
        S_CMPK_LE_I32 = 0x08 Both "d1 k";
        S_CMPK_EQ_U32 = 0x09 Both "d1 k";
        S_CMPK_LG_U32 = 0x0a Both "d1 k";
        S_CMPK_GT_U32 = 0x0b Both "d1 k";
        S_CMPK_GE_U32 = 0x0c Both "d1 k";
        S_CMPK_LT_U32 = 0x0d Both "d1 k";
        S_CMPK_LE_U32 = 0x0e Both "d1 k";
        S_ADDK_I32 = 0x0f Both "d1 k";
        S_MULK_I32 = 0x10 Both "d1 k";
        S_GETREG_B32 = 0x12 Both "d1 hw";
        S_SETREG_B32 = 0x13 Both "hw d1";
        S_SETREG_IMM32_B32 = 0x15 Both "hw l1";
        S_CALL_B64 = 0x16 Both "d2 k";
        S_WAITCNT_VSCNT = 0x17 Both "d1 k";
        S_WAITCNT_VMCNT = 0x18 Both "d1 k";
        S_WAITCNT_EXPCNT = 0x19 Both "d1 k";
        S_WAITCNT_LGKMCNT = 0x1a Both "d1 k";
        S_SUBVECTOR_LOOP_BEGIN = 0x1b Both "d1 k";
        S_SUBVECTOR_LOOP_END = 0x1c Both "d1 k";
    }
}

table! {
    /// Scalar, one source.
    SOP1_ROWS: Sop1 {
        S_MOV_B32 = 0x03 Both "d1 a1";
        S_MOV_B64 = 0x04 Both "d2 a2";
        S_CMOV_B32 = 0x05 Both "d1 a1";
        S_CMOV_B64 = 0x06 Both "d2 a2";
        S_NOT_B32 = 0x07 Both "d1 a1";
        S_NOT_B64 = 0x08 Both "d2 a2";
        S_WQM_B32 = 0x09 Both "d1 a1";
        S_WQM_B64 = 0x0a Both "d2 a2";
        S_BREV_B32 = 0x0b Both "d1 a1";
        S_BREV_B64 = 0x0c Both "d2 a2";
        S_BCNT0_I32_B32 = 0x0d Both "d1 a1";
        S_BCNT0_I32_B64 = 0x0e Both "d1 a2";
        S_BCNT1_I32_B32 = 0x0f Both "d1 a1";
        S_BCNT1_I32_B64 = 0x10 Both "d1 a2";
        S_FF0_I32_B32 = 0x11 Both "d1 a1";
        S_FF0_I32_B64 = 0x12 Both "d1 a2";
        S_FF1_I32_B32 = 0x13 Both "d1 a1";
        S_FF1_I32_B64 = 0x14 Both "d1 a2";
        S_FLBIT_I32_B32 = 0x15 Both "d1 a1";
        S_FLBIT_I32_B64 = 0x16 Both "d1 a2";
        S_FLBIT_I32 = 0x17 Both "d1 a1";
        S_FLBIT_I32_I64 = 0x18 Both "d1 a2";
        S_SEXT_I32_I8 = 0x19 Both "d1 a1";
        S_SEXT_I32_I16 = 0x1a Both "d1 a1";
        S_BITSET0_B32 = 0x1b Both "d1 a1";
        S_BITSET0_B64 = 0x1c Both "d2 a1";
        S_BITSET1_B32 = 0x1d Both "d1 a1";
        S_BITSET1_B64 = 0x1e Both "d2 a1";
        S_GETPC_B64 = 0x1f Both "d2";
        S_SETPC_B64 = 0x20 Both "a2";
        S_SWAPPC_B64 = 0x21 Both "d2 a2";
        S_RFE_B64 = 0x22 Both "a2";
        S_AND_SAVEEXEC_B64 = 0x24 Both "d2 a2";
        S_OR_SAVEEXEC_B64 = 0x25 Both "d2 a2";
        S_XOR_SAVEEXEC_B64 = 0x26 Both "d2 a2";
        S_ANDN2_SAVEEXEC_B64 = 0x27 Both "d2 a2";
        S_ORN2_SAVEEXEC_B64 = 0x28 Both "d2 a2";
        S_NAND_SAVEEXEC_B64 = 0x29 Both "d2 a2";
        S_NOR_SAVEEXEC_B64 = 0x2a Both "d2 a2";
        S_XNOR_SAVEEXEC_B64 = 0x2b Both "d2 a2";
        S_QUADMASK_B32 = 0x2c Both "d1 a1";
        S_QUADMASK_B64 = 0x2d Both "d2 a2";
        S_MOVRELS_B32 = 0x2e Both "d1 a1";
        S_MOVRELS_B64 = 0x2f Both "d2 a2";
        S_MOVRELD_B32 = 0x30 Both "d1 a1";
        S_MOVRELD_B64 = 0x31 Both "d2 a2";
        S_ABS_I32 = 0x34 Both "d1 a1";
        S_ANDN1_SAVEEXEC_B64 = 0x37 Both "d2 a2";
        S_ORN1_SAVEEXEC_B64 = 0x38 Both "d2 a2";
        S_ANDN1_WREXEC_B64 = 0x39 Both "d2 a2";
        S_ANDN2_WREXEC_B64 = 0x3a Both "d2 a2";
        S_BITREPLICATE_B64_B32 = 0x3b Both "d2 a1";
        S_AND_SAVEEXEC_B32 = 0x3c Both "d1 a1";
        S_OR_SAVEEXEC_B32 = 0x3d Both "d1 a1";
        S_XOR_SAVEEXEC_B32 = 0x3e Both "d1 a1";
        S_ANDN2_SAVEEXEC_B32 = 0x3f Both "d1 a1";
        S_ORN2_SAVEEXEC_B32 = 0x40 Both "d1 a1";
        S_NAND_SAVEEXEC_B32 = 0x41 Both "d1 a1";
        S_NOR_SAVEEXEC_B32 = 0x42 Both "d1 a1";
        S_XNOR_SAVEEXEC_B32 = 0x43 Both "d1 a1";
        S_ANDN1_SAVEEXEC_B32 = 0x44 Both "d1 a1";
        S_ORN1_SAVEEXEC_B32 = 0x45 Both "d1 a1";
        S_ANDN1_WREXEC_B32 = 0x46 Both "d1 a1";
        S_ANDN2_WREXEC_B32 = 0x47 Both "d1 a1";
        S_MOVRELSD_2_B32 = 0x49 Both "d1 a1";
    }
}

table! {
    /// Scalar comparisons.
    SOPC_ROWS: Sopc {
        S_CMP_EQ_I32 = 0x00 Both "a1 b1";
        S_CMP_LG_I32 = 0x01 Both "a1 b1";
        S_CMP_GT_I32 = 0x02 Both "a1 b1";
        S_CMP_GE_I32 = 0x03 Both "a1 b1";
        S_CMP_LT_I32 = 0x04 Both "a1 b1";
        S_CMP_LE_I32 = 0x05 Both "a1 b1";
        S_CMP_EQ_U32 = 0x06 Both "a1 b1";
        S_CMP_LG_U32 = 0x07 Both "a1 b1";
        S_CMP_GT_U32 = 0x08 Both "a1 b1";
        S_CMP_GE_U32 = 0x09 Both "a1 b1";
        S_CMP_LT_U32 = 0x0a Both "a1 b1";
        S_CMP_LE_U32 = 0x0b Both "a1 b1";
        S_BITCMP0_B32 = 0x0c Both "a1 b1";
        S_BITCMP1_B32 = 0x0d Both "a1 b1";
        S_BITCMP0_B64 = 0x0e Both "a2 b1";
        S_BITCMP1_B64 = 0x0f Both "a2 b1";
        S_CMP_EQ_U64 = 0x12 Both "a2 b2";
        S_CMP_LG_U64 = 0x13 Both "a2 b2";
    }
}

table! {
    /// Program control.
    SOPP_ROWS: Sopp {
        S_NOP = 0x00 Both "k";
        S_ENDPGM = 0x01 Both "";
        S_BRANCH = 0x02 Both "t";
        S_WAKEUP = 0x03 Both "";
        S_CBRANCH_SCC0 = 0x04 Both "t";
        S_CBRANCH_SCC1 = 0x05 Both "t";
        S_CBRANCH_VCCZ = 0x06 Both "t";
        S_CBRANCH_VCCNZ = 0x07 Both "t";
        S_CBRANCH_EXECZ = 0x08 Both "t";
        S_CBRANCH_EXECNZ = 0x09 Both "t";
        S_BARRIER = 0x0a Both "";
        S_SETKILL = 0x0b Both "k";
        S_WAITCNT = 0x0c Both "k";
        S_SETHALT = 0x0d Both "k";
        S_SLEEP = 0x0e Both "k";
        S_SETPRIO = 0x0f Both "k";
        S_SENDMSG = 0x10 Both "k";
        S_SENDMSGHALT = 0x11 Both "k";
        S_TRAP = 0x12 Both "k";
        S_ICACHE_INV = 0x13 Both "";
        S_INCPERFLEVEL = 0x14 Both "k";
        S_DECPERFLEVEL = 0x15 Both "k";
        S_TTRACEDATA = 0x16 Both "";
        S_CBRANCH_CDBGSYS = 0x17 Both "t";
        S_CBRANCH_CDBGUSER = 0x18 Both "t";
        S_CBRANCH_CDBGSYS_OR_USER = 0x19 Both "t";
        S_CBRANCH_CDBGSYS_AND_USER = 0x1a Both "t";
        S_ENDPGM_SAVED = 0x1b Both "";
        S_ENDPGM_ORDERED_PS_DONE = 0x1e Both "";
        S_CODE_END = 0x1f Both "";
        S_INST_PREFETCH = 0x20 Both "k";
        S_CLAUSE = 0x21 Both "k";
        S_WAIT_IDLE = 0x22 Both "";
        S_WAITCNT_DEPCTR = 0x23 Both "k";
        S_ROUND_MODE = 0x24 Both "k";
        S_DENORM_MODE = 0x25 Both "k";
        S_TTRACEDATA_IMM = 0x28 Both "k";
    }
}

table! {
    /// Scalar memory.
    SMEM_ROWS: Smem {
        S_LOAD_DWORD = 0x00 Both "d1 a2 o";
        S_LOAD_DWORDX2 = 0x01 Both "d2 a2 o";
        S_LOAD_DWORDX4 = 0x02 Both "d4 a2 o";
        S_LOAD_DWORDX8 = 0x03 Both "d8 a2 o";
        S_LOAD_DWORDX16 = 0x04 Both "d16 a2 o";
        S_SCRATCH_LOAD_DWORD = 0x05 Gfx1013 "d1 a2 o";
        S_SCRATCH_LOAD_DWORDX2 = 0x06 Gfx1013 "d2 a2 o";
        S_SCRATCH_LOAD_DWORDX4 = 0x07 Gfx1013 "d4 a2 o";
        S_BUFFER_LOAD_DWORD = 0x08 Both "d1 a4 o";
        S_BUFFER_LOAD_DWORDX2 = 0x09 Both "d2 a4 o";
        S_BUFFER_LOAD_DWORDX4 = 0x0a Both "d4 a4 o";
        S_BUFFER_LOAD_DWORDX8 = 0x0b Both "d8 a4 o";
        S_BUFFER_LOAD_DWORDX16 = 0x0c Both "d16 a4 o";
        S_STORE_DWORD = 0x10 Gfx1013 "d1 a2 o";
        S_STORE_DWORDX2 = 0x11 Gfx1013 "d2 a2 o";
        S_STORE_DWORDX4 = 0x12 Gfx1013 "d4 a2 o";
        S_SCRATCH_STORE_DWORD = 0x15 Gfx1013 "d1 a2 o";
        S_SCRATCH_STORE_DWORDX2 = 0x16 Gfx1013 "d2 a2 o";
        S_SCRATCH_STORE_DWORDX4 = 0x17 Gfx1013 "d4 a2 o";
        S_BUFFER_STORE_DWORD = 0x18 Gfx1013 "d1 a4 o";
        S_BUFFER_STORE_DWORDX2 = 0x19 Gfx1013 "d2 a4 o";
        S_BUFFER_STORE_DWORDX4 = 0x1a Gfx1013 "d4 a4 o";
        S_GL1_INV = 0x1f Both "";
        S_DCACHE_INV = 0x20 Both "";
        S_DCACHE_WB = 0x21 Gfx1013 "";
        S_MEMTIME = 0x24 Both "d2";
        S_MEMREALTIME = 0x25 Both "d2";
        S_ATC_PROBE = 0x26 Both "i a2 o";
        S_ATC_PROBE_BUFFER = 0x27 Both "i a4 o";
        S_DCACHE_DISCARD = 0x28 Gfx1013 "a2 o";
        S_DCACHE_DISCARD_X2 = 0x29 Gfx1013 "a2 o";
        S_GET_WAVEID_IN_WORKGROUP = 0x2a Gfx1013 "d1";
        S_BUFFER_ATOMIC_SWAP = 0x40 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_CMPSWAP = 0x41 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_ADD = 0x42 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_SUB = 0x43 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_SMIN = 0x44 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_UMIN = 0x45 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_SMAX = 0x46 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_UMAX = 0x47 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_AND = 0x48 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_OR = 0x49 Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_XOR = 0x4a Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_INC = 0x4b Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_DEC = 0x4c Gfx1013 "d1 a4 o";
        S_BUFFER_ATOMIC_SWAP_X2 = 0x60 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_CMPSWAP_X2 = 0x61 Gfx1013 "d4 a4 o";
        S_BUFFER_ATOMIC_ADD_X2 = 0x62 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_SUB_X2 = 0x63 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_SMIN_X2 = 0x64 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_UMIN_X2 = 0x65 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_SMAX_X2 = 0x66 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_UMAX_X2 = 0x67 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_AND_X2 = 0x68 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_OR_X2 = 0x69 Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_XOR_X2 = 0x6a Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_INC_X2 = 0x6b Gfx1013 "d2 a4 o";
        S_BUFFER_ATOMIC_DEC_X2 = 0x6c Gfx1013 "d2 a4 o";
        S_ATOMIC_SWAP = 0x80 Gfx1013 "d1 a2 o";
        S_ATOMIC_CMPSWAP = 0x81 Gfx1013 "d2 a2 o";
        S_ATOMIC_ADD = 0x82 Gfx1013 "d1 a2 o";
        S_ATOMIC_SUB = 0x83 Gfx1013 "d1 a2 o";
        S_ATOMIC_SMIN = 0x84 Gfx1013 "d1 a2 o";
        S_ATOMIC_UMIN = 0x85 Gfx1013 "d1 a2 o";
        S_ATOMIC_SMAX = 0x86 Gfx1013 "d1 a2 o";
        S_ATOMIC_UMAX = 0x87 Gfx1013 "d1 a2 o";
        S_ATOMIC_AND = 0x88 Gfx1013 "d1 a2 o";
        S_ATOMIC_OR = 0x89 Gfx1013 "d1 a2 o";
        S_ATOMIC_XOR = 0x8a Gfx1013 "d1 a2 o";
        S_ATOMIC_INC = 0x8b Gfx1013 "d1 a2 o";
        S_ATOMIC_DEC = 0x8c Gfx1013 "d1 a2 o";
        S_ATOMIC_SWAP_X2 = 0xa0 Gfx1013 "d2 a2 o";
        S_ATOMIC_CMPSWAP_X2 = 0xa1 Gfx1013 "d4 a2 o";
        S_ATOMIC_ADD_X2 = 0xa2 Gfx1013 "d2 a2 o";
        S_ATOMIC_SUB_X2 = 0xa3 Gfx1013 "d2 a2 o";
        S_ATOMIC_SMIN_X2 = 0xa4 Gfx1013 "d2 a2 o";
        S_ATOMIC_UMIN_X2 = 0xa5 Gfx1013 "d2 a2 o";
        S_ATOMIC_SMAX_X2 = 0xa6 Gfx1013 "d2 a2 o";
        S_ATOMIC_UMAX_X2 = 0xa7 Gfx1013 "d2 a2 o";
        S_ATOMIC_AND_X2 = 0xa8 Gfx1013 "d2 a2 o";
        S_ATOMIC_OR_X2 = 0xa9 Gfx1013 "d2 a2 o";
        S_ATOMIC_XOR_X2 = 0xaa Gfx1013 "d2 a2 o";
        S_ATOMIC_INC_X2 = 0xab Gfx1013 "d2 a2 o";
        S_ATOMIC_DEC_X2 = 0xac Gfx1013 "d2 a2 o";
    }
}
