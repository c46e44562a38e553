//! Handles: how guests name kernel objects.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// Objects by handle. A handle is a number that is never 0 and not used again for a long time.
pub(crate) struct Handles<T> {
    table: LazyLock<Mutex<Table<T>>>,
}

struct Table<T> {
    objects: HashMap<u64, Arc<T>>,
    next: u64,
}

impl<T> Handles<T> {
    /// An empty table. Handles begin at 1 and step by 1: they fit the 32 bits that some calls give them.
    pub(crate) const fn new() -> Self {
        Self {
            table: LazyLock::new(|| {
                Mutex::new(Table {
                    objects: HashMap::new(),
                    next: 1,
                })
            }),
        }
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table<T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, object: T) -> u64 {
        let mut table = self.table();
        let handle = table.next;
        table.next += 1;
        table.objects.insert(handle, Arc::new(object));
        handle
    }

    pub(crate) fn get(&self, handle: u64) -> Option<Arc<T>> {
        self.table().objects.get(&handle).cloned()
    }

    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        self.table().objects.remove(&handle)
    }
}
