//! Start-up of a relinked program (the contract is in [`relic_core::program`]).

use std::{
    arch::naked_asm,
    ffi::{CStr, c_int, c_void},
    fmt::Write as _,
    io::Write as _,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use relic_core::{
    GuestAddress, GuestRange, Nid,
    program::{ImportKind, ImportRecord, ImportSite, PROGRAM_MAGIC, ProgramInfo, TRAP_STUB_SIZE},
};

use crate::{
    libkernel::thread,
    pointer::{address_of, host},
    process::{self, Program},
    report,
};

/// Exit code of a program that can't start.
const EXIT_START: i32 = 2;

static INFO: AtomicPtr<ProgramInfo> = AtomicPtr::new(ptr::null_mut());

/// Why a program can't start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(
        "the program's tables begin with {found:?}, this runtime library expects {PROGRAM_MAGIC:?}: relink the program with the `relic` that this library came with"
    )]
    Magic { found: [u8; 8] },
    #[error(
        "import {index} has the unknown kind {kind}: relink the program with the `relic` that this library came with"
    )]
    Kind { index: usize, kind: u8 },
    #[error(
        "the program needs {count} data objects that nobody provides:{list}\nit can't start without them; `relic info` shows what is there"
    )]
    MissingData { count: usize, list: String },
    #[error("can't open {range} to bind imports: {source}")]
    Protect {
        range: GuestRange,
        source: std::io::Error,
    },
    #[error("the program's image has no loadable segment at {base}")]
    NoImage { base: GuestAddress },
}

/// Runs the program. `initial_stack` is the kernel's block (argc, argv, null, envp, null, auxv).
///
/// # Safety
/// Called by the entry stub of a relinked program, once, on the initial thread, with its own tables.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "sysv64" fn relic_start(initial_stack: *mut usize, info: *const ProgramInfo) -> ! {
    // SAFETY: forwarded contract.
    match unsafe { prepare(initial_stack, info) } {
        Ok(entry) => thread::run_main(entry, initial_stack),
        Err(error) => {
            eprintln!("relic: the program can't start: {error}");
            // SAFETY: nothing of the guest has run.
            unsafe { libc::_exit(EXIT_START) }
        }
    }
}

/// Everything up to the jump. Returns the guest's entry point.
///
/// # Safety
/// As [`relic_start`].
unsafe fn prepare(initial_stack: *mut usize, info: *const ProgramInfo) -> Result<GuestAddress, StartError> {
    // SAFETY: the entry stub passes its own tables, which are mapped for good.
    let program = unsafe { &*info };
    if program.magic != PROGRAM_MAGIC {
        return Err(StartError::Magic { found: program.magic });
    }
    INFO.store(info.cast_mut(), Ordering::Release);
    let image_base = GuestAddress(at(program, program.image_base));
    process::begin(Program {
        process_parameters: GuestAddress(if program.process_parameters == 0 {
            0
        } else {
            at(program, program.process_parameters)
        }),
    });
    // SAFETY: the kernel's block begins with argc and argv.
    let (argc, argv) = unsafe { (*initial_stack, initial_stack.add(1)) };
    let name = (argc > 0).then(|| {
        // SAFETY: argv[0] of a process that has arguments is a string.
        unsafe { CStr::from_ptr(host(*argv as u64)) }.to_string_lossy()
    });
    let name = name.as_deref().unwrap_or("program");
    let name = name.rsplit('/').next().unwrap_or(name);
    crate::libkernel::environment::set(name, argv.wrapping_add(argc + 1));
    report::install(name);
    register_image(image_base, name)?;
    bind_imports(program, image_base)?;
    Ok(GuestAddress(at(program, program.entry)))
}

/// Address of something in the tables.
fn at(program: &ProgramInfo, offset: i64) -> u64 {
    address_of(program).wrapping_add_signed(offset)
}

/// Puts the program's segments into the region table, so that the GPU may read the program's data.
fn register_image(base: GuestAddress, name: &str) -> Result<(), StartError> {
    let mut search = (base.0, Vec::new());
    // SAFETY: the callback gets `search` back and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(collect_segments), (&raw mut search).cast()) };
    let mut found = false;
    for (range, writable) in search.1 {
        found = true;
        let name = format!("{name} image");
        // SAFETY: the loader mapped these pages and nothing unmaps them while the process lives.
        let entered = unsafe { process::memory().map(range, host(range.start().0), writable, &name) };
        if let Err(overlap) = entered {
            // Two segments in one page: the page is there already.
            crate::log::note(format_args!("image segment skipped: {overlap}"));
        }
    }
    if found {
        Ok(())
    } else {
        Err(StartError::NoImage { base })
    }
}

unsafe extern "C" fn collect_segments(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `register_image` passes this, and nothing else refers to it meanwhile.
    let search = unsafe { &mut *search.cast::<(u64, Vec<(GuestRange, bool)>)>() };
    // SAFETY: the loader's record is valid during the callback.
    let info = unsafe { &*info };
    if info.dlpi_addr != search.0 {
        return 0;
    }
    for i in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: the loader counts its program headers.
        let header = unsafe { &*info.dlpi_phdr.add(i) };
        if header.p_type == libc::PT_LOAD && header.p_memsz > 0 {
            let start = (search.0 + header.p_vaddr) & !0xfff;
            let end = (search.0 + header.p_vaddr + header.p_memsz + 0xfff) & !0xfff;
            let range = GuestRange::new(GuestAddress(start), end - start);
            search.1.push((range, header.p_flags & libc::PF_W != 0));
        }
    }
    1
}

/// One import, for messages.
pub(crate) struct Import {
    pub(crate) library: &'static str,
    pub(crate) name: &'static str,
    pub(crate) nid: Nid,
}

/// The import with this index in the program's table.
pub(crate) fn import(index: usize) -> Option<Import> {
    // SAFETY: only `prepare` stores it, with tables that stay mapped.
    let program = unsafe { INFO.load(Ordering::Acquire).as_ref()? };
    let record = records(program).get(index)?;
    Some(describe(program, record))
}

fn records(program: &'static ProgramInfo) -> &'static [ImportRecord] {
    // SAFETY: the tables hold `import_count` records there (contract of the relinker), read only.
    unsafe { std::slice::from_raw_parts(host(at(program, program.imports)), program.import_count as usize) }
}

fn sites(program: &'static ProgramInfo) -> &'static [ImportSite] {
    // SAFETY: as above, for the sites.
    unsafe { std::slice::from_raw_parts(host(at(program, program.sites)), program.site_count as usize) }
}

fn describe(program: &'static ProgramInfo, record: &ImportRecord) -> Import {
    let text = |offset: u32| {
        // SAFETY: the string table holds NUL-terminated strings at the offsets of the records.
        let text: &'static CStr =
            unsafe { CStr::from_ptr(host(at(program, program.strings) + u64::from(offset))) };
        text.to_str().unwrap_or("(not UTF-8)")
    };
    Import {
        library: text(record.library),
        name: text(record.name),
        nid: std::str::from_utf8(&record.nid)
            .ok()
            .and_then(|nid| nid.parse().ok())
            .unwrap_or_else(|| Nid::from_bits(0)),
    }
}

/// Finds what the loader left null, says so on stderr, and points functions at their traps.
fn bind_imports(program: &'static ProgramInfo, image_base: GuestAddress) -> Result<(), StartError> {
    let all_sites = sites(program);
    let mut functions = Vec::new();
    let mut data = Vec::new();
    for (index, record) in records(program).iter().enumerate() {
        let kind = ImportKind::from_number(record.kind).ok_or(StartError::Kind {
            index,
            kind: record.kind,
        })?;
        let first = record.first_site as usize;
        let own = all_sites
            .get(first..first + record.site_count as usize)
            .unwrap_or(&[]);
        let missing = own.iter().any(|site| {
            let slot: *const u64 = host(image_base.0 + site.address);
            // SAFETY: the relinker lists slots of the image; the loader is done with them. GLOB_DAT and JUMP_SLOT
            // of an unbound weak symbol hold zero or the addend alone.
            let value = unsafe { slot.read_unaligned() };
            value == 0 || value == site.addend.cast_unsigned()
        });
        match kind {
            _ if !missing => {}
            ImportKind::Function => functions.push((index, record, own)),
            ImportKind::Object => data.push(record),
            ImportKind::Weak => {}
        }
    }
    list_missing(program, &functions);
    if !data.is_empty() {
        let mut lines: Vec<String> = data
            .iter()
            .map(|record| line(&describe(program, record)))
            .collect();
        lines.sort();
        return Err(StartError::MissingData {
            count: lines.len(),
            list: lines.concat(),
        });
    }
    if functions.is_empty() {
        return Ok(());
    }
    let _open = OpenSlots::new(program)?;
    for (index, _, own) in functions {
        let trap = at(program, program.traps) + index as u64 * TRAP_STUB_SIZE;
        for site in own {
            let slot: *mut u64 = host(image_base.0 + site.address);
            // SAFETY: a slot of the image, writable now, that nothing reads before the entry point runs.
            unsafe { slot.write_unaligned(trap.wrapping_add_signed(site.addend)) };
        }
    }
    Ok(())
}

fn line(import: &Import) -> String {
    let name = if import.name.is_empty() {
        "(name unknown)"
    } else {
        import.name
    };
    format!("\n  {:<24} {:<48} {}", import.library, name, import.nid)
}

fn list_missing(program: &'static ProgramInfo, functions: &[(usize, &ImportRecord, &[ImportSite])]) {
    if functions.is_empty() {
        return;
    }
    let mut lines: Vec<String> = functions
        .iter()
        .map(|(_, record, _)| line(&describe(program, record)))
        .collect();
    lines.sort();
    let mut text = String::new();
    // Writing to a String never fails, and there is nowhere to complain when stderr is closed.
    let _ = writeln!(
        text,
        "relic: {} imported functions are not implemented; calling one ends the program:{}",
        lines.len(),
        lines.concat()
    );
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The range of import slots that the loader has made read-only, opened while it lives.
struct OpenSlots {
    start: *mut c_void,
    size: usize,
}

impl OpenSlots {
    fn new(program: &ProgramInfo) -> Result<Self, StartError> {
        let first = at(program, program.protected_slots);
        let start = first & !0xfff;
        let size = if program.protected_size == 0 {
            0
        } else {
            ((first + program.protected_size + 0xfff) & !0xfff) - start
        } as usize;
        let open = Self {
            start: host(start),
            size,
        };
        open.protect(libc::PROT_READ | libc::PROT_WRITE)
            .map_err(|source| StartError::Protect {
                range: GuestRange::new(GuestAddress(start), size as u64),
                source,
            })?;
        Ok(open)
    }

    fn protect(&self, protection: c_int) -> std::io::Result<()> {
        // SAFETY: pages of the image that hold import slots alone.
        if self.size == 0 || unsafe { libc::mprotect(self.start, self.size, protection) } == 0 {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    }
}

impl Drop for OpenSlots {
    fn drop(&mut self) {
        // Writable slots are a weaker guard, nothing worse.
        let _ = self.protect(libc::PROT_READ);
    }
}

/// Passed to the entry point: what the C start-up code registers to run at exit. Relic's own exit path needs no
/// registration, so there is nothing to do.
pub(crate) extern "sysv64" fn exit_callback() {}

/// Calls the guest's entry point with the stack that the kernel gave the process, as after a call, and returns what
/// it returned.
///
/// # Safety
/// `entry` must be the guest's entry point and `stack` the kernel's block.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn enter_guest(
    entry: u64,
    stack: *mut usize,
    exit_callback: extern "sysv64" fn(),
) -> i32 {
    // Start-up code finds the block through rdi, or some of it at rsp + 8: argc, argv[0], null.
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -16",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "xor edx, edx",
        "sub rsp, 32",
        "mov rcx, [rdi]",
        "mov [rsp], rcx",
        "mov rcx, [rdi + 8]",
        "mov [rsp + 8], rcx",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rdx",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{child_case, run_child};
    use relic_core::program::NID_LENGTH;

    /// A program's tables, as the relinker lays them out, with what they point at. `repr(C)`: offsets count.
    #[repr(C)]
    struct Tables {
        info: ProgramInfo,
        records: [ImportRecord; 4],
        sites: [ImportSite; 4],
        strings: [u8; 64],
        slots: [u64; 4],
    }

    static SLOTS: AtomicPtr<[u64; 4]> = AtomicPtr::new(ptr::null_mut());

    /// The "guest": calls its imports, then leaves.
    extern "sysv64" fn entry(block: *const i32, at_exit: extern "sysv64" fn()) -> i32 {
        at_exit();
        // SAFETY: the block of the tests, and slots that start-up has filled.
        let (argc, first, missing) = unsafe {
            let slots = *SLOTS.load(Ordering::Acquire);
            (*block, slots[0], slots[1])
        };
        let call = |address: u64, argument: u64| {
            // SAFETY: what start-up bound.
            let function: extern "sysv64" fn(u64) -> u64 = unsafe { std::mem::transmute(address) };
            function(argument)
        };
        assert_eq!((argc, call(first, 20)), (1, 41));
        if child_case().as_deref() == Some("call") {
            call(missing, 0);
        }
        7
    }

    extern "sysv64" fn present(argument: u64) -> u64 {
        2 * argument + 1
    }

    /// Trap stubs in memory that can be executed: push the index, jump to the trap.
    fn stubs(count: u64) -> u64 {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh pages.
        let page = unsafe { libc::mmap(ptr::null_mut(), 4096, protection, flags, -1, 0) };
        let start = address_of(page);
        let target = address_of(crate::trap::relic_trap as *const ()).to_le_bytes();
        for index in 0..count {
            let at = start + TRAP_STUB_SIZE * index;
            // Behind the stubs, as the instruction reaches it from its own end.
            let displacement = (start + 0x800 - (at + 11)) as u32;
            let mut stub = vec![0x68];
            stub.extend((index as u32).to_le_bytes());
            stub.extend([0xff, 0x25]);
            stub.extend(displacement.to_le_bytes());
            // SAFETY: inside the page.
            unsafe { host::<u8>(at).copy_from(stub.as_ptr(), stub.len()) };
        }
        // SAFETY: inside the page.
        unsafe { host::<u8>(start + 0x800).copy_from(target.as_ptr(), 8) };
        start
    }

    fn child(case: &str) -> ! {
        let mut base = 0;
        unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, base: *mut c_void) -> c_int {
            // SAFETY: the loader's record, and the test's variable.
            unsafe { *base.cast::<u64>() = (*info).dlpi_addr };
            1
        }
        // SAFETY: the callback keeps nothing.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
        let nid = |name: &str| {
            let mut nid = [0; NID_LENGTH];
            nid.copy_from_slice(Nid::of(name).as_str().as_bytes());
            nid
        };
        let record = |name: &str, kind: ImportKind, index: u32, text: u32| ImportRecord {
            nid: nid(name),
            kind: kind as u8,
            library: 1,
            name: text,
            first_site: index,
            site_count: 1,
        };
        let mut strings = [0; 64];
        strings[1..13].copy_from_slice(b"libkernel\0no");
        strings[20..32].copy_from_slice(b"scePresentFn");
        strings[40..52].copy_from_slice(b"sceMissingFn");
        let third = if case == "data" {
            ImportKind::Object
        } else {
            ImportKind::Weak
        };
        let tables = Box::leak(Box::new(Tables {
            info: ProgramInfo {
                magic: PROGRAM_MAGIC,
                image_base: 0,
                entry: 0,
                process_parameters: 0,
                imports: std::mem::offset_of!(Tables, records) as i64,
                sites: std::mem::offset_of!(Tables, sites) as i64,
                strings: std::mem::offset_of!(Tables, strings) as i64,
                traps: 0,
                import_count: 4,
                site_count: 4,
                protected_slots: 0,
                protected_size: 0,
            },
            records: [
                record("scePresentFn", ImportKind::Function, 0, 20),
                record("sceMissingFn", ImportKind::Function, 1, 40),
                record("sceData", third, 2, 0),
                record("sceOther", ImportKind::Function, 3, 0),
            ],
            sites: [ImportSite {
                address: 0,
                addend: 0,
            }; 4],
            strings,
            slots: [address_of(present as *const ()), 0, 0, 0],
        }));
        let info = address_of(&raw const tables.info);
        let from_info = |address: u64| address.wrapping_sub(info).cast_signed();
        tables.info.image_base = from_info(base);
        tables.info.entry = from_info(address_of(entry as *const ()));
        tables.info.traps = from_info(stubs(4));
        for index in 0..4 {
            tables.sites[index].address = address_of(&raw const tables.slots[index]).wrapping_sub(base);
        }
        if case == "magic" {
            tables.info.magic[7] = b'9';
        }
        SLOTS.store(&raw mut tables.slots, Ordering::Release);
        let block = Box::leak(Box::new([
            1,
            address_of(c"/app0/guest".as_ptr()) as usize,
            0,
            0,
            0,
            0,
        ]));
        // SAFETY: tables and block of the test.
        unsafe { relic_start(block.as_mut_ptr(), &raw const tables.info) }
    }

    #[test]
    fn programs_start_and_missing_imports_are_named() {
        if let Some(case) = child_case() {
            child(&case);
        }
        let list = "relic: 2 imported functions are not implemented";
        for (case, code, words) in [
            (
                "run",
                7,
                &[list, "libkernel                sceMissingFn", "(name unknown)"][..],
            ),
            (
                "call",
                70,
                &[
                    list,
                    "not implemented: libkernel sceMissingFn (NID ",
                    "caller  guest + 0x",
                    "thread  main",
                ],
            ),
            (
                "data",
                2,
                &[list, "1 data objects", Nid::of("sceData").to_string().leak()],
            ),
            ("magic", 2, &["relink the program"]),
        ] {
            let output = run_child("start::tests::programs_start_and_missing_imports_are_named", case);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{case}: {text}");
            for word in words {
                assert!(text.contains(word), "{case} does not say {word:?}: {text}");
            }
        }
    }
}
