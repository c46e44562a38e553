//! Images and drawing, pixel by pixel.

#![expect(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod common;

use common::{assert_silent, device, settle, words};
use relic_vulkan::{
    Attachment, Binding, BlendEquation, BlendTarget, BufferDescription, ClearValue,
    ComputePipelineDescription, DepthState, Descriptor, DescriptorKind, DescriptorWrite, Device, Feature,
    GraphicsPipeline, GraphicsPipelineDescription, GraphicsStages, Image, ImageDescription, ImageDimension,
    ImageError, ImageUse, LoadOp, MemoryKind, PipelineError, PipelineLayout, PipelineLayoutDescription,
    RecordError, Recorder, RenderingInfo, Resolve, SamplerDescription, ShaderStage, StreamBuffer,
    StreamDescription, UploadRegion, Validation, ViewDescription, Viewport, vk,
};

const SIZE: u32 = 16;
const GRAPHICS: vk::PipelineBindPoint = vk::PipelineBindPoint::GRAPHICS;
const RGBA8: vk::Format = vk::Format::R8G8B8A8_UNORM;

fn area() -> vk::Rect2D {
    vk::Rect2D {
        offset: vk::Offset2D::default(),
        extent: vk::Extent2D {
            width: SIZE,
            height: SIZE,
        },
    }
}

fn viewport() -> Viewport {
    let size = SIZE as f32;
    Viewport {
        x: 0.0,
        y: 0.0,
        width: size,
        height: size,
        min_depth: 0.0,
        max_depth: 1.0,
    }
}

fn target(device: &Device, name: &str) -> Image {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    device
        .create_image(ImageDescription::new_2d(name, RGBA8, SIZE, SIZE, usage))
        .unwrap()
}

fn colour_layout(device: &Device) -> PipelineLayout {
    let colour = Binding {
        binding: 0,
        kind: DescriptorKind::UniformBuffer,
        count: 1,
        stages: vk::ShaderStageFlags::FRAGMENT,
    };
    device
        .pipeline_layout(&PipelineLayoutDescription {
            bindings: vec![colour],
            push_constants: Vec::new(),
        })
        .unwrap()
}

/// The triangle's pipeline, with what `change` makes of its description.
fn triangle(
    device: &Device,
    change: impl FnOnce(&mut GraphicsPipelineDescription<'_>),
) -> Result<GraphicsPipeline, PipelineError> {
    let layout = colour_layout(device);
    let vertex = shader!("triangle.vert");
    let fragment = shader!("uniform_colour.frag");
    let stages = GraphicsStages {
        vertex: Some(ShaderStage::new(&vertex)),
        fragment: Some(ShaderStage::new(&fragment)),
        ..GraphicsStages::default()
    };
    let blend = [BlendTarget::default()];
    let mut description = GraphicsPipelineDescription {
        colour_formats: &[RGBA8],
        blend: &blend,
        ..GraphicsPipelineDescription::new("triangle", &layout, stages)
    };
    change(&mut description);
    device.create_graphics_pipeline(&description)
}

fn push_colour(
    recorder: &mut Recorder,
    stream: &mut StreamBuffer,
    layout: &PipelineLayout,
    colour: [f32; 4],
) {
    let bytes: Vec<u8> = colour.iter().flat_map(|channel| channel.to_ne_bytes()).collect();
    let device = recorder.device().clone();
    let align = device.descriptor_alignment(DescriptorKind::UniformBuffer);
    let range = stream.push(&bytes, align, device.next_value()).unwrap();
    let writes = [DescriptorWrite::new(0, Descriptor::UniformBuffer(range.slice()))];
    recorder.push_descriptors(GRAPHICS, layout, &writes);
}

/// Whether the triangle covers a pixel: strictly inside, strictly outside, or on its edge.
fn covered(x: u32, y: u32) -> Option<bool> {
    let edge = (2 * x + 1) + (2 * y + 1);
    (edge != 2 * SIZE).then_some(edge < 2 * SIZE)
}

fn assert_triangle(pixels: &[u32], inside: u32, outside: u32) {
    assert_eq!(pixels.len(), (SIZE * SIZE) as usize);
    for y in 0..SIZE {
        for x in 0..SIZE {
            let found = pixels[(y * SIZE + x) as usize];
            match covered(x, y) {
                Some(true) => assert_eq!(found, inside, "({x}, {y}): {found:#x}"),
                Some(false) => assert_eq!(found, outside, "({x}, {y}): {found:#x}"),
                None => assert!(found == inside || found == outside, "({x}, {y}): {found:#x}"),
            }
        }
    }
}

#[test]
fn a_triangle_over_a_clear() {
    let Some(device) = device() else { return };
    let pipeline = triangle(&device, |_| {}).unwrap();
    let image = target(&device, "target");
    let view = image.whole_view().unwrap();
    let mut stream = device.create_stream(StreamDescription::default());
    let mut recorder = device.create_recorder();
    recorder.begin_label("frame");
    let clear = LoadOp::Clear(ClearValue::Float([0.0, 0.0, 1.0, 1.0]));
    let colour = [Some(Attachment::new(&view, clear))];
    let info = RenderingInfo {
        area: area(),
        layers: 1,
        colour: &colour,
        depth: None,
        stencil: None,
    };
    recorder.begin_rendering(&info);
    recorder.bind_graphics(&pipeline);
    recorder.set_viewports(&[viewport()]);
    recorder.set_scissors(&[area()]);
    push_colour(
        &mut recorder,
        &mut stream,
        pipeline.layout(),
        [1.0, 0.0, 0.0, 1.0],
    );
    recorder.draw(0..3, 0..1);
    assert!(recorder.is_rendering());
    let readback = recorder
        .readback_image(&image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    assert!(!recorder.is_rendering(), "the copy ended rendering");
    assert_eq!(image.current_use(), ImageUse::TransferSource);
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    assert_triangle(&words(readback.bytes().unwrap()), 0xff00_00ff, 0xffff_0000);

    // Loaded content stays, a scissor holds, indices and indirect arguments work, and blending adds.
    let add = BlendEquation {
        source: vk::BlendFactor::ONE,
        destination: vk::BlendFactor::ONE,
        operation: vk::BlendOp::ADD,
    };
    let targets = [BlendTarget {
        blend: Some((add, add)),
        ..BlendTarget::default()
    }];
    let blended = triangle(&device, |d| d.blend = &*Box::leak(Box::new(targets))).unwrap();
    let buffer = device
        .create_buffer(&BufferDescription {
            size: 256,
            usage: vk::BufferUsageFlags::INDEX_BUFFER | vk::BufferUsageFlags::INDIRECT_BUFFER,
            memory: MemoryKind::HostVisible,
        })
        .unwrap();
    // Indices 2 1 0 (the back face), then arguments: 3 indices, 1 instance, first 0, offset 0, instance 0.
    let content: Vec<u8> = [2_u32, 1, 0, 0, 3, 1, 0, 0, 0]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    // SAFETY: the GPU does not use the buffer yet.
    unsafe { buffer.write(0, &content) }.unwrap();
    let colour = [Some(Attachment::new(&view, LoadOp::Load))];
    let info = RenderingInfo {
        area: area(),
        layers: 1,
        colour: &colour,
        depth: None,
        stencil: None,
    };
    recorder.set_viewports(&[viewport()]);
    recorder.begin_rendering(&info);
    recorder.bind_graphics(&blended);
    let left = vk::Extent2D {
        width: 1,
        height: SIZE,
    };
    recorder.set_scissors(&[vk::Rect2D {
        extent: left,
        ..area()
    }]);
    push_colour(&mut recorder, &mut stream, blended.layout(), [0.0, 1.0, 0.0, 0.0]);
    recorder.bind_index_buffer(buffer.whole(), vk::IndexType::UINT32);
    recorder.begin_rendering(&info);
    recorder.draw_indexed_indirect(buffer.slice(16, 20).unwrap(), 1, 20);
    recorder.set_cull_mode(vk::CullModeFlags::FRONT_AND_BACK);
    recorder.draw_indexed(0..3, 0, 0..1);
    let readback = recorder
        .readback_image(&image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let pixels = words(readback.bytes().unwrap());
    assert_eq!(
        pixels[0], 0xff00_ffff,
        "red and green add up inside of the scissor, once"
    );
    assert_eq!(pixels[1], 0xff00_00ff, "outside of the scissor red stays");
    assert_eq!(pixels[(SIZE * SIZE - 1) as usize], 0xffff_0000);
}

#[test]
fn depth_and_samples() {
    let Some(device) = device() else { return };
    let format = vk::Format::D32_SFLOAT;
    let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let depth = device
        .create_image(ImageDescription::new_2d("depth", format, SIZE, SIZE, usage))
        .unwrap();
    let image = target(&device, "resolved");
    let samples = vk::SampleCountFlags::TYPE_4;
    let multisampled = device
        .create_image(ImageDescription {
            samples,
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            ..image.description().clone()
        })
        .unwrap();
    let depth_samples = device
        .create_image(ImageDescription {
            samples,
            usage: vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ..depth.description().clone()
        })
        .unwrap();
    let pipeline = triangle(&device, |d| {
        d.depth_format = format;
        d.samples = samples;
    })
    .unwrap();
    let (view, resolve_view) = (multisampled.whole_view().unwrap(), image.whole_view().unwrap());
    let (depth_view, depth_resolve) = (depth_samples.whole_view().unwrap(), depth.whole_view().unwrap());
    let mut stream = device.create_stream(StreamDescription::default());
    let mut recorder = device.create_recorder();
    let colour = [Some(Attachment {
        resolve: Some(Resolve {
            view: &resolve_view,
            mode: vk::ResolveModeFlags::AVERAGE,
        }),
        ..Attachment::new(&view, LoadOp::Clear(ClearValue::Float([0.0; 4])))
    })];
    let depth_attachment = Attachment {
        resolve: Some(Resolve {
            view: &depth_resolve,
            mode: vk::ResolveModeFlags::SAMPLE_ZERO,
        }),
        ..Attachment::new(&depth_view, LoadOp::Clear(ClearValue::Depth(0.75)))
    };
    recorder.begin_rendering(&RenderingInfo {
        area: area(),
        layers: 1,
        colour: &colour,
        depth: Some(depth_attachment),
        stencil: None,
    });
    recorder.bind_graphics(&pipeline);
    recorder.set_viewports(&[viewport()]);
    recorder.set_scissors(&[area()]);
    let less = DepthState {
        test: true,
        write: true,
        compare: vk::CompareOp::LESS,
        bounds: None,
    };
    recorder.set_depth(less);
    push_colour(&mut recorder, &mut stream, pipeline.layout(), [1.0; 4]);
    recorder.draw(0..3, 0..1);
    // The same depth again is not less: nothing changes.
    push_colour(&mut recorder, &mut stream, pipeline.layout(), [0.0; 4]);
    recorder.draw(0..3, 0..1);
    let colours = recorder
        .readback_image(&image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    let depths = recorder
        .readback_image(&depth, vk::ImageAspectFlags::DEPTH, 0, 0..1)
        .unwrap();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let pixels = words(colours.bytes().unwrap());
    let depths = words(depths.bytes().unwrap());
    for (x, y, white) in [
        (0, 0, true),
        (SIZE - 1, SIZE - 1, false),
        (3, 3, true),
        (12, 12, false),
    ] {
        let at = (y * SIZE + x) as usize;
        assert_eq!(pixels[at], if white { u32::MAX } else { 0 }, "({x}, {y})");
        assert_eq!(
            f32::from_bits(depths[at]),
            if white { 0.5 } else { 0.75 },
            "({x}, {y})"
        );
    }
}

#[test]
fn mips_and_layers_round_trip() {
    let Some(device) = device() else { return };
    let cases = [
        (RGBA8, 4_usize),
        (vk::Format::R8_UNORM, 1),
        (vk::Format::R16G16B16A16_SFLOAT, 8),
        (vk::Format::R32G32B32A32_UINT, 16),
        (vk::Format::D32_SFLOAT, 4),
    ];
    for (format, bytes) in cases {
        let (mips, layers) = (4, 3);
        let image = device
            .create_image(ImageDescription {
                mips,
                layers,
                ..ImageDescription::new_2d(
                    format!("{format:?}"),
                    format,
                    20,
                    12,
                    vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
                )
            })
            .unwrap();
        let mut stream = device.create_stream(StreamDescription::default());
        let mut recorder = device.create_recorder();
        let content = |mip: u32, layer: u32| -> Vec<u8> {
            let extent = image.mip_extent(mip);
            let length = (extent.width * extent.height) as usize * bytes;
            // Depth has to stay within 0 to 1: a float of 2^-16 to 2^-1 and no more.
            (0..length)
                .map(|i| match (format, i % 4) {
                    (vk::Format::D32_SFLOAT, 3) => 0x3c,
                    _ => (i as u32 * 7 + mip * 31 + layer * 101) as u8,
                })
                .collect()
        };
        assert_eq!(
            image.mip_extent(3),
            vk::Extent3D {
                width: 2,
                height: 1,
                depth: 1
            }
        );
        let mut readbacks = Vec::new();
        for mip in 0..mips {
            for layer in 0..layers {
                let bytes = content(mip, layer);
                // An odd byte before it: the upload has to find its own alignment.
                stream.push(&[0], 1, device.next_value()).unwrap();
                let region = UploadRegion::whole(&image, mip, layer, &bytes);
                recorder.upload_image(&mut stream, &image, &[region], device.next_value());
            }
        }
        for mip in 0..mips {
            readbacks.push(
                recorder
                    .readback_image(&image, image.aspects(), mip, 0..layers)
                    .unwrap(),
            );
        }
        let value = device.submit(&mut recorder).unwrap();
        settle(&device, value);
        for (mip, readback) in (0..).zip(&readbacks) {
            let expected: Vec<u8> = (0..layers).flat_map(|layer| content(mip, layer)).collect();
            assert!(readback.bytes().unwrap() == expected, "{format:?} mip {mip}");
        }
        let short = [0; 3];
        let region = UploadRegion::whole(&image, 0, 0, &short);
        recorder.upload_image(&mut stream, &image, &[region], device.next_value());
        assert!(matches!(
            recorder.take_error(),
            Some(RecordError::Argument {
                command: "upload_image",
                ..
            })
        ));
    }
}

#[test]
fn shaders_sample_the_mip_they_ask_for() {
    let Some(device) = device() else { return };
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = device
        .create_image(ImageDescription {
            mips: 2,
            ..ImageDescription::new_2d("texture", RGBA8, 2, 2, usage)
        })
        .unwrap();
    let stages = vk::ShaderStageFlags::COMPUTE;
    let bind = |binding, kind| Binding {
        binding,
        kind,
        count: 1,
        stages,
    };
    let layout = device
        .pipeline_layout(&PipelineLayoutDescription {
            bindings: vec![
                bind(0, DescriptorKind::StorageBuffer),
                bind(1, DescriptorKind::SampledImage),
                bind(2, DescriptorKind::Sampler),
            ],
            push_constants: Vec::new(),
        })
        .unwrap();
    let spirv = shader!("sample.comp");
    let pipeline = device
        .create_compute_pipeline(&ComputePipelineDescription {
            name: "sample",
            layout: &layout,
            shader: ShaderStage::new(&spirv),
        })
        .unwrap();
    let out = device
        .create_buffer(&BufferDescription {
            size: 16,
            usage: vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC,
            memory: MemoryKind::DeviceLocal,
        })
        .unwrap();
    let sampler = device.sampler(&SamplerDescription::default()).unwrap();
    assert_eq!(sampler, device.sampler(&SamplerDescription::default()).unwrap());
    assert_eq!(device.sampler_count(), 1);
    let view = image.whole_view().unwrap();
    assert_eq!(view.raw(), image.whole_view().unwrap().raw(), "views are cached");
    let first_mip = image
        .view(&ViewDescription {
            mips: 1,
            ..ViewDescription::whole(&image)
        })
        .unwrap();
    assert_ne!(view.raw(), first_mip.raw());

    let mut stream = device.create_stream(StreamDescription::default());
    let mut recorder = device.create_recorder();
    let next = device.next_value();
    recorder.upload_image(
        &mut stream,
        &image,
        &[UploadRegion::whole(&image, 0, 0, &[255; 16])],
        next,
    );
    recorder.upload_image(
        &mut stream,
        &image,
        &[UploadRegion::whole(&image, 1, 0, &[51, 102, 0, 255])],
        next,
    );
    recorder.bind_compute(&pipeline);
    let writes = [
        DescriptorWrite::new(0, Descriptor::StorageBuffer(out.whole())),
        DescriptorWrite::new(1, Descriptor::SampledImage(&view)),
        DescriptorWrite::new(2, Descriptor::Sampler(sampler)),
    ];
    recorder.push_descriptors(vk::PipelineBindPoint::COMPUTE, &layout, &writes);
    let error = recorder.take_error().unwrap();
    assert!(
        matches!(error, RecordError::ImageUse { binding: 1, .. }),
        "{error}"
    );
    recorder.transition(&image, ImageUse::Sampled);
    recorder.push_descriptors(vk::PipelineBindPoint::COMPUTE, &layout, &writes);
    recorder.dispatch([1, 1, 1]);
    let readback = recorder.readback_buffer(out.whole()).unwrap();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let texel: Vec<f32> = words(readback.bytes().unwrap())
        .into_iter()
        .map(f32::from_bits)
        .collect();
    for (found, expected) in texel.iter().zip([0.2, 0.4, 0.0, 1.0]) {
        assert!((found - expected).abs() < 1e-6, "{texel:?}");
    }
}

#[test]
fn a_discarded_recording_leaves_images_as_they_were() {
    let Some(device) = device() else { return };
    let usage = vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::TRANSFER_SRC;
    let image = device
        .create_image(ImageDescription::new_2d("cleared", RGBA8, 4, 4, usage))
        .unwrap();
    let mut recorder = device.create_recorder();
    recorder.clear_colour(&image, ClearValue::Float([1.0; 4]));
    device.submit(&mut recorder).unwrap();
    recorder.transition(&image, ImageUse::TransferSource);
    recorder.transition(&image, ImageUse::General);
    recorder.discard();
    assert_eq!(image.current_use(), ImageUse::TransferDestination);
    let readback = recorder
        .readback_image(&image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    assert_eq!(words(readback.bytes().unwrap()), [u32::MAX; 16]);
}

#[test]
fn commands_out_of_place_are_errors() {
    let Some(device) = device() else { return };
    let image = target(&device, "target");
    let view = image.whole_view().unwrap();
    let pipeline = triangle(&device, |_| {}).unwrap();
    let mut recorder = device.create_recorder();
    recorder.draw(0..3, 0..1);
    assert!(matches!(
        recorder.take_error(),
        Some(RecordError::NotRendering { command: "draw" })
    ));
    let colour = [Some(Attachment::new(&view, LoadOp::Discard))];
    let info = RenderingInfo {
        area: area(),
        layers: 1,
        colour: &colour,
        depth: None,
        stencil: None,
    };
    recorder.begin_rendering(&info);
    recorder.draw(0..3, 0..1);
    assert!(matches!(
        recorder.take_error(),
        Some(RecordError::NoPipeline { .. })
    ));
    recorder.bind_graphics(&pipeline);
    recorder.draw_indexed(0..3, 0, 0..1);
    assert!(matches!(
        recorder.take_error(),
        Some(RecordError::NoIndexBuffer { .. })
    ));
    let mut wide = area();
    wide.extent.width += 1;
    recorder.begin_rendering(&RenderingInfo { area: wide, ..info });
    let error = recorder.take_error().unwrap();
    assert!(error.to_string().contains("target"), "{error}");
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
}

#[test]
fn what_the_device_lacks_is_refused_by_name() {
    let Some(device) = device() else { return };
    let huge = ImageDescription::new_2d("huge", RGBA8, 1 << 20, 4, vk::ImageUsageFlags::SAMPLED);
    let error = device.create_image(huge).unwrap_err();
    assert!(
        matches!(error, ImageError::Unsupported { .. }) && error.to_string().contains("huge"),
        "{error}"
    );
    let wrong = ImageDescription::new_2d(
        "depth",
        RGBA8,
        4,
        4,
        vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
    );
    assert!(matches!(
        device.create_image(wrong),
        Err(ImageError::Unsupported { .. })
    ));
    let image = target(&device, "target");
    let cube = ViewDescription {
        kind: vk::ImageViewType::CUBE,
        ..ViewDescription::whole(&image)
    };
    assert!(matches!(image.view(&cube), Err(ImageError::View { .. })));

    let no_spirv = [0_u32; 8];
    let error = triangle(&device, |d| {
        d.stages.fragment = Some(ShaderStage::new(&*Box::leak(Box::new(no_spirv))));
    });
    let error = error.err().unwrap().to_string();
    assert!(
        error.contains("triangle") && error.contains("fragment"),
        "{error}"
    );
    let error = triangle(&device, |d| d.blend = &[]).err().unwrap();
    assert!(matches!(error, PipelineError::Description { .. }), "{error}");
    assert_silent(&device);
}

#[test]
fn state_that_the_device_lacks_is_refused_at_the_draw() {
    let Some(device) = device() else { return };
    let image = target(&device, "target");
    let view = image.whole_view().unwrap();
    let pipeline = triangle(&device, |_| {}).unwrap();
    let colour = [Some(Attachment::new(&view, LoadOp::Discard))];
    let info = RenderingInfo {
        area: area(),
        layers: 1,
        colour: &colour,
        depth: None,
        stencil: None,
    };
    let mut recorder = device.create_recorder();
    recorder.begin_rendering(&info);
    recorder.bind_graphics(&pipeline);
    recorder.set_viewports(&[viewport(); 2]);
    recorder.draw(0..3, 0..1);
    let error = recorder.take_error().unwrap().to_string();
    assert!(error.contains("2 viewports and 1 scissors"), "{error}");
    recorder.set_viewports(&[viewport()]);
    if !device.has(Feature::DepthBounds) {
        recorder.set_depth(DepthState {
            bounds: Some([0.0, 1.0]),
            ..DepthState::default()
        });
        recorder.draw(0..3, 0..1);
        let error = recorder.take_error().unwrap().to_string();
        assert!(error.contains("depthBounds"), "{error}");
    }
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
}

#[test]
fn copies_between_images() {
    let Some(device) = device() else { return };
    let usage = vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::TRANSFER_SRC;
    let make = |name: &str| {
        let image = ImageDescription {
            mips: 2,
            ..ImageDescription::new_2d(name, RGBA8, 4, 4, usage)
        };
        device.create_image(image).unwrap()
    };
    let (source, destination) = (make("source"), make("destination"));
    let mut recorder = device.create_recorder();
    recorder.clear_colour(&source, ClearValue::Float([1.0, 0.0, 0.0, 0.0]));
    recorder.clear_colour(&destination, ClearValue::Float([0.0; 4]));
    let part = |mip_level| vk::ImageSubresourceLayers {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        mip_level,
        base_array_layer: 0,
        layer_count: 1,
    };
    let region = vk::ImageCopy {
        src_subresource: part(1),
        dst_subresource: part(0),
        dst_offset: vk::Offset3D { x: 1, y: 0, z: 0 },
        extent: vk::Extent3D {
            width: 2,
            height: 1,
            depth: 1,
        },
        ..vk::ImageCopy::default()
    };
    let outside = vk::ImageCopy {
        dst_offset: vk::Offset3D { x: 3, y: 0, z: 0 },
        ..region
    };
    recorder.copy_image(&source, &destination, &[outside]);
    let error = recorder.take_error().unwrap();
    assert!(
        matches!(
            error,
            RecordError::Argument {
                command: "copy_image",
                ..
            }
        ),
        "{error}"
    );
    recorder.copy_image(&source, &destination, &[region]);
    let readback = recorder
        .readback_image(&destination, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    assert_eq!(words(readback.bytes().unwrap())[..5], [0, 255, 255, 0, 0]);
}

/// The other tests' silence means something only if a mistake is heard.
#[test]
fn validation_is_heard() {
    let device = match common::open(Validation::On) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    // The smallest level is above the largest.
    let backwards = SamplerDescription {
        min_lod: 2.0_f32.to_bits(),
        max_lod: 0,
        ..SamplerDescription::default()
    };
    device.sampler(&backwards).unwrap();
    let messages = device.validation_messages();
    assert!(
        messages.iter().any(|message| message.contains("maxLod")),
        "{messages:?}"
    );
}

#[test]
fn slices_of_a_volume_are_targets() {
    let Some(device) = device() else { return };
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let image = device
        .create_image(ImageDescription {
            dimension: ImageDimension::D3,
            extent: vk::Extent3D {
                width: 4,
                height: 4,
                depth: 3,
            },
            ..ImageDescription::new_2d("volume", RGBA8, 4, 4, usage)
        })
        .unwrap();
    let mut recorder = device.create_recorder();
    for slice in 0..3 {
        let view = image.view(&ViewDescription::target(&image, 0, slice)).unwrap();
        let clear = LoadOp::Clear(ClearValue::Float([slice as f32 / 2.0, 0.0, 0.0, 0.0]));
        let colour = [Some(Attachment::new(&view, clear))];
        let extent = vk::Extent2D { width: 4, height: 4 };
        recorder.begin_rendering(&RenderingInfo {
            area: vk::Rect2D {
                offset: vk::Offset2D::default(),
                extent,
            },
            layers: 1,
            colour: &colour,
            depth: None,
            stencil: None,
        });
    }
    let readback = recorder
        .readback_image(&image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let pixels = words(readback.bytes().unwrap());
    assert_eq!(pixels.len(), 48);
    assert_eq!((pixels[0], pixels[47]), (0, 255));
    assert!((127..=128).contains(&pixels[16]), "{}", pixels[16]);
}

#[test]
fn timestamps_grow() {
    let Some(device) = device() else { return };
    if device.limits().timestamp_period == 0.0 {
        eprintln!("SKIPPED: the queue has no timestamps");
        return;
    }
    let pool = device.create_timestamps(2).unwrap();
    let image = target(&device, "target");
    let mut recorder = device.create_recorder();
    recorder.reset_timestamps(&pool);
    recorder.write_timestamp(&pool, 0, vk::PipelineStageFlags2::ALL_COMMANDS);
    recorder.transition(&image, ImageUse::TransferSource);
    recorder.write_timestamp(&pool, 1, vk::PipelineStageFlags2::ALL_COMMANDS);
    recorder.write_timestamp(&pool, 2, vk::PipelineStageFlags2::ALL_COMMANDS);
    assert!(matches!(
        recorder.take_error(),
        Some(RecordError::Argument {
            command: "write_timestamp",
            ..
        })
    ));
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let times = pool.nanoseconds().unwrap();
    assert!(times[0].is_some() && times[0] <= times[1], "{times:?}");
}

/// What the tap kept makes the same picture, though the first of it is gone: other commands have drawn since.
#[test]
fn kept_commands_recorded_again_do_the_same() {
    let Some(device) = device() else { return };
    let pipeline = triangle(&device, |_| {}).unwrap();
    let image = target(&device, "target");
    let view = image.whole_view().unwrap();
    let mut stream = device.create_stream(StreamDescription::default());
    let mut recorder = device.create_recorder();
    let draw = |recorder: &mut Recorder, stream: &mut StreamBuffer, colour, clear| {
        let clear = LoadOp::Clear(ClearValue::Float(clear));
        let attachments = [Some(Attachment::new(&view, clear))];
        recorder.begin_rendering(&RenderingInfo {
            area: area(),
            layers: 1,
            colour: &attachments,
            depth: None,
            stencil: None,
        });
        recorder.bind_graphics(&pipeline);
        recorder.set_viewports(&[viewport()]);
        recorder.set_scissors(&[area()]);
        push_colour(recorder, stream, pipeline.layout(), colour);
        recorder.draw(0..3, 0..1);
        recorder.end_rendering();
    };
    // The image is in its use before, so that the kept commands begin where they did.
    draw(&mut recorder, &mut stream, [0.0; 4], [0.0; 4]);
    settle(&device, device.submit(&mut recorder).unwrap());
    device.keep_commands();
    draw(
        &mut recorder,
        &mut stream,
        [1.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 1.0],
    );
    let log = device.take_commands();
    assert!(log.len() >= 6, "{log:?}");
    settle(&device, device.submit(&mut recorder).unwrap());
    draw(&mut recorder, &mut stream, [0.0; 4], [0.0; 4]);
    let mut rounds = 0;
    // SAFETY: pipeline, image and stream are alive.
    unsafe { device.record_again(&log, 3, || rounds += 1) }.unwrap();
    assert_eq!(rounds, 4);
    let command = recorder.raw().unwrap();
    // SAFETY: as above, and the command buffer is the recorder's open one.
    unsafe { log.record(command) };
    let readback = recorder
        .readback_image(&image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .unwrap();
    settle(&device, device.submit(&mut recorder).unwrap());
    assert_triangle(&words(readback.bytes().unwrap()), 0xFF00_00FF, 0xFFFF_0000);
}
