//! What builders append, in bytes. Programs that do not inline the sizes ask for them.

use relic_macros::guest_fn;

/// Declares a size export.
macro_rules! sizes {
    ($($name:ident: $words:expr;)*) => {$(
        /// Size of what the builder of this name appends, in bytes.
        #[guest_fn(libSceAgc)]
        pub(crate) extern "sysv64" fn $name() -> u32 {
            4 * $words
        }
    )*};
}

sizes! {
    sceAgcDcbSetCxRegistersIndirectGetSize: 5;
    sceAgcDcbSetShRegistersIndirectGetSize: 5;
    sceAgcDcbSetUcRegistersIndirectGetSize: 5;
    sceAgcDcbSetCxRegisterDirectGetSize: 3;
    sceAgcDcbSetShRegisterDirectGetSize: 3;
    sceAgcDcbSetUcRegisterDirectGetSize: 3;
    sceAgcDcbSetIndexSizeGetSize: 3;
    sceAgcDcbSetIndexBufferGetSize: 3;
    sceAgcDcbSetIndexCountGetSize: 2;
    sceAgcDcbSetNumInstancesGetSize: 2;
    sceAgcDcbDrawIndexAutoGetSize: 3;
    sceAgcDcbDrawIndexGetSize: 6;
    sceAgcDcbDrawIndexOffsetGetSize: 5;
    sceAgcDcbDrawIndirectGetSize: 5;
    sceAgcDcbDrawIndexIndirectGetSize: 5;
    sceAgcDcbSetBaseDrawIndirectArgsGetSize: 4;
    sceAgcDcbSetBaseDispatchIndirectArgsGetSize: 4;
    sceAgcCbDispatchGetSize: 5;
    sceAgcDcbDispatchIndirectGetSize: 3;
    sceAgcAcbDispatchIndirectGetSize: 4;
    sceAgcDcbAcquireMemGetSize: 8;
    sceAgcAcbAcquireMemGetSize: 8;
    sceAgcCbQueueEndOfPipeActionGetSize: 8;
    sceAgcDcbDmaDataGetSize: 7;
    sceAgcAcbDmaDataGetSize: 7;
    sceAgcDcbCopyDataGetSize: 6;
    sceAgcDcbJumpGetSize: 4;
    sceAgcAcbJumpGetSize: 4;
    sceAgcDcbCondExecGetSize: 5;
    sceAgcAcbCondExecGetSize: 5;
    sceAgcDcbSetPredicationGetSize: 4;
    sceAgcDcbRewindGetSize: 2;
    sceAgcDcbStallCommandBufferParserGetSize: 2;
}

/// Size of a NOP of so many words.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCbNopGetSize(words: u32) -> u32 {
    4 * words
}

/// Size of a write of so many words.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbWriteDataGetSize(words: u32) -> u32 {
    16 + 4 * words
}

/// Size of a range of so many registers.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCbSetShRegisterRangeDirectGetSize(count: u32) -> u32 {
    8 + 4 * count
}

/// Size of a wait for 32 bits (0) or 64 bits (1), with the tags around it.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbWaitOnAddressGetSize(size: u32) -> u32 {
    if size == 0 { 56 } else { 64 }
}

#[cfg(test)]
mod tests {
    use super::super::{
        control::*, cursor::*, dispatch::*, draw::*, flip::*, marker::*, memory::*, packet, registers::*,
        wait::*,
    };
    use super::*;
    use crate::pointer::{In, Out, Text};

    /// Builders, the words that the console's library appends, and the size export where there is one.
    type Case = (&'static str, fn(Out<CommandBuffer>) -> u64, usize, Option<u32>);

    fn list() -> In<Register> {
        static LIST: [u64; 4] = [1, 2, 3, 9];
        // SAFETY: a static of the tests.
        unsafe { In::new(LIST.as_ptr().cast()) }
    }

    fn values() -> In<u32> {
        static VALUES: [u32; 4] = [1, 2, 3, 4];
        // SAFETY: a static of the tests.
        unsafe { In::new(VALUES.as_ptr()) }
    }

    fn modifier() -> DrawModifier {
        // SAFETY: the layout of a modifier is its number.
        unsafe { std::mem::transmute(0x4000_0000u64) }
    }

    fn register() -> Register {
        Register {
            offset: 0x8c,
            value: 5,
        }
    }

    fn text() -> Text {
        // SAFETY: a C string.
        unsafe { Text::new(c"seven..".as_ptr().cast()) }
    }

    const CASES: &[Case] = &[
        (
            "cx indirect",
            |b| sceAgcDcbSetCxRegistersIndirect(b, list(), 4),
            5,
            Some(20),
        ),
        (
            "sh indirect",
            |b| sceAgcDcbSetShRegistersIndirect(b, list(), 4),
            5,
            Some(20),
        ),
        (
            "uc indirect",
            |b| sceAgcDcbSetUcRegistersIndirect(b, list(), 4),
            5,
            Some(20),
        ),
        (
            "cx direct",
            |b| sceAgcDcbSetCxRegisterDirect(b, register()),
            3,
            Some(12),
        ),
        (
            "sh direct",
            |b| sceAgcDcbSetShRegisterDirect(b, register()),
            3,
            Some(12),
        ),
        (
            "uc direct",
            |b| sceAgcDcbSetUcRegisterDirect(b, register()),
            3,
            Some(12),
        ),
        (
            "sh range",
            |b| sceAgcCbSetShRegisterRangeDirect(b, 0x8c, values(), 4),
            6,
            Some(24),
        ),
        (
            "sh list: runs 1, 2, 3 and 9",
            |b| sceAgcCbSetShRegistersDirect(b, list(), 4),
            8,
            None,
        ),
        ("index size", |b| sceAgcDcbSetIndexSize(b, 1, 0), 3, Some(12)),
        (
            "index buffer",
            |b| sceAgcDcbSetIndexBuffer(b, 0x1234_5678),
            3,
            Some(12),
        ),
        ("index count", |b| sceAgcDcbSetIndexCount(b, 3), 2, Some(8)),
        ("instances", |b| sceAgcDcbSetNumInstances(b, 3), 2, Some(8)),
        (
            "draw auto",
            |b| sceAgcDcbDrawIndexAuto(b, 3, modifier()),
            3,
            Some(12),
        ),
        (
            "draw index",
            |b| sceAgcDcbDrawIndex(b, 3, 0x1000, modifier()),
            6,
            Some(24),
        ),
        (
            "draw offset",
            |b| sceAgcDcbDrawIndexOffset(b, 0, 3, modifier()),
            5,
            Some(20),
        ),
        (
            "draw indirect",
            |b| sceAgcDcbDrawIndirect(b, 16, modifier()),
            5,
            Some(20),
        ),
        (
            "draw index indirect",
            |b| sceAgcDcbDrawIndexIndirect(b, 16, modifier()),
            5,
            Some(20),
        ),
        (
            "set base",
            |b| sceAgcDcbSetBaseIndirectArgs(b, 1, 0x1000),
            4,
            Some(16),
        ),
        ("dispatch", |b| sceAgcCbDispatch(b, 1, 2, 3, 0), 5, Some(20)),
        (
            "dispatch indirect",
            |b| sceAgcDcbDispatchIndirect(b, 16, 0),
            3,
            Some(12),
        ),
        (
            "compute dispatch indirect",
            |b| sceAgcAcbDispatchIndirect(b, 0x1000, 0),
            4,
            Some(16),
        ),
        (
            "acquire",
            |b| sceAgcDcbAcquireMem(b, 1, 0, 0, 0, u64::MAX, 160),
            8,
            Some(32),
        ),
        (
            "compute acquire",
            |b| sceAgcAcbAcquireMem(b, 0, 0, 0x100, 160),
            8,
            Some(32),
        ),
        (
            "release",
            |b| sceAgcCbReleaseMem(b, 0x14, 0, 0, 0, 0x1000, 1, 5, 0, 0, 0, 0),
            8,
            Some(32),
        ),
        (
            "write data",
            |b| sceAgcDcbWriteData(b, 10, 0, 0x1000, values(), 3, 0, 1),
            7,
            Some(28),
        ),
        (
            "compute write data",
            |b| sceAgcAcbWriteData(b, 5, 0, 0x1000, values(), 3, 0, 1),
            7,
            Some(28),
        ),
        (
            "dma",
            |b| sceAgcDcbDmaData(b, 0, 0, 0, 0x1000, 2, 0, 7, 64, 0, 0, 1),
            7,
            Some(28),
        ),
        (
            "compute dma",
            |b| sceAgcAcbDmaData(b, 0, 0, 0x1000, 2, 0, 7, 64, 0, 0),
            7,
            Some(28),
        ),
        (
            "copy data",
            |b| sceAgcDcbCopyData(b, 2, 0, 0x1000, 2, 0, 0x2000, 1, 1),
            6,
            Some(24),
        ),
        ("event", |b| sceAgcDcbEventWrite(b, 0x10, 0), 2, None),
        (
            "event with address",
            |b| sceAgcDcbEventWrite(b, 0x39, 0x1000),
            4,
            None,
        ),
        (
            "wait 32",
            |b| sceAgcDcbWaitRegMem(b, 0, 3, 0, 0, 0x1000, 1, 1, 160),
            14,
            Some(56),
        ),
        (
            "wait 64",
            |b| sceAgcDcbWaitRegMem(b, 1, 3, 0, 0, 0x1000, 1, 1, 160),
            16,
            Some(64),
        ),
        (
            "compute wait 32",
            |b| sceAgcAcbWaitRegMem(b, 0, 3, 0, 0x1000, 1, 1, 160),
            14,
            Some(56),
        ),
        ("jump", |b| sceAgcDcbJump(b, 0, 0, 0x1000, 64), 4, Some(16)),
        ("cond exec", |b| sceAgcDcbCondExec(b, 0x1000, 64), 5, Some(20)),
        (
            "predication",
            |b| sceAgcDcbSetPredication(b, 1, 3, 1, 0x1000, 0),
            4,
            Some(16),
        ),
        ("rewind", |b| sceAgcDcbRewind(b, 1), 2, Some(8)),
        ("stall", |b| sceAgcDcbStallCommandBufferParser(b), 2, Some(8)),
        ("reset", |b| sceAgcDcbResetQueue(b, 0x3ff, 0), 2, None),
        ("compute reset", |b| sceAgcAcbResetQueue(b, 0x3ff), 2, None),
        ("nop", |b| sceAgcCbNop(b, 9), 9, Some(36)),
        ("one-word nop", |b| sceAgcCbNop(b, 1), 1, Some(4)),
        ("push marker", |b| sceAgcDcbPushMarker(b, text(), 0), 3, None),
        ("pop marker", |b| sceAgcDcbPopMarker(b), 2, None),
        ("flip", |b| sceAgcDcbSetFlip(b, 1, 0, 1, 7), 64, None),
        (
            "wait safe",
            |b| sceAgcDcbWaitUntilSafeForRendering(b, 1, 0),
            32,
            None,
        ),
    ];

    #[test]
    fn every_builder_appends_exactly_the_consoles_length() {
        for (name, build, words, bytes) in CASES {
            let mut buffer = TestBuffer::new(*words);
            let at = build(buffer.place());
            assert_eq!(at, buffer.object.bottom, "{name} fits and returns its packet");
            assert_eq!(buffer.used(), *words, "{name}");
            if let Some(bytes) = bytes {
                assert_eq!(4 * *words, *bytes as usize, "{name}");
            }
            // The packets walk to exactly the end.
            let mut at = 0;
            while at < *words {
                at += packet::length(buffer.words[at]).unwrap_or_else(|| panic!("{name}: header at {at}"));
            }
            assert_eq!(at, *words, "{name}");

            let mut short = TestBuffer::new(*words - 1);
            assert_eq!(build(short.place()), 0, "{name} does not fit");
            assert!(short.words.iter().all(|word| *word == 0xdead_beef), "{name}");
        }
    }

    #[test]
    fn size_exports_agree_with_the_builders() {
        let exports: &[(u32, &str)] = &[
            (sceAgcDcbSetCxRegistersIndirectGetSize(), "cx indirect"),
            (sceAgcDcbSetCxRegisterDirectGetSize(), "cx direct"),
            (sceAgcCbSetShRegisterRangeDirectGetSize(4), "sh range"),
            (sceAgcDcbSetIndexSizeGetSize(), "index size"),
            (sceAgcDcbSetIndexBufferGetSize(), "index buffer"),
            (sceAgcDcbSetIndexCountGetSize(), "index count"),
            (sceAgcDcbSetNumInstancesGetSize(), "instances"),
            (sceAgcDcbDrawIndexAutoGetSize(), "draw auto"),
            (sceAgcDcbDrawIndexGetSize(), "draw index"),
            (sceAgcDcbDrawIndexOffsetGetSize(), "draw offset"),
            (sceAgcDcbDrawIndirectGetSize(), "draw indirect"),
            (sceAgcDcbSetBaseDrawIndirectArgsGetSize(), "set base"),
            (sceAgcCbDispatchGetSize(), "dispatch"),
            (sceAgcDcbDispatchIndirectGetSize(), "dispatch indirect"),
            (sceAgcAcbDispatchIndirectGetSize(), "compute dispatch indirect"),
            (sceAgcDcbAcquireMemGetSize(), "acquire"),
            (sceAgcCbQueueEndOfPipeActionGetSize(), "release"),
            (sceAgcDcbWriteDataGetSize(3), "write data"),
            (sceAgcDcbDmaDataGetSize(), "dma"),
            (sceAgcDcbCopyDataGetSize(), "copy data"),
            (sceAgcDcbWaitOnAddressGetSize(0), "wait 32"),
            (sceAgcDcbWaitOnAddressGetSize(1), "wait 64"),
            (sceAgcDcbJumpGetSize(), "jump"),
            (sceAgcDcbCondExecGetSize(), "cond exec"),
            (sceAgcDcbSetPredicationGetSize(), "predication"),
            (sceAgcDcbRewindGetSize(), "rewind"),
            (sceAgcCbNopGetSize(9), "nop"),
        ];
        for (bytes, name) in exports {
            let case = CASES.iter().find(|case| case.0 == *name).unwrap();
            assert_eq!(case.3, Some(*bytes), "{name}");
        }
    }

    #[test]
    fn fields_land_where_the_command_processor_reads_them() {
        let words = |build: fn(Out<CommandBuffer>) -> u64| {
            let mut buffer = TestBuffer::new(64);
            build(buffer.place());
            let used = buffer.used();
            buffer.words.truncate(used);
            buffer.words
        };
        assert_eq!(
            words(|b| sceAgcDcbDrawIndexAuto(b, 3, modifier())),
            [0xc001_2d00, 3, 2]
        );
        assert_eq!(
            words(|b| sceAgcCbReleaseMem(
                b,
                0x2f,
                0x123,
                0,
                1,
                0x12_3456_7890,
                2,
                0x1122_3344_5566_7788,
                0,
                0,
                2,
                9
            )),
            [
                0xc006_4900,
                0x2f | 6 << 8 | 0x123 << 12 | 1 << 25,
                2 << 24 | 2 << 29,
                0x3456_7890,
                0x12,
                0x5566_7788,
                0x1122_3344,
                9
            ]
        );
        assert_eq!(
            words(|b| sceAgcDcbWaitRegMem(b, 0, 3, 0, 0, 0x12_3456_7890, 5, 0xff, 160)),
            [
                0xc002_7900,
                0x342,
                0xc801_0012,
                0x3456_7890,
                0xc005_3c00,
                0x13,
                0x3456_7890,
                0x12,
                5,
                0xff,
                10,
                0xc001_7900,
                0x342,
                0xc800_0000
            ]
        );
        assert_eq!(
            words(|b| sceAgcDcbSetIndexSize(b, 1, 2)),
            [0xc001_7a00, 0x2000_0243, 0x481]
        );
        assert_eq!(
            words(|b| sceAgcDcbSetFlip(b, 1, -1, 1, -2))[..7],
            [0xc004_105c, 1, u32::MAX, 1, u32::MAX - 1, u32::MAX, 0xc038_1000]
        );
    }
}
