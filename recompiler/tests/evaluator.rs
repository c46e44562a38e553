//! The plan's evaluator, node by node: a plan is made by hand, and a walk's words or error are compared.

use relic_core::GuestAddress;
use relic_recompiler::plan::{FlatSource, Guard, Node, NodeId, NodeOp, PlanBlock};
use relic_recompiler::{
    AccessFlags, DescriptorKind, DescriptorSource, EvaluateError, Evaluation, Inputs, PlanMemory,
    ResourcePlan, Use, evaluate,
};

/// Dwords from one address on; nothing else is mapped.
struct Memory {
    start: u64,
    words: Vec<u32>,
}

impl PlanMemory for Memory {
    fn read_u32(&self, address: GuestAddress) -> Option<u32> {
        assert_eq!(address.0 % 4, 0, "an unaligned read at {address}");
        let index = address.0.checked_sub(self.start)? / 4;
        self.words.get(usize::try_from(index).ok()?).copied()
    }
}

/// A plan under construction, whose flat words are what a test looks at.
#[derive(Default)]
struct Plan(ResourcePlan);

impl Plan {
    fn node(&mut self, op: NodeOp, operands: &[NodeId], immediate: u32) -> NodeId {
        self.0.nodes.push(Node::new(op, operands, immediate));
        NodeId((self.0.nodes.len() - 1) as u16)
    }

    fn constant(&mut self, bits: u32) -> NodeId {
        self.node(NodeOp::Const, &[], bits)
    }

    /// The value of `node`, or why it has none, with user data 0x11, 0x22 and four words at 0x1000.
    fn value(&mut self, node: NodeId) -> Result<u32, EvaluateError> {
        self.0.flat = vec![always(node)];
        self.0.link();
        let memory = Memory {
            start: 0x1000,
            words: vec![0xa0, 0xa1, 0xa2, 0xa3],
        };
        let mut out = Evaluation::default();
        evaluate(&self.0, &inputs(&memory), &mut out).map(|()| out.flat[0])
    }
}

fn always(node: NodeId) -> FlatSource {
    FlatSource {
        node,
        guard: Guard::default(),
    }
}

fn inputs(memory: &Memory) -> Inputs<'_, Memory> {
    Inputs {
        user_data: &[0x11, 0x22],
        shader_base: GuestAddress(0x1_2345_6700),
        memory,
    }
}

#[test]
fn operations_compute_on_words() {
    use NodeOp::*;
    // Operation, operands, value.
    let cases: &[(NodeOp, &[u32], u32)] = &[
        (Add, &[u32::MAX, 2], 1),
        (Sub, &[1, 2], u32::MAX),
        (Mul, &[0x1_0001, 0x1_0000], 0x1_0000),
        (MulHigh, &[0x8000_0000, 6], 3),
        (And, &[0b1100, 0b1010], 0b1000),
        (Or, &[0b1100, 0b1010], 0b1110),
        (Xor, &[0b1100, 0b1010], 0b0110),
        (Not, &[1], !1),
        (ShiftLeft, &[3, 33], 6),
        (ShiftRight, &[0x8000_0000, 63], 1),
        (ShiftRightSigned, &[0x8000_0000, 31], u32::MAX),
        (MinUnsigned, &[u32::MAX, 1], 1),
        (MaxUnsigned, &[u32::MAX, 1], u32::MAX),
        (MinSigned, &[u32::MAX, 1], u32::MAX),
        (MaxSigned, &[u32::MAX, 1], 1),
        (Equal, &[4, 4], 1),
        (NotEqual, &[4, 4], 0),
        (LessUnsigned, &[u32::MAX, 1], 0),
        (LessSigned, &[u32::MAX, 1], 1),
        (BitfieldUnsigned, &[0xdead_beef, 8, 12], 0xdbe),
        (BitfieldSigned, &[0xdead_beef, 8, 12], 0xffff_fdbe),
        (BitfieldUnsigned, &[0xdead_beef, 0, 32], 0xdead_beef),
        (BitfieldUnsigned, &[0xdead_beef, 32, 0], 0),
        (BitfieldSigned, &[0xdead_beef, 5, 0], 0),
    ];
    for &(op, operands, value) in cases {
        let mut plan = Plan::default();
        let operands: Vec<_> = operands.iter().map(|bits| plan.constant(*bits)).collect();
        let node = plan.node(op, &operands, 0);
        assert_eq!(plan.value(node), Ok(value), "{op:?}");
    }
}

#[test]
fn inputs_are_user_data_and_the_programs_address() {
    let mut plan = Plan::default();
    let nodes = [
        plan.node(NodeOp::UserData, &[], 1),
        plan.node(NodeOp::UserData, &[], 2),
        plan.node(NodeOp::ShaderBaseLow, &[], 0),
        plan.node(NodeOp::ShaderBaseHigh, &[], 0),
    ];
    let values = nodes.map(|node| plan.value(node));
    assert_eq!(values, [Ok(0x22), Ok(0), Ok(0x2345_6700), Ok(1)]);
}

#[test]
fn bit_fields_that_leave_the_word_are_errors() {
    for (offset, width) in [(1, 32), (32, 1), (u32::MAX, 2)] {
        for op in [NodeOp::BitfieldUnsigned, NodeOp::BitfieldSigned] {
            let mut plan = Plan::default();
            let operands = [7, offset, width].map(|bits| plan.constant(bits));
            let node = plan.node(op, &operands, 0);
            assert_eq!(
                plan.value(node),
                Err(EvaluateError::BitfieldRange { offset, width })
            );
        }
    }
}

#[test]
fn address_loads_mask_bases_and_align_every_part() {
    let load = |low: u32, high: u32, offset: u32, immediate: u32| {
        let mut plan = Plan::default();
        let operands = [low, high, offset].map(|bits| plan.constant(bits));
        let node = plan.node(NodeOp::LoadAddress, &operands, immediate);
        plan.value(node)
    };
    assert_eq!(load(0x1000, 0, 0, 4), Ok(0xa1));
    // Bits above 48 of a base are no part of the address.
    assert_eq!(load(0x1000, 0xabcd_0000, 0, 0), Ok(0xa0));
    assert_eq!(
        load(0x1000, 0x1_0001, 0, 0),
        Err(EvaluateError::Inaccessible(GuestAddress(0x1_0000_1000)))
    );
    // Base, offset and immediate each lose their low two bits.
    assert_eq!(load(0x1003, 0, 7, 3), Ok(0xa1));
    // The immediate is signed.
    assert_eq!(load(0x1004, 0, 4, (-4_i32).cast_unsigned()), Ok(0xa1));
    assert_eq!(
        load(0, 0, 0, (-4_i32).cast_unsigned()),
        Err(EvaluateError::Overflow)
    );
    assert_eq!(
        load(0x1010, 0, 0, 0),
        Err(EvaluateError::Inaccessible(GuestAddress(0x1010)))
    );
}

#[test]
fn buffer_loads_are_zero_past_the_end() {
    // Stride, records, offset, immediate: the byte extent is their product, or the records where there is no stride.
    let load = |stride: u32, records: u32, offset: u32, immediate: u32| {
        let mut plan = Plan::default();
        let operands = [0x1000, stride << 16, records, offset].map(|bits| plan.constant(bits));
        let node = plan.node(NodeOp::BufferLoad, &operands, immediate);
        plan.value(node)
    };
    assert_eq!(load(0, 16, 12, 0), Ok(0xa3));
    assert_eq!(load(0, 16, 8, 4), Ok(0xa3));
    assert_eq!(load(0, 16, 16, 0), Ok(0));
    assert_eq!(load(0, 14, 12, 0), Ok(0), "a dword that straddles the end");
    assert_eq!(load(0, 14, 8, 0), Ok(0xa2));
    assert_eq!(load(4, 4, 12, 0), Ok(0xa3));
    assert_eq!(load(4, 3, 12, 0), Ok(0));
    assert_eq!(load(0, 16, 14, 1), Ok(0xa3), "the sum is aligned, not its parts");
    // Offsets add up beyond 32 bits without wrapping back into the buffer.
    assert_eq!(load(0, 16, u32::MAX, 5), Ok(0));
    // Inside the extent, but nothing is mapped.
    assert_eq!(
        load(0, 64, 16, 0),
        Err(EvaluateError::Inaccessible(GuestAddress(0x1010)))
    );
}

#[test]
fn only_the_chosen_arm_of_a_select_is_walked() {
    for (condition, expected) in [
        (1, Ok(7)),
        (u32::MAX, Ok(7)),
        (0, Err(EvaluateError::Inaccessible(GuestAddress(0)))),
    ] {
        let mut plan = Plan::default();
        let [condition, zero, seven] = [condition, 0, 7].map(|bits| plan.constant(bits));
        let unmapped = plan.node(NodeOp::LoadAddress, &[zero, zero, zero], 0);
        let node = plan.node(NodeOp::Select, &[condition, seven, unmapped], 0);
        assert_eq!(plan.value(node), expected);
    }
}

#[test]
fn nesting_ends_with_an_error_not_with_the_stack() {
    let chain = |length: u32| {
        let mut plan = Plan::default();
        let one = plan.constant(1);
        let mut node = one;
        for _ in 0..length {
            node = plan.node(NodeOp::Add, &[node, one], 0);
        }
        plan.value(node)
    };
    assert_eq!(chain(500), Ok(501));
    assert_eq!(chain(50_000), Err(EvaluateError::TooDeep));
}

#[test]
fn descriptors_flat_words_residuals_and_reads_come_in_plan_order() {
    let mut plan = Plan::default();
    let [low, zero] = [0x1000, 0].map(|bits| plan.constant(bits));
    let words: Vec<_> = (0..4)
        .map(|index| plan.node(NodeOp::LoadAddress, &[low, zero, zero], 4 * index))
        .collect();
    let user = plan.node(NodeOp::UserData, &[], 0);
    let odd = plan.constant(0x2003);
    let mut source = |kind, words: &[NodeId]| {
        let first = plan.0.words.len() as u16;
        plan.0.words.extend(words);
        plan.0.descriptors.push(DescriptorSource {
            kind,
            access: AccessFlags::READ,
            dim: None,
            guard: Guard::default(),
            first,
        });
    };
    source(DescriptorKind::Buffer, &words);
    source(DescriptorKind::Sampler, &[zero, zero, zero, low]);
    source(DescriptorKind::Buffer, &[odd, zero, zero, zero]);
    plan.0.flat = vec![always(user)];
    plan.0.alignment = 16;
    plan.0.link();
    assert_eq!(plan.0.flat_words(), 2);
    let memory = Memory {
        start: 0x1000,
        words: vec![0x1008, 0xa1, 0xa2, 0xa3],
    };
    let mut out = Evaluation::default();
    // Twice: buffers that are used again must not remember.
    for _ in 0..2 {
        evaluate(&plan.0, &inputs(&memory), &mut out).expect("all is mapped");
        assert_eq!(out.descriptor(&plan.0, 0), [0x1008, 0xa1, 0xa2, 0xa3]);
        assert_eq!(out.descriptor(&plan.0, 1), [0, 0, 0, 0x1000]);
        assert_eq!(out.descriptor(&plan.0, 2), [0x2003, 0, 0, 0]);
        assert!(out.descriptor(&plan.0, 3).is_empty());
        // The value, then the residuals of both buffers, a byte each.
        assert_eq!(out.flat, [0x11, 0x0308]);
        let reads: Vec<_> = out
            .reads
            .iter()
            .map(|r| (r.range.start().0, r.range.size(), r.origin, r.leaf))
            .collect();
        assert_eq!(reads, [(0x1000, 16, None, true)]);
    }
}

#[test]
fn user_data_is_a_value_or_the_base_of_a_load() {
    let mut plan = Plan::default();
    let zero = plan.constant(0);
    let [pointer, index] = [0, 1].map(|number| plan.node(NodeOp::UserData, &[], number));
    // A pointer in user data, a pointer in memory behind it, and an offset that is a value.
    let next = plan.node(NodeOp::LoadAddress, &[pointer, zero, zero], 0);
    let word = plan.node(NodeOp::LoadAddress, &[next, zero, index], 0);
    plan.0.flat = vec![always(word)];
    plan.0.link();
    let memory = Memory {
        start: 0x1000,
        words: vec![0x1008, 0xa1, 0xa2, 0xa3],
    };
    let walk = |user_data: &[u32]| {
        let mut out = Evaluation::default();
        let inputs = Inputs {
            user_data,
            ..inputs(&memory)
        };
        evaluate(&plan.0, &inputs, &mut out).expect("all is mapped");
        out
    };
    let out = walk(&[0x1000, 4]);
    assert_eq!(out.flat, [0xa3]);
    assert_eq!(
        out.user_data,
        Use {
            as_value: 0b10,
            as_base: 0b01
        }
    );
    let reads: Vec<_> = out
        .reads
        .iter()
        .map(|r| (r.range.start().0, r.origin, r.leaf))
        .collect();
    assert_eq!(reads, [(0x1000, Some(0), false), (0x100c, None, true)]);
}

#[test]
fn what_no_reached_block_uses_is_zero_and_not_walked() {
    let mut plan = Plan::default();
    let zero = plan.constant(0);
    let one = plan.constant(0x1000);
    let condition = plan.node(NodeOp::UserData, &[], 0);
    let unknown = plan.node(NodeOp::LoadAddress, &[zero, zero, zero], 8);
    let unmapped = plan.node(NodeOp::LoadAddress, &[zero, zero, zero], 0);
    let mapped = plan.node(NodeOp::LoadAddress, &[one, zero, zero], 0);
    // 0 branches on the user data to 1 or 2, 2 to 3 on what has no value, 1 to 3.
    let block = |condition, first, count| PlanBlock {
        condition,
        first,
        count,
    };
    plan.0.edges = vec![1, 2, 3, 3, 3];
    plan.0.blocks = vec![
        block(Some(condition), 0, 2),
        block(None, 2, 1),
        block(Some(unknown), 3, 2),
        block(None, 0, 0),
    ];
    plan.0.guards = vec![1, 2, 3, 1, 2];
    let guard = |first, count| Guard { first, count };
    let used_in_1 = guard(0, 1);
    let used_in_2 = guard(1, 1);
    plan.0.flat = [
        (unmapped, used_in_1),
        (mapped, used_in_2),
        (mapped, guard(2, 1)),
        (mapped, guard(3, 2)),
    ]
    .map(|(node, guard)| FlatSource { node, guard })
    .to_vec();
    plan.0.words = vec![mapped; 4];
    plan.0.descriptors = vec![DescriptorSource {
        kind: DescriptorKind::Sampler,
        access: AccessFlags::READ,
        dim: None,
        guard: used_in_2,
        first: 0,
    }];
    plan.0.link();
    let memory = Memory {
        start: 0x1000,
        words: vec![0xa0],
    };
    let walk = |plan: &ResourcePlan, user: u32| {
        let mut out = Evaluation::default();
        let inputs = Inputs {
            user_data: &[user],
            ..inputs(&memory)
        };
        evaluate(plan, &inputs, &mut out).map(|()| (out.flat, out.words, out.active))
    };
    // The second way: its condition has no value, so both ways behind it are taken.
    let used = vec![0xa0; 4];
    assert_eq!(
        walk(&plan.0, 0),
        Ok((vec![0, 0xa0, 0xa0, 0xa0], used, vec![true]))
    );
    // The first way, where what is used is not mapped; and then with nothing that fails.
    let unmapped = EvaluateError::Inaccessible(GuestAddress(0));
    assert_eq!(walk(&plan.0, 1), Err(unmapped));
    plan.0.flat[0].node = zero;
    assert_eq!(
        walk(&plan.0, 1),
        Ok((vec![0, 0, 0xa0, 0xa0], vec![0; 4], vec![false]))
    );
}
