//! `relic info`: what a file is, and what a program needs.

use std::{
    borrow::Cow,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use relic_relink::{
    RelinkError,
    input::{Object, ObjectKind, container},
    inspect,
    title::{beside::Beside, source::Source},
};
use relic_systems::scene::{self, Event, Scene};
use serde::Serialize;

use crate::{
    EXIT_FAILED,
    failure::Failure,
    files::FileKind,
    imports::{Import, sorted_imports},
    libraries, output,
};

/// Say what a file is, what it needs, and what of that Relic has
///
/// For a program or module, the other files of its title count too: those beside it, in sce_module/ or sce_modules/, and
/// eboot.bin. Ends with 2 for a file that Relic has no use for.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Executable, module, relinked program or scene
    #[arg(required_unless_present = "libraries")]
    file: Option<PathBuf>,
    /// List every function of the system libraries that Relic has, and what of it
    #[arg(long, conflicts_with = "file")]
    libraries: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Everything about a file.
#[derive(Serialize)]
struct Info {
    file: String,
    kind: &'static str,
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scene: Option<SceneInfo>,
}

/// What a program is made of and asks for.
#[derive(Serialize)]
struct ProgramInfo {
    entry: String,
    segments: Vec<Segment>,
    /// Bytes of thread-local storage.
    tls: u64,
    /// File names of the modules that it needs: the title's own, or system libraries.
    needs: Vec<String>,
    imported_libraries: Vec<String>,
    exported_libraries: Vec<String>,
    own_exports: usize,
    relocations: usize,
    notes: Vec<String>,
    implemented: usize,
    /// Imports that other files of the title answer.
    by_title: usize,
    missing: usize,
    imports: Vec<Import>,
}

/// One LOAD segment of the file.
#[derive(Serialize)]
struct Segment {
    address: String,
    size: u64,
    file_size: u64,
    access: String,
}

/// What a scene holds.
#[derive(Serialize)]
struct SceneInfo {
    chip: u32,
    ngg: bool,
    submissions: usize,
    frames: usize,
    expectations: usize,
    memory: u64,
    meta: Vec<(String, String)>,
}

/// Reads the file and prints what it is.
///
/// # Errors
/// When it can't be read, or says it is a program or scene and is a broken one.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.file {
        Some(file) => about(file, arguments.json),
        None => libraries::print(arguments.json),
    }
}

fn about(file: &Path, json: bool) -> Result<ExitCode, Failure> {
    let source = Source::as_it_is(file).map_err(Failure::relink(file))?;
    // What a container without encryption holds is what counts; any other is told by its kind.
    let bytes = container::unwrap(&source).unwrap_or_else(|_| Cow::Borrowed(&*source));
    let kind = FileKind::of(&bytes);
    let mut info = Info {
        file: file.display().to_string(),
        kind: kind.key(),
        description: kind.describe(),
        program: None,
        scene: None,
    };
    match kind {
        FileKind::Program => {
            let program = ProgramInfo::read(file, &bytes, ObjectKind::Program);
            info.program = Some(program.map_err(Failure::relink(file))?);
        }
        FileKind::Module => {
            let module = ProgramInfo::read(file, &bytes, ObjectKind::Module);
            info.program = Some(module.map_err(Failure::relink(file))?);
        }
        FileKind::Scene => {
            let scene = scene::parse(&bytes).map_err(Failure::work("parsing the scene"))?;
            info.scene = Some(SceneInfo::of(&scene));
        }
        _ => {}
    }
    output::print(&if json {
        let json = serde_json::to_string_pretty(&info).map_err(Failure::work("writing JSON"))?;
        format!("{json}\n")
    } else {
        info.text()
    })?;
    Ok(match kind {
        FileKind::Unknown | FileKind::OtherElf => ExitCode::from(EXIT_FAILED),
        _ => ExitCode::SUCCESS,
    })
}

impl ProgramInfo {
    fn read(file: &Path, bytes: &[u8], kind: ObjectKind) -> Result<Self, RelinkError> {
        let program = Object::read(bytes, kind)?;
        let report = inspect(bytes, kind)?;
        let beside = Beside::of(file);
        let imports = sorted_imports(&report.imports, |library, nid| {
            beside.definer(library, nid).map(str::to_owned)
        });
        let missing = imports.iter().filter(|import| import.is_missing()).count();
        let by_title = imports.iter().filter(|import| import.title.is_some()).count();
        let unread = beside.unread.iter().map(|(path, error)| {
            format!(
                "{} can't be read, so nobody knows what it exports: {error}",
                path.display()
            )
        });
        let notes = report.notes.iter().map(ToString::to_string).chain(unread);
        Ok(Self {
            entry: program.entry.to_string(),
            segments: program
                .segments
                .loads
                .iter()
                .map(|load| Segment {
                    address: load.range.start.to_string(),
                    size: load.range.size,
                    file_size: load.file_size,
                    access: load.access.to_string(),
                })
                .collect(),
            tls: program.segments.tls.map_or(0, |tls| tls.range.size),
            needs: program.needed.iter().map(|&name| name.to_owned()).collect(),
            imported_libraries: program.libraries.imported().map(str::to_owned).collect(),
            exported_libraries: program.libraries.exported().map(str::to_owned).collect(),
            own_exports: report.exports,
            relocations: program.relocations.len(),
            notes: notes.collect(),
            implemented: imports.len() - missing - by_title,
            by_title,
            missing,
            imports,
        })
    }
}

impl SceneInfo {
    fn of(scene: &Scene) -> Self {
        let count = |wanted: fn(&Event) -> bool| scene.events.iter().filter(|event| wanted(event)).count();
        Self {
            chip: scene.chip,
            ngg: scene.ngg,
            submissions: count(|event| matches!(event, Event::Submit(_))),
            frames: count(|event| matches!(event, Event::Frame(_))),
            expectations: count(|event| matches!(event, Event::ExpectBuffer { .. } | Event::ExpectImage(_))),
            memory: scene
                .events
                .iter()
                .map(|event| match event {
                    Event::Region { range, .. } => range.size(),
                    _ => 0,
                })
                .sum(),
            meta: scene.meta.clone(),
        }
    }
}

impl Info {
    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.file, self.description);
        if let Some(program) = &self.program {
            program.describe(&mut text);
        }
        if let Some(scene) = &self.scene {
            let _ = writeln!(
                text,
                "chip gfx{}, {}, {} submissions, {} frames, {} expectations, {} KiB of guest memory",
                scene.chip,
                if scene.ngg { "NGG" } else { "no NGG" },
                scene.submissions,
                scene.frames,
                scene.expectations,
                scene.memory >> 10
            );
            for (key, value) in &scene.meta {
                let _ = writeln!(text, "  {key:<16} {value}");
            }
        }
        text
    }
}

impl ProgramInfo {
    fn describe(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "entry {}, {} relocations, {} B of thread-local storage, {} own exports",
            self.entry, self.relocations, self.tls, self.own_exports
        );
        let _ = writeln!(text, "segments");
        for segment in &self.segments {
            let _ = writeln!(
                text,
                "  {:>18}  {:>10} B ({:>10} B in the file)  {}",
                segment.address, segment.size, segment.file_size, segment.access
            );
        }
        let _ = writeln!(text, "needs        {}", listed(&self.needs, "no module"));
        let _ = writeln!(
            text,
            "imports from {}",
            listed(&self.imported_libraries, "no library")
        );
        let _ = writeln!(
            text,
            "exports as   {}",
            listed(&self.exported_libraries, "no library")
        );
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        let _ = writeln!(
            text,
            "imports: {}, {} by the title itself, {} implemented, {} not",
            self.imports.len(),
            self.by_title,
            self.implemented,
            self.missing
        );
        for import in &self.imports {
            let _ = writeln!(
                text,
                "  {:<28} {:<44} {}  {:<8}  {}",
                import.library,
                import.name.unwrap_or("(name unknown)"),
                import.nid,
                import.kind,
                import.answer()
            );
        }
    }
}

fn listed(names: &[String], none: &str) -> String {
    if names.is_empty() {
        none.to_owned()
    } else {
        names.join(", ")
    }
}
