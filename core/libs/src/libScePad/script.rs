//! Scripts that play a controller. A line is a step: how long it holds, and what is pressed meanwhile.
//!
//! ```text
//! # Reads, or milliseconds since the step began.
//! 3 cross up
//! 500ms left=0,128 l2=255
//! 1
//! ```
//!
//! After the last step the controller rests.

use std::time::{Duration, Instant};

use super::state::{BUTTONS, Input, NEUTRAL};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Reads(u64),
    Time(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    length: Length,
    input: Input,
}

/// A script, and how far it has been played.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The step that comes next, last.
    steps: Vec<Step>,
    /// When the present step began, and how often it was read.
    began: Option<Instant>,
    reads: u64,
}

fn numbers<const COUNT: usize>(word: &str, value: &str) -> Result<[u8; COUNT], String> {
    let parts: Vec<u8> = value
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|_| format!("`{word}` wants numbers from 0 to 255"))?;
    parts
        .try_into()
        .map_err(|parts: Vec<u8>| format!("`{word}` has {} numbers, not {COUNT}", parts.len()))
}

fn step(line: &str) -> Result<Step, String> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let (digits, is_time) = match first.strip_suffix("ms") {
        Some(digits) => (digits, true),
        None => (first, false),
    };
    let length: u64 = digits
        .parse()
        .ok()
        .filter(|length| *length > 0)
        .ok_or_else(|| format!("`{first}` is no number of reads, as `3`, nor a time, as `500ms`"))?;
    let mut input = NEUTRAL;
    for word in words {
        match word.split_once('=') {
            Some(("left", value)) => input.left = numbers(word, value)?,
            Some(("right", value)) => input.right = numbers(word, value)?,
            Some(("l2", value)) => [input.triggers[0]] = numbers(word, value)?,
            Some(("r2", value)) => [input.triggers[1]] = numbers(word, value)?,
            _ => {
                let button = BUTTONS.iter().find(|(name, _)| *name == word);
                let (_, bit) = button.ok_or_else(|| {
                    let names: Vec<_> = BUTTONS.iter().map(|(name, _)| *name).collect();
                    format!(
                        "`{word}` is neither a button ({}) nor left=X,Y, right=X,Y, l2=N or r2=N",
                        names.join(", ")
                    )
                })?;
                input.buttons |= bit;
            }
        }
    }
    Ok(Step {
        length: if is_time {
            Length::Time(Duration::from_millis(length))
        } else {
            Length::Reads(length)
        },
        input,
    })
}

impl Script {
    /// Reads a script; the error says which line is wrong, and why.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                steps.push(step(line).map_err(|error| format!("line {}: {error}", i + 1))?);
            }
        }
        steps.reverse();
        Ok(Self {
            steps,
            began: None,
            reads: 0,
        })
    }

    /// What is pressed now; counts as a read.
    pub(super) fn read(&mut self, now: Instant) -> Input {
        while let Some(step) = self.steps.last() {
            let began = *self.began.get_or_insert(now);
            let (holds, ended) = match step.length {
                Length::Reads(reads) => (self.reads < reads, now),
                Length::Time(time) => (now < began + time, began + time),
            };
            if holds {
                self.reads += 1;
                return step.input;
            }
            self.steps.pop();
            (self.began, self.reads) = (Some(ended), 0);
        }
        NEUTRAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_for_reads_and_for_times() {
        let text = "# a title's menu\n2 cross up\n\n100ms left=0,255 l2=9 # walk\n1 l2 r2=255\n";
        let mut script = Script::parse(text).unwrap();
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let pressed = Input {
            buttons: 0x4010,
            ..NEUTRAL
        };
        let walking = Input {
            left: [0, 255],
            triggers: [9, 0],
            ..NEUTRAL
        };
        let last = Input {
            buttons: 0x100,
            triggers: [0, 255],
            ..NEUTRAL
        };
        assert_eq!(script.read(at(0)), pressed);
        assert_eq!(script.read(at(700)), pressed);
        assert_eq!(script.read(at(1000)), walking);
        assert_eq!(script.read(at(1099)), walking);
        assert_eq!(script.read(at(1100)), last);
        assert_eq!(script.read(at(1101)), NEUTRAL);
        assert_eq!(script.read(at(9999)), NEUTRAL);
    }

    #[test]
    fn a_late_read_passes_over_steps_of_time() {
        let mut script = Script::parse("10ms up\n10ms down\n10ms left\n").unwrap();
        let start = Instant::now();
        assert_eq!(script.read(start).buttons, 0x10);
        assert_eq!(script.read(start + Duration::from_millis(25)).buttons, 0x80);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("1\ncross", "line 2: `cross` is no number"),
            ("0 cross", "line 1: `0` is no number"),
            ("1 kross", "line 1: `kross` is neither a button"),
            ("1 left=1", "line 1: `left=1` has 1 numbers, not 2"),
            ("1 l2=256", "line 1: `l2=256` wants numbers"),
            ("5s up", "line 1: `5s` is no number"),
        ] {
            let error = Script::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
