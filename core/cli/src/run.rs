//! `relic run`: relink into the cache, then start the program.

use std::{
    ffi::OsString,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use relic_systems::config::{Config, frame_range};

use crate::{cache, conversion::Conversion, failure::Failure, runtime_library};

/// Run an executable: relink it into the cache if need be, and start it
///
/// The program runs in the executable's folder. Ends with the program's exit code, or 128 + n when signal n ended it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The executable (eboot.bin), or the folder it lies in
    eboot: PathBuf,
    #[command(flatten)]
    conversion: Conversion,
    /// Without a window. There is none yet: this only silences the line that says so
    #[arg(long)]
    headless: bool,
    /// End after this many flips
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Write a picture (PNG) of the last flip
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Write a picture (PNG) of every flip into this folder
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Record these frames as a scene that `relic replay` plays: N or N..M, counted from 1, both recorded
    #[arg(long, value_name = "N..M", value_parser = frames)]
    capture: Option<(u64, u64)>,
    /// Where the scene goes [default: the executable's name and the frames, in the current folder]
    #[arg(long, value_name = "FILE", requires = "capture")]
    capture_file: Option<PathBuf>,
    /// Print the table of systems with their times at the end
    #[arg(long)]
    times: bool,
    /// Use a GPU whose name contains this text
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Load the Vulkan validation layer
    #[arg(long)]
    validation: bool,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Relinks where need be, runs, and passes the exit code on.
///
/// # Errors
/// When the program can't be relinked or started.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let eboot = executable(&arguments.eboot)?;
    // The program reads these too, but only once it needs the GPU.
    let config = Config::from_environment().map_err(Failure::work("reading the RELIC_ variables"))?;
    let variables = variables(arguments, &eboot, config.shader_cache.as_deref())?;
    let runtime = runtime_library::find(None)?;
    let program = cache::relinked(&eboot, &runtime, &arguments.conversion)?;
    if !arguments.headless {
        eprintln!("relic: there is no window yet, so this runs headless (--headless silences this line)");
    }
    let mut command = Command::new(&program);
    command.args(&arguments.arguments);
    if let Some(folder) = eboot.parent() {
        command.current_dir(folder);
        // What the program reads as `/app0`, unless the user has another folder in mind.
        if std::env::var_os("RELIC_APP0").is_none() {
            command.env("RELIC_APP0", folder);
        }
    }
    for (name, value) in variables {
        command.env(name, value);
    }
    // Whoever ends this command means the program: `timeout`, a CI job's end, a terminal that closes.
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
                .map_err(Into::into)
        });
    }
    let status = command.status().map_err(|source| Failure::Start {
        program: program.clone(),
        source,
    })?;
    // A status is a code from 0 to 255, or a signal from 1 to 64.
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(i32::from(crate::EXIT_FAILED));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(crate::EXIT_FAILED)))
}

/// The absolute path of the executable that `path` means.
fn executable(path: &Path) -> Result<PathBuf, Failure> {
    let file = if path.is_dir() {
        let file = path.join("eboot.bin");
        if !file.is_file() {
            return Err(Failure::NoProgram {
                folder: path.to_owned(),
            });
        }
        file
    } else {
        path.to_owned()
    };
    file.canonicalize().map_err(Failure::io("finding", &file))
}

fn frames(text: &str) -> Result<(u64, u64), String> {
    frame_range(text)
        .ok_or_else(|| "give N or N..M: frames counted from 1, the first not behind the last".to_owned())
}

/// The options as the runtime library reads them. Paths are made absolute: the program runs in another folder.
fn variables(
    arguments: &Arguments,
    eboot: &Path,
    shader_cache: Option<&Path>,
) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let mut variables = Vec::new();
    let shader_cache = match shader_cache {
        Some(folder) => std::path::absolute(folder)
            .map_err(Failure::io("finding", folder))?
            .into_os_string(),
        None => "off".into(),
    };
    variables.push(("RELIC_SHADER_CACHE", shader_cache));
    if let Some(frames) = arguments.frames {
        variables.push(("RELIC_FRAMES", frames.to_string().into()));
    }
    let capture_file = arguments.capture.map(|(first, last)| {
        arguments.capture_file.clone().unwrap_or_else(|| {
            let stem = eboot.file_stem().unwrap_or_default().to_string_lossy();
            PathBuf::from(format!("{stem}-{first}-{last}.scene"))
        })
    });
    if let Some((first, last)) = arguments.capture {
        variables.push(("RELIC_CAPTURE", format!("{first}..{last}").into()));
    }
    for (name, path) in [
        ("RELIC_SCREENSHOT", &arguments.screenshot),
        ("RELIC_PICTURES", &arguments.pictures),
        ("RELIC_CAPTURE_FILE", &capture_file),
    ] {
        if let Some(path) = path {
            let path = std::path::absolute(path).map_err(Failure::io("finding", path))?;
            writable(&path, name == "RELIC_PICTURES")?;
            variables.push((name, path.into_os_string()));
        }
    }
    for (name, set) in [
        ("RELIC_TIMES", arguments.times),
        ("RELIC_VALIDATION", arguments.validation),
    ] {
        if set {
            variables.push((name, "1".into()));
        }
    }
    if let Some(gpu) = &arguments.gpu {
        variables.push(("RELIC_GPU", gpu.into()));
    }
    Ok(variables)
}

/// Refuses a place that the program could not write to: it would say so only when it has run.
fn writable(path: &Path, folder: bool) -> Result<(), Failure> {
    let refuse = |what: &str| {
        Err(Failure::refused(
            format!("{} can't be written: {what}", path.display()),
            "name a place that you may write to",
        ))
    };
    let may_write = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    match (path.metadata(), path.parent()) {
        (Ok(found), _) if found.is_dir() != folder => refuse(if folder {
            "it is no folder"
        } else {
            "it is a folder"
        }),
        (Ok(_), _) if may_write(path) => Ok(()),
        (Ok(_), _) => refuse("it is there and write-protected"),
        // Folders for pictures are made, with those around them.
        (Err(_), Some(parent)) if folder && parent.metadata().is_err() => writable(parent, true),
        (Err(_), Some(parent)) if !parent.is_dir() => {
            refuse(&format!("there is no folder {}", parent.display()))
        }
        (Err(_), Some(parent)) if !may_write(parent) => {
            refuse(&format!("the folder {} is write-protected", parent.display()))
        }
        _ => Ok(()),
    }
}
