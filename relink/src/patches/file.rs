//! The patch file.

use serde::Deserialize;

use crate::address::{ImageAddress, ImageRange};

/// Most bytes that a patch file may have.
const SIZE_LIMIT: usize = 16 << 20;
/// The only format so far.
const FORMAT: u32 = 1;

/// A patch file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFile {
    /// Its patches, in its order.
    pub patches: Vec<Patch>,
}

/// One patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// What it is called.
    pub name: String,
    /// Which file it changes, by its path in the title.
    pub target: String,
    /// Hash of that file, where the patch fits one only.
    pub sha256: Option<[u8; 32]>,
    /// Whether it is applied.
    pub enabled: bool,
    /// What it writes.
    pub writes: Vec<Write>,
}

/// Some bytes, replaced by as many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub address: ImageAddress,
    /// What must stand there.
    pub expect: Vec<u8>,
    /// What will.
    pub replace: Vec<u8>,
}

impl Write {
    /// The range that it covers.
    #[must_use]
    pub const fn range(&self) -> ImageRange {
        ImageRange {
            start: self.address,
            size: self.replace.len() as u64,
        }
    }
}

/// What is wrong with a patch file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchFileError {
    /// Not TOML of this shape.
    #[error("{0}")]
    Toml(String),
    /// Too long.
    #[error("it has {size} bytes, more than the {SIZE_LIMIT} that a patch file may have")]
    Size {
        /// Its size.
        size: usize,
    },
    /// Not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// Another format.
    #[error("format is {found}, expected {FORMAT}")]
    Format {
        /// What it says.
        found: u32,
    },
    /// Something about one patch.
    #[error("patch {name:?}: {problem}")]
    Patch {
        /// Its name.
        name: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Something about one write of a patch.
    #[error("patch {name:?}, write at {address}: {problem}")]
    Write {
        /// The patch's name.
        name: String,
        /// The write's address.
        address: ImageAddress,
        /// What is wrong.
        problem: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    format: u32,
    #[serde(default)]
    patch: Vec<PatchText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchText {
    name: String,
    target: String,
    sha256: Option<String>,
    #[serde(default = "enabled")]
    enabled: bool,
    #[serde(default)]
    write: Vec<WriteText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteText {
    address: u64,
    expect: String,
    replace: String,
}

const fn enabled() -> bool {
    true
}

impl PatchFile {
    /// Reads a patch file.
    ///
    /// # Errors
    ///
    /// [`PatchFileError`] for the first thing that is wrong, with its line where there is one.
    pub fn parse(bytes: &[u8]) -> Result<Self, PatchFileError> {
        if bytes.len() > SIZE_LIMIT {
            return Err(PatchFileError::Size { size: bytes.len() });
        }
        let text = std::str::from_utf8(bytes).map_err(|_| PatchFileError::NotText)?;
        let file: FileText = toml::from_str(text).map_err(|error| PatchFileError::Toml(error.to_string()))?;
        if file.format != FORMAT {
            return Err(PatchFileError::Format { found: file.format });
        }
        let mut names = hashbrown::HashSet::new();
        let mut patches = Vec::with_capacity(file.patch.len());
        for text in file.patch {
            let patch = patch(text)?;
            if !names.insert(patch.name.clone()) {
                return Err(refuse(&patch.name, "there are two patches of this name"));
            }
            patches.push(patch);
        }
        check_overlaps(&patches)?;
        Ok(Self { patches })
    }
}

fn refuse(name: &str, problem: &'static str) -> PatchFileError {
    PatchFileError::Patch {
        name: name.to_owned(),
        problem,
    }
}

fn patch(text: PatchText) -> Result<Patch, PatchFileError> {
    let refuse = |problem| refuse(&text.name, problem);
    if text.name.is_empty() {
        return Err(refuse("its name is empty"));
    }
    if text.target.is_empty()
        || text.target.starts_with('/')
        || text.target.split('/').any(|part| part == "..")
    {
        return Err(refuse("its target is no path inside the title"));
    }
    if text.write.is_empty() {
        return Err(refuse("it writes nothing"));
    }
    let sha256 = match &text.sha256 {
        None => None,
        Some(digits) => {
            let bytes = bytes_of(digits).and_then(|bytes| bytes.try_into().ok());
            Some(bytes.ok_or_else(|| refuse("its sha256 is not 64 hexadecimal digits"))?)
        }
    };
    let mut writes = Vec::with_capacity(text.write.len());
    for write in &text.write {
        let address = ImageAddress(write.address);
        let refuse = |problem| PatchFileError::Write {
            name: text.name.clone(),
            address,
            problem,
        };
        let bytes = |digits: &str, problem| bytes_of(digits).ok_or_else(|| refuse(problem));
        let expect = bytes(&write.expect, "expect is not pairs of hexadecimal digits")?;
        let replace = bytes(&write.replace, "replace is not pairs of hexadecimal digits")?;
        if expect.is_empty() {
            return Err(refuse("expect is empty"));
        }
        if expect.len() != replace.len() {
            return Err(refuse("expect and replace are not equally long"));
        }
        if address.0.checked_add(replace.len() as u64).is_none() {
            return Err(refuse("the address wraps around"));
        }
        writes.push(Write {
            address,
            expect,
            replace,
        });
    }
    Ok(Patch {
        name: text.name,
        target: text.target,
        sha256,
        enabled: text.enabled,
        writes,
    })
}

/// No two enabled patches may write one byte: the result would depend on their order.
fn check_overlaps(patches: &[Patch]) -> Result<(), PatchFileError> {
    let enabled = patches.iter().filter(|patch| patch.enabled);
    let mut all: Vec<(&str, &Write, &str)> = enabled
        .flat_map(|patch| {
            patch
                .writes
                .iter()
                .map(|write| (&*patch.target, write, &*patch.name))
        })
        .collect();
    all.sort_by_key(|(target, write, _)| (*target, write.address));
    for pair in all.windows(2) {
        if let [(target, first, _), (other, second, name)] = pair
            && target == other
            && second.address < first.range().end()
        {
            return Err(PatchFileError::Write {
                name: (*name).to_owned(),
                address: second.address,
                problem: "another write covers these bytes too",
            });
        }
    }
    Ok(())
}

/// Pairs of hexadecimal digits, with or without spaces between them.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.split_ascii_whitespace()
        .flat_map(|word| {
            let (pairs, rest) = word.as_bytes().as_chunks::<2>();
            let odd = (!rest.is_empty()).then_some(None);
            pairs
                .iter()
                .map(|[high, low]| {
                    let digit = |byte: u8| char::from(byte).to_digit(16);
                    Some((digit(*high)? << 4 | digit(*low)?) as u8)
                })
                .chain(odd)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        format = 1
        [[patch]]
        name = "one"
        target = "eboot.bin"
        sha256 = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F"
        [[patch.write]]
        address = 0x10
        expect = "75 10"
        replace = "EB10"
        [[patch]]
        name = "two"
        target = "sce_module/a.prx"
        enabled = false
        [[patch.write]]
        address = 17
        expect = "00"
        replace = "01"
    "#;

    #[test]
    fn a_patch_file_is_read() {
        let file = PatchFile::parse(GOOD.as_bytes()).unwrap();
        let [one, two] = &*file.patches else {
            panic!("{file:?}")
        };
        assert_eq!((one.enabled, two.enabled), (true, false));
        assert_eq!(one.sha256.unwrap()[31], 0x1f);
        let write = &one.writes[0];
        assert_eq!(
            (write.address.0, &*write.expect, &*write.replace),
            (16, &[0x75, 0x10][..], &[0xeb, 0x10][..])
        );
        assert_eq!(two.target, "sce_module/a.prx");
    }

    #[test]
    fn every_mistake_is_named() {
        for (from, to, part) in [
            ("format = 1", "format = 2", "format is 2"),
            ("format = 1", "", "format"),
            ("name = \"one\"", "name = \"one\"\nnote = \"x\"", "unknown field"),
            ("address = 17", "adress = 17", "unknown field"),
            ("name = \"one\"", "name = \"two\"", "two patches"),
            ("name = \"one\"", "name = \"\"", "empty"),
            (
                "target = \"eboot.bin\"",
                "target = \"/eboot.bin\"",
                "inside the title",
            ),
            (
                "target = \"eboot.bin\"",
                "target = \"../eboot.bin\"",
                "inside the title",
            ),
            ("sha256 = \"0001", "sha256 = \"01", "64 hexadecimal"),
            ("EB10", "EB1", "pairs"),
            ("EB10", "E B10", "pairs"),
            ("EB10", "EB1000", "equally long"),
            ("expect = \"75 10\"", "expect = \"\"", "expect is empty"),
            ("address = 0x10", "address = -1", "address"),
            (
                "address = 0x10",
                "address = 0x7fffffffffffffff\nx = 1",
                "unknown field",
            ),
            ("enabled = false", "enabled = \"no\"", "boolean"),
            ("[[patch.write]]", "[patch.write]", "sequence"),
            ("format = 1", "format = 1\nformat = 1", "duplicate"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let error = PatchFile::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{to}: {error}");
        }
        assert_eq!(PatchFile::parse(b"\xff"), Err(PatchFileError::NotText));
    }

    #[test]
    fn overlapping_writes_are_refused_unless_disabled() {
        let overlapping = GOOD.replace("sce_module/a.prx", "eboot.bin");
        assert!(PatchFile::parse(overlapping.as_bytes()).is_ok());
        let error = PatchFile::parse(overlapping.replace("enabled = false", "").as_bytes()).unwrap_err();
        assert!(error.to_string().contains("another write"), "{error}");
    }
}
