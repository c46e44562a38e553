//! A plug-in's packet between two draws commits between them.

use relic_components::{
    Accesses, Commands, Dispatches, Draws, PacketRows, RegisterBanks, Submission,
    batch::Snapshots,
    message::CommandBuffer,
    queue::{CommandCursor, PacketState, PendingSubmissions},
    video::FlipRequest,
    work::{InFlightWrites, PendingLabels},
};
use relic_core::{GuestAddress, GuestMemory, GuestRange, QueueId, SubmissionId};
use relic_schedules::{
    Barrier, DecodeContext, Decoded, HeaderMatch, Packet, PacketRefusal, PacketTable, Plugin, Recorder,
    RuntimeBuilder,
};

use super::{RowRecorder, record_rows};
use crate::{decode::walk_queue, runtime::relic_builder, scene::packet};

/// Copies 16 bytes.
struct CopyMark;

impl Packet for CopyMark {
    const NAME: &'static str = "COPY_MARK";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopTag(0x4D41_524B)];

    fn decode(payload: &[u32], _: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        if payload.len() == 1 {
            Ok(Decoded::Row(Self))
        } else {
            Err(PacketRefusal("too long".to_owned()))
        }
    }

    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        recorder.copy_memory(GuestAddress(0), GuestAddress(16), 16)
    }
}

struct CopyMarkPlugin;

impl Plugin for CopyMarkPlugin {
    fn build(&self, runtime: &mut RuntimeBuilder) {
        runtime.add_packet::<CopyMark>();
    }
}

/// Notes what is asked of it.
#[derive(Default)]
struct Log(Vec<String>);

impl Recorder for Log {
    fn copy_memory(&mut self, _: GuestAddress, _: GuestAddress, _: u64) -> Result<(), PacketRefusal> {
        self.0.push("copy".to_owned());
        Ok(())
    }
    fn fill_memory(&mut self, _: GuestRange, _: u32) -> Result<(), PacketRefusal> {
        self.0.push("fill".to_owned());
        Ok(())
    }
    fn write_memory(&mut self, _: GuestAddress, _: &[u32]) -> Result<(), PacketRefusal> {
        self.0.push("write".to_owned());
        Ok(())
    }
    fn barrier(&mut self, _: Barrier) {
        self.0.push("barrier".to_owned());
    }
    fn write_clock(&mut self, _: GuestAddress) -> Result<(), PacketRefusal> {
        self.0.push("clock".to_owned());
        Ok(())
    }
    fn draw(&mut self, index: u32) -> Result<(), PacketRefusal> {
        self.0.push(format!("draw {index}"));
        Ok(())
    }
    fn dispatch(&mut self, index: u32) -> Result<(), PacketRefusal> {
        self.0.push(format!("dispatch {index}"));
        Ok(())
    }
    fn flip(&mut self, _: FlipRequest) {
        self.0.push("flip".to_owned());
    }
    fn interrupt(&mut self) {
        self.0.push("interrupt".to_owned());
    }
    fn push_marker(&mut self, _: &str) {}
    fn pop_marker(&mut self) {}
}

impl RowRecorder for Log {
    fn begin_row(&mut self, _: u32) {}
    fn end_row(&mut self) -> Result<(), PacketRefusal> {
        Ok(())
    }
}

#[test]
fn a_plug_ins_packet_between_two_draws_commits_between_them() {
    let mut builder = relic_builder();
    builder.add_plugin(&CopyMarkPlugin);
    let runtime = builder.build().unwrap();
    let table = runtime.world().resource::<PacketTable>();

    let draw = packet(0x2D, &[3, 2]);
    let mark = packet(0x10, &[0x4D41_524B]);
    let words: Vec<u32> = [draw.clone(), mark.clone(), draw.clone(), mark, draw].concat();
    let memory = GuestMemory::new();
    let range = GuestRange::new(GuestAddress(0x1000), 4 * words.len() as u64);
    let mut bytes = words.clone();
    // SAFETY: the words outlive the memory, and nothing else touches them.
    unsafe { memory.map(range, bytes.as_mut_ptr().cast(), true, "commands") }.unwrap();

    let mut commands = Commands::default();
    let mut columns = PacketRows {
        columns: table.columns(),
    };
    let buffer = CommandBuffer {
        address: range.start(),
        words: words.len() as u32,
    };
    let submission = Submission {
        id: SubmissionId(1),
        queue: QueueId::GRAPHICS,
        buffers: std::iter::once(buffer).collect(),
    };
    walk_queue(
        QueueId::GRAPHICS,
        table,
        &memory.reader(),
        (
            &mut CommandCursor::default(),
            &mut PendingSubmissions(std::iter::once(submission).collect()),
        ),
        (&mut RegisterBanks::default(), &mut PacketState::default()),
        (&mut commands, &mut Accesses::default(), &mut columns),
        (
            &mut Draws::default(),
            &mut Dispatches::default(),
            &mut Snapshots::default(),
        ),
        (&mut PendingLabels::default(), &InFlightWrites::default()),
    );
    assert_eq!(columns.column::<CopyMark>().len(), 2);
    let mut log = Log::default();
    record_rows(0..commands.rows.len(), &commands, table, &columns, &mut log).unwrap();
    assert_eq!(log.0, ["draw 0", "copy", "draw 1", "copy", "draw 2"]);
}
