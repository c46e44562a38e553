//! The image store: what is found again, what is dropped.

#[path = "common/device.rs"]
mod device;

use relic_core::gpu::ImageDescriptor;
use relic_recompiler::ImageDim;
use relic_systems::prepare::images::ImageStore;

/// A linear 64x64 RGBA8 texture of 16 KiB at page `index`.
fn texture(index: u32) -> ImageDescriptor {
    let mut words = [0; 8];
    words[0] = 0x1000 + 0x40 * index;
    words[1] = 56 << 20 | 3 << 30;
    words[2] = 15 | 63 << 14;
    words[3] = 0xFAC | 9 << 28;
    ImageDescriptor(words)
}

#[test]
fn the_images_used_longest_ago_are_dropped_and_come_back() {
    let device = device::device();
    let mut store = ImageStore::default();
    for i in 0..8 {
        store
            .texture(&device, &texture(i), false, ImageDim::D2, 10 + u64::from(i))
            .unwrap()
            .unwrap();
    }
    // What T#s came to holds until images come or go.
    let generation = store.generation();
    // Used again: the newest now.
    store
        .texture(&device, &texture(0), false, ImageDim::D2, 99)
        .unwrap();
    assert_eq!(store.generation(), generation);
    assert_eq!((store.count(), store.bytes()), (8, 8 * 16384));
    assert_eq!(store.evict(8 * 16384), 0);
    assert_eq!(store.generation(), generation);
    assert_eq!(store.evict(3 * 16384), 5);
    let evicted = store.generation();
    assert_ne!(evicted, generation);
    assert_eq!((store.count(), store.bytes()), (3, 3 * 16384));
    let left: Vec<u64> = store.images().map(|image| image.last_use).collect();
    assert_eq!(left, [99, 16, 17]);
    let (id, _) = store
        .texture(&device, &texture(3), false, ImageDim::D2, 100)
        .unwrap()
        .unwrap();
    assert_eq!(
        store.image(id).planes[0].range.start().0,
        0x1000 * 256 + 3 * 0x4000
    );
    assert_eq!(store.count(), 4);
    assert_ne!(store.generation(), evicted);
}

#[test]
fn images_that_the_gpu_has_written_stay() {
    let device = device::device();
    let mut store = ImageStore::default();
    let (id, _) = store
        .texture(&device, &texture(0), false, ImageDim::D2, 1)
        .unwrap()
        .unwrap();
    store.mark_written(id);
    store
        .texture(&device, &texture(1), false, ImageDim::D2, 2)
        .unwrap();
    assert_eq!(store.evict(0), 1);
    assert_eq!(
        store.images().map(|image| image.gpu_written).collect::<Vec<_>>(),
        [true]
    );
}

#[test]
fn null_descriptors_bind_nothing_and_unknown_fields_are_refused() {
    let device = device::device();
    let mut store = ImageStore::default();
    assert!(
        store
            .texture(&device, &ImageDescriptor::default(), false, ImageDim::D2, 1)
            .unwrap()
            .is_none()
    );
    let mut unknown_mode = texture(0);
    unknown_mode.0[3] |= 13 << 20;
    let error = store
        .texture(&device, &unknown_mode, false, ImageDim::D2, 1)
        .unwrap_err();
    assert!(error.contains("swizzle mode 13"), "{error}");
}
