//! Which modules a title has, and which needs which.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hashbrown::HashMap;
use petgraph::{algo::tarjan_scc, graph::DiGraph};

use crate::{
    error::{RelinkError, io_error},
    input::Object,
};

/// Names of the folder in which a title keeps its modules.
pub(super) const MODULE_FOLDERS: [&str; 2] = ["sce_module", "sce_modules"];
/// What a module's file name ends in. The stem in front of it is the module's name.
const MODULE_EXTENSIONS: [&str; 3] = ["prx", "sprx", "debug_prx"];
/// How deep folders named by the user are searched.
const SEARCH_DEPTH: usize = 16;

/// A module file, and what the title calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFile {
    /// Where it is.
    pub file: PathBuf,
    /// Its path in the title, below `/app0`.
    pub title_path: String,
}

impl ModuleFile {
    /// Its file name in the output: never that of a file which the OS loader may know already.
    #[must_use]
    pub fn output_name(&self) -> String {
        let name = self.title_path.rsplit('/').next().unwrap_or(&self.title_path);
        match name.rsplit_once('.') {
            Some((stem, extension)) => format!("{stem}.guest.{extension}"),
            None => format!("{name}.guest"),
        }
    }

    /// Its output's path from the program's folder.
    #[must_use]
    pub fn output_path(&self) -> String {
        let name = self.output_name();
        match self.title_path.rsplit_once('/') {
            Some((folder, _)) => format!("app0/{folder}/{name}"),
            None => format!("app0/{name}"),
        }
    }
}

/// The name by which modules need each other: the file name without its extension.
#[must_use]
pub fn stem(file_name: &str) -> &str {
    match file_name.rsplit_once('.') {
        Some((stem, extension)) if MODULE_EXTENSIONS.contains(&extension) => stem,
        _ => file_name,
    }
}

fn is_module(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| MODULE_EXTENSIONS.contains(&extension))
        // What this program wrote beside an executable is no input.
        && !path.file_stem().is_some_and(|stem| stem.as_encoded_bytes().ends_with(b".guest"))
}

/// All module files of the title of an executable: those beside it, those in its module folder, and those anywhere in the
/// folders that the user names. Sorted, so that the same files give the same order.
///
/// # Errors
///
/// [`RelinkError`] when a folder can't be read, the title has both module folders, or two files have one name.
pub fn find(executable: &Path, folders: &[PathBuf]) -> Result<Vec<ModuleFile>, RelinkError> {
    let title = match executable.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    let mut add = |folder: &Path, prefix: &str, depth| list(folder, prefix, depth, &mut found);
    add(title, "", 0)?;
    match MODULE_FOLDERS.map(|name| (title.join(name), name)) {
        [(first, _), (second, _)] if first.is_dir() && second.is_dir() => {
            return Err(RelinkError::TwoModuleFolders {
                folder: title.to_owned(),
            });
        }
        folders => {
            for (folder, name) in folders.iter().filter(|(folder, _)| folder.is_dir()) {
                add(folder, name, 0)?;
            }
        }
    }
    for folder in folders {
        add(folder, "", SEARCH_DEPTH)?;
    }
    found.sort_by(|a, b| (&a.title_path, &a.file).cmp(&(&b.title_path, &b.file)));
    // A folder may be named twice, or be the title's own.
    let mut unique: Vec<ModuleFile> = Vec::new();
    let mut seen = hashbrown::HashSet::new();
    for module in found {
        let real = module
            .file
            .canonicalize()
            .map_err(io_error("finding", &module.file))?;
        if seen.insert(real) {
            unique.push(module);
        }
    }
    Ok(unique)
}

fn list(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<ModuleFile>) -> Result<(), RelinkError> {
    let entries = fs::read_dir(folder).map_err(io_error("listing the folder", folder))?;
    for entry in entries {
        let entry = entry.map_err(io_error("listing the folder", folder))?;
        let (path, kind) = (
            entry.path(),
            entry.file_type().map_err(io_error("looking at", folder))?,
        );
        let name = entry.file_name().to_string_lossy().into_owned();
        let title_path = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        };
        if kind.is_dir() && depth > 0 {
            list(&path, &title_path, depth - 1, found)?;
        } else if is_module(&path) && path.is_file() {
            found.push(ModuleFile {
                file: path,
                title_path,
            });
        }
    }
    Ok(())
}

/// How the objects of a title need each other.
#[derive(Debug)]
pub struct Order {
    /// The modules by their place in the output's list, as indices into what was found: what a module needs comes before
    /// it.
    pub modules: Vec<usize>,
    /// For each place: which places it needs.
    pub dependencies: Vec<Vec<usize>>,
    /// For each place: whether the program needs it.
    pub at_start: Vec<bool>,
    /// Which places the program itself names.
    pub of_program: Vec<usize>,
}

impl Order {
    /// Orders the modules of a program. A needed name without a file among them is a system library.
    ///
    /// # Errors
    ///
    /// [`RelinkError::SameModule`], [`RelinkError::ModuleCycle`].
    pub fn new(
        program: &Object<'_>,
        files: &[ModuleFile],
        objects: &[Object<'_>],
    ) -> Result<Self, RelinkError> {
        let by_name = names(files, objects)?;
        let needs = |object: &Object<'_>| -> Vec<usize> {
            let mut needed: Vec<usize> = object
                .needed
                .iter()
                .filter_map(|name| by_name.get(&*stem(name).to_lowercase()).copied())
                .collect();
            needed.sort_unstable();
            needed.dedup();
            needed
        };
        let mut graph = DiGraph::<(), (), usize>::default();
        let nodes: Vec<_> = objects.iter().map(|_| graph.add_node(())).collect();
        for (object, &node) in objects.iter().zip(&nodes) {
            for needed in needs(object) {
                graph.update_edge(node, nodes[needed], ());
            }
        }
        // Tarjan's components come with what is needed before what needs it.
        let mut modules = Vec::with_capacity(objects.len());
        for component in tarjan_scc(&graph) {
            let node = component[0];
            if component.len() > 1 || graph.contains_edge(node, node) {
                let mut members: Vec<String> = component
                    .iter()
                    .map(|node| files[node.index()].title_path.clone())
                    .collect();
                members.sort();
                return Err(RelinkError::ModuleCycle { members });
            }
            modules.push(node.index());
        }
        let mut place = vec![0; objects.len()];
        for (at, &module) in modules.iter().enumerate() {
            place[module] = at;
        }
        let places = |object: &Object<'_>| -> Vec<usize> {
            let mut places: Vec<usize> = needs(object).iter().map(|&module| place[module]).collect();
            places.sort_unstable();
            places
        };
        let dependencies: Vec<Vec<usize>> = modules.iter().map(|&module| places(&objects[module])).collect();
        let of_program = places(program);
        let mut at_start = vec![false; modules.len()];
        for &at in &of_program {
            at_start[at] = true;
        }
        // What needs comes behind what is needed, so one walk from the end reaches everything.
        for at in (0..modules.len()).rev() {
            if at_start[at] {
                for &needed in &dependencies[at] {
                    at_start[needed] = true;
                }
            }
        }
        Ok(Self {
            modules,
            dependencies,
            at_start,
            of_program,
        })
    }

    /// Everything that a place needs, at any distance.
    #[must_use]
    pub fn closure(&self, place: usize) -> Vec<usize> {
        let mut reached = vec![false; self.modules.len()];
        let mut open = vec![place];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(&self.dependencies[at]);
            }
        }
        (0..reached.len())
            .filter(|&at| reached[at] && at != place)
            .collect()
    }
}

/// The modules by every name that others may need them by: file name, and the name they give themselves.
fn names(files: &[ModuleFile], objects: &[Object<'_>]) -> Result<HashMap<String, usize>, RelinkError> {
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for (index, file) in files.iter().enumerate() {
        let file_name = file.title_path.rsplit('/').next().unwrap_or_default();
        if let Some(other) = by_name.insert(stem(file_name).to_lowercase(), index) {
            return Err(RelinkError::SameModule {
                name: stem(file_name).to_owned(),
                first: files[other].file.clone(),
                second: file.file.clone(),
            });
        }
    }
    // A file name goes before a name inside a file: that is what the console opens.
    for (index, object) in objects.iter().enumerate() {
        if let Some(name) = object.module_name {
            by_name.entry(stem(name).to_lowercase()).or_insert(index);
        }
    }
    Ok(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_names_are_no_input_s() {
        let module = |title_path: &str| ModuleFile {
            file: PathBuf::new(),
            title_path: title_path.to_owned(),
        };
        assert_eq!(
            module("sce_module/libc.prx").output_path(),
            "app0/sce_module/libc.guest.prx"
        );
        assert_eq!(module("plug.in.sprx").output_path(), "app0/plug.in.guest.sprx");
        assert!(is_module(Path::new("a/libc.prx")) && is_module(Path::new("libc.debug_prx")));
        assert!(!is_module(Path::new("a/libc.guest.prx")) && !is_module(Path::new("prx")));
    }

    #[test]
    fn a_stem_is_the_name_without_the_console_s_extensions() {
        for (name, expected) in [
            ("libc.prx", "libc"),
            ("a.b.sprx", "a.b"),
            ("x.so", "x.so"),
            ("y", "y"),
        ] {
            assert_eq!(stem(name), expected);
        }
    }
}
