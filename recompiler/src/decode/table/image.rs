//! Opcodes: images, exports. The row format is described in the parent module.

use super::table;

table! {
    /// Images.
    MIMG_ROWS: Mimg {
        IMAGE_LOAD = 0x00 Both "d4 a1 b8";
        IMAGE_LOAD_MIP = 0x01 Both "d4 a2 b8";
        IMAGE_LOAD_PCK = 0x02 Both "d4 a1 b8|n";
        IMAGE_LOAD_PCK_SGN = 0x03 Both "d4 a1 b8|n";
        IMAGE_LOAD_MIP_PCK = 0x04 Both "d4 a2 b8|n";
        IMAGE_LOAD_MIP_PCK_SGN = 0x05 Both "d4 a2 b8|n";
        IMAGE_STORE = 0x08 Both "d4 a1 b8";
        IMAGE_STORE_MIP = 0x09 Both "d4 a2 b8";
        IMAGE_STORE_PCK = 0x0a Both "d4 a1 b8|n";
        IMAGE_STORE_MIP_PCK = 0x0b Both "d4 a2 b8|n";
        IMAGE_GET_RESINFO = 0x0e Both "d4 a1 b8|n";
        IMAGE_ATOMIC_SWAP = 0x0f Both "d1 a1 b8|n";
        IMAGE_ATOMIC_CMPSWAP = 0x10 Both "d4 a1 b8|n";
        IMAGE_ATOMIC_ADD = 0x11 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_SUB = 0x12 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_SMIN = 0x14 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_UMIN = 0x15 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_SMAX = 0x16 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_UMAX = 0x17 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_AND = 0x18 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_OR = 0x19 Both "d1 a1 b8|n";
        IMAGE_ATOMIC_XOR = 0x1a Both "d1 a1 b8|n";
        IMAGE_ATOMIC_INC = 0x1b Both "d1 a1 b8|n";
        IMAGE_ATOMIC_DEC = 0x1c Both "d1 a1 b8|n";
        IMAGE_ATOMIC_FCMPSWAP = 0x1d Both "d4 a1 b8|n";
        IMAGE_ATOMIC_FMIN = 0x1e Both "d1 a1 b8|n";
        IMAGE_ATOMIC_FMAX = 0x1f Both "d1 a1 b8|n";
        IMAGE_SAMPLE = 0x20 Both "d4 a2 b8 c4";
        IMAGE_SAMPLE_CL = 0x21 Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_D = 0x22 Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_D_CL = 0x23 Both "d4 a7 b8 c4";
        IMAGE_SAMPLE_L = 0x24 Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_B = 0x25 Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_B_CL = 0x26 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_LZ = 0x27 Both "d4 a2 b8 c4";
        IMAGE_SAMPLE_C = 0x28 Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_C_CL = 0x29 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_C_D = 0x2a Both "d4 a7 b8 c4";
        IMAGE_SAMPLE_C_D_CL = 0x2b Both "d4 a8 b8 c4";
        IMAGE_SAMPLE_C_L = 0x2c Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_C_B = 0x2d Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_C_B_CL = 0x2e Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_LZ = 0x2f Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_O = 0x30 Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_CL_O = 0x31 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_D_O = 0x32 Both "d4 a7 b8 c4";
        IMAGE_SAMPLE_D_CL_O = 0x33 Both "d4 a8 b8 c4";
        IMAGE_SAMPLE_L_O = 0x34 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_B_O = 0x35 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_B_CL_O = 0x36 Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_LZ_O = 0x37 Both "d4 a3 b8 c4";
        IMAGE_SAMPLE_C_O = 0x38 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_C_CL_O = 0x39 Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_D_O = 0x3a Both "d4 a8 b8 c4";
        IMAGE_SAMPLE_C_D_CL_O = 0x3b Both "d4 a16 b8 c4";
        IMAGE_SAMPLE_C_L_O = 0x3c Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_B_O = 0x3d Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_B_CL_O = 0x3e Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_C_LZ_O = 0x3f Both "d4 a4 b8 c4";
        IMAGE_GATHER4 = 0x40 Both "d4 a2 b8 c4";
        IMAGE_GATHER4_CL = 0x41 Both "d4 a3 b8 c4";
        IMAGE_GATHER4_L = 0x44 Both "d4 a3 b8 c4";
        IMAGE_GATHER4_B = 0x45 Both "d4 a3 b8 c4";
        IMAGE_GATHER4_B_CL = 0x46 Both "d4 a4 b8 c4";
        IMAGE_GATHER4_LZ = 0x47 Both "d4 a2 b8 c4";
        IMAGE_GATHER4_C = 0x48 Both "d4 a3 b8 c4";
        IMAGE_GATHER4_C_CL = 0x49 Both "d4 a4 b8 c4";
        IMAGE_GATHER4_C_L = 0x4c Both "d4 a4 b8 c4";
        IMAGE_GATHER4_C_B = 0x4d Both "d4 a4 b8 c4";
        IMAGE_GATHER4_C_B_CL = 0x4e Both "d4 a5 b8 c4";
        IMAGE_GATHER4_C_LZ = 0x4f Both "d4 a3 b8 c4";
        IMAGE_GATHER4_O = 0x50 Both "d4 a3 b8 c4";
        IMAGE_GATHER4_CL_O = 0x51 Both "d4 a4 b8 c4";
        IMAGE_GATHER4_L_O = 0x54 Both "d4 a4 b8 c4";
        IMAGE_GATHER4_B_O = 0x55 Both "d4 a4 b8 c4";
        IMAGE_GATHER4_B_CL_O = 0x56 Both "d4 a5 b8 c4";
        IMAGE_GATHER4_LZ_O = 0x57 Both "d4 a3 b8 c4";
        IMAGE_GATHER4_C_O = 0x58 Both "d4 a4 b8 c4";
        IMAGE_GATHER4_C_CL_O = 0x59 Both "d4 a5 b8 c4";
        IMAGE_GATHER4_C_L_O = 0x5c Both "d4 a5 b8 c4";
        IMAGE_GATHER4_C_B_O = 0x5d Both "d4 a5 b8 c4";
        IMAGE_GATHER4_C_B_CL_O = 0x5e Both "d4 a6 b8 c4";
        IMAGE_GATHER4_C_LZ_O = 0x5f Both "d4 a4 b8 c4";
        IMAGE_GET_LOD = 0x60 Both "d4 a2 b8 c4|n";
        IMAGE_SAMPLE_CD = 0x68 Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_CD_CL = 0x69 Both "d4 a7 b8 c4";
        IMAGE_SAMPLE_C_CD = 0x6a Both "d4 a7 b8 c4";
        IMAGE_SAMPLE_C_CD_CL = 0x6b Both "d4 a8 b8 c4";
        IMAGE_SAMPLE_CD_O = 0x6c Both "d4 a7 b8 c4";
        IMAGE_SAMPLE_CD_CL_O = 0x6d Both "d4 a8 b8 c4";
        IMAGE_SAMPLE_C_CD_O = 0x6e Both "d4 a8 b8 c4";
        IMAGE_SAMPLE_C_CD_CL_O = 0x6f Both "d4 a16 b8 c4";
        IMAGE_MSAA_LOAD = 0x80 Both "d4 a1 b8";
        IMAGE_SAMPLE_D_G16 = 0xa2 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_D_CL_G16 = 0xa3 Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_D_G16 = 0xaa Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_D_CL_G16 = 0xab Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_D_O_G16 = 0xb2 Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_D_CL_O_G16 = 0xb3 Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_C_D_O_G16 = 0xba Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_C_D_CL_O_G16 = 0xbb Both "d4 a7 b8 c4";
        IMAGE_BVH_INTERSECT_RAY = 0xe6 Both "d4 a11 b4";
        IMAGE_BVH64_INTERSECT_RAY = 0xe7 Both "d4 a12 b4";
        IMAGE_SAMPLE_CD_G16 = 0xe8 Both "d4 a4 b8 c4";
        IMAGE_SAMPLE_CD_CL_G16 = 0xe9 Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_CD_G16 = 0xea Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_C_CD_CL_G16 = 0xeb Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_CD_O_G16 = 0xec Both "d4 a5 b8 c4";
        IMAGE_SAMPLE_CD_CL_O_G16 = 0xed Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_C_CD_O_G16 = 0xee Both "d4 a6 b8 c4";
        IMAGE_SAMPLE_C_CD_CL_O_G16 = 0xef Both "d4 a7 b8 c4";
    }
}

table! {
    /// Exports.
    EXP_ROWS: Exp {
        EXP = 0x00 Both "";
    }
}
