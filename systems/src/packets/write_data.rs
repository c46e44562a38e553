//! WRITE_DATA: words of the packet to memory.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{
    Barrier, DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, Recorder,
};

use super::words::{address, at_least};

/// See the module's text.
pub(super) struct WriteData {
    address: GuestAddress,
    words: Vec<u32>,
}

const ONE_ADDRESS: u32 = 1 << 16;

impl Packet for WriteData {
    const NAME: &'static str = "WRITE_DATA";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x37), HeaderMatch::NopOperation(0x15)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let ([control, low, high], words) = at_least(payload)?;
        match control >> 8 & 15 {
            // Memory through one path or another.
            1 | 2 | 5 => {}
            other => {
                return Err(PacketRefusal(format!(
                    "destination {other} is not executed (1, 2 and 5, memory, are)"
                )));
            }
        }
        // Written to one address, only the last word remains.
        let words = match words {
            [.., last] if control & ONE_ADDRESS != 0 => std::slice::from_ref(last),
            _ => words,
        };
        if words.is_empty() {
            return Ok(Decoded::State);
        }
        Ok(Decoded::Row(Self {
            address: address(low & !3, high),
            words: words.to_vec(),
        }))
    }

    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        declare(Effect::GpuWrites(GuestRange::new(
            self.address,
            4 * self.words.len() as u64,
        )));
        if let [low] = self.words[..] {
            declare(Effect::Label {
                address: self.address,
                value: u64::from(low),
                wide: false,
            });
        } else if let [low, high] = self.words[..] {
            let value = u64::from(low) | u64::from(high) << 32;
            declare(Effect::Label {
                address: self.address,
                value,
                wide: true,
            });
        }
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.barrier(Barrier::Full);
        recorder.write_memory(self.address, &self.words)?;
        recorder.barrier(Barrier::Full);
        Ok(())
    }
}
