//! Thread-specific data.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
};

use relic_macros::guest_fn;

use crate::{pointer::Out, result::Errno};

/// How many keys there are.
const KEYS: usize = 256;
/// How often destructors run again for values that destructors have set.
const ROUNDS: usize = 4;

type Destructor = extern "sysv64" fn(u64);

#[derive(Clone, Copy)]
struct Key {
    /// Advances when the key is deleted: older values no longer count. Odd while the key exists.
    serial: u32,
    destructor: Option<Destructor>,
}

static TABLE: Mutex<[Key; KEYS]> = Mutex::new(
    [Key {
        serial: 0,
        destructor: None,
    }; KEYS],
);

thread_local! {
    /// Value, and the key's serial when it was set.
    static VALUES: [Cell<(u64, u32)>; KEYS] = const { [const { Cell::new((0, 0)) }; KEYS] };
}

fn table() -> std::sync::MutexGuard<'static, [Key; KEYS]> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn existing(key: u32) -> Option<Key> {
    let found = *table().get(key as usize)?;
    (found.serial % 2 == 1).then_some(found)
}

pthread_pair! {
    scePthreadKeyCreate, pthread_key_create(out: Out<u32>, destructor: Option<Destructor>) {
        if out.is_null() {
            return Err(Errno::EINVAL);
        }
        let mut table = table();
        let free = table.iter().position(|key| key.serial % 2 == 0).ok_or(Errno::EAGAIN)?;
        table[free] = Key { serial: table[free].serial + 1, destructor };
        out.write(free as u32);
        Ok(())
    }
    scePthreadKeyDelete, pthread_key_delete(key: u32) {
        let mut table = table();
        match table.get_mut(key as usize) {
            Some(found) if found.serial % 2 == 1 => {
                *found = Key { serial: found.serial + 1, destructor: None };
                Ok(())
            }
            _ => Err(Errno::EINVAL),
        }
    }
    scePthreadSetspecific, pthread_setspecific(key: u32, value: u64) {
        let found = existing(key).ok_or(Errno::EINVAL)?;
        VALUES.with(|values| values[key as usize].set((value, found.serial)));
        Ok(())
    }
}

/// The calling thread's value, 0 where it has none.
#[guest_fn(libkernel, libScePosix, also = "pthread_getspecific")]
pub(crate) extern "sysv64" fn scePthreadGetspecific(key: u32) -> u64 {
    existing(key).map_or(0, |found| {
        let (value, serial) = VALUES.with(|values| values[key as usize].get());
        if serial == found.serial { value } else { 0 }
    })
}

/// Runs the destructors for the calling thread's values, at its end.
pub(super) fn run_destructors() {
    for _ in 0..ROUNDS {
        let mut ran = false;
        for key in 0..KEYS {
            let value = scePthreadGetspecific(key as u32);
            let destructor = existing(key as u32).and_then(|found| found.destructor);
            if let (true, Some(destructor)) = (value != 0, destructor) {
                VALUES.with(|values| values[key].set((0, 0)));
                destructor(value);
                ran = true;
            }
        }
        if !ran {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::SceResult;
    use std::sync::atomic::{AtomicU64, Ordering};

    static DESTROYED: AtomicU64 = AtomicU64::new(0);

    extern "sysv64" fn destroy(value: u64) {
        DESTROYED.fetch_add(value, Ordering::Relaxed);
    }

    #[test]
    fn values_belong_to_threads_and_to_a_keys_life() {
        let mut key = 0;
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(&raw mut key) };
        assert_eq!(scePthreadKeyCreate(out, Some(destroy)), SceResult::OK);
        let key = out.read().unwrap();
        assert_eq!(scePthreadSetspecific(key, 5), SceResult::OK);
        std::thread::spawn(move || {
            assert_eq!(scePthreadGetspecific(key), 0);
            scePthreadSetspecific(key, 7);
            run_destructors();
            assert_eq!(scePthreadGetspecific(key), 0);
        })
        .join()
        .unwrap();
        assert_eq!(DESTROYED.load(Ordering::Relaxed), 7);
        assert_eq!(scePthreadGetspecific(key), 5);
        assert_eq!(scePthreadKeyDelete(key), SceResult::OK);
        assert_eq!(scePthreadKeyDelete(key), SceResult::code(0x8002_0016));
        assert_eq!(scePthreadGetspecific(key), 0);
        assert_eq!(scePthreadSetspecific(key, 1), SceResult::code(0x8002_0016));
    }
}
