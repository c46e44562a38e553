//! WRITE_CONST_RAM and DUMP_CONST_RAM: the constant engine's own memory, filled by packets and written out to memory.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{
    Barrier, DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, Recorder,
};

use super::words::{address, at_least, exactly};

/// Words go into the RAM.
pub(super) struct WriteConstantRam;

/// Words of the RAM go to memory.
pub(super) struct DumpConstantRam {
    address: GuestAddress,
    words: Vec<u32>,
}

/// Words of the RAM: 48 KiB.
const WORDS: usize = 0x3000;

/// The words of the RAM from byte `offset` on.
fn place(offset: u32, count: usize) -> Result<std::ops::Range<usize>, PacketRefusal> {
    let first = (offset & 0xFFFF) as usize / 4;
    if offset.is_multiple_of(4) && first + count <= WORDS {
        Ok(first..first + count)
    } else {
        Err(PacketRefusal(format!(
            "{count} words at byte {:#x} are not in the RAM of {:#x} bytes",
            offset & 0xFFFF,
            4 * WORDS
        )))
    }
}

impl Packet for WriteConstantRam {
    const NAME: &'static str = "WRITE_CONST_RAM";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x81)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let ([offset], values) = at_least(payload)?;
        let place = place(offset, values.len())?;
        let ram = &mut context.state.constant_ram;
        if ram.len() < place.end {
            ram.resize(place.end, 0);
        }
        ram[place].copy_from_slice(values);
        Ok(Decoded::State)
    }
}

impl Packet for DumpConstantRam {
    const NAME: &'static str = "DUMP_CONST_RAM";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x83)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let [offset, count, low, high] = exactly(payload)?;
        let place = place(offset, (count & 0x7FFF) as usize)?;
        if place.is_empty() {
            return Ok(Decoded::State);
        }
        let ram = &context.state.constant_ram;
        let words = place.map(|i| ram.get(i).copied().unwrap_or(0)).collect();
        Ok(Decoded::Row(Self {
            address: address(low & !3, high),
            words,
        }))
    }

    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        let bytes = 4 * self.words.len() as u64;
        declare(Effect::GpuWrites(GuestRange::new(self.address, bytes)));
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.barrier(Barrier::Full);
        recorder.write_memory(self.address, &self.words)?;
        recorder.barrier(Barrier::Full);
        Ok(())
    }
}
