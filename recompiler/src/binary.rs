//! What goes in: machine code with the register state that its stage gives it, and what the device can do.

use bitflags::bitflags;
use relic_core::GuestAddress;
use std::fmt;

/// Which of the chip family's encodings the code is written in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Dialect {
    /// The console's: gfx10.1 encodings with the ray intersection instructions.
    #[default]
    Gfx1013,
    /// Desktop gfx10.3; some opcode numbers mean other instructions there.
    Gfx1030,
}

/// A hardware stage, as refusals and artifacts name it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// Compute.
    Compute,
    /// A vertex program: NGG pass-through or legacy VS.
    Vertex,
    /// Pixel.
    Pixel,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute => "compute",
            Self::Vertex => "vertex",
            Self::Pixel => "pixel",
        })
    }
}

/// Raw values of the registers that shape a program at its start, by stage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StageRegisters {
    /// COMPUTE_PGM_RSRC1..3 and COMPUTE_NUM_THREAD_X..Z.
    Compute {
        /// COMPUTE_PGM_RSRC1.
        rsrc1: u32,
        /// COMPUTE_PGM_RSRC2: user SGPR count, group id enables, LDS size.
        rsrc2: u32,
        /// COMPUTE_PGM_RSRC3.
        rsrc3: u32,
        /// Threads of a group in x, y and z (the full counts, bits 15:0 of NUM_THREAD).
        num_thread: [u32; 3],
        /// Whether the dispatch asks for waves of 32 lanes instead of 64.
        wave32: bool,
        /// Dwords of scratch memory a lane, as [`scratch_dwords`] has it.
        scratch: u32,
    },
    /// The vertex program's resources: SPI_SHADER_PGM_RSRC1/2_GS when merged, _VS otherwise.
    Vertex {
        /// RSRC1.
        rsrc1: u32,
        /// RSRC2.
        rsrc2: u32,
        /// NGG: s0..s7 are system values and user data starts at s8; v5 is the vertex id, v8 the instance id.
        merged: bool,
        /// SPI_SHADER_POS_FORMAT.
        pos_format: u32,
        /// PA_CL_VS_OUT_CNTL.
        vs_out_cntl: u32,
        /// SPI_VS_OUT_CONFIG.
        vs_out_config: u32,
        /// Waves of 32 lanes instead of 64.
        wave32: bool,
        /// Dwords of scratch memory a lane, as [`scratch_dwords`] has it.
        scratch: u32,
    },
    /// SPI_SHADER_PGM_RSRC1/2_PS and what the pixel pipeline feeds and takes.
    Pixel {
        /// RSRC1.
        rsrc1: u32,
        /// RSRC2.
        rsrc2: u32,
        /// SPI_PS_INPUT_ENA: which inputs are loaded.
        input_ena: u32,
        /// SPI_PS_INPUT_ADDR: which inputs have VGPRs set aside.
        input_addr: u32,
        /// SPI_PS_IN_CONTROL.
        in_control: u32,
        /// SPI_PS_INPUT_CNTL_0..31.
        input_cntl: [u32; 32],
        /// SPI_SHADER_COL_FORMAT.
        col_format: u32,
        /// SPI_SHADER_Z_FORMAT.
        z_format: u32,
        /// CB_SHADER_MASK.
        shader_mask: u32,
        /// DB_SHADER_CONTROL.
        db_shader_control: u32,
        /// Waves of 32 lanes instead of 64.
        wave32: bool,
        /// Dwords of scratch memory a lane, as [`scratch_dwords`] has it.
        scratch: u32,
    },
}

/// Dwords of scratch memory a lane: TMPRING_SIZE bits 24:12 are KiB a wave. 0 where RSRC2 bit 0 says that a program has
/// none, so that programs without do not depend on the ring.
#[must_use]
pub const fn scratch_dwords(tmpring_size: u32, rsrc2: u32, wave32: bool) -> u32 {
    if rsrc2 & 1 == 0 {
        return 0;
    }
    let lanes = if wave32 { 32 } else { 64 };
    (tmpring_size >> 12 & 0x1fff) * 256 / lanes
}

impl StageRegisters {
    /// The stage that the registers belong to.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Compute { .. } => Stage::Compute,
            Self::Vertex { .. } => Stage::Vertex,
            Self::Pixel { .. } => Stage::Pixel,
        }
    }

    /// Lanes of a wave: 32 or 64.
    #[must_use]
    pub const fn wave_size(&self) -> u32 {
        match self {
            Self::Compute { wave32, .. } | Self::Vertex { wave32, .. } | Self::Pixel { wave32, .. } => {
                if *wave32 {
                    32
                } else {
                    64
                }
            }
        }
    }

    /// RSRC1 and RSRC2.
    #[must_use]
    pub const fn resources(&self) -> (u32, u32) {
        match self {
            Self::Compute { rsrc1, rsrc2, .. }
            | Self::Vertex { rsrc1, rsrc2, .. }
            | Self::Pixel { rsrc1, rsrc2, .. } => (*rsrc1, *rsrc2),
        }
    }

    /// Dwords of scratch memory a lane.
    #[must_use]
    pub const fn scratch(&self) -> u32 {
        match self {
            Self::Compute { scratch, .. } | Self::Vertex { scratch, .. } | Self::Pixel { scratch, .. } => {
                *scratch
            }
        }
    }

    /// Number of user data registers: RSRC2 bits 5:1 with bit 27 as the most significant one.
    #[must_use]
    pub const fn user_data_count(&self) -> u32 {
        let (_, rsrc2) = self.resources();
        ((rsrc2 >> 1) & 31) | ((rsrc2 >> 27) & 1) << 5
    }
}

/// One program as it lies in guest memory.
#[derive(Clone, Copy, Debug)]
pub struct ShaderBinary<'a> {
    /// Stage and register state.
    pub stage: StageRegisters,
    /// Encoding table.
    pub dialect: Dialect,
    /// Address of `code[0]`, which `s_getpc_b64` counts from.
    pub address: GuestAddress,
    /// Machine words. They may run past the program's end: only what is reachable is decoded.
    pub code: &'a [u32],
}

bitflags! {
    /// Optional abilities of the device that change the SPIR-V emitted.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Features: u32 {
        /// shaderInt64.
        const INT64 = 1;
        /// shaderFloat64.
        const FLOAT64 = 1 << 1;
        /// storageBuffer8BitAccess.
        const STORAGE8 = 1 << 2;
        /// storageBuffer16BitAccess.
        const STORAGE16 = 1 << 3;
        /// shaderDemoteToHelperInvocation.
        const DEMOTE = 1 << 4;
        /// shaderStorageImageReadWithoutFormat.
        const IMAGE_READ_WITHOUT_FORMAT = 1 << 5;
        /// shaderStorageImageWriteWithoutFormat.
        const IMAGE_WRITE_WITHOUT_FORMAT = 1 << 6;
        /// shaderImageGatherExtended.
        const GATHER_EXTENDED = 1 << 7;
        /// shaderBufferInt64Atomics.
        const BUFFER_INT64_ATOMICS = 1 << 8;
        /// shaderSharedInt64Atomics.
        const SHARED_INT64_ATOMICS = 1 << 9;
        /// sampleRateShading.
        const SAMPLE_RATE = 1 << 10;
        /// shaderClipDistance.
        const CLIP_DISTANCE = 1 << 11;
        /// shaderOutputLayer.
        const OUTPUT_LAYER = 1 << 12;
        /// shaderCullDistance.
        const CULL_DISTANCE = 1 << 13;
        /// shaderRoundingModeRTZFloat32 of VK_KHR_shader_float_controls.
        const ROUND_ZERO_32 = 1 << 14;
        /// shaderRoundingModeRTZFloat16 and shaderRoundingModeRTZFloat64.
        const ROUND_ZERO_16_64 = 1 << 15;
        /// shaderDenormPreserveFloat32.
        const DENORM_PRESERVE_32 = 1 << 16;
        /// shaderDenormFlushToZeroFloat32.
        const DENORM_FLUSH_32 = 1 << 17;
        /// bufferDeviceAddress, and a page table that is bound where a program asks for it (`page_table`).
        const GUEST_POINTERS = 1 << 18;
    }
}

impl Features {
    /// What says how floats are rounded and what becomes of denormal ones.
    pub const FLOAT_CONTROLS: Self = Self::ROUND_ZERO_32
        .union(Self::ROUND_ZERO_16_64)
        .union(Self::DENORM_PRESERVE_32)
        .union(Self::DENORM_FLUSH_32);
}

/// What the device is like; fixed for a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Profile {
    /// Lanes of a subgroup.
    pub subgroup_size: u32,
    /// maxPushConstantsSize, in bytes.
    pub max_push_constants: u32,
    /// minStorageBufferOffsetAlignment, in bytes: a power of two of at most 256.
    pub storage_buffer_alignment: u32,
    /// maxComputeSharedMemorySize, in bytes.
    pub max_shared_memory: u32,
    /// Whether helper invocations of pixel programs read 0 from storage buffers, against the specification (llvmpipe
    /// does it): what they pass on would then spoil the derivatives of the pixels beside them.
    pub helpers_load_zero: bool,
    /// Abilities.
    pub features: Features,
}

impl Default for Profile {
    /// lavapipe 22.3: subgroups of 8, 128 bytes of push constants, 32 KiB of shared memory.
    fn default() -> Self {
        Self {
            subgroup_size: 8,
            max_push_constants: 128,
            storage_buffer_alignment: 16,
            max_shared_memory: 32 << 10,
            helpers_load_zero: true,
            features: Features::all() - Features::FLOAT_CONTROLS,
        }
    }
}
