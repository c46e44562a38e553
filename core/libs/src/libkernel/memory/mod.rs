//! Guest memory as libkernel hands it out.
//!
//! Direct memory is a pool of physical pages that the guest allocates by offset and maps where it likes, several
//! times if it likes: one sealed memory file, mapped shared. Flexible memory is anonymous pages within a budget.
//! Every mapping enters the runtime's region table after it exists and leaves it before it goes.

mod direct;
mod flexible;
mod map;
mod physical;
mod query;
mod space;

pub(crate) use space::map_heap;

/// Granularity of everything, in bytes.
pub(crate) const PAGE: u64 = 0x4000;
/// Size of the direct memory pool: 13,824 MiB.
pub(crate) const DIRECT_SIZE: u64 = 13_824 << 20;
/// Budget of flexible memory: 448 MiB.
pub(crate) const FLEXIBLE_SIZE: u64 = 448 << 20;

/// Memory types that the console has: write-back for both, write-combined for the GPU, write-back for the GPU.
const TYPES: [i32; 3] = [0, 3, 10];

const fn is_page_multiple(value: u64) -> bool {
    value.is_multiple_of(PAGE)
}
