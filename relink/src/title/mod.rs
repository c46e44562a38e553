//! A title: its program with its modules, from files to files.

pub mod beside;
pub mod modules;
mod patched;
pub mod source;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    RelinkOptions,
    error::{RelinkError, io_error},
    input::{Object, ObjectKind},
    output::{
        Image,
        file::{Content, OutputFile, write_all},
    },
    plan::{
        Plan, Rules,
        exports::Exports,
        linkage::{DEFAULT_RUN_PATH, Definitions, Linkage, ListedModule, ObjectIndex},
    },
    report::{ModuleReport, RelinkReport, Timings},
};

use crate::{patches::manifest, registry::Registry};

use modules::{ModuleFile, Order};
use patched::Patched;
use source::Source;

/// The registry of a title as text. Objects and plans of modules are by their places.
fn registry<'t>(
    program: (&Object<'_>, &Plan<'_>),
    title: &Title<'_>,
    modules: impl Iterator<Item = (&'t Object<'t>, &'t Plan<'t>)>,
) -> Result<String, RelinkError> {
    let modules = title
        .listed
        .iter()
        .zip(modules)
        .map(|(module, (object, plan))| (&*module.path, object, plan));
    Registry::new(std::iter::once(("eboot.bin", program.0, program.1)).chain(modules)).text()
}

/// Where the registry of an output is.
fn registry_path(output: &Path) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push(".registry.json");
    output.with_file_name(name)
}

/// How one program without modules is linked.
pub(crate) fn alone<'t>(definitions: &'t Definitions<'t>) -> Linkage<'t> {
    Linkage {
        file_name: None,
        needed: Vec::new(),
        run_path: DEFAULT_RUN_PATH,
        modules: &[],
        definitions,
        visible: Vec::new(),
        in_title: true,
        names: &[],
    }
}

/// Relinks a title.
pub(crate) fn relink(options: &RelinkOptions) -> Result<RelinkReport, RelinkError> {
    let start = Instant::now();
    let run_path = run_path(options)?;
    let mut executable = Source::open(&options.input)?;
    refuse_same_file(&executable, &options.output)?;
    let files = modules::find(&options.input, &options.module_folders)?;
    let mut sources = files
        .iter()
        .map(|file| Source::open(&file.file).map_err(in_module(file)))
        .collect::<Result<Vec<_>, _>>()?;
    let patched = Patched::new(options, &mut executable, &files, &mut sources)?;
    let program = Object::read(&executable, ObjectKind::Program)?;
    let objects = files
        .iter()
        .zip(&sources)
        .map(|(file, source)| Object::read(source, ObjectKind::Module).map_err(in_module(file)))
        .collect::<Result<Vec<_>, _>>()?;
    let read = start.elapsed();

    let planning = Instant::now();
    let title = Title::new(&files, &program, &objects)?;
    let definitions = title.definitions();
    let program_linkage = Linkage {
        needed: (0..title.listed.len())
            .filter(|&place| title.order.at_start[place])
            .map(|place| format!("$ORIGIN/{}", title.listed[place].file))
            .collect(),
        run_path,
        modules: &title.listed,
        visible: title.visible(None),
        names: &title.names,
        ..alone(&definitions)
    };
    let rules = Rules {
        system_calls: options.system_calls,
        filter: options.filter,
        lowerings: options.lowerings,
    };
    let program_plan = Plan::new(&program, &title.exports[0], &program_linkage, rules)?;
    patched.check(None, &program, &program_plan)?;
    let output_names: Vec<String> = title
        .order
        .modules
        .iter()
        .map(|&at| files[at].output_name())
        .collect();
    let run_paths: Vec<String> = title
        .listed
        .iter()
        .map(|module| module_run_path(run_path, &module.file))
        .collect();
    let mut module_plans = Vec::with_capacity(objects.len());
    for (place, &at) in title.order.modules.iter().enumerate() {
        let linkage = Linkage {
            file_name: Some(&output_names[place]),
            needed: title.order.dependencies[place]
                .iter()
                .map(|&needed| module_to_module(&title.listed[place].file, &title.listed[needed].file))
                .collect(),
            run_path: &run_paths[place],
            visible: title.visible(Some(place)),
            names: &title.names,
            ..alone(&definitions)
        };
        let plan = Plan::new(&objects[at], &title.exports[place + 1], &linkage, rules);
        let plan = plan.map_err(in_module(&files[at]))?;
        patched.check(Some(at), &objects[at], &plan)?;
        module_plans.push(plan);
    }
    let manifest = patched.manifest(&options.output, &title)?;
    let registry = options
        .registry
        .then(|| {
            let modules = title.order.modules.iter().map(|&at| &objects[at]);
            registry((&program, &program_plan), &title, modules.zip(&module_plans))
        })
        .transpose()?;
    let planned = planning.elapsed();

    let writing = Instant::now();
    let program_image = Image::build(&program, &program_plan)?;
    let module_images = title
        .order
        .modules
        .iter()
        .zip(&module_plans)
        .map(|(&at, plan)| Image::build(&objects[at], plan).map_err(in_module(&files[at])))
        .collect::<Result<Vec<_>, _>>()?;
    let outputs: Vec<OutputFile<'_>> = title
        .listed
        .iter()
        .zip(&module_images)
        .zip(&title.order.modules)
        .map(|((module, image), &at)| OutputFile {
            path: options.output.with_file_name(&module.file),
            content: Content::Image(image, &sources[at]),
        })
        .chain(manifest.as_deref().map(|text| OutputFile {
            path: manifest::path_of(&options.output),
            content: Content::Text(text),
        }))
        .chain(registry.as_deref().map(|text| OutputFile {
            path: registry_path(&options.output),
            content: Content::Text(text),
        }))
        // The program takes its name last: where it is, everything is.
        .chain([OutputFile {
            path: options.output.clone(),
            content: Content::Image(&program_image, &executable),
        }])
        .collect();
    for output in &outputs {
        for source in sources.iter().chain([&executable]) {
            refuse_same_file(source, &output.path)?;
        }
    }
    write_all(&outputs, &options.output, options.runtime_library.as_deref())?;
    let timings = Timings {
        read,
        plan: planned,
        write: writing.elapsed(),
        total: start.elapsed(),
    };
    let mut report = RelinkReport::new(&program, &program_plan, timings);
    report.patched = patched.count();
    for (place, &at) in title.order.modules.iter().enumerate() {
        let own = RelinkReport::new(&objects[at], &module_plans[place], Timings::default());
        report
            .modules
            .push(ModuleReport::new(&files[at], &title.listed[place], own));
    }
    tracing::debug!(output = %options.output.display(), modules = report.modules.len(), "relinked");
    Ok(report)
}

/// Everything about how a title's objects belong together.
struct Title<'a> {
    order: Order,
    /// The modules by place.
    listed: Vec<ListedModule>,
    /// By [`ObjectIndex`].
    exports: Vec<Exports<'a>>,
    names: Vec<String>,
}

impl<'a> Title<'a> {
    fn new(files: &[ModuleFile], program: &Object<'a>, objects: &[Object<'a>]) -> Result<Self, RelinkError> {
        let order = Order::new(program, files, objects)?;
        let mut exports = vec![Exports::of(program, None)];
        let mut names = vec!["the program".to_owned()];
        let mut listed = Vec::with_capacity(order.modules.len());
        for (place, &at) in order.modules.iter().enumerate() {
            let file_name = files[at].title_path.rsplit('/').next();
            exports.push(Exports::of(&objects[at], file_name));
            names.push(files[at].title_path.clone());
            listed.push(ListedModule {
                path: files[at].title_path.clone(),
                file: files[at].output_path(),
                dependencies: order.dependencies[place].clone(),
                at_start: order.at_start[place],
            });
        }
        Ok(Self {
            order,
            listed,
            exports,
            names,
        })
    }

    fn definitions(&self) -> Definitions<'a> {
        let mut definitions = Definitions::default();
        for (index, exports) in self.exports.iter().enumerate() {
            definitions.add(ObjectIndex(index), exports);
        }
        definitions
    }

    /// Whose definitions the module at a place sees, or the program for `None`.
    fn visible(&self, place: Option<usize>) -> Vec<ObjectIndex> {
        let needed = place.map(|place| self.order.closure(place)).unwrap_or_default();
        let modules = (0..self.listed.len())
            .filter(|at| self.order.at_start[*at] || needed.contains(at))
            .filter(|at| place != Some(*at))
            .map(|at| ObjectIndex(at + 1));
        let program = place.map(|_| ObjectIndex(0));
        program.into_iter().chain(modules).collect()
    }
}

/// The run path of the program, checked: ld.so would take any other as relative to the working folder.
fn run_path(options: &RelinkOptions) -> Result<&str, RelinkError> {
    let path = options.run_path.as_deref().unwrap_or(DEFAULT_RUN_PATH);
    let rooted = path
        .strip_prefix("$ORIGIN")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if (rooted || path.starts_with('/')) && !path.contains(['\0', ':']) {
        Ok(path)
    } else {
        Err(RelinkError::RunPath {
            path: path.to_owned(),
        })
    }
}

/// The same place as seen from a module's folder.
fn module_run_path(run_path: &str, file: &str) -> String {
    match run_path.strip_prefix("$ORIGIN") {
        Some(rest) => format!("$ORIGIN{}{rest}", "/..".repeat(file.matches('/').count())),
        None => run_path.to_owned(),
    }
}

/// How one module's output names another: both paths are from the program's folder.
fn module_to_module(from: &str, to: &str) -> String {
    format!("$ORIGIN{}/{to}", "/..".repeat(from.matches('/').count()))
}

fn in_module(file: &ModuleFile) -> impl FnOnce(RelinkError) -> RelinkError {
    let path = file.file.clone();
    |source| RelinkError::InModule {
        path,
        source: Box::new(source),
    }
}

/// Refuses an output path that names an input file: its owner would lose it.
fn refuse_same_file(input: &Source, output: &Path) -> Result<(), RelinkError> {
    use std::os::unix::fs::MetadataExt as _;
    match fs::metadata(output) {
        Ok(output_file) if (output_file.dev(), output_file.ino()) == input.identity => {
            Err(RelinkError::OutputIsInput {
                path: output.to_owned(),
            })
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        // A path through a file that is no folder fails when it is written, with the path.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(()),
        Err(error) => Err(io_error("looking at the output", output)(error)),
    }
}

/// Relinks one object that is in memory, as if it were alone. `whole` says that it is all of its title.
pub(crate) fn relink_alone(
    bytes: &[u8],
    kind: ObjectKind,
    rules: Rules,
    whole: bool,
) -> Result<(Image<'_>, RelinkReport), RelinkError> {
    let start = Instant::now();
    let program = Object::read(bytes, kind)?;
    let read = start.elapsed();

    let start = Instant::now();
    let definitions = Definitions::default();
    let file_name = (kind == ObjectKind::Module).then_some("module");
    let linkage = Linkage {
        file_name,
        in_title: whole,
        ..alone(&definitions)
    };
    let plan = Plan::new(&program, &Exports::of(&program, file_name), &linkage, rules)?;
    let planned = start.elapsed();

    let start = Instant::now();
    let image = Image::build(&program, &plan)?;
    let write: Duration = start.elapsed();
    let timings = Timings {
        read,
        plan: planned,
        write,
        total: read + planned + write,
    };
    let report = RelinkReport::new(&program, &plan, timings);
    Ok((image, report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_find_the_runtime_library_and_each_other() {
        assert_eq!(
            module_run_path("$ORIGIN/libs", "app0/sce_module/a.guest.prx"),
            "$ORIGIN/../../libs"
        );
        assert_eq!(module_run_path("/opt/relic", "app0/a.guest.prx"), "/opt/relic");
        assert_eq!(
            module_to_module("app0/sce_module/a.guest.prx", "app0/b.guest.prx"),
            "$ORIGIN/../../app0/b.guest.prx"
        );
    }
}
