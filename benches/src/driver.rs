//! The first Vulkan device, as far as making pipelines needs it: layouts come from the modules themselves.

use std::collections::BTreeMap;
use std::ffi::CStr;

use ash::vk;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Dim, ExecutionModel, Op, StorageClass};

/// What a module asks of its layout.
#[derive(Default)]
struct Reflection {
    stage: vk::ShaderStageFlags,

    /// By set and binding.
    bindings: BTreeMap<(u32, u32), (vk::DescriptorType, u32)>,
    push_constants: bool,
    /// Location and format of vertex attributes.
    inputs: BTreeMap<u32, vk::Format>,
    /// Location and format of colour targets.
    outputs: BTreeMap<u32, vk::Format>,
}

fn id(inst: &Instruction, index: usize) -> u32 {
    match inst.operands.get(index) {
        Some(Operand::IdRef(id)) => *id,
        _ => 0,
    }
}

fn literal(inst: &Instruction, index: usize) -> u32 {
    match inst.operands.get(index) {
        Some(Operand::LiteralBit32(bits)) => *bits,
        _ => 0,
    }
}

fn reflect(module: &Module) -> Option<Reflection> {
    let mut found = Reflection::default();
    let entry = module.entry_points.first()?;
    found.stage = match entry.operands.first()? {
        Operand::ExecutionModel(ExecutionModel::Vertex) => vk::ShaderStageFlags::VERTEX,
        Operand::ExecutionModel(ExecutionModel::Fragment) => vk::ShaderStageFlags::FRAGMENT,
        Operand::ExecutionModel(ExecutionModel::GLCompute) => vk::ShaderStageFlags::COMPUTE,
        _ => return None,
    };
    let defined: BTreeMap<u32, &Instruction> = module
        .types_global_values
        .iter()
        .filter_map(|inst| Some((inst.result_id?, inst)))
        .collect();
    let decorated = |target: u32, wanted: Decoration| {
        module.annotations.iter().find(|inst| {
            inst.class.opcode == Op::Decorate
                && id(inst, 0) == target
                && inst.operands.get(1) == Some(&Operand::Decoration(wanted))
        })
    };
    let number = |target, wanted| decorated(target, wanted).map(|inst| literal(inst, 2));
    for variable in module
        .types_global_values
        .iter()
        .filter(|inst| inst.class.opcode == Op::Variable)
    {
        let name = variable.result_id?;
        let Some(Operand::StorageClass(class)) = variable.operands.first() else {
            continue;
        };
        let mut ty = *defined.get(&id(defined.get(&variable.result_type?)?, 1))?;
        if *class == StorageClass::PushConstant {
            found.push_constants = true;
            continue;
        }
        let mut count = 1;
        while matches!(ty.class.opcode, Op::TypeArray | Op::TypeRuntimeArray) {
            count *= match ty.class.opcode {
                Op::TypeArray => literal(defined.get(&id(ty, 1))?, 0).max(1),
                _ => 16,
            };
            ty = defined.get(&id(ty, 0))?;
        }
        if let Some(binding) = number(name, Decoration::Binding) {
            use vk::DescriptorType as D;
            let block = decorated(ty.result_id?, Decoration::BufferBlock).is_some();
            let kind = match (class, ty.class.opcode) {
                (StorageClass::StorageBuffer, _) => D::STORAGE_BUFFER,
                (StorageClass::Uniform, _) if block => D::STORAGE_BUFFER,
                (StorageClass::Uniform, _) => D::UNIFORM_BUFFER,
                (_, Op::TypeSampler) => D::SAMPLER,
                (_, Op::TypeSampledImage) => D::COMBINED_IMAGE_SAMPLER,
                (_, Op::TypeImage) => match (ty.operands.get(1)?, literal(ty, 5)) {
                    (Operand::Dim(Dim::DimBuffer), 2) => D::STORAGE_TEXEL_BUFFER,
                    (Operand::Dim(Dim::DimBuffer), _) => D::UNIFORM_TEXEL_BUFFER,
                    (Operand::Dim(Dim::DimSubpassData), _) => D::INPUT_ATTACHMENT,
                    (_, 2) => D::STORAGE_IMAGE,
                    _ => D::SAMPLED_IMAGE,
                },
                _ => return None,
            };
            let set = number(name, Decoration::DescriptorSet).unwrap_or(0);
            found.bindings.insert((set, binding), (kind, count));
            continue;
        }
        let Some(location) = number(name, Decoration::Location) else {
            continue;
        };
        let (mut element, mut width) = (ty, 1);
        if element.class.opcode == Op::TypeMatrix {
            element = defined.get(&id(element, 0))?;
        }
        if element.class.opcode == Op::TypeVector {
            width = literal(element, 1);
            element = defined.get(&id(element, 0))?;
        }
        let signed = literal(element, 1) == 1;
        use vk::Format as F;
        let (vertex, target) = match element.class.opcode {
            Op::TypeInt if signed => (
                [
                    F::R32_SINT,
                    F::R32G32_SINT,
                    F::R32G32B32_SINT,
                    F::R32G32B32A32_SINT,
                ],
                F::R32G32B32A32_SINT,
            ),
            Op::TypeInt => (
                [
                    F::R32_UINT,
                    F::R32G32_UINT,
                    F::R32G32B32_UINT,
                    F::R32G32B32A32_UINT,
                ],
                F::R32G32B32A32_UINT,
            ),
            _ => (
                [
                    F::R32_SFLOAT,
                    F::R32G32_SFLOAT,
                    F::R32G32B32_SFLOAT,
                    F::R32G32B32A32_SFLOAT,
                ],
                F::R8G8B8A8_UNORM,
            ),
        };
        match (class, found.stage) {
            (StorageClass::Input, vk::ShaderStageFlags::VERTEX) => {
                let rows = if ty.class.opcode == Op::TypeMatrix {
                    literal(ty, 1)
                } else {
                    count
                };
                for row in 0..rows {
                    found
                        .inputs
                        .insert(location + row, vertex[width.clamp(1, 4) as usize - 1]);
                }
            }
            (StorageClass::Output, vk::ShaderStageFlags::FRAGMENT) => {
                for index in 0..count {
                    found.outputs.insert(location + index, target);
                }
            }
            _ => {}
        }
    }
    Some(found)
}

/// A device without queues in use.
pub struct Driver {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    /// What the driver calls the device.
    pub name: String,
    push_constants: u32,
}

/// Stages with their layout, from which a pipeline is made any number of times.
pub struct Recipe<'a> {
    driver: &'a Driver,
    stages: Vec<(Reflection, vk::ShaderModule)>,
    sets: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
}

impl Driver {
    /// The first device, with all features that it has.
    #[must_use]
    pub fn open() -> Option<Self> {
        // SAFETY: the loader is a well-behaved library; no other Vulkan object outlives the entry.
        let entry = unsafe { ash::Entry::load() }.ok()?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `info` and what it points to live through the call.
        let instance = unsafe { entry.create_instance(&info, None) }.ok()?;
        // SAFETY: the instance is alive.
        let physical = *unsafe { instance.enumerate_physical_devices() }.ok()?.first()?;
        // SAFETY: as above.
        let properties = unsafe { instance.get_physical_device_properties(physical) };
        let mut thirteen = vk::PhysicalDeviceVulkan13Features::default();
        let mut twelve = vk::PhysicalDeviceVulkan12Features::default();
        let mut eleven = vk::PhysicalDeviceVulkan11Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut thirteen)
            .push_next(&mut twelve)
            .push_next(&mut eleven);
        // SAFETY: the chain's structures are alive and of the types they claim.
        unsafe { instance.get_physical_device_features2(physical, &mut features) };
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .push_next(&mut features);
        // SAFETY: as above; queue family 0 exists on every device.
        let device = unsafe { instance.create_device(physical, &info, None) }.ok()?;
        let name = properties.device_name_as_c_str().unwrap_or(c"").to_string_lossy();
        Some(Self {
            _entry: entry,
            instance,
            device,
            name: name.into_owned(),
            push_constants: properties.limits.max_push_constants_size,
        })
    }

    /// Modules of one pipeline; `None` where a module asks for something that is not made here.
    #[must_use]
    pub fn recipe(&self, modules: &[&[u32]]) -> Option<Recipe<'_>> {
        let mut recipe = Recipe {
            driver: self,
            stages: Vec::new(),
            sets: Vec::new(),
            layout: vk::PipelineLayout::null(),
        };
        let mut bindings: BTreeMap<(u32, u32), (vk::DescriptorType, u32)> = BTreeMap::new();
        for words in modules {
            let found = reflect(&rspirv::dr::load_words(words).ok()?)?;
            bindings.extend(found.bindings.iter());
            let info = vk::ShaderModuleCreateInfo::default().code(words);
            // SAFETY: the device and the words are alive.
            let module = unsafe { self.device.create_shader_module(&info, None) }.ok()?;
            recipe.stages.push((found, module));
        }
        let stages = recipe
            .stages
            .iter()
            .fold(vk::ShaderStageFlags::empty(), |all, (found, _)| all | found.stage);
        let last = bindings.keys().map(|(set, _)| *set).max();
        for set in 0..last.map_or(0, |last| last + 1) {
            let list: Vec<_> = bindings
                .range((set, 0)..(set + 1, 0))
                .map(|(&(_, binding), &(kind, count))| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(binding)
                        .descriptor_type(kind)
                        .descriptor_count(count)
                        .stage_flags(stages)
                })
                .collect();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&list);
            // SAFETY: the device and the list are alive.
            recipe
                .sets
                .push(unsafe { self.device.create_descriptor_set_layout(&info, None) }.ok()?);
        }
        let ranges = [vk::PushConstantRange {
            stage_flags: stages,
            offset: 0,
            size: self.push_constants,
        }];
        let pushes = recipe.stages.iter().any(|(found, _)| found.push_constants);
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&recipe.sets)
            .push_constant_ranges(if pushes { &ranges } else { &[] });
        // SAFETY: the device and what the structure points to are alive.
        recipe.layout = unsafe { self.device.create_pipeline_layout(&info, None) }.ok()?;
        Some(recipe)
    }
}

impl Recipe<'_> {
    /// Makes the pipeline and drops it again.
    ///
    /// # Errors
    /// What the driver says.
    pub fn make(&self) -> Result<(), vk::Result> {
        const MAIN: &CStr = c"main";
        let stages: Vec<_> = self
            .stages
            .iter()
            .map(|(found, module)| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(found.stage)
                    .module(*module)
                    .name(MAIN)
            })
            .collect();
        let device = &self.driver.device;
        let made = if self.stages[0].0.stage == vk::ShaderStageFlags::COMPUTE {
            let info = vk::ComputePipelineCreateInfo::default()
                .stage(stages[0])
                .layout(self.layout);
            // SAFETY: all objects are of this device and alive.
            unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) }
        } else {
            self.graphics(&stages)
        };
        match made {
            Ok(pipelines) => {
                for pipeline in pipelines {
                    // SAFETY: nothing uses it.
                    unsafe { device.destroy_pipeline(pipeline, None) };
                }
                Ok(())
            }
            Err((_, error)) => Err(error),
        }
    }

    fn graphics(
        &self,
        stages: &[vk::PipelineShaderStageCreateInfo<'_>],
    ) -> Result<Vec<vk::Pipeline>, (Vec<vk::Pipeline>, vk::Result)> {
        let mut bindings = Vec::new();
        let mut attributes = Vec::new();
        let mut formats = Vec::new();
        for (found, _) in &self.stages {
            for (&location, &format) in &found.inputs {
                let binding = bindings.len() as u32;
                bindings.push(vk::VertexInputBindingDescription {
                    binding,
                    stride: 16,
                    input_rate: vk::VertexInputRate::VERTEX,
                });
                attributes.push(vk::VertexInputAttributeDescription {
                    location,
                    binding,
                    format,
                    offset: 0,
                });
            }
            for (&location, &format) in &found.outputs {
                let location = location as usize;
                if formats.len() <= location {
                    formats.resize(location + 1, vk::Format::R8G8B8A8_UNORM);
                }
                formats[location] = format;
            }
        }
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewport_count(1)
            .scissor_count(1);
        let rasterisation = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(true)
            .depth_write_enable(true)
            .depth_compare_op(vk::CompareOp::LESS);
        let targets = vec![
            vk::PipelineColorBlendAttachmentState::default()
                .color_write_mask(vk::ColorComponentFlags::RGBA);
            formats.len()
        ];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&targets);
        let states = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states);
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(&formats)
            .depth_attachment_format(vk::Format::D32_SFLOAT);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasterisation)
            .multisample_state(&samples)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(self.layout)
            .push_next(&mut rendering);
        // SAFETY: all objects are of this device and alive, and so is what the structures point to.
        unsafe {
            self.driver
                .device
                .create_graphics_pipelines(vk::PipelineCache::null(), &[info], None)
        }
    }
}

impl Drop for Recipe<'_> {
    fn drop(&mut self) {
        let device = &self.driver.device;
        // SAFETY: the objects are of this device, and no pipeline made from them is left.
        unsafe {
            device.destroy_pipeline_layout(self.layout, None);
            for &set in &self.sets {
                device.destroy_descriptor_set_layout(set, None);
            }
            for &(_, module) in &self.stages {
                device.destroy_shader_module(module, None);
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: recipes borrow the driver, so none is left.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
