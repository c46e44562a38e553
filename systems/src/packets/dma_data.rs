//! DMA_DATA: copies and fills by the command processor.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{
    Barrier, DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, Recorder,
};

use super::words::{address, exactly, known_bits};

/// See the module's text.
pub(super) enum DmaData {
    /// Copy.
    Copy {
        /// From.
        source: GuestAddress,
        /// To.
        destination: GuestAddress,
        /// Size.
        bytes: u64,
    },
    /// Fill with a 32-bit pattern.
    Fill {
        /// What.
        range: GuestRange,
        /// With.
        pattern: u32,
    },
}

// Fields of the first word (bits 30:29, 21:20).
const SOURCE_ADDRESS: u32 = 0;
const SOURCE_PATTERN: u32 = 2;
const SOURCE_L2: u32 = 3;
const DESTINATION_ADDRESS: u32 = 0;
const DESTINATION_NOWHERE: u32 = 2;
const DESTINATION_L2: u32 = 3;

impl Packet for DmaData {
    const NAME: &'static str = "DMA_DATA";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x50), HeaderMatch::NopOperation(0x19)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [control, source_low, source_high, low, high, command] = exactly(payload)?;
        // Engine 0, cache policies 14:13 and 26:25, selectors 21:20 and 30:29, CP_SYNC 31.
        known_bits(
            "control word",
            control,
            1 | 3 << 13 | 3 << 20 | 3 << 25 | 3 << 29 | 1 << 31,
        )?;
        // Byte count 25:0, RAW_WAIT 30, DIS_WC 31: the address-space and no-increment bits are not executed.
        known_bits("command word", command, 0x03FF_FFFF | 3 << 30)?;
        let bytes = u64::from(command & 0x03FF_FFFF);
        let destination = address(low, high);
        match control >> 20 & 3 {
            // A prefetch into L2: there is nothing to do.
            DESTINATION_NOWHERE => return Ok(Decoded::State),
            DESTINATION_ADDRESS | DESTINATION_L2 => {}
            other => {
                return Err(PacketRefusal(format!(
                    "destination {other} (GDS) is not executed"
                )));
            }
        }
        let row = match control >> 29 & 3 {
            SOURCE_PATTERN => {
                if !destination.is_aligned(4) || !bytes.is_multiple_of(4) {
                    return Err(PacketRefusal(format!(
                        "a fill of {bytes} bytes at {destination} is not made of whole words"
                    )));
                }
                Self::Fill {
                    range: GuestRange::new(destination, bytes),
                    pattern: source_low,
                }
            }
            SOURCE_ADDRESS | SOURCE_L2 => Self::Copy {
                source: address(source_low, source_high),
                destination,
                bytes,
            },
            other => return Err(PacketRefusal(format!("source {other} (GDS) is not executed"))),
        };
        Ok(if bytes == 0 {
            Decoded::State
        } else {
            Decoded::Row(row)
        })
    }

    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        match *self {
            Self::Copy {
                source,
                destination,
                bytes,
            } => {
                declare(Effect::GpuReads(GuestRange::new(source, bytes)));
                declare(Effect::GpuWrites(GuestRange::new(destination, bytes)));
            }
            Self::Fill { range, pattern } => {
                declare(Effect::GpuWrites(range));
                if range.size() == 4 {
                    declare(Effect::Label {
                        address: range.start(),
                        value: u64::from(pattern),
                        wide: false,
                    });
                }
            }
        }
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        // The command processor runs DMA in the order of the stream; on the host, order needs saying.
        recorder.barrier(Barrier::Full);
        match *self {
            Self::Copy {
                source,
                destination,
                bytes,
            } => recorder.copy_memory(source, destination, bytes)?,
            Self::Fill { range, pattern } => recorder.fill_memory(range, pattern)?,
        }
        recorder.barrier(Barrier::Full);
        Ok(())
    }
}
