//! The runtime behind running threads: submissions from several at once, labels they wait for, a small task pool.
//!
//! The task pool is made once a process and holds one thread here: a system that waited for another would hang.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use relic_components::{
    EventSink, GuestEvent, Message, Submission,
    message::CommandBuffer,
    video::{FlipRequest, VideoBuffer, VideoFormat, VideoHandle},
};
use relic_core::{GuestAddress, GuestMemory, GuestRange, QueueId, SubmissionId, memory::HostMapping};
use relic_systems::{
    config::{Config, PictureRequest},
    runtime::{RuntimeHandle, RuntimeOptions, start},
    scene::{packet, split},
};

/// Keeps what the runtime tells the guest.
#[derive(Default)]
struct Events(Mutex<Vec<GuestEvent>>);

impl EventSink for Events {
    fn deliver(&self, event: &GuestEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A guest without a program: memory at an address of its own, and a runtime.
struct Guest {
    memory: Arc<GuestMemory>,
    mapping: HostMapping,
    runtime: Option<RuntimeHandle>,
    events: Arc<Events>,
    submissions: AtomicU64,
}

impl Guest {
    fn start(base: u64, pictures: PictureRequest) -> Self {
        let memory = Arc::new(GuestMemory::new());
        let range = GuestRange::new(GuestAddress(base), 0x10_0000);
        let mapping = HostMapping::new(range).unwrap();
        // SAFETY: the mapping lives as long as the memory; the test accesses it by atomics.
        unsafe { memory.map(range, mapping.as_ptr(), true, "guest") }.unwrap();
        let events = Arc::new(Events::default());
        let config = Config {
            validation: true,
            pool_threads: Some(1),
            pictures,
            ..Config::default()
        };
        let options = RuntimeOptions {
            memory: Arc::clone(&memory),
            sink: Arc::clone(&events) as Arc<dyn EventSink>,
            config,
            plugins: &|_| (),
        };
        let runtime = Some(start(options).unwrap_or_else(|error| panic!("{error}")));
        Self {
            memory,
            mapping,
            runtime,
            events,
            submissions: AtomicU64::new(0),
        }
    }

    fn base(&self) -> u64 {
        self.mapping.guest().start().0
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: inside the mapping, aligned, and only accessed by atomics.
        unsafe { AtomicU32::from_ptr(self.mapping.as_ptr().add(offset as usize).cast()) }
    }

    /// Writes packets at an offset and submits them.
    fn submit(&self, queue: QueueId, offset: u64, packets: &[Vec<u32>]) {
        let words = packets.concat();
        for (i, word) in words.iter().enumerate() {
            self.word(offset + 4 * i as u64).store(*word, Ordering::Relaxed);
        }
        let buffer = CommandBuffer {
            address: GuestAddress(self.base() + offset),
            words: words.len() as u32,
        };
        let id = SubmissionId(1 + self.submissions.fetch_add(1, Ordering::Relaxed));
        let submission = Submission {
            id,
            queue,
            buffers: std::iter::once(buffer).collect(),
        };
        self.send(Message::Submit(submission));
    }

    fn send(&self, message: Message) {
        self.runtime.as_ref().unwrap().inbox.send(message).unwrap();
    }

    fn wait_for(&self, offset: u64, value: u32) {
        let start = Instant::now();
        while self.word(offset).load(Ordering::Acquire) != value {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "the label at {offset:#x} never became {value}"
            );
            std::thread::yield_now();
        }
    }

    fn finish(mut self) -> (relic_systems::runtime::RunReport, Vec<GuestEvent>) {
        let report = self.runtime.take().unwrap().finish();
        let events = std::mem::take(&mut *self.events.0.lock().unwrap());
        self.memory.unmap(self.mapping.guest());
        (report, events)
    }
}

fn release_mem(address: u64, value: u32, interrupt: bool) -> Vec<u32> {
    let [low, high] = split(address);
    packet(
        0x49,
        &[
            0x514,
            1 << 29 | u32::from(interrupt) << 24,
            low,
            high,
            value,
            0,
            0,
        ],
    )
}

#[test]
fn eight_threads_submit_and_wait_for_their_labels() {
    let guest = Guest::start(0x60_0000_0000, PictureRequest::default());
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let guest = &guest;
            scope.spawn(move || {
                let commands = 0x1000 * (thread + 1);
                let label = 0x100 + 64 * thread;
                let queue = if thread == 0 {
                    QueueId::GRAPHICS
                } else {
                    QueueId::compute(0, thread as u32 - 1)
                };
                for round in 1..=50 {
                    guest.submit(
                        queue,
                        commands,
                        &[release_mem(guest.base() + label, round, false)],
                    );
                    guest.wait_for(label, round);
                }
            });
        }
    });
    let (report, _) = guest.finish();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.counters.submissions, 400);
}

#[test]
fn queues_hand_work_to_each_other_and_interrupts_reach_the_guest() {
    let guest = Guest::start(0x61_0000_0000, PictureRequest::default());
    let [low, high] = split(guest.base() + 0x100);
    let wait = packet(0x3C, &[3 | 1 << 4, low, high, 7, u32::MAX, 10]);
    guest.submit(
        QueueId::GRAPHICS,
        0x1000,
        &[wait, release_mem(guest.base() + 0x200, 1, true)],
    );
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(
        guest.word(0x200).load(Ordering::Acquire),
        0,
        "the wait did not hold"
    );
    guest.submit(
        QueueId::compute(0, 0),
        0x2000,
        &[release_mem(guest.base() + 0x100, 7, false)],
    );
    guest.wait_for(0x200, 1);
    let (report, events) = guest.finish();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(
        events,
        [GuestEvent::EndOfPipe {
            queue: QueueId::GRAPHICS
        }]
    );
}

#[test]
fn a_label_that_the_cpu_writes_releases_a_queue() {
    let guest = Guest::start(0x62_0000_0000, PictureRequest::default());
    let [low, high] = split(guest.base() + 0x100);
    let wait = packet(0x3C, &[3 | 1 << 4, low, high, 7, u32::MAX, 10]);
    guest.submit(
        QueueId::GRAPHICS,
        0x1000,
        &[wait, release_mem(guest.base() + 0x200, 1, false)],
    );
    std::thread::sleep(Duration::from_millis(5));
    guest.word(0x100).store(7, Ordering::Release);
    guest.wait_for(0x200, 1);
    assert!(guest.finish().0.is_clean());
}

#[test]
fn a_refused_packet_reaches_the_guest_and_the_report() {
    let guest = Guest::start(0x63_0000_0000, PictureRequest::default());
    guest.submit(
        QueueId::GRAPHICS,
        0x1000,
        &[release_mem(guest.base() + 0x100, 1, false), packet(0xF7, &[0])],
    );
    guest.wait_for(0x100, 1);
    let (report, events) = guest.finish();
    assert_eq!(report.faults.len(), 1);
    assert!(report.faults[0].contains("0xf7"), "{report:#?}");
    assert!(
        matches!(&events[..], [GuestEvent::QueueFaulted { queue: QueueId::GRAPHICS, reason }] if reason.contains("0xf7"))
    );
}

/// Flips of memory that the CPU drew: events in order, pictures of each.
#[test]
fn flips_become_events_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let request = PictureRequest {
        frames: Some(3),
        screenshot: Some(folder.path().join("last.png")),
        folder: Some(folder.path().to_owned()),
    };
    let guest = Guest::start(0x64_0000_0000, request);
    let handle = VideoHandle(1);
    guest.send(Message::VideoOpened(handle));
    let pixels = 0x1_0000;
    let buffer = VideoBuffer {
        address: GuestAddress(guest.base() + pixels),
        format: VideoFormat::Bgra8Srgb,
        tiled: false,
        width: 64,
        height: 2,
        pitch: 64,
    };
    guest.send(Message::BuffersRegistered {
        handle,
        first: 0,
        buffers: vec![buffer],
    });
    for i in 0..128 {
        // Bytes B, G, R, A.
        guest.word(pixels + 4 * i).store(0xFF33_2211, Ordering::Relaxed);
    }
    for argument in 10..13 {
        guest.submit(
            QueueId::GRAPHICS,
            0x1000 + 0x100 * argument,
            &[flip(0, argument as u32)],
        );
    }
    let start = Instant::now();
    while !guest.events.0.lock().unwrap().contains(&GuestEvent::FrameLimit) {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    let (report, events) = guest.finish();
    assert!(report.is_clean(), "{report:#?}");
    let shown: Vec<i64> = events
        .iter()
        .filter_map(|event| match event {
            GuestEvent::FlipDone(FlipRequest { argument, .. }) => Some(*argument),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [10, 11, 12]);
    for name in ["frame00001.png", "frame00003.png", "last.png"] {
        let file = std::fs::File::open(folder.path().join(name)).unwrap();
        let mut reader = png::Decoder::new(std::io::BufReader::new(file))
            .read_info()
            .unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (64, 2), "{name}");
        assert_eq!(bytes[..4], [0x33, 0x22, 0x11, 0xFF], "{name}");
    }
}

fn flip(buffer: u32, argument: u32) -> Vec<u32> {
    let mut words = packet(0x10, &[1, buffer, 1, argument, 0]);
    words[0] |= 0x17 << 2;
    words
}
