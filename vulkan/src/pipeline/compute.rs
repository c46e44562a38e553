//! Compute pipelines.

use super::layout::PipelineLayout;
use super::shader::{Constants, Module, ShaderStage};
use crate::device::Device;
use crate::device::retire::Retired;
use crate::error::{DriverError, PipelineError};
use ash::vk;
use std::sync::Arc;

/// What compute pipeline to make.
#[derive(Debug, Clone)]
pub struct ComputePipelineDescription<'a> {
    /// Name for errors, validation messages and captures.
    pub name: &'a str,
    /// Descriptors and push constants.
    pub layout: &'a PipelineLayout,
    /// The shader.
    pub shader: ShaderStage<'a>,
}

/// A pipeline's handle and what it was made with, shared by both kinds.
pub(crate) struct PipelineInner {
    device: Device,
    pub(crate) raw: vk::Pipeline,
    pub(crate) layout: PipelineLayout,
}

impl PipelineInner {
    pub(crate) fn new(device: &Device, raw: vk::Pipeline, layout: &PipelineLayout, name: &str) -> Self {
        device.name_object(raw, name);
        Self {
            device: device.clone(),
            raw,
            layout: layout.clone(),
        }
    }
}

impl Drop for PipelineInner {
    fn drop(&mut self) {
        self.device.retire(Retired::Pipeline(self.raw));
    }
}

/// A compute pipeline. Clones share it.
#[derive(Clone)]
pub struct ComputePipeline {
    pub(crate) inner: Arc<PipelineInner>,
}

impl ComputePipeline {
    /// Its layout.
    #[must_use]
    pub fn layout(&self) -> &PipelineLayout {
        &self.inner.layout
    }
}

impl Device {
    /// Makes a compute pipeline.
    ///
    /// # Errors
    /// [`PipelineError`] names the pipeline and what does not fit.
    pub fn create_compute_pipeline(
        &self,
        d: &ComputePipelineDescription<'_>,
    ) -> Result<ComputePipeline, PipelineError> {
        let module = Module::new(self, d.name, "compute", d.shader.spirv)?;
        let constants = Constants::new(d.shader.constants);
        let specialisation = constants.info();
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module.raw)
            .name(d.shader.entry)
            .specialization_info(&specialisation);
        let info = [vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(d.layout.raw())];
        // SAFETY: module, layout and constants live until the call returns; the cache synchronises itself.
        let made = unsafe {
            self.inner
                .raw
                .create_compute_pipelines(self.inner.pipeline_cache, &info, None)
        };
        let raw = first(made, d.name, "compiling a compute pipeline")?;
        Ok(ComputePipeline {
            inner: Arc::new(PipelineInner::new(self, raw, d.layout, d.name)),
        })
    }
}

/// The only pipeline of a create call.
pub(crate) fn first(
    made: Result<Vec<vk::Pipeline>, (Vec<vk::Pipeline>, vk::Result)>,
    name: &str,
    action: &'static str,
) -> Result<vk::Pipeline, PipelineError> {
    let refused = |result| PipelineError::Driver {
        name: name.into(),
        source: DriverError::new(action, result),
    };
    let pipelines = made.map_err(|(_, result)| refused(result))?;
    pipelines
        .first()
        .copied()
        .ok_or_else(|| refused(vk::Result::ERROR_UNKNOWN))
}
