//! COPY_DATA: one or two words from memory, the packet or the clock to memory.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{
    Barrier, DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, Recorder,
};

use super::words::{address, exactly, known_bits};

/// See the module's text.
pub(super) struct CopyData {
    source: Source,
    destination: GuestAddress,
    wide: bool,
}

enum Source {
    Memory(GuestAddress),
    Immediate(u64),
    Clock,
}

// Fields of the control word.
const WIDE: u32 = 1 << 16;
/// Source 3:0, destination 11:8, cache policies 14:13 and 26:25, width 16, write confirmation 20, engine 31:30.
const KNOWN: u32 = 0xF | 0xF << 8 | 3 << 13 | WIDE | 1 << 20 | 3 << 25 | 3 << 30;

impl Packet for CopyData {
    const NAME: &'static str = "COPY_DATA";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x40)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [control, source_low, source_high, low, high] = exactly(payload)?;
        known_bits("control word", control, KNOWN)?;
        let wide = control & WIDE != 0;
        let alignment = if wide { 8 } else { 4 };
        let source = match control & 15 {
            1 | 2 => Source::Memory(aligned("source", address(source_low, source_high), 4)?),
            5 => Source::Immediate(u64::from(source_low) | u64::from(source_high) << 32),
            9 if wide => Source::Clock,
            9 => {
                return Err(PacketRefusal(
                    "half of the GPU clock is not copied (all 64 bits are)".to_owned(),
                ));
            }
            0 => {
                return Err(PacketRefusal(format!(
                    "register {source_low:#x} is not read (memory, immediate and clock are)"
                )));
            }
            other => {
                return Err(PacketRefusal(format!(
                    "source {other} is not executed (1 and 2, memory, 5, immediate, and 9, the clock, are)"
                )));
            }
        };
        let destination = match control >> 8 & 15 {
            1 | 2 | 5 => aligned("destination", address(low, high), 4)?,
            0 => {
                return Err(PacketRefusal(format!(
                    "register {low:#x} is not written (memory is)"
                )));
            }
            other => {
                return Err(PacketRefusal(format!(
                    "destination {other} is not executed (1, 2 and 5, memory, are)"
                )));
            }
        };
        if matches!(source, Source::Clock) {
            aligned("destination", destination, alignment)?;
        }
        Ok(Decoded::Row(Self {
            source,
            destination,
            wide,
        }))
    }

    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        let bytes = self.bytes();
        declare(Effect::GpuWrites(GuestRange::new(self.destination, bytes)));
        match self.source {
            Source::Memory(source) => declare(Effect::GpuReads(GuestRange::new(source, bytes))),
            Source::Immediate(value) => declare(Effect::Label {
                address: self.destination,
                value,
                wide: self.wide,
            }),
            Source::Clock => {}
        }
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.barrier(Barrier::Full);
        match self.source {
            Source::Memory(source) => recorder.copy_memory(source, self.destination, self.bytes())?,
            Source::Immediate(value) => {
                let words = [value as u32, (value >> 32) as u32];
                recorder.write_memory(self.destination, &words[..self.bytes() as usize / 4])?;
            }
            Source::Clock => recorder.write_clock(self.destination)?,
        }
        recorder.barrier(Barrier::Full);
        Ok(())
    }
}

impl CopyData {
    const fn bytes(&self) -> u64 {
        if self.wide { 8 } else { 4 }
    }
}

fn aligned(what: &str, address: GuestAddress, alignment: u64) -> Result<GuestAddress, PacketRefusal> {
    if address.is_aligned(alignment) {
        Ok(address)
    } else {
        Err(PacketRefusal(format!(
            "{what} {address} is not at a multiple of {alignment}"
        )))
    }
}
