//! Guest variables that hold the handle of a mutex, condition, lock or attribute object.

use std::{
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use crate::result::Errno;

/// Marks a handle variable whose object was destroyed.
const DESTROYED: usize = 2;
/// Handle values up to this one are initialisers and markers, not objects.
const LAST_MARK: usize = 2;

/// A guest variable that holds an object's handle: its address, or an initialiser.
#[repr(transparent)]
pub(crate) struct Place<T> {
    variable: *mut T,
    kind: PhantomData<T>,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Place<T> {}

impl<T: 'static> Place<T> {
    pub(crate) const fn is_null(self) -> bool {
        self.variable.is_null()
    }

    fn variable(self) -> Result<&'static AtomicPtr<T>, Errno> {
        let variable: *mut *mut T = self.variable.cast();
        if variable.is_null() || !variable.is_aligned() {
            return Err(Errno::EINVAL);
        }
        // SAFETY: a guest variable that the guest uses through these calls alone, for as long as it calls.
        Ok(unsafe { AtomicPtr::from_ptr(variable) })
    }

    /// The object. `make` builds the one that an initialiser (0 or 1) stands for, on first use.
    pub(crate) fn get(self, make: impl FnOnce(usize) -> Option<T>) -> Result<&'static T, Errno> {
        let variable = self.variable()?;
        let found = variable.load(Ordering::Acquire);
        if found.addr() > LAST_MARK {
            // SAFETY: only `set` and the exchange below store such values: live boxes. Use after destruction is
            // the guest's error and undefined on the console too.
            return Ok(unsafe { &*found });
        }
        if found.addr() == DESTROYED {
            return Err(Errno::EINVAL);
        }
        let made = Box::into_raw(Box::new(make(found.addr()).ok_or(Errno::EINVAL)?));
        match variable.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the box was just leaked into the variable.
            Ok(_) => Ok(unsafe { &*made }),
            Err(other) => {
                // SAFETY: nobody else has seen our box.
                drop(unsafe { Box::from_raw(made) });
                if other.addr() > LAST_MARK {
                    // SAFETY: as above.
                    Ok(unsafe { &*other })
                } else {
                    Err(Errno::EINVAL)
                }
            }
        }
    }

    /// Stores a new object.
    pub(crate) fn set(self, object: T) -> Result<(), Errno> {
        self.variable()?
            .store(Box::into_raw(Box::new(object)), Ordering::Release);
        Ok(())
    }

    /// Takes the object out, if there is one, and marks the variable.
    pub(crate) fn take(self) -> Result<Option<Box<T>>, Errno> {
        let found = self
            .variable()?
            .swap(ptr::without_provenance_mut(DESTROYED), Ordering::AcqRel);
        match found.addr() {
            DESTROYED => Err(Errno::EINVAL),
            0..=LAST_MARK => Ok(None),
            // SAFETY: the box that `set` or `get` leaked; the variable no longer holds it.
            _ => Ok(Some(unsafe { Box::from_raw(found) })),
        }
    }
}

#[cfg(test)]
impl<T> Place<T> {
    /// The place at an address, which the test vouches for.
    pub(crate) fn at(address: u64) -> Self {
        Self {
            variable: crate::pointer::host(address),
            kind: PhantomData,
        }
    }

    pub(crate) fn variable_address(self) -> u64 {
        crate::pointer::address_of(self.variable)
    }
}
