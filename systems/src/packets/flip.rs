//! The console's flip: a NOP sub-operation that puts a registered buffer on screen.

use relic_components::video::{FlipRequest, VideoHandle};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

use super::words::at_least;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flip(pub FlipRequest);

impl Packet for Flip {
    const NAME: &'static str = "FLIP";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x17)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        // What follows the five words is the builder's reserved room, with stale content.
        let ([handle, buffer, mode, low, high], _reserved) = at_least(payload)?;
        Ok(Decoded::Row(Self(FlipRequest {
            handle: VideoHandle(handle.cast_signed()),
            buffer: buffer.cast_signed(),
            mode,
            argument: (u64::from(low) | u64::from(high) << 32).cast_signed(),
        })))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.flip(self.0);
        Ok(())
    }
}
