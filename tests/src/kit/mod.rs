//! The guest kit: PS5-format executables from C sources, with the distribution's clang and lld.
//!
//! ```text
//! imports.txt ─▶ a header (prototypes with NID symbol names) and one stub library per console library
//! main.c + guests/kit/*.c ─▶ clang -target x86_64-sie-ps5 ─▶ ld.lld -T console.ld ─▶ [console]: eboot.bin
//! main.c + guests/native/shim.c ─▶ clang ─▶ the same program for this machine
//! ```

pub mod console;
mod error;
pub mod imports;
pub mod toolchain;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub use error::KitError;
use error::io_error;
use imports::ImportList;
use toolchain::Toolchain;

/// Name of a built guest.
pub const EBOOT: &str = "eboot.bin";

/// What every C file of guests and kit is compiled with.
const WARNINGS: [&str; 4] = ["-std=c11", "-Wall", "-Wextra", "-Werror"];

/// The kit, ready to build.
#[derive(Debug)]
pub struct Kit {
    tools: Toolchain,
    /// The folder `guests`.
    guests: PathBuf,
}

impl Kit {
    /// The kit of this checkout with the newest toolchain that fits.
    ///
    /// # Errors
    ///
    /// [`KitError::NoToolchain`] when there is none.
    pub fn new() -> Result<Self, KitError> {
        let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests");
        Ok(Self {
            tools: Toolchain::find()?,
            guests,
        })
    }

    /// The folder of a guest that comes with the kit.
    #[must_use]
    pub fn guest(&self, name: &str) -> PathBuf {
        self.guests.join(name)
    }

    /// Builds `out/eboot.bin` from all C files of `guest`.
    ///
    /// # Errors
    ///
    /// [`KitError`] when a source or a list is wrong, or a tool fails.
    pub fn build_guest(&self, guest: &Path, out: &Path) -> Result<PathBuf, KitError> {
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        let imports = self.imports(guest)?;
        self.write_header(&imports, work.path())?;

        let mut objects = Vec::new();
        for source in c_sources(guest)?
            .iter()
            .chain(&c_sources(&self.guests.join("kit"))?)
        {
            let object = work.path().join(format!("{}.o", objects.len()));
            run(self
                .console_clang()
                .args(WARNINGS)
                .args(self.includes(work.path()))
                .arg(source)
                .arg("-o")
                .arg(&object))?;
            objects.push(object);
        }

        let raw = work.path().join("raw.elf");
        let mut link = self.console_linker();
        // Only what a source marks dllexport is visible, so only that is exported.
        link.args([
            "-pie",
            "--no-dynamic-linker",
            "--export-dynamic",
            "--eh-frame-hdr",
            "--build-id=sha1",
            "--as-needed",
            "-z",
            "nocopyreloc",
        ]);
        link.arg("-T")
            .arg(self.guests.join("kit/console.ld"))
            .arg("-o")
            .arg(&raw)
            .args(&objects);
        for stub in self.stub_libraries(&imports, work.path())? {
            link.arg(stub);
        }
        run(&mut link)?;

        let bytes = fs::read(&raw).map_err(io_error("reading", &raw))?;
        let eboot = out.join(EBOOT);
        let finished = console::finish(&bytes, &imports)?;
        fs::write(&eboot, finished).map_err(io_error("writing", &eboot))?;
        Ok(eboot)
    }

    /// Builds the same sources as a native program at `out/<name of the guest's folder>`.
    ///
    /// # Errors
    ///
    /// [`KitError`] when a source or a list is wrong, or a tool fails.
    pub fn build_native(&self, guest: &Path, out: &Path) -> Result<PathBuf, KitError> {
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        self.write_header(&self.imports(guest)?, work.path())?;
        let program = out.join(guest.file_name().unwrap_or_else(|| "program".as_ref()));
        let mut sources = Vec::new();
        // The shim stands on the host's headers, the guest's sources on the kit's.
        for source in c_sources(guest)?
            .into_iter()
            .chain([self.guests.join("native/shim.c")])
        {
            let object = work.path().join(format!("{}.o", sources.len()));
            let mut clang = Command::new(&self.tools.clang);
            clang
                .args(["-c", "-O1", "-fno-builtin", "-DRELIC_NATIVE"])
                .args(WARNINGS);
            if source.starts_with(guest) {
                clang.args(self.includes(work.path()));
            }
            run(clang.arg(&source).arg("-o").arg(&object))?;
            sources.push(object);
        }
        run(Command::new(&self.tools.clang)
            .args(sources)
            .args(["-pthread", "-o"])
            .arg(&program))?;
        Ok(program)
    }

    /// Builds a runtime library from `guests/stand_in`: every import of `imports.txt` but those named `missing` leads to
    /// the host's own function of that name. It stands in for the real one where a test is about the relinker alone.
    ///
    /// # Errors
    ///
    /// [`KitError`] when a tool fails.
    pub fn build_stand_in(&self, out: &Path, missing: &[&str]) -> Result<PathBuf, KitError> {
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        let forwards = work.path().join("forwards.s");
        let imports = self.imports(&self.guests)?;
        fs::write(&forwards, imports.forwards(missing)).map_err(io_error("writing", &forwards))?;
        let library = out.join("libstand_in.so");
        let mut clang = Command::new(&self.tools.clang);
        clang
            .args(["-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-pthread"])
            .args(WARNINGS);
        clang.arg(format!("--ld-path={}", self.tools.lld.display()));
        clang
            .args(c_sources(&self.guests.join("stand_in"))?)
            .arg(self.guests.join("native/shim.c"));
        run(clang.arg(&forwards).arg("-o").arg(&library))?;
        Ok(library)
    }

    /// The lists of the kit and of a guest.
    fn imports(&self, guest: &Path) -> Result<ImportList, KitError> {
        let mut list = ImportList::default();
        list.read(&self.guests.join("imports.txt"))?;
        let own = guest.join("imports.txt");
        if guest != self.guests && own.exists() {
            list.read(&own)?;
        }
        Ok(list)
    }

    fn write_header(&self, imports: &ImportList, folder: &Path) -> Result<(), KitError> {
        let path = folder.join("relic_imports.h");
        fs::write(&path, imports.header()).map_err(io_error("writing", &path))
    }

    fn includes(&self, generated: &Path) -> [std::ffi::OsString; 4] {
        [
            "-I".into(),
            self.guests.join("include").into(),
            "-I".into(),
            generated.into(),
        ]
    }

    /// clang as the console's toolchain runs it, as far as it matters to the format.
    fn console_clang(&self) -> Command {
        let mut clang = Command::new(&self.tools.clang);
        clang.args([
            "-target",
            toolchain::TARGET,
            "-c",
            "-O1",
            "-ffreestanding",
            "-nostdinc",
            "-fno-lto",
            "-fPIE",
        ]);
        // Unwind tables for every function, imported data through the global offset table.
        clang.args(["-fasynchronous-unwind-tables", "-fno-direct-access-external-data"]);
        clang.args(["-fno-builtin", "-fno-stack-protector", "-fno-ident"]);
        clang
    }

    fn console_linker(&self) -> Command {
        let mut link = Command::new(&self.tools.lld);
        link.args([
            "-m",
            "elf_x86_64_fbsd",
            "--hash-style=sysv",
            "-z",
            "now",
            "-z",
            "rodynamic",
            "-z",
            "norelro",
        ]);
        link.args(["-z", "common-page-size=0x4000", "-z", "max-page-size=0x4000"]);
        link
    }

    /// One shared library for each console library: empty functions and data under the NIDs, for the linker to find.
    fn stub_libraries(&self, imports: &ImportList, folder: &Path) -> Result<Vec<PathBuf>, KitError> {
        let mut stubs = Vec::new();
        for library in imports.libraries() {
            let source = folder.join(format!("{}.stub.c", library.name));
            let object = folder.join(format!("{}.stub.o", library.name));
            let stub = folder.join(format!("{}.prx", library.name));
            fs::write(&source, imports.stub_source(&library)).map_err(io_error("writing", &source))?;
            run(self
                .console_clang()
                .arg("-fPIC")
                .arg(&source)
                .arg("-o")
                .arg(&object))?;
            let mut link = self.console_linker();
            link.args(["-shared", "-soname"])
                .arg(format!("{}.prx", library.name));
            run(link.arg(&object).arg("-o").arg(&stub))?;
            stubs.push(stub);
        }
        Ok(stubs)
    }
}

/// All C files of a folder, by name.
fn c_sources(folder: &Path) -> Result<Vec<PathBuf>, KitError> {
    let entries = fs::read_dir(folder).map_err(io_error("listing", folder))?;
    let mut sources: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    if sources.is_empty() {
        return Err(KitError::NoSources {
            folder: folder.to_owned(),
        });
    }
    sources.sort();
    Ok(sources)
}

/// Runs a tool and keeps what it says for the error.
pub(crate) fn run(command: &mut Command) -> Result<(), KitError> {
    let program = command.get_program().to_owned();
    let output = command
        .output()
        .map_err(io_error("running", Path::new(&program)))?;
    if output.status.success() {
        return Ok(());
    }
    Err(KitError::Tool {
        command: format!("{command:?}"),
        status: output.status,
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
