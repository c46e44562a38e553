//! The triangle guest carries its programs as machine words: they must be what its sources assemble to.

#[cfg(test)]
mod tests {
    use std::{
        path::{Path, PathBuf},
        process::Command,
    };

    use goblin::elf::Elf;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests/triangle")
    }

    /// The newest clang that assembles for the console's GPU.
    fn assembler() -> Option<String> {
        (15..=30)
            .rev()
            .map(|version| format!("clang-{version}"))
            .find(|clang| {
                Command::new(clang)
                    .args([
                        "-target",
                        "amdgcn-amd-amdpal",
                        "-mcpu=gfx1013",
                        "-x",
                        "assembler",
                        "-c",
                        "-o",
                        "/dev/null",
                        "-",
                    ])
                    .stdin(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .status()
                    .is_ok_and(|status| status.success())
            })
    }

    /// Words of `name` in shaders.h.
    fn committed(name: &str) -> Vec<u32> {
        let text = std::fs::read_to_string(folder().join("shaders.h")).unwrap();
        let start = text.find(&format!("{name}_code[]")).unwrap();
        let (_, list) = text[start..].split_once('{').unwrap();
        let (list, _) = list.split_once('}').unwrap();
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words
            .map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap())
            .collect()
    }

    #[test]
    fn the_committed_words_are_what_the_sources_assemble_to() {
        let Some(clang) = assembler() else {
            eprintln!("skipped: no clang with the AMDGPU target is installed");
            return;
        };
        let out = std::env::temp_dir().join(format!("relic-triangle-{}", std::process::id()));
        std::fs::create_dir_all(&out).unwrap();
        for (name, wave) in [("vertex", None), ("pixel", Some("-mwavefrontsize64"))] {
            let object = out.join(format!("{name}.o"));
            let status = Command::new(&clang)
                .args(["-target", "amdgcn-amd-amdpal", "-mcpu=gfx1013", "-c"])
                .args(wave)
                .arg(folder().join(format!("{name}.s")))
                .arg("-o")
                .arg(&object)
                .status()
                .unwrap();
            assert!(status.success(), "{name}.s does not assemble");
            let bytes = std::fs::read(&object).unwrap();
            let elf = Elf::parse(&bytes).unwrap();
            let text = elf
                .section_headers
                .iter()
                .find(|section| elf.shdr_strtab.get_at(section.sh_name) == Some(".text"))
                .unwrap();
            let code = &bytes[text.file_range().unwrap()];
            let assembled: Vec<u32> = code
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            assert_eq!(committed(name), assembled, "{name}.s and shaders.h disagree");
        }
        std::fs::remove_dir_all(&out).unwrap();
    }
}
