//! Initialisation.

use relic_macros::guest_fn;

use super::AgcError;
use crate::{pointer::Out, result::SceResult};

/// Says which revision of register defaults the program was built for.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcInit(state: Out<u32>, revision: u32) -> SceResult {
    if state.is_null() || revision == 0 {
        return AgcError::InvalidArgument.into();
    }
    // Opaque to programs: the revision is what later calls would need.
    state.write(revision);
    SceResult::OK
}

/// The same under the hash that titles import.
#[guest_fn(libSceAgc, nid = "23LRUSvYu1M")]
pub(crate) extern "sysv64" fn initialise_of_titles(state: Out<u32>, revision: u32) -> SceResult {
    sceAgcInit(state, revision)
}
