//! How fast a large executable is relinked, beside copying it and beside linking it afresh.
//!
//! The executable is compiled once, from generated C: some 160,000 functions with jump tables, calls and constants, among
//! which are the bytes of system calls, and 600,000 relocated pointers. It is kept in the target folder.
//! `cargo bench -p relic-benches --bench relink`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that can't set itself up should stop and say where"
)]

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use relic_relink::{FilterLevel, RelinkOptions, SystemCallPolicy, relink};
use relic_tests::kit::Kit;

const FILES: usize = 29;
const FUNCTIONS: usize = 5600;
const POINTERS: usize = 600_000;
const ROUNDS: usize = 9;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    // A child's run: its peak memory is its own.
    if let [_, mark, input, output, scan] = &*arguments
        && mark == "--once"
    {
        once(Path::new(input), Path::new(output), scan == "scan");
        return;
    }
    let folder = folder();
    let large = folder.join("eboot.bin");
    if !large.is_file() {
        eprintln!(
            "compiling the executable (a few minutes, once): {}",
            large.display()
        );
        let start = Instant::now();
        generate(&folder);
        eprintln!("compiled in {:.0} s", start.elapsed().as_secs_f64());
    }
    let objects = objects(&folder);
    let size = fs::metadata(&large).unwrap().len();
    let output = folder.join("out/app");
    println!("{} MB, {ROUNDS} rounds, lower quartile:", size / 1_000_000);
    let mut rows: Vec<(&str, Vec<Duration>, Vec<u64>)> =
        [COPY, "relink, all checks, filter 1", "relink, no code scan", LINK]
            .map(|name| (name, Vec::new(), Vec::new()))
            .into();
    // Every round does each once, so that other load on the machine hits all alike. The first is not counted.
    for round in 0..=ROUNDS {
        for (index, (_, times, memory)) in rows.iter_mut().enumerate() {
            let (time, resident) = match index {
                0 => (copy(&large, &folder.join("copy")), 0),
                1 => child(&large, &output, "scan"),
                2 => child(&large, &output, "no-scan"),
                _ => (link(&objects, &folder.join("linked")), 0),
            };
            if round > 0 {
                times.push(time);
                memory.push(resident);
            }
        }
    }
    for (name, times, memory) in &mut rows {
        let made = if *name == LINK {
            &folder.join("linked")
        } else {
            &large
        };
        let size = fs::metadata(made).unwrap().len();
        times.sort();
        let time = times[times.len() / 4].as_secs_f64();
        let resident = memory.iter().copied().max().unwrap_or(0) * 1024;
        print!(
            "{name:<30} {:>8.1} ms {:>8.0} MB/s",
            time * 1e3,
            size as f64 / 1e6 / time
        );
        if resident > 0 {
            print!("   peak {:.2} x the file", resident as f64 / size as f64);
        }
        println!();
    }
    small(&folder);
}

const COPY: &str = "cp";
const LINK: &str = "a quarter of the code, by lld";
/// How many of the files are linked: compiling all once more would take too long.
const LINKED: usize = FILES / 4;

fn folder() -> PathBuf {
    let own = env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    let folder = target.join(format!("bench-relink-{FILES}x{FUNCTIONS}"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Some of the generated sources as objects for the host, compiled once.
fn objects(folder: &Path) -> Vec<PathBuf> {
    let (sources, work) = (folder.join("sources"), folder.join("objects"));
    let done = work.join("done");
    let paths: Vec<PathBuf> = sources_of(LINKED)
        .into_iter()
        .map(|(name, text)| {
            let path = sources.join(name);
            if !done.is_file() {
                fs::create_dir_all(&sources).unwrap();
                fs::write(&path, format!("#include <stdint.h>\n{text}")).unwrap();
            }
            path
        })
        .collect();
    if done.is_file() {
        return (0..paths.len())
            .map(|index| work.join(format!("{index}.o")))
            .collect();
    }
    eprintln!(
        "compiling it for the host (a few minutes, once): {}",
        work.display()
    );
    let objects = Kit::new().unwrap().host_objects(&paths, &work).unwrap();
    fs::write(done, "").unwrap();
    objects
}

/// Links the objects to a position-independent executable.
fn link(objects: &[PathBuf], to: &Path) -> Duration {
    let _ = fs::remove_file(to);
    let mut linker = Kit::new().unwrap().host_linker();
    let start = Instant::now();
    let status = linker
        .args([
            "-pie",
            "--eh-frame-hdr",
            "--no-dynamic-linker",
            "-e",
            "f0_0",
            "-o",
        ])
        .arg(to)
        .args(objects)
        .status()
        .unwrap();
    assert!(status.success());
    start.elapsed()
}

fn copy(from: &Path, to: &Path) -> Duration {
    // As relinking does: into a new file.
    let _ = fs::remove_file(to);
    let start = Instant::now();
    let status = Command::new("cp").arg(from).arg(to).status().unwrap();
    assert!(status.success());
    start.elapsed()
}

/// Relinks in a process of its own. Its time from start to end, and its peak resident memory in KiB.
fn child(input: &Path, output: &Path, scan: &str) -> (Duration, u64) {
    let _ = fs::remove_file(output);
    let start = Instant::now();
    let child = Command::new(env::current_exe().unwrap())
        .arg("--once")
        .args([input, output])
        .arg(scan)
        .output()
        .unwrap();
    let time = start.elapsed();
    assert!(
        child.status.success(),
        "{}",
        String::from_utf8_lossy(&child.stderr)
    );
    let text = String::from_utf8(child.stdout).unwrap();
    (time, text.trim().parse().unwrap())
}

fn once(input: &Path, output: &Path, scan: bool) {
    let options = RelinkOptions {
        input: input.to_owned(),
        output: output.to_owned(),
        system_calls: if scan {
            SystemCallPolicy::Refuse
        } else {
            SystemCallPolicy::Keep
        },
        filter: if scan {
            FilterLevel::Data
        } else {
            FilterLevel::Keep
        },
        ..RelinkOptions::default()
    };
    let report = relink(&options).unwrap();
    assert!(
        report.relocations > POINTERS,
        "{} relocations",
        report.relocations
    );
    if env::var_os("RELINK_TIMES").is_some() {
        eprintln!("{:?}", report.timings);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    println!("{}", peak.trim().trim_end_matches(" kB"));
}

/// A small program, in this process.
fn small(folder: &Path) {
    let kit = Kit::new().unwrap();
    let input = kit
        .build_guest(&kit.guest("hello"), &folder.join("small"))
        .unwrap();
    let options = RelinkOptions {
        input,
        output: folder.join("small/out/app"),
        filter: FilterLevel::Data,
        ..RelinkOptions::default()
    };
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let start = Instant::now();
            relink(&options).unwrap();
            start.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "{:<30} {:>8.2} ms",
        "hello, all checks, filter 1",
        times[times.len() / 4].as_secs_f64() * 1e3
    );
}

/// Numbers without pattern, the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// So many generated files, and their share of the pointers: all but the one with `main`.
fn sources_of(count: usize) -> Vec<(String, String)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut files: Vec<(String, String)> = (0..count)
        .map(|file| (format!("part{file:02}.c"), functions(file, &mut random)))
        .collect();
    files.push(("pointers.c".to_owned(), pointers(count, &mut random)));
    files
}

fn generate(folder: &Path) {
    let mut files = sources_of(FILES);
    files.push((
        "main.c".to_owned(),
        "extern uint64_t f0_0(uint64_t, uint64_t);\nextern const struct entry { uint64_t (*f)(uint64_t, uint64_t); const char *name; } entries[];\n\
         int main(int argc, char **argv)\n{\n    (void)argv;\n    printf(\"%s %s %lx\\n\", __progname, entries[argc].name, entries[argc].f(1, 2) + f0_0(3, 4));\n    return 0;\n}\n"
            .to_owned(),
    ));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    Kit::new().unwrap().build_text(&files, folder).unwrap();
}

fn functions(file: usize, random: &mut Random) -> String {
    let mut text = String::new();
    for index in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "uint64_t f{file}_{index}(uint64_t a, uint64_t b)\n{{\n    uint64_t x = a * {:#x}u + b;",
            random.next() | 1
        );
        if random.below(3) == 0 {
            // The bytes of `syscall` and `int 0x80` as a constant.
            let _ = writeln!(
                text,
                "    x ^= {:#x}u;",
                [0x050f_u64, 0x80cd_050f, 0x0734_0f12, 0x0005_0f00][random.below(4) as usize]
            );
        }
        let cases = 4 + random.below(12);
        let _ = writeln!(text, "    switch (x % {}) {{", cases + 1);
        for case in 0..cases {
            let _ = write!(text, "    case {case}: ");
            let _ = match random.below(6) {
                0 => writeln!(text, "x += b >> {}; break;", 1 + random.below(60)),
                1 => writeln!(text, "x = x * {} ^ a; break;", random.below(100_000)),
                2 => writeln!(
                    text,
                    "for (unsigned i = 0; i < (b & 7); i++) x = (x << {}) | (x >> i); break;",
                    1 + random.below(20)
                ),
                3 if index > 0 => writeln!(
                    text,
                    "x ^= f{file}_{}(b, x & 0xff); break;",
                    random.below(index as u64)
                ),
                4 => writeln!(text, "x -= a % {}; break;", 3 + random.below(1000)),
                _ => writeln!(
                    text,
                    "if (x > b) x = b - {}; else x += a; break;",
                    random.below(1 << 20)
                ),
            };
        }
        let _ = writeln!(
            text,
            "    }}\n    return x ^ (a << {});\n}}",
            1 + random.below(30)
        );
    }
    text
}

fn pointers(files: usize, random: &mut Random) -> String {
    let mut text = String::new();
    for file in 0..files {
        for index in (0..FUNCTIONS).step_by(50) {
            let _ = writeln!(text, "extern uint64_t f{file}_{index}(uint64_t, uint64_t);");
        }
    }
    text.push_str(
        "const struct entry { uint64_t (*f)(uint64_t, uint64_t); const char *name; } entries[] = {\n",
    );
    for index in 0..POINTERS * files / FILES / 2 {
        let file = random.below(files as u64);
        let function = random.below(FUNCTIONS as u64 / 50) * 50;
        let _ = writeln!(text, "{{f{file}_{function}, \"entry {}\"}},", index % 1000);
    }
    text.push_str("};\n");
    text
}
