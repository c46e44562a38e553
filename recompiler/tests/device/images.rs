//! One image and one sampler, for programs that use some.

use super::device::{Device, Picture};
use ash::vk;

impl Device {
    /// Makes a square image of `levels` levels, filled from the memory buffer at `offset`, level after level, and a
    /// sampler that takes the nearest texel of the nearest level.
    pub fn set_image(&mut self, format: vk::Format, size: u32, levels: u32, texel: u32, offset: u64) {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(vk::Extent3D {
                width: size,
                height: size,
                depth: 1,
            })
            .mip_levels(levels)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(
                vk::ImageUsageFlags::SAMPLED
                    | vk::ImageUsageFlags::STORAGE
                    | vk::ImageUsageFlags::TRANSFER_SRC
                    | vk::ImageUsageFlags::TRANSFER_DST,
            );
        // SAFETY: creation, binding and views of objects of this device, in order.
        let picture = unsafe {
            let image = self.device.create_image(&info, None).expect("an image");
            let needs = self.device.get_image_memory_requirements(image);
            let allocation = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(self.memory_type);
            let memory = self.device.allocate_memory(&allocation, None).expect("memory");
            self.device
                .bind_image_memory(image, memory, 0)
                .expect("a binding");
            let view = |levels: u32| {
                let info = vk::ImageViewCreateInfo::default()
                    .image(image)
                    .view_type(vk::ImageViewType::TYPE_2D)
                    .format(format)
                    .subresource_range(vk::ImageSubresourceRange {
                        aspect_mask: vk::ImageAspectFlags::COLOR,
                        base_mip_level: 0,
                        level_count: levels,
                        base_array_layer: 0,
                        layer_count: 1,
                    });
                self.device.create_image_view(&info, None).expect("a view")
            };
            let (sampled, storage) = (view(levels), view(1));
            let info = vk::SamplerCreateInfo::default()
                .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
                .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
                .max_lod(16.0);
            let sampler = self.device.create_sampler(&info, None).expect("a sampler");
            Picture {
                image,
                memory,
                sampled,
                storage,
                sampler,
            }
        };
        self.copy_image(picture.image, size, levels, texel, offset, true);
        if let Some(old) = self.picture.replace(picture) {
            self.free_picture(&old);
        }
    }

    /// Copies the image's first level to the memory buffer.
    pub fn read_image(&mut self, size: u32, texel: u32, offset: u64) {
        let image = self.picture.as_ref().expect("an image").image;
        self.copy_image(image, size, 1, texel, offset, false);
    }

    fn copy_image(&self, image: vk::Image, size: u32, levels: u32, texel: u32, offset: u64, upload: bool) {
        let buffer = self.buffer.as_ref().expect("allocated").buffer;
        let mut regions = Vec::new();
        let mut at = offset;
        for level in 0..levels {
            let side = size >> level;
            regions.push(
                vk::BufferImageCopy::default()
                    .buffer_offset(at)
                    .image_subresource(vk::ImageSubresourceLayers {
                        aspect_mask: vk::ImageAspectFlags::COLOR,
                        mip_level: level,
                        base_array_layer: 0,
                        layer_count: 1,
                    })
                    .image_extent(vk::Extent3D {
                        width: side,
                        height: side,
                        depth: 1,
                    }),
            );
            at += u64::from(side * side * texel);
        }
        let barrier = vk::ImageMemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
            .old_layout(if upload {
                vk::ImageLayout::UNDEFINED
            } else {
                vk::ImageLayout::GENERAL
            })
            .new_layout(vk::ImageLayout::GENERAL)
            .image(image)
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                base_mip_level: 0,
                level_count: vk::REMAINING_MIP_LEVELS,
                base_array_layer: 0,
                layer_count: 1,
            });
        self.submit(|d, commands| {
            // SAFETY: the commands are being recorded, and all objects are of this device and alive.
            unsafe {
                d.cmd_pipeline_barrier(
                    commands,
                    vk::PipelineStageFlags::ALL_COMMANDS,
                    vk::PipelineStageFlags::ALL_COMMANDS,
                    vk::DependencyFlags::empty(),
                    &[],
                    &[],
                    &[barrier],
                );
                if upload {
                    d.cmd_copy_buffer_to_image(commands, buffer, image, vk::ImageLayout::GENERAL, &regions);
                } else {
                    d.cmd_copy_image_to_buffer(commands, image, vk::ImageLayout::GENERAL, buffer, &regions);
                }
            }
        });
    }
}
