//! Random plans on random memory: the tape, for one row and for many, gives what the evaluator gives in every output, or
//! hands the row back.
//!
//! `PROPTEST_CASES` says how many walks (100,000 by default; `./x test --long` asks for 10 million).

mod random;

use random::Random;
use relic_core::GuestAddress;
use relic_recompiler::plan::{FlatSource, Guard, Node, NodeId, NodeOp, PlanBlock};
use relic_recompiler::{
    AccessFlags, Batch, DescriptorKind, DescriptorSource, Evaluation, Inputs, PlanMemory, ResourcePlan,
    Scratch, Tape, evaluate,
};

fn chance(random: &mut Random, percent: usize) -> bool {
    random.below(100) < percent
}

const BASE: u32 = 0x1_0000;
const WORDS: usize = 1024;

struct Memory(Vec<Option<u32>>);

impl Memory {
    /// Mostly pointers into itself, with holes.
    fn random(random: &mut Random) -> Self {
        let holes = [0, 1, 5][random.below(3)];
        let words = (0..WORDS).map(|_| (!chance(random, holes)).then(|| word(random)));
        Self(words.collect())
    }
}

impl PlanMemory for Memory {
    fn read_u32(&self, address: GuestAddress) -> Option<u32> {
        assert_eq!(address.0 % 4, 0, "an unaligned read at {address}");
        let index = address.0.checked_sub(u64::from(BASE))? / 4;
        *self.0.get(usize::try_from(index).ok()?)?
    }
}

fn pointer(random: &mut Random) -> u32 {
    BASE + 4 * random.below(WORDS - 64) as u32
}

fn word(random: &mut Random) -> u32 {
    match random.below(24) {
        0 => 0,
        1 => random.below(64) as u32,
        2 => random.next() as u32,
        _ => pointer(random),
    }
}

/// A plan whose loads mostly hit, with selections, branches and loops, and roots that share and repeat nodes.
fn random_plan(random: &mut Random) -> ResourcePlan {
    let mut plan = ResourcePlan {
        alignment: [1, 4, 16, 256][random.below(4)],
        ..ResourcePlan::default()
    };
    let mut add = |op: NodeOp, operands: &[NodeId], immediate: u32| {
        plan.nodes.push(Node::new(op, operands, immediate));
        NodeId((plan.nodes.len() - 1) as u16)
    };
    let zero = add(NodeOp::Const, &[], 0);
    // Nodes that tend to be addresses, and any nodes.
    let mut pointers = vec![add(NodeOp::Const, &[], pointer(random))];
    let mut any = vec![
        zero,
        add(NodeOp::ShaderBaseLow, &[], 0),
        add(NodeOp::ShaderBaseHigh, &[], 0),
    ];
    for number in 0..6 {
        let user = add(NodeOp::UserData, &[], number);
        if number < 4 { &mut pointers } else { &mut any }.push(user);
    }
    let pick = |random: &mut Random, list: &[NodeId]| list[random.below(list.len())];
    for _ in 0..random.below(60) {
        match random.below(10) {
            // Dwords that follow each other.
            0..=2 => {
                let low = pick(random, &pointers);
                let offset = if chance(random, 80) {
                    zero
                } else {
                    pick(random, &any)
                };
                let first = random.below(16) as u32 * 4;
                for i in 0..1 + random.below(9) as u32 {
                    let load = add(NodeOp::LoadAddress, &[low, zero, offset], first + 4 * i);
                    pointers.push(load);
                    any.push(load);
                }
            }
            3 => {
                let high = if chance(random, 80) {
                    zero
                } else {
                    pick(random, &any)
                };
                let words = [pick(random, &pointers), high, pick(random, &any)];
                let offset = pick(random, &any);
                let immediate = random.below(64) as u32;
                any.push(add(
                    NodeOp::BufferLoad,
                    &[words[0], words[1], words[2], offset],
                    immediate,
                ));
            }
            4 | 5 => {
                let condition = pick(random, &any);
                let arms = [pick(random, &pointers), pick(random, &pointers)];
                pointers.push(add(NodeOp::Select, &[condition, arms[0], arms[1]], 0));
            }
            6 => {
                let small = add(NodeOp::Const, &[], random.below(34) as u32);
                let op = [NodeOp::BitfieldUnsigned, NodeOp::BitfieldSigned][random.below(2)];
                let width = if chance(random, 90) {
                    small
                } else {
                    pick(random, &any)
                };
                let value = pick(random, &any);
                any.push(add(op, &[value, zero, width], 0));
            }
            7 => {
                let small = add(NodeOp::Const, &[], 4 * random.below(8) as u32);
                let low = pick(random, &pointers);
                pointers.push(add(NodeOp::Add, &[low, small], 0));
            }
            _ => {
                let pure: Vec<_> = NodeOp::ALL
                    .iter()
                    .filter(|op| matches!(op.arity(), 1 | 2))
                    .collect();
                let op = *pure[random.below(pure.len())];
                let operands = [pick(random, &any), pick(random, &any)];
                any.push(add(op, &operands[..op.arity()], 0));
            }
        }
    }
    any.extend(&pointers);
    if chance(random, 60) {
        let count = 2 + random.below(8);
        for block in 0..count {
            let first = plan.edges.len() as u16;
            // Forward, and sometimes back to the start of a loop, which the start of the program is.
            let ways = if block + 1 == count {
                0
            } else {
                1 + random.below(2)
            };
            for _ in 0..ways {
                let ahead = block + 1 + random.below(count - block - 1);
                plan.edges.push(if chance(random, 90) { ahead as u16 } else { 0 });
            }
            plan.blocks.push(PlanBlock {
                condition: (ways == 2 && chance(random, 70)).then(|| pick(random, &any)),
                first,
                count: ways as u16,
            });
        }
    }
    let mut guard = |random: &mut Random| {
        if plan.blocks.is_empty() || chance(random, 50) {
            return Guard::default();
        }
        let first = plan.guards.len() as u16;
        let count = 1 + random.below(2) as u16;
        for _ in 0..count {
            plan.guards.push(random.below(plan.blocks.len()) as u16);
        }
        Guard { first, count }
    };
    for _ in 0..random.below(6) {
        plan.flat.push(FlatSource {
            node: pick(random, &any),
            guard: guard(random),
        });
    }
    for _ in 0..random.below(5) {
        let kind = [
            DescriptorKind::Buffer,
            DescriptorKind::Image,
            DescriptorKind::Sampler,
        ][random.below(3)];
        let first = plan.words.len() as u16;
        // Nodes made one after the other are often loads of one descriptor.
        let start = random.below(any.len());
        for i in 0..kind.words() {
            let node = if chance(random, 90) {
                any[(start + i) % any.len()]
            } else {
                pick(random, &any)
            };
            plan.words.push(node);
        }
        plan.descriptors.push(DescriptorSource {
            kind,
            access: AccessFlags::READ,
            dim: None,
            guard: guard(random),
            first,
        });
    }
    plan.link();
    plan
}

#[test]
fn the_tape_agrees_with_the_evaluator_in_every_output_or_hands_back() {
    let walks: usize = std::env::var("PROPTEST_CASES").map_or(100_000, |cases| cases.parse().unwrap());
    let mut random = Random(0x005e_ed0f_7a9e);
    let mut scratch = Scratch::default();
    let (mut done, mut finished, mut active, mut reads) = (0, 0, [0_usize; 2], 0);
    let mut expected = Evaluation::default();
    while done < walks {
        let plan = random_plan(&mut random);
        let tape = Tape::compile(&plan).expect("a plan of this size fits");
        let memory = Memory::random(&mut random);
        let shader_base = GuestAddress(u64::from(pointer(&mut random)));
        for rows in [1, 2 + random.below(7), 9 + random.below(56)] {
            // Mostly pointers where the plan takes words for such, and sometimes fewer words than it asks for.
            let user_data: Vec<Vec<u32>> = (0..rows)
                .map(|_| {
                    let count = if chance(&mut random, 90) {
                        6
                    } else {
                        random.below(6)
                    };
                    let mut value = |number| match number {
                        0..4 if chance(&mut random, 90) => pointer(&mut random),
                        _ => word(&mut random),
                    };
                    (0..count).map(&mut value).collect()
                })
                .collect();
            let user_data: Vec<&[u32]> = user_data.iter().map(Vec::as_slice).collect();
            let batch = Batch {
                user_data: &user_data,
                shader_base,
                memory: &memory,
            };
            let out = tape.run(&plan, &batch, &mut scratch);
            assert_eq!(out & !(u64::MAX >> (64 - rows)), 0, "rows that there are not");
            for (row, user_data) in user_data.iter().enumerate() {
                let inputs = Inputs {
                    user_data,
                    shader_base,
                    memory: &memory,
                };
                let result = evaluate(&plan, &inputs, &mut expected);
                done += 1;
                if out >> row & 1 == 0 {
                    let may_fail = plan.blocks.iter().any(|block| block.condition.is_some());
                    assert!(result.is_err() || may_fail, "handed back without need: {plan:#?}");
                    continue;
                }
                finished += 1;
                assert_eq!(
                    result,
                    Ok(()),
                    "the tape has a result where the evaluator has none: {plan:#?}"
                );
                let mut found = Evaluation::default();
                tape.words(&plan, &scratch, row, &mut found);
                tape.reads(&scratch, row, &mut found);
                tape.uses(&scratch, row, &mut found);
                assert_eq!(
                    expected.difference(&found),
                    None,
                    "row {row} of {rows}: {plan:#?}"
                );
                for flag in &found.active {
                    active[usize::from(*flag)] += 1;
                }
                reads += found.reads.len();
            }
        }
    }
    // Enough of all this must have happened for the test to mean anything.
    assert!(finished * 3 > done, "{finished} of {done} walks finished");
    assert!(
        active[0] * 20 > active[1],
        "{active:?} descriptors inactive and active"
    );
    assert!(reads > done, "{reads} reads in {done} walks");
}

#[test]
fn plans_are_the_same_once_stored_and_damaged_ones_are_refused_or_can_be_walked() {
    let mut random = Random(0xc0dec);
    let mut scratch = Scratch::default();
    let (mut refused, mut walked) = (0, 0);
    for _ in 0..300 {
        let plan = random_plan(&mut random);
        let bytes = plan.encode().expect("there is memory");
        assert_eq!(ResourcePlan::decode(&bytes).as_ref(), Ok(&plan));
        for end in 0..bytes.len() {
            assert!(
                ResourcePlan::decode(&bytes[..end]).is_err(),
                "cut at {end}: {plan:#?}"
            );
        }
        let memory = Memory::random(&mut random);
        for _ in 0..50 {
            let mut damaged = bytes.clone();
            damaged[random.below(bytes.len())] ^= 1 << random.below(8);
            let Ok(plan) = ResourcePlan::decode(&damaged) else {
                refused += 1;
                continue;
            };
            walked += 1;
            let inputs = Inputs {
                user_data: &[BASE; 6],
                shader_base: GuestAddress(0x1000),
                memory: &memory,
            };
            let _ = evaluate(&plan, &inputs, &mut Evaluation::default());
            if let Some(tape) = Tape::compile(&plan) {
                tape.evaluate(&plan, &inputs, &mut scratch, &mut Evaluation::default());
            }
        }
    }
    assert!(
        refused > 1000 && walked > 1000,
        "{refused} refused, {walked} walked"
    );
    let mut other = random_plan(&mut random).encode().expect("there is memory");
    other[0] += 1;
    let error = ResourcePlan::decode(&other)
        .expect_err("another version")
        .to_string();
    assert!(error.contains("version 2"), "{error}");
}

#[test]
fn a_difference_in_any_output_is_named() {
    let mut random = Random(7);
    // A walk with all outputs.
    let whole = loop {
        let plan = random_plan(&mut random);
        let memory = Memory::random(&mut random);
        let user_data = [0; 4].map(|_| pointer(&mut random));
        let inputs = Inputs {
            user_data: &user_data,
            shader_base: GuestAddress(0x1000),
            memory: &memory,
        };
        let mut out = Evaluation::default();
        let done = evaluate(&plan, &inputs, &mut out).is_ok();
        if done
            && !out.flat.is_empty()
            && out.words.len() > 8
            && out.reads.len() > 1
            && out.reads.iter().any(|r| r.origin.is_some())
        {
            break out;
        }
    };
    assert_eq!(whole.difference(&whole), None);
    let mutations: [(&str, fn(&mut Evaluation)); 9] = [
        ("descriptor words", |out| out.words[3] ^= 1),
        ("flat words", |out| out.flat[0] ^= 1),
        ("image activity", |out| out.active[0] = !out.active[0]),
        ("reads", |out| out.reads.truncate(1)),
        ("reads", |out| out.reads.swap(0, 1)),
        ("trace", |out| out.reads[0].leaf = !out.reads[0].leaf),
        ("user data use", |out| out.reads[0].origin = Some(63)),
        ("user data use", |out| out.user_data.as_value ^= 1 << 5),
        ("user data use", |out| out.user_data.as_base ^= 1 << 5),
    ];
    for (name, mutate) in mutations {
        let mut other = whole.clone();
        mutate(&mut other);
        assert_eq!(whole.difference(&other), Some(name));
        assert_eq!(other.difference(&whole), Some(name));
    }
}
