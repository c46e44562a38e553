//! The patches of a title: each applied to its target before anything else reads it.

use std::{fs, io, path::Path};

use crate::{
    RelinkOptions,
    error::{RelinkError, io_error},
    input::{Object, ObjectKind},
    patches::{
        Patch, PatchFile,
        apply::{self, Applied},
        manifest::Manifest,
    },
    plan::Plan,
};

use super::{Title, modules::ModuleFile, source::Source};

/// What patches name the executable, whatever its file is called.
const EXECUTABLE: &str = "eboot.bin";

/// What was patched.
#[derive(Debug)]
pub(super) struct Patched {
    /// Whether there is a patch file.
    asked: bool,
    program: Vec<Applied>,
    /// By the module's index among what was found.
    modules: Vec<(String, Vec<Applied>)>,
}

impl Patched {
    /// Reads the patch file, checks every patch against its target, then changes the bytes in memory.
    pub(super) fn new(
        options: &RelinkOptions,
        executable: &mut Source,
        files: &[ModuleFile],
        sources: &mut [Source],
    ) -> Result<Self, RelinkError> {
        let mut patched = Self {
            asked: options.patches.is_some(),
            program: Vec::new(),
            modules: files
                .iter()
                .map(|file| (file.title_path.clone(), Vec::new()))
                .collect(),
        };
        let Some(path) = &options.patches else {
            return Ok(patched);
        };
        let text = small_file(path).map_err(io_error("reading the patches", path))?;
        let file = PatchFile::parse(&text).map_err(|source| RelinkError::PatchFile {
            path: path.clone(),
            source,
        })?;
        let enabled: Vec<&Patch> = file.patches.iter().filter(|patch| patch.enabled).collect();
        let own_name = executable.file_name();
        let is_program = |target: &str| target == EXECUTABLE || target == own_name;
        for patch in &enabled {
            let known = is_program(&patch.target) || files.iter().any(|file| file.title_path == patch.target);
            if !known {
                let modules = files.iter().map(|file| &*file.title_path);
                return Err(RelinkError::PatchTarget {
                    name: patch.name.clone(),
                    target: patch.target.clone(),
                    known: std::iter::once(EXECUTABLE)
                        .chain(modules)
                        .collect::<Vec<_>>()
                        .join(", "),
                });
            }
        }
        let of = |wanted: &dyn Fn(&str) -> bool| -> Vec<&Patch> {
            enabled
                .iter()
                .filter(|patch| wanted(&patch.target))
                .copied()
                .collect()
        };
        let own = of(&is_program);
        if !own.is_empty() {
            patched.program = apply::locate(executable, ObjectKind::Program, &own)?;
        }
        for ((title_path, applied), source) in patched.modules.iter_mut().zip(&*sources) {
            let own = of(&|target| target == title_path);
            if !own.is_empty() {
                *applied = apply::locate(source, ObjectKind::Module, &own)?;
            }
        }
        // Everything fits: now the bytes change.
        let modules = patched.modules.iter().zip(sources);
        let all = modules.map(|((_, applied), source)| (applied, source));
        for (applied, source) in all.chain([(&patched.program, executable)]) {
            if !applied.is_empty() {
                source.change(|bytes| apply::write(bytes, applied));
            }
        }
        Ok(patched)
    }

    /// Refuses patches where something else is written in the module found at this index, or in the program.
    pub(super) fn check(
        &self,
        module: Option<usize>,
        object: &Object<'_>,
        plan: &Plan<'_>,
    ) -> Result<(), RelinkError> {
        match module.and_then(|index| self.modules.get(index)) {
            Some((title_path, applied)) => apply::check_conflicts(title_path, object, plan, applied),
            None => apply::check_conflicts(EXECUTABLE, object, plan, &self.program),
        }
    }

    /// How many writes there are.
    pub(super) fn count(&self) -> usize {
        self.program.len()
            + self
                .modules
                .iter()
                .map(|(_, applied)| applied.len())
                .sum::<usize>()
    }

    /// The manifest as text, where patches were asked for.
    pub(super) fn manifest(&self, output: &Path, title: &Title<'_>) -> Result<Option<String>, RelinkError> {
        if !self.asked {
            return Ok(None);
        }
        let mut manifest = Manifest::new();
        manifest.add(
            &output.file_name().unwrap_or_default().to_string_lossy(),
            &self.program,
        );
        for (title_path, applied) in &self.modules {
            if let Some(listed) = title.listed.iter().find(|listed| listed.path == *title_path) {
                manifest.add(&listed.file, applied);
            }
        }
        manifest.text().map(Some)
    }
}

/// In bytes: far above any list of patches.
const PATCH_FILE_LIMIT: u64 = 64 << 20;

/// The bytes of an ordinary file of bounded size.
fn small_file(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    if metadata.len() > PATCH_FILE_LIMIT {
        let limit = PATCH_FILE_LIMIT >> 20;
        return Err(io::Error::other(format!("it has more than {limit} MiB")));
    }
    fs::read(path)
}
