//! A tool runs a part of a schedule's stages.

use bevy_ecs::prelude::*;
use relic_schedules::{Label, Plugin, RuntimeBuilder, Stage};

#[derive(Resource, Default)]
struct Ran(Vec<&'static str>);

struct Steps;

impl Plugin for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn build(&self, runtime: &mut RuntimeBuilder) {
        let step = |name: &'static str| move |mut ran: ResMut<Ran>| ran.0.push(name);
        runtime
            .insert_resource(Ran::default())
            .add_systems(
                Label::Submit,
                (
                    step("settle").in_set(Stage::Settle),
                    step("decode").in_set(Stage::Decode),
                ),
            )
            .add_systems(
                Label::Submit,
                (step("poll"), step("poll again")).chain().in_set(Stage::Poll),
            )
            .add_systems(Label::Submit, step("evaluate").in_set(Stage::Evaluate));
    }
}

#[test]
fn stages_run_alone_and_all_again_afterwards() {
    let mut builder = RuntimeBuilder::new();
    builder.add_plugin(&Steps);
    let mut runtime = builder.build().unwrap_or_else(|errors| panic!("{errors}"));
    let mut ran = |stages: (std::ops::Bound<Stage>, std::ops::Bound<Stage>)| {
        let done = runtime.run_stages(Label::Submit, stages);
        assert!(done.is_ok());
        std::mem::take(&mut runtime.world_mut().resource_mut::<Ran>().0)
    };
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let all = ["poll", "poll again", "decode", "evaluate", "settle"];
    assert_eq!(ran((Unbounded, Unbounded)), all);
    assert_eq!(ran((Unbounded, Included(Stage::Decode))), all[..3]);
    assert_eq!(ran((Unbounded, Excluded(Stage::Decode))), all[..2]);
    // A stage without systems.
    assert_eq!(ran((Unbounded, Included(Stage::Capture))), all[..3]);
    assert_eq!(ran((Included(Stage::Settle), Unbounded)), all[4..]);
    assert_eq!(ran((Excluded(Stage::Decode), Included(Stage::Hazard))), all[3..4]);
    assert_eq!(ran((Included(Stage::Ingest), Excluded(Stage::Poll))), [""; 0]);
    assert!(runtime.run(Label::Submit).is_ok());
    assert_eq!(runtime.world().resource::<Ran>().0, all);
}
