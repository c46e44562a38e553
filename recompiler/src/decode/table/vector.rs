//! Opcodes: vector, two sources, vector, one source, vector, three sources, packed 16-bit vector, parameter interpolation. The row format is described in the parent module.

use super::table;

table! {
    /// Vector, two sources.
    VOP2_ROWS: Vop2 {
        V_CNDMASK_B32 = 0x01 Both "d1 a1 b1 vcc|3ds|01";
        V_DOT2C_F32_F16 = 0x02 Gfx1030 "d1 a1 b1|d|01";
        V_ADD_F32 = 0x03 Both "d1 a1 b1|3ds|01co";
        V_SUB_F32 = 0x04 Both "d1 a1 b1|3ds|01co";
        V_SUBREV_F32 = 0x05 Both "d1 a1 b1|3ds|01co";
        V_FMAC_LEGACY_F32 = 0x06 Gfx1030 "d1 a1 b1|3|01co";
        V_MAC_LEGACY_F32 = 0x06 Gfx1013 "d1 a1 b1|3|01co";
        V_MUL_LEGACY_F32 = 0x07 Both "d1 a1 b1|3ds|01co";
        V_MUL_F32 = 0x08 Both "d1 a1 b1|3ds|01co";
        V_MUL_I32_I24 = 0x09 Both "d1 a1 b1|3ds|c";
        V_MUL_HI_I32_I24 = 0x0a Both "d1 a1 b1|3ds";
        V_MUL_U32_U24 = 0x0b Both "d1 a1 b1|3ds|c";
        V_MUL_HI_U32_U24 = 0x0c Both "d1 a1 b1|3ds";
        V_DOT4C_I32_I8 = 0x0d Gfx1030 "d1 a1 b1|d|01";
        V_MIN_F32 = 0x0f Both "d1 a1 b1|3ds|01co";
        V_MAX_F32 = 0x10 Both "d1 a1 b1|3ds|01co";
        V_MIN_I32 = 0x11 Both "d1 a1 b1|3ds";
        V_MAX_I32 = 0x12 Both "d1 a1 b1|3ds";
        V_MIN_U32 = 0x13 Both "d1 a1 b1|3ds";
        V_MAX_U32 = 0x14 Both "d1 a1 b1|3ds";
        V_LSHRREV_B32 = 0x16 Both "d1 a1 b1|3ds";
        V_ASHRREV_I32 = 0x18 Both "d1 a1 b1|3ds";
        V_LSHLREV_B32 = 0x1a Both "d1 a1 b1|3ds";
        V_AND_B32 = 0x1b Both "d1 a1 b1|3ds";
        V_OR_B32 = 0x1c Both "d1 a1 b1|3ds";
        V_XOR_B32 = 0x1d Both "d1 a1 b1|3ds";
        V_XNOR_B32 = 0x1e Both "d1 a1 b1|3ds";
        V_MAC_F32 = 0x1f Gfx1013 "d1 a1 b1|3d|01co";
        V_MADMK_F32 = 0x20 Gfx1013 "d1 a1 l1 b1|";
        V_MADAK_F32 = 0x21 Gfx1013 "d1 a1 b1 l1|";
        V_ADD_NC_U32 = 0x25 Both "d1 a1 b1|3ds|c";
        V_SUB_NC_U32 = 0x26 Both "d1 a1 b1|3ds|c";
        V_SUBREV_NC_U32 = 0x27 Both "d1 a1 b1|3ds|c";
        V_ADD_CO_CI_U32 = 0x28 Both "d1 vcc a1 b1 vcc|3ds|c";
        V_SUB_CO_CI_U32 = 0x29 Both "d1 vcc a1 b1 vcc|3ds|c";
        V_SUBREV_CO_CI_U32 = 0x2a Both "d1 vcc a1 b1 vcc|3ds|c";
        V_FMAC_F32 = 0x2b Both "d1 a1 b1|3d|01co";
        V_FMAMK_F32 = 0x2c Both "d1 a1 l1 b1|";
        V_FMAAK_F32 = 0x2d Both "d1 a1 b1 l1|";
        V_CVT_PKRTZ_F16_F32 = 0x2f Both "d1 a1 b1|3|01co";
        V_ADD_F16 = 0x32 Both "d1 a1 b1|3ds|01co";
        V_SUB_F16 = 0x33 Both "d1 a1 b1|3ds|01co";
        V_SUBREV_F16 = 0x34 Both "d1 a1 b1|3ds|01co";
        V_MUL_F16 = 0x35 Both "d1 a1 b1|3ds|01co";
        V_FMAC_F16 = 0x36 Both "d1 a1 b1|3d|01co";
        V_FMAMK_F16 = 0x37 Both "d1 a1 l1 b1|";
        V_FMAAK_F16 = 0x38 Both "d1 a1 b1 l1|";
        V_MAX_F16 = 0x39 Both "d1 a1 b1|3ds|01co";
        V_MIN_F16 = 0x3a Both "d1 a1 b1|3ds|01co";
        V_LDEXP_F16 = 0x3b Both "d1 a1 b1|3ds|01co";
        V_PK_FMAC_F16 = 0x3c Both "d1 a1 b1|";
    }
}

table! {
    /// Vector, one source.
    VOP1_ROWS: Vop1 {
        V_NOP = 0x00 Both "|3";
        V_MOV_B32 = 0x01 Both "d1 a1|3ds";
        V_READFIRSTLANE_B32 = 0x02 Both "d1s a1|";
        V_CVT_I32_F64 = 0x03 Both "d1 a2|3d|0co";
        V_CVT_F64_I32 = 0x04 Both "d2 a1|3d|co";
        V_CVT_F32_I32 = 0x05 Both "d1 a1|3ds|co";
        V_CVT_F32_U32 = 0x06 Both "d1 a1|3ds|co";
        V_CVT_U32_F32 = 0x07 Both "d1 a1|3ds|0co";
        V_CVT_I32_F32 = 0x08 Both "d1 a1|3ds|0co";
        V_CVT_F16_F32 = 0x0a Both "d1 a1|3ds|0co";
        V_CVT_F32_F16 = 0x0b Both "d1 a1|3ds|0co";
        V_CVT_RPI_I32_F32 = 0x0c Both "d1 a1|3ds|0c";
        V_CVT_FLR_I32_F32 = 0x0d Both "d1 a1|3ds|0c";
        V_CVT_OFF_F32_I4 = 0x0e Both "d1 a1|3ds|co";
        V_CVT_F32_F64 = 0x0f Both "d1 a2|3d|0co";
        V_CVT_F64_F32 = 0x10 Both "d2 a1|3d|0co";
        V_CVT_F32_UBYTE0 = 0x11 Both "d1 a1|3ds|co";
        V_CVT_F32_UBYTE1 = 0x12 Both "d1 a1|3ds|co";
        V_CVT_F32_UBYTE2 = 0x13 Both "d1 a1|3ds|co";
        V_CVT_F32_UBYTE3 = 0x14 Both "d1 a1|3ds|co";
        V_CVT_U32_F64 = 0x15 Both "d1 a2|3d|0co";
        V_CVT_F64_U32 = 0x16 Both "d2 a1|3d|co";
        V_TRUNC_F64 = 0x17 Both "d2 a2|3d|0co";
        V_CEIL_F64 = 0x18 Both "d2 a2|3d|0co";
        V_RNDNE_F64 = 0x19 Both "d2 a2|3d|0co";
        V_FLOOR_F64 = 0x1a Both "d2 a2|3d|0co";
        V_PIPEFLUSH = 0x1b Both "|3";
        V_FRACT_F32 = 0x20 Both "d1 a1|3ds|0co";
        V_TRUNC_F32 = 0x21 Both "d1 a1|3ds|0co";
        V_CEIL_F32 = 0x22 Both "d1 a1|3ds|0co";
        V_RNDNE_F32 = 0x23 Both "d1 a1|3ds|0co";
        V_FLOOR_F32 = 0x24 Both "d1 a1|3ds|0co";
        V_EXP_F32 = 0x25 Both "d1 a1|3ds|0co";
        V_LOG_F32 = 0x27 Both "d1 a1|3ds|0co";
        V_RCP_F32 = 0x2a Both "d1 a1|3ds|0co";
        V_RCP_IFLAG_F32 = 0x2b Both "d1 a1|3ds|0co";
        V_RSQ_F32 = 0x2e Both "d1 a1|3ds|0co";
        V_RCP_F64 = 0x2f Both "d2 a2|3d|0co";
        V_RSQ_F64 = 0x31 Both "d2 a2|3d|0co";
        V_SQRT_F32 = 0x33 Both "d1 a1|3ds|0co";
        V_SQRT_F64 = 0x34 Both "d2 a2|3d|0co";
        V_SIN_F32 = 0x35 Both "d1 a1|3ds|0co";
        V_COS_F32 = 0x36 Both "d1 a1|3ds|0co";
        V_NOT_B32 = 0x37 Both "d1 a1|3ds";
        V_BFREV_B32 = 0x38 Both "d1 a1|3ds";
        V_FFBH_U32 = 0x39 Both "d1 a1|3ds";
        V_FFBL_B32 = 0x3a Both "d1 a1|3ds";
        V_FFBH_I32 = 0x3b Both "d1 a1|3ds";
        V_FREXP_EXP_I32_F64 = 0x3c Both "d1 a2|3d|0co";
        V_FREXP_MANT_F64 = 0x3d Both "d2 a2|3d|0co";
        V_FRACT_F64 = 0x3e Both "d2 a2|3d|0co";
        V_FREXP_EXP_I32_F32 = 0x3f Both "d1 a1|3ds|0c";
        V_FREXP_MANT_F32 = 0x40 Both "d1 a1|3ds|0co";
        V_CLREXCP = 0x41 Both "|3";
        V_MOVRELD_B32 = 0x42 Both "d1 a1|3ds";
        V_MOVRELS_B32 = 0x43 Both "d1 a1|3ds";
        V_MOVRELSD_B32 = 0x44 Both "d1 a1|3ds";
        V_MOVRELSD_2_B32 = 0x48 Both "d1 a1|3ds";
        V_CVT_F16_U16 = 0x50 Both "d1 a1|3ds|co";
        V_CVT_F16_I16 = 0x51 Both "d1 a1|3ds|co";
        V_CVT_U16_F16 = 0x52 Both "d1 a1|3ds|0co";
        V_CVT_I16_F16 = 0x53 Both "d1 a1|3ds|0co";
        V_RCP_F16 = 0x54 Both "d1 a1|3ds|0co";
        V_SQRT_F16 = 0x55 Both "d1 a1|3ds|0co";
        V_RSQ_F16 = 0x56 Both "d1 a1|3ds|0co";
        V_LOG_F16 = 0x57 Both "d1 a1|3ds|0co";
        V_EXP_F16 = 0x58 Both "d1 a1|3ds|0co";
        V_FREXP_MANT_F16 = 0x59 Both "d1 a1|3ds|0co";
        V_FREXP_EXP_I16_F16 = 0x5a Both "d1 a1|3ds|0co";
        V_FLOOR_F16 = 0x5b Both "d1 a1|3ds|0co";
        V_CEIL_F16 = 0x5c Both "d1 a1|3ds|0co";
        V_TRUNC_F16 = 0x5d Both "d1 a1|3ds|0co";
        V_RNDNE_F16 = 0x5e Both "d1 a1|3ds|0co";
        V_FRACT_F16 = 0x5f Both "d1 a1|3ds|0co";
        V_SIN_F16 = 0x60 Both "d1 a1|3ds|0co";
        V_COS_F16 = 0x61 Both "d1 a1|3ds|0co";
        V_SAT_PK_U8_I16 = 0x62 Both "d1 a1|3ds";
        V_CVT_NORM_I16_F16 = 0x63 Both "d1 a1|3ds|0co";
        V_CVT_NORM_U16_F16 = 0x64 Both "d1 a1|3ds|0co";
        V_SWAP_B32 = 0x65 Both "d1 a1|";
        V_SWAPREL_B32 = 0x68 Both "d1 a1|";
    }
}

table! {
    /// Vector, three sources.
    VOP3_ROWS: Vop3 {
        V_FMA_LEGACY_F32 = 0x140 Gfx1030 "d1 a1 b1 c1||012co";
        V_MAD_LEGACY_F32 = 0x140 Gfx1013 "d1 a1 b1 c1||012co";
        V_MAD_F32 = 0x141 Gfx1013 "d1 a1 b1 c1||012co";
        V_MAD_I32_I24 = 0x142 Both "d1 a1 b1 c1||c";
        V_MAD_U32_U24 = 0x143 Both "d1 a1 b1 c1||c";
        V_CUBEID_F32 = 0x144 Both "d1 a1 b1 c1||012co";
        V_CUBESC_F32 = 0x145 Both "d1 a1 b1 c1||012co";
        V_CUBETC_F32 = 0x146 Both "d1 a1 b1 c1||012co";
        V_CUBEMA_F32 = 0x147 Both "d1 a1 b1 c1||012co";
        V_BFE_U32 = 0x148 Both "d1 a1 b1 c1";
        V_BFE_I32 = 0x149 Both "d1 a1 b1 c1";
        V_BFI_B32 = 0x14a Both "d1 a1 b1 c1";
        V_FMA_F32 = 0x14b Both "d1 a1 b1 c1||012co";
        V_FMA_F64 = 0x14c Both "d2 a2 b2 c2||012co";
        V_LERP_U8 = 0x14d Both "d1 a1 b1 c1";
        V_ALIGNBIT_B32 = 0x14e Both "d1 a1 b1 c1";
        V_ALIGNBYTE_B32 = 0x14f Both "d1 a1 b1 c1";
        V_MULLIT_F32 = 0x150 Both "d1 a1 b1 c1||012co";
        V_MIN3_F32 = 0x151 Both "d1 a1 b1 c1||012co";
        V_MIN3_I32 = 0x152 Both "d1 a1 b1 c1";
        V_MIN3_U32 = 0x153 Both "d1 a1 b1 c1";
        V_MAX3_F32 = 0x154 Both "d1 a1 b1 c1||012co";
        V_MAX3_I32 = 0x155 Both "d1 a1 b1 c1";
        V_MAX3_U32 = 0x156 Both "d1 a1 b1 c1";
        V_MED3_F32 = 0x157 Both "d1 a1 b1 c1||012co";
        V_MED3_I32 = 0x158 Both "d1 a1 b1 c1";
        V_MED3_U32 = 0x159 Both "d1 a1 b1 c1";
        V_SAD_U8 = 0x15a Both "d1 a1 b1 c1||c";
        V_SAD_HI_U8 = 0x15b Both "d1 a1 b1 c1||c";
        V_SAD_U16 = 0x15c Both "d1 a1 b1 c1||c";
        V_SAD_U32 = 0x15d Both "d1 a1 b1 c1||c";
        V_CVT_PK_U8_F32 = 0x15e Both "d1 a1 b1 c1||012c";
        V_DIV_FIXUP_F32 = 0x15f Both "d1 a1 b1 c1||012co";
        V_DIV_FIXUP_F64 = 0x160 Both "d2 a2 b2 c2||012co";
        V_ADD_F64 = 0x164 Both "d2 a2 b2||01co";
        V_MUL_F64 = 0x165 Both "d2 a2 b2||01co";
        V_MIN_F64 = 0x166 Both "d2 a2 b2||01co";
        V_MAX_F64 = 0x167 Both "d2 a2 b2||01co";
        V_LDEXP_F64 = 0x168 Both "d2 a2 b1||01co";
        V_MUL_LO_U32 = 0x169 Both "d1 a1 b1";
        V_MUL_HI_U32 = 0x16a Both "d1 a1 b1";
        V_MUL_LO_I32 = 0x16b Gfx1013 "d1 a1 b1";
        V_MUL_HI_I32 = 0x16c Both "d1 a1 b1";
        V_DIV_SCALE_F32 = 0x16d Both "d1 e2 a1 b1 c1||012co";
        V_DIV_SCALE_F64 = 0x16e Both "d2 e2 a2 b2 c2||012co";
        V_DIV_FMAS_F32 = 0x16f Both "d1 a1 b1 c1||012co";
        V_DIV_FMAS_F64 = 0x170 Both "d2 a2 b2 c2||012co";
        V_MSAD_U8 = 0x171 Both "d1 a1 b1 c1||c";
        V_QSAD_PK_U16_U8 = 0x172 Both "d2 a2 b1 c2||c";
        V_MQSAD_PK_U16_U8 = 0x173 Both "d2 a2 b1 c2||c";
        V_TRIG_PREOP_F64 = 0x174 Both "d2 a2 b1||01co";
        V_MQSAD_U32_U8 = 0x175 Both "d4 a2 b1 c4||c";
        V_MAD_U64_U32 = 0x176 Both "d2 e2 a1 b1 c2||c";
        V_MAD_I64_I32 = 0x177 Both "d2 e2 a1 b1 c2||c";
        V_XOR3_B32 = 0x178 Both "d1 a1 b1 c1";
        V_INTERP_P1_F32_E64 = 0x200 Both "d1 b1 attr||1co";
        V_INTERP_P2_F32_E64 = 0x201 Both "d1 b1 attr||1co";
        V_INTERP_MOV_F32_E64 = 0x202 Both "d1 p attr||co";
        V_LSHLREV_B64 = 0x2ff Both "d2 a1 b2";
        V_LSHRREV_B64 = 0x300 Both "d2 a1 b2";
        V_ASHRREV_I64 = 0x301 Both "d2 a1 b2";
        V_ADD_NC_U16 = 0x303 Both "d1 a1 b1||c";
        V_SUB_NC_U16 = 0x304 Both "d1 a1 b1||c";
        V_MUL_LO_U16 = 0x305 Both "d1 a1 b1";
        V_LSHRREV_B16 = 0x307 Both "d1 a1 b1";
        V_ASHRREV_I16 = 0x308 Both "d1 a1 b1";
        V_MAX_U16 = 0x309 Both "d1 a1 b1";
        V_MAX_I16 = 0x30a Both "d1 a1 b1";
        V_MIN_U16 = 0x30b Both "d1 a1 b1";
        V_MIN_I16 = 0x30c Both "d1 a1 b1";
        V_ADD_NC_I16 = 0x30d Both "d1 a1 b1||ch";
        V_SUB_NC_I16 = 0x30e Both "d1 a1 b1||ch";
        V_ADD_CO_U32 = 0x30f Both "d1 e2 a1 b1||c";
        V_SUB_CO_U32 = 0x310 Both "d1 e2 a1 b1||c";
        V_PACK_B32_F16 = 0x311 Both "d1 a1 b1||01ch";
        V_CVT_PKNORM_I16_F16 = 0x312 Both "d1 a1 b1||01ch";
        V_CVT_PKNORM_U16_F16 = 0x313 Both "d1 a1 b1||01ch";
        V_LSHLREV_B16 = 0x314 Both "d1 a1 b1";
        V_SUBREV_CO_U32 = 0x319 Both "d1 e2 a1 b1||c";
        V_MAD_U16 = 0x340 Both "d1 a1 b1 c1||ch";
        V_INTERP_P1LL_F16 = 0x342 Both "d1 b1 attr||1co";
        V_INTERP_P1LV_F16 = 0x343 Both "d1 b1 attr c1||12co";
        V_PERM_B32 = 0x344 Both "d1 a1 b1 c1";
        V_XAD_U32 = 0x345 Both "d1 a1 b1 c1";
        V_LSHL_ADD_U32 = 0x346 Both "d1 a1 b1 c1";
        V_ADD_LSHL_U32 = 0x347 Both "d1 a1 b1 c1";
        V_FMA_F16 = 0x34b Both "d1 a1 b1 c1||012ch";
        V_MIN3_F16 = 0x351 Both "d1 a1 b1 c1||012ch";
        V_MIN3_I16 = 0x352 Both "d1 a1 b1 c1||ch";
        V_MIN3_U16 = 0x353 Both "d1 a1 b1 c1||ch";
        V_MAX3_F16 = 0x354 Both "d1 a1 b1 c1||012ch";
        V_MAX3_I16 = 0x355 Both "d1 a1 b1 c1||ch";
        V_MAX3_U16 = 0x356 Both "d1 a1 b1 c1||ch";
        V_MED3_F16 = 0x357 Both "d1 a1 b1 c1||012ch";
        V_MED3_I16 = 0x358 Both "d1 a1 b1 c1||ch";
        V_MED3_U16 = 0x359 Both "d1 a1 b1 c1||ch";
        V_INTERP_P2_F16 = 0x35a Both "d1 b1 attr c1||12c";
        V_MAD_I16 = 0x35e Both "d1 a1 b1 c1||ch";
        V_DIV_FIXUP_F16 = 0x35f Both "d1 a1 b1 c1||012ch";
        V_READLANE_B32 = 0x360 Both "d1s a1 b1";
        V_WRITELANE_B32 = 0x361 Both "d1 a1 b1";
        V_LDEXP_F32 = 0x362 Both "d1 a1 b1||01co";
        V_BFM_B32 = 0x363 Both "d1 a1 b1";
        V_BCNT_U32_B32 = 0x364 Both "d1 a1 b1";
        V_MBCNT_LO_U32_B32 = 0x365 Both "d1 a1 b1";
        V_MBCNT_HI_U32_B32 = 0x366 Both "d1 a1 b1";
        V_CVT_PKNORM_I16_F32 = 0x368 Both "d1 a1 b1||01c";
        V_CVT_PKNORM_U16_F32 = 0x369 Both "d1 a1 b1||01c";
        V_CVT_PK_U16_U32 = 0x36a Both "d1 a1 b1";
        V_CVT_PK_I16_I32 = 0x36b Both "d1 a1 b1";
        V_ADD3_U32 = 0x36d Both "d1 a1 b1 c1";
        V_LSHL_OR_B32 = 0x36f Both "d1 a1 b1 c1";
        V_AND_OR_B32 = 0x371 Both "d1 a1 b1 c1";
        V_OR3_B32 = 0x372 Both "d1 a1 b1 c1";
        V_MAD_U32_U16 = 0x373 Both "d1 a1 b1 c1||ch";
        V_MAD_I32_I16 = 0x375 Both "d1 a1 b1 c1||ch";
        V_SUB_NC_I32 = 0x376 Both "d1 a1 b1||c";
        V_PERMLANE16_B32 = 0x377 Both "d1 a1 b1 c1||h";
        V_PERMLANEX16_B32 = 0x378 Both "d1 a1 b1 c1||h";
        V_ADD_NC_I32 = 0x37f Both "d1 a1 b1||c";
    }
}

table! {
    /// Packed 16-bit vector.
    VOP3P_ROWS: Vop3p {
        V_PK_MAD_I16 = 0x00 Both "d1 a1 b1 c1||0c";
        V_PK_MUL_LO_U16 = 0x01 Both "d1 a1 b1||0c";
        V_PK_ADD_I16 = 0x02 Both "d1 a1 b1||0c";
        V_PK_SUB_I16 = 0x03 Both "d1 a1 b1||0c";
        V_PK_LSHLREV_B16 = 0x04 Both "d1 a1 b1||0c";
        V_PK_LSHRREV_B16 = 0x05 Both "d1 a1 b1||0c";
        V_PK_ASHRREV_I16 = 0x06 Both "d1 a1 b1||0c";
        V_PK_MAX_I16 = 0x07 Both "d1 a1 b1||0c";
        V_PK_MIN_I16 = 0x08 Both "d1 a1 b1||0c";
        V_PK_MAD_U16 = 0x09 Both "d1 a1 b1 c1||0c";
        V_PK_ADD_U16 = 0x0a Both "d1 a1 b1||0c";
        V_PK_SUB_U16 = 0x0b Both "d1 a1 b1||0c";
        V_PK_MAX_U16 = 0x0c Both "d1 a1 b1||0c";
        V_PK_MIN_U16 = 0x0d Both "d1 a1 b1||0c";
        V_PK_FMA_F16 = 0x0e Both "d1 a1 b1 c1||012c";
        V_PK_ADD_F16 = 0x0f Both "d1 a1 b1||01c";
        V_PK_MUL_F16 = 0x10 Both "d1 a1 b1||01c";
        V_PK_MIN_F16 = 0x11 Both "d1 a1 b1||01c";
        V_PK_MAX_F16 = 0x12 Both "d1 a1 b1||01c";
        V_DOT2_F32_F16 = 0x13 Gfx1030 "d1 a1 b1 c1||012c";
        V_DOT2_I32_I16 = 0x14 Gfx1030 "d1 a1 b1 c1||02c";
        V_DOT2_U32_U16 = 0x15 Gfx1030 "d1 a1 b1 c1||02c";
        V_DOT4_I32_I8 = 0x16 Gfx1030 "d1 a1 b1 c1||012c";
        V_DOT4_U32_U8 = 0x17 Gfx1030 "d1 a1 b1 c1||012c";
        V_DOT8_I32_I4 = 0x18 Gfx1030 "d1 a1 b1 c1||012c";
        V_DOT8_U32_U4 = 0x19 Gfx1030 "d1 a1 b1 c1||012c";
        V_FMA_MIX_F32 = 0x20 Both "d1 a1 b1 c1||012c";
        V_FMA_MIXLO_F16 = 0x21 Both "d1 a1 b1 c1||012c";
        V_FMA_MIXHI_F16 = 0x22 Both "d1 a1 b1 c1||012c";
    }
}

table! {
    /// Parameter interpolation.
    VINTRP_ROWS: Vintrp {
        V_INTERP_P1_F32 = 0x00 Both "d1 a1 attr";
        V_INTERP_P2_F32 = 0x01 Both "d1 a1 attr";
        V_INTERP_MOV_F32 = 0x02 Both "d1 p attr";
    }
}
