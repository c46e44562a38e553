//! What a draw costs to record: bare ash against the recorder, in one run, on the device that `RELIC_GPU` names.
//!
//! Each draw pushes one uniform buffer and draws three vertices; every eighth changes the scissor. Nothing is
//! submitted. `cargo bench -p relic-vulkan`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that can't run has nothing to report"
)]

use relic_vulkan::{
    Attachment, Binding, BlendTarget, BufferDescription, Descriptor, DescriptorKind, DescriptorWrite, Device,
    DeviceOptions, GraphicsPipelineDescription, GraphicsStages, ImageDescription, LoadOp, MemoryKind,
    PipelineLayoutDescription, Recorder, RenderingInfo, ShaderStage, Viewport, vk,
};
use std::time::{Duration, Instant};

const DRAWS: u64 = 20_000;
const ROUNDS: usize = 30;
const SIZE: u32 = 64;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn main() {
    // `cargo test --benches` passes other arguments; only a real bench run measures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let options = DeviceOptions {
        name_filter: std::env::var("RELIC_GPU").ok(),
        ..DeviceOptions::default()
    };
    let device = Device::open(&options).unwrap();
    let layout = device
        .pipeline_layout(&PipelineLayoutDescription {
            bindings: vec![Binding {
                binding: 0,
                kind: DescriptorKind::UniformBuffer,
                count: 1,
                stages: vk::ShaderStageFlags::FRAGMENT,
            }],
            push_constants: Vec::new(),
        })
        .unwrap();
    let vertex = words(include_bytes!("../tests/shaders/triangle.vert.spv"));
    let fragment = words(include_bytes!("../tests/shaders/uniform_colour.frag.spv"));
    let format = vk::Format::R8G8B8A8_UNORM;
    let pipeline = device
        .create_graphics_pipeline(&GraphicsPipelineDescription {
            colour_formats: &[format],
            blend: &[BlendTarget::default()],
            ..GraphicsPipelineDescription::new(
                "record",
                &layout,
                GraphicsStages {
                    vertex: Some(ShaderStage::new(&vertex)),
                    fragment: Some(ShaderStage::new(&fragment)),
                    ..GraphicsStages::default()
                },
            )
        })
        .unwrap();
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT;
    let image = device
        .create_image(ImageDescription::new_2d("target", format, SIZE, SIZE, usage))
        .unwrap();
    let view = image.whole_view().unwrap();
    let buffer = device
        .create_buffer(&BufferDescription {
            size: 65536,
            usage: vk::BufferUsageFlags::UNIFORM_BUFFER,
            memory: MemoryKind::HostVisible,
        })
        .unwrap();
    let extent = vk::Extent2D {
        width: SIZE,
        height: SIZE,
    };
    let area = vk::Rect2D {
        offset: vk::Offset2D::default(),
        extent,
    };
    let scissor = |draw: u64| vk::Rect2D {
        offset: vk::Offset2D {
            x: (draw / 8 % 32) as i32,
            y: 0,
        },
        extent: vk::Extent2D {
            width: 16,
            height: 16,
        },
    };
    let colour = [Some(Attachment::new(&view, LoadOp::Load))];
    let info = RenderingInfo {
        area,
        layers: 1,
        colour: &colour,
        depth: None,
        stencil: None,
    };
    let viewport = Viewport {
        x: 0.0,
        y: 0.0,
        width: SIZE as f32,
        height: SIZE as f32,
        min_depth: 0.0,
        max_depth: 1.0,
    };

    // Every loop runs in a command buffer in the same state: the recorder sets it up, either one draws.
    let set_up = |recorder: &mut Recorder| {
        recorder.begin_rendering(&info);
        recorder.bind_graphics(&pipeline);
        recorder.set_viewports(&[viewport]);
        recorder.set_scissors(&[scissor(0)]);
        let writes = [DescriptorWrite::new(
            0,
            Descriptor::UniformBuffer(buffer.slice(0, 16).unwrap()),
        )];
        recorder.push_descriptors(vk::PipelineBindPoint::GRAPHICS, &layout, &writes);
        recorder.draw(0..3, 0..1);
    };
    let draw_bare = |recorder: &mut Recorder| {
        set_up(recorder);
        let raw = recorder.raw().unwrap();
        let (functions, push) = device.raw();
        let start = Instant::now();
        for draw in 0..DRAWS {
            let infos = [vk::DescriptorBufferInfo {
                buffer: buffer.raw(),
                offset: draw % 256 * 256,
                range: 16,
            }];
            let writes = [vk::WriteDescriptorSet::default()
                .dst_binding(0)
                .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER)
                .buffer_info(&infos)];
            // SAFETY: the command buffer is recording inside of rendering, with the pipeline bound.
            unsafe {
                push.cmd_push_descriptor_set(raw, vk::PipelineBindPoint::GRAPHICS, layout.raw(), 0, &writes);
                if draw % 8 == 0 {
                    functions.cmd_set_scissor_with_count(raw, &[scissor(draw)]);
                }
                functions.cmd_draw(raw, 3, 1, 0, 0);
            }
        }
        let time = start.elapsed();
        recorder.discard();
        time
    };
    let draw_recorder = |recorder: &mut Recorder| {
        set_up(recorder);
        let start = Instant::now();
        for draw in 0..DRAWS {
            recorder.begin_rendering(&info);
            recorder.bind_graphics(&pipeline);
            recorder.set_viewports(&[viewport]);
            recorder.set_scissors(&[scissor(draw)]);
            let slice = buffer.slice(draw % 256 * 256, 16).unwrap();
            let writes = [DescriptorWrite::new(0, Descriptor::UniformBuffer(slice))];
            recorder.push_descriptors(vk::PipelineBindPoint::GRAPHICS, &layout, &writes);
            recorder.draw(0..3, 0..1);
        }
        let time = start.elapsed();
        assert!(recorder.error().is_none(), "{:?}", recorder.error());
        recorder.discard();
        time
    };

    let mut recorder = device.create_recorder();
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // The order alternates: the driver allocates for each command, and the heap's state favours one place.
        if round % 2 == 0 {
            bare.push(draw_bare(&mut recorder));
            ours.push(draw_recorder(&mut recorder));
        } else {
            ours.push(draw_recorder(&mut recorder));
            bare.push(draw_bare(&mut recorder));
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / DRAWS as f64
    };
    let (bare, ours) = (median(&mut bare), median(&mut ours));
    println!(
        "{}: bare ash {bare:.1} ns a draw, recorder {ours:.1} ns a draw, ratio {:.2}",
        device.report().name,
        ours / bare
    );
}
