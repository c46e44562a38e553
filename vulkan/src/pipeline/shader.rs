//! Shader stages as SPIR-V.

use crate::device::Device;
use crate::error::{During, PipelineError};
use ash::vk;
use std::ffi::CStr;

/// SPIR-V of one stage.
#[derive(Debug, Clone, Copy)]
pub struct ShaderStage<'a> {
    /// The module's words.
    pub spirv: &'a [u32],
    /// Its entry point.
    pub entry: &'a CStr,
    /// Specialisation constants: id and 32-bit value.
    pub constants: &'a [(u32, u32)],
}

impl<'a> ShaderStage<'a> {
    /// A module whose entry point is `main`.
    #[must_use]
    pub fn new(spirv: &'a [u32]) -> Self {
        Self {
            spirv,
            entry: c"main",
            constants: &[],
        }
    }
}

const SPIRV_MAGIC: u32 = 0x0723_0203;

/// Specialisation constants as Vulkan wants them.
pub(crate) struct Constants {
    entries: Vec<vk::SpecializationMapEntry>,
    data: Vec<u8>,
}

impl Constants {
    pub(crate) fn new(constants: &[(u32, u32)]) -> Self {
        let mut entries = Vec::with_capacity(constants.len());
        let mut data = Vec::with_capacity(constants.len() * 4);
        for (id, value) in constants {
            // At most 2^14 constants fit in a module, so the offset fits.
            let offset = data.len() as u32;
            entries.push(
                vk::SpecializationMapEntry::default()
                    .constant_id(*id)
                    .offset(offset)
                    .size(4),
            );
            data.extend_from_slice(&value.to_ne_bytes());
        }
        Self { entries, data }
    }

    pub(crate) fn info(&self) -> vk::SpecializationInfo<'_> {
        vk::SpecializationInfo::default()
            .map_entries(&self.entries)
            .data(&self.data)
    }
}

/// A shader module that lives while its pipeline is made.
pub(crate) struct Module<'a> {
    device: &'a ash::Device,
    pub(crate) raw: vk::ShaderModule,
}

impl<'a> Module<'a> {
    pub(crate) fn new(
        device: &'a Device,
        pipeline: &str,
        stage: &'static str,
        spirv: &[u32],
    ) -> Result<Self, PipelineError> {
        if spirv.first() != Some(&SPIRV_MAGIC) {
            let reason = match spirv.first() {
                None => format!("the {stage} stage is empty"),
                Some(word) => {
                    format!(
                        "the {stage} stage is no SPIR-V: it starts with {word:#010x} in place of {SPIRV_MAGIC:#010x}"
                    )
                }
            };
            return Err(PipelineError::Description {
                name: pipeline.into(),
                reason,
            });
        }
        let info = vk::ShaderModuleCreateInfo::default().code(spirv);
        // SAFETY: the words are a slice of whole words that starts like SPIR-V; that they are valid is the caller's
        // word, as for any driver, and the recompiler's tests hold it.
        let raw = unsafe { device.inner.raw.create_shader_module(&info, None) }
            .during("creating a shader module")
            .map_err(|source| PipelineError::Driver {
                name: pipeline.into(),
                source,
            })?;
        Ok(Self {
            device: &device.inner.raw,
            raw,
        })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: pipelines keep nothing of the modules they were made from.
        unsafe { self.device.destroy_shader_module(self.raw, None) };
    }
}
