//! Rows to programs, programs to results, results against the model.

use super::assemble::{self, Long, first_words, fixed, vgpr};
use super::device::{Bound, Device};
use super::judge::judge;
use super::values::{self, Kind};
use relic_core::GuestAddress;
use relic_recompiler::{
    BufferShape, Dialect, Evaluation, Inputs, PlanMemory, Profile, Program, ProgramCounter, Refusal,
    ShaderBinary, Specialization, StageRegisters, analyse, disassemble, evaluate,
};
use std::collections::BTreeMap;

/// What a model is given: raw bits of the sources and of the destination's old value, and the instruction's clamp.
#[derive(Clone, Copy, Debug)]
pub struct In {
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub d: u64,
    /// Carry in or SCC in.
    pub carry: bool,
    pub clamp: bool,
}

impl In {
    pub fn words(self) -> [u32; 3] {
        [self.a as u32, self.b as u32, self.c as u32]
    }

    pub fn signed(self) -> [i32; 3] {
        self.words().map(u32::cast_signed)
    }

    pub fn floats(self) -> [f32; 3] {
        self.words().map(f32::from_bits)
    }

    pub fn doubles(self) -> [f64; 3] {
        [self.a, self.b, self.c].map(f64::from_bits)
    }

    pub fn halves(self) -> [f32; 3] {
        [self.a, self.b, self.c].map(values::f16)
    }
}

/// A result, and for instructions that have one a carry, comparison or SCC.
pub type Out = (u64, Option<bool>);

/// How near a float result has to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Near {
    /// The same bits.
    Exact,
    /// Units in the last place.
    Ulp(u64),
    /// Of the result's size, or of one where the result is smaller.
    Relative(f64),
}

/// One instruction.
#[derive(Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    pub dst: Kind,
    pub src: &'static [Kind],
    pub model: fn(In) -> Out,
    /// Another result that is right: of devices that do not fuse a product with a sum.
    pub or: Option<fn(In) -> Out>,
    pub near: Near,
    /// Zeros are equal whatever their sign.
    pub zeros: bool,
    /// Integer clamp is a variant of its own.
    pub clamps: bool,
    /// Inputs that the instruction is not defined on.
    pub skip: Option<fn(In) -> bool>,
}

impl Row {
    pub const fn new(name: &'static str, dst: Kind, src: &'static [Kind], model: fn(In) -> Out) -> Self {
        Self {
            name,
            dst,
            src,
            model,
            or: None,
            near: Near::Exact,
            zeros: false,
            clamps: false,
            skip: None,
        }
    }

    pub const fn near(self, near: Near) -> Self {
        Self { near, ..self }
    }

    pub const fn or(self, other: fn(In) -> Out) -> Self {
        Self {
            or: Some(other),
            ..self
        }
    }

    pub const fn zeros(self) -> Self {
        Self { zeros: true, ..self }
    }

    pub const fn clamps(self) -> Self {
        Self { clamps: true, ..self }
    }

    pub const fn skip(self, skip: fn(In) -> bool) -> Self {
        Self {
            skip: Some(skip),
            ..self
        }
    }

    pub fn kinds(&self) -> [Kind; 3] {
        let mut kinds = [Kind::W; 3];
        for (slot, kind) in kinds.iter_mut().zip(self.src) {
            *slot = *kind;
        }
        kinds
    }

    fn sources(&self) -> usize {
        self.src.iter().filter(|kind| **kind != Kind::Carry).count()
    }
}

/// An instruction with modifiers: what is put into a program.
pub struct Instance<'a> {
    pub row: &'a Row,
    pub long: Long,
    pub words: Vec<u32>,
    pub text: String,
}

/// Registers of the frame: destination, the mask that is a second destination, carry in.
const DST: u32 = 12;
const MASK: u32 = 22;
const CARRY: u32 = 20;
const PER_PROGRAM: usize = 32;

struct Nothing;

impl PlanMemory for Nothing {
    fn read_u32(&self, _: GuestAddress) -> Option<u32> {
        None
    }
}

/// Where the programs are said to lie.
const CODE: u64 = 0x1_0000;

fn translate(code: &[u32], rsrc2: u32, threads: u32) -> Result<Program, Refusal> {
    let binary = ShaderBinary {
        stage: StageRegisters::Compute {
            // FLOAT_MODE: nearest even, denormals of 16 and 64 bits stay; DX10_CLAMP.
            rsrc1: 0xc0 << 12 | 1 << 21,
            rsrc2,
            rsrc3: 0,
            num_thread: [threads, 1, 1],
            wave32: false,
            scratch: 0,
        },
        dialect: Dialect::Gfx1013,
        address: GuestAddress(CODE),
        code,
    };
    analyse(&binary, &Profile::default())
}

/// Runs `code` with a buffer of results and one of cases, and gives the results.
fn execute(
    device: &mut Device,
    code: &[u32],
    rsrc2: u32,
    threads: u32,
    groups: u32,
    cases: &[u8],
    stride: usize,
) -> Vec<u32> {
    let results = stride * (threads * groups) as usize;
    let at = results.next_multiple_of(256);
    device.allocate((at + cases.len()) as u64);
    device.bytes()[at..at + cases.len()].copy_from_slice(cases);
    let user_data = [
        0x10_0000,
        0,
        results as u32,
        0x3101_6fac,
        0x20_0000,
        0,
        cases.len() as u32,
        0x3101_6fac,
    ];
    let program = translate(code, rsrc2, threads).unwrap_or_else(|refusal| panic!("{refusal}"));
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
        bound.push(if v[0] == user_data[0] {
            Bound {
                offset: 0,
                size: results as u64,
            }
        } else {
            Bound {
                offset: at as u64,
                size: cases.len() as u64,
            }
        });
    }
    let specialization = Specialization {
        buffers: buffers.into(),
        ..Specialization::default()
    };
    let artifact = program
        .specialise(&specialization)
        .unwrap_or_else(|refusal| panic!("{refusal}"));
    device.dispatch(&artifact, &bound, &evaluation.flat, [groups, 1, 1]);
    device.bytes()[..results]
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
        .collect()
}

fn vector_frame(instances: &[Instance<'_>]) -> Vec<u32> {
    let stride = 12 * instances.len() as u32;
    let mut code = Vec::new();
    let push = |code: &mut Vec<u32>, words: &[u32]| code.extend_from_slice(words);
    push(
        &mut code,
        &[
            fixed::s_lshl_b32(9, 8, 128 + 6),
            fixed::v_add(1, 9, 0),
            fixed::v_lshlrev(2, 128 + 5, 1),
        ],
    );
    push(&mut code, &fixed::s_mov_literal(10, stride));
    push(&mut code, &fixed::v_mul_lo(15, vgpr(1), 10));
    push(&mut code, &fixed::buffer_load_x4(4, 2, 4, 0));
    push(&mut code, &fixed::buffer_load_x4(8, 2, 4, 16));
    push(&mut code, &[fixed::WAIT, fixed::v_and(3, 129, 8)]);
    push(&mut code, &fixed::v_cmp_eq_u32(CARRY, 129, vgpr(3)));
    for (index, instance) in instances.iter().enumerate() {
        push(
            &mut code,
            &[fixed::v_mov(DST, vgpr(10)), fixed::v_mov(DST + 1, vgpr(11))],
        );
        push(&mut code, &instance.words);
        push(&mut code, &fixed::v_cndmask(14, 128, 129, MASK));
        push(&mut code, &fixed::buffer_store_x3(DST, 15, 0, 12 * index as u32));
    }
    code.push(fixed::END);
    code
}

fn scalar_frame(instances: &[Instance<'_>]) -> Vec<u32> {
    let stride = 12 * instances.len() as u32;
    let mut code = vec![fixed::s_lshl_b32(9, 8, 128 + 5)];
    code.extend(fixed::s_buffer_load_dwordx8(12, 4, 9));
    code.push(fixed::WAIT);
    code.extend(fixed::s_mov_literal(10, stride));
    code.push(fixed::s_mul_i32(9, 8, 10));
    code.push(fixed::v_mov(15, 9));
    for (index, instance) in instances.iter().enumerate() {
        code.push(fixed::s_mov_b64(MASK, 18));
        code.push(fixed::s_and_b32(CARRY, 16, 129));
        code.extend(&instance.words);
        code.push(fixed::s_cselect_b32(24, 129, 128));
        code.extend([
            fixed::v_mov(DST, MASK),
            fixed::v_mov(DST + 1, MASK + 1),
            fixed::v_mov(14, 24),
        ]);
        code.extend(fixed::buffer_store_x3(DST, 15, 0, 12 * index as u32));
    }
    code.push(fixed::END);
    code
}

/// The modifiers that a row is tested with: none, and those that its float operands or its clamp have.
fn variants(row: &Row) -> Vec<Long> {
    let mut list = vec![Long::default()];
    let floats = row.src.iter().any(|kind| kind.is_float());
    if floats {
        list.push(Long {
            negate: 1 & signs(row),
            absolute: 2 & signs(row),
            ..Long::default()
        });
        list.push(Long {
            negate: 6 & signs(row),
            absolute: 5 & signs(row),
            ..Long::default()
        });
    }
    if row.dst.is_float() {
        list.extend([1, 2, 3].map(|output| Long {
            output,
            ..Long::default()
        }));
    }
    if row.clamps || row.dst.is_float() {
        list.push(Long {
            clamp: true,
            ..Long::default()
        });
    }
    list
}

/// Sources that are floats, bit n for source n.
fn signs(row: &Row) -> u32 {
    row.src
        .iter()
        .enumerate()
        .map(|(index, kind)| u32::from(kind.is_float()) << index)
        .sum()
}

fn instances(rows: &[Row]) -> Vec<Instance<'_>> {
    let first = first_words();
    let mut list = Vec::new();
    for row in rows {
        let Some(&word) = first.get(row.name) else {
            panic!("no vector tells the number of {}", row.name);
        };
        let scalar = row.name.starts_with("s_");
        if scalar {
            let words = scalar_words(row, word);
            let text = disassemble(&words, ProgramCounter(0), Dialect::Gfx1013)
                .unwrap_or_else(|reason| panic!("{}: {reason}", row.name))
                .0;
            list.push(Instance {
                row,
                long: Long::default(),
                words,
                text,
            });
            continue;
        }
        for mut long in variants(row) {
            let mut src = [0; 3];
            for (index, slot) in src.iter_mut().enumerate().take(row.src.len()) {
                *slot = if row.src[index] == Kind::Carry {
                    CARRY
                } else {
                    vgpr(4 + 2 * index as u32)
                };
            }
            let packed = word >> 23 == 0x198;
            let compares = row.name.starts_with("v_cmp_");
            // A comparison's mask is its destination; carries have it beside.
            let carries = row.name.contains("_co_")
                || row.name.starts_with("v_mad_u64")
                || row.name.starts_with("v_mad_i64");
            if carries {
                long.scalar_dst = Some(MASK);
            }
            let dst = if compares { MASK } else { DST };
            let words = if packed {
                if long.absolute != 0 || long.output != 0 {
                    continue;
                }
                assemble::packed(
                    word,
                    dst,
                    src,
                    row.sources(),
                    long.negate,
                    long.negate,
                    long.clamp,
                )
            } else {
                assemble::long(word, dst, src, long)
            };
            // Modifiers that the instruction does not have make no instruction.
            let Ok((text, _)) = disassemble(&words, ProgramCounter(0), Dialect::Gfx1013) else {
                assert!(
                    long.negate | long.absolute | long.output != 0 || long.clamp,
                    "{} is no instruction: {words:08x?}",
                    row.name
                );
                continue;
            };
            list.push(Instance {
                row,
                long,
                words: words.to_vec(),
                text,
            });
        }
    }
    list
}

fn scalar_words(row: &Row, word: u32) -> Vec<u32> {
    let (a, b) = (12, 14);
    if word >> 23 == 0x17d {
        vec![(word & 0xff80_ff00) | MASK << 16 | a]
    } else if word >> 23 == 0x17e {
        vec![(word & 0xffff_0000) | b << 8 | a]
    } else if word >> 28 == 0xb {
        // The immediate is the row's own: two of them would be two rows.
        vec![(word & 0xff80_0000) | MASK << 16 | 0x8005]
    } else {
        let _ = row;
        vec![(word & 0xff80_0000) | MASK << 16 | b << 8 | a]
    }
}

fn check(what: &str, rows: &[Row], threads: u32, rsrc2: u32, frame: fn(&[Instance<'_>]) -> Vec<u32>) {
    let Some(mut device) = Device::open() else {
        eprintln!("no Vulkan device: {what} are skipped");
        return;
    };
    let mut groups: BTreeMap<([Kind; 3], Kind), Vec<Instance<'_>>> = BTreeMap::new();
    let all = instances(rows);
    let count = all.len();
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for instance in all {
        if let Err(refusal) = translate(&frame(std::slice::from_ref(&instance)), rsrc2, threads) {
            wrong.insert(instance.text, (values::CASES, refusal.to_string()));
            continue;
        }
        groups
            .entry((instance.row.kinds(), instance.row.dst))
            .or_default()
            .push(instance);
    }
    for ((kinds, dst), instances) in &groups {
        let cases = values::cases(*kinds, *dst);
        let bytes: Vec<u8> = cases
            .iter()
            .flatten()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for chunk in instances.chunks(PER_PROGRAM) {
            let code = frame(chunk);
            let stride = 12 * chunk.len();
            let results = execute(
                &mut device,
                &code,
                rsrc2,
                threads,
                cases.len() as u32 / threads,
                &bytes,
                stride,
            );
            for (case, words) in cases.iter().zip(results.chunks_exact(3 * chunk.len())) {
                for (instance, words) in chunk.iter().zip(words.chunks_exact(3)) {
                    if let Some(why) = judge(instance, *case, words) {
                        let entry = wrong.entry(instance.text.clone()).or_insert((0, why));
                        entry.0 += 1;
                    }
                }
            }
        }
    }
    eprintln!(
        "{what}: {} instructions, {count} with modifiers, on {} cases each",
        rows.len(),
        values::CASES
    );
    let list: Vec<_> = wrong
        .values()
        .map(|(count, why)| format!("{count:5} {why}"))
        .collect();
    assert!(
        list.is_empty(),
        "{} of {count} wrong:\n{}",
        list.len(),
        list.join("\n")
    );
}

/// Vector instructions: a lane a case.
pub fn check_vector(what: &str, rows: &[Row]) {
    // 8 user data registers, the group's number in x.
    check(what, rows, 64, 8 << 1 | 1 << 7, vector_frame);
}

/// Scalar instructions: a group a case.
pub fn check_scalar(what: &str, rows: &[Row]) {
    check(what, rows, 1, 8 << 1 | 1 << 7, scalar_frame);
}
