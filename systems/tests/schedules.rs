//! The order of the systems and what they touch is kept in a file: a change shows in review.

#[test]
fn schedules_are_as_recorded() {
    let runtime = relic_systems::runtime::describe().unwrap_or_else(|errors| panic!("{errors}"));
    insta::assert_snapshot!(runtime.describe_text());
}

#[test]
fn the_graph_has_every_system() {
    let runtime = relic_systems::runtime::describe().unwrap();
    let dot = runtime.describe_dot();
    for system in [
        "drain_inbox",
        "decode_packets",
        "evaluate_plans",
        "commit_rows",
        "submit_batch",
        "present_flip",
    ] {
        assert!(dot.contains(system), "{system} is not in {dot}");
    }
    assert_eq!(dot.matches("digraph").count(), 4);
}
