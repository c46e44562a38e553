//! `relic relink`: an executable in, a native program out.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use relic_core::program::RUNTIME_LIBRARY;
use relic_relink::{RelinkOptions, RelinkReport, patches::manifest, relink};

use crate::{
    conversion::Conversion,
    failure::Failure,
    imports::{by_library, sorted_imports},
    output,
    progress::Progress,
    runtime_library, save_inputs,
};

/// Relink an executable into a native Linux program
///
/// Writes the program and, beside it, libs/librelic.so, which it needs, and in app0/ the modules of the title: those
/// beside the executable and in sce_module/ or sce_modules/. The inputs must be ELF files that their owner has already
/// decrypted, or SELF containers without encryption; they are never changed.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The executable (eboot.bin); with --verify-patches the program that was written
    eboot: PathBuf,
    /// The program to write [default: a folder named after the input, in it `app`]
    #[arg(short, long, value_name = "PROGRAM")]
    output: Option<PathBuf>,
    #[command(flatten)]
    conversion: Conversion,
    /// Where the OS loader looks for the runtime library: an absolute path, or one that begins with $ORIGIN, the
    /// program's folder [default: $ORIGIN/libs]
    #[arg(long, value_name = "PATH")]
    rpath: Option<String>,
    /// Only compare a program that was written, and its modules, with its `<stem>.patches.toml`
    #[arg(long, conflicts_with_all = ["output", "patches", "registry", "save_inputs", "module_dir", "rpath", "runtime"])]
    verify_patches: bool,
    /// Write `<stem>.registry.json` beside the program: every import with its slots
    #[arg(long)]
    registry: bool,
    /// First copy the executable, its modules and the patches to this new folder: what a bug report needs
    #[arg(long, value_name = "DIR")]
    save_inputs: Option<PathBuf>,
    /// Print how long each phase took
    #[arg(long)]
    timings: bool,
    /// Runtime library to copy beside the program [default: the one that came with relic]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
}

/// Relinks and says what was done.
///
/// # Errors
/// When the input is refused, or a file can't be read or written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.verify_patches {
        let count = manifest::verify(&arguments.eboot).map_err(Failure::relink(&arguments.eboot))?;
        output::print(&format!(
            "{}: all {count} patched places are as the manifest says\n",
            arguments.eboot.display()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_output(&arguments.eboot));
    let runtime = runtime_library::find(arguments.runtime.as_deref())?;
    if let Some(folder) = &arguments.save_inputs {
        save_inputs::save(
            folder,
            &arguments.eboot,
            &arguments.conversion.module_dir,
            arguments.conversion.patches.as_deref(),
        )?;
    }
    let progress = Progress::new(format!("relinking {}", arguments.eboot.display()));
    let report = relink(&RelinkOptions {
        runtime_library: Some(runtime),
        run_path: arguments.rpath.clone(),
        registry: arguments.registry,
        ..arguments.conversion.options(&arguments.eboot, &output)
    })
    .map_err(Failure::relink(&arguments.eboot))?;
    drop(progress);
    let mut text = summary(&arguments.eboot, &output, &report);
    if arguments.timings {
        text.push_str(&timings(&report));
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `<stem>/app`, in the current folder.
fn default_output(eboot: &Path) -> PathBuf {
    let stem = eboot.file_stem().unwrap_or("program".as_ref());
    Path::new(stem).join("app")
}

fn timings(report: &RelinkReport) -> String {
    let phases = [
        ("read", report.timings.read),
        ("plan", report.timings.plan),
        ("write", report.timings.write),
        ("total", report.timings.total),
    ];
    let lines = phases.map(|(name, time)| format!("  {name:<8} {:>9.2} ms\n", time.as_secs_f64() * 1e3));
    format!("timings\n{}", lines.concat())
}

fn summary(input: &Path, output: &Path, report: &RelinkReport) -> String {
    let library = output.with_file_name("libs").join(RUNTIME_LIBRARY);
    let mut text = format!(
        "{} -> {} (with {}), {} segments, {} own exports, {:.1} ms\n",
        input.display(),
        output.display(),
        library.display(),
        report.segments.len(),
        report.exports,
        report.timings.total.as_secs_f64() * 1e3,
    );
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for module in &report.modules {
        let _ = writeln!(
            text,
            "module {} -> {}, {} exports{}",
            module.path,
            module.output,
            module.relink.exports,
            if module.at_start {
                ""
            } else {
                ", loaded by the program itself"
            }
        );
        for note in &module.relink.notes {
            let _ = writeln!(text, "  note: {note}");
        }
    }
    if report.patched > 0 {
        let _ = writeln!(text, "patched: {} places", report.patched);
    }
    if !report.unused.is_empty() {
        let _ = writeln!(text, "left out as unused: {} imports", report.unused.len());
    }
    let imports = sorted_imports(&report.all_imports(), |_, _| None);
    let _ = writeln!(text, "imports: {}", imports.len());
    for (library, all, missing) in by_library(&imports) {
        let _ = write!(text, "  {library:<28} {all:>5}");
        if missing > 0 {
            let _ = write!(text, ", {missing} not implemented");
        }
        text.push('\n');
    }
    let missing: Vec<_> = imports.iter().filter(|import| import.is_missing()).collect();
    if !missing.is_empty() {
        text.push_str("not implemented (a missing function ends the program when it is called, missing data at start):\n");
        for import in missing {
            let _ = writeln!(
                text,
                "  {:<28} {:<44} {} {}",
                import.library,
                import.name.unwrap_or("(name unknown)"),
                import.nid,
                import.kind
            );
        }
    }
    text
}
