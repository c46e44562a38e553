//! INDIRECT_BUFFER: go on in another command buffer, and come back unless it is chained. Its long form,
//! COND_INDIRECT_BUFFER, chooses the buffer by a value in memory.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Retry};

use crate::decode::holds;

use super::{
    wait_reg_mem::compare_function,
    words::{address, known_bits},
};

/// See the module's text.
pub(super) struct IndirectBuffer;

const CHAIN: u32 = 1 << 20;
const SIZE: u32 = 0xF_FFFF;

impl Packet for IndirectBuffer {
    const NAME: &'static str = "INDIRECT_BUFFER";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x3F), HeaderMatch::Opcode(0x33)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        match *payload {
            [low, high, control] => Ok(Decoded::Call {
                address: address(low & !3, high),
                words: control & SIZE,
                chain: control & CHAIN != 0,
            }),
            [
                control,
                low,
                high,
                mask_low,
                mask_high,
                ref_low,
                ref_high,
                then_low,
                then_high,
                then_size,
                else_low,
                else_high,
                else_size,
            ] => Branch {
                control,
                place: address(low & !7, high),
                mask: u64::from(mask_low) | u64::from(mask_high) << 32,
                reference: u64::from(ref_low) | u64::from(ref_high) << 32,
                buffers: [
                    (address(then_low & !3, then_high), then_size & SIZE),
                    (address(else_low & !3, else_high), else_size & SIZE),
                ],
            }
            .choose(context),
            _ => Err(PacketRefusal(format!(
                "it has {} payload words, not 3 (a buffer) or 13 (a condition and two buffers)",
                payload.len()
            ))),
        }
    }
}

/// The long form.
struct Branch {
    control: u32,
    place: GuestAddress,
    mask: u64,
    reference: u64,
    /// For a condition that holds, and for one that does not.
    buffers: [(GuestAddress, u32); 2],
}

// Modes, bits 1:0 of the control word; the compare function lies in 10:8.
const IF_THEN: u32 = 1;
const IF_THEN_ELSE: u32 = 2;

impl Branch {
    fn choose(&self, context: &mut DecodeContext<'_>) -> Result<Decoded<IndirectBuffer>, PacketRefusal> {
        known_bits("condition word", self.control, 3 | 7 << 8)?;
        let otherwise = match self.control & 3 {
            IF_THEN => None,
            IF_THEN_ELSE => Some(self.buffers[1]),
            other => {
                return Err(PacketRefusal(format!(
                    "condition mode {other} is not executed (1, if-then, and 2, if-then-else, are)"
                )));
            }
        };
        let compare = compare_function(self.control >> 8)?;
        if !context.settled(GuestRange::new(self.place, 8)) {
            return Ok(Decoded::Again(Retry::Settled));
        }
        let value = context
            .memory
            .read_u64(self.place)
            .map_err(|error| PacketRefusal(format!("its condition can't be read: {error}")))?;
        let buffer = if holds(compare, value & self.mask, self.reference) {
            Some(self.buffers[0])
        } else {
            otherwise
        };
        Ok(match buffer {
            Some((address, words)) => Decoded::Call {
                address,
                words,
                chain: false,
            },
            None => Decoded::State,
        })
    }
}
