//! The guest kit: PS5-format executables from C sources, with the distribution's clang and lld.
//!
//! ```text
//! imports.txt ─▶ a header (prototypes with NID symbol names) and one stub library per console library
//! main.c + guests/kit/**/*.c ─▶ clang -target x86_64-sie-ps5 ─▶ ld.lld -T console.ld ─▶ [console]: eboot.bin
//! modules/NAME/*.c ─▶ the same with `-shared` ─▶ [console]: sce_module/NAME.prx
//! main.c + guests/native/shim.c ─▶ clang ─▶ the same program for this machine
//! ```

pub mod console;
mod error;
pub mod foreign;
pub mod imports;
pub mod toolchain;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use console::Target;
pub use error::KitError;
use error::io_error;
use imports::{ImportList, Library};
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

    /// Builds `out/eboot.bin` from all C and C++ files of `guest`, and `out/sce_module/NAME.prx` from those of each folder
    /// `guest/modules/NAME`.
    ///
    /// # Errors
    ///
    /// [`KitError`] when a source or a list is wrong, or a tool fails.
    pub fn build_guest(&self, guest: &Path, out: &Path) -> Result<PathBuf, KitError> {
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        let imports = self.imports(guest)?;
        let stubs = self.stub_libraries(&imports, work.path())?;
        for (name, folder) in modules(guest)? {
            let library = imports.library(&name).ok_or_else(|| KitError::NoSources {
                folder: folder.clone(),
            })?;
            let target = Target::Module(&library);
            let module = out.join("sce_module").join(format!("{name}.prx"));
            self.link(
                &folder,
                target,
                &imports,
                &stubs,
                &work.path().join(&name),
                &module,
            )?;
        }
        let eboot = out.join(EBOOT);
        self.link(
            guest,
            Target::Program,
            &imports,
            &stubs,
            &work.path().join("program"),
            &eboot,
        )?;
        Ok(eboot)
    }

    /// Builds a guest of files given as text: paths in its folder, and contents. C and C++ sources get the guests' header.
    ///
    /// # Errors
    ///
    /// As [`Self::build_guest`].
    pub fn build_text(&self, files: &[(&str, &str)], out: &Path) -> Result<PathBuf, KitError> {
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let guest = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        for (name, text) in files {
            let path = guest.path().join(name);
            let folder = path.parent().unwrap_or(guest.path());
            fs::create_dir_all(folder).map_err(io_error("making", folder))?;
            let source = name.ends_with(".c") || name.ends_with(".cc");
            let header = if source { "#include <relic/guest.h>\n" } else { "" };
            fs::write(&path, format!("{header}{text}")).map_err(io_error("writing", &path))?;
        }
        self.build_guest(guest.path(), out)
    }

    /// Compiles a folder's sources for the console and links them.
    fn link(
        &self,
        sources: &Path,
        target: Target<'_>,
        imports: &ImportList,
        stubs: &[PathBuf],
        work: &Path,
        output: &Path,
    ) -> Result<(), KitError> {
        fs::create_dir_all(work).map_err(io_error("making", work))?;
        let (own, own_kit, position) = match target {
            Target::Program => (None, "kit/program", "-fPIE"),
            Target::Module(library) => (Some(library), "kit/module", "-fPIC"),
        };
        self.write_header(imports, own, work)?;
        let mut all = sources_of(sources)?;
        let plus_plus = all.iter().any(|source| is_plus_plus(source));
        all.extend(sources_of(&self.guests.join("kit"))?);
        all.extend(sources_of(&self.guests.join(own_kit))?);
        if plus_plus {
            all.extend(sources_of(&self.guests.join("kit/cxx"))?);
        }
        let objects = compile_all(&all, work, |source, object| {
            run(self
                .console_clang()
                .arg(position)
                .args(language(source))
                .args(self.includes(work))
                .arg(source)
                .arg("-o")
                .arg(object))
        })?;

        self.link_objects(&objects, target, imports, stubs, work, output)
    }

    /// Links objects of the console's.
    fn link_objects(
        &self,
        objects: &[PathBuf],
        target: Target<'_>,
        imports: &ImportList,
        stubs: &[PathBuf],
        work: &Path,
        output: &Path,
    ) -> Result<(), KitError> {
        let own = match target {
            Target::Program => None,
            Target::Module(library) => Some(library),
        };
        let raw = work.join("raw.elf");
        let script = work.join("console.ld");
        self.write_script(target, &script)?;
        let mut link = self.console_linker();
        match target {
            // Only what a source marks dllexport is visible, so only that is exported.
            Target::Program => link.args(["-pie", "--no-dynamic-linker", "--export-dynamic"]),
            Target::Module(library) => link
                .args([
                    "-shared",
                    "-init=relic_module_init",
                    "-fini=relic_module_fini",
                    "-soname",
                ])
                .arg(format!("{}.prx", library.name)),
        };
        link.args([
            "--eh-frame-hdr",
            "--build-id=sha1",
            "--as-needed",
            "-z",
            "nocopyreloc",
        ]);
        link.arg("-T").arg(&script).arg("-o").arg(&raw).args(objects);
        // A module does not import from itself.
        let own_stub = own.map(|library| work.with_file_name(format!("{}.prx", library.name)));
        link.args(stubs.iter().filter(|stub| Some(*stub) != own_stub.as_ref()));
        run(&mut link)?;

        let bytes = fs::read(&raw).map_err(io_error("reading", &raw))?;
        let finished = console::finish(&bytes, imports, target)?;
        if let Some(folder) = output.parent() {
            fs::create_dir_all(folder).map_err(io_error("making", folder))?;
        }
        fs::write(output, finished).map_err(io_error("writing", output))
    }

    /// The linker script: a module has its parameters where a program has those of the process, and no entry point.
    fn write_script(&self, target: Target<'_>, to: &Path) -> Result<(), KitError> {
        let path = self.guests.join("kit/console.ld");
        let mut script = fs::read_to_string(&path).map_err(io_error("reading", &path))?;
        if let Target::Module(_) = target {
            script = script
                .replace("0x61000001", "0x61000002")
                .replace("ENTRY(_start)", "");
        }
        fs::write(to, script).map_err(io_error("writing", to))
    }

    /// Builds the same sources as a native program at `out/<name of the guest's folder>`, each module as a shared library
    /// beside it.
    ///
    /// # Errors
    ///
    /// [`KitError`] when a source or a list is wrong, or a tool fails.
    pub fn build_native(&self, guest: &Path, out: &Path) -> Result<PathBuf, KitError> {
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        let imports = self.imports(guest)?;
        self.write_header(&imports, None, work.path())?;
        let shared = |name: &str| out.join(format!("{name}.so"));
        let link = |objects: &[PathBuf]| {
            let mut link = Command::new(&self.tools.clang);
            link.arg("--driver-mode=g++")
                .args(objects)
                .args(["-pthread", "-ldl", "-Wl,-rpath,$ORIGIN"]);
            link
        };
        let mut libraries = Vec::new();
        for (name, folder) in modules(guest)? {
            let objects = self.native_objects(&sources_of(&folder)?, guest, &work.path().join(&name))?;
            let needs = fs::read_to_string(folder.join("needs.txt")).unwrap_or_default();
            run(link(&objects)
                .arg("-shared")
                .args(needs.lines().map(shared))
                .arg("-o")
                .arg(shared(&name)))?;
            libraries.push(shared(&name));
        }
        let mut sources = sources_of(guest)?;
        // The shim stands on the host's headers, the guest's sources on the kit's.
        sources.push(self.guests.join("native/shim.c"));
        let objects = self.native_objects(&sources, guest, &work.path().join("program"))?;
        let program = out.join(guest.file_name().unwrap_or_else(|| "program".as_ref()));
        run(link(&objects)
            .args(["-Wl,--as-needed", "-rdynamic"])
            .args(&libraries)
            .arg("-o")
            .arg(&program))?;
        Ok(program)
    }

    /// Compiles C sources for the host, to be linked by [`Self::host_linker`].
    ///
    /// # Errors
    ///
    /// [`KitError`] when a source is wrong, or a tool fails.
    pub fn host_objects(&self, sources: &[PathBuf], work: &Path) -> Result<Vec<PathBuf>, KitError> {
        // None is a guest's, so all stand on the host's headers.
        self.native_objects(sources, &self.guests, work)
    }

    /// The kit's linker, for the host.
    #[must_use]
    pub fn host_linker(&self) -> Command {
        Command::new(&self.tools.lld)
    }

    fn native_objects(
        &self,
        sources: &[PathBuf],
        guest: &Path,
        work: &Path,
    ) -> Result<Vec<PathBuf>, KitError> {
        fs::create_dir_all(work).map_err(io_error("making", work))?;
        compile_all(sources, work, |source, object| {
            let mut clang = Command::new(&self.tools.clang);
            clang
                .args(["-c", "-O1", "-fPIC", "-fno-builtin", "-DRELIC_NATIVE"])
                .args(language(source));
            if source.starts_with(guest) {
                clang.args(self.includes(work.parent().unwrap_or(work)));
            }
            run(clang.arg(source).arg("-o").arg(object))
        })
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
            .args(sources_of(&self.guests.join("stand_in"))?)
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
        let modules = if guest == self.guests {
            Vec::new()
        } else {
            modules(guest)?
        };
        for (name, folder) in &modules {
            list.read_exports(&folder.join("exports.txt"), name)?;
        }
        let mut sources = if guest == self.guests {
            Vec::new()
        } else {
            sources_of(guest)?
        };
        for (_, folder) in &modules {
            sources.extend(sources_of(folder)?);
        }
        // The stand-in has none of these.
        if sources.iter().any(|source| is_plus_plus(source)) {
            list.read(&self.guests.join("kit/cxx/imports.txt"))?;
        }
        Ok(list)
    }

    fn write_header(
        &self,
        imports: &ImportList,
        own: Option<&Library>,
        folder: &Path,
    ) -> Result<(), KitError> {
        let path = folder.join("relic_imports.h");
        fs::write(&path, imports.header(own)).map_err(io_error("writing", &path))
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
                .arg("-Wno-everything")
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

/// The modules of a guest: name and folder of each, by name. A native module is linked with those that its `needs.txt`
/// names, which must come before it.
fn modules(guest: &Path) -> Result<Vec<(String, PathBuf)>, KitError> {
    let folder = guest.join("modules");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&folder).map_err(io_error("listing", &folder))?;
    let mut modules: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| entry.ok())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    modules.sort();
    Ok(modules)
}

/// Compiles sources to objects in `work`, as many at a time as the machine has processors.
fn compile_all(
    sources: &[PathBuf],
    work: &Path,
    compile: impl Fn(&Path, &Path) -> Result<(), KitError> + Sync,
) -> Result<Vec<PathBuf>, KitError> {
    let objects: Vec<PathBuf> = (0..sources.len())
        .map(|index| work.join(format!("{index}.o")))
        .collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let worker = || {
        loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            match sources.get(index) {
                Some(source) => compile(source, &objects[index])?,
                None => return Ok(()),
            }
        }
    };
    let count = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(sources.len());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    Ok(objects)
}

fn is_plus_plus(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "cc")
}

/// What a source file is compiled with, beside where its headers are.
fn language(source: &Path) -> &'static [&'static str] {
    if is_plus_plus(source) {
        &[
            "-std=c++17",
            "-fexceptions",
            "-fcxx-exceptions",
            "-frtti",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]
    } else {
        &WARNINGS
    }
}

/// All C and C++ files of a folder, by name.
fn sources_of(folder: &Path) -> Result<Vec<PathBuf>, KitError> {
    let entries = fs::read_dir(folder).map_err(io_error("listing", folder))?;
    let mut sources: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "c" || extension == "cc")
        })
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
