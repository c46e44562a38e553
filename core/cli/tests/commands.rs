//! The command line end to end: exit codes, output, and real programs relinked and run.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

#[path = "common/guest.rs"]
mod guest;

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use common::{relic, run};
use guest::Guest;

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn exit_codes_tell_usage_from_failure() {
    for (arguments, code) in [
        (&["--version"][..], 0),
        (&[], 1),
        (&["frobnicate"], 1),
        (&["relink"], 1),
        (&["schedule", "--dot", "--text"], 1),
        (&["shader", "x", "--stage", "hs"], 1),
        (&["shader", "x", "--stage", "cs", "--set", "rsrc1=lots"], 1),
        (&["nid", ""], 1),
        (&["run", "/nonexistent", "--frames", "0"], 1),
        (&["run", "/nonexistent", "--to-intel=maybe"], 1),
        (&["info", "/nonexistent"], 2),
        (&["run", "/nonexistent"], 2),
        (&["relink", "/nonexistent"], 2),
        (&["relink", "/dev/null", "--runtime", "/nonexistent"], 2),
    ] {
        let (found, _, stderr) = run(relic().args(arguments));
        assert_eq!(found, Some(code), "{arguments:?}\n{stderr}");
        assert!(!stderr.contains("panicked"), "{arguments:?}\n{stderr}");
    }
}

#[test]
fn a_closed_output_is_no_failure() {
    let mut child = relic()
        .args(["schedule", "--dot"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
}

#[test]
fn nids_are_found_both_ways() {
    let (code, stdout, _) = run(relic().args([
        "nid",
        "printf",
        "1jfXLRVzisc",
        "hcuQgD53UxM#B#C",
        "no_such_export",
        "--",
        "-1fjfj1jfjg",
    ]));
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{stdout}");
    assert!(
        lines[0].starts_with("hcuQgD53UxM  printf") && lines[0].contains("libc: implemented"),
        "{stdout}"
    );
    assert!(lines[1].starts_with("1jfXLRVzisc  sceKernelUsleep"), "{stdout}");
    assert_eq!(lines[2], lines[0]);
    assert!(
        lines[3].ends_with("  no_such_export"),
        "a name without more to say: {stdout}"
    );
    assert!(lines[4].contains("taken as a name"), "{stdout}");
}

#[test]
fn the_schedule_shows_every_stage_as_text_and_as_a_graph() {
    let (_, text, _) = run(relic().arg("schedule"));
    let (_, dot, _) = run(relic().args(["schedule", "--dot"]));
    for stage in [
        "Ingest", "Poll", "Decode", "Capture", "Evaluate", "Prepare", "Hazard", "Commit", "Settle", "Present",
    ] {
        assert!(text.contains(&format!("  {stage}")), "{stage} in\n{text}");
        assert!(dot.contains(&format!("{stage}: ")), "{stage} in\n{dot}");
    }
    assert!(dot.contains("digraph"), "{dot}");
    assert!(
        text.contains("decode_packets") && text.contains("writes "),
        "{text}"
    );
}

#[test]
fn files_that_are_no_programs_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let own = fs::read(env!("CARGO_BIN_EXE_relic")).unwrap();
    for (bytes, words, expected) in [
        (&b"\x54\x14\xf5\xee"[..], "SELF container", 0),
        (b"\x7fFIH", "package", 0),
        (b"text", "nothing that Relic knows", 2),
        (&own[..4096], "no console's", 2),
    ] {
        fs::write(&file, bytes).unwrap();
        let (code, stdout, _) = run(relic().arg("info").arg(&file));
        assert_eq!(code, Some(expected));
        assert!(stdout.contains(words), "{stdout}");
    }
    fs::write(&file, b"PM4CAP01 and then nothing").unwrap();
    assert_eq!(run(relic().arg("info").arg(&file)).0, Some(2));
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (code, _, stderr) = run(relic().arg("info").arg(&pipe));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("no ordinary file"), "{stderr}");
}

#[test]
fn assembly_of_raw_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.bin");
    // v_mac_f32 v19, s33, v9 as gfx10.1 has it (gfx10.3 does not); s_endpgm; a constant.
    let words = [0x3e26_1221_u32, 0xbf81_0000, 0xffff_ffff];
    fs::write(&file, words.map(u32::to_le_bytes).concat()).unwrap();
    let (code, stdout, _) = run(relic().arg("shader").arg(&file).args(["--stage", "ps"]));
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains("     0  v_mac_f32") && stdout.contains("     4  s_endpgm"),
        "{stdout}"
    );
    fs::write(&file, [0xff; 8]).unwrap();
    let (code, _, stderr) = run(relic().arg("shader").arg(&file).args(["--stage", "ps"]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("no instruction"), "{stderr}");
    fs::write(&file, [0; 7]).unwrap();
    assert_eq!(
        run(relic().arg("shader").arg(&file).args(["--stage", "ps"])).0,
        Some(2)
    );
}

#[test]
fn a_shader_at_every_stage_of_its_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.bin");
    // s_cmp_eq_u32 s0, 0; s_cbranch_scc1 +1; v_mov_b32 v1, 1; s_endpgm
    let words = [0xbf06_8000_u32, 0xbf85_0001, 0x7e02_0281, 0xbf81_0000];
    fs::write(&file, words.map(u32::to_le_bytes).concat()).unwrap();
    let shader = |emit: &str| {
        run(relic()
            .arg("shader")
            .arg(&file)
            .args(["--stage", "cs", "--statistics", "--emit", emit]))
    };
    let (code, stdout, stderr) = shader("cfg");
    assert_eq!(code, Some(0));
    assert!(stdout.contains("Scc1: to b2, else b1"), "{stdout}");
    assert!(
        stderr.contains("3 basic blocks") && stderr.contains("us  translate"),
        "{stderr}"
    );
    let (code, stdout, _) = shader("ir");
    assert_eq!(code, Some(0));
    assert!(stdout.contains("return"), "{stdout}");
    let (code, _, stderr) = shader("spirv");
    assert_eq!(code, Some(0));
    assert!(stderr.contains("words of SPIR-V"), "{stderr}");
}

#[test]
fn info_lists_imports_and_what_relic_has() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let (code, stdout, _) = run(guest.relic().arg("info").arg(guest.eboot()).arg("--json"));
    assert_eq!(code, Some(0));
    let info: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(info["kind"], "program");
    let imports = info["program"]["imports"].as_array().unwrap();
    let printf = imports
        .iter()
        .find(|import| import["name"] == "printf")
        .unwrap_or_else(|| panic!("printf in {stdout}"));
    assert_eq!(printf["library"], "libc");
    assert_eq!(printf["nid"], "hcuQgD53UxM");
    assert_eq!(printf["kind"], "function");
    assert_eq!(printf["status"], "implemented");
    let (_, text, _) = run(guest.relic().arg("info").arg(guest.eboot()));
    assert!(
        text.contains("PS5 executable") && text.contains("hcuQgD53UxM  function"),
        "{text}"
    );
}

#[test]
fn info_knows_what_the_title_itself_answers() {
    let Some(guest) = Guest::build("title", None) else {
        return;
    };
    let info = |file: &str| run(guest.relic().arg("info").arg(guest.path(file)));
    let (code, text, _) = info("title/sce_module/libsecond.prx");
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("by sce_module/libfirst.prx") && text.contains(" 0 not\n"),
        "{text}"
    );
    let (_, text, _) = info("title/eboot.bin");
    assert!(
        text.contains("by sce_module/libfirst.prx") && text.contains("by sce_module/libsecond.prx"),
        "{text}"
    );
    // Alone it has nobody to ask.
    fs::create_dir(guest.path("alone")).unwrap();
    fs::rename(
        guest.path("title/sce_module/libsecond.prx"),
        guest.path("alone/libsecond.prx"),
    )
    .unwrap();
    let (_, text, _) = info("alone/libsecond.prx");
    assert!(
        text.contains(" 0 by the title itself") && text.contains("NOT IMPLEMENTED"),
        "{text}"
    );
    // A file beside it that can't be read is told, and is no failure.
    fs::write(guest.path("alone/libbroken.prx"), b"\x7fELF and no more").unwrap();
    let (code, text, _) = info("alone/libsecond.prx");
    assert_eq!(code, Some(0));
    assert!(text.contains("libbroken.prx can't be read"), "{text}");
}

#[test]
fn a_relinked_program_stands_on_its_own() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let program = guest.path("out/app");
    let (code, stdout, stderr) = run(guest
        .relic()
        .arg("relink")
        .arg(guest.eboot())
        .arg("-o")
        .arg(&program));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains("imports: ") && stdout.contains("  libc "),
        "{stdout}"
    );
    assert!(guest.path("out/libs/librelic.so").is_file());
    let (code, stdout, _) = run(Command::new(&program).arg("one"));
    assert_eq!(code, Some(5));
    assert!(stdout.contains("argv[1]=one"), "{stdout}");
    let (_, stdout, _) = run(guest.relic().arg("info").arg(&program));
    assert!(stdout.contains("written by `relic relink`"), "{stdout}");
    // Without -o: a folder of the input's name in the current one.
    let here = guest.path("here");
    fs::create_dir(&here).unwrap();
    let (code, ..) = run(guest.relic().arg("relink").arg(guest.eboot()).current_dir(&here));
    assert_eq!(code, Some(0));
    assert!(here.join("eboot/app").is_file());
}

#[test]
fn what_relinking_writes_beside_the_program() {
    let Some(built) = Guest::build("hello", None) else {
        return;
    };
    fs::write(built.path("none.toml"), "format = 1\n").unwrap();
    let (saved, program) = (built.path("saved"), built.path("out/app"));
    let mut command = built.relic();
    command.arg("relink").arg(built.eboot()).arg("-o").arg(&program);
    command
        .arg("--patches")
        .arg(built.path("none.toml"))
        .arg("--save-inputs")
        .arg(&saved);
    let (code, out, err) = run(command.args(["--registry", "--timings", "--unused-filter", "1"]));
    assert_eq!(code, Some(0), "{err}");
    for word in ["timings", "read", "plan", "write", "total"] {
        assert!(out.contains(word), "{out}");
    }
    let registry: serde_json::Value =
        serde_json::from_slice(&fs::read(built.path("out/app.registry.json")).unwrap()).unwrap();
    let imports = registry["objects"][0]["imports"].as_array().unwrap();
    assert!(
        imports.iter().any(|import| import["name"] == "printf"),
        "{registry}"
    );
    let segments = registry["objects"][0]["segments"].as_array().unwrap();
    assert_eq!(segments[0]["input"], segments[0]["output"], "{registry}");
    assert!(
        segments
            .iter()
            .any(|segment| segment["reader"] == "it holds no code"),
        "{registry}"
    );
    assert!(fs::read(saved.join("eboot.bin")).unwrap() == fs::read(built.eboot()).unwrap());
    assert!(saved.join("patches.toml").is_file());
    assert!(
        fs::read_to_string(saved.join("command.txt"))
            .unwrap()
            .contains("--save-inputs")
    );

    let verify = |path: &Path| run(built.relic().arg("relink").arg(path).arg("--verify-patches"));
    let (code, out, err) = verify(&program);
    assert_eq!(
        (code, out.contains("all 0 patched places")),
        (Some(0), true),
        "{out}{err}"
    );
    let (code, _, err) = verify(&built.path("elsewhere"));
    assert_eq!(
        (code, err.contains("elsewhere.patches.toml")),
        (Some(2), true),
        "{err}"
    );

    // Names need not be text.
    use std::os::unix::ffi::OsStrExt as _;
    let odd = built.path("odd").join(std::ffi::OsStr::from_bytes(b"\xff eboot"));
    fs::create_dir(built.path("odd")).unwrap();
    fs::copy(built.eboot(), &odd).unwrap();
    let (code, _, err) = run(built
        .relic()
        .arg("relink")
        .arg(&odd)
        .arg("-o")
        .arg(odd.with_extension("app"))
        .arg("--save-inputs")
        .arg(built.path("odd/saved"))
        .arg("--registry"));
    assert_eq!(code, Some(0), "{err}");

    // Devices have no end.
    let (code, _, err) = run(built
        .relic()
        .arg("relink")
        .arg(built.eboot())
        .args(["--patches", "/dev/zero"]));
    assert_eq!((code, err.contains("no ordinary file")), (Some(2), true), "{err}");

    // A folder with something in it is nobody's to fill.
    let (code, _, err) = run(built
        .relic()
        .arg("relink")
        .arg(built.eboot())
        .arg("--save-inputs")
        .arg(&saved));
    assert_eq!((code, err.contains("not empty")), (Some(2), true), "{err}");
    for wrong in [["--unused-filter", "3"], ["--syscalls", "maybe"]] {
        let (code, _, err) = run(built.relic().arg("relink").arg(built.eboot()).args(wrong));
        assert_eq!(code, Some(1), "{err}");
    }
}

/// Whatever was found where, the folder that was saved gives the same program.
#[test]
fn saved_inputs_are_all_that_is_needed() {
    let Some(built) = Guest::build("title", None) else {
        return;
    };
    let (more, saved) = (built.path("more/deep"), built.path("saved"));
    fs::create_dir_all(&more).unwrap();
    fs::rename(
        built.path("title/sce_module/libplug.prx"),
        more.join("libplug.prx"),
    )
    .unwrap();
    let (code, _, err) = run(built
        .relic()
        .arg("relink")
        .arg(built.eboot())
        .arg("-o")
        .arg(built.path("out/app"))
        .arg("--module-dir")
        .arg(built.path("more"))
        .arg("--save-inputs")
        .arg(&saved));
    assert_eq!(code, Some(0), "{err}");
    let text = fs::read_to_string(saved.join("command.txt")).unwrap();
    let again = "relic relink eboot.bin --module-dir .\n";
    assert!(text.ends_with(again), "{text}");
    let (code, _, err) = run(built
        .relic()
        .args(again.split_whitespace().skip(1))
        .args(["-o", "out/app"])
        .current_dir(&saved));
    assert_eq!(code, Some(0), "{err}");
    for file in [
        "app",
        "app0/deep/libplug.guest.prx",
        "app0/sce_module/libfirst.guest.prx",
    ] {
        let [first, second] =
            [built.path("out"), saved.join("out")].map(|out| fs::read(out.join(file)).unwrap());
        assert!(first == second, "{file}");
    }
}

#[test]
fn a_refused_input_leaves_nothing_behind() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let mut bytes = fs::read(guest.eboot()).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(guest.eboot(), bytes).unwrap();
    let (code, _, stderr) = run(guest
        .relic()
        .arg("relink")
        .arg(guest.eboot())
        .arg("-o")
        .arg(guest.path("out/app")));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("can't be relinked"), "{stderr}");
    assert!(!guest.path("out").exists());
    assert_eq!(run(guest.relic().arg("run").arg(guest.eboot())).0, Some(2));
}

/// An output that is no file is not replaced, and what is no runtime library is not put beside the program.
#[test]
fn what_is_no_file_or_no_runtime_library_is_refused() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let pipe = guest.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let relink = |input: &Path, output: &Path, runtime: &Path| {
        run(guest
            .relic()
            .arg("relink")
            .arg(input)
            .arg("-o")
            .arg(output)
            .arg("--runtime")
            .arg(runtime))
    };
    let (eboot, out) = (guest.eboot(), guest.path("out/app"));
    for (input, output, runtime, part) in [
        (&eboot, &pipe, &guest.runtime, "choose another output"),
        (&pipe, &out, &guest.runtime, "no ordinary file"),
        (&eboot, &out, &eboot, "relic_start"),
    ] {
        let (code, _, stderr) = relink(input, output, runtime);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
        assert!(!guest.path("out").exists());
    }
    assert!(!fs::metadata(&pipe).unwrap().is_file());
}

#[test]
fn run_refuses_variables_that_say_nothing() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let (code, _, stderr) = run(guest
        .relic()
        .args(["run", "--headless"])
        .arg(guest.eboot())
        .env("RELIC_POOL_THREADS", "100000"));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("RELIC_POOL_THREADS"), "{stderr}");
}

#[test]
fn run_refuses_what_would_fail_later() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let run_it = |option: &str, path: &Path| {
        run(guest
            .relic()
            .args(["run", "--headless", option])
            .arg(path)
            .arg(guest.eboot()))
    };
    for (option, path, part) in [
        (
            "--screenshot",
            guest.path("nowhere/last.png"),
            "there is no folder",
        ),
        ("--screenshot", guest.path("title"), "it is a folder"),
        ("--pictures", guest.eboot(), "it is no folder"),
        (
            "--pictures",
            guest.path("title/eboot.bin/more/pictures"),
            "there is no folder",
        ),
    ] {
        let (code, stdout, stderr) = run_it(option, &path);
        assert_eq!(code, Some(2), "{option}: {stderr}");
        assert!(stderr.contains(part) && stdout.is_empty(), "{stderr}{stdout}");
    }
    assert_eq!(run_it("--pictures", &guest.path("new/pictures")).0, Some(5));

    let with = |name: &str, value: &Path| {
        run(guest
            .relic()
            .args(["run", "--headless"])
            .arg(guest.eboot())
            .env(name, value))
    };
    for (name, value, part) in [
        ("RELIC_RUNTIME_LIBRARY", guest.eboot(), "relic_start"),
        ("RELIC_LOG", "loud".into(), "names no log lines"),
        ("RELIC_FRAMES", "0".into(), "RELIC_FRAMES"),
    ] {
        let (code, stdout, stderr) = with(name, &value);
        assert_eq!(code, Some(2), "{name}: {stderr}");
        assert!(stderr.contains(part) && stdout.is_empty(), "{stderr}{stdout}");
    }
}

/// Address in a program of some bytes of its file.
fn address_of(file: &[u8], wanted: &[u8]) -> u64 {
    let at = file
        .windows(wanted.len())
        .position(|window| window == wanted)
        .unwrap() as u64;
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let table = word(32) as usize;
    let headers = (0..usize::from(file[56])).map(|index| table + 56 * index);
    headers
        .filter(|header| file[*header] == 1)
        .find_map(|header| {
            let inside = at.checked_sub(word(header + 8))?;
            (inside < word(header + 32)).then(|| word(header + 16) + inside)
        })
        .unwrap()
}

#[test]
fn run_converts_as_relink_does_and_keeps_each_result() {
    let source = r#"#include <relic/guest.h>
        int main(int argc, char **argv)
        {
            (void)argv;
            if (argc > 1)
                __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
            __asm__ volatile("sha1msg1 %xmm1, %xmm1; nop");
            puts("unpatched text");
            return 0;
        }"#;
    let Some(guest) = Guest::build("converted", Some(source)) else {
        return;
    };
    let file = fs::read(guest.eboot()).unwrap();
    let patches = guest.path("patches.toml");
    let patch = |replace: &str| {
        let address = address_of(&file, b"unpatched");
        let text = format!(
            "format = 1\n[[patch]]\nname = \"p\"\ntarget = \"eboot.bin\"\n[[patch.write]]\n\
             address = {address}\nexpect = \"75 6e\"\nreplace = \"{replace}\"\n"
        );
        fs::write(&patches, text).unwrap();
    };
    fs::create_dir(guest.path("cache")).unwrap();
    let programs = || {
        let all = files_below(&guest.path("cache")).into_iter();
        all.filter(|path| path.ends_with("app")).count()
    };
    let run_it = |options: &[&str]| {
        run(guest
            .relic()
            .args(["run", "--headless"])
            .arg(guest.eboot())
            .args(options))
    };
    let (code, _, stderr) = run_it(&[]);
    assert_eq!(
        (code, stderr.contains("--syscalls=trap")),
        (Some(2), true),
        "{stderr}"
    );
    let named = patches.display().to_string();
    patch("52 65");
    for (options, expected) in [
        (&["--syscalls=trap"][..], "unpatched text\n"),
        (&["--syscalls=trap", "--to-intel=no-sha"], "unpatched text\n"),
        (&["--syscalls=trap", "--to-intel=sha"], "unpatched text\n"),
        (&["--syscalls=trap", "--unused-filter=2"], "unpatched text\n"),
        (&["--syscalls=trap", "--patches", &named], "Repatched text\n"),
    ] {
        let before = programs();
        for _ in 0..2 {
            let (code, stdout, stderr) = run_it(options);
            assert_eq!((code, &*stdout), (Some(0), expected), "{options:?}: {stderr}");
        }
        assert_eq!(programs(), before + 1, "{options:?}");
    }
    // Other patches in the same file are another program.
    patch("44 65");
    let (_, stdout, _) = run_it(&["--syscalls=trap", "--patches", &named]);
    assert_eq!(stdout, "Depatched text\n");
}

#[test]
fn run_passes_arguments_and_the_exit_code_and_relinks_once() {
    let Some(guest) = Guest::build("hello", None) else {
        return;
    };
    let run_it = || {
        run(guest
            .relic()
            .args(["run", "--headless"])
            .arg(guest.path("title"))
            .args(["--", "-x", "two words"]))
    };
    let (code, stdout, stderr) = run_it();
    assert_eq!((code, stderr.as_str()), (Some(5), ""), "{stdout}");
    assert!(
        stdout.contains("argv[1]=-x") && stdout.contains("argv[2]=two words"),
        "{stdout}"
    );
    let made = files_below(&guest.path("cache"));
    let program = made.iter().find(|path| path.ends_with("app")).unwrap();
    let time = fs::metadata(program).unwrap().modified().unwrap();
    assert_eq!(run_it().0, Some(5));
    assert_eq!(files_below(&guest.path("cache")), made);
    assert_eq!(fs::metadata(program).unwrap().modified().unwrap(), time);
    // What is damaged is made again, and never given to a shell.
    for damage in ["", "echo a shell has run this", "\u{7f}ELF"] {
        fs::write(program, damage).unwrap();
        let (code, stdout, _) = run_it();
        assert!(code == Some(5) && !stdout.contains("a shell"), "{stdout}");
    }
    fs::remove_file(program).unwrap();
    assert_eq!(run_it().0, Some(5));
    // Another content is another program.
    let mut bytes = fs::read(guest.eboot()).unwrap();
    bytes.push(0);
    fs::write(guest.eboot(), bytes).unwrap();
    assert_eq!(run_it().0, Some(5));
    assert!(files_below(&guest.path("cache")).len() > made.len());
    let (_, _, stderr) = run(guest.relic().arg("run").arg(guest.eboot()));
    assert!(stderr.contains("no window yet"), "{stderr}");
}

#[test]
fn a_signal_becomes_128_and_its_number() {
    // The runtime library reports a fault and ends with that code itself; a trap ends the process by its signal.
    for (name, statement, signal) in [
        ("fault", "*(volatile int *)8 = 1;", 11),
        ("trap", "__asm__ volatile(\"int3\");", 5),
    ] {
        let source = format!("#include <relic/guest.h>\nint main(void) {{ {statement} return 0; }}\n");
        let Some(guest) = Guest::build(name, Some(&source)) else {
            return;
        };
        let (code, _, stderr) = run(guest.relic().args(["run", "--headless"]).arg(guest.eboot()));
        assert_eq!(code, Some(128 + signal), "{name}: {stderr}");
        assert_eq!(stderr.contains("SIGSEGV"), name == "fault", "{stderr}");
    }
}

#[test]
fn info_lists_the_system_libraries() {
    let (code, stdout, _) = run(relic().args(["info", "--libraries", "--json"]));
    assert_eq!(code, Some(0));
    let libraries: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    for (library, name, partial) in [
        ("libkernel", "sceKernelOpen", false),
        ("libkernel", "scePthreadSetcanceltype", true),
        ("libc", "fopen", false),
    ] {
        let exports = libraries[library]["exports"].as_array().unwrap();
        let export = exports.iter().find(|export| export["name"] == name).unwrap();
        assert_eq!(export["missing"].is_string(), partial, "{export}");
        assert_eq!(export["nid"], relic_core::Nid::of(name).as_str());
    }
    let (_, text, _) = run(relic().args(["info", "--libraries"]));
    assert!(text.starts_with("libSceAgc: "), "{text}");
    assert_eq!(run(relic().args(["info", "--libraries", "x"])).0, Some(1));
    assert_eq!(run(relic().arg("info")).0, Some(1));
}
