//! What there is one of: the program, its memory, its end.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::Instant,
};

use relic_core::{GuestAddress, GuestMemory};

/// The relinked program that runs.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its process parameter block, 0 where there is none.
    pub(crate) process_parameters: GuestAddress,
}

static PROGRAM: OnceLock<Program> = OnceLock::new();
static MEMORY: LazyLock<Arc<GuestMemory>> = LazyLock::new(|| Arc::new(GuestMemory::new()));
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Notes the program. Only start-up calls it.
pub(crate) fn begin(program: Program) {
    LazyLock::force(&STARTED);
    // A second start in one process can't happen: `relic_start` never returns.
    let _ = PROGRAM.set(program);
}

/// The program; `None` where the libraries are used without one, as in tests.
pub(crate) fn program() -> Option<&'static Program> {
    PROGRAM.get()
}

/// The guest's region table.
pub(crate) fn memory() -> &'static Arc<GuestMemory> {
    &MEMORY
}

/// When the process started.
pub(crate) fn started() -> Instant {
    *STARTED
}

/// Ends the process in order: guest exit handlers have run by now; buffered output is written, mounted saves are
/// committed, and the runtime finishes what was submitted.
pub(crate) fn end(code: i32) -> ! {
    crate::libc::stdio::flush_all();
    crate::libSceSaveData::finish();
    let code = crate::report::exit_code(code, crate::runtime::finish());
    // Threads of the runtime and of the driver may still run: host exit handlers would take their libraries apart
    // under them.
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}
