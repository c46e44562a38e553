//! Scenes that the runtime records itself, and what can be done with scenes.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

#[path = "common/device.rs"]
mod device;

use std::path::Path;

use device::device;
use relic_components::video::{FlipRequest, VideoBuffer, VideoFormat, VideoHandle};
use relic_core::{GuestAddress, GuestRange, QueueId};
use relic_schedules::PacketTable;
use relic_systems::{
    config::{CaptureRequest, Config},
    runtime::packet_table,
    scene::{
        self, COMMANDS, DATA, Event, ExpectedImage, PlayError, PlayOptions, PlayReport, Scene, SceneBuilder,
        SceneSubmission,
        examine::{MinimiseError, diff, inspect, minimise},
        file, packet, play, pm4cap, split,
    },
};

const TRIANGLE: &[u8] = include_bytes!("../../tests/scenes/small_triangle.pm4cap");

fn table() -> PacketTable {
    packet_table().unwrap()
}

fn target(scene: &Scene) -> ExpectedImage {
    let mut images = scene.events.iter().filter_map(|event| match event {
        Event::ExpectImage(image) => Some(image.clone()),
        _ => None,
    });
    images.next().unwrap()
}

/// The triangle as a title of four frames: it sets everything and draws; it draws nothing; it draws again with the
/// registers as they are; it flips once more.
fn title() -> Scene {
    let mut scene = pm4cap::parse(TRIANGLE).unwrap();
    let target = target(&scene);
    let handle = VideoHandle(1);
    let flip = |argument| {
        Event::Flip(FlipRequest {
            handle,
            buffer: 0,
            mode: 1,
            argument,
        })
    };
    scene
        .events
        .retain(|event| !matches!(event, Event::ExpectImage(_)));
    let opened = [
        Event::VideoOpened(handle),
        Event::Buffers {
            handle,
            first: 0,
            buffers: vec![VideoBuffer {
                address: target.address,
                format: VideoFormat::Rgba8Srgb,
                tiled: true,
                width: target.width,
                height: target.height,
                pitch: target.width,
            }],
        },
    ];
    scene.events.splice(0..0, opened);
    scene.events.push(flip(1));
    let commands = GuestAddress(COMMANDS);
    let submit = |at: u64, words: &[u32]| {
        let address = GuestAddress(commands.0 + at);
        [
            Event::Write {
                address,
                bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            },
            Event::Submit(SceneSubmission {
                queue: QueueId::GRAPHICS,
                buffers: vec![(address, words.len() as u32)],
            }),
        ]
    };
    scene.events.push(Event::Region {
        range: GuestRange::new(commands, 0x1000),
        pool: None,
    });
    scene.events.extend(submit(0, &packet(0x10, &[0])));
    scene.events.push(flip(2));
    // DRAW_INDEX_AUTO of three vertices.
    scene.events.extend(submit(0x100, &packet(0x2D, &[3, 2])));
    scene.events.push(flip(3));
    scene.events.push(flip(4));
    scene
}

fn capture(scene: &Scene, first: u64, last: u64, path: &Path) -> Result<PlayReport, PlayError> {
    let config = Config {
        capture: Some(CaptureRequest {
            first,
            last,
            path: path.to_owned(),
        }),
        ..Config::default()
    };
    play(scene, &PlayOptions::new(config, device()))
}

fn replay(scene: &Scene) -> PlayReport {
    play(scene, &PlayOptions::new(Config::default(), device())).unwrap()
}

#[test]
fn a_capture_replays_to_the_same_pictures_wherever_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let scene = title();
    let picture = target(&pm4cap::parse(TRIANGLE).unwrap());
    for (first, last) in [(1, 4), (1, 1), (2, 2), (2, 3), (3, 3)] {
        let path = folder.path().join("a.scene");
        let report = capture(&scene, first, last, &path).unwrap();
        assert!(report.faults.is_empty(), "{report:#?}");
        let captured = scene::parse(&std::fs::read(&path).unwrap()).unwrap();
        let frames: Vec<_> = captured
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Frame(number) => Some(u64::from(*number)),
                _ => None,
            })
            .collect();
        assert_eq!(frames, (first..=last).collect::<Vec<_>>());
        // It expects what the title was to show, so that a capture of nothing at all would not do.
        assert_eq!(target(&captured).bytes, picture.bytes, "{first}..{last}");
        let report = replay(&captured);
        assert!(report.passes(), "{first}..{last}: {report:#?}");
        assert_eq!(report.outcomes.len() as u64, last - first + 1);
        let (_, flaws) = inspect(&captured, &table());
        assert_eq!(flaws, [], "{first}..{last}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

#[test]
fn a_capture_that_can_t_be_says_why_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.scene");
    let never = capture(&title(), 9, 9, &path).unwrap();
    assert!(never.faults[0].contains("after 4 flips"), "{:?}", never.faults);
    let missing = capture(&title(), 1, 1, &folder.path().join("none/a.scene")).unwrap();
    assert!(missing.faults[0].contains("none/a.scene"), "{:?}", missing.faults);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // What there is, and that it is not all.
    let short = capture(&title(), 3, 9, &path).unwrap();
    assert!(short.faults[0].contains("frames 3 to 4"), "{:?}", short.faults);
    let report = replay(&scene::parse(&std::fs::read(&path).unwrap()).unwrap());
    assert!(report.passes() && report.outcomes.len() == 2, "{report:#?}");
}

/// A compute queue waits from before the first flip to behind the third.
#[test]
fn a_capture_begins_where_all_queues_are_idle_and_says_so() {
    let label = GuestAddress(DATA);
    let [low, high] = split(DATA);
    let wait = packet(0x3C, &[3 | 1 << 4, low, high, 1, !0, 10]);
    let mut scene = title();
    scene.meta.push(("order".to_owned(), "overlap".to_owned()));
    let flips: Vec<usize> = (0..scene.events.len())
        .filter(|at| matches!(scene.events[*at], Event::Flip(_)))
        .collect();
    let write = |address, words: &[u32]| Event::Write {
        address,
        bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    };
    let commands = GuestAddress(COMMANDS + 0x2000);
    scene.events.insert(flips[2] + 1, write(label, &[1]));
    let region = |start, size| Event::Region {
        range: GuestRange::new(start, size),
        pool: None,
    };
    let waiting = [
        region(label, 0x1000),
        region(commands, 0x1000),
        write(commands, &wait),
        Event::Submit(SceneSubmission {
            queue: QueueId::compute(0, 0),
            buffers: vec![(commands, wait.len() as u32)],
        }),
    ];
    scene.events.splice(flips[0]..flips[0], waiting);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.scene");
    let never = capture(&scene, 2, 3, &path).unwrap();
    assert!(
        never.faults[0].contains("from flip 1 to flip 3"),
        "{:?}",
        never.faults
    );
    assert!(!path.exists());
    let late = capture(&scene, 2, 4, &path).unwrap();
    assert!(late.faults[0].contains("frame 4, not 2"), "{:?}", late.faults);
    let captured = scene::parse(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(captured.meta("frames"), Some("4..4"));
    let report = replay(&captured);
    assert!(report.passes() && report.outcomes.len() == 1, "{report:#?}");
}

#[test]
fn memory_that_is_not_used_is_left_out_and_nothing_else() {
    let mut scene = pm4cap::parse(TRIANGLE).unwrap();
    let garbage = Event::Region {
        range: GuestRange::new(GuestAddress(0x77_0000_0000), 0x20_0000),
        pool: None,
    };
    scene.pages = vec![
        Box::new([3; scene::script::PAGE]),
        Box::new([4; scene::script::PAGE]),
    ];
    let at = scene
        .events
        .iter()
        .position(|event| matches!(event, Event::Submit(_)))
        .unwrap();
    let pages = Event::Pages {
        address: GuestAddress(0x77_0000_0000),
        pages: [0, 1].repeat(0x100),
    };
    scene.events.splice(at..at, [garbage, pages]);
    let options = PlayOptions::new(Config::default(), device());
    let small = match minimise(&scene, &options) {
        // A test machine may have a GPU alone.
        Err(MinimiseError::Device { device }) => {
            eprintln!("SKIPPED: {device} is no CPU");
            return;
        }
        small => small.unwrap(),
    };
    assert!(small.pages.is_empty(), "{} pages", small.pages.len());
    let writes = |scene: &Scene| {
        let events = scene.events.iter();
        events
            .filter(|event| matches!(event, Event::Write { .. }))
            .count()
    };
    assert!(0 < writes(&small) && writes(&small) <= writes(&scene));
    let report = replay(&small);
    assert!(report.passes() && report.outcomes.len() == 1, "{report:#?}");
    // Without any of what is left it would be another picture, or none.
    let sizes = |scene: &Scene| file::write(scene, Vec::new()).unwrap().len();
    assert!(sizes(&small) < sizes(&scene));
}

#[test]
fn flaws_are_told_with_their_event() {
    let scene = SceneBuilder::new()
        .write(0x9999_0000_0000, &[1])
        .submit(0, &[vec![0xC010_1000, 1]])
        .expect("x", DATA + 0x1_0000, &[1])
        .build();
    let (_, flaws) = inspect(&scene, &table());
    let told: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    assert_eq!(flaws.len(), 3, "{told:#?}");
    for (text, part) in told
        .iter()
        .zip(["not mapped", "goes beyond its buffer", "not mapped"])
    {
        assert!(text.contains(part), "{told:#?}");
    }
    let (found, flaws) = inspect(&pm4cap::parse(TRIANGLE).unwrap(), &table());
    assert_eq!(flaws, []);
    assert!(found.packets.contains_key("SET_CONTEXT_REG"), "{found:?}");
    assert_eq!((found.frames.len(), found.expectations), (1, 1));
}

#[test]
fn differences_are_told_where_they_begin() {
    let scene = |value, other| {
        SceneBuilder::new()
            .write(DATA, &[7, other])
            .submit(0, &[packet(0x10, &[1]), packet(0x10, &[value, 5])])
            .build()
    };
    let lines = |a: &Scene, b: &Scene| diff(a, b, &table()).lines;
    assert_eq!(lines(&scene(1, 2), &scene(1, 2)), Vec::<String>::new());
    let told = lines(&scene(1, 2), &scene(9, 2));
    assert!(
        told[0].contains("submission 1, packet 1: ") && told[0].contains("00000009"),
        "{told:#?}"
    );
    let told = lines(&scene(1, 2), &scene(1, 3));
    assert!(told[0].contains("0x3800000004 on, 0x02 and 0x03"), "{told:#?}");
    let mut longer = scene(1, 2);
    longer.events.extend(scene(1, 2).events.split_off(3));
    let told = lines(&scene(1, 2), &longer);
    assert!(
        told.iter().any(|line| line == "submissions: 1 and 2"),
        "{told:#?}"
    );
}
