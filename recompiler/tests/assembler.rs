//! The decoder against LLVM: on LLVM's own test vectors, and on random words.
//!
//! `RELIC_LLVM_TESTS` names LLVM's folder `llvm/test/MC` (`./x oracle` fetches it). Without it, or without LLVM's library,
//! the tests say that they skip. Of the vectors the text has to be LLVM's, too, but for the remark on registers that do
//! not start at a multiple of their number; of random words only whether they are an instruction and how long it is.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

mod llvm;

use llvm::Llvm;
use relic_recompiler::{Dialect, ProgramCounter, disassemble};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every run of `0x..` bytes of the files on this chip family, as words.
fn vectors(folder: &Path) -> BTreeSet<Vec<u32>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder of tests") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default();
        if !text.contains("gfx10") {
            continue;
        }
        for line in text.lines() {
            let bytes: Option<Vec<u8>> = line
                .rsplit('[')
                .next()
                .unwrap_or_default()
                .trim_end_matches(']')
                .split([',', ' '])
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(|part| part.strip_prefix("0x").filter(|part| part.len() == 2))
                .map(|part| u8::from_str_radix(part?, 16).ok())
                .collect();
            if let Some(bytes) = bytes
                && !bytes.is_empty()
                && bytes.len() % 4 == 0
            {
                found.insert(
                    bytes
                        .chunks(4)
                        .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
                        .collect(),
                );
            }
        }
    }
    found
}

/// Where the decoder is meant to differ from LLVM, and why.
fn exception(code: &[u32]) -> Option<&'static str> {
    let (word, high) = (code[0], code.get(1).copied().unwrap_or_default());
    let (comparison, one_source) = (word >> 25 == 0x3e, word >> 25 == 0x3f);
    if word >> 31 == 0
        && word & 0x1ff == 0xf9
        && (high >> 16 & 7 == 7
            || !one_source && high >> 24 & 7 == 7
            || !comparison && (high >> 8 & 7 == 7 || high >> 11 & 3 == 3))
    {
        return Some("SDWA selectors without a meaning: LLVM takes them and has no text for them");
    }
    if word >> 23 == 0x1a7 {
        return Some(
            "packed instructions with the older chips' prefix: LLVM asks the older chips' tables, too",
        );
    }
    if word >> 26 == 0x3d && (matches!(word & 0x3f, 0x35 | 0x3f) || matches!(word >> 6 & 0x7f, 106 | 126)) {
        return Some("VCC or EXEC as four registers: they are two");
    }
    let descriptor = matches!(word >> 26, 0x38 | 0x3a) && high >> 16 & 31 == 26
        || word >> 26 == 0x3c && (high >> 16 & 31 == 25 || high >> 21 & 31 == 26);
    if descriptor
        || word >> 26 == 0x3d && (word & 0x3f == 52 || matches!(word >> 6 & 0x7f, 92..=95 | 100..=107))
    {
        return Some(
            "scalar tuples that end in VCC: drivers use them, LLVM's register classes end before it",
        );
    }
    if word >> 26 == 0x3c && (high & 0xff > 240 || high >> 8 & 0xff > 251) {
        return Some("image data or addresses that end past v255: LLVM rounds their number up or down");
    }
    if word >> 31 == 0 && word & 0x1ff == 0xf9 && matches!(word >> 25, 0x01 | 0x3b) {
        return Some("signs of moved words and exponents in SDWA: LLVM's rule for each operand is its own");
    }
    if word >> 25 == 0x3f && matches!(word >> 9 & 0xff, 0x65 | 0x68) && word & 0x100 == 0 {
        return Some("swaps with what is no VGPR: LLVM takes the source's number for one");
    }
    None
}

/// Words that LLVM must not be asked about.
fn crashes_llvm(code: &[u32]) -> bool {
    exception(code).is_some_and(|why| why.starts_with("SDWA selectors"))
}

#[derive(Default)]
struct Tally {
    count: usize,
    valid: usize,
    wrong: BTreeMap<String, Vec<String>>,
    wrong_count: usize,
    /// Differences that are meant, by reason.
    meant: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn judge(&mut self, llvm: &Llvm, code: &[u32], dialect: Dialect, text: bool) {
        self.count += 1;
        let expected = if crashes_llvm(code) {
            None
        } else {
            llvm.disassemble(code)
        };
        self.valid += usize::from(expected.is_some());
        let ours = disassemble(code, ProgramCounter(0), dialect);
        let same = match (&expected, &ours) {
            (None, Err(_)) => true,
            (Some((a, n)), Ok((b, m))) => n == m && (!text || a == b),
            _ => false,
        };
        if same {
            return;
        }
        if let Some(why) = exception(code) {
            *self.meant.entry(why).or_default() += 1;
            return;
        }
        self.wrong_count += 1;
        let words: Vec<_> = code.iter().map(|word| format!("{word:08x}")).collect();
        let key = match (&expected, &ours) {
            (Some((a, n)), Ok((_, m))) => format!(
                "{} {}",
                a.split(' ').next().unwrap_or_default(),
                if n == m { "text" } else { "length" }
            ),
            (Some((a, _)), Err(_)) => format!("{} refused", a.split(' ').next().unwrap_or_default()),
            (None, Ok((b, _))) => format!("{} taken", b.split(' ').next().unwrap_or_default()),
            (None, Err(_)) => String::new(),
        };
        self.wrong
            .entry(key)
            .or_default()
            .push(format!("{}: {ours:?}, not {expected:?}", words.join(" ")));
    }

    /// # Panics
    /// On more differences than `allowed`.
    fn check(&self, what: &str, allowed: usize) {
        let meant: usize = self.meant.values().sum();
        eprintln!(
            "{what}: {} of {} agree, {} of them instructions; {meant} differ as they should",
            self.count - self.wrong_count - meant,
            self.count,
            self.valid,
        );
        for (why, count) in &self.meant {
            eprintln!("  {count:6} {why}");
        }
        let list: Vec<_> = self
            .wrong
            .iter()
            .map(|(key, list)| format!("  {:6} {key}: {}", list.len(), list[0]))
            .collect();
        assert!(
            self.wrong_count <= allowed,
            "{} of {} differ:\n{}",
            self.wrong_count,
            self.count,
            list.join("\n")
        );
    }
}

#[test]
fn llvms_own_vectors_decode_to_llvms_text() {
    let Ok(folder) = std::env::var("RELIC_LLVM_TESTS") else {
        eprintln!("RELIC_LLVM_TESTS names no folder of LLVM's tests: skipped");
        return;
    };
    let mut all = vectors(&Path::new(&folder).join("AMDGPU"));
    all.append(&mut vectors(&Path::new(&folder).join("Disassembler/AMDGPU")));
    for dialect in [Dialect::Gfx1013, Dialect::Gfx1030] {
        let Some(llvm) = Llvm::open(dialect) else {
            eprintln!("LLVM's library is not installed: skipped");
            return;
        };
        let mut tally = Tally::default();
        for code in &all {
            tally.judge(&llvm, code, dialect, true);
        }
        tally.check(&format!("LLVM's vectors, {dialect:?}"), 0);
    }
}

#[test]
fn random_words_are_instructions_where_llvm_says_so() {
    let count: u32 = std::env::var("DECODE_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000_000);
    for dialect in [Dialect::Gfx1013, Dialect::Gfx1030] {
        let Some(llvm) = Llvm::open(dialect) else {
            eprintln!("LLVM's library is not installed: skipped");
            return;
        };
        // A fixed linear congruential sequence: the same words on every machine.
        let mut state = 0x1234_5678_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let mut tally = Tally::default();
        for _ in 0..count {
            let code = [next(), next(), next(), next(), next()];
            tally.judge(&llvm, &code, dialect, false);
        }
        tally.check(&format!("random words, {dialect:?}"), 0);
    }
}
