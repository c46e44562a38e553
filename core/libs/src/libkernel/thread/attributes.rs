//! Thread attributes.

use std::cell::Cell;

use super::{DEFAULT_PRIORITY, place::Place};
use crate::{
    pointer::{In, Out},
    result::Errno,
};

/// Smallest stack, in bytes.
const MINIMUM_STACK: u64 = 16 * 1024;
const DEFAULT_STACK: u64 = 1024 * 1024;

/// What a thread is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) stack_size: u64,
    pub(crate) detached: bool,
    pub(crate) priority: i32,
    pub(crate) policy: i32,
    pub(crate) inherit: i32,
    pub(crate) affinity: u64,
    pub(crate) guard_size: u64,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            stack_size: DEFAULT_STACK,
            detached: false,
            priority: DEFAULT_PRIORITY,
            policy: 1,
            inherit: 4,
            affinity: 0x7f,
            guard_size: 0x4000,
        }
    }
}

pub(super) type AttributesPlace = Place<Cell<Attributes>>;

/// The attributes at `place`, the default ones for a null pointer.
pub(super) fn read(place: AttributesPlace) -> Result<Attributes, Errno> {
    if place.is_null() {
        return Ok(Attributes::default());
    }
    Ok(place.get(|_| Some(Cell::new(Attributes::default())))?.get())
}

fn change(place: AttributesPlace, edit: impl FnOnce(&mut Attributes)) -> Result<(), Errno> {
    let cell = place.get(|_| None)?;
    let mut attributes = cell.get();
    edit(&mut attributes);
    cell.set(attributes);
    Ok(())
}

fn look<T>(place: AttributesPlace, out: Out<T>, get: impl FnOnce(Attributes) -> T) -> Result<(), Errno> {
    let attributes = place.get(|_| None)?.get();
    out.write(get(attributes)).then_some(()).ok_or(Errno::EINVAL)
}

pthread_pair! {
    scePthreadAttrInit, pthread_attr_init(place: AttributesPlace) {
        place.set(Cell::new(Attributes::default()))
    }
    scePthreadAttrDestroy, pthread_attr_destroy(place: AttributesPlace) {
        place.take()?.map(drop).ok_or(Errno::EINVAL)
    }
    scePthreadAttrSetstacksize, pthread_attr_setstacksize(place: AttributesPlace, size: u64) {
        if size < MINIMUM_STACK {
            return Err(Errno::EINVAL);
        }
        change(place, |attributes| attributes.stack_size = size)
    }
    scePthreadAttrGetstacksize, pthread_attr_getstacksize(place: AttributesPlace, out: Out<u64>) {
        look(place, out, |attributes| attributes.stack_size)
    }
    scePthreadAttrSetguardsize, pthread_attr_setguardsize(place: AttributesPlace, size: u64) {
        change(place, |attributes| attributes.guard_size = size)
    }
    scePthreadAttrGetguardsize, pthread_attr_getguardsize(place: AttributesPlace, out: Out<u64>) {
        look(place, out, |attributes| attributes.guard_size)
    }
    scePthreadAttrSetdetachstate, pthread_attr_setdetachstate(place: AttributesPlace, state: i32) {
        match state {
            0 | 1 => change(place, |attributes| attributes.detached = state == 1),
            _ => Err(Errno::EINVAL),
        }
    }
    scePthreadAttrGetdetachstate, pthread_attr_getdetachstate(place: AttributesPlace, out: Out<i32>) {
        look(place, out, |attributes| i32::from(attributes.detached))
    }
    scePthreadAttrSetinheritsched, pthread_attr_setinheritsched(place: AttributesPlace, inherit: i32) {
        match inherit {
            0 | 4 => change(place, |attributes| attributes.inherit = inherit),
            _ => Err(Errno::EINVAL),
        }
    }
    scePthreadAttrGetinheritsched, pthread_attr_getinheritsched(place: AttributesPlace, out: Out<i32>) {
        look(place, out, |attributes| attributes.inherit)
    }
    scePthreadAttrSetschedpolicy, pthread_attr_setschedpolicy(place: AttributesPlace, policy: i32) {
        match policy {
            1..=3 => change(place, |attributes| attributes.policy = policy),
            _ => Err(Errno::EINVAL),
        }
    }
    scePthreadAttrGetschedpolicy, pthread_attr_getschedpolicy(place: AttributesPlace, out: Out<i32>) {
        look(place, out, |attributes| attributes.policy)
    }
    scePthreadAttrSetschedparam, pthread_attr_setschedparam(place: AttributesPlace, parameter: In<i32>) {
        let priority = parameter.read().ok_or(Errno::EINVAL)?;
        change(place, |attributes| attributes.priority = priority)
    }
    scePthreadAttrGetschedparam, pthread_attr_getschedparam(place: AttributesPlace, out: Out<i32>) {
        look(place, out, |attributes| attributes.priority)
    }
}

/// Sets the CPUs that the thread may run on. The host's scheduler decides.
#[relic_macros::guest_fn(
    libkernel,
    partial = "the mask is kept and reported; the host's scheduler decides"
)]
pub(crate) extern "sysv64" fn scePthreadAttrSetaffinity(
    place: AttributesPlace,
    mask: u64,
) -> crate::result::SceResult {
    change(place, |attributes| attributes.affinity = mask).into()
}

/// Stores the mask that was set.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadAttrGetaffinity(
    place: AttributesPlace,
    out: Out<u64>,
) -> crate::result::SceResult {
    look(place, out, |attributes| attributes.affinity).into()
}
