//! The console's markers: names for what lies between them, shown by debuggers.

use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, Recorder};

/// Opens a named group.
pub(super) struct PushMarker(String);
/// Closes the innermost group.
pub(super) struct PopMarker;

impl Packet for PushMarker {
    const NAME: &'static str = "PUSH_MARKER";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x0B)];

    fn decode(payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        let text = payload
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .take_while(|byte| *byte != 0)
            .collect::<Vec<u8>>();
        Ok(Decoded::Row(Self(String::from_utf8_lossy(&text).into_owned())))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.push_marker(&self.0);
        Ok(())
    }
}

impl Packet for PopMarker {
    const NAME: &'static str = "POP_MARKER";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x0C)];

    fn decode(_payload: &[u32], _context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        Ok(Decoded::Row(Self))
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.pop_marker();
        Ok(())
    }
}
