//! What runs leave: scenes that were recorded, and the cache.

#[path = "common/gpu.rs"]
mod gpu;
#[path = "common/guest.rs"]
mod guest;

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::{relic, run};
use gpu::has_gpu;
use guest::Guest;

#[test]
fn what_is_kept_between_runs_is_looked_after() {
    if !has_gpu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shaders = folder.path().join("shaders");
    let cache = |arguments: &[&str]| {
        run(relic()
            .env("RELIC_CACHE", folder.path())
            .env_remove("RELIC_SHADER_CACHE")
            .arg("cache")
            .args(arguments))
    };
    let (code, _, stderr) = cache(&["verify"]);
    assert!(code == Some(2) && stderr.contains("no shaders"), "{stderr}");
    let scene = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenes/small_triangle.pm4cap");
    let play = || {
        let (code, stdout, _) = run(relic()
            .env("RELIC_SHADER_CACHE", &shaders)
            .args(["replay", "--headless", "--report", "json"])
            .arg(&scene));
        assert_eq!(code, Some(0), "{stdout}");
        let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let counters = report[0]["counters"].as_array().unwrap();
        let kept = counters
            .iter()
            .find(|counter| counter[0] == "stages_kept")
            .unwrap();
        kept[1].as_u64().unwrap()
    };
    assert_eq!((play(), play()), (0, 2));
    let (code, stdout, _) = cache(&["stats"]);
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains(": 2 shaders") && stdout.contains("of the driver's"),
        "{stdout}"
    );
    assert_eq!(cache(&["verify"]).0, Some(0));
    fs::create_dir(shaders.join("prebuilt")).unwrap();
    let pack = shaders.join("prebuilt/a.pack").display().to_string();
    assert_eq!(cache(&["export", "-o", &pack]).0, Some(0));
    assert_eq!(
        cache(&["export", "-o", &pack]).0,
        Some(2),
        "nothing is written over"
    );
    let (code, stdout, _) = cache(&["prune", "--keep", "0"]);
    assert!(code == Some(0) && stdout.contains(": 0 shaders"), "{stdout}");
    assert_eq!(play(), 2, "from the pack of others");
    let mut bytes = fs::read(&pack).unwrap();
    let at = bytes.len() - 50;
    bytes[at] ^= 1;
    fs::write(shaders.join("stages.pack"), bytes).unwrap();
    let (code, stdout, _) = cache(&["verify"]);
    assert!(code == Some(2) && stdout.contains("1 damaged"), "{stdout}");
}

#[test]
fn frames_of_a_running_program_become_a_scene() {
    if !has_gpu() {
        return;
    }
    let Some(guest) = Guest::build("triangle", None) else {
        return;
    };
    let scene = |name: &str| guest.path(name).display().to_string();
    for (frames, count) in [("1..3", 3), ("5..6", 2)] {
        let (code, stdout, stderr) = run(guest
            .relic()
            .args([
                "run",
                "--headless",
                "--frames",
                "8",
                "--capture",
                frames,
                "--capture-file",
            ])
            .arg(scene("a.scene"))
            .arg(guest.eboot()));
        assert_eq!(code, Some(0), "{stdout} {stderr}");
        let (code, stdout, stderr) = run(relic().args(["replay", "--headless", &scene("a.scene")]));
        assert_eq!(code, Some(0), "{stdout} {stderr}");
        let compared = stdout
            .lines()
            .filter(|line| line.contains("flip") && line.contains(" ok "));
        assert_eq!(compared.count(), count, "{stdout}");
    }
    let (code, stdout, _) = run(relic().args(["scene", "inspect", "--json", &scene("a.scene")]));
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(found["frames"][0]["number"], 5);
    assert!(
        found["packets"]
            .as_object()
            .is_some_and(|packets| packets.len() > 5),
        "{found}"
    );
    let (code, stdout, _) = run(relic().args(["scene", "validate", &scene("a.scene")]));
    assert_eq!((code, stdout.ends_with(": ok\n")), (Some(0), true), "{stdout}");
    let minimised = run(relic().args(["scene", "minimise", &scene("a.scene"), "-o", &scene("b.scene")]));
    if minimised.0 == Some(2) && minimised.2.contains("--gpu llvmpipe") {
        return;
    }
    assert_eq!(minimised.0, Some(0), "{minimised:?}");
    let size = |name| fs::metadata(guest.path(name)).unwrap().len();
    assert!(size("b.scene") < size("a.scene"));
    assert_eq!(
        run(relic().args(["replay", "--headless", &scene("b.scene")])).0,
        Some(0)
    );
    let (code, stdout, _) = run(relic().args(["scene", "diff", &scene("a.scene"), &scene("b.scene")]));
    assert!(code == Some(2) && stdout.contains("memory from"), "{stdout}");
    assert_eq!(
        run(relic().args(["scene", "diff", &scene("b.scene"), &scene("b.scene")])).0,
        Some(0)
    );
    let mut bytes = fs::read(guest.path("b.scene")).unwrap();
    bytes[1000] ^= 1;
    fs::write(guest.path("b.scene"), bytes).unwrap();
    let (code, stdout, _) = run(relic().args(["scene", "validate", &scene("b.scene"), &scene("a.scene")]));
    assert_eq!(code, Some(2));
    assert!(
        stdout.contains("damaged") && stdout.contains("a.scene: ok"),
        "{stdout}"
    );
    for wrong in ["0", "4..2", "x"] {
        assert_eq!(
            run(guest.relic().args(["run", "--capture", wrong]).arg(guest.eboot())).0,
            Some(1)
        );
    }
}

#[test]
fn a_shader_cache_that_can_t_be_is_named_and_done_without() {
    if !has_gpu() {
        return;
    }
    let Some(guest) = Guest::build("triangle", None) else {
        return;
    };
    fs::write(guest.path("file"), "no folder").unwrap();
    let play = |cache: PathBuf| {
        run(guest
            .relic()
            .env("RELIC_SHADER_CACHE", cache)
            .args(["run", "--headless", "--frames", "2"])
            .arg(guest.eboot()))
    };
    let (code, _, stderr) = play(guest.path("file"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("not kept between runs") && stderr.contains("file"),
        "{stderr}"
    );
    let (code, _, stderr) = play(guest.path("shaders"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(guest.path("shaders/stages.pack").is_file());
}
