//! What the other files of a title define: for looking at one of them alone.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use relic_core::Nid;

use crate::{
    error::RelinkError,
    input::{Object, ObjectKind},
    plan::exports::Exports,
};

use super::{
    modules::{self, MODULE_FOLDERS, ModuleFile},
    source::Source,
};

/// The program's file name.
const PROGRAM: &str = "eboot.bin";

/// What the other files of a title define.
#[derive(Debug, Default)]
pub struct Beside {
    by_key: HashMap<(String, Nid), String>,
    /// What could not be read, and why.
    pub unread: Vec<(PathBuf, RelinkError)>,
}

impl Beside {
    /// Reads every file of the title of a program or module but itself.
    #[must_use]
    pub fn of(file: &Path) -> Self {
        let mut beside = Self::default();
        let folder = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let in_module_folder = folder
            .file_name()
            .is_some_and(|name| MODULE_FOLDERS.iter().any(|folder| name == *folder));
        let title = match folder.parent() {
            Some(parent) if in_module_folder => parent,
            _ => folder,
        };
        let program = title.join(PROGRAM);
        let modules = match modules::find(&program, &[]) {
            Ok(modules) => modules,
            Err(error) => {
                beside.unread.push((title.to_owned(), error));
                return beside;
            }
        };
        let own = file.canonicalize().ok();
        let others = modules
            .into_iter()
            .map(|module| (module, ObjectKind::Module))
            .chain(program.is_file().then(|| {
                let program = ModuleFile {
                    file: program,
                    title_path: PROGRAM.to_owned(),
                };
                (program, ObjectKind::Program)
            }))
            .filter(|(other, _)| other.file.canonicalize().ok() != own);
        for (other, kind) in others {
            if let Err(error) = beside.add(&other, kind) {
                beside.unread.push((other.file, error));
            }
        }
        beside
    }

    fn add(&mut self, file: &ModuleFile, kind: ObjectKind) -> Result<(), RelinkError> {
        let source = Source::open(&file.file)?;
        let object = Object::read(&source, kind)?;
        for export in Exports::of(&object, None).list {
            if let Some(library) = export.library {
                self.by_key
                    .entry((library.to_owned(), export.nid))
                    .or_insert_with(|| file.title_path.clone());
            }
        }
        Ok(())
    }

    /// Path in the title of the file that defines a NID of a library.
    #[must_use]
    pub fn definer(&self, library: &str, nid: Nid) -> Option<&str> {
        self.by_key.get(&(library.to_owned(), nid)).map(String::as_str)
    }
}
