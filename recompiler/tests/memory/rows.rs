//! The instructions, and what they do.

/// What an instruction does with a lane's memory.
#[derive(Clone, Copy)]
pub enum Act {
    /// `bytes` bytes, extended to a register with or without sign, or into one half of it.
    Load {
        bytes: u32,
        signed: bool,
        half: Option<bool>,
    },
    /// The low bytes of the data, or those of its upper half.
    Store {
        bytes: u32,
        high: bool,
    },
    /// Two elements of `bytes`, `stride` bytes times each of the two offsets away.
    LoadTwo {
        bytes: u32,
        stride: u32,
    },
    StoreTwo {
        bytes: u32,
        stride: u32,
    },
    SwapTwo {
        bytes: u32,
        stride: u32,
    },
    /// (memory, first data, second data).
    Atomic32(fn(u32, u32, u32) -> u32),
    Atomic64(fn(u64, u64, u64) -> u64),
    /// The data is the dword, or two, one element behind.
    Behind32(fn(u32, u32, u32) -> u32),
    Behind64(fn(u64, u64, u64) -> u64),
}

/// One instruction.
#[derive(Clone)]
pub struct Row {
    pub name: String,
    pub act: Act,
    /// An atomic gives the old value back.
    pub returns: bool,
    /// Operands are floats: denormal ones may be taken for zero.
    pub floats: bool,
}

impl Row {
    /// Bytes of an element: what addresses are multiples of.
    pub fn bytes(&self) -> u32 {
        match self.act {
            Act::Load { bytes, .. }
            | Act::Store { bytes, .. }
            | Act::LoadTwo { bytes, .. }
            | Act::StoreTwo { bytes, .. }
            | Act::SwapTwo { bytes, .. } => bytes,
            Act::Atomic32(_) | Act::Behind32(_) => 4,
            Act::Atomic64(_) | Act::Behind64(_) => 8,
        }
    }

    /// Whether its elements lie in rows of 64, not beside each other.
    pub fn strided(&self) -> bool {
        self.name.contains("st64")
    }

    pub fn is_atomic(&self) -> bool {
        matches!(
            self.act,
            Act::Atomic32(_) | Act::Atomic64(_) | Act::Behind32(_) | Act::Behind64(_)
        )
    }
}

fn row(name: String, act: Act) -> Row {
    Row {
        name,
        act,
        returns: false,
        floats: false,
    }
}

/// A function over words and the same over pairs of them.
macro_rules! both {
    (|$m:ident, $a:ident, $b:ident| $body:expr) => {
        (
            |$m: u32, $a: u32, $b: u32| {
                let _ = ($a, $b);
                $body
            },
            |$m: u64, $a: u64, $b: u64| {
                let _ = ($a, $b);
                $body
            },
        )
    };
}

macro_rules! floats {
    (|$m:ident, $a:ident, $b:ident| $body:expr) => {
        (
            |m: u32, a: u32, b: u32| {
                let ($m, $a, $b) = (f32::from_bits(m), f32::from_bits(a), f32::from_bits(b));
                let _ = $b;
                f32::to_bits($body)
            },
            |m: u64, a: u64, b: u64| {
                let ($m, $a, $b) = (f64::from_bits(m), f64::from_bits(a), f64::from_bits(b));
                let _ = $b;
                f64::to_bits($body)
            },
        )
    };
}

type Both = (fn(u32, u32, u32) -> u32, fn(u64, u64, u64) -> u64);

/// Integer atomics by what vector memory calls them: (memory, data, what to compare with).
fn integers() -> Vec<(&'static str, Both)> {
    vec![
        (
            "swap",
            both!(|m, a, b| {
                let _ = m;
                a
            }),
        ),
        ("cmpswap", both!(|m, a, b| if m == b { a } else { m })),
        ("add", both!(|m, a, b| m.wrapping_add(a))),
        ("sub", both!(|m, a, b| m.wrapping_sub(a))),
        (
            "smin",
            both!(|m, a, b| if a.cast_signed() < m.cast_signed() { a } else { m }),
        ),
        ("umin", both!(|m, a, b| if a < m { a } else { m })),
        (
            "smax",
            both!(|m, a, b| if a.cast_signed() > m.cast_signed() { a } else { m }),
        ),
        ("umax", both!(|m, a, b| if a > m { a } else { m })),
        ("and", both!(|m, a, b| m & a)),
        ("or", both!(|m, a, b| m | a)),
        ("xor", both!(|m, a, b| m ^ a)),
        ("inc", both!(|m, a, b| if m >= a { 0 } else { m + 1 })),
        ("dec", both!(|m, a, b| if m == 0 || m > a { a } else { m - 1 })),
    ]
}

fn float_atomics() -> Vec<(&'static str, Both)> {
    vec![
        ("fcmpswap", floats!(|m, a, b| if m == b { a } else { m })),
        ("fmin", floats!(|m, a, b| if a < m { a } else { m })),
        ("fmax", floats!(|m, a, b| if a > m { a } else { m })),
    ]
}

/// Loads and stores by what vector memory calls them.
fn plain(list: &mut Vec<Row>, prefix: &str) {
    let load = |bytes, signed, half| Act::Load { bytes, signed, half };
    for (name, act) in [
        ("load_ubyte", load(1, false, None)),
        ("load_sbyte", load(1, true, None)),
        ("load_ushort", load(2, false, None)),
        ("load_sshort", load(2, true, None)),
        ("load_dword", load(4, false, None)),
        ("load_dwordx2", load(8, false, None)),
        ("load_dwordx3", load(12, false, None)),
        ("load_dwordx4", load(16, false, None)),
        ("load_ubyte_d16", load(1, false, Some(false))),
        ("load_ubyte_d16_hi", load(1, false, Some(true))),
        ("load_sbyte_d16", load(1, true, Some(false))),
        ("load_sbyte_d16_hi", load(1, true, Some(true))),
        ("load_short_d16", load(2, false, Some(false))),
        ("load_short_d16_hi", load(2, false, Some(true))),
    ] {
        list.push(row(format!("{prefix}{name}"), act));
    }
    for (name, bytes, high) in [
        ("store_byte", 1, false),
        ("store_byte_d16_hi", 1, true),
        ("store_short", 2, false),
        ("store_short_d16_hi", 2, true),
        ("store_dword", 4, false),
        ("store_dwordx2", 8, false),
        ("store_dwordx3", 12, false),
        ("store_dwordx4", 16, false),
    ] {
        list.push(row(format!("{prefix}{name}"), Act::Store { bytes, high }));
    }
}

fn vector_memory(prefix: &str) -> Vec<Row> {
    let mut list = Vec::new();
    plain(&mut list, prefix);
    for (floats, atomics) in [(false, integers()), (true, float_atomics())] {
        for (name, (narrow, wide)) in atomics {
            for returns in [false, true] {
                for (suffix, act) in [("", Act::Atomic32(narrow)), ("_x2", Act::Atomic64(wide))] {
                    list.push(Row {
                        returns,
                        floats,
                        ..row(format!("{prefix}atomic_{name}{suffix}"), act)
                    });
                }
            }
        }
    }
    list
}

/// Untyped buffers.
pub fn buffers() -> Vec<Row> {
    vector_memory("buffer_")
}

/// What reaches scratch memory by itself, or through the ring's V#.
pub fn scratch(ring: bool) -> Vec<Row> {
    let mut list = Vec::new();
    plain(&mut list, if ring { "buffer_" } else { "scratch_" });
    list
}

/// FLAT or GLOBAL.
pub fn flat(prefix: &str) -> Vec<Row> {
    vector_memory(prefix)
}

/// Local data share. Atomics are given (memory, first data, second data).
pub fn shared() -> Vec<Row> {
    let mut list = Vec::new();
    let load = |bytes, signed, half| Act::Load { bytes, signed, half };
    for (name, act) in [
        ("ds_read_u8", load(1, false, None)),
        ("ds_read_i8", load(1, true, None)),
        ("ds_read_u16", load(2, false, None)),
        ("ds_read_i16", load(2, true, None)),
        ("ds_read_b32", load(4, false, None)),
        ("ds_read_b64", load(8, false, None)),
        ("ds_read_b96", load(12, false, None)),
        ("ds_read_b128", load(16, false, None)),
        ("ds_read_u8_d16", load(1, false, Some(false))),
        ("ds_read_u8_d16_hi", load(1, false, Some(true))),
        ("ds_read_i8_d16", load(1, true, Some(false))),
        ("ds_read_i8_d16_hi", load(1, true, Some(true))),
        ("ds_read_u16_d16", load(2, false, Some(false))),
        ("ds_read_u16_d16_hi", load(2, false, Some(true))),
    ] {
        list.push(row(String::from(name), act));
    }
    for (name, bytes, high) in [
        ("ds_write_b8", 1, false),
        ("ds_write_b8_d16_hi", 1, true),
        ("ds_write_b16", 2, false),
        ("ds_write_b16_d16_hi", 2, true),
        ("ds_write_b32", 4, false),
        ("ds_write_b64", 8, false),
        ("ds_write_b96", 12, false),
        ("ds_write_b128", 16, false),
    ] {
        list.push(row(String::from(name), Act::Store { bytes, high }));
    }
    for bytes in [4, 8] {
        let bits = 8 * bytes;
        for (middle, stride) in [("", bytes), ("st64", 64 * bytes)] {
            list.push(row(
                format!("ds_read2{middle}_b{bits}"),
                Act::LoadTwo { bytes, stride },
            ));
            list.push(row(
                format!("ds_write2{middle}_b{bits}"),
                Act::StoreTwo { bytes, stride },
            ));
            list.push(row(
                format!("ds_wrxchg2{middle}_rtn_b{bits}"),
                Act::SwapTwo { bytes, stride },
            ));
        }
    }
    let integer: Vec<(&str, char, Both)> = vec![
        ("add", 'u', both!(|m, a, b| m.wrapping_add(a))),
        ("sub", 'u', both!(|m, a, b| m.wrapping_sub(a))),
        ("rsub", 'u', both!(|m, a, b| a.wrapping_sub(m))),
        ("inc", 'u', both!(|m, a, b| if m >= a { 0 } else { m + 1 })),
        (
            "dec",
            'u',
            both!(|m, a, b| if m == 0 || m > a { a } else { m - 1 }),
        ),
        (
            "min",
            'i',
            both!(|m, a, b| if a.cast_signed() < m.cast_signed() { a } else { m }),
        ),
        (
            "max",
            'i',
            both!(|m, a, b| if a.cast_signed() > m.cast_signed() { a } else { m }),
        ),
        ("min", 'u', both!(|m, a, b| if a < m { a } else { m })),
        ("max", 'u', both!(|m, a, b| if a > m { a } else { m })),
        ("and", 'b', both!(|m, a, b| m & a)),
        ("or", 'b', both!(|m, a, b| m | a)),
        ("xor", 'b', both!(|m, a, b| m ^ a)),
        // Clears the first data's bits and sets the second's.
        ("mskor", 'b', both!(|m, a, b| m & !a | b)),
        // Compares with the first, writes the second.
        ("cmpst", 'b', both!(|m, a, b| if m == a { b } else { m })),
    ];
    let float: Vec<(&str, char, Both)> = vec![
        ("cmpst", 'f', floats!(|m, a, b| if m == a { b } else { m })),
        ("min", 'f', floats!(|m, a, b| if a < m { a } else { m })),
        ("max", 'f', floats!(|m, a, b| if a > m { a } else { m })),
        ("add", 'f', floats!(|m, a, b| m + a)),
    ];
    for (floats, atomics) in [(false, integer), (true, float)] {
        for (name, kind, (narrow, wide)) in atomics {
            for (bits, act) in [(32, Act::Atomic32(narrow)), (64, Act::Atomic64(wide))] {
                if (name, kind, bits) == ("add", 'f', 64) {
                    continue;
                }
                for (middle, returns) in [("", false), ("_rtn", true)] {
                    list.push(Row {
                        returns,
                        floats,
                        ..row(format!("ds_{name}{middle}_{kind}{bits}"), act)
                    });
                }
            }
            if name != "mskor" && name != "cmpst" {
                for (bits, act) in [(32, Act::Behind32(narrow)), (64, Act::Behind64(wide))] {
                    if (name, kind, bits) != ("add", 'f', 64) {
                        list.push(Row {
                            floats,
                            ..row(format!("ds_{name}_src2_{kind}{bits}"), act)
                        });
                    }
                }
            }
        }
    }
    let swap: Both = both!(|m, a, b| {
        let _ = m;
        a
    });
    for (bits, act, behind) in [
        (32, Act::Atomic32(swap.0), Act::Behind32(swap.0)),
        (64, Act::Atomic64(swap.1), Act::Behind64(swap.1)),
    ] {
        list.push(Row {
            returns: true,
            ..row(format!("ds_wrxchg_rtn_b{bits}"), act)
        });
        list.push(row(format!("ds_write_src2_b{bits}"), behind));
    }
    list.push(Row {
        returns: true,
        ..row(
            String::from("ds_wrap_rtn_b32"),
            Act::Atomic32(|m, a, b| if m >= a { m - a } else { m.wrapping_add(b) }),
        )
    });
    list
}
