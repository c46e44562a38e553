//! RELEASE_MEM: when all work before it has finished, write a label and raise an interrupt.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{
    Barrier, DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, Recorder,
};

use super::words::{address, at_least};

/// See the module's text.
pub(super) struct ReleaseMem {
    address: GuestAddress,
    data: Data,
    interrupt: bool,
}

#[derive(Clone, Copy)]
enum Data {
    None,
    Low(u32),
    Wide(u64),
    Clock,
}

impl Packet for ReleaseMem {
    const NAME: &'static str = "RELEASE_MEM";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x49), HeaderMatch::NopOperation(0x18)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        // Without its data words a label must not be touched: a short packet is refused, not completed with 0.
        let ([_event, control, low, high, data_low, data_high], _context_id) = at_least(payload)?;
        let data = match control >> 29 {
            0 => Data::None,
            1 => Data::Low(data_low),
            2 => Data::Wide(u64::from(data_low) | u64::from(data_high) << 32),
            3 => Data::Clock,
            other => {
                // Known trap: the label stays as it is, and the interrupt is honoured.
                tracing::warn!("RELEASE_MEM: data selector {other} writes nothing (0 to 3 are known)");
                Data::None
            }
        };
        let interrupt = control >> 24 & 7 != 0;
        Ok(Decoded::Row(Self {
            address: address(low & !3, high),
            data,
            interrupt,
        }))
    }

    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        let (value, wide) = match self.data {
            Data::None => return,
            Data::Low(value) => (u64::from(value), false),
            Data::Wide(value) => (value, true),
            Data::Clock => {
                declare(Effect::GpuWrites(GuestRange::new(self.address, 8)));
                return;
            }
        };
        declare(Effect::GpuWrites(GuestRange::new(
            self.address,
            if wide { 8 } else { 4 },
        )));
        declare(Effect::Label {
            address: self.address,
            value,
            wide,
        });
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.barrier(Barrier::Full);
        match self.data {
            Data::None => {}
            Data::Low(value) => recorder.write_memory(self.address, &[value])?,
            Data::Wide(value) => {
                recorder.write_memory(self.address, &[value as u32, (value >> 32) as u32])?;
            }
            Data::Clock => recorder.write_clock(self.address)?,
        }
        recorder.barrier(Barrier::Full);
        if self.interrupt {
            recorder.interrupt();
        }
        Ok(())
    }
}
