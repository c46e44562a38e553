//! DRAW_INDIRECT_MULTI and DRAW_INDEX_INDIRECT_MULTI: draws whose counts, and how many there are, lie in memory.

use std::ops::Range;

use relic_core::GuestRange;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder, Retry};

use super::{
    indirect_arguments::{Locations, arguments, location, push_indirect, records},
    words::{address, exactly, known_bits},
};

/// Draws: their indices in the batch.
pub(super) struct DrawIndirectMulti(Range<u32>);

/// The opcode of the form with indices.
const INDEXED: u8 = 0x38;

// Fields of the control word.
const LOCATION: u32 = 0xFFFF;
const THREAD_TRACE_MARKER: u32 = 1 << 29;
const COUNT_IN_MEMORY: u32 = 1 << 30;
const DRAW_INDEX: u32 = 1 << 31;

impl Packet for DrawIndirectMulti {
    const NAME: &'static str = "DRAW_INDIRECT_MULTI";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x2C), HeaderMatch::Opcode(INDEXED)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [
            offset,
            vertex,
            instance,
            control,
            most,
            low,
            high,
            stride,
            _initiator,
        ] = exactly(payload)?;
        known_bits(
            "control word",
            control,
            LOCATION | THREAD_TRACE_MARKER | COUNT_IN_MEMORY | DRAW_INDEX,
        )?;
        if !stride.is_multiple_of(4) {
            return Err(PacketRefusal(format!(
                "its records are {stride} bytes apart, which is no multiple of 4"
            )));
        }
        let indexed = (context.header >> 8) as u8 == INDEXED;
        let locations = Locations {
            vertex: location("first vertex", vertex)?,
            instance: location("first instance", instance)?,
            draw: if control & DRAW_INDEX == 0 {
                None
            } else {
                location("draw index", control)?
            },
        };
        let at = arguments(context, offset)?;
        let mut count = most;
        if control & COUNT_IN_MEMORY != 0 {
            let place = address(low & !3, high);
            if !context.settled(GuestRange::new(place, 4)) {
                return Ok(Decoded::Again(Retry::Settled));
            }
            let there = context
                .memory
                .read_u32(place)
                .map_err(|error| PacketRefusal(format!("its count can't be read: {error}")))?;
            count = count.min(there);
        }
        let range = records(at, count, stride, indexed);
        if !context.settled(range) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        if !context.memory.is_mapped(range) {
            return Err(PacketRefusal(format!(
                "its {count} argument records in {range} are not all mapped"
            )));
        }
        let first = context.draws.rows.len() as u32;
        for draw in 0..count {
            let record = at.checked_add(u64::from(draw) * u64::from(stride)).unwrap_or(at);
            push_indirect(context, record, indexed, locations, draw)?;
        }
        Ok(if count == 0 {
            Decoded::State
        } else {
            Decoded::Row(Self(first..first + count))
        })
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        self.0.clone().try_for_each(|draw| recorder.draw(draw))
    }
}
