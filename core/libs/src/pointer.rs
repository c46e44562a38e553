//! Guest pointers, as arguments.
//!
//! A guest program runs with all rights of its process: a pointer it passes is as good as one of our own, and where
//! it is not, the fault is the guest's and the report says so. These types hold that contract in one place:
//! their values come from a guest's call only (or from an `unsafe` constructor whose caller vouches), so that
//! reading through them needs no `unsafe` at each use. Null is a value that every accessor checks.
//!
//! Accesses are unaligned and by value: no Rust reference to guest memory outlives one of these calls.

use std::ffi::c_void;

/// A pointer that the callee reads a `T` from.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

/// A pointer that the callee writes a `T` to, or reads and writes.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

/// A NUL-terminated string.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Text(*const u8);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}
impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T: Copy> In<T> {
    /// A pointer that something else than a guest's call made.
    ///
    /// # Safety
    /// Null, or readable for as many `T` as are read through it.
    pub(crate) const unsafe fn new(pointer: *const T) -> Self {
        Self(pointer)
    }

    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) const fn as_ptr(self) -> *const T {
        self.0
    }

    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// The value, `None` for null.
    pub(crate) fn read(self) -> Option<T> {
        // SAFETY: not null, and the guest vouches for it (module documentation).
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// `count` values, `None` for null.
    pub(crate) fn read_many(self, count: usize) -> Option<Vec<T>> {
        if self.0.is_null() {
            return None;
        }
        let mut values = Vec::with_capacity(count);
        for i in 0..count {
            // SAFETY: as in `read`; the guest passed the count with the pointer.
            values.push(unsafe { self.0.add(i).read_unaligned() });
        }
        Some(values)
    }
}

impl<T> Out<T> {
    /// A pointer that something else than a guest's call made.
    ///
    /// # Safety
    /// Null, or readable and writable for as many `T` as are accessed through it.
    pub(crate) const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) const fn as_ptr(self) -> *mut T {
        self.0
    }

    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// The same address, as another type.
    pub(crate) const fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// The place `bytes` further.
    pub(crate) const fn byte_add<U>(self, bytes: usize) -> Out<U> {
        Out(self.0.wrapping_byte_add(bytes).cast())
    }

    /// Stores `value`; false, and nothing happens, for null.
    pub(crate) fn write(self, value: T) -> bool {
        if self.0.is_null() {
            return false;
        }
        // SAFETY: not null, and the guest vouches for it (module documentation).
        unsafe { self.0.write_unaligned(value) };
        true
    }

    /// Stores `value` as the `index`th element.
    pub(crate) fn write_at(self, index: usize, value: T) -> bool {
        Self(self.0.wrapping_add(index)).write(value)
    }
}

impl<T: Copy> Out<T> {
    /// What is there now, `None` for null.
    pub(crate) fn read(self) -> Option<T> {
        In(self.0.cast_const()).read()
    }
}

impl Out<u8> {
    /// Stores bytes.
    pub(crate) fn write_bytes(self, bytes: &[u8]) {
        if !self.0.is_null() {
            // SAFETY: not null, and the guest vouches for as many bytes as its call says.
            unsafe { self.0.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Stores a string of at most `capacity` bytes with its NUL, cut where it is longer.
    pub(crate) fn write_text(self, text: &[u8], capacity: usize) {
        if capacity > 0 {
            let length = text.len().min(capacity - 1);
            self.write_bytes(&text[..length]);
            self.write_at(length, 0);
        }
    }
}

impl Text {
    /// A string that something else than a guest's call made.
    ///
    /// # Safety
    /// Null, or NUL-terminated.
    pub(crate) const unsafe fn new(pointer: *const u8) -> Self {
        Self(pointer)
    }

    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The bytes in front of the NUL, at most `limit`; `None` for null.
    pub(crate) fn bytes(self, limit: usize) -> Option<Vec<u8>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: NUL-terminated by the guest's word; strnlen reads no further than NUL or the limit.
        let length = unsafe { libc::strnlen(self.0.cast(), limit) };
        // SAFETY: these bytes were just read.
        Some((0..length).map(|i| unsafe { self.0.add(i).read() }).collect())
    }

    /// The text, with replacement characters where it is not UTF-8; empty for null.
    pub(crate) fn to_text(self, limit: usize) -> String {
        String::from_utf8_lossy(&self.bytes(limit).unwrap_or_default()).into_owned()
    }
}

/// An address of the guest as a host pointer.
pub(crate) const fn host<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// The number of a host pointer.
pub(crate) fn address_of<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// A guest function without type, as data.
pub(crate) type Opaque = *mut c_void;
