//! Programs that were not written for the kit: their sources come from Debian, and are compiled as they are, for the console
//! with C's headers in `guests/include/c`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    EBOOT, Kit, KitError, Target, compile_all, error::io_error, imports::ImportList, run, sources_of,
};
use crate::runtime::profile_folder;

/// Names the folder of the sources, in place of `sources` in the target folder.
pub const SOURCES_VARIABLE: &str = "RELIC_SOURCES";

/// A program of others.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// Its name, which is that of its folder in `guests/programs` with the sources that are ours.
    pub name: &'static str,
    /// Its sources, below the folder of sources.
    pub sources: Vec<String>,
    /// Where its headers are, below the folder of sources.
    pub includes: Vec<&'static str>,
    /// What it is compiled with, for both builds.
    pub flags: Vec<&'static str>,
}

/// The folder of others' sources.
fn folder() -> Result<PathBuf, KitError> {
    if let Some(folder) = env::var_os(SOURCES_VARIABLE) {
        return Ok(folder.into());
    }
    let profile = profile_folder()?;
    Ok(profile.parent().unwrap_or(&profile).join("sources"))
}

impl Foreign {
    /// The sources as paths.
    fn paths(&self) -> Result<(PathBuf, Vec<PathBuf>), KitError> {
        let folder = folder()?;
        let paths: Vec<PathBuf> = self.sources.iter().map(|source| folder.join(source)).collect();
        if paths.iter().all(|path| path.is_file()) {
            Ok((folder, paths))
        } else {
            Err(KitError::NoForeignSources {
                name: self.name.to_owned(),
                folder,
            })
        }
    }

    fn arguments(&self, folder: &Path) -> Vec<std::ffi::OsString> {
        let mut arguments = Vec::new();
        for include in &self.includes {
            arguments.push("-I".into());
            arguments.push(folder.join(include).into());
        }
        arguments.extend(self.flags.iter().map(Into::into));
        arguments
    }
}

impl Kit {
    /// Builds `out/eboot.bin`.
    ///
    /// # Errors
    ///
    /// [`KitError`] when the sources are not there, or a tool fails.
    pub fn build_foreign(&self, program: &Foreign, out: &Path) -> Result<PathBuf, KitError> {
        let (folder, mut sources) = program.paths()?;
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        let work = work.path();
        let programs = self.guests.join("programs");
        let mut imports = ImportList::default();
        for list in [&self.guests, &programs] {
            imports.read(&list.join("imports.txt"))?;
        }
        self.write_header(&imports, None, work)?;
        let own = programs.join(program.name);
        sources.extend(sources_of(&own).unwrap_or_default());
        let console = own.join("console");
        sources.extend(sources_of(&console).unwrap_or_default());
        sources.extend(sources_of(&self.guests.join("kit"))?);
        sources.extend(sources_of(&self.guests.join("kit/program"))?);
        // The compiler's own headers, of which it needs no library.
        let resources = Command::new(&self.tools.clang)
            .arg("-print-resource-dir")
            .output()
            .map_err(io_error("running", &self.tools.clang))?;
        let resources = PathBuf::from(String::from_utf8_lossy(&resources.stdout).trim()).join("include");
        let objects = compile_all(&sources, work, |source, object| {
            let kit = source.starts_with(self.guests.join("kit"));
            run(self
                .console_clang()
                .args(["-fPIE", "-w", "-I"])
                .arg(self.guests.join("include/c"))
                .arg("-isystem")
                .arg(&resources)
                .args(if kit {
                    Vec::new()
                } else {
                    program.arguments(&folder)
                })
                .args(self.includes(work))
                .arg(source)
                .arg("-o")
                .arg(object))
        })?;
        let stubs = self.stub_libraries(&imports, work)?;
        let eboot = out.join(EBOOT);
        self.link_objects(&objects, Target::Program, &imports, &stubs, work, &eboot)?;
        Ok(eboot)
    }

    /// Builds the same sources for this machine, with its own headers, as `out/NAME`.
    ///
    /// # Errors
    ///
    /// As [`Self::build_foreign`].
    pub fn build_foreign_native(&self, program: &Foreign, out: &Path) -> Result<PathBuf, KitError> {
        let (folder, mut sources) = program.paths()?;
        fs::create_dir_all(out).map_err(io_error("making", out))?;
        let work = tempfile::tempdir_in(out).map_err(io_error("making a folder in", out))?;
        sources.extend(sources_of(&self.guests.join("programs").join(program.name)).unwrap_or_default());
        let objects = compile_all(&sources, work.path(), |source, object| {
            run(Command::new(&self.tools.clang)
                .args(["-c", "-O1", "-w", "-fno-builtin"])
                .args(program.arguments(&folder))
                .arg(source)
                .arg("-o")
                .arg(object))
        })?;
        let native = out.join(program.name);
        run(Command::new(&self.tools.clang)
            .args(&objects)
            .arg("-lm")
            .arg("-o")
            .arg(&native))?;
        Ok(native)
    }
}
