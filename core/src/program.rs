//! The contract between a relinked program, its modules, and the runtime library.
//!
//! The relinker appends a [`ProgramInfo`] with its tables to the program and an entry stub that calls
//! `relic_start(initial_stack, &ProgramInfo)` in the runtime library. Every import that no module of the title answers
//! is an undefined *weak* symbol named by its NID: the OS loader binds what the runtime library exports and leaves the
//! rest null, so that it never refuses to start. `relic_start` then walks the import table, lists what is missing,
//! points missing functions at their trap stub, and refuses to start where data is missing.
//!
//! A relinked module is a shared object with a [`ProgramInfo`] of its own, which it exports as [`MODULE_SYMBOL`]. The
//! OS loader runs none of its code: the runtime library binds its traps and calls its initialisers, for modules that
//! the program needs in the order of the program's [`ModuleRecord`]s before the program's entry point, for all others
//! when the program loads them.
//!
//! All references are offsets from the `ProgramInfo`'s own address, so that the tables need no relocation.

use crate::nid::Nid;

/// File name of the runtime library, which relinked programs need and find in `libs/` beside them.
pub const RUNTIME_LIBRARY: &str = "librelic.so";

/// Name of the runtime library's entry point: `extern "sysv64" fn(initial_stack: *const usize, info: *const
/// ProgramInfo) -> !`. The initial stack is the kernel's block: argc, argv, null, envp, null, auxv.
pub const START_SYMBOL: &str = "relic_start";

/// Name of the runtime library's trap: entered by a jump from a trap stub that has pushed the index of its import
/// on the stack, above the return address of the guest's call, with the address of the [`ProgramInfo`] in `r11`. It
/// never returns.
pub const TRAP_SYMBOL: &str = "relic_trap";

/// Name under which a module exports its [`ProgramInfo`].
pub const MODULE_SYMBOL: &str = "relic_module";

/// Behind the name of an export at image address 0. The OS loader takes such a symbol for an undefined one, so that the
/// symbol stands [`ORIGIN_OFFSET`] bytes further; who uses it subtracts them.
pub const ORIGIN_SUFFIX: &str = ".origin";

/// How many bytes behind its export a symbol with [`ORIGIN_SUFFIX`] is.
pub const ORIGIN_OFFSET: u64 = 1;

/// First eight bytes of a program's [`ProgramInfo`]. The last digit is the version of the contract.
pub const PROGRAM_MAGIC: [u8; 8] = *b"RELICPG2";

/// First eight bytes of a module's [`ProgramInfo`].
pub const MODULE_MAGIC: [u8; 8] = *b"RELICMD2";

/// What the runtime library needs to know of a program or a module. Little-endian, 8-byte aligned, read only.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ProgramInfo {
    /// [`PROGRAM_MAGIC`] or [`MODULE_MAGIC`].
    pub magic: [u8; 8],
    /// From this struct to the image's address 0 (its load bias).
    pub image_base: i64,
    /// From this struct to the guest's entry point; 0 in a module.
    pub entry: i64,
    /// From this struct to the process parameter block; 0 where there is none.
    pub process_parameters: i64,
    /// From this struct to the first [`ImportRecord`].
    pub imports: i64,
    /// From this struct to the first [`ImportSite`].
    pub sites: i64,
    /// From this struct to the string table: NUL-terminated UTF-8 names.
    pub strings: i64,
    /// From this struct to the first trap stub: [`TRAP_STUB_SIZE`] bytes an import, in the order of the records.
    pub traps: i64,
    /// How many import records there are.
    pub import_count: u32,
    /// How many import sites there are.
    pub site_count: u32,
    /// From this struct to the first byte of the range that holds import slots and is read-only by now, and its
    /// size: the runtime library opens it for writing while it binds traps. Size 0 where every slot is writable.
    pub protected_slots: i64,
    /// Size in bytes of that range.
    pub protected_size: u64,
    /// From this struct to the first [`ModuleRecord`]; only programs have some.
    pub modules: i64,
    /// From this struct to the dependency list: indices of module records, 32 bits each.
    pub dependencies: i64,
    /// How many module records there are.
    pub module_count: u32,
    /// How many entries the dependency list has.
    pub dependency_count: u32,
    /// What runs when the module is loaded, and what when it is unloaded; all empty in a program.
    pub lifecycle: LifecycleInfo,
}

/// The functions of a module that run at loading and unloading.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LifecycleInfo {
    /// From the [`ProgramInfo`] to `int initialise(size_t argument size, const void *arguments, void *)`; 0 for none.
    pub initialiser: i64,
    /// From the [`ProgramInfo`] to the finaliser, of the same type; 0 for none.
    pub finaliser: i64,
    /// From the [`ProgramInfo`] to pointers to functions that run before the initialiser.
    pub early_initialisers: i64,
    /// From the [`ProgramInfo`] to pointers to functions that run behind the initialiser.
    pub initialisers: i64,
    /// From the [`ProgramInfo`] to pointers to functions that run in front of the finaliser, the last first.
    pub finalisers: i64,
    /// How many pointers each list has, in the order above.
    pub counts: [u32; 3],
    /// Zero.
    pub reserved: u32,
}

/// One module of the title. A record's dependencies come before it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ModuleRecord {
    /// Path in the title, below `/app0`, with slashes: offset in the string table.
    pub path: u32,
    /// Path of the relinked module from the program's folder: offset in the string table.
    pub file: u32,
    /// Index in the dependency list of the modules that it needs.
    pub first_dependency: u32,
    /// How many it needs.
    pub dependency_count: u32,
    /// 1 where the program needs it, so that it is loaded and initialised before the program starts; 0 where only the
    /// program itself loads it.
    pub at_start: u32,
}

/// One import.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ImportRecord {
    /// Its NID.
    pub nid: [u8; 11],
    /// An [`ImportKind`].
    pub kind: u8,
    /// Library that the program asks for it: offset in the string table.
    pub library: u32,
    /// Name, where the relinker knows one: offset in the string table, of an empty string otherwise.
    pub name: u32,
    /// Index of the first [`ImportSite`].
    pub first_site: u32,
    /// How many sites there are.
    pub site_count: u32,
}

/// One 8-byte slot that the OS loader filled with an import's address.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ImportSite {
    /// Virtual address of the slot, without the load bias.
    pub address: u64,
    /// What was added to the import's address.
    pub addend: i64,
}

/// What an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ImportKind {
    /// A function: bound to a trap when missing.
    Function = 0,
    /// Data: a start-up error when missing.
    Object = 1,
    /// Data that the program itself calls optional (a weak symbol): stays null when missing.
    Weak = 2,
}

impl ImportKind {
    /// The kind with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Function),
            1 => Some(Self::Object),
            2 => Some(Self::Weak),
            _ => None,
        }
    }
}

/// Size of one trap stub in bytes: `push imm32` (5), `jmp rel32` to the common tail (5), filler. The tail behind the last
/// stub loads `r11` and jumps through the slot of `relic_trap`.
pub const TRAP_STUB_SIZE: u64 = 16;

/// Length in bytes of a NID in an [`ImportRecord`].
pub const NID_LENGTH: usize = size_of::<Nid>();

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The relinker writes these structs byte by byte.
    #[test]
    fn layout_is_fixed() {
        assert_eq!(size_of::<ProgramInfo>(), 168);
        assert_eq!(offset_of!(ProgramInfo, traps), 56);
        assert_eq!(offset_of!(ProgramInfo, import_count), 64);
        assert_eq!(offset_of!(ProgramInfo, protected_slots), 72);
        assert_eq!(offset_of!(ProgramInfo, lifecycle), 112);
        assert_eq!(size_of::<ModuleRecord>(), 20);
        assert_eq!(size_of::<ImportRecord>(), 28);
        assert_eq!(offset_of!(ImportRecord, library), 12);
        assert_eq!(size_of::<ImportSite>(), 16);
        assert_eq!(NID_LENGTH, 11);
    }
}
