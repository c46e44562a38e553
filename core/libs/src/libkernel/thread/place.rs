//! Guest variables that hold the handle of a mutex, condition, lock or attribute object.

use std::{
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU64, Ordering},
};

use crate::{report, result::Errno};

/// An object behind a handle. The mark tells it from what a program stored there by mistake.
#[repr(C)]
struct Object<T> {
    mark: AtomicU64,
    value: T,
}

/// The mark of a live object.
const LIVE: u64 = 0x7265_6c69_6368_646c;

impl<T> Object<T> {
    fn into_raw(value: T) -> *mut Self {
        Box::into_raw(Box::new(Self {
            mark: AtomicU64::new(LIVE),
            value,
        }))
    }
}

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

    fn variable(self) -> Result<&'static AtomicPtr<Object<T>>, Errno> {
        let variable: *mut *mut Object<T> = self.variable.cast();
        if variable.is_null() || !variable.is_aligned() {
            return Err(Errno::EINVAL);
        }
        // SAFETY: a guest variable that the guest uses through these calls alone, for as long as it calls.
        Ok(unsafe { AtomicPtr::from_ptr(variable) })
    }

    /// The object behind a handle that is none of the marks. What is no object ends the program with a report.
    #[inline]
    fn object(found: *mut Object<T>) -> &'static T {
        if !found.is_aligned() {
            not_an_object::<T>(found.addr());
        }
        // SAFETY: only `set` and `get` store such values: live boxes. Another value is the guest's error: a fault here is
        // reported as its call's, and what is mapped by chance lacks the mark.
        unsafe {
            if (*found).mark.load(Ordering::Relaxed) != LIVE {
                not_an_object::<T>(found.addr());
            }
            &(*found).value
        }
    }

    /// The object, where the variable holds a live one: what nearly every call finds.
    #[inline(always)]
    pub(crate) fn live(self) -> Option<&'static T> {
        let variable: *mut *mut Object<T> = self.variable.cast();
        if variable.is_null() || !variable.is_aligned() {
            return None;
        }
        // SAFETY: as in `variable`.
        let found = unsafe { AtomicPtr::from_ptr(variable) }.load(Ordering::Acquire);
        if found.addr() <= LAST_MARK || !found.is_aligned() {
            return None;
        }
        // SAFETY: as in `object`.
        unsafe { ((*found).mark.load(Ordering::Relaxed) == LIVE).then(|| &(*found).value) }
    }

    /// The object. `make` builds the one that an initialiser (0 or 1) stands for, on first use.
    #[inline]
    pub(crate) fn get(self, make: impl FnOnce(usize) -> Option<T>) -> Result<&'static T, Errno> {
        let variable = self.variable()?;
        let found = variable.load(Ordering::Acquire);
        if found.addr() > LAST_MARK {
            return Ok(Self::object(found));
        }
        if found.addr() == DESTROYED {
            return Err(Errno::EINVAL);
        }
        let made = Object::into_raw(make(found.addr()).ok_or(Errno::EINVAL)?);
        match variable.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(Self::object(made)),
            Err(other) => {
                // SAFETY: nobody else has seen our box.
                drop(unsafe { Box::from_raw(made) });
                if other.addr() > LAST_MARK {
                    Ok(Self::object(other))
                } else {
                    Err(Errno::EINVAL)
                }
            }
        }
    }

    /// The object, if there is one: an initialiser is none yet.
    pub(crate) fn existing(self) -> Result<Option<&'static T>, Errno> {
        let found = self.variable()?.load(Ordering::Acquire);
        match found.addr() {
            DESTROYED => Err(Errno::EINVAL),
            0..=LAST_MARK => Ok(None),
            _ => Ok(Some(Self::object(found))),
        }
    }

    /// Stores a new object.
    pub(crate) fn set(self, object: T) -> Result<(), Errno> {
        self.variable()?
            .store(Object::into_raw(object), Ordering::Release);
        Ok(())
    }

    /// Takes the object out, if there is one, and marks the variable.
    pub(crate) fn take(self) -> Result<Option<Box<T>>, Errno> {
        // What is no object is found before anything changes.
        self.existing()?;
        let found = self
            .variable()?
            .swap(ptr::without_provenance_mut(DESTROYED), Ordering::AcqRel);
        match found.addr() {
            DESTROYED => Err(Errno::EINVAL),
            0..=LAST_MARK => Ok(None),
            _ => {
                // SAFETY: the box that `set` or `get` leaked; the variable no longer holds it.
                let object = unsafe { Box::from_raw(found) };
                object.mark.store(0, Ordering::Relaxed);
                Ok(Some(Box::new(object.value)))
            }
        }
    }
}

/// Ends the program: a guest call named something as its object that is none.
#[cold]
fn not_an_object<T>(handle: usize) -> ! {
    let kind = std::any::type_name::<T>();
    let kind = kind.rsplit("::").next().unwrap_or(kind).trim_end_matches('>');
    report::blame(format_args!(
        "a call was given a {kind} that is none: its variable holds {handle:#x}"
    ))
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
