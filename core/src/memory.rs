//! Guest memory (being written).
/// The door to guest memory.
pub struct GuestMemory;
/// A reader.
pub struct MemoryReader;
/// Not mapped.
pub struct Unmapped;
