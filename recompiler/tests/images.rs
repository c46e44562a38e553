//! Image instructions on a Vulkan device, one at a time, against an independent model.
//!
//! 64 lanes, one for each texel of an image of 8 by 8 with three levels; EXEC is off in some. The sampler takes the
//! nearest texel of the nearest level, so that every result is exact. Addresses come in sequence and not in sequence,
//! as 32-bit and as 16-bit numbers. Without a Vulkan device the tests say that they skip.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

#[path = "instructions/assemble.rs"]
#[expect(dead_code, reason = "shared with the tests of arithmetic")]
mod assemble;
mod device;
#[path = "device/images.rs"]
mod pictures;
mod validate;

use ash::vk;
use assemble::{first_words, fixed, vgpr};
use device::{Bound, Device};
use relic_core::GuestAddress;
use relic_recompiler::{
    BufferShape, DescriptorKind, Dialect, Evaluation, FlatLocation, ImageShape, Inputs, NumericClass,
    PlanMemory, Profile, ProgramCounter, ShaderBinary, Specialization, StageRegisters, analyse, disassemble,
    evaluate,
};
use validate::spirv_val;

const SIDE: u32 = 8;
const LEVELS: u32 = 3;
const LANES: usize = 64;
const CASE_WORDS: usize = 20;
const DST: u32 = 28;
const MASK: u32 = 24;

// VGPRs of a lane's case: its words from 4 on.
const DATA: u8 = 4;
const X: u8 = 8;
const Y: u8 = 9;
const LEVEL: u8 = 10;
const U: u8 = 12;
const V: u8 = 13;
const LOD: u8 = 14;
const SLOPES: [u8; 4] = [15, 16, 17, 18];
const SHORT_SLOPES: [u8; 2] = [19, 20];
const SHORT_XY: u8 = 21;
const SHORT_UV: u8 = 22;
/// One texel to the right and one up, in six bits each.
const OFFSET: u8 = 24;
const OFFSET_BITS: u32 = 0x3f01;

/// What is known of a lane: texel, level, the four words of data.
struct Lane {
    x: u32,
    y: u32,
    level: u32,
    data: [u32; 4],
}

/// The image: texels of all levels.
struct Image(Vec<[u32; 4]>);

impl Image {
    fn place(level: u32, x: u32, y: u32) -> usize {
        let before: u32 = (0..level).map(|level| (SIDE >> level) * (SIDE >> level)).sum();
        (before + y * (SIDE >> level) + x) as usize
    }

    fn texel(&self, level: u32, x: u32, y: u32) -> [u32; 4] {
        self.0[Self::place(level, x, y)]
    }
}

enum Act {
    /// The four components that are read.
    Read(fn(&Image, &Lane) -> [u32; 4]),
    Store,
    /// (texel, data, what to compare with).
    Atomic(fn(u32, u32, u32) -> u32),
}

struct Row {
    name: &'static str,
    addresses: Vec<u8>,
    dmask: u32,
    a16: bool,
    d16: bool,
    act: Act,
}

fn read(name: &'static str, addresses: &[u8], model: fn(&Image, &Lane) -> [u32; 4]) -> Row {
    Row {
        name,
        addresses: addresses.to_vec(),
        dmask: 15,
        a16: false,
        d16: false,
        act: Act::Read(model),
    }
}

fn atomic(name: &'static str, model: fn(u32, u32, u32) -> u32) -> Row {
    Row {
        act: Act::Atomic(model),
        ..read(name, &[X, Y], |_, _| [0; 4])
    }
}

/// The texel of a level that lies where the lane's one of the first level does.
fn at_level(image: &Image, lane: &Lane) -> [u32; 4] {
    image.texel(lane.level, lane.x >> lane.level, lane.y >> lane.level)
}

fn at_base(image: &Image, lane: &Lane) -> [u32; 4] {
    image.texel(0, lane.x, lane.y)
}

/// A texel to the right and one up, at the edge the edge's.
fn beside(image: &Image, lane: &Lane) -> [u32; 4] {
    image.texel(0, (lane.x + 1).min(SIDE - 1), lane.y.saturating_sub(1))
}

/// The second component of the four texels around the corner right below a texel's middle: counter-clockwise from the
/// lower left.
fn around(image: &Image, lane: &Lane) -> [u32; 4] {
    let (right, down) = ((lane.x + 1).min(SIDE - 1), (lane.y + 1).min(SIDE - 1));
    [(lane.x, down), (right, down), (right, lane.y), (lane.x, lane.y)].map(|(x, y)| image.texel(0, x, y)[1])
}

fn reads() -> Vec<Row> {
    let with = |row: Row, dmask: u32| Row { dmask, ..row };
    let short = |row: Row| Row { a16: true, ..row };
    let [dx, sx, dy, sy] = SLOPES;
    let slopes = [dx, sx, dy, sy, U, V];
    let short_slopes = [SHORT_SLOPES[0], SHORT_SLOPES[1], U, V];
    vec![
        read("image_load", &[X, Y], at_base),
        with(read("image_load", &[X, Y], at_base), 1),
        with(
            read("image_load", &[Y, X], |image, lane| {
                image.texel(0, lane.y, lane.x)
            }),
            10,
        ),
        short(read("image_load", &[SHORT_XY], at_base)),
        Row {
            d16: true,
            ..read("image_load", &[X, Y], |image, lane| {
                let halves = at_base(image, lane).map(|word| half(f32::from_bits(word)));
                [halves[0] | halves[1] << 16, halves[2] | halves[3] << 16, 0, 0]
            })
        },
        // The coordinates are the level's own.
        read("image_load_mip", &[X, Y, LEVEL], |image, lane| {
            let side = SIDE >> lane.level;
            if lane.x < side && lane.y < side {
                image.texel(lane.level, lane.x, lane.y)
            } else {
                [0; 4]
            }
        }),
        read("image_get_resinfo", &[LEVEL], |_, lane| {
            [SIDE >> lane.level, SIDE >> lane.level, 1, LEVELS]
        }),
        read("image_sample_lz", &[U, V], at_base),
        short(read("image_sample_lz", &[SHORT_UV], at_base)),
        with(read("image_sample_lz", &[U, V], at_base), 6),
        // Compute has no neighbours to tell a level.
        read("image_sample", &[U, V], at_base),
        read("image_sample_l", &[U, V, LOD], at_level),
        read("image_sample_d", &slopes, at_level),
        read("image_sample_cd", &slopes, at_level),
        read("image_sample_d_g16", &short_slopes, at_level),
        read("image_sample_cd_g16", &short_slopes, at_level),
        read("image_sample_lz_o", &[OFFSET, U, V], beside),
        with(read("image_gather4_lz", &[25, 26], around), 2),
    ]
}

fn stores() -> Vec<Row> {
    vec![
        Row {
            act: Act::Store,
            ..read("image_store", &[X, Y], at_base)
        },
        Row {
            act: Act::Store,
            a16: true,
            ..read("image_store", &[SHORT_XY], at_base)
        },
    ]
}

fn atomics() -> Vec<Row> {
    vec![
        atomic("image_atomic_swap", |_, a, _| a),
        atomic("image_atomic_cmpswap", |m, a, b| if m == b { a } else { m }),
        atomic("image_atomic_add", |m, a, _| m.wrapping_add(a)),
        atomic("image_atomic_sub", |m, a, _| m.wrapping_sub(a)),
        atomic("image_atomic_smin", |m, a, _| {
            m.cast_signed().min(a.cast_signed()).cast_unsigned()
        }),
        atomic("image_atomic_umin", |m, a, _| m.min(a)),
        atomic("image_atomic_smax", |m, a, _| {
            m.cast_signed().max(a.cast_signed()).cast_unsigned()
        }),
        atomic("image_atomic_umax", |m, a, _| m.max(a)),
        atomic("image_atomic_and", |m, a, _| m & a),
        atomic("image_atomic_or", |m, a, _| m | a),
        atomic("image_atomic_xor", |m, a, _| m ^ a),
        atomic("image_atomic_inc", |m, a, _| if m >= a { 0 } else { m + 1 }),
        atomic(
            "image_atomic_dec",
            |m, a, _| if m == 0 || m > a { a } else { m - 1 },
        ),
        atomic("image_atomic_fmin", |m, a, _| {
            if f32::from_bits(a) < f32::from_bits(m) {
                a
            } else {
                m
            }
        }),
        atomic("image_atomic_fmax", |m, a, _| {
            if f32::from_bits(a) > f32::from_bits(m) {
                a
            } else {
                m
            }
        }),
        atomic("image_atomic_fcmpswap", |m, a, b| {
            if f32::from_bits(m) == f32::from_bits(b) {
                a
            } else {
                m
            }
        }),
    ]
}

/// A float that a half can hold, as one.
fn half(value: f32) -> u32 {
    if value == 0.0 {
        return 0;
    }
    let bits = value.to_bits();
    (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff)
}

fn encode(row: &Row, first: u32) -> Vec<u32> {
    let (address, rest) = row.addresses.split_first().expect("an address");
    let sequence = rest
        .iter()
        .zip(1..)
        .all(|(register, step)| *register == address + step);
    let further = if sequence {
        0
    } else {
        rest.len().div_ceil(4) as u32
    };
    let returns = u32::from(matches!(row.act, Act::Atomic(_)));
    let data = if matches!(row.act, Act::Read(_)) {
        DST
    } else {
        DATA.into()
    };
    // Atomics give the old texel back where their data was, so that they work on a copy.
    let data = if returns == 1 { DST } else { data };
    let mut words = vec![
        (first & 0xfdfc_0001) | returns << 13 | row.dmask << 8 | 1 << 3 | further << 1,
        u32::from(*address)
            | data << 8
            | 2 << 16
            | if row.name.contains("sample") || row.name.contains("gather") {
                4 << 21
            } else {
                0
            }
            | u32::from(row.a16) << 30
            | u32::from(row.d16) << 31,
    ];
    if further > 0 {
        let mut bytes = rest.to_vec();
        bytes.resize(4 * further as usize, 0);
        words.extend(
            bytes
                .chunks_exact(4)
                .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))),
        );
    }
    words
}

fn frame(words: &[u32]) -> Vec<u32> {
    let load = |dst: u32, offset: u32| [0xe038_1000 | offset, 2 | dst << 8 | 1 << 16 | 128 << 24];
    let mut code = Vec::new();
    code.extend(fixed::s_mov_literal(22, 4 * CASE_WORDS as u32));
    code.extend(fixed::v_mul_lo(2, vgpr(0), 22));
    for quad in 0..CASE_WORDS as u32 / 4 {
        code.extend(load(4 + 4 * quad, 16 * quad));
    }
    code.push(fixed::v_lshlrev(3, 128 + 4, 0));
    code.push(fixed::v_mov(OFFSET.into(), 255));
    code.push(OFFSET_BITS);
    // A corner: half a texel right and down.
    code.extend([0x0600_00ff | 25 << 17 | u32::from(U) << 9, 0x3d80_0000]);
    code.extend([0x0600_00ff | 26 << 17 | u32::from(V) << 9, 0x3d80_0000]);
    for register in 0..4 {
        code.push(fixed::v_mov(DST + register, vgpr(u32::from(DATA) + register)));
    }
    code.push(fixed::WAIT);
    code.extend(fixed::v_cmp_eq_u32(MASK, 129, vgpr(11)));
    code.push(fixed::s_mov_b64(126, MASK));
    code.extend(words);
    code.push(fixed::s_mov_b64(126, 193));
    code.push(fixed::WAIT);
    code.extend([0xe078_1000, 3 | DST << 8 | 128 << 24, fixed::END]);
    code
}

fn random(state: &mut u64) -> u32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as u32
}

struct Nothing;

impl PlanMemory for Nothing {
    fn read_u32(&self, _: GuestAddress) -> Option<u32> {
        None
    }
}

fn check(rows: &[Row], format: vk::Format, shape: ImageShape) {
    let Some(mut device) = Device::open() else {
        eprintln!("no Vulkan device: images are skipped");
        return;
    };
    let texel_words = if shape.r32 { 1 } else { 4 };
    let first = first_words();
    let mut wrong = Vec::new();
    for row in rows {
        let mut state = 9;
        let words = encode(row, *first.get(row.name).expect("a vector of the name"));
        let (text, length) = disassemble(&words, ProgramCounter(0), Dialect::Gfx1013)
            .unwrap_or_else(|reason| panic!("{}: {reason}", row.name));
        assert!(
            text.starts_with(row.name) && length as usize == 4 * words.len(),
            "{text}"
        );
        let count = Image::place(LEVELS, 0, 0);
        // Floats that halves can hold; bits of any kind for integers.
        let image = Image(
            (0..count)
                .map(|_| {
                    std::array::from_fn(|_| {
                        let bits = random(&mut state);
                        if shape.class == NumericClass::Float {
                            (bits as i32 % 2048) as f32
                        } else {
                            return match bits % 4 {
                                0 => bits % 3,
                                1 => (bits as f32).to_bits(),
                                _ => bits.wrapping_mul(0x9e37_79b9),
                            };
                        }
                        .to_bits()
                    })
                })
                .collect(),
        );
        let mut lanes = Vec::new();
        let mut cases = Vec::new();
        for number in 0..LANES as u32 {
            let (x, y, level) = ((number % 8) ^ 5, number / 8, random(&mut state) % LEVELS);
            let stored = image.texel(0, x, y);
            let data: [u32; 4] = std::array::from_fn(|index| match random(&mut state) % 3 {
                // What is there, so that comparing exchanges exchange.
                0 => stored[0],
                1 if index == 0 => stored[1],
                _ => (random(&mut state) as f32).to_bits(),
            });
            let on = u32::from(!random(&mut state).is_multiple_of(4));
            let place = |at: u32| (at as f32 + 0.5) / 8.0;
            let slope = (1 << level) as f32 / 8.0;
            let mut case = data.to_vec();
            case.extend([x, y, level, on]);
            case.extend([place(x), place(y), level as f32, slope, 0.0, 0.0, slope].map(f32::to_bits));
            case.extend([half(slope), half(slope) << 16]);
            case.push(x | y << 16);
            case.push(half(place(x)) | half(place(y)) << 16);
            case.resize(CASE_WORDS, 0);
            cases.push(case);
            lanes.push((Lane { x, y, level, data }, on == 1));
        }
        let code = frame(&words);
        let (results, input) = (16 * LANES, 4 * CASE_WORDS * LANES);
        let (at_input, at_image) = (4096, 16384);
        device.allocate(65536);
        let texels: Vec<u8> = image
            .0
            .iter()
            .flat_map(|texel| &texel[..texel_words])
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let case_bytes: Vec<u8> = cases
            .iter()
            .flatten()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        device.bytes()[at_input..at_input + input].copy_from_slice(&case_bytes);
        device.bytes()[at_image..at_image + texels.len()].copy_from_slice(&texels);
        device.set_image(format, SIDE, LEVELS, 4 * texel_words as u32, at_image as u64);
        let binary = ShaderBinary {
            stage: StageRegisters::Compute {
                rsrc1: 0xc0 << 12 | 1 << 21 | 15,
                rsrc2: 20 << 1,
                rsrc3: 0,
                num_thread: [LANES as u32, 1, 1],
                wave32: false,
                scratch: 0,
            },
            dialect: Dialect::Gfx1013,
            address: GuestAddress(0x1_0000),
            code: &code,
        };
        let program = analyse(&binary, &Profile::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
        let mut user_data = vec![0x10_0000, 0, results as u32, 0x3101_6fac];
        user_data.extend([0x20_0000, 0, input as u32, 0x3101_6fac]);
        user_data.extend([0x1234; 12]);
        let inputs = Inputs {
            user_data: &user_data,
            shader_base: GuestAddress(0x1_0000),
            memory: &Nothing,
        };
        let mut evaluation = Evaluation::default();
        evaluate(program.plan(), &inputs, &mut evaluation).expect("a plan of user data");
        let mut specialization = Specialization {
            flat: FlatLocation::PushConstants { offset: 0 },
            ..Specialization::default()
        };
        let mut bound = Vec::new();
        for (index, descriptor) in program.plan().descriptors.iter().enumerate() {
            let words = evaluation.descriptor(program.plan(), index);
            let (offset, size) = if words[0] == 0x10_0000 {
                (0, results)
            } else {
                (at_input, input)
            };
            bound.push(Bound {
                offset: offset as u64,
                size: size as u64,
            });
            match descriptor.kind {
                DescriptorKind::Buffer => specialization.buffers.push(BufferShape::from_words(
                    words.try_into().expect("a V#"),
                    program.plan().alignment,
                )),
                DescriptorKind::Image => specialization.images.push(shape),
                DescriptorKind::Sampler => {}
            }
        }
        let artifact = program
            .specialise(&specialization)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        if let Some(Err(why)) = spirv_val(&artifact.spirv) {
            panic!("{text}: spirv-val: {why}");
        }
        device.dispatch(&artifact, &bound, &evaluation.flat, [1, 1, 1]);
        let word = |bytes: &[u8], at: usize| {
            u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four bytes"))
        };
        let found: Vec<u32> = (0..4 * LANES).map(|at| word(device.bytes(), at)).collect();
        device.read_image(SIDE, 4 * texel_words as u32, at_image as u64);
        let after: Vec<u32> = (0..LANES * texel_words)
            .map(|at| word(&device.bytes()[at_image..], at))
            .collect();
        let mut expected_image: Vec<[u32; 4]> = image.0[..LANES].to_vec();
        for (number, (lane, on)) in lanes.iter().enumerate() {
            let mut dst = lane.data;
            let place = Image::place(0, lane.x, lane.y);
            if *on {
                match row.act {
                    Act::Read(model) => {
                        let texel = model(&image, lane);
                        if row.d16 {
                            dst[..2].copy_from_slice(&texel[..2]);
                        } else if row.name.contains("gather") {
                            dst = texel;
                        } else {
                            let taken = (0..4).filter(|component| row.dmask >> component & 1 != 0);
                            for (slot, component) in dst.iter_mut().zip(taken) {
                                *slot = texel[component];
                            }
                        }
                    }
                    Act::Store => expected_image[place] = lane.data,
                    Act::Atomic(model) => {
                        let old = expected_image[place][0];
                        expected_image[place][0] = model(old, lane.data[0], lane.data[1]);
                        dst[0] = old;
                    }
                }
            }
            let result = &found[4 * number..4 * number + 4];
            let same = result == dst || {
                // A NaN is as good as any other.
                row.name.contains("_f") && result[1..] == dst[1..] && f32::from_bits(dst[0]).is_nan()
            };
            if !same {
                wrong.push(format!("{text}: lane {number} {result:x?}, not {dst:x?}"));
                break;
            }
        }
        let expected: Vec<u32> = expected_image
            .iter()
            .flat_map(|texel| &texel[..texel_words])
            .copied()
            .collect();
        if let Some(at) = (0..after.len()).find(|at| after[*at] != expected[*at]) {
            wrong.push(format!(
                "{text}: word {at} of the image is {:x}, not {:x}",
                after[at], expected[at]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn reads_of_floats() {
    let shape = ImageShape {
        class: NumericClass::Float,
        r32: false,
    };
    check(&reads(), vk::Format::R32G32B32A32_SFLOAT, shape);
}

#[test]
fn stores_of_floats() {
    let shape = ImageShape {
        class: NumericClass::Float,
        r32: false,
    };
    check(&stores(), vk::Format::R32G32B32A32_SFLOAT, shape);
}

#[test]
fn stores_of_integers() {
    for (format, class) in [
        (vk::Format::R32G32B32A32_UINT, NumericClass::Uint),
        (vk::Format::R32G32B32A32_SINT, NumericClass::Sint),
    ] {
        check(&stores(), format, ImageShape { class, r32: false });
    }
}

#[test]
fn atomics_on_words() {
    for (format, class) in [
        (vk::Format::R32_UINT, NumericClass::Uint),
        (vk::Format::R32_SINT, NumericClass::Sint),
    ] {
        check(&atomics(), format, ImageShape { class, r32: true });
    }
}
