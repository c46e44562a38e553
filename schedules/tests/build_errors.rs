//! Each way to build a runtime wrong is a start-up error that names both sides.

#![expect(clippy::panic, reason = "a test's helpers may fail like the test itself")]

use bevy_ecs::prelude::*;
use relic_schedules::{
    DecodeContext, Decoded, HeaderMatch, Label, Packet, PacketRefusal, Plugin, RuntimeBuilder, Stage,
};

#[derive(Resource, Default)]
struct Tally(u32);

struct First;
struct Second;

struct Marker;
impl Packet for Marker {
    const NAME: &'static str = "MARKER";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::Opcode(0xC0)];
    fn decode(_: &[u32], _: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        Ok(Decoded::State)
    }
}

struct Rival;
impl Packet for Rival {
    const NAME: &'static str = "RIVAL";
    const HEADERS: &'static [HeaderMatch] = &[HeaderMatch::NopOperation(3), HeaderMatch::Opcode(0xC0)];
    fn decode(_: &[u32], _: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal> {
        Ok(Decoded::State)
    }
}

impl Plugin for First {
    fn name(&self) -> &'static str {
        "first plug-in"
    }
    fn build(&self, runtime: &mut RuntimeBuilder) {
        runtime.add_packet::<Marker>();
    }
}

impl Plugin for Second {
    fn name(&self) -> &'static str {
        "second plug-in"
    }
    fn build(&self, runtime: &mut RuntimeBuilder) {
        runtime.add_packet::<Rival>();
    }
}

fn message(builder: RuntimeBuilder) -> String {
    match builder.build() {
        Ok(_) => panic!("the runtime was built"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn two_packets_for_one_header() {
    let mut builder = RuntimeBuilder::new();
    builder.add_plugin(&First).add_plugin(&Second);
    let text = message(builder);
    for part in ["MARKER (first plug-in)", "RIVAL (second plug-in)", "opcode 0xc0"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(
        !text.contains("sub-operation"),
        "the free header is no clash: {text}"
    );
}

fn lonely() {}
fn count_up(mut tally: ResMut<Tally>) {
    tally.0 += 1;
}
fn count_down(mut tally: ResMut<Tally>) {
    tally.0 -= 1;
}

#[test]
fn a_system_in_no_stage() {
    let mut builder = RuntimeBuilder::new();
    builder.add_systems(Label::Submit, lonely);
    let text = message(builder);
    for part in ["lonely", "no stage", "Submit", "Decode", "the application"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn a_system_in_a_stage_of_another_schedule() {
    let mut builder = RuntimeBuilder::new();
    builder.add_systems(Label::Frame, lonely.in_set(Stage::Decode));
    let text = message(builder);
    assert!(text.contains("lonely") && text.contains("Present"), "{text}");
}

#[test]
fn a_system_in_two_stages() {
    let mut builder = RuntimeBuilder::new();
    builder.add_systems(
        Label::Frame,
        lonely.in_set(Stage::Evict).in_set(Stage::Statistics),
    );
    let text = message(builder);
    assert!(text.contains("Evict") && text.contains("Statistics"), "{text}");
}

#[test]
fn two_systems_that_conflict_without_an_order() {
    let mut builder = RuntimeBuilder::new();
    builder
        .insert_resource(Tally::default())
        .add_systems(Label::Submit, (count_up, count_down).in_set(Stage::Settle));
    let text = message(builder);
    for part in ["count_up", "count_down", "Tally"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn a_run_condition() {
    let mut builder = RuntimeBuilder::new();
    builder.add_systems(Label::Submit, lonely.in_set(Stage::Settle).run_if(|| false));
    let text = message(builder);
    assert!(
        text.contains("lonely") && text.contains("run condition"),
        "{text}"
    );
}

#[test]
fn all_errors_are_told_at_once() {
    let mut builder = RuntimeBuilder::new();
    builder
        .add_plugin(&First)
        .add_plugin(&Second)
        .add_systems(Label::Submit, lonely);
    let text = message(builder);
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn stages_run_in_order_whatever_the_seed() {
    #[derive(Resource, Default)]
    struct Order(Vec<&'static str>);
    fn settle(mut order: ResMut<Order>) {
        order.0.push("settle");
    }
    fn ingest(mut order: ResMut<Order>) {
        order.0.push("ingest");
    }
    fn decode(mut order: ResMut<Order>) {
        order.0.push("decode");
    }
    for seed in 0..8 {
        let mut builder = RuntimeBuilder::new();
        builder
            .shuffle(seed)
            .insert_resource(Order::default())
            .add_systems(
                Label::Submit,
                (
                    settle.in_set(Stage::Settle),
                    ingest.in_set(Stage::Ingest),
                    decode.in_set(Stage::Decode),
                ),
            );
        let mut runtime = builder.build().unwrap();
        runtime.run(Label::Submit).unwrap();
        assert_eq!(
            runtime.world().resource::<Order>().0,
            ["ingest", "decode", "settle"]
        );
    }
}

#[test]
fn a_panic_in_a_system_is_an_error_with_its_name() {
    fn explode() {
        panic!("out of cheese");
    }
    let mut builder = RuntimeBuilder::new();
    builder.insert_resource(Tally::default()).add_systems(
        Label::Submit,
        (explode.in_set(Stage::Decode), count_up.in_set(Stage::Settle)),
    );
    let mut runtime = builder.build().unwrap();
    let error = runtime.run(Label::Submit).unwrap_err().to_string();
    assert!(
        error.contains("explode") && error.contains("out of cheese"),
        "{error}"
    );
}
