//! Pipeline and sampler states that a title may ask for: each is made under validation, or refused by the name of the
//! feature that the device lacks.

#![expect(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod common;

use common::{assert_silent, device, settle, words};
use relic_vulkan::{
    Attachment, BlendEquation, BlendTarget, BorderColour, BufferDescription, ClearValue, DepthClip, Device,
    Feature, GraphicsPipeline, GraphicsPipelineDescription, GraphicsStages, ImageDescription, ImageError,
    ImageUse, LoadOp, MemoryKind, PipelineError, PipelineLayoutDescription, Rasteriser, RenderingInfo,
    SamplerDescription, ShaderStage, StencilFace, StencilState, TopologyClass, Viewport, vk,
};

/// A pipeline of the vertex stage alone, with what `change` makes of its description.
fn vertex_only(
    device: &Device,
    change: impl FnOnce(&mut GraphicsPipelineDescription<'_>),
) -> Result<GraphicsPipeline, PipelineError> {
    let layout = device
        .pipeline_layout(&PipelineLayoutDescription::default())
        .unwrap();
    let vertex = shader!("triangle.vert");
    let stages = GraphicsStages {
        vertex: Some(ShaderStage::new(&vertex)),
        ..GraphicsStages::default()
    };
    let mut description = GraphicsPipelineDescription::new("states", &layout, stages);
    change(&mut description);
    device.create_graphics_pipeline(&description)
}

const DUAL_EQUATION: BlendEquation = BlendEquation {
    source: vk::BlendFactor::ONE,
    destination: vk::BlendFactor::ONE_MINUS_SRC1_ALPHA,
    operation: vk::BlendOp::REVERSE_SUBTRACT,
};

const DUAL_SOURCE: [BlendTarget; 1] = [BlendTarget {
    blend: Some((DUAL_EQUATION, DUAL_EQUATION)),
    write_mask: vk::ColorComponentFlags::R,
}];

#[test]
fn rasteriser_and_blend_states_are_made_or_refused_by_name() {
    let Some(device) = device() else { return };
    let rasteriser = |change: fn(&mut Rasteriser)| {
        let mut state = Rasteriser::default();
        change(&mut state);
        vertex_only(&device, |d| d.rasteriser = state)
    };
    let made = [
        (
            Feature::FillModeNonSolid,
            rasteriser(|r| r.polygon_mode = vk::PolygonMode::LINE),
        ),
        (
            Feature::DepthClamp,
            rasteriser(|r| r.depth_clip = DepthClip::Clamp),
        ),
        (
            Feature::DepthClipEnable,
            rasteriser(|r| r.depth_clip = DepthClip::ClipAndClamp),
        ),
        (
            Feature::DepthClipEnable,
            rasteriser(|r| r.depth_clip = DepthClip::Neither),
        ),
        (
            Feature::DepthClipControl,
            rasteriser(|r| r.negative_one_to_one = true),
        ),
        (
            Feature::ProvokingVertexLast,
            rasteriser(|r| r.provoking_last = true),
        ),
        (
            Feature::LogicOp,
            vertex_only(&device, |d| d.logic_op = Some(vk::LogicOp::XOR)),
        ),
        (
            Feature::SampleRateShading,
            vertex_only(&device, |d| d.sample_shading = true),
        ),
        (
            Feature::DualSrcBlend,
            vertex_only(&device, |d| {
                d.blend = &DUAL_SOURCE;
                d.colour_formats = &[vk::Format::R16G16B16A16_SFLOAT];
            }),
        ),
    ];
    for (feature, made) in made {
        match made {
            Ok(_) => assert!(device.has(feature), "{feature} is absent, and its state was made"),
            Err(PipelineError::Feature { feature: named, .. }) => {
                assert!(named == feature && !device.has(feature), "{named} for {feature}");
            }
            Err(error) => panic!("{feature}: {error}"),
        }
    }
    vertex_only(&device, |d| d.topology = TopologyClass::Line).unwrap();
    let patches = vertex_only(&device, |d| {
        d.topology = TopologyClass::Patch { control_points: 3 }
    })
    .err()
    .unwrap();
    assert!(matches!(patches, PipelineError::Description { .. }), "{patches}");
    assert_silent(&device);
}

#[test]
fn samplers_are_made_or_refused_by_name() {
    let Some(device) = device() else { return };
    let base = SamplerDescription::default();
    let bits = |value: f32| value.to_bits();
    let cases = [
        (
            Feature::SamplerAnisotropy,
            SamplerDescription {
                anisotropy: bits(64.0),
                ..base
            },
        ),
        (
            Feature::SamplerMirrorClampToEdge,
            SamplerDescription {
                address: [vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE; 3],
                ..base
            },
        ),
        (
            Feature::SamplerFilterMinmax,
            SamplerDescription {
                reduction: vk::SamplerReductionMode::MAX,
                ..base
            },
        ),
        (
            Feature::CustomBorderColors,
            SamplerDescription {
                border: BorderColour::Float([bits(0.25); 4]),
                ..base
            },
        ),
        (
            Feature::CustomBorderColors,
            SamplerDescription {
                border: BorderColour::Integer([7; 4]),
                ..base
            },
        ),
    ];
    let mut made = 0;
    for (feature, description) in cases {
        match device.sampler(&description) {
            Ok(_) => made += 1,
            Err(ImageError::SamplerFeature { feature: named, .. }) => assert!(!device.has(named), "{named}"),
            Err(error) => panic!("{feature}: {error}"),
        }
    }
    device
        .sampler(&SamplerDescription {
            compare: Some(vk::CompareOp::LESS),
            ..base
        })
        .unwrap();
    assert_eq!(device.sampler_count(), made + 1);
    assert_silent(&device);
}

/// Stencil counts the draws that cover a texel, the arguments come from memory, and depth and stencil are read back
/// apart.
#[test]
fn stencil_counts_indirect_draws() {
    let Some(device) = device() else { return };
    let wanted = vk::FormatFeatureFlags2::DEPTH_STENCIL_ATTACHMENT | vk::FormatFeatureFlags2::TRANSFER_SRC;
    let format = [vk::Format::D24_UNORM_S8_UINT, vk::Format::D32_SFLOAT_S8_UINT]
        .into_iter()
        .find(|format| device.format_features(*format).contains(wanted))
        .unwrap();
    let size = 16;
    let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let image = device
        .create_image(ImageDescription::new_2d("stencil", format, size, size, usage))
        .unwrap();
    let view = image.whole_view().unwrap();
    let pipeline = vertex_only(&device, |d| {
        d.depth_format = format;
        d.stencil_format = format;
    })
    .unwrap();
    let arguments = device
        .create_buffer(&BufferDescription {
            size: 64,
            usage: vk::BufferUsageFlags::INDIRECT_BUFFER,
            memory: MemoryKind::HostVisible,
        })
        .unwrap();
    // Two draws: 3 vertices of 1 instance, and of 2 instances.
    let content: Vec<u8> = [3_u32, 1, 0, 0, 3, 2, 0, 0]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    // SAFETY: the GPU does not use the buffer yet.
    unsafe { arguments.write(0, &content) }.unwrap();
    let extent = vk::Extent2D {
        width: size,
        height: size,
    };
    let area = vk::Rect2D {
        offset: vk::Offset2D::default(),
        extent,
    };
    let mut recorder = device.create_recorder();
    // State that is set before the first command counts too.
    let edge = size as f32;
    recorder.set_viewports(&[Viewport {
        x: 0.0,
        y: 0.0,
        width: edge,
        height: edge,
        min_depth: 0.0,
        max_depth: 1.0,
    }]);
    recorder.set_scissors(&[area]);
    let face = StencilFace {
        pass: vk::StencilOp::INCREMENT_AND_CLAMP,
        ..StencilFace::default()
    };
    recorder.set_stencil(StencilState {
        test: true,
        front: face,
        back: face,
    });
    recorder.begin_rendering(&RenderingInfo {
        area,
        layers: 1,
        colour: &[],
        depth: Some(Attachment::new(&view, LoadOp::Clear(ClearValue::Depth(1.0)))),
        stencil: Some(Attachment::new(&view, LoadOp::Clear(ClearValue::Stencil(5)))),
    });
    recorder.bind_graphics(&pipeline);
    recorder.draw_indirect(arguments.slice(0, 32).unwrap(), 2, 16);
    assert_eq!(image.current_use(), ImageUse::DepthStencilAttachment);
    let stencil = recorder
        .readback_image(&image, vk::ImageAspectFlags::STENCIL, 0, 0..1)
        .unwrap();
    let depth = recorder
        .readback_image(&image, vk::ImageAspectFlags::DEPTH, 0, 0..1)
        .unwrap();
    recorder.draw_indirect(arguments.slice(0, 20).unwrap(), 2, 16);
    assert!(
        recorder.take_error().is_some(),
        "the draw is outside of rendering, and its arguments are too short"
    );
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let stencil = stencil.bytes().unwrap();
    assert_eq!(stencil.len(), (size * size) as usize);
    assert_eq!((stencil[0], stencil[stencil.len() - 1]), (8, 5));
    let one = if format == vk::Format::D24_UNORM_S8_UINT {
        0x00ff_ffff
    } else {
        1.0_f32.to_bits()
    };
    // The upper byte of 24-bit depth is undefined.
    let mask = if format == vk::Format::D24_UNORM_S8_UINT {
        0x00ff_ffff
    } else {
        u32::MAX
    };
    assert!(
        words(depth.bytes().unwrap())
            .iter()
            .all(|depth| depth & mask == one)
    );
}
