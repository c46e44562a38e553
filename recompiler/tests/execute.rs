//! Recompiled compute programs, run on a Vulkan device, against the results that their captures expect.
//!
//! A run is a pair of files. `NAME.run` is a script, executed line by line: `region ADDRESS SIZE`, `write ADDRESS FROM
//! LENGTH` and `expect ADDRESS FROM LENGTH MODE TOLERANCE PERMILLE NAME` (bytes of `NAME.dat`), and `dispatch` with
//! code address, RSRC1..3, NUM_THREAD x y z, wave32, group counts, indirect address and 16 user data words.
//! Runs made by hand carry their bytes in the script: `words ADDRESS W…` and `see ADDRESS W…`, hexadecimal dwords; lines
//! that start with `;` hold the assembly that the words were made from.
//! They and `small_dispatch` are kept in `runs/`; `RELIC_RUNS` may name a folder with more. Without a Vulkan device the tests say
//! that they skip.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

mod device;
#[path = "device/pages.rs"]
mod pages;
mod validate;

use device::{Bound, Device};
use relic_core::GuestAddress;
use relic_recompiler::{
    Artifact, BufferShape, DescriptorKind, Dialect, Evaluation, FlatLocation, Inputs, PlanMemory, Profile,
    Program, ShaderBinary, Specialization, StageRegisters, analyse, evaluate,
    page_table::{PAGE_SIZE, PageTable},
    scratch_dwords,
};
use std::collections::HashMap;
use std::path::Path;
use validate::spirv_val;

/// Guest regions, mirrored in one device buffer.
struct Memory {
    /// Guest start, size, offset in the buffer.
    regions: Vec<(u64, u64, u64)>,
}

impl Memory {
    fn place(&self, address: u64) -> Option<(u64, u64)> {
        self.regions
            .iter()
            .find(|(start, size, _)| address >= *start && address - start < *size)
            .map(|(start, size, offset)| (offset + (address - start), start + size - address))
    }
}

struct View<'a> {
    memory: &'a Memory,
    bytes: &'a [u8],
}

impl PlanMemory for View<'_> {
    fn read_u32(&self, address: GuestAddress) -> Option<u32> {
        let (at, room) = self.memory.place(address.0)?;
        let at = usize::try_from(at).ok()?;
        (room >= 4).then(|| u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes")))
    }
}

fn number(text: &str) -> u64 {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16))
        .expect("a number")
}

fn run(script: &Path, device: &mut Device) -> Result<(), String> {
    let text = std::fs::read_to_string(script).expect("a script");
    let data = if text.contains("\nwrite ") {
        std::fs::read(script.with_extension("dat")).expect("its bytes")
    } else {
        Vec::new()
    };
    let mut memory = Memory { regions: Vec::new() };
    let mut size = 0;
    for line in text.lines().filter(|line| line.starts_with("region")) {
        let parts: Vec<_> = line.split(' ').collect();
        memory.regions.push((number(parts[1]), number(parts[2]), size));
        size += number(parts[2]).next_multiple_of(1 << 16);
    }
    // A page of zeros for what is not mapped comes last.
    device.allocate(size + PAGE_SIZE);
    let mut table = None;
    let mut programs: HashMap<Vec<u64>, Program> = HashMap::new();
    let mut artifacts: HashMap<(Vec<u64>, Specialization), Artifact> = HashMap::new();
    let mut evaluation = Evaluation::default();
    for line in text.lines() {
        let parts: Vec<_> = line.split(' ').collect();
        match parts[0] {
            "write" => {
                let (at, _) = memory
                    .place(number(parts[1]))
                    .ok_or("a write outside the regions")?;
                let (from, length) = (number(parts[2]) as usize, number(parts[3]) as usize);
                device.bytes()[at as usize..at as usize + length].copy_from_slice(&data[from..from + length]);
            }
            "words" | "see" => {
                let (at, room) = memory
                    .place(number(parts[1]))
                    .ok_or("words outside the regions")?;
                let words: Vec<u32> = parts[2..]
                    .iter()
                    .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal word"))
                    .collect();
                let (at, size) = (at as usize, 4 * words.len());
                assert!(
                    !words.is_empty() && size as u64 <= room,
                    "words leave their region"
                );
                let bytes = &mut device.bytes()[at..at + size];
                let given: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                if parts[0] == "words" {
                    bytes.copy_from_slice(&given);
                } else if bytes != given {
                    let found: Vec<String> = bytes
                        .chunks(4)
                        .map(|b| format!("{:x}", u32::from_le_bytes(b.try_into().expect("four bytes"))))
                        .collect();
                    return Err(format!(
                        "at {}: {}, not {}",
                        parts[1],
                        found.join(" "),
                        parts[2..].join(" ")
                    ));
                }
            }
            "dispatch" => {
                let words: Vec<u64> = parts[1..].iter().map(|part| number(part)).collect();
                let mut groups = [words[8] as u32, words[9] as u32, words[10] as u32];
                if words[11] != 0 {
                    let view = View {
                        memory: &memory,
                        bytes: device.bytes(),
                    };
                    for (axis, count) in groups.iter_mut().enumerate() {
                        *count = view
                            .read_u32(GuestAddress(words[11] + 4 * axis as u64))
                            .ok_or("indirect arguments outside the regions")?;
                    }
                }
                let user_data: Vec<u32> = words[12..].iter().map(|word| *word as u32).collect();
                let key = words[..8].to_vec();
                if !programs.contains_key(&key) {
                    let (at, room) = memory.place(words[0]).ok_or("code outside the regions")?;
                    let code: Vec<u32> = device.bytes()[at as usize..(at + room) as usize]
                        .chunks_exact(4)
                        .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
                        .collect();
                    let binary = ShaderBinary {
                        stage: StageRegisters::Compute {
                            rsrc1: words[1] as u32,
                            rsrc2: words[2] as u32,
                            rsrc3: words[3] as u32,
                            num_thread: [words[4], words[5], words[6]].map(|n| n as u32 & 0xffff),
                            wave32: words[7] != 0,
                            // 64 dwords a lane where RSRC2 asks for any.
                            scratch: scratch_dwords(16 << 12, words[2] as u32, words[7] != 0),
                        },
                        dialect: Dialect::Gfx1013,
                        address: GuestAddress(words[0]),
                        code: &code,
                    };
                    let program = analyse(&binary, &Profile::default()).map_err(|r| r.to_string())?;
                    programs.insert(key.clone(), program);
                }
                let program = &programs[&key];
                let plan = program.plan();
                let view = View {
                    memory: &memory,
                    bytes: device.bytes(),
                };
                let inputs = Inputs {
                    user_data: &user_data,
                    shader_base: GuestAddress(words[0]),
                    memory: &view,
                };
                evaluate(plan, &inputs, &mut evaluation).map_err(|error| error.to_string())?;
                let mut buffers = Vec::new();
                let mut bound = Vec::new();
                for (index, descriptor) in plan.descriptors.iter().enumerate() {
                    if descriptor.kind != DescriptorKind::Buffer {
                        return Err(String::from("skip: images are not bound here"));
                    }
                    let v: [u32; 4] = evaluation
                        .descriptor(program.plan(), index)
                        .try_into()
                        .expect("four words");
                    buffers.push(BufferShape::from_words(v, plan.alignment));
                    let base = u64::from(v[0]) | u64::from(v[1] & 0xffff) << 32;
                    let extent = u64::from((v[1] >> 16 & 0x3fff).max(1)) * u64::from(v[2]);
                    bound.push(match memory.place(base) {
                        Some((at, room)) if extent > 0 => {
                            let residual = base & u64::from(plan.alignment - 1);
                            Bound {
                                offset: at - residual,
                                // As a runtime binds: whole dwords.
                                size: residual + extent.min(room).next_multiple_of(4),
                            }
                        }
                        _ => Bound { offset: 0, size: 0 },
                    });
                }
                let specialization = Specialization {
                    buffers: buffers.into(),
                    flat: if plan.flat_words() <= 32 {
                        FlatLocation::PushConstants { offset: 0 }
                    } else {
                        FlatLocation::UniformBuffer
                    },
                    ..Specialization::default()
                };
                let artifact = match artifacts.entry((key, specialization)) {
                    std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        let artifact = program.specialise(&entry.key().1).map_err(|r| r.to_string())?;
                        if let Some(Err(why)) = spirv_val(&artifact.spirv) {
                            return Err(format!("spirv-val: {why}"));
                        }
                        entry.insert(artifact)
                    }
                };
                if artifact.interface.follows_pointers && table.is_none() {
                    let device_address = device.address();
                    let pages = table.insert(PageTable::new(device_address + size));
                    for &(start, size, offset) in &memory.regions {
                        pages.map(GuestAddress(start), device_address + offset, size);
                    }
                    device.set_page_table(pages.words());
                }
                device.dispatch(artifact, &bound, &evaluation.flat, groups);
            }
            "expect" => {
                let (at, _) = memory
                    .place(number(parts[1]))
                    .ok_or("an expectation outside the regions")?;
                let (from, length) = (number(parts[2]) as usize, number(parts[3]) as usize);
                let actual = &device.bytes()[at as usize..at as usize + length];
                let tolerance: f32 = parts[5].parse().expect("a tolerance");
                compare(
                    &data[from..from + length],
                    actual,
                    number(parts[4]),
                    tolerance,
                    parts[6],
                )
                .map_err(|why| format!("{}: {why}", parts[7..].join(" ")))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn compare(expected: &[u8], actual: &[u8], mode: u64, tolerance: f32, permille: &str) -> Result<(), String> {
    let permille: usize = permille.parse().expect("a count");
    let normal = |word: u32| word & 0x7fff_ffff == 0 || matches!(word >> 23 & 0xff, 1..=254);
    let mut wrong = Vec::new();
    for (index, (a, b)) in expected.chunks(4).zip(actual.chunks(4)).enumerate() {
        let same = match (mode, a.len()) {
            (2, _) => true,
            (1, 4) if a != b => {
                let (x, y) = (
                    u32::from_le_bytes(a.try_into().expect("four bytes")),
                    u32::from_le_bytes(b.try_into().expect("four bytes")),
                );
                let (f, g) = (f32::from_bits(x), f32::from_bits(y));
                normal(x) && normal(y) && (f - g).abs() <= tolerance * f.abs().max(g.abs()).max(1.0)
            }
            _ => a == b,
        };
        if !same {
            wrong.push((index, a.to_vec(), b.to_vec()));
        }
    }
    if wrong.len() * 1000 > expected.len().div_ceil(4) * permille {
        return Err(format!(
            "{} of {} words differ, first {:02x?}",
            wrong.len(),
            expected.len() / 4,
            wrong[0]
        ));
    }
    Ok(())
}

fn run_folder(folder: &Path) -> (usize, Vec<String>) {
    let Some(mut device) = Device::open() else {
        eprintln!("no Vulkan device: runs are skipped");
        return (0, Vec::new());
    };
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder of runs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "run"))
        .collect();
    scripts.sort();
    let mut wrong = Vec::new();
    for script in &scripts {
        if let Err(why) = run(script, &mut device) {
            wrong.push(format!(
                "{}: {why}",
                script.file_stem().expect("a name").to_string_lossy()
            ));
        }
    }
    (scripts.len(), wrong)
}

#[test]
fn runs_kept_here_give_the_expected_results() {
    let (_, wrong) = run_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn runs_of_the_named_folder_give_the_expected_results() {
    let Ok(folder) = std::env::var("RELIC_RUNS") else {
        eprintln!("RELIC_RUNS names no folder of runs: skipped");
        return;
    };
    let (count, wrong) = run_folder(Path::new(&folder));
    assert!(
        wrong.is_empty(),
        "{} of {count} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
