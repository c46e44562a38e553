//! The console's context operations: clear, push and pop of the context registers, and the resets of draws and queues.

use relic_components::queue::PacketState;
use relic_schedules::{DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal};

use super::{clear_state::reset_context, words::at_least};

/// Clear, push, pop.
pub(super) struct ContextState;
/// Context registers back to their defaults.
pub(super) struct DrawReset;
/// A compute queue's state back to its defaults.
pub(super) struct QueueReset;

impl Packet for ContextState {
    const NAME: &'static str = "CONTEXT_STATE";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x1A)];

    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        // The builder reserves more words than it fills.
        let ([operation], _reserved) = at_least(payload)?;
        let (push, pop, clear) = match operation {
            0 => (false, false, true),
            1 => (true, false, false),
            2 => (false, true, false),
            3 => (true, false, true),
            other => {
                return Err(PacketRefusal(format!(
                    "operation {other} does not exist (0 clear, 1 push, 2 pop, 3 push and clear)"
                )));
            }
        };
        let saved = &mut context.state.saved_context;
        if push {
            if saved.is_some() {
                return Err(PacketRefusal(
                    "a context is pushed already: there is one level".to_owned(),
                ));
            }
            *saved = Some(context.banks.context.clone());
        }
        if pop {
            let popped = saved
                .take()
                .ok_or_else(|| PacketRefusal("it pops a context and none was pushed".to_owned()))?;
            context.banks.change_context(|registers| *registers = popped);
        }
        if clear {
            context.banks.change_context(|registers| reset_context(registers));
        }
        Ok(Decoded::State)
    }
}

impl Packet for DrawReset {
    const NAME: &'static str = "DRAW_RESET";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x05)];

    fn decode(_payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        context.banks.change_context(|registers| reset_context(registers));
        Ok(Decoded::State)
    }
}

impl Packet for QueueReset {
    const NAME: &'static str = "ACB_RESET";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(0x09)];

    fn decode(_payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        context.banks.change_context(|registers| reset_context(registers));
        context.banks.clear_others();
        *context.state = PacketState::default();
        Ok(Decoded::State)
    }
}
