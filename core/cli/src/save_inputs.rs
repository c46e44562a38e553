//! `--save-inputs`: everything that a bug report about relinking needs, in one folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use relic_relink::title::modules;

use crate::failure::Failure;

/// File in the folder that says what was run.
const COMMAND: &str = "command.txt";
const READ_ME: &str = "These are the inputs of one `relic relink`. The executable and its modules belong to their owner: \
                       give this folder only to whom you may give those.\n";

/// Copies the executable, its modules and the patch file to a new or empty folder, with the command line.
///
/// # Errors
/// When the folder holds something, or a file can't be copied.
pub fn save(
    to: &Path,
    eboot: &Path,
    module_folders: &[PathBuf],
    patches: Option<&Path>,
) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(Failure::io("making the folder", to))?;
    let mut entries = fs::read_dir(to).map_err(Failure::io("listing the folder", to))?;
    if entries.next().is_some() {
        return Err(Failure::refused(
            format!("{} is not empty", to.display()),
            "name a new folder for --save-inputs",
        ));
    }
    let copy = |from: &Path, name: &Path| {
        let place = to.join(name);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(Failure::io("making the folder", folder))?;
        }
        fs::copy(from, &place)
            .map(drop)
            .map_err(Failure::io("copying", from))
    };
    copy(eboot, Path::new("eboot.bin"))?;
    for module in modules::find(eboot, module_folders).map_err(Failure::relink(eboot))? {
        copy(&module.file, Path::new(&module.title_path))?;
    }
    if let Some(patches) = patches {
        copy(patches, Path::new("patches.toml"))?;
    }
    // In quotes: names may hold spaces.
    let line: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| format!("{:?}", argument.to_string_lossy()))
        .collect();
    let patches = if patches.is_some() {
        " --patches patches.toml"
    } else {
        ""
    };
    let text = format!(
        "{READ_ME}\nrelic {} ({})\nrelic {}\n\nThe same here, with the other options of that line:\n\
         relic relink eboot.bin --module-dir .{patches}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        line.join(" ")
    );
    let path = to.join(COMMAND);
    fs::write(&path, text).map_err(Failure::io("writing", &path))
}
