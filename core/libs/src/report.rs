//! Reports: how a program that ends before its time says why.
//!
//! Faults of the guest (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS), `abort`, SIGTERM and calls to unimplemented imports all
//! end here. Everything on the way is async-signal-safe: fixed buffers, `write(2)`, no lock that is waited for, no
//! allocation. Handlers run on a stack of their own, as the fault may be a stack that ran out.

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    fmt::{self, Write as _},
    mem::MaybeUninit,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    time::Duration,
};

use crate::{
    log::{self, Line},
    pointer::{address_of, host},
};

/// Exit code after a call to an import that is not implemented (`EX_SOFTWARE` of sysexits.h).
pub(crate) const EXIT_UNIMPLEMENTED: i32 = 70;
/// Exit code when the GPU's side of the program went wrong and the program itself did not.
pub(crate) const EXIT_GPU: i32 = 71;

/// The program's own exit code, unless that says success and the GPU's side was not `clean`.
pub(crate) const fn exit_code(code: i32, clean: bool) -> i32 {
    if clean || code != 0 { code } else { EXIT_GPU }
}

/// Size of a handler's stack in bytes: a report formats into a few KiB.
const ALTERNATE_STACK: usize = 64 * 1024;

/// Signals that mean the program did something impossible, with their names.
const FAULTS: [(c_int, &str); 6] = [
    (
        libc::SIGSEGV,
        "SIGSEGV (access to memory that is not mapped or not allowed)",
    ),
    (
        libc::SIGBUS,
        "SIGBUS (access to memory that has nothing behind it)",
    ),
    (
        libc::SIGILL,
        "SIGILL (an instruction that this CPU does not have, or a jump into data)",
    ),
    (libc::SIGFPE, "SIGFPE (division by zero)"),
    (
        libc::SIGTRAP,
        "SIGTRAP (a breakpoint instruction, without a debugger)",
    ),
    (libc::SIGSYS, "SIGSYS (a system call that is not allowed)"),
];

/// A loaded object, for addresses in reports.
struct Module {
    start: u64,
    end: u64,
    name: String,
    /// The program itself, or a module of its.
    is_guest: bool,
}

static MODULES: OnceLock<Vec<Module>> = OnceLock::new();
/// Write end of the pipe to the signal thread.
static REQUESTS: AtomicI32 = AtomicI32::new(-1);
/// Set by the first report: a fault while reporting ends at once.
static REPORTING: AtomicBool = AtomicBool::new(false);

const NAME_SIZE: usize = 32;
thread_local! {
    static NAME: Cell<[u8; NAME_SIZE]> = const { Cell::new([0; NAME_SIZE]) };
}

/// Why the program is asked to end, other than by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EndRequest {
    /// SIGTERM.
    Terminate = 1,
    /// As many frames as `--frames` asked for were shown.
    FrameLimit = 2,
    /// A GPU queue met something that it can't execute.
    QueueFaulted = 3,
    /// SIGINT.
    Interrupt = 4,
}

/// Whether [`request_end`] was called. The program ends soon then, and nothing takes it back.
static END_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the handlers, on the main thread, before the guest runs.
pub(crate) fn install(program: &str) {
    // One program per process: a second call keeps the first table.
    let _ = MODULES.set(loaded_modules(program));
    adopt_thread("main");
    start_signal_thread();
    for (signal, _) in FAULTS {
        handle(signal, on_fault);
    }
    handle(libc::SIGABRT, on_abort);
    handle(libc::SIGTERM, on_terminate);
    handle(libc::SIGINT, on_interrupt);
}

fn handle(signal: c_int, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    // SAFETY: all-zero is a valid sigaction.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = address_of(handler as *const ()) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: the handler is async-signal-safe.
    if unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } != 0 {
        log::warn(format_args!(
            "no handler for signal {signal}: {}",
            std::io::Error::last_os_error()
        ));
    }
}

/// Names the calling thread in reports and gives its handlers a stack. Every guest thread calls it first.
pub(crate) fn adopt_thread(name: &str) {
    name_thread(name);
    // SAFETY: anonymous pages of the system's choice.
    let stack = unsafe {
        libc::mmap(
            ptr::null_mut(),
            ALTERNATE_STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if stack == libc::MAP_FAILED {
        return;
    }
    let stack = libc::stack_t {
        ss_sp: stack,
        ss_flags: 0,
        ss_size: ALTERNATE_STACK,
    };
    // SAFETY: fresh pages that `release_thread` gives back once the kernel no longer uses them.
    unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
}

/// Gives the handlers' stack of the calling thread back.
pub(crate) fn release_thread() {
    let disable = libc::stack_t {
        ss_sp: ptr::null_mut(),
        ss_flags: libc::SS_DISABLE,
        ss_size: 0,
    };
    let mut old = disable;
    // SAFETY: the thread is not in a handler.
    unsafe {
        if libc::sigaltstack(&raw const disable, &raw mut old) == 0 && !old.ss_sp.is_null() {
            libc::munmap(old.ss_sp, old.ss_size);
        }
    }
}

/// Names the calling thread in reports and for debuggers.
pub(crate) fn name_thread(name: &str) {
    let mut bytes = [0; NAME_SIZE];
    let length = name.len().min(NAME_SIZE - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    NAME.with(|cell| cell.set(bytes));
    // Linux keeps fifteen bytes; the main thread's is the process's name, which stays.
    if name != "main" {
        let mut short = [0u8; 16];
        let length = name.len().min(15);
        short[..length].copy_from_slice(&name.as_bytes()[..length]);
        // SAFETY: a NUL-terminated buffer.
        unsafe { libc::prctl(libc::PR_SET_NAME, short.as_ptr()) };
    }
}

fn loaded_modules(program: &str) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: the callback gets `modules` back and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(collect_module), (&raw mut modules).cast()) };
    for module in &mut modules {
        if module.name.is_empty() {
            program.clone_into(&mut module.name);
            module.is_guest = true;
        }
    }
    modules
}

unsafe extern "C" fn collect_module(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    modules: *mut c_void,
) -> c_int {
    // SAFETY: `loaded_modules` passes this, and nothing else refers to it meanwhile.
    let modules = unsafe { &mut *modules.cast::<Vec<Module>>() };
    // SAFETY: the loader's record is valid during the callback.
    let info = unsafe { &*info };
    let mut end = info.dlpi_addr;
    for i in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: the loader counts its program headers.
        let header = unsafe { &*info.dlpi_phdr.add(i) };
        if header.p_type == libc::PT_LOAD {
            end = end.max(info.dlpi_addr + header.p_vaddr + header.p_memsz);
        }
    }
    // SAFETY: the loader's names are strings.
    let path = unsafe { std::ffi::CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    modules.push(Module {
        start: info.dlpi_addr,
        end,
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        is_guest: path.ends_with(".guest.prx"),
    });
    0
}

/// An address as module and offset.
struct Place(u64);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let module = MODULES.get().and_then(|modules| {
            modules
                .iter()
                .find(|module| (module.start..module.end).contains(&self.0))
        });
        match module {
            Some(module) => write!(f, "{} + {:#x}", module.name, self.0 - module.start),
            None => write!(f, "{:#x} (in no loaded module)", self.0),
        }
    }
}

fn put(bytes: &[u8]) {
    let mut left = bytes;
    while !left.is_empty() {
        // SAFETY: the bytes are ours.
        let written = unsafe { libc::write(2, left.as_ptr().cast(), left.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => left = &left[written..],
            _ => return,
        }
    }
}

fn put_line(arguments: fmt::Arguments<'_>) {
    let mut line = Line::<512>::new();
    // Writing to a `Line` never fails.
    let _ = line.write_fmt(arguments);
    let _ = line.write_str("\n");
    put(line.as_bytes());
}

/// The 64-bit word at an address that may be anything, by a system call that fails instead of faulting.
fn peek(address: u64) -> Option<u64> {
    let mut word = 0u64;
    let local = libc::iovec {
        iov_base: (&raw mut word).cast(),
        iov_len: 8,
    };
    let remote = libc::iovec {
        iov_base: host(address),
        iov_len: 8,
    };
    // SAFETY: reads our own process; a bad address is an error.
    let read =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    if read == 8 {
        return Some(word);
    }
    // Code that may be executed only, which the kernel reads for debuggers alone.
    // SAFETY: a descriptor of ours, and a place of eight bytes.
    unsafe {
        let memory = libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if memory < 0 {
            return None;
        }
        let read = libc::pread(memory, (&raw mut word).cast(), 8, address.cast_signed());
        libc::close(memory);
        (read == 8).then_some(word)
    }
}

/// The body of a report.
fn write_report(
    what: fmt::Arguments<'_>,
    at: Option<u64>,
    caller: Option<u64>,
    registers: Option<&Registers>,
) {
    crate::libc::stdio::flush_for_report();
    put_line(format_args!("relic: the program ended: {what}"));
    let name = NAME.with(Cell::get);
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    let name = std::str::from_utf8(&name[..length]).unwrap_or("(not UTF-8)");
    put_line(format_args!(
        "  thread  {}",
        if name.is_empty() {
            "(one of the runtime's)"
        } else {
            name
        }
    ));
    if let Some(at) = at {
        put_line(format_args!("  at      {}", Place(at)));
    }
    if let Some(caller) = caller {
        put_line(format_args!("  caller  {}", Place(caller)));
    }
    if let Some(registers) = registers {
        for row in registers.0.chunks(4) {
            let mut line = Line::<256>::new();
            let _ = line.write_str("  ");
            for (name, value) in row {
                let _ = write!(line, "  {name:<3} {value:016x}");
            }
            let _ = line.write_str("\n");
            put(line.as_bytes());
        }
    }
    let mut first = true;
    log::for_each_line(|line| {
        if std::mem::take(&mut first) {
            put(b"  last log lines\n");
        }
        put(b"    ");
        put(line);
        put(b"\n");
    });
}

/// Whether this is the first report. A second one, from another thread or from a fault inside the report, waits for
/// the first to end the process, but not for ever.
fn begin() -> bool {
    if !REPORTING.swap(true, Ordering::SeqCst) {
        return true;
    }
    // SAFETY: sleeping is async-signal-safe.
    unsafe { libc::usleep(500_000) };
    false
}

fn leave(code: i32) -> ! {
    // SAFETY: ends the process without exit handlers.
    unsafe { libc::_exit(code) }
}

/// Ends the program with a report and an exit code that is not 0.
pub(crate) fn end_with<const SIZE: usize>(
    code: i32,
    what: &Line<SIZE>,
    caller: Option<u64>,
    advice: &str,
) -> ! {
    if begin() {
        let text = std::str::from_utf8(what.as_bytes()).unwrap_or("(not UTF-8)");
        write_report(format_args!("{text}"), None, caller, None);
        put_line(format_args!("  {advice}"));
    }
    leave(code)
}

/// Ends the program because the guest called `abort` or did what only `abort` answers.
pub(crate) fn abort(what: fmt::Arguments<'_>) -> ! {
    if begin() {
        write_report(what, None, None, None);
        put_line(format_args!(
            "  the program gave up by itself: what it printed before says why"
        ));
    }
    leave(128 + libc::SIGABRT)
}

/// Ends the program because a call of the guest's was given what it can't be given. The report names that call.
pub(crate) fn blame(what: fmt::Arguments<'_>) -> ! {
    if begin() {
        let here = 0u64;
        let caller = guest_call(address_of(&raw const here));
        write_report(what, None, caller, None);
        put_call(caller);
        put_line(format_args!(
            "  the program misuses the call, or has overwritten its own memory; if it does not do so on the console, report it"
        ));
    }
    leave(128 + libc::SIGABRT)
}

/// How many words of the stack are searched for the guest's call.
const SEARCHED_WORDS: u64 = 4096;

/// The place behind the guest's call that led to code outside of the guest: the first return address on the stack that lies
/// behind a call instruction of the program or one of its modules.
fn guest_call(stack: u64) -> Option<u64> {
    let is_guest = |address: u64| {
        MODULES.get().is_some_and(|modules| {
            modules
                .iter()
                .any(|module| module.is_guest && (module.start..module.end).contains(&address))
        })
    };
    (0..SEARCHED_WORDS)
        .map_while(|index| peek((stack & !7) + 8 * index))
        .find(|&word| is_guest(word) && call_target(word).is_some())
}

/// What the call in front of an address calls; `Some(0)` for one that goes through a register.
fn call_target(behind: u64) -> Option<u64> {
    let bytes = peek(behind.wrapping_sub(8))?.to_le_bytes();
    let relative = i64::from(i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
    let there = behind.wrapping_add_signed(relative);
    match bytes {
        // call [rip + offset]
        [_, _, 0xff, 0x15, ..] => peek(there),
        // call offset: of a stub that jumps through a slot, perhaps.
        [_, _, _, 0xe8, ..] => {
            let stub = peek(there)?.to_le_bytes();
            let offset = i64::from(i32::from_le_bytes([stub[2], stub[3], stub[4], stub[5]]));
            match stub {
                [0xff, 0x25, ..] => peek((there + 6).wrapping_add_signed(offset)),
                _ => Some(there),
            }
        }
        // call through a register, or through memory that one points at.
        [.., 0xff, 0xd0..=0xd7] | [.., 0xff, 0x10..=0x13 | 0x16..=0x17] | [.., 0xff, 0x50..=0x57, _] => {
            Some(0)
        }
        _ => None,
    }
}

/// Says which function the guest called, if it can be told.
fn put_call(caller: Option<u64>) {
    let target = caller.and_then(call_target).unwrap_or(0);
    if let Some(export) = crate::export::EXPORTS
        .iter()
        .find(|export| export.address.is(target))
    {
        let name = if export.name.is_empty() {
            export.nid
        } else {
            export.name
        };
        put_line(format_args!("  in      {} {name}", export.library));
    }
}

/// Ends the program because it raised a signal that it handles in no way.
pub(crate) fn raised(number: i32) -> ! {
    if begin() {
        write_report(
            format_args!("it raised signal {number} (FreeBSD's number)"),
            None,
            None,
            None,
        );
    }
    leave(128 + number)
}

/// General registers at a fault.
struct Registers([(&'static str, u64); 17]);

impl Registers {
    fn of(context: &libc::ucontext_t) -> Self {
        let get = |index: c_int| {
            context
                .uc_mcontext
                .gregs
                .get(index as usize)
                .map_or(0, |value| value.cast_unsigned())
        };
        Self([
            ("rax", get(libc::REG_RAX)),
            ("rbx", get(libc::REG_RBX)),
            ("rcx", get(libc::REG_RCX)),
            ("rdx", get(libc::REG_RDX)),
            ("rsi", get(libc::REG_RSI)),
            ("rdi", get(libc::REG_RDI)),
            ("rbp", get(libc::REG_RBP)),
            ("rsp", get(libc::REG_RSP)),
            ("r8", get(libc::REG_R8)),
            ("r9", get(libc::REG_R9)),
            ("r10", get(libc::REG_R10)),
            ("r11", get(libc::REG_R11)),
            ("r12", get(libc::REG_R12)),
            ("r13", get(libc::REG_R13)),
            ("r14", get(libc::REG_R14)),
            ("r15", get(libc::REG_R15)),
            ("rip", get(libc::REG_RIP)),
        ])
    }

    fn get(&self, name: &str) -> u64 {
        self.0
            .iter()
            .find(|(n, _)| *n == name)
            .map_or(0, |(_, value)| *value)
    }
}

/// Whether an address lies outside of all libraries of the host that were there when the program started: in the program, its
/// modules, or code that it has made.
pub(crate) fn is_guest_code(address: u64) -> bool {
    MODULES.get().is_some_and(|modules| {
        !modules
            .iter()
            .any(|module| !module.is_guest && (module.start..module.end).contains(&address))
    })
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both for SA_SIGINFO handlers.
    let handled = unsafe {
        let address = address_of((*info).si_addr());
        crate::libkernel::exception::handle_fault(signal, address, context)
    };
    if handled {
        return;
    }
    if begin() {
        // SAFETY: the kernel passes both for SA_SIGINFO handlers.
        let (address, registers) = unsafe {
            (
                address_of((*info).si_addr()),
                Registers::of(&*context.cast::<libc::ucontext_t>()),
            )
        };
        let name = FAULTS
            .iter()
            .find(|(number, _)| *number == signal)
            .map_or("signal", |(_, name)| name);
        let rip = registers.get("rip");
        // With a frame pointer the return address is above the saved one. After a call through a null or wild
        // pointer it is on top of the stack.
        let in_module = MODULES.get().is_some_and(|modules| {
            modules
                .iter()
                .any(|module| (module.start..module.end).contains(&rip))
        });
        // Outside of the guest, the fault is that of the guest's call: what it passed was no good.
        let in_guest = MODULES.get().is_some_and(|modules| {
            modules
                .iter()
                .any(|module| module.is_guest && (module.start..module.end).contains(&rip))
        });
        let call = (in_module && !in_guest)
            .then(|| guest_call(registers.get("rsp")))
            .flatten();
        let caller = if call.is_some() {
            call
        } else if in_module {
            peek(registers.get("rbp").wrapping_add(8))
        } else {
            peek(registers.get("rsp"))
        };
        write_report(
            format_args!("{name}, address {address:#x}"),
            Some(rip),
            caller,
            Some(&registers),
        );
        put_call(call);
        put_line(format_args!(
            "  if the program does not fault like this on the console, report it to Relic's issue tracker with these lines"
        ));
    }
    leave(128 + signal);
}

extern "C" fn on_abort(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    if begin() {
        write_report(format_args!("SIGABRT inside the runtime"), None, None, None);
        put_line(format_args!(
            "  if a line above speaks of free(), malloc or a corrupted heap, the program has misused its memory; if not, this \
             is Relic's fault: report it to Relic's issue tracker with the lines above"
        ));
    }
    leave(128 + libc::SIGABRT);
}

extern "C" fn on_terminate(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    request_end(EndRequest::Terminate);
}

extern "C" fn on_interrupt(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    request_end(EndRequest::Interrupt);
}

/// Asks the signal thread to end the program in order. Async-signal-safe; returns at once.
pub(crate) fn request_end(request: EndRequest) {
    END_REQUESTED.store(true, Ordering::Release);
    let byte = request as u8;
    // SAFETY: one byte of ours, to a pipe that stays open.
    let written = unsafe { libc::write(REQUESTS.load(Ordering::Acquire), (&raw const byte).cast(), 1) };
    if written != 1 {
        // Nobody serves requests: the program goes on.
        END_REQUESTED.store(false, Ordering::Release);
    }
}

/// Keeps the calling thread where it is while the program is being ended from outside: what it asks of the runtime in its
/// last moments is neither done nor refused. Returns at once otherwise.
pub(crate) fn stay_if_ending() {
    while END_REQUESTED.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn start_signal_thread() {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        log::warn(format_args!(
            "no pipe for signals: {}",
            std::io::Error::last_os_error()
        ));
        return;
    }
    REQUESTS.store(ends[1], Ordering::Release);
    let started = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || serve_requests(ends[0]));
    if let Err(error) = started {
        log::warn(format_args!("no thread for signals: {error}"));
    }
}

fn serve_requests(pipe: c_int) {
    name_thread("signals");
    let mut byte = 0u8;
    loop {
        // SAFETY: room for one byte.
        match unsafe { libc::read(pipe, (&raw mut byte).cast(), 1) } {
            1 => break,
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
    if byte == EndRequest::FrameLimit as u8 {
        crate::libc::stdio::flush_for_report();
        leave(exit_code(0, crate::runtime::finish()));
    }
    if byte == EndRequest::QueueFaulted as u8 {
        if begin() {
            write_report(format_args!("a GPU queue stopped"), None, None, None);
            crate::runtime::finish();
            put_line(format_args!(
                "  what was refused, and where, stands above; docs/status.md says what Relic executes so far"
            ));
        }
        leave(EXIT_GPU);
    }
    let (signal, name) = if byte == EndRequest::Interrupt as u8 {
        (libc::SIGINT, "SIGINT")
    } else {
        (libc::SIGTERM, "SIGTERM")
    };
    if begin() {
        write_report(format_args!("{name}: it was asked to end"), None, None, None);
        put_line(format_args!(
            "  somebody ended it from outside: a person, a time limit, or the end of the session"
        ));
        crate::runtime::finish();
    }
    leave(128 + signal);
}

/// Runs a test of this crate again in a process of its own, for what ends a process.
#[cfg(test)]
pub(crate) fn run_child(test: &str, case: &str) -> std::process::Output {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("RELIC_TEST_CHILD", case)
        .output()
        .unwrap()
}

/// Which case this process is the child for.
#[cfg(test)]
pub(crate) fn child_case() -> Option<String> {
    std::env::var("RELIC_TEST_CHILD").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "sysv64" fn overflow_the_stack(depth: u64) -> u64 {
        let frame = std::hint::black_box([depth; 512]);
        if frame[8] == u64::MAX {
            return 0;
        }
        overflow_the_stack(depth + 1) + frame[7]
    }

    fn child(case: &str) {
        install("guest");
        name_thread("worker");
        log::note(format_args!("what happened before"));
        match case {
            "segv" => {
                // SAFETY: not sound: the fault is the test.
                unsafe { host::<u32>(0x1234).write_volatile(1) };
            }
            "overflow" => {
                overflow_the_stack(0);
            }
            "ill" => {
                // SAFETY: not sound: the fault is the test.
                unsafe { std::arch::asm!("ud2") };
            }
            "call" => {
                // SAFETY: not sound: the fault is the test.
                let wild: extern "sysv64" fn() = unsafe { std::mem::transmute(0x4321usize) };
                std::hint::black_box(wild)();
            }
            "abort" => abort(format_args!("abort() was called")),
            "panic" => {
                extern "sysv64" fn guest_function() {
                    panic!("a bug of ours");
                }
                guest_function();
            }
            "term" => {
                // SAFETY: a signal to ourselves.
                unsafe { libc::raise(libc::SIGTERM) };
                std::thread::sleep(Duration::from_secs(20));
            }
            _ => {}
        }
        panic!("{case} did not end the process");
    }

    #[test]
    fn endings_are_reported() {
        if let Some(case) = child_case() {
            child(&case);
        }
        for (case, code, words) in [
            (
                "segv",
                139,
                &[
                    "SIGSEGV",
                    "0x1234",
                    "thread  worker",
                    "rip ",
                    "what happened before",
                ][..],
            ),
            ("overflow", 139, &["SIGSEGV", "thread  worker", "rsp "]),
            ("ill", 132, &["SIGILL", "at      "]),
            (
                "call",
                139,
                &["SIGSEGV", "0x4321 (in no loaded module)", "caller  "],
            ),
            ("abort", 134, &["abort() was called"]),
            ("panic", 134, &["a bug of ours", "SIGABRT inside the runtime"]),
            ("term", 143, &["SIGTERM"]),
        ] {
            let output = run_child("report::tests::endings_are_reported", case);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{case}: {text}");
            for word in words {
                assert!(text.contains(word), "{case} does not say {word:?}: {text}");
            }
        }
    }
}
