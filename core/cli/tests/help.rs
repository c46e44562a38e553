//! The command line as its users see it: `--help` of every subcommand is kept as a snapshot.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::process::Command;

const COMMANDS: [&str; 10] = [
    "relink", "run", "info", "nid", "schedule", "replay", "scene", "shader", "gpu", "cache",
];

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_relic"))
        .args(arguments)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_of_every_subcommand_is_as_reviewed() {
    let top = help(&[]);
    let listed: Vec<&str> = top
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert_eq!(listed, COMMANDS, "each command has a snapshot");
    insta::assert_snapshot!("relic", top);
    for command in COMMANDS {
        insta::assert_snapshot!(command, help(&[command]));
    }
}
