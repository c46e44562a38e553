//! DISPATCH_INDIRECT: a compute grid whose size the GPU reads from memory when it gets there.

use relic_core::{GuestAddress, GuestRange};
use relic_schedules::{DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, Recorder};

use crate::decode::snapshot::{Groups, push_dispatch};

use super::words::address;

/// A dispatch: its index in the batch, and where its size lies.
pub(super) struct DispatchIndirect {
    dispatch: u32,
    arguments: GuestAddress,
}

impl Packet for DispatchIndirect {
    const NAME: &'static str = "DISPATCH_INDIRECT";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0x16)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        // Graphics queues count from SET_BASE; compute queues have no base, and their packet has an address.
        let (arguments, initiator) = match *payload {
            [offset, initiator] => {
                let base = if context.is_compute() {
                    context.state.compute_indirect_base
                } else {
                    context.state.graphics_indirect_base
                };
                let arguments = base.checked_add(offset.into()).ok_or_else(|| {
                    PacketRefusal(format!("offset {offset:#x} from base {base} is no address"))
                })?;
                (arguments, initiator)
            }
            [low, high, initiator] => (address(low, high), initiator),
            _ => {
                return Err(PacketRefusal(format!(
                    "it has {} payload words, not 2 (offset from the base) or 3 (address)",
                    payload.len()
                )));
            }
        };
        if !arguments.is_aligned(4) {
            return Err(PacketRefusal(format!(
                "its arguments at {arguments} are not at a multiple of 4"
            )));
        }
        let dispatch = push_dispatch(context, Groups::InMemory(arguments), initiator)?;
        Ok(Decoded::Row(Self { dispatch, arguments }))
    }

    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        declare(Effect::GpuReads(GuestRange::new(self.arguments, 12)));
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.dispatch(self.dispatch)
    }
}
