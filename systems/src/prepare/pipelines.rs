//! The pipeline store: every combination of programs, descriptor shapes and fixed state that was drawn with.

use std::sync::{Arc, OnceLock};

use ash::vk;
use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::{pipeline::PipelineId, shader::ProgramId};
use relic_recompiler::{BindingKind, Specialization, rect_list_geometry};
use relic_vulkan::{
    Binding, ComputePipeline, ComputePipelineDescription, DepthClip, DescriptorKind, Device, Feature,
    GraphicsPipeline, GraphicsPipelineDescription, GraphicsStages, PipelineLayout, PipelineLayoutDescription,
    PushConstantRange, Rasteriser, ShaderStage,
};

use super::state::FixedState;
use crate::{
    programs::Analysed,
    shader_cache::{Shaders, StageModule},
    shader_pool::ShaderPool,
};

/// One stage of a pipeline.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StageKey {
    /// The program.
    pub program: ProgramId,
    /// What its descriptors fix.
    pub specialization: Specialization,
}

/// What a pipeline is made from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PipelineKey {
    /// Vertex and, where something is shaded, pixel stage.
    Graphics(Box<(StageKey, Option<StageKey>, FixedState)>),
    /// Compute.
    Compute(Box<StageKey>),
}

/// A pipeline that can be bound.
pub struct Pipeline {
    /// Its kind and handle.
    pub object: PipelineObject,
    /// Push constants of each stage: (walk slot 0 vertex or compute, 1 pixel; byte offset; words).
    pub push: Vec<(usize, u32, u32)>,
    /// Stages that read push constants.
    pub push_stages: vk::ShaderStageFlags,
}

/// A bindable handle.
pub enum PipelineObject {
    /// Graphics.
    Graphics(GraphicsPipeline),
    /// Compute.
    Compute(ComputePipeline),
}

impl Pipeline {
    /// Its layout.
    #[must_use]
    pub fn layout(&self) -> &PipelineLayout {
        match &self.object {
            PipelineObject::Graphics(pipeline) => pipeline.layout(),
            PipelineObject::Compute(pipeline) => pipeline.layout(),
        }
    }
}

type Made = Result<Arc<Pipeline>, String>;

/// See the module's text.
#[derive(Resource, Default)]
pub struct PipelineStore {
    by_key: HashMap<PipelineKey, PipelineId>,
    slots: Vec<Arc<OnceLock<Made>>>,
    shaders: Shaders,
    /// Pipelines at the last time that they had grown.
    seen: usize,
}

impl PipelineStore {
    /// An empty store whose stages come from a cache, where there is one.
    #[must_use]
    pub fn new(shaders: Shaders) -> Self {
        Self {
            shaders,
            ..Self::default()
        }
    }

    /// Where its stages come from.
    #[must_use]
    pub const fn shaders(&self) -> &Shaders {
        &self.shaders
    }

    /// Whether there are `more` pipelines than at the last time that this was so.
    pub fn grown_by(&mut self, more: usize) -> bool {
        let grown = self.slots.len() >= self.seen + more;
        if grown {
            self.seen = self.slots.len();
        }
        grown
    }

    /// The pipeline of a key; a new one is handed to the pool.
    pub fn find_or_start(
        &mut self,
        key: PipelineKey,
        programs: [Option<&Arc<Analysed>>; 2],
        device: &Device,
        pool: &ShaderPool,
    ) -> PipelineId {
        if let Some(&id) = self.by_key.get(&key) {
            return id;
        }
        let id = PipelineId(self.slots.len() as u32);
        let slot = Arc::new(OnceLock::new());
        self.slots.push(Arc::clone(&slot));
        self.by_key.insert(key.clone(), id);
        let programs = programs.map(|program| program.map(Arc::clone));
        let (device, shaders) = (device.clone(), self.shaders.clone());
        pool.run(move || {
            relic_core::zone!("make pipeline");
            // Only this job fills the slot.
            let _ = slot.set(make(&device, &shaders, &key, &programs).map(Arc::new));
        });
        id
    }

    /// The pipeline, `None` while the pool is at it.
    #[must_use]
    pub fn get(&self, id: PipelineId) -> Option<&Made> {
        self.slots.get(id.0 as usize)?.get()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

fn make(
    device: &Device,
    shaders: &Shaders,
    key: &PipelineKey,
    programs: &[Option<Arc<Analysed>>; 2],
) -> Result<Pipeline, String> {
    let missing = || "internal: a pipeline without its program".to_owned();
    match key {
        PipelineKey::Compute(stage) => {
            let program = programs[0].as_ref().ok_or_else(missing)?;
            let artifact = shaders
                .stage(program, &program.key, &stage.specialization)
                .map_err(|refusal| refusal.to_string())?;
            let mut layout = LayoutParts::default();
            layout.add(&artifact, 0, vk::ShaderStageFlags::COMPUTE);
            let layout_object = layout.make(device)?;
            let name = format!("compute program at {}", program.address);
            let pipeline = device
                .create_compute_pipeline(&ComputePipelineDescription {
                    name: &name,
                    layout: &layout_object,
                    shader: ShaderStage::new(&artifact.spirv),
                })
                .map_err(|error| error.to_string())?;
            Ok(layout.finish(PipelineObject::Compute(pipeline)))
        }
        PipelineKey::Graphics(parts) => {
            let (vertex, pixel, fixed) = &**parts;
            let program = programs[0].as_ref().ok_or_else(missing)?;
            let vertex_artifact = shaders
                .stage(program, &program.key, &vertex.specialization)
                .map_err(|refusal| refusal.to_string())?;
            let pixel_artifact = match (pixel, &programs[1]) {
                (Some(stage), Some(program)) => Some(
                    shaders
                        .stage(program, &program.key, &stage.specialization)
                        .map_err(|refusal| refusal.to_string())?,
                ),
                _ => None,
            };
            let mut layout = LayoutParts::default();
            layout.add(&vertex_artifact, 0, vk::ShaderStageFlags::VERTEX);
            if let Some(artifact) = &pixel_artifact {
                layout.add(artifact, 1, vk::ShaderStageFlags::FRAGMENT);
            }
            let layout_object = layout.make(device)?;
            let name = format!("draw with vertex program at {}", program.address);
            let rectangles = if fixed.rect_list {
                if !device.has(Feature::GeometryShader) {
                    return Err("rectangle lists need geometry shaders, which the GPU lacks".to_owned());
                }
                let locations = vertex_artifact.locations;
                Some(rect_list_geometry(locations).map_err(|reason| reason.to_string())?)
            } else {
                None
            };
            let stages = GraphicsStages {
                vertex: Some(ShaderStage::new(&vertex_artifact.spirv)),
                geometry: rectangles.as_deref().map(ShaderStage::new),
                fragment: pixel_artifact
                    .as_ref()
                    .map(|artifact| ShaderStage::new(&artifact.spirv)),
                ..GraphicsStages::default()
            };
            // What the pixel stage does not export stays as it is.
            let outputs = pixel_artifact
                .as_ref()
                .map_or(0, |artifact| artifact.colour_outputs);
            let mut blend = fixed.blend.clone();
            for (slot, target) in blend.iter_mut().enumerate() {
                if outputs >> slot & 1 == 0 {
                    target.write_mask = vk::ColorComponentFlags::empty();
                }
            }
            let description = GraphicsPipelineDescription {
                topology: fixed.topology,
                rasteriser: Rasteriser {
                    depth_clip: if fixed.depth_clamp {
                        DepthClip::Clamp
                    } else {
                        DepthClip::Clip
                    },
                    provoking_last: fixed.provoking_last,
                    ..Rasteriser::default()
                },
                colour_formats: &fixed.formats,
                blend: &blend,
                depth_format: fixed.depth_format,
                stencil_format: if fixed.has_stencil {
                    fixed.depth_format
                } else {
                    vk::Format::UNDEFINED
                },
                samples: vk::SampleCountFlags::from_raw(fixed.samples),
                ..GraphicsPipelineDescription::new(&name, &layout_object, stages)
            };
            let pipeline = device
                .create_graphics_pipeline(&description)
                .map_err(|error| error.to_string())?;
            Ok(layout.finish(PipelineObject::Graphics(pipeline)))
        }
    }
}

#[derive(Default)]
struct LayoutParts {
    description: PipelineLayoutDescription,
    push: Vec<(usize, u32, u32)>,
    stages: vk::ShaderStageFlags,
}

impl LayoutParts {
    fn add(&mut self, artifact: &StageModule, slot: usize, stages: vk::ShaderStageFlags) {
        for binding in &artifact.bindings {
            let kind = match binding.kind {
                BindingKind::StorageBuffer | BindingKind::PageTable => DescriptorKind::StorageBuffer,
                BindingKind::SampledImage => DescriptorKind::SampledImage,
                BindingKind::StorageImage => DescriptorKind::StorageImage,
                BindingKind::Sampler => DescriptorKind::Sampler,
                BindingKind::UniformBuffer => DescriptorKind::UniformBuffer,
            };
            self.description.bindings.push(Binding {
                binding: binding.binding,
                kind,
                count: 1,
                stages,
            });
        }
        if let Some(offset) = artifact.flat.push_constant_offset
            && artifact.flat.words > 0
        {
            self.push.push((slot, offset, artifact.flat.words));
            self.stages |= stages;
        }
    }

    /// One range over all push constants, read by every stage that reads any: so each update names the same
    /// stages.
    fn make(&mut self, device: &Device) -> Result<PipelineLayout, String> {
        if let Some(end) = self
            .push
            .iter()
            .map(|(_, offset, words)| offset + 4 * words)
            .max()
        {
            self.description.push_constants.push(PushConstantRange {
                stages: self.stages,
                offset: 0,
                size: end,
            });
        }
        device
            .pipeline_layout(&self.description)
            .map_err(|error| error.to_string())
    }

    fn finish(self, object: PipelineObject) -> Pipeline {
        Pipeline {
            object,
            push: self.push,
            push_stages: self.stages,
        }
    }
}
