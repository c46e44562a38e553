//! Buffers, host imports, the stream, deferred deletion and large layouts, by compute on a real device.

#![expect(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod common;

use common::{assert_silent, device, settle, words};
use relic_vulkan::{
    Binding, BufferDescription, ComputePipeline, ComputePipelineDescription, Descriptor, DescriptorKind,
    DescriptorWrite, Device, ImportError, MemoryError, MemoryKind, PipelineError, PipelineLayoutDescription,
    PushConstantRange, ReadbackError, RecordError, RetireCounts, ShaderStage, StreamDescription, StreamError,
    SubmitError, TimelineValue, WaitError, vk,
};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::time::Duration;

const COMPUTE: vk::ShaderStageFlags = vk::ShaderStageFlags::COMPUTE;
const COMPUTE_POINT: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

fn binding(binding: u32, kind: DescriptorKind, count: u32) -> Binding {
    Binding {
        binding,
        kind,
        count,
        stages: COMPUTE,
    }
}

fn scale(device: &Device) -> ComputePipeline {
    let layout = device
        .pipeline_layout(&PipelineLayoutDescription {
            bindings: vec![binding(0, DescriptorKind::StorageBuffer, 1)],
            push_constants: vec![PushConstantRange {
                stages: COMPUTE,
                offset: 0,
                size: 4,
            }],
        })
        .unwrap();
    let spirv = shader!("scale.comp");
    let description = ComputePipelineDescription {
        name: "scale",
        layout: &layout,
        shader: ShaderStage::new(&spirv),
    };
    device.create_compute_pipeline(&description).unwrap()
}

fn storage(device: &Device, size: u64) -> relic_vulkan::Buffer {
    let usage = vk::BufferUsageFlags::STORAGE_BUFFER
        | vk::BufferUsageFlags::TRANSFER_DST
        | vk::BufferUsageFlags::TRANSFER_SRC;
    device
        .create_buffer(&BufferDescription {
            size,
            usage,
            memory: MemoryKind::DeviceLocal,
        })
        .unwrap()
}

#[test]
fn compute_doubles_an_imported_page_in_place() {
    let Some(device) = device() else { return };
    let size = 8192;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let pages = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            size,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    }
    .unwrap();
    let words = pages.cast::<u32>();
    for i in 0..size / 4 {
        // SAFETY: inside the mapping, which nobody else knows yet.
        unsafe { words.add(i).write_volatile(i as u32) };
    }
    let pointer = NonNull::new(pages.cast::<u8>()).unwrap();
    // SAFETY: the pages stay mapped until the release token says so, below.
    let import = match unsafe { device.import_host(pointer, size as u64) } {
        Err(ImportError::Unsupported { device }) => {
            eprintln!("SKIPPED: {device} can't import");
            return;
        }
        import => import.unwrap(),
    };
    assert!(
        import
            .buffer()
            .device_address()
            .is_some_and(|address| address != 0)
    );
    let token = import.release_token();
    let pipeline = scale(&device);
    let mut recorder = device.create_recorder();
    recorder.bind_compute(&pipeline);
    // Only the second page: the first stays as it is.
    let slice = import.buffer().slice(4096, 4096).unwrap();
    let writes = [DescriptorWrite::new(0, Descriptor::StorageBuffer(slice))];
    recorder.push_descriptors(COMPUTE_POINT, pipeline.layout(), &writes);
    recorder.push_constants(pipeline.layout(), COMPUTE, 0, &2_u32.to_ne_bytes());
    recorder.dispatch([1024 / 64, 1, 1]);
    let value = device.submit(&mut recorder).unwrap();
    drop(import);
    settle(&device, value);
    for i in 0..size / 4 {
        let expected = if i < 1024 { i } else { 2 * i };
        // SAFETY: the GPU is done with the pages.
        let found = unsafe { words.add(i).read_volatile() };
        assert_eq!(found, expected as u32, "word {i}");
    }
    assert!(!token.is_released(), "nothing is destroyed before collect");
    device.collect().unwrap();
    assert!(token.is_released());
    // SAFETY: the driver has let go.
    unsafe { munmap(pages, size) }.unwrap();
    assert_silent(&device);
}

#[test]
fn a_misaligned_import_is_refused() {
    let Some(device) = device() else { return };
    let pointer = NonNull::new(0x1_0010 as *mut u8).unwrap();
    // SAFETY: refused before the pages are looked at.
    let error = unsafe { device.import_host(pointer, 4096) }.unwrap_err();
    assert!(
        matches!(
            error,
            ImportError::Misaligned { .. } | ImportError::Unsupported { .. }
        ),
        "{error}"
    );
}

#[test]
fn buffers_are_filled_updated_copied_and_read_back() {
    let Some(device) = device() else { return };
    let first = storage(&device, 256);
    let second = storage(&device, 256);
    let mut recorder = device.create_recorder();
    recorder.fill_buffer(first.whole(), 0x0102_0304);
    recorder.memory_barrier(relic_vulkan::BarrierScope::FULL);
    recorder.update_buffer(first.slice(16, 8).unwrap(), &[9; 8]);
    recorder.memory_barrier(relic_vulkan::BarrierScope::FULL);
    recorder.copy_buffer(first.whole(), second.whole());
    let readback = recorder.readback_buffer(second.slice(8, 24).unwrap()).unwrap();
    assert!(matches!(readback.bytes(), Err(ReadbackError::NotSubmitted)));
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    let filled = 0x0102_0304;
    let updated = 0x0909_0909;
    assert_eq!(
        words(readback.bytes().unwrap()),
        [filled, filled, updated, updated, filled, filled]
    );
}

#[test]
fn wrong_ranges_are_errors_and_leave_the_recorder_usable() {
    let Some(device) = device() else { return };
    let buffer = storage(&device, 64);
    assert!(matches!(buffer.slice(60, 8), Err(MemoryError::OutOfRange { .. })));
    assert!(matches!(
        buffer.slice(u64::MAX, 8),
        Err(MemoryError::OutOfRange { .. })
    ));
    assert!(matches!(buffer.slice(0, 0), Err(MemoryError::Empty)));
    let mut recorder = device.create_recorder();
    recorder.fill_buffer(buffer.whole(), 7);
    recorder.copy_buffer(buffer.slice(0, 16).unwrap(), buffer.slice(8, 16).unwrap());
    let error = recorder.take_error().unwrap();
    assert!(
        matches!(
            error,
            RecordError::Argument {
                command: "copy_buffer",
                ..
            }
        ),
        "{error}"
    );
    recorder.dispatch([1, 1, 1]);
    assert!(matches!(recorder.error(), Some(RecordError::NoPipeline { .. })));
    assert!(matches!(
        recorder.readback_buffer(buffer.whole()),
        Err(RecordError::Blocked { .. })
    ));
    assert!(matches!(
        device.submit(&mut recorder),
        Err(SubmitError::Record(RecordError::NoPipeline { .. }))
    ));
    // The discarded recording reached nothing, and the next one is clean.
    recorder.fill_buffer(buffer.whole(), 5);
    let readback = recorder.readback_buffer(buffer.whole()).unwrap();
    let value = device.submit(&mut recorder).unwrap();
    assert_eq!(value, TimelineValue(1));
    settle(&device, value);
    assert_eq!(words(readback.bytes().unwrap()), [5; 16]);
}

#[test]
fn a_stream_reuses_blocks_by_timeline_and_is_bounded() {
    let Some(device) = device() else { return };
    let mut stream = device.create_stream(StreamDescription {
        block_size: 1024,
        limit: 2048,
        usage: vk::BufferUsageFlags::UNIFORM_BUFFER,
    });
    let next = device.next_value();
    let first = stream.push(&[1; 100], 1, next).unwrap();
    let second = stream.push(&[2; 100], 256, next).unwrap();
    assert_eq!((first.offset(), second.offset()), (0, 256));
    assert!(matches!(
        stream.alloc(4, 3, next),
        Err(StreamError::Alignment { alignment: 3 })
    ));
    assert!(matches!(
        stream.alloc(4096, 4, next),
        Err(StreamError::TooLarge { .. })
    ));
    stream.alloc(1000, 4, next).unwrap();
    assert_eq!((stream.blocks(), stream.held()), (2, 2048));
    let full = stream.alloc(1000, 4, next).err().unwrap();
    assert!(
        matches!(full, StreamError::Full { oldest, .. } if oldest == next),
        "{full}"
    );

    let mut recorder = device.create_recorder();
    let target = storage(&device, 100);
    recorder.copy_buffer(second.slice(), target.whole());
    let readback = recorder.readback_buffer(target.whole()).unwrap();
    let value = device.submit(&mut recorder).unwrap();
    assert_eq!(value, next);
    settle(&device, value);
    assert_eq!(readback.bytes().unwrap(), [2; 100]);

    let again = stream.push(&[3; 1000], 4, device.next_value()).unwrap();
    assert_eq!(
        (again.offset(), stream.blocks(), stream.held()),
        (0, 2, 2048),
        "a block came back"
    );
    // Blocks too small for a request give way to one that is large enough.
    stream.push(&[4; 1000], 4, TimelineValue(0)).unwrap();
    let large = stream.alloc(2000, 4, device.next_value());
    assert!(
        matches!(large, Err(StreamError::Full { .. })),
        "the block of `again` is still in use"
    );
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    assert_eq!(
        stream.alloc(2000, 4, device.next_value()).unwrap().range.size(),
        2000
    );
    assert_eq!((stream.blocks(), stream.held()), (1, 2000));
}

#[test]
fn dropped_handles_wait_for_the_gpu_and_for_open_recordings() {
    let Some(device) = device() else { return };
    let pipeline = scale(&device);
    let buffer = storage(&device, 4096);
    let mut recorder = device.create_recorder();
    recorder.fill_buffer(buffer.whole(), 3);
    recorder.memory_barrier(relic_vulkan::BarrierScope::FULL);
    recorder.bind_compute(&pipeline);
    let writes = [DescriptorWrite::new(0, Descriptor::StorageBuffer(buffer.whole()))];
    recorder.push_descriptors(COMPUTE_POINT, pipeline.layout(), &writes);
    recorder.push_constants(pipeline.layout(), COMPUTE, 0, &5_u32.to_ne_bytes());
    recorder.dispatch([16, 1, 1]);
    let readback = recorder.readback_buffer(buffer.whole()).unwrap();
    drop(pipeline);
    drop(buffer);
    assert_eq!(device.collect().unwrap(), 0, "the open recording names both");
    assert_eq!(
        device.retire_counts(),
        RetireCounts {
            waiting: 2,
            destroyed: 0
        }
    );
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    assert_eq!(words(readback.bytes().unwrap()), [15; 1024]);
    assert_eq!(device.collect().unwrap(), 2);
    drop(readback);
    assert_eq!(
        device.collect().unwrap(),
        1,
        "nothing is open, so the readback's buffer goes at once"
    );
    drop(recorder);
    assert_eq!(device.collect().unwrap(), 1, "the recorder's pool");
    assert_eq!(
        device.retire_counts(),
        RetireCounts {
            waiting: 0,
            destroyed: 4
        }
    );
    assert_silent(&device);
}

#[test]
fn layouts_are_cached_by_content() {
    let Some(device) = device() else { return };
    let a = binding(0, DescriptorKind::StorageBuffer, 1);
    let b = Binding {
        stages: vk::ShaderStageFlags::VERTEX,
        ..binding(1, DescriptorKind::UniformBuffer, 2)
    };
    let b_too = Binding {
        stages: vk::ShaderStageFlags::FRAGMENT,
        ..b
    };
    let layout = |bindings: Vec<Binding>| {
        device.pipeline_layout(&PipelineLayoutDescription {
            bindings,
            push_constants: Vec::new(),
        })
    };
    let first = layout(vec![a, b, b_too]).unwrap();
    let second = layout(vec![b_too, a, b]).unwrap();
    assert!(first == second);
    assert_eq!(device.pipeline_layout_count(), 1);
    assert_eq!(
        first.bindings()[1].stages,
        vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT
    );
    assert!(layout(vec![a]).unwrap() != first);
    assert_eq!(device.pipeline_layout_count(), 2);
    let clash = layout(vec![
        a,
        Binding {
            kind: DescriptorKind::UniformBuffer,
            ..a
        },
    ])
    .unwrap_err();
    assert!(matches!(clash, PipelineError::Description { .. }), "{clash}");
    let too_many = layout(vec![binding(0, DescriptorKind::StorageBuffer, u32::MAX)]).unwrap_err();
    assert!(too_many.to_string().contains("the device allows"), "{too_many}");
    assert_silent(&device);
}

#[test]
fn layouts_above_the_push_limit_are_served_from_pools() {
    let Some(device) = device() else { return };
    let layout = device
        .pipeline_layout(&PipelineLayoutDescription {
            bindings: vec![
                binding(0, DescriptorKind::StorageBuffer, 1),
                binding(1, DescriptorKind::StorageBuffer, 24),
                binding(2, DescriptorKind::UniformBuffer, 12),
            ],
            push_constants: Vec::new(),
        })
        .unwrap();
    assert_eq!(
        layout.uses_push_descriptors(),
        device.limits().max_push_descriptors >= 37
    );
    let spirv = shader!("many.comp");
    let description = ComputePipelineDescription {
        name: "many",
        layout: &layout,
        shader: ShaderStage::new(&spirv),
    };
    let pipeline = device.create_compute_pipeline(&description).unwrap();
    let mut stream = device.create_stream(StreamDescription::default());
    let align = device
        .descriptor_alignment(DescriptorKind::UniformBuffer)
        .max(device.descriptor_alignment(DescriptorKind::StorageBuffer));
    let mut recorder = device.create_recorder();
    // Twice, so that pools are reset and used again; and more sets than a first pool holds.
    for round in 0..2_u32 {
        let next = device.next_value();
        let mut readbacks = Vec::new();
        for dispatch in 0..70_u32 {
            let inputs: Vec<_> = (0..36_u32)
                .map(|i| {
                    stream
                        .push(&(i + dispatch + round).to_ne_bytes(), align, next)
                        .unwrap()
                })
                .collect();
            let out = storage(&device, 4);
            let mut writes = vec![DescriptorWrite::new(0, Descriptor::StorageBuffer(out.whole()))];
            for (element, input) in inputs.iter().enumerate() {
                let element = element as u32;
                // One input is null, and reads as 0.
                let descriptor = match element {
                    3 => Descriptor::Null(DescriptorKind::StorageBuffer),
                    0..24 => Descriptor::StorageBuffer(input.slice()),
                    _ => Descriptor::UniformBuffer(input.slice()),
                };
                let (binding, element) = if element < 24 {
                    (1, element)
                } else {
                    (2, element - 24)
                };
                writes.push(DescriptorWrite {
                    binding,
                    element,
                    descriptor,
                });
            }
            recorder.bind_compute(&pipeline);
            recorder.push_descriptors(COMPUTE_POINT, &layout, &writes);
            recorder.dispatch([1, 1, 1]);
            readbacks.push(recorder.readback_buffer(out.whole()).unwrap());
        }
        let value = device.submit(&mut recorder).unwrap();
        settle(&device, value);
        for (dispatch, readback) in (0_u32..).zip(&readbacks) {
            let sum: u32 = (0..36).filter(|i| *i != 3).map(|i| i + dispatch + round).sum();
            assert_eq!(words(readback.bytes().unwrap()), [sum], "dispatch {dispatch}");
        }
    }
    assert_eq!(recorder.pools(), 1, "the command pool was used again");
    if !layout.uses_push_descriptors() {
        let only = [DescriptorWrite::new(
            0,
            Descriptor::Null(DescriptorKind::StorageBuffer),
        )];
        recorder.push_descriptors(COMPUTE_POINT, &layout, &only);
        let error = recorder.take_error().unwrap();
        assert!(
            matches!(
                error,
                RecordError::IncompleteDescriptors {
                    expected: 37,
                    found: 1,
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn descriptors_and_constants_must_fit_their_layout() {
    let Some(device) = device() else { return };
    let pipeline = scale(&device);
    let layout = pipeline.layout();
    let buffer = storage(&device, 64);
    let mut recorder = device.create_recorder();
    let slice = buffer.whole();
    let wrong = [
        DescriptorWrite::new(1, Descriptor::StorageBuffer(slice)),
        DescriptorWrite::new(0, Descriptor::UniformBuffer(slice)),
        DescriptorWrite {
            element: 1,
            ..DescriptorWrite::new(0, Descriptor::StorageBuffer(slice))
        },
    ];
    for write in wrong {
        recorder.push_descriptors(COMPUTE_POINT, layout, &[write]);
        let error = recorder.take_error();
        assert!(
            matches!(
                error,
                Some(RecordError::Argument {
                    command: "push_descriptors",
                    ..
                })
            ),
            "{error:?}"
        );
    }
    let constants: [(vk::ShaderStageFlags, u32, &[u8]); 4] = [
        (vk::ShaderStageFlags::VERTEX, 0, &[0; 4]),
        (COMPUTE, 4, &[0; 4]),
        (COMPUTE, 0, &[0; 8]),
        (COMPUTE, 0, &[0; 3]),
    ];
    for (stages, offset, bytes) in constants {
        recorder.push_constants(layout, stages, offset, bytes);
        let error = recorder.take_error();
        assert!(
            matches!(
                error,
                Some(RecordError::Argument {
                    command: "push_constants",
                    ..
                })
            ),
            "{error:?}"
        );
    }
    assert_silent(&device);
}

#[test]
fn a_readback_is_refused_until_the_gpu_is_there() {
    let Some(device) = device() else { return };
    let pipeline = scale(&device);
    let buffer = storage(&device, 1 << 20);
    let mut recorder = device.create_recorder();
    recorder.fill_buffer(buffer.whole(), 1);
    recorder.bind_compute(&pipeline);
    let writes = [DescriptorWrite::new(0, Descriptor::StorageBuffer(buffer.whole()))];
    recorder.push_descriptors(COMPUTE_POINT, pipeline.layout(), &writes);
    recorder.push_constants(pipeline.layout(), COMPUTE, 0, &3_u32.to_ne_bytes());
    // Enough work that the first look comes too early on any device.
    for _ in 0..100 {
        recorder.memory_barrier(relic_vulkan::BarrierScope::FULL);
        recorder.dispatch([(1 << 20) / 4 / 64, 1, 1]);
    }
    let readback = recorder.readback_buffer(buffer.whole()).unwrap();
    let value = device.submit(&mut recorder).unwrap();
    assert_eq!(readback.value(), Some(value));
    let early = readback.bytes().map(<[u8]>::len);
    if device.completed().unwrap() < value {
        assert!(
            matches!(early, Err(ReadbackError::NotCompleted { value: at, .. }) if at == value),
            "{early:?}"
        );
    } else {
        eprintln!("the device was faster than the test");
    }
    settle(&device, value);
    let expected = (0..100).fold(1_u32, |word, _| word.wrapping_mul(3));
    assert!(
        words(readback.bytes().unwrap())
            .iter()
            .all(|word| *word == expected)
    );
}

#[test]
fn waits_end_with_the_value_reached() {
    let Some(device) = device() else { return };
    assert_eq!(device.completed().unwrap(), TimelineValue(0));
    let error = device
        .wait(TimelineValue(1), Duration::from_millis(20))
        .unwrap_err();
    assert!(
        matches!(
            error,
            WaitError::TimedOut {
                value: TimelineValue(1),
                completed: TimelineValue(0),
                ..
            }
        ),
        "{error}"
    );
    let mut recorder = device.create_recorder();
    let value = device.submit(&mut recorder).unwrap();
    settle(&device, value);
    assert_eq!(device.completed().unwrap(), value);
}

#[test]
fn several_threads_record_submit_and_compile() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let device = &device;
            scope.spawn(move || {
                let pipeline = scale(device);
                let mut recorder = device.create_recorder();
                for round in 0..8_u32 {
                    let buffer = storage(device, 256);
                    recorder.fill_buffer(buffer.whole(), thread + 1);
                    recorder.memory_barrier(relic_vulkan::BarrierScope::TRANSFER_TO_ALL);
                    recorder.bind_compute(&pipeline);
                    let writes = [DescriptorWrite::new(0, Descriptor::StorageBuffer(buffer.whole()))];
                    recorder.push_descriptors(COMPUTE_POINT, pipeline.layout(), &writes);
                    recorder.push_constants(pipeline.layout(), COMPUTE, 0, &round.to_ne_bytes());
                    recorder.dispatch([1, 1, 1]);
                    let readback = recorder.readback_buffer(buffer.whole()).unwrap();
                    let value = device.submit(&mut recorder).unwrap();
                    device.wait(value, Duration::from_secs(60)).unwrap();
                    assert_eq!(words(readback.bytes().unwrap()), [(thread + 1) * round; 64]);
                    device.collect().unwrap();
                }
            });
        }
    });
    assert_eq!(device.pipeline_layout_count(), 1);
    assert_silent(&device);
}
