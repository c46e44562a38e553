//! Events that a program fires itself.

use relic_macros::guest_fn;

use super::equeue::{self, CLEAR, Filter};
use crate::result::{Errno, SceResult};

fn add(handle: u64, id: i32, flags: u16) -> Result<(), Errno> {
    equeue::find(handle)?.add(id as u64, Filter::USER, flags, 0);
    Ok(())
}

/// Registers an event that stays pending until it is deleted.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAddUserEvent(handle: u64, id: i32) -> SceResult {
    add(handle, id, 0).into()
}

/// Registers an event that a wait takes.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAddUserEventEdge(handle: u64, id: i32) -> SceResult {
    add(handle, id, CLEAR).into()
}

/// Fires an event.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelTriggerUserEvent(handle: u64, id: i32, user_data: u64) -> SceResult {
    let trigger = || {
        let queue = equeue::find(handle)?;
        queue
            .fire(id as u64, Filter::USER, |record, _| record.user_data = user_data)
            .then_some(())
            .ok_or(Errno::ENOENT)
    };
    trigger().into()
}

/// Takes an event out.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteUserEvent(handle: u64, id: i32) -> SceResult {
    let delete = || {
        equeue::find(handle)?
            .remove(id as u64, Filter::USER)
            .then_some(())
            .ok_or(Errno::ENOENT)
    };
    delete().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        libkernel::equeue::*,
        pointer::{Out, Text},
    };

    fn wait(queue: u64, limit: i32, timeout: Option<u32>) -> (SceResult, Vec<KernelEvent>) {
        let mut events = vec![
            KernelEvent {
                ident: 0,
                filter: Filter(0),
                flags: 0,
                filter_flags: 0,
                data: 0,
                user_data: 0
            };
            limit as usize
        ];
        let (mut count, mut timeout) = (-1, timeout);
        // SAFETY: places of ours.
        let result = unsafe {
            sceKernelWaitEqueue(
                queue,
                Out::new(events.as_mut_ptr()),
                limit,
                Out::new(&raw mut count),
                Out::new(timeout.as_mut().map_or(std::ptr::null_mut(), |place| place)),
            )
        };
        events.truncate(count as usize);
        (result, events)
    }

    #[test]
    fn events_come_in_order_and_edges_are_taken() {
        assert_eq!(size_of::<KernelEvent>(), 32);
        let mut handle = 0;
        // SAFETY: places of ours.
        let (out, name) = unsafe { (Out::new(&raw mut handle), Text::new(c"q".as_ptr().cast())) };
        assert_eq!(sceKernelCreateEqueue(out, name), SceResult::OK);
        let queue = out.read().unwrap();
        sceKernelAddUserEventEdge(queue, 1);
        sceKernelAddUserEvent(queue, 2);
        let timed_out = SceResult::code(0x8002_003c);
        assert_eq!(wait(queue, 4, Some(0)), (timed_out, vec![]));
        assert_eq!(
            sceKernelTriggerUserEvent(queue, 3, 0),
            SceResult::code(0x8002_0002)
        );
        sceKernelTriggerUserEvent(queue, 2, 22);
        sceKernelTriggerUserEvent(queue, 1, 11);
        let (result, events) = wait(queue, 4, None);
        assert_eq!(result, SceResult::OK);
        let seen: Vec<_> = events
            .iter()
            .map(|event| (event.ident, event.user_data))
            .collect();
        assert_eq!(seen, [(2, 22), (1, 11)]);
        let (_, events) = wait(queue, 4, Some(1000));
        assert_eq!(events.len(), 1, "the level event stays, the edge is gone");
        assert_eq!(sceKernelDeleteUserEvent(queue, 2), SceResult::OK);
        assert_eq!(wait(queue, 1, Some(1000)).0, timed_out);

        let waiter = std::thread::spawn(move || wait(queue, 1, None).1[0].user_data);
        std::thread::sleep(std::time::Duration::from_millis(20));
        sceKernelTriggerUserEvent(queue, 1, 5);
        assert_eq!(waiter.join().unwrap(), 5);

        let waiter = std::thread::spawn(move || wait(queue, 1, None).0);
        std::thread::sleep(std::time::Duration::from_millis(20));
        sceKernelDeleteEqueue(queue);
        assert_eq!(waiter.join().unwrap(), SceResult::code(0x8002_0009));
    }
}
