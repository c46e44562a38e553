//! Changing packets that are in a buffer already.

use relic_macros::guest_fn;

use super::{
    AgcError,
    packet::{
        self, INDIRECT_BUFFER, RELEASE_MEM, REWIND, SET_CONTEXT_REG_INDIRECT, SET_SH_REG_INDIRECT,
        SET_UCONFIG_REG, SET_UCONFIG_REG_INDIRECT, WAIT_REG_MEM, WAIT_REG_MEM64, split,
    },
    wait::TAG_WORDS,
};
use crate::{log, pointer::Out, result::SceResult};

/// The packet at `place`, if it has one of these opcodes.
fn expect(place: Out<u32>, opcodes: &[u32], function: &str) -> Result<u32, AgcError> {
    let header = place.read().ok_or(AgcError::InvalidArgument)?;
    if header >> 30 == 3 && opcodes.contains(&packet::opcode(header)) {
        Ok(packet::opcode(header))
    } else {
        log::warn(format_args!(
            "{function}: the packet at {:#x} has header {header:#010x}, which is another packet",
            place.address()
        ));
        Err(AgcError::InvalidArgument)
    }
}

fn put_address(place: Out<u32>, word: usize, address: u64) {
    let [low, high] = split(address);
    place.write_at(word, low);
    place.write_at(word + 1, high);
}

/// Declares the three patches of one register bank's indirect packet.
macro_rules! indirect_patches {
    ($($opcode:ident: $address:ident, $count:ident, $add:ident;)*) => {$(
        /// Points an indirect register packet at another list.
        #[guest_fn(libSceAgc)]
        pub(crate) extern "sysv64" fn $address(place: Out<u32>, list: u64) -> SceResult {
            expect(place, &[$opcode], stringify!($address))
                .map(|_| put_address(place, 1, list))
                .into()
        }

        /// Sets how many registers the list has.
        #[guest_fn(libSceAgc)]
        pub(crate) extern "sysv64" fn $count(place: Out<u32>, count: u32) -> SceResult {
            expect(place, &[$opcode], stringify!($count))
                .map(|_| {
                    place.write_at(4, count & 0x3fff);
                })
                .into()
        }

        /// Adds to how many registers the list has.
        #[guest_fn(libSceAgc)]
        pub(crate) extern "sysv64" fn $add(place: Out<u32>, count: u32) -> SceResult {
            expect(place, &[$opcode], stringify!($add))
                .map(|_| {
                    let before = place.byte_add::<u32>(16).read().unwrap_or(0);
                    place.write_at(4, before.wrapping_add(count) & 0x3fff);
                })
                .into()
        }
    )*};
}

indirect_patches! {
    SET_CONTEXT_REG_INDIRECT: sceAgcSetCxRegIndirectPatchSetAddress,
        sceAgcSetCxRegIndirectPatchSetNumRegisters, sceAgcSetCxRegIndirectPatchAddRegisters;
    SET_SH_REG_INDIRECT: sceAgcSetShRegIndirectPatchSetAddress,
        sceAgcSetShRegIndirectPatchSetNumRegisters, sceAgcSetShRegIndirectPatchAddRegisters;
    SET_UCONFIG_REG_INDIRECT: sceAgcSetUcRegIndirectPatchSetAddress,
        sceAgcSetUcRegIndirectPatchSetNumRegisters, sceAgcSetUcRegIndirectPatchAddRegisters;
}

/// The wait itself, behind its tag.
fn wait_packet(place: Out<u32>, function: &str) -> Result<(Out<u32>, u32), AgcError> {
    let opcode = expect(place, &[SET_UCONFIG_REG, WAIT_REG_MEM, WAIT_REG_MEM64], function)?;
    if opcode != SET_UCONFIG_REG {
        return Ok((place, opcode));
    }
    let wait = place.byte_add(4 * TAG_WORDS);
    let opcode = expect(wait, &[WAIT_REG_MEM, WAIT_REG_MEM64], function)?;
    Ok((wait, opcode))
}

/// Points a wait at another label.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcWaitRegMemPatchAddress(place: Out<u32>, address: u64) -> SceResult {
    wait_packet(place, "sceAgcWaitRegMemPatchAddress")
        .map(|(wait, _)| put_address(wait, 2, address))
        .into()
}

/// Changes what a wait compares with.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcWaitRegMemPatchReference(place: Out<u32>, reference: u64) -> SceResult {
    wait_packet(place, "sceAgcWaitRegMemPatchReference")
        .map(|(wait, opcode)| {
            let [low, high] = split(reference);
            wait.write_at(4, low);
            if opcode == WAIT_REG_MEM64 {
                wait.write_at(5, high);
            }
        })
        .into()
}

/// Points an end-of-pipe write at another label.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcQueueEndOfPipeActionPatchAddress(
    place: Out<u32>,
    address: u64,
) -> SceResult {
    expect(place, &[RELEASE_MEM], "sceAgcQueueEndOfPipeActionPatchAddress")
        .map(|_| put_address(place, 3, address))
        .into()
}

/// Changes what an end-of-pipe write stores.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcQueueEndOfPipeActionPatchData(
    place: Out<u32>,
    context: u32,
    selector: u32,
    data: u64,
) -> SceResult {
    expect(place, &[RELEASE_MEM], "sceAgcQueueEndOfPipeActionPatchData")
        .map(|_| {
            let control = place.byte_add::<u32>(8).read().unwrap_or(0);
            place.write_at(2, control & !(7 << 29) | (selector & 7) << 29);
            put_address(place, 5, data);
            place.write_at(7, context);
        })
        .into()
}

/// Points a jump at another buffer.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcJumpPatchSetTarget(
    place: Out<u32>,
    target: u64,
    words: u32,
) -> SceResult {
    expect(place, &[INDIRECT_BUFFER], "sceAgcJumpPatchSetTarget")
        .map(|_| {
            put_address(place, 1, target & 0xffff_ffff_fffc);
            let control = place.byte_add::<u32>(12).read().unwrap_or(0);
            place.write_at(3, control & !0xf_ffff | words & 0xf_ffff);
        })
        .into()
}

/// Lets a waiting parser go on.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcRewindPatchSetRewindState(place: Out<u32>, state: u8) -> SceResult {
    expect(place, &[REWIND], "sceAgcRewindPatchSetRewindState")
        .map(|_| {
            place.write_at(1, u32::from(state & 1) << 31);
        })
        .into()
}

/// Makes a packet depend on the predication condition, or not.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcSetPacketPredication(place: Out<u32>, predicated: u32) -> SceResult {
    match place.read() {
        Some(header) if header >> 30 == 3 => {
            place.write(header & !1 | predicated & 1);
            SceResult::OK
        }
        _ => AgcError::InvalidArgument.into(),
    }
}

/// Size of a packet in words, 0 for what is none.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcGetPacketSize(place: Out<u32>) -> u32 {
    match place.read() {
        Some(header) if header >> 30 == 3 => packet::length(header).unwrap_or(0) as u32,
        _ => 0,
    }
}

/// Stores the address of a packet's data: behind the header (type 0) or the word after it (type 1).
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcGetDataPacketPayloadAddress(
    out: Out<u64>,
    place: Out<u32>,
    kind: i32,
) -> SceResult {
    if place.is_null() || !(0..=1).contains(&kind) {
        return AgcError::InvalidArgument.into();
    }
    let one_word = kind == 0
        && place
            .read()
            .is_some_and(|header| packet::length(header) == Some(1));
    let address = if one_word {
        0
    } else {
        place.address() + if kind == 0 { 4 } else { 8 }
    };
    if out.write(address) {
        SceResult::OK
    } else {
        AgcError::InvalidArgument.into()
    }
}
