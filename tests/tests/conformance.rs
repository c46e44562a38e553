//! Guest programs that check the system libraries from inside: each prints what differs, and ends with 0 where nothing
//! does.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use relic_relink::{RelinkOptions, relink};
use relic_tests::{kit::Kit, programs::run_with, runtime_library};

/// A guest, relinked, and the folders that it sees.
struct Prepared {
    folder: tempfile::TempDir,
    program: PathBuf,
}

fn prepare(guest: &str) -> Prepared {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = kit.build_guest(&kit.guest(guest), folder.path()).unwrap();
    let program = folder.path().join("program").join(guest);
    relink(&RelinkOptions {
        input,
        output: program.clone(),
        runtime_library: Some(runtime_library().unwrap()),
        ..RelinkOptions::default()
    })
    .unwrap();
    fs::create_dir(folder.path().join("app0")).unwrap();
    Prepared { folder, program }
}

impl Prepared {
    fn application(&self) -> PathBuf {
        self.folder.path().join("app0")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs the guest. It must have checked at least so much, and found nothing wrong.
    #[track_caller]
    fn check(&self, least: u32) {
        // `./x test --long` asks for more.
        let rounds = std::env::var("RELIC_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
        for _ in 0..rounds {
            self.check_once(least);
        }
    }

    #[track_caller]
    fn check_once(&self, least: u32) {
        self.check_with(least, &[]);
    }

    /// One round, with environment variables beside those of the folders. Returns what it wrote to standard error.
    #[track_caller]
    fn check_with(&self, least: u32, more: &[(&str, &OsStr)]) -> String {
        let (application, data) = (self.application(), self.data());
        let mut variables = vec![
            ("RELIC_APP0", application.as_os_str()),
            ("RELIC_DATA", data.as_os_str()),
        ];
        variables.extend_from_slice(more);
        let outcome = run_with(&self.program, &[], &variables, &mut |_| ()).unwrap();
        assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
        let last = outcome.stdout.lines().last().unwrap_or_default();
        let checks: u32 = last.split(' ').next().unwrap_or_default().parse().unwrap_or(0);
        assert!(checks >= least, "{}\n{}", outcome.stdout, outcome.stderr);
        outcome.stderr
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn files() {
    let guest = prepare("files");
    // One round: what the guest leaves behind is looked at.
    let application = guest.application();
    write(&guest.folder.path().join("secret"), "secret");
    write(&application.join("hello.txt"), "hello\n");
    write(&application.join("Data/Level1.BIN"), "level one");
    symlink("hello.txt", application.join("inside")).unwrap();
    symlink("../secret", application.join("outside")).unwrap();
    symlink("..", application.join("folder")).unwrap();
    guest.check_once(300);
    // Where the title's data lies: in a folder of the title's name, here the program's, as /app0 has no name of its own.
    let bytes = guest.data().join("files/data/bytes");
    assert_eq!(fs::read(bytes).unwrap(), b"cde3end+");
}

#[test]
fn synchronisation() {
    prepare("sync").check(250);
}

#[test]
fn event_queues() {
    prepare("equeue").check(1000);
}

#[test]
fn fibers() {
    prepare("fibers").check(100_000);
}

#[test]
fn cancellation() {
    prepare("cancellation").check(1500);
}

#[test]
fn exceptions() {
    prepare("raise").check(400);
}

#[test]
fn the_titles_own_allocator() {
    prepare("heap").check(20);
}

#[test]
fn many_threads_leave_nothing() {
    let guest = prepare("many_threads");
    // Its own resident pages, which it can't see otherwise.
    let application = Path::new("/proc");
    let variables = [("RELIC_APP0", application.as_os_str())];
    let outcome = run_with(&guest.program, &[], &variables, &mut |_| ()).unwrap();
    assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.stdout, outcome.stderr);
}

#[test]
fn streams() {
    let guest = prepare("streams");
    // One round: it leaves a file behind.
    guest.check_once(90);
    let bytes = fs::read(guest.data().join("streams/data/file")).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), "one\nTWO\nthree\na 5  2.50|");
}

#[test]
fn small_libraries() {
    let guest = prepare("services");
    write(
        &guest.application().join("sce_sys/param.json"),
        r#"{"titleId": "PPSA00001", "userDefinedParam2": -77}"#,
    );
    // Two and a half hours east of Greenwich, all year.
    guest.check_with(100, &[("TZ", OsStr::new("RELIC-2:30"))]);
    assert!(guest.data().join("PPSA00001/temp0").is_dir());
}

#[test]
fn saves_outlive_a_crash() {
    let guest = prepare("saves");
    let data = guest.data();
    let variables = [("RELIC_DATA", data.as_os_str())];
    let outcome = run_with(&guest.program, &["crash"], &variables, &mut |_| ()).unwrap();
    assert_eq!(outcome.stdout, "ready\n", "{}", outcome.stderr);
    assert_ne!(outcome.code, Some(0), "{}", outcome.stderr);
    guest.check_once(120);
    let user = data.join("saves/savedata/1");
    assert_eq!(fs::read(user.join("LAST/1/state")).unwrap(), b"ended");
    // Nothing lies about.
    let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!(names(&user), 5, "FRESH, LAST, PARAM, SAVE00 and the memory");
    for save in ["LAST", "PARAM", "SAVE00"] {
        assert_eq!(names(&user.join(save)), 1, "{save}");
    }
}

#[test]
fn devices() {
    let guest = prepare("devices");
    let folder = guest.folder.path();
    let (script, wave) = (folder.join("script"), folder.join("sound.wav"));
    write(&script, "2 cross up\n1 left=0,255 l2 l2=255\n");
    let variables = [
        ("RELIC_PAD", script.as_os_str()),
        ("RELIC_WAVE", wave.as_os_str()),
    ];
    let errors = guest.check_with(120, &variables);
    assert!(
        errors.contains(r#"the program asks: "Overwrite?": answered with no"#),
        "{errors}"
    );
    // Eleven grains of 256 samples, the second channel at half its volume.
    let bytes = fs::read(&wave).unwrap();
    assert_eq!(bytes.len(), 44 + 11 * 256 * 4);
    let sample = |at: usize| i16::from_le_bytes([bytes[44 + at], bytes[45 + at]]);
    assert_eq!((sample(0), sample(2), sample(4)), (1000, -500, 1000));
    let second = fs::read(folder.join("sound.2.wav")).unwrap();
    assert_eq!(second.len(), 44 + 512 * 4);
    assert_eq!(second[44..48], 0.25_f32.to_le_bytes());
}

#[test]
fn a_controllers_script_that_is_wrong_is_refused() {
    let guest = prepare("devices");
    let script = guest.folder.path().join("script");
    write(&script, "1 up\n2 cros\n");
    let variables = [("RELIC_PAD", script.as_os_str())];
    let outcome = run_with(&guest.program, &[], &variables, &mut |_| ()).unwrap();
    assert_ne!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("line 2: `cros` is neither a button"),
        "{}",
        outcome.stderr
    );
}
