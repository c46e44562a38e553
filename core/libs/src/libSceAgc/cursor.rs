//! The command buffer object and its write cursor.

use crate::{log, pointer::Out};

/// A command buffer under construction: the guest's own object, 0x38 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CommandBuffer {
    pub(super) bottom: u64,
    pub(super) top: u64,
    /// Where the next packet goes.
    pub(super) up: u64,
    /// End of the space; `top` where null.
    pub(super) down: u64,
    /// Called when space runs out: it must install a new range and return true.
    pub(super) callback: Option<extern "sysv64" fn(Out<CommandBuffer>, u32, u64) -> bool>,
    pub(super) user: u64,
    /// Words that stay free at the end, for the packet that chains to the next buffer.
    pub(super) reserved: u32,
    padding: u32,
}

impl CommandBuffer {
    /// Words that can still be appended.
    fn room(&self) -> u64 {
        let end = if self.down == 0 { self.top } else { self.down };
        (end.saturating_sub(self.up) / 4).saturating_sub(u64::from(self.reserved))
    }
}

/// Takes `words` words. Returns their address; 0, as the console does, where there is no space.
fn take(buffer: Out<CommandBuffer>, words: u32, builder: &str) -> u64 {
    let Some(mut state) = buffer.read() else {
        log::warn(format_args!("{builder}: the command buffer is null"));
        return 0;
    };
    if state.room() < u64::from(words) {
        let needed = words.saturating_add(state.reserved);
        let helped = state
            .callback
            .is_some_and(|callback| callback(buffer, needed, state.user));
        state = buffer.read().unwrap_or(state);
        if !helped || state.room() < u64::from(words) {
            log::warn(format_args!(
                "{builder}: command buffer {:#x} has no room for {words} words{}",
                buffer.address(),
                if helped { ", also after its callback" } else { "" }
            ));
            return 0;
        }
    }
    let at = state.up;
    state.up += 4 * u64::from(words);
    buffer
        .byte_add::<u64>(std::mem::offset_of!(CommandBuffer, up))
        .write(state.up);
    at
}

/// Appends words and returns their address, 0 where there is no space.
pub(super) fn emit(buffer: Out<CommandBuffer>, words: &[u32], builder: &str) -> u64 {
    let at = take(buffer, words.len() as u32, builder);
    if at != 0 {
        // SAFETY: the guest's own command memory, of which these words were just taken.
        let place = unsafe { Out::new(crate::pointer::host::<u32>(at)) };
        for (index, word) in words.iter().enumerate() {
            place.write_at(index, *word);
        }
    }
    at
}

/// Refuses what the console's library can't encode either: says why, and appends nothing.
pub(super) fn refuse(builder: &str, reason: std::fmt::Arguments<'_>) -> u64 {
    log::warn(format_args!("{builder}: {reason}; nothing was appended"));
    0
}

/// A command buffer for tests, over memory of its own.
#[cfg(test)]
pub(super) struct TestBuffer {
    pub(super) object: Box<CommandBuffer>,
    pub(super) words: Vec<u32>,
}

#[cfg(test)]
impl TestBuffer {
    pub(super) fn new(words: usize) -> Self {
        let words = vec![0xdead_beef; words];
        let start = crate::pointer::address_of(words.as_ptr());
        Self {
            object: Box::new(CommandBuffer {
                bottom: start,
                top: start + 4 * words.len() as u64,
                up: start,
                down: start + 4 * words.len() as u64,
                callback: None,
                user: 0,
                reserved: 0,
                padding: 0,
            }),
            words,
        }
    }

    pub(super) fn place(&mut self) -> Out<CommandBuffer> {
        // SAFETY: our own object.
        unsafe { Out::new(&raw mut *self.object) }
    }

    /// Words appended so far.
    pub(super) fn used(&self) -> usize {
        ((self.object.up - self.object.bottom) / 4) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static ASKED: AtomicU32 = AtomicU32::new(0);

    extern "sysv64" fn rewind(buffer: Out<CommandBuffer>, words: u32, _user: u64) -> bool {
        ASKED.store(words, Ordering::Relaxed);
        let mut state = buffer.read().unwrap();
        state.up = state.bottom;
        buffer.write(state)
    }

    #[test]
    fn the_callback_is_asked_only_when_space_runs_out() {
        assert_eq!(size_of::<CommandBuffer>(), 0x38);
        let mut buffer = TestBuffer::new(20);
        buffer.object.callback = Some(rewind);
        buffer.object.reserved = 4;
        let packet = [7; 8];
        let first = emit(buffer.place(), &packet, "test");
        let second = emit(buffer.place(), &packet, "test");
        assert_eq!((second - first, ASKED.load(Ordering::Relaxed)), (32, 0));
        let third = emit(buffer.place(), &packet, "test");
        assert_eq!((third, ASKED.load(Ordering::Relaxed)), (first, 12));
        buffer.object.callback = None;
        assert_eq!(emit(buffer.place(), &[0; 9], "test"), 0);
        assert_eq!(buffer.used(), 8, "a refused packet leaves the cursor alone");
        buffer.object.down = 0;
        assert_ne!(
            emit(buffer.place(), &packet, "test"),
            0,
            "a null end means the top"
        );
    }
}
