//! Rows to programs, programs to results, results against the model.

use super::assemble::{first_words, fixed, vgpr};
use super::device::{Bound, Device};
use super::rows::{Act, Row};
use super::validate::spirv_val;
use relic_core::GuestAddress;
use relic_recompiler::{
    BufferShape, Dialect, Evaluation, FlatLocation, Inputs, PlanMemory, Profile, Program, ProgramCounter,
    ShaderBinary, Specialization, StageRegisters, analyse, disassemble, evaluate,
    page_table::{PAGE_SIZE, PageTable},
};
use std::collections::BTreeMap;

/// Where an instruction's memory lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Shared {
        wide: bool,
    },
    /// An untyped V#; the last lanes are past its end.
    Buffer,
    /// A V# of records of 32 bytes.
    Indexed {
        swizzled: bool,
    },
    ScalarBase,
    Pointer,
    /// The lane's own memory, by SCRATCH instructions or through a V# of the ring.
    Scratch {
        ring: bool,
    },
}

impl Space {
    /// Buffer instructions have data and result in one place.
    fn in_place(self) -> bool {
        matches!(
            self,
            Self::Buffer | Self::Indexed { .. } | Self::Scratch { ring: true }
        )
    }
}

const LANES: usize = 64;
const CASES: usize = 1024;
/// Words of a case: 8 of memory, 4 and 2 of data, index and address, the address as a pointer, EXEC.
const CASE_WORDS: usize = 24;
/// Words of a result: 4 of the destination, 8 of memory.
const RESULT_WORDS: usize = 12;
const PER_PROGRAM: usize = 12;
/// Bytes of memory a lane.
const SLOT: usize = 32;
/// Where the lane's memory is that scratch instructions work on.
const SCRATCH: u32 = 16;
/// Lanes past the V#'s end.
const OUTSIDE: usize = 24;

const CODE: u64 = 0x1_0000;
const RESULTS: u64 = 0x1000_0000;
const MEMORY: u64 = 0x2000_0000;
const INPUT: u64 = 0x3000_0000;

// VGPRs.
const DATA: u32 = 12;
const SECOND: u32 = 16;
const INDEX: u32 = 18;
const ADDRESS: u32 = 19;
const POINTER: u32 = 20;
const FLAG: u32 = 22;
const DST: u32 = 24;
const READ: u32 = 28;
const OWN: u32 = 36;
const PLACE: u32 = 37;
const RESULT: u32 = 38;
const ZERO: u32 = 40;
// SGPRs.
const TESTED_V: u32 = 8;
const WHOLE_V: u32 = 12;
const BASE: u32 = 16;
const GROUP: u32 = 18;
const WAVE_PLACE: u32 = 19;
const MASK: u32 = 20;

struct Nothing;

impl PlanMemory for Nothing {
    fn read_u32(&self, _: GuestAddress) -> Option<u32> {
        None
    }
}

/// What of a row shapes the lanes' addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// Addresses are multiples of it.
    align: u32,
    /// Bytes from the address to the end of what is touched.
    span: u32,
    strided: bool,
}

impl Row {
    fn immediate(&self, space: Space) -> u32 {
        let flat = self.name.starts_with("flat");
        match self.act {
            // In elements: the second one is the first's neighbour, and comes first.
            Act::LoadTwo { .. } | Act::StoreTwo { .. } | Act::SwapTwo { .. } => {
                if self.strided() {
                    2 | 1 << 8
                } else {
                    1
                }
            }
            // In dwords.
            Act::Behind32(_) | Act::Behind64(_) => self.bytes() / 4,
            _ if flat || self.bytes() > 8 || (space == Space::Indexed { swizzled: true }) => 0,
            _ => self.bytes(),
        }
    }

    fn shape(&self, space: Space) -> Shape {
        let bytes = self.bytes();
        let two = matches!(
            self.act,
            Act::LoadTwo { .. }
                | Act::StoreTwo { .. }
                | Act::SwapTwo { .. }
                | Act::Behind32(_)
                | Act::Behind64(_)
        );
        Shape {
            align: if bytes > 8 { 16 } else { bytes },
            span: if two {
                2 * bytes
            } else {
                bytes + self.immediate(space)
            },
            strided: self.strided(),
        }
    }

    /// The register whose words the memory instruction takes and, in a buffer, gives back.
    fn loads(&self) -> bool {
        matches!(self.act, Act::Load { .. } | Act::LoadTwo { .. })
    }

    fn words(&self, space: Space, first: u32) -> Vec<u32> {
        let immediate = self.immediate(space);
        let returns = u32::from(self.returns);
        match space {
            Space::Shared { .. } => {
                // Fields that an instruction lacks are zero.
                let (mut data, mut second, mut dst) = (DATA, 0, 0);
                match self.act {
                    Act::Load { .. } | Act::LoadTwo { .. } => (data, dst) = (0, DST),
                    Act::Behind32(_) | Act::Behind64(_) => data = 0,
                    Act::Store { .. } => {}
                    Act::StoreTwo { .. } => second = SECOND,
                    Act::SwapTwo { .. } => (second, dst) = (SECOND, DST),
                    Act::Atomic32(_) | Act::Atomic64(_) => {
                        if ["cmpst", "mskor", "wrap"]
                            .iter()
                            .any(|name| self.name.contains(name))
                        {
                            second = SECOND;
                        }
                        if self.returns {
                            dst = DST;
                        }
                    }
                }
                vec![
                    (first & 0xfffc_0000) | immediate,
                    ADDRESS | data << 8 | second << 16 | dst << 24,
                ]
            }
            Space::Buffer => vec![
                (first & 0xfffc_0000) | 1 << 12 | returns << 14 | immediate,
                ADDRESS | DST << 8 | (TESTED_V / 4) << 16 | 128 << 24,
            ],
            Space::Indexed { .. } => vec![
                (first & 0xfffc_0000) | 3 << 12 | returns << 14 | immediate,
                INDEX | DST << 8 | (TESTED_V / 4) << 16 | 128 << 24,
            ],
            Space::ScalarBase => vec![
                (first & 0xfffc_c000) | returns << 16 | immediate,
                ADDRESS | DATA << 8 | BASE << 16 | DST << 24,
            ],
            Space::Scratch { ring: true } => vec![
                (first & 0xfffc_0000) | 1 << 12 | immediate,
                ADDRESS | DST << 8 | (WHOLE_V / 4) << 16 | WAVE_PLACE << 24,
            ],
            Space::Scratch { ring: false } => vec![
                (first & 0xfffc_c000) | immediate,
                ADDRESS | DATA << 8 | 0x7d << 16 | DST << 24,
            ],
            Space::Pointer => vec![
                (first & 0xfffc_c000) | returns << 16 | immediate,
                POINTER | DATA << 8 | 0x7d << 16 | DST << 24,
            ],
        }
    }
}

fn ds_b128(write: bool, register: u32, offset: u32) -> [u32; 2] {
    if write {
        [0xdb7c_0000 | offset, OWN | register << 8]
    } else {
        [0xdbfc_0000 | offset, OWN | register << 24]
    }
}

fn scratch_x4(store: bool, register: u32, offset: u32) -> [u32; 2] {
    if store {
        [0xdc78_4000 | offset, OWN | register << 8 | 0x7d << 16]
    } else {
        [0xdc38_4000 | offset, OWN | 0x7d << 16 | register << 24]
    }
}

/// Four registers of the lane's memory.
fn memory_x4(space: Space, store: bool, register: u32, offset: u32) -> [u32; 2] {
    match space {
        Space::Shared { .. } => ds_b128(store, register, offset),
        Space::Scratch { .. } => scratch_x4(store, register, offset),
        _ => buffer_x4(store, register, PLACE, WHOLE_V, offset),
    }
}

fn buffer_x4(store: bool, register: u32, address: u32, v: u32, offset: u32) -> [u32; 2] {
    let op = if store { 0xe078_1000 } else { 0xe038_1000 };
    [op | offset, address | register << 8 | (v / 4) << 16 | 128 << 24]
}

fn frame(space: Space, instances: &[(Row, Vec<u32>)]) -> Vec<u32> {
    const BARRIER: u32 = 0xbf8a_0000;
    let mut code = vec![
        fixed::s_lshl_b32(GROUP, GROUP, 128 + 6),
        fixed::v_add(1, GROUP, 0),
    ];
    let times = |code: &mut Vec<u32>, dst: u32, bytes: usize| {
        code.extend(fixed::s_mov_literal(MASK, bytes as u32));
        code.extend(fixed::v_mul_lo(dst, vgpr(1), MASK));
    };
    times(&mut code, 2, 4 * CASE_WORDS);
    times(&mut code, PLACE, SLOT);
    times(&mut code, RESULT, 4 * RESULT_WORDS * instances.len());
    code.push(if matches!(space, Space::Scratch { .. }) {
        fixed::v_mov(OWN, 128 + SCRATCH)
    } else {
        fixed::v_lshlrev(OWN, 128 + 5, 0)
    });
    for quad in 0..CASE_WORDS as u32 / 4 - 1 {
        code.extend(buffer_x4(false, 4 + 4 * quad, 2, 4, 16 * quad));
    }
    code.extend([fixed::v_mov(ZERO, 128), fixed::v_mov(ZERO + 1, 128)]);
    code.extend(fixed::v_cmp_eq_u32(MASK, 129, vgpr(FLAG)));
    if space == (Space::Shared { wide: true }) {
        // An addition of zero: it makes local data share one of 64-bit words.
        code.extend([0xd900_0000, ZERO | ZERO << 8]);
    }
    for (number, (row, words)) in instances.iter().enumerate() {
        code.extend(memory_x4(space, true, 4, 0));
        code.extend(memory_x4(space, true, 8, 16));
        let in_place = space.in_place() && !row.loads();
        for register in 0..4 {
            let from = if in_place { DATA } else { 4 };
            code.push(fixed::v_mov(DST + register, vgpr(from + register)));
        }
        code.extend([fixed::WAIT, BARRIER]);
        code.push(fixed::s_mov_b64(126, MASK));
        code.extend(words);
        code.push(fixed::s_mov_b64(126, 193));
        code.extend([fixed::WAIT, BARRIER]);
        code.extend(memory_x4(space, false, READ, 0));
        code.extend(memory_x4(space, false, READ + 4, 16));
        code.extend([fixed::WAIT, BARRIER]);
        for (quad, register) in (0_u32..).zip([DST, READ, READ + 4]) {
            let offset = 4 * RESULT_WORDS as u32 * number as u32 + 16 * quad;
            code.extend(buffer_x4(true, register, RESULT, 0, offset));
        }
    }
    code.push(fixed::END);
    code
}

/// splitmix64: the same values on every machine.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn value(state: &mut u64) -> u32 {
    const EDGES: [u32; 24] = [
        0,
        1,
        2,
        3,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0xffff_fffe,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x3f80_0000,
        0xbf80_0000,
        0x4049_0fdb,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f7f_ffff,
        0x3ff0_0000,
        0xc000_0000,
        0x7ff0_0000,
    ];
    let bits = random(state);
    if bits >> 62 == 0 {
        bits as u32
    } else {
        EDGES[bits as usize % EDGES.len()]
    }
}

fn cases(space: Space, shape: Shape) -> Vec<[u32; CASE_WORDS]> {
    let mut state = 0x5eed;
    (0..CASES)
        .map(|number| {
            let mut case = [0; CASE_WORDS];
            for word in &mut case[..14] {
                *word = value(&mut state);
            }
            let lane = (number % LANES) as u32;
            let places = (SLOT as u32 - shape.span) / shape.align + 1;
            let inside = shape.align * (random(&mut state) as u32 % places);
            let start = match space {
                _ if shape.strided => shape.align * lane,
                Space::Shared { .. } => SLOT as u32 * lane + inside,
                Space::Indexed { .. } => inside,
                Space::Scratch { .. } => SCRATCH + inside,
                _ => (SLOT * number) as u32 + inside,
            };
            // Data that is what lies there makes comparing exchanges exchange.
            if random(&mut state).is_multiple_of(3) {
                let at = (inside + shape.span - shape.align.min(8)) as usize / 4;
                let there = [case[at % 8], case[(at + 1) % 8]];
                let narrow = shape.align <= 4;
                match (space, narrow) {
                    (Space::Shared { .. }, _) => case[8..10].copy_from_slice(&there),
                    (_, true) => case[9] = there[0],
                    (_, false) => case[10..12].copy_from_slice(&there),
                }
            }
            case[14] = number as u32;
            case[15] = start;
            case[16] = MEMORY as u32 + start;
            case[18] = u32::from(!random(&mut state).is_multiple_of(4));
            case
        })
        .collect()
}

/// Bytes of memory, and where a lane's byte lies in them.
struct Bytes {
    bytes: Vec<u8>,
    /// Records change places, eight at a time, in elements of 4 bytes.
    swizzled: bool,
    end: usize,
}

impl Bytes {
    fn at(&self, address: u32) -> Option<usize> {
        let address = address as usize;
        let place = if self.swizzled {
            let (record, byte) = (address / SLOT, address % SLOT);
            ((record / 8 * SLOT + byte / 4 * 4) * 8) + record % 8 * 4 + byte % 4
        } else {
            address
        };
        (place < self.end).then_some(place)
    }

    /// Little-endian; what is past the end reads 0.
    fn read(&self, address: u32, bytes: u32) -> u64 {
        (0..bytes).rev().fold(0, |value, byte| {
            let byte = self.at(address + byte).map_or(0, |at| self.bytes[at]);
            value << 8 | u64::from(byte)
        })
    }

    fn write(&mut self, address: u32, bytes: u32, value: u64) {
        for byte in 0..bytes {
            if let Some(at) = self.at(address + byte) {
                self.bytes[at] = (value >> (8 * byte)) as u8;
            }
        }
    }
}

fn wide(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// What a lane's destination holds behind the instruction, whose effect on `memory` is done.
fn model(row: &Row, space: Space, case: &[u32; CASE_WORDS], memory: &mut Bytes) -> [u32; 4] {
    let in_place = space.in_place() && !row.loads();
    let mut dst = [0; 4];
    dst.copy_from_slice(if in_place { &case[8..12] } else { &case[..4] });
    if case[18] == 0 {
        return dst;
    }
    let base = match space {
        Space::Indexed { .. } => SLOT as u32 * case[14],
        Space::Scratch { .. } => (SLOT as u32 * case[14]).wrapping_sub(SCRATCH),
        _ => 0,
    };
    let immediate = row.immediate(space);
    let address = base.wrapping_add(case[15]);
    // The second operand: behind the first, or in a register of its own.
    let shared = matches!(space, Space::Shared { .. });
    let second = |bytes: u32| match (shared, bytes) {
        (true, 4) => u64::from(case[12]),
        (true, _) => wide(&case[12..14]),
        (false, 4) => u64::from(case[9]),
        (false, _) => wide(&case[10..12]),
    };
    let elements = [immediate & 255, immediate >> 8];
    match row.act {
        Act::Load { bytes, signed, half } => {
            let address = address + immediate;
            if bytes >= 4 {
                for word in 0..bytes / 4 {
                    dst[word as usize] = memory.read(address + 4 * word, 4) as u32;
                }
                return dst;
            }
            let value = memory.read(address, bytes) as u32;
            let unused = 32 - 8 * bytes;
            let value = if signed {
                ((value << unused).cast_signed() >> unused).cast_unsigned()
            } else {
                value
            };
            dst[0] = match half {
                None => value,
                Some(false) => dst[0] & 0xffff_0000 | value & 0xffff,
                Some(true) => dst[0] & 0xffff | value << 16,
            };
        }
        Act::Store { bytes, high } => {
            let address = address + immediate;
            if bytes >= 4 {
                for word in 0..bytes / 4 {
                    memory.write(address + 4 * word, 4, case[8 + word as usize].into());
                }
            } else {
                let value = case[8] >> if high { 16 } else { 0 };
                memory.write(address, bytes, value.into());
            }
        }
        Act::LoadTwo { bytes, stride } => {
            let values = elements.map(|element| memory.read(address + element * stride, bytes));
            if bytes == 4 {
                dst[..2].copy_from_slice(&values.map(|value| value as u32));
            } else {
                dst[..2].copy_from_slice(&halves(values[0]));
                dst[2..].copy_from_slice(&halves(values[1]));
            }
        }
        Act::StoreTwo { bytes, stride } | Act::SwapTwo { bytes, stride } => {
            let data = [8, 12].map(|at| {
                if bytes == 4 {
                    case[at].into()
                } else {
                    wide(&case[at..at + 2])
                }
            });
            let mut old = Vec::new();
            for (element, value) in elements.into_iter().zip(data) {
                let place = address + element * stride;
                old.extend(&halves(memory.read(place, bytes))[..bytes as usize / 4]);
                memory.write(place, bytes, value);
            }
            if matches!(row.act, Act::SwapTwo { .. }) {
                dst[..old.len()].copy_from_slice(&old);
            }
        }
        Act::Atomic32(f) => {
            let address = address + immediate;
            let old = memory.read(address, 4) as u32;
            memory.write(address, 4, f(old, case[8], second(4) as u32).into());
            if row.returns {
                dst[0] = old;
            }
        }
        Act::Atomic64(f) => {
            let address = address + immediate;
            let old = memory.read(address, 8);
            memory.write(address, 8, f(old, wide(&case[8..10]), second(8)));
            if row.returns {
                dst[..2].copy_from_slice(&halves(old));
            }
        }
        Act::Behind32(f) => {
            let (old, data) = (memory.read(address, 4) as u32, memory.read(address + 4, 4) as u32);
            memory.write(address, 4, f(old, data, data).into());
        }
        Act::Behind64(f) => {
            let (old, data) = (memory.read(address, 8), memory.read(address + 8, 8));
            memory.write(address, 8, f(old, data, data));
        }
    }
    dst
}

/// Whether a float atomic's operands or result are denormal: a device may take them for zero.
fn is_denormal(row: &Row, words: &[u32]) -> bool {
    row.floats
        && if row.bytes() == 4 {
            words
                .iter()
                .any(|word| word & 0x7f80_0000 == 0 && word & 0x7f_ffff != 0)
        } else {
            words.iter().any(|word| word & 0x7ff0_0000 == 0)
        }
}

fn program(space: Space, code: &[u32]) -> Program {
    let scratch = u32::from(matches!(space, Space::Scratch { .. }));
    let binary = ShaderBinary {
        stage: StageRegisters::Compute {
            rsrc1: 0xc0 << 12 | 1 << 21 | 15,
            // 18 user data registers, the group's number in x, 2 KiB of local data share.
            rsrc2: scratch | 18 << 1 | 1 << 7 | 4 << 15,
            rsrc3: 0,
            num_thread: [LANES as u32, 1, 1],
            wave32: false,
            scratch: 16 * scratch,
        },
        dialect: Dialect::Gfx1013,
        address: GuestAddress(CODE),
        code,
    };
    analyse(&binary, &Profile::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Bytes that the tested V# covers.
fn covered(space: Space) -> usize {
    if space == Space::Buffer {
        // Of the first lane outside a quarter is inside.
        SLOT * (CASES - OUTSIDE) + SLOT / 4
    } else {
        SLOT * CASES
    }
}

fn execute(device: &mut Device, space: Space, code: &[u32], cases: &[u8], results: usize) -> Vec<u32> {
    let page = PAGE_SIZE as usize;
    let sizes = [results, SLOT * CASES, cases.len()].map(|size| size.next_multiple_of(page));
    let starts = [0, sizes[0], sizes[0] + sizes[1]];
    let total: usize = sizes.iter().sum();
    device.allocate(total as u64 + PAGE_SIZE);
    device.bytes()[starts[2]..starts[2] + cases.len()].copy_from_slice(cases);
    let plain = |base: u64, size: usize| [base as u32, 0, size as u32, 0x3101_6fac];
    let mut tested = plain(MEMORY, covered(space));
    if let Space::Indexed { swizzled } = space {
        tested[1] = (SLOT as u32) << 16 | u32::from(swizzled) << 31;
        tested[2] = CASES as u32;
    }
    let mut user_data = Vec::new();
    user_data.extend(plain(RESULTS, results));
    user_data.extend(plain(INPUT, cases.len()));
    user_data.extend(tested);
    user_data.extend(plain(MEMORY, SLOT * CASES));
    user_data.extend([MEMORY as u32, 0]);
    let program = program(space, code);
    let mut evaluation = Evaluation::default();
    let inputs = Inputs {
        user_data: &user_data,
        shader_base: GuestAddress(CODE),
        memory: &Nothing,
    };
    evaluate(program.plan(), &inputs, &mut evaluation).expect("a plan of user data");
    let mut buffers = Vec::new();
    let mut bound = Vec::new();
    for index in 0..program.plan().descriptors.len() {
        let v: [u32; 4] = evaluation
            .descriptor(program.plan(), index)
            .try_into()
            .expect("a V#");
        buffers.push(BufferShape::from_words(v, program.plan().alignment));
        let region = [RESULTS, MEMORY, INPUT]
            .iter()
            .position(|start| *start as u32 == v[0])
            .expect("a region");
        let extent = u64::from((v[1] >> 16 & 0x3fff).max(1)) * u64::from(v[2]);
        bound.push(Bound {
            offset: starts[region] as u64,
            size: extent.min(sizes[region] as u64),
        });
    }
    let specialization = Specialization {
        buffers: buffers.into(),
        flat: FlatLocation::PushConstants { offset: 0 },
        ..Specialization::default()
    };
    let artifact = program
        .specialise(&specialization)
        .unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(artifact.interface.follows_pointers, space == Space::Pointer);
    if let Some(Err(why)) = spirv_val(&artifact.spirv) {
        panic!("spirv-val: {why}");
    }
    if artifact.interface.follows_pointers {
        let address = device.address();
        let mut pages = PageTable::new(address + total as u64);
        for (region, guest) in [RESULTS, MEMORY, INPUT].into_iter().enumerate() {
            pages.map(
                GuestAddress(guest),
                address + starts[region] as u64,
                sizes[region] as u64,
            );
        }
        device.set_page_table(pages.words());
    }
    device.dispatch(
        &artifact,
        &bound,
        &evaluation.flat,
        [(CASES / LANES) as u32, 1, 1],
    );
    device.bytes()[..results]
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
        .collect()
}

/// The memory of lanes `from..to` as the instruction finds it.
fn memory_of(space: Space, cases: &[[u32; CASE_WORDS]]) -> Bytes {
    let bytes: Vec<u8> = cases
        .iter()
        .flat_map(|case| &case[..8])
        .flat_map(|word| word.to_le_bytes())
        .collect();
    Bytes {
        end: bytes.len().min(covered(space)),
        bytes,
        swizzled: space == Space::Indexed { swizzled: true },
    }
}

pub fn check(rows: &[Row], space: Space) {
    let Some(mut device) = Device::open() else {
        eprintln!("no Vulkan device: {space:?} is skipped");
        return;
    };
    let first = first_words();
    let mut by_shape: BTreeMap<(Shape, bool), Vec<(Row, Vec<u32>)>> = BTreeMap::new();
    for row in rows {
        let Some(&word) = first.get(row.name.as_str()) else {
            panic!("no vector tells the number of {}", row.name);
        };
        let words = row.words(space, word);
        let text = disassemble(&words, ProgramCounter(0), Dialect::Gfx1013)
            .unwrap_or_else(|reason| panic!("{}: {reason}", row.name))
            .0;
        assert!(text.starts_with(&row.name), "{} is {text}", row.name);
        // 64-bit atomics would make all memory of a program one of 64-bit words.
        let pairs = row.is_atomic() && row.bytes() == 8 || matches!(row.act, Act::SwapTwo { bytes: 8, .. });
        by_shape
            .entry((row.shape(space), pairs))
            .or_default()
            .push((row.clone(), words));
    }
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for ((shape, _), instances) in &by_shape {
        let cases = cases(space, *shape);
        let bytes: Vec<u8> = cases
            .iter()
            .flatten()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for chunk in instances.chunks(PER_PROGRAM) {
            let code = frame(space, chunk);
            let size = 4 * RESULT_WORDS * chunk.len() * CASES;
            let results = execute(&mut device, space, &code, &bytes, size);
            for (number, (row, _)) in chunk.iter().enumerate() {
                let group = match space {
                    Space::Shared { .. } => LANES,
                    _ => CASES,
                };
                for (start, cases) in (0..).step_by(group).zip(cases.chunks(group)) {
                    let mut memory = memory_of(space, cases);
                    let registers: Vec<_> = cases
                        .iter()
                        .map(|case| model(row, space, case, &mut memory))
                        .collect();
                    for (lane, (case, dst)) in cases.iter().zip(registers).enumerate() {
                        let at = RESULT_WORDS * ((start + lane) * chunk.len() + number);
                        let found = &results[at..at + RESULT_WORDS];
                        let mut expected = dst.to_vec();
                        let slot = &memory.bytes[SLOT * lane..SLOT * (lane + 1)];
                        expected.extend(
                            slot.chunks_exact(4)
                                .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))),
                        );
                        // What an atomic gives back of memory past the end, nobody says.
                        let past = space == Space::Buffer && start + lane >= CASES - OUTSIDE;
                        let skipped = if past && row.is_atomic() { 4 } else { 0 };
                        if is_denormal(row, &case[..14]) || found[skipped..] == expected[skipped..] {
                            continue;
                        }
                        let entry =
                            wrong.entry(format!("{}{}", row.name, if row.returns { " glc" } else { "" }));
                        entry
                            .or_insert_with(|| {
                                let text = format!(
                                    "lane {} with {:x?} gives {found:x?}, not {expected:x?}",
                                    start + lane,
                                    &case[..19]
                                );
                                (0, text)
                            })
                            .0 += 1;
                    }
                }
            }
        }
    }
    eprintln!("{space:?}: {} instructions on {CASES} cases each", rows.len());
    let list: Vec<_> = wrong
        .iter()
        .map(|(name, (count, why))| format!("{name}: {count} lanes, the first: {why}"))
        .collect();
    assert!(
        list.is_empty(),
        "{} of {} wrong:\n{}",
        list.len(),
        rows.len(),
        list.join("\n")
    );
}
