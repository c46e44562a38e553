//! The console's wait until a buffer may be rendered to: no earlier flip of it is outstanding.

use relic_components::{queue::FlippedBuffer, video::VideoHandle};
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::words::at_least;

/// See the module's text.
pub(super) struct WaitFlip;

impl Packet for WaitFlip {
    const NAME: &'static str = "WAIT_UNTIL_SAFE_FOR_RENDERING";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x06)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        // What follows is the builder's reserved room.
        let ([handle, buffer], _reserved) = at_least(payload)?;
        Ok(Decoded::WaitFlip(FlippedBuffer {
            handle: VideoHandle(handle.cast_signed()),
            buffer: buffer.cast_signed(),
        }))
    }
}
