//! Argument records of indirect draws, which the CPU reads when it decodes them.
//!
//! The command processor hands first vertex, first instance and draw index on in user-data registers that the packet
//! names: vertex and instance numbers themselves count from 0.

use relic_components::batch::DrawSource;
use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{DecodeContext, PacketRefusal};

use super::draw_index_offset_2::indices_from_base;
use crate::decode::snapshot::push_instances;

/// User-data registers that a packet names for values of a record.
#[derive(Clone, Copy)]
pub(super) struct Locations {
    /// For the first vertex, or what is added to each index.
    pub vertex: Option<usize>,
    /// For the first instance.
    pub instance: Option<usize>,
    /// For the number of the draw in its packet.
    pub draw: Option<usize>,
}

/// Values of a location field that name no register: the console's, and the drivers' that leave it 0.
const NO_LOCATION: [u32; 2] = [0x280, 0];
/// First user-data registers of the graphics stages (PS, VS, GS, ES, HS, LS), 32 each.
const USER_DATA: [u32; 6] = [0x00C, 0x04C, 0x08C, 0x0CC, 0x10C, 0x14C];

/// The register that a location field names.
pub(super) fn location(what: &str, word: u32) -> Result<Option<usize>, PacketRefusal> {
    let register = word & 0xFFFF;
    if NO_LOCATION.contains(&register) {
        Ok(None)
    } else if USER_DATA
        .iter()
        .any(|first| (*first..first + 32).contains(&register))
    {
        Ok(Some(register as usize))
    } else {
        Err(PacketRefusal(format!(
            "its register for the {what}, SH {register:#x}, is not one of user data"
        )))
    }
}

/// Where records lie: some offset from SET_BASE.
pub(super) fn arguments(context: &DecodeContext<'_>, offset: u32) -> Result<GuestAddress, PacketRefusal> {
    let base = context.state.graphics_indirect_base;
    base.checked_add(offset.into())
        .filter(|address| address.is_aligned(4))
        .ok_or_else(|| {
            PacketRefusal(format!(
                "offset {offset:#x} from base {base} is no address at a multiple of 4"
            ))
        })
}

/// Bytes of a record.
pub(super) const fn record_size(indexed: bool) -> u64 {
    if indexed { 20 } else { 16 }
}

/// Adds the draw of the record at `at`. Returns its index.
pub(super) fn push_indirect(
    context: &mut DecodeContext<'_>,
    at: GuestAddress,
    indexed: bool,
    locations: Locations,
    draw: u32,
) -> Result<u32, PacketRefusal> {
    // Known trap 5: the record without indices has four words. A fifth may lie in other memory.
    let mut record = [0; 5];
    let words = &mut record[..record_size(indexed) as usize / 4];
    context
        .memory
        .read_words(at, words)
        .map_err(|error| PacketRefusal(format!("its arguments can't be read: {error}")))?;
    let [count, instances, first, third, fourth] = record;
    let (source, vertex, instance) = if indexed {
        let limit = context.state.index_count;
        let source = indices_from_base(context.state, first, count, limit)?;
        (source, third, fourth)
    } else {
        (DrawSource::Auto { count }, first, third)
    };
    let registers = &mut context.banks.shader;
    for (location, value) in [
        (locations.vertex, vertex),
        (locations.instance, instance),
        (locations.draw, draw),
    ] {
        if let Some(register) = location {
            registers[register] = value;
        }
    }
    Ok(push_instances(context, source, instances))
}

/// The range of `count` records.
pub(super) fn records(at: GuestAddress, count: u32, stride: u32, indexed: bool) -> GuestRange {
    let Some(last) = count.checked_sub(1) else {
        return GuestRange::default();
    };
    GuestRange::new(at, u64::from(last) * u64::from(stride) + record_size(indexed))
}
