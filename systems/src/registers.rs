//! Register offsets inside their banks (dwords), as Mesa's register database has them, and their names for
//! messages.

macro_rules! registers {
    ($bank:ident { $($(#[$meta:meta])* $name:ident = $offset:literal;)* }) => {
        #[doc = concat!("Registers of the ", stringify!($bank), " bank.")]
        pub mod $bank {
            $($(#[$meta])* #[doc = concat!("`", stringify!($name), "`")] pub const $name: usize = $offset;)*

            /// Offsets and names, for messages.
            pub const NAMES: &[(usize, &str)] = &[$(($offset, stringify!($name))),*];
        }
    };
}

registers!(context {
    DB_RENDER_CONTROL = 0x000;
    DB_DEPTH_VIEW = 0x002;
    DB_RENDER_OVERRIDE = 0x003;
    DB_HTILE_DATA_BASE = 0x005;
    DB_DEPTH_SIZE_XY = 0x007;
    DB_DEPTH_BOUNDS_MIN = 0x008;
    DB_DEPTH_BOUNDS_MAX = 0x009;
    PA_SC_SCREEN_SCISSOR_TL = 0x00C;
    PA_SC_SCREEN_SCISSOR_BR = 0x00D;
    DB_Z_INFO = 0x010;
    DB_STENCIL_INFO = 0x011;
    DB_Z_READ_BASE = 0x012;
    DB_STENCIL_READ_BASE = 0x013;
    DB_Z_WRITE_BASE = 0x014;
    DB_STENCIL_WRITE_BASE = 0x015;
    DB_Z_READ_BASE_HI = 0x01A;
    DB_STENCIL_READ_BASE_HI = 0x01B;
    DB_Z_WRITE_BASE_HI = 0x01C;
    DB_STENCIL_WRITE_BASE_HI = 0x01D;
    PA_SC_WINDOW_OFFSET = 0x080;
    PA_SC_WINDOW_SCISSOR_TL = 0x081;
    PA_SC_WINDOW_SCISSOR_BR = 0x082;
    PA_SC_CLIPRECT_RULE = 0x083;
    PA_SU_HARDWARE_SCREEN_OFFSET = 0x08D;
    CB_TARGET_MASK = 0x08E;
    CB_SHADER_MASK = 0x08F;
    PA_SC_GENERIC_SCISSOR_TL = 0x090;
    PA_SC_GENERIC_SCISSOR_BR = 0x091;
    PA_SC_VPORT_SCISSOR_0_TL = 0x094;
    PA_SC_VPORT_SCISSOR_0_BR = 0x095;
    CB_BLEND_RED = 0x105;
    DB_STENCIL_CONTROL = 0x10B;
    DB_STENCILREFMASK = 0x10C;
    DB_STENCILREFMASK_BF = 0x10D;
    PA_CL_VPORT_XSCALE = 0x10F;
    SPI_PS_INPUT_CNTL_0 = 0x191;
    SPI_VS_OUT_CONFIG = 0x1B1;
    SPI_PS_INPUT_ENA = 0x1B3;
    SPI_PS_INPUT_ADDR = 0x1B4;
    SPI_PS_IN_CONTROL = 0x1B6;
    SPI_TMPRING_SIZE = 0x1BA;
    SPI_SHADER_POS_FORMAT = 0x1C3;
    SPI_SHADER_Z_FORMAT = 0x1C4;
    SPI_SHADER_COL_FORMAT = 0x1C5;
    CB_BLEND0_CONTROL = 0x1E0;
    DB_DEPTH_CONTROL = 0x200;
    DB_EQAA = 0x201;
    CB_COLOR_CONTROL = 0x202;
    DB_SHADER_CONTROL = 0x203;
    PA_CL_CLIP_CNTL = 0x204;
    PA_SU_SC_MODE_CNTL = 0x205;
    PA_CL_VTE_CNTL = 0x206;
    PA_CL_VS_OUT_CNTL = 0x207;
    PA_SC_MODE_CNTL_0 = 0x292;
    DB_HTILE_SURFACE = 0x2AF;
    VGT_SHADER_STAGES_EN = 0x2D5;
    DB_ALPHA_TO_MASK = 0x2DC;
    PA_SU_POLY_OFFSET_CLAMP = 0x2DF;
    PA_SU_POLY_OFFSET_FRONT_SCALE = 0x2E0;
    PA_SU_POLY_OFFSET_FRONT_OFFSET = 0x2E1;
    PA_SC_AA_CONFIG = 0x2F8;
    PA_SC_AA_SAMPLE_LOCS_PIXEL_X0Y0_0 = 0x2FE;
    PA_SC_AA_MASK_X0Y0_X1Y0 = 0x30E;
    PA_SC_AA_MASK_X0Y1_X1Y1 = 0x30F;
    PA_SC_CONSERVATIVE_RASTERIZATION_CNTL = 0x313;
    CB_COLOR0_BASE = 0x318;
    CB_COLOR0_VIEW = 0x31B;
    CB_COLOR0_INFO = 0x31C;
    CB_COLOR0_ATTRIB = 0x31D;
    CB_COLOR0_BASE_EXT = 0x390;
    CB_COLOR0_ATTRIB2 = 0x3B0;
    CB_COLOR0_ATTRIB3 = 0x3B8;
});

registers!(shader {
    SPI_SHADER_PGM_LO_PS = 0x008;
    SPI_SHADER_PGM_RSRC1_PS = 0x00A;
    SPI_SHADER_PGM_RSRC2_PS = 0x00B;
    SPI_SHADER_USER_DATA_PS_0 = 0x00C;
    SPI_SHADER_PGM_LO_VS = 0x048;
    SPI_SHADER_PGM_RSRC1_VS = 0x04A;
    SPI_SHADER_PGM_RSRC2_VS = 0x04B;
    SPI_SHADER_USER_DATA_VS_0 = 0x04C;
    SPI_SHADER_PGM_RSRC1_GS = 0x08A;
    SPI_SHADER_PGM_RSRC2_GS = 0x08B;
    SPI_SHADER_USER_DATA_GS_0 = 0x08C;
    SPI_SHADER_PGM_LO_ES = 0x0C8;
    COMPUTE_START_X = 0x204;
    COMPUTE_NUM_THREAD_X = 0x207;
    COMPUTE_PGM_LO = 0x20C;
    COMPUTE_PGM_RSRC1 = 0x212;
    COMPUTE_PGM_RSRC2 = 0x213;
    COMPUTE_TMPRING_SIZE = 0x218;
    COMPUTE_PGM_RSRC3 = 0x228;
    COMPUTE_USER_DATA_0 = 0x240;
});

registers!(user_config {
    VGT_PRIMITIVE_TYPE = 0x242;
    VGT_INDEX_TYPE = 0x243;
    GE_INDX_OFFSET = 0x24A;
    GE_MULTI_PRIM_IB_RESET_EN = 0x24B;
    /// Tags around the console's waits and flips; carries no state.
    CONSOLE_TAG = 0x342;
});

/// Registers between one colour target's and the next's.
pub const COLOUR_STRIDE: usize = 15;

/// The name of a context register, or its offset.
#[must_use]
pub fn context_name(offset: usize) -> String {
    context::NAMES.iter().find(|(own, _)| *own == offset).map_or_else(
        || format!("context register {offset:#x}"),
        |(_, name)| (*name).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_offset() {
        assert_eq!(context_name(context::CB_COLOR0_INFO), "CB_COLOR0_INFO");
        assert_eq!(context_name(0x3FF), "context register 0x3ff");
    }
}
