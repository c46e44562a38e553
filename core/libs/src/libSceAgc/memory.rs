//! Caches, end-of-pipe writes, and the command processor's own reads and writes.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit, refuse},
    packet::{ACQUIRE_MEM, COPY_DATA, DMA_DATA, EVENT_WRITE, RELEASE_MEM, WRITE_DATA, header, split},
};
use crate::pointer::{In, Out};

/// Events whose index field is 6 begin here; the others of RELEASE_MEM have 5.
const FIRST_SHADER_DONE_EVENT: u8 = 0x2f;

fn acquire(
    buffer: Out<CommandBuffer>,
    coherence: u32,
    gcr: u32,
    base: u64,
    size: u64,
    poll: u32,
    builder: &str,
) -> u64 {
    let everything = size == u64::MAX;
    if !everything && (size & 0xff != 0 || size >> 40 != 0) || base & 0xff != 0 || base >> 40 != 0 {
        return refuse(
            builder,
            format_args!("range {base:#x} + {size:#x} is not in units of 256 bytes below 2^40"),
        );
    }
    let [size_low, size_high] = split(size >> 8);
    let [base_low, base_high] = split(base >> 8);
    let words = [
        header(ACQUIRE_MEM, 8),
        coherence,
        size_low,
        size_high,
        base_low,
        base_high,
        poll >> 4,
        gcr,
    ];
    emit(buffer, &words, builder)
}

/// Makes earlier writes visible to what follows. `size` all ones means all memory.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbAcquireMem(
    buffer: Out<CommandBuffer>,
    engine: u8,
    coherence: u32,
    gcr: u32,
    base: u64,
    size: u64,
    poll: u32,
) -> u64 {
    let coherence = coherence & 0x7fff_ffff | u32::from(engine) << 31;
    acquire(buffer, coherence, gcr, base, size, poll, "sceAgcDcbAcquireMem")
}

/// The same on a compute queue.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcAcbAcquireMem(
    buffer: Out<CommandBuffer>,
    gcr: u32,
    base: u64,
    size: u64,
    poll: u32,
) -> u64 {
    acquire(buffer, 0, gcr, base, size, poll, "sceAgcAcbAcquireMem")
}

/// Writes a label, and raises an interrupt if asked, once everything before it is done.
#[guest_fn(libSceAgc, also = "sceAgcCbQueueEndOfPipeAction")]
pub(crate) extern "sysv64" fn sceAgcCbReleaseMem(
    buffer: Out<CommandBuffer>,
    action: u8,
    gcr: u16,
    destination: u8,
    cache: u8,
    address: u64,
    selector: u8,
    data: u64,
    gds_offset: u16,
    gds_size: u16,
    interrupt: u8,
    context: u32,
) -> u64 {
    let builder = "sceAgcCbReleaseMem";
    if action > 0x3f || destination > 1 || cache > 3 || selector > 5 || interrupt > 3 {
        return refuse(
            builder,
            format_args!(
                "event {action:#x}, destination {destination}, cache policy {cache}, data {selector}, interrupt {interrupt}"
            ),
        );
    }
    let index = if action >= FIRST_SHADER_DONE_EVENT { 6 } else { 5 };
    let data = if selector == 5 {
        u64::from(gds_offset) | u64::from(gds_size) << 16
    } else {
        data
    };
    let ([low, high], [data_low, data_high]) = (split(address), split(data));
    let words = [
        header(RELEASE_MEM, 8),
        u32::from(action) | index << 8 | u32::from(gcr & 0xfff) << 12 | u32::from(cache) << 25,
        u32::from(destination) << 16 | u32::from(interrupt) << 24 | u32::from(selector) << 29,
        low,
        high,
        data_low,
        data_high,
        context,
    ];
    emit(buffer, &words, builder)
}

fn write_data(
    buffer: Out<CommandBuffer>,
    (destination, engine): (u8, u8),
    cache: u8,
    address: u64,
    data: In<u32>,
    count: u32,
    increment: u8,
    confirm: u8,
    builder: &str,
) -> u64 {
    let data = match data.read_many(count.min(0x3ffd) as usize) {
        Some(data) if (1..=0x3ffd).contains(&count) && destination <= 0xf && cache <= 3 => data,
        _ => {
            return refuse(
                builder,
                format_args!("{count} words to destination {destination}, cache policy {cache}"),
            );
        }
    };
    let [low, high] = split(address);
    let control = u32::from(destination) << 8
        | u32::from(increment & 1) << 16
        | u32::from(confirm & 1) << 20
        | u32::from(cache) << 25
        | u32::from(engine) << 30;
    let mut words = vec![header(WRITE_DATA, 4 + data.len()), control, low, high];
    words.extend(data);
    emit(buffer, &words, builder)
}

/// Writes words from the command stream. The destination's lowest bit picks the engine.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbWriteData(
    buffer: Out<CommandBuffer>,
    destination: u8,
    cache: u8,
    address: u64,
    data: In<u32>,
    count: u32,
    increment: u8,
    confirm: u8,
) -> u64 {
    let target = (destination >> 1, destination & 1);
    write_data(
        buffer,
        target,
        cache,
        address,
        data,
        count,
        increment,
        confirm,
        "sceAgcDcbWriteData",
    )
}

/// The same on a compute queue, which has one engine.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcAcbWriteData(
    buffer: Out<CommandBuffer>,
    destination: u8,
    cache: u8,
    address: u64,
    data: In<u32>,
    count: u32,
    increment: u8,
    confirm: u8,
) -> u64 {
    write_data(
        buffer,
        (destination, 0),
        cache,
        address,
        data,
        count,
        increment,
        confirm,
        "sceAgcAcbWriteData",
    )
}

fn dma(
    buffer: Out<CommandBuffer>,
    engine: u8,
    (destination, destination_cache, destination_address): (u8, u8, u64),
    (source, source_cache, source_address): (u8, u8, u64),
    bytes: u32,
    wait: u8,
    confirm: u8,
    block: u8,
    builder: &str,
) -> u64 {
    if destination > 3 || source > 3 || destination_cache > 3 || source_cache > 3 || bytes >= 1 << 26 {
        return refuse(
            builder,
            format_args!(
                "{bytes} bytes from {source} to {destination}, cache policies {source_cache} and {destination_cache}"
            ),
        );
    }
    let ([source_low, source_high], [low, high]) = (split(source_address), split(destination_address));
    let words = [
        header(DMA_DATA, 7),
        u32::from(engine & 1)
            | u32::from(source_cache) << 13
            | u32::from(destination) << 20
            | u32::from(destination_cache) << 25
            | u32::from(source) << 29
            | u32::from(block & 1) << 31,
        source_low,
        source_high,
        low,
        high,
        bytes | u32::from(wait & 1) << 30 | u32::from(confirm & 1) << 31,
    ];
    emit(buffer, &words, builder)
}

/// Copies or fills memory.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDmaData(
    buffer: Out<CommandBuffer>,
    engine: u8,
    destination: u8,
    destination_cache: u8,
    destination_address: u64,
    source: u8,
    source_cache: u8,
    source_address: u64,
    bytes: u32,
    wait: u8,
    confirm: u8,
    block: u8,
) -> u64 {
    let to = (destination, destination_cache, destination_address);
    let from = (source, source_cache, source_address);
    dma(
        buffer,
        engine,
        to,
        from,
        bytes,
        wait,
        confirm,
        block,
        "sceAgcDcbDmaData",
    )
}

/// Copies or fills memory, on a compute queue.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcAcbDmaData(
    buffer: Out<CommandBuffer>,
    destination: u8,
    destination_cache: u8,
    destination_address: u64,
    source: u8,
    source_cache: u8,
    source_address: u64,
    bytes: u32,
    wait: u8,
    confirm: u8,
) -> u64 {
    let to = (destination, destination_cache, destination_address);
    let from = (source, source_cache, source_address);
    dma(buffer, 0, to, from, bytes, wait, confirm, 1, "sceAgcAcbDmaData")
}

/// Copies a word or two: memory, immediate or clock to memory.
#[guest_fn(libSceAgc, also = "sceAgcAcbCopyData")]
pub(crate) extern "sysv64" fn sceAgcDcbCopyData(
    buffer: Out<CommandBuffer>,
    destination: u8,
    destination_cache: u8,
    destination_address: u64,
    source: u8,
    source_cache: u8,
    source_value: u64,
    item_size: u8,
    confirm: u8,
) -> u64 {
    let builder = "sceAgcDcbCopyData";
    if destination > 0xf || source > 0xf || destination_cache > 3 || source_cache > 3 || item_size > 1 {
        return refuse(
            builder,
            format_args!("source {source}, destination {destination}, item size {item_size}"),
        );
    }
    let ([source_low, source_high], [low, high]) = (split(source_value), split(destination_address));
    let words = [
        header(COPY_DATA, 6),
        u32::from(source)
            | u32::from(destination) << 8
            | u32::from(source_cache) << 13
            | u32::from(item_size) << 16
            | u32::from(confirm & 1) << 20
            | u32::from(destination_cache) << 25,
        source_low,
        source_high,
        low,
        high,
    ];
    emit(buffer, &words, builder)
}

/// Sends an event down the pipe; occlusion and statistics dumps have an address.
#[guest_fn(libSceAgc, also = "sceAgcAcbEventWrite")]
pub(crate) extern "sysv64" fn sceAgcDcbEventWrite(
    buffer: Out<CommandBuffer>,
    event: u8,
    address: u64,
) -> u64 {
    let builder = "sceAgcDcbEventWrite";
    match event {
        0x38 | 0x39 => {
            let [low, high] = split(address);
            let words = [header(EVENT_WRITE, 4), u32::from(event) | 0x100, low & !7, high];
            emit(buffer, &words, builder)
        }
        0..=0x3f if address == 0 => {
            // Partial flushes have index 4.
            let index = if matches!(event, 0x07 | 0x0f | 0x10) {
                0x400
            } else {
                0
            };
            emit(
                buffer,
                &[header(EVENT_WRITE, 2), u32::from(event) | index],
                builder,
            )
        }
        _ => refuse(
            builder,
            format_args!("event {event:#x} with address {address:#x}"),
        ),
    }
}
