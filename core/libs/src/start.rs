//! Start-up of a relinked program (the contract is in [`relic_core::program`]).

use std::{arch::naked_asm, ffi::CStr, fmt::Write as _, io::Write as _};

use relic_core::{
    GuestAddress,
    program::{PROGRAM_MAGIC, ProgramInfo},
};

use crate::{
    image::{Image, ImageError, Missing},
    libkernel::thread,
    modules::{self, ModuleError},
    pointer::host,
    process::{self, Program},
    report,
};

/// Exit code of a program that can't start.
const EXIT_START: i32 = 2;

/// Why a program can't start.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Module(#[from] ModuleError),
    #[error(
        "the program needs {} that nobody provides:{list}\nit can't start without them; `relic info` shows what is there",
        data_objects(*count)
    )]
    MissingData { count: usize, list: String },
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
    let program = unsafe { Image::new(info, PROGRAM_MAGIC, "the program") }?;
    process::begin(Program {
        process_parameters: GuestAddress(program.optional(program.info().process_parameters).unwrap_or(0)),
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
    program.register(name)?;
    let mut missing = program.bind()?;
    for more in modules::begin(program)? {
        missing.functions.extend(more.functions);
        missing.data.extend(more.data);
    }
    list_missing(&mut missing);
    if !missing.data.is_empty() {
        missing.data.sort();
        missing.data.dedup();
        return Err(StartError::MissingData {
            count: missing.data.len(),
            list: missing.data.concat(),
        });
    }
    Ok(GuestAddress(program.at(program.info().entry)))
}

/// So many data objects, in words.
pub(crate) fn data_objects(count: usize) -> String {
    match count {
        1 => "1 data object".to_owned(),
        count => format!("{count} data objects"),
    }
}

/// Says on stderr which functions nobody provides.
pub(crate) fn list_missing(missing: &mut Missing) {
    if missing.functions.is_empty() {
        return;
    }
    missing.functions.sort();
    // The program and its modules may miss the same.
    missing.functions.dedup();
    let mut text = String::new();
    // Writing to a String never fails, and there is nowhere to complain when stderr is closed.
    let _ = writeln!(
        text,
        "relic: {} not implemented; calling one ends the program:{}",
        match missing.functions.len() {
            1 => "1 imported function is".to_owned(),
            count => format!("{count} imported functions are"),
        },
        missing.functions.concat()
    );
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// What the initial thread runs: the initialisers of the modules that the program needs, then the program.
///
/// # Safety
/// As [`enter_guest`].
pub(crate) unsafe extern "sysv64" fn begin_guest(
    entry: u64,
    stack: *mut usize,
    exit_callback: extern "sysv64" fn(),
) -> i32 {
    crate::libc::heap::begin(
        process::program().map_or(GuestAddress(0), |program| program.process_parameters),
    );
    modules::initialise_needed();
    // SAFETY: forwarded contract.
    unsafe { enter_guest(entry, stack, exit_callback) }
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
unsafe extern "sysv64" fn enter_guest(
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
    use crate::pointer::address_of;
    use crate::report::{child_case, run_child};
    use relic_core::{
        Nid,
        program::{ImportKind, ImportRecord, ImportSite, LifecycleInfo, NID_LENGTH, TRAP_STUB_SIZE},
    };
    use std::{
        ffi::{c_int, c_void},
        ptr,
        sync::atomic::{AtomicPtr, Ordering},
    };

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

    /// Trap stubs in memory that can be executed: push the index, jump to the tail, which loads the tables' address and
    /// jumps to the trap.
    fn stubs(count: u64, info: u64) -> u64 {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh pages.
        let page = unsafe { libc::mmap(ptr::null_mut(), 4096, protection, flags, -1, 0) };
        let start = address_of(page);
        let put = |at: u64, bytes: &[u8]| {
            // SAFETY: inside the page.
            unsafe { host::<u8>(at).copy_from(bytes.as_ptr(), bytes.len()) };
        };
        let tail = start + TRAP_STUB_SIZE * count;
        for index in 0..count {
            let at = start + TRAP_STUB_SIZE * index;
            put(at, &[0x68]);
            put(at + 1, &(index as u32).to_le_bytes());
            put(at + 5, &[0xe9]);
            put(at + 6, &((tail - (at + 10)) as u32).to_le_bytes());
        }
        put(tail, &[0x49, 0xbb]); // movabs r11, info
        put(tail + 2, &info.to_le_bytes());
        put(tail + 10, &[0xff, 0x25, 0, 0, 0, 0]); // jmp [rip]
        put(
            tail + 16,
            &address_of(crate::trap::relic_trap as *const ()).to_le_bytes(),
        );
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
                modules: 0,
                dependencies: 0,
                module_count: 0,
                dependency_count: 0,
                lifecycle: LifecycleInfo::default(),
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
        tables.info.traps = from_info(stubs(4, info));
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
                &[list, "1 data object that", Nid::of("sceData").to_string().leak()],
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
