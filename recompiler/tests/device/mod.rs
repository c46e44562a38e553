//! The smallest Vulkan device that runs compute programs.

use ash::vk;
use relic_recompiler::{Artifact, BindingKind};

/// A range of the memory buffer, for one binding. A size of 0 binds nothing.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub offset: u64,
    pub size: u64,
}

pub struct Device {
    _entry: ash::Entry,
    instance: ash::Instance,
    pub(crate) device: ash::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    pub(crate) memory_type: u32,
    pub(crate) picture: Option<Picture>,
    pub(crate) buffer: Option<Mapped>,
    uniform: Option<Mapped>,
    pub(crate) page_table: Option<Mapped>,
    pipelines: std::collections::HashMap<u64, (vk::DescriptorSetLayout, vk::PipelineLayout, vk::Pipeline)>,
}

pub(crate) struct Mapped {
    pub buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    pub bytes: *mut u8,
    size: usize,
}

/// What image bindings name.
pub(crate) struct Picture {
    pub image: vk::Image,
    pub memory: vk::DeviceMemory,
    /// All levels, and the first.
    pub sampled: vk::ImageView,
    pub storage: vk::ImageView,
    pub sampler: vk::Sampler,
}

impl Device {
    /// The first device with a compute queue, or `None` where there is no Vulkan.
    pub fn open() -> Option<Self> {
        // SAFETY: the loader is a well-behaved library; no other Vulkan object outlives the entry.
        let entry = unsafe { ash::Entry::load() }.ok()?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `info` and what it points to live through the call.
        let instance = unsafe { entry.create_instance(&info, None) }.ok()?;
        // SAFETY: the instance is alive.
        let physical = *unsafe { instance.enumerate_physical_devices() }.ok()?.first()?;
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut demote = vk::PhysicalDeviceVulkan13Features::default();
        let mut twelve = vk::PhysicalDeviceVulkan12Features::default();
        let mut eleven = vk::PhysicalDeviceVulkan11Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut robustness)
            .push_next(&mut demote)
            .push_next(&mut twelve)
            .push_next(&mut eleven);
        // SAFETY: the chain's structures are alive and of the types they claim.
        unsafe { instance.get_physical_device_features2(physical, &mut features) };
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let extensions = [ash::ext::robustness2::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut features);
        // SAFETY: as above; queue family 0 exists on every device and computes on those tested.
        let device = unsafe { instance.create_device(physical, &info, None) }.ok()?;
        // SAFETY: family 0 was created with one queue.
        let queue = unsafe { device.get_device_queue(0, 0) };
        // SAFETY: the device is alive.
        let pool = unsafe { device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None) }.ok()?;
        // SAFETY: the instance is alive.
        let memories = unsafe { instance.get_physical_device_memory_properties(physical) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let memory_type = memories
            .memory_types_as_slice()
            .iter()
            .position(|ty| ty.property_flags.contains(wanted))? as u32;
        Some(Self {
            _entry: entry,
            instance,
            device,
            queue,
            pool,
            memory_type,
            picture: None,
            buffer: None,
            uniform: None,
            page_table: None,
            pipelines: std::collections::HashMap::new(),
        })
    }

    pub(crate) fn mapped(&self, size: u64, usage: vk::BufferUsageFlags) -> Mapped {
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: plain creation, binding and mapping of objects of this device, in order.
        unsafe {
            let buffer = self.device.create_buffer(&info, None).expect("a buffer");
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let mut flags =
                vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
            let allocation = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(self.memory_type)
                .push_next(&mut flags);
            let memory = self.device.allocate_memory(&allocation, None).expect("memory");
            self.device
                .bind_buffer_memory(buffer, memory, 0)
                .expect("a binding");
            let bytes = self
                .device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .expect("a mapping")
                .cast::<u8>();
            std::ptr::write_bytes(bytes, 0, size as usize);
            Mapped {
                buffer,
                memory,
                bytes,
                size: size as usize,
            }
        }
    }

    pub(crate) fn free(&self, mapped: &Mapped) {
        // SAFETY: the queue is idle between dispatches, and the mapping is not used again.
        unsafe {
            self.device.destroy_buffer(mapped.buffer, None);
            self.device.free_memory(mapped.memory, None);
        }
    }

    /// Makes the memory buffer anew, zeroed.
    pub fn allocate(&mut self, size: u64) {
        for old in [self.buffer.take(), self.page_table.take()].into_iter().flatten() {
            self.free(&old);
        }
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        self.buffer = Some(self.mapped(size.max(256), usage));
    }

    /// The memory buffer's bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        let mapped = self.buffer.as_ref().expect("allocated");
        // SAFETY: the mapping is alive, and the queue is idle whenever a test holds the slice.
        unsafe { std::slice::from_raw_parts_mut(mapped.bytes, mapped.size) }
    }

    fn pipeline(
        &mut self,
        artifact: &Artifact,
    ) -> (vk::DescriptorSetLayout, vk::PipelineLayout, vk::Pipeline) {
        if let Some(&known) = self.pipelines.get(&artifact.content_hash) {
            return known;
        }
        let bindings: Vec<_> = artifact
            .bindings
            .iter()
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding.binding)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
                    .descriptor_type(match binding.kind {
                        BindingKind::StorageBuffer | BindingKind::PageTable => {
                            vk::DescriptorType::STORAGE_BUFFER
                        }
                        BindingKind::UniformBuffer => vk::DescriptorType::UNIFORM_BUFFER,
                        BindingKind::SampledImage => vk::DescriptorType::SAMPLED_IMAGE,
                        BindingKind::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
                        BindingKind::Sampler => vk::DescriptorType::SAMPLER,
                    })
            })
            .collect();
        // SAFETY: creation of objects of this device from structures that live through the calls.
        unsafe {
            let layout = self
                .device
                .create_descriptor_set_layout(
                    &vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings),
                    None,
                )
                .expect("a set layout");
            let ranges = [vk::PushConstantRange {
                stage_flags: vk::ShaderStageFlags::COMPUTE,
                offset: 0,
                size: 128,
            }];
            let layouts = [layout];
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&layouts)
                .push_constant_ranges(&ranges);
            let pipeline_layout = self.device.create_pipeline_layout(&info, None).expect("a layout");
            let module = self
                .device
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&artifact.spirv), None)
                .expect("a module");
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let infos = [vk::ComputePipelineCreateInfo::default()
                .stage(stage)
                .layout(pipeline_layout)];
            let pipeline = self
                .device
                .create_compute_pipelines(vk::PipelineCache::null(), &infos, None)
                .expect("a pipeline")[0];
            self.device.destroy_shader_module(module, None);
            self.pipelines
                .insert(artifact.content_hash, (layout, pipeline_layout, pipeline));
            (layout, pipeline_layout, pipeline)
        }
    }

    /// Records commands and runs them to their end.
    pub(crate) fn submit(&self, record: impl FnOnce(&ash::Device, vk::CommandBuffer)) {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .command_buffer_count(1);
        let d = &self.device;
        // SAFETY: the commands are of this device and waited for before they are freed.
        unsafe {
            let commands = d.allocate_command_buffers(&info).expect("commands");
            d.begin_command_buffer(commands[0], &vk::CommandBufferBeginInfo::default())
                .expect("a start");
            record(d, commands[0]);
            d.end_command_buffer(commands[0]).expect("an end");
            let submits = [vk::SubmitInfo::default().command_buffers(&commands)];
            d.queue_submit(self.queue, &submits, vk::Fence::null())
                .expect("a submission");
            d.queue_wait_idle(self.queue).expect("an idle queue");
            d.free_command_buffers(self.pool, &commands);
        }
    }

    pub(crate) fn free_picture(&self, picture: &Picture) {
        // SAFETY: the queue is idle between submissions, and the picture is not used again.
        unsafe {
            self.device.destroy_sampler(picture.sampler, None);
            self.device.destroy_image_view(picture.sampled, None);
            self.device.destroy_image_view(picture.storage, None);
            self.device.destroy_image(picture.image, None);
            self.device.free_memory(picture.memory, None);
        }
    }

    /// Runs one dispatch to its end.
    pub fn dispatch(&mut self, artifact: &Artifact, bound: &[Bound], flat: &[u32], groups: [u32; 3]) {
        if groups.contains(&0) {
            return;
        }
        let (set_layout, layout, pipeline) = self.pipeline(artifact);
        if let Some(old) = self.uniform.take() {
            self.free(&old);
        }
        let uniform = self.mapped(
            4 * (flat.len() as u64).max(4) + 16,
            vk::BufferUsageFlags::UNIFORM_BUFFER,
        );
        // SAFETY: the mapping holds at least the flat words.
        unsafe { std::ptr::copy_nonoverlapping(flat.as_ptr().cast::<u8>(), uniform.bytes, 4 * flat.len()) };
        let memory = self.buffer.as_ref().expect("allocated").buffer;
        let sizes = [
            vk::DescriptorPoolSize {
                ty: vk::DescriptorType::STORAGE_BUFFER,
                descriptor_count: 64,
            },
            vk::DescriptorPoolSize {
                ty: vk::DescriptorType::UNIFORM_BUFFER,
                descriptor_count: 1,
            },
            vk::DescriptorPoolSize {
                ty: vk::DescriptorType::SAMPLED_IMAGE,
                descriptor_count: 4,
            },
            vk::DescriptorPoolSize {
                ty: vk::DescriptorType::STORAGE_IMAGE,
                descriptor_count: 4,
            },
            vk::DescriptorPoolSize {
                ty: vk::DescriptorType::SAMPLER,
                descriptor_count: 4,
            },
        ];
        let layouts = [set_layout];
        let images: Vec<_> = artifact
            .bindings
            .iter()
            .map(|binding| {
                let info = vk::DescriptorImageInfo::default().image_layout(vk::ImageLayout::GENERAL);
                let picture = self.picture.as_ref();
                match (binding.kind, picture) {
                    (BindingKind::SampledImage, Some(picture)) => [info.image_view(picture.sampled)],
                    (BindingKind::StorageImage, Some(picture)) => [info.image_view(picture.storage)],
                    (BindingKind::Sampler, Some(picture)) => [info.sampler(picture.sampler)],
                    _ => [info],
                }
            })
            .collect();
        let infos: Vec<_> = artifact
            .bindings
            .iter()
            .map(|binding| match binding.descriptor {
                Some(index) => {
                    let range = bound[index as usize];
                    [if range.size == 0 {
                        vk::DescriptorBufferInfo::default().range(vk::WHOLE_SIZE)
                    } else {
                        vk::DescriptorBufferInfo {
                            buffer: memory,
                            offset: range.offset,
                            range: range.size,
                        }
                    }]
                }
                None if binding.kind == BindingKind::PageTable => [vk::DescriptorBufferInfo {
                    buffer: self.page_table.as_ref().expect("a page table").buffer,
                    offset: 0,
                    range: vk::WHOLE_SIZE,
                }],
                None => [vk::DescriptorBufferInfo {
                    buffer: uniform.buffer,
                    offset: 0,
                    range: vk::WHOLE_SIZE,
                }],
            })
            .collect();
        // SAFETY: all objects belong to this device, the infos outlive the update, and the queue is waited for
        // before anything is destroyed.
        unsafe {
            let d = &self.device;
            let pool = d
                .create_descriptor_pool(
                    &vk::DescriptorPoolCreateInfo::default()
                        .max_sets(1)
                        .pool_sizes(&sizes),
                    None,
                )
                .expect("a pool");
            let set = d
                .allocate_descriptor_sets(
                    &vk::DescriptorSetAllocateInfo::default()
                        .descriptor_pool(pool)
                        .set_layouts(&layouts),
                )
                .expect("a set")[0];
            let writes: Vec<_> = artifact
                .bindings
                .iter()
                .zip(infos.iter().zip(&images))
                .map(|(binding, (buffer, image))| {
                    let write = vk::WriteDescriptorSet::default()
                        .dst_set(set)
                        .dst_binding(binding.binding);
                    match binding.kind {
                        BindingKind::UniformBuffer => write
                            .buffer_info(buffer)
                            .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER),
                        BindingKind::StorageBuffer | BindingKind::PageTable => write
                            .buffer_info(buffer)
                            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER),
                        BindingKind::SampledImage => write
                            .image_info(image)
                            .descriptor_type(vk::DescriptorType::SAMPLED_IMAGE),
                        BindingKind::StorageImage => write
                            .image_info(image)
                            .descriptor_type(vk::DescriptorType::STORAGE_IMAGE),
                        BindingKind::Sampler => write
                            .image_info(image)
                            .descriptor_type(vk::DescriptorType::SAMPLER),
                    }
                })
                .collect();
            d.update_descriptor_sets(&writes, &[]);
            self.submit(|d, commands| {
                d.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
                if !artifact.bindings.is_empty() {
                    d.cmd_bind_descriptor_sets(
                        commands,
                        vk::PipelineBindPoint::COMPUTE,
                        layout,
                        0,
                        &[set],
                        &[],
                    );
                }
                if let Some(offset) = artifact.flat.push_constant_offset {
                    let bytes: Vec<u8> = flat.iter().flat_map(|word| word.to_le_bytes()).collect();
                    d.cmd_push_constants(commands, layout, vk::ShaderStageFlags::COMPUTE, offset, &bytes);
                }
                d.cmd_dispatch(commands, groups[0], groups[1], groups[2]);
            });
            d.destroy_descriptor_pool(pool, None);
        }
        self.uniform = Some(uniform);
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Some(picture) = self.picture.take() {
            self.free_picture(&picture);
        }
        for mapped in [self.buffer.take(), self.uniform.take(), self.page_table.take()]
            .into_iter()
            .flatten()
        {
            self.free(&mapped);
        }
        // SAFETY: the queue is idle and nothing made from the device is used again.
        unsafe {
            for (layout, pipeline_layout, pipeline) in self.pipelines.drain().map(|(_, known)| known) {
                self.device.destroy_pipeline(pipeline, None);
                self.device.destroy_pipeline_layout(pipeline_layout, None);
                self.device.destroy_descriptor_set_layout(layout, None);
            }
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
