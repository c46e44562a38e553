//! Telling an ELF file from the containers in which executables travel.

use std::borrow::Cow;

use crate::{
    address::FileOffset,
    error::{ContainerProblem, RelinkError},
};

use super::bytes::{FileBytes, field};

/// First bytes of the two SELF forms: 0x1D3D154F (PS4, and seen on PS5) and 0xEEF51454 (PS5).
const SELF_MAGICS: [[u8; 4]; 2] = [[0x4f, 0x15, 0x3d, 0x1d], [0x54, 0x14, 0xf5, 0xee]];
/// Size in bytes of a SELF header and of each of its segment records.
const SELF_RECORD: u64 = 0x20;
const SELF_ENCRYPTED: u64 = 1 << 1;
const SELF_COMPRESSED: u64 = 1 << 3;

/// Bit 11 of a segment record's flags: it holds the bytes of a program header; the others hold digests.
const SELF_CONTENT: u64 = 1 << 11;
/// A record's program header index stands from this bit on, in 12 bits.
const SELF_INDEX_SHIFT: u32 = 20;
/// How much longer than the container the unpacked file may be: alignment between segments, nothing more.
const UNPACKED_SLACK: u64 = 1 << 20;
const ELF_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;

/// The ELF file in a file: itself, or what a SELF container holds unencrypted and uncompressed.
///
/// # Errors
///
/// [`RelinkError::SelfContainer`] for a container with encrypted or compressed parts, [`RelinkError::Container`] for a
/// broken one.
pub fn unwrap(bytes: &[u8]) -> Result<Cow<'_, [u8]>, RelinkError> {
    let is_self = bytes
        .first_chunk::<4>()
        .is_some_and(|magic| SELF_MAGICS.contains(magic));
    if !is_self {
        return Ok(Cow::Borrowed(bytes));
    }
    let file = FileBytes::new(bytes);
    let records = self_records(file);
    let refused = |record: &SelfRecord| record.flags & (SELF_ENCRYPTED | SELF_COMPRESSED) != 0;
    if records.is_empty() || records.iter().any(refused) {
        return Err(RelinkError::SelfContainer {
            details: self_details(file),
        });
    }
    unpack(file, &records)
        .map(Cow::Owned)
        .map_err(RelinkError::Container)
}

/// Puts the parts where the ELF file inside has them.
fn unpack(file: FileBytes<'_>, records: &[SelfRecord]) -> Result<Vec<u8>, ContainerProblem> {
    let start = SELF_RECORD * (records.len() as u64 + 1);
    let take = |offset: u64, size: u64| {
        file.get(FileOffset(offset), size)
            .ok_or(ContainerProblem::Cut { offset, size })
    };
    let header = take(start, ELF_HEADER)?;
    let half = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    if !header.starts_with(b"\x7fELF") || half(54) != PROGRAM_HEADER {
        return Err(ContainerProblem::NoElf { offset: start });
    }
    let table_at = u64::from_le_bytes(std::array::from_fn(|i| header[32 + i]));
    let table_size = PROGRAM_HEADER * half(56);
    let table = start
        .checked_add(table_at)
        .ok_or(ContainerProblem::NoElf { offset: start })
        .and_then(|offset| take(offset, table_size))?;

    // (offset in the ELF file, bytes)
    let mut parts = vec![(0, header), (table_at, table)];
    for record in records.iter().filter(|record| record.flags & SELF_CONTENT != 0) {
        let index = record.flags >> SELF_INDEX_SHIFT & 0xfff;
        let header = usize::try_from(index * PROGRAM_HEADER)
            .ok()
            .and_then(|at| table.get(at..)?.first_chunk::<56>())
            .ok_or(ContainerProblem::Index {
                index,
                count: half(56),
            })?;
        let offset = u64::from_le_bytes(field::<8, 8, 56>(header));
        let size = u64::from_le_bytes(field::<32, 8, 56>(header));
        if size > record.size {
            return Err(ContainerProblem::Short {
                index,
                size,
                found: record.size,
            });
        }
        parts.push((offset, take(record.offset, size)?));
    }
    let limit = file.size().saturating_mul(2).saturating_add(UNPACKED_SLACK);
    let mut end = 0;
    for (offset, part) in &parts {
        end = offset
            .checked_add(part.len() as u64)
            .filter(|end| *end <= limit)
            .ok_or(ContainerProblem::Far {
                offset: *offset,
                limit,
            })?
            .max(end);
    }
    let mut bytes = vec![0; usize::try_from(end).map_err(|_| ContainerProblem::Far { offset: end, limit })?];
    for (offset, part) in parts {
        // In range: `end` covers every part, and fits `usize`.
        let at = offset as usize;
        bytes[at..at + part.len()].copy_from_slice(part);
    }
    Ok(bytes)
}

/// One segment record of a SELF.
struct SelfRecord {
    flags: u64,
    offset: u64,
    size: u64,
}

/// The segment records, as far as they are in the file.
fn self_records(file: FileBytes<'_>) -> Vec<SelfRecord> {
    let count = file
        .get(FileOffset(0x18), 2)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(0, |bytes| u16::from_le_bytes(*bytes));
    (1..=u64::from(count))
        .map_while(|index| {
            file.get(FileOffset(SELF_RECORD * index), SELF_RECORD)?
                .first_chunk::<0x20>()
        })
        .map(|record| SelfRecord {
            flags: u64::from_le_bytes(field::<0, 8, 0x20>(record)),
            offset: u64::from_le_bytes(field::<8, 8, 0x20>(record)),
            size: u64::from_le_bytes(field::<16, 8, 0x20>(record)),
        })
        .collect()
}

/// Refuses what is no ELF file, in words that fit what it is.
pub(super) fn refuse_other_files(file: FileBytes<'_>) -> Result<(), RelinkError> {
    let magic = file.all().first_chunk::<4>();
    match magic {
        Some(b"\x7fELF") => Ok(()),
        Some(magic) if SELF_MAGICS.contains(magic) => Err(RelinkError::SelfContainer {
            details: self_details(file),
        }),
        Some(b"\x7fCNT") => Err(RelinkError::Package {
            magic: "CNT, a PS4 package",
        }),
        Some(b"\x7fFIH") => Err(RelinkError::Package {
            magic: "FIH, a PS5 package",
        }),
        _ => Err(RelinkError::NotElf {
            found: match file.all() {
                [] => "nothing".to_owned(),
                bytes => bytes
                    .iter()
                    .take(4)
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<Vec<_>>()
                    .join(" "),
            },
            hint: if file.all().is_empty() {
                " (the file is empty)"
            } else {
                "; it may still be encrypted"
            },
        }),
    }
}

/// What the segment records of a SELF say, in words.
fn self_details(file: FileBytes<'_>) -> String {
    let records = self_records(file);
    let count_with = |bit| records.iter().filter(|record| record.flags & bit != 0).count();
    format!(
        "{} segments, {} encrypted, {} compressed",
        records.len(),
        count_with(SELF_ENCRYPTED),
        count_with(SELF_COMPRESSED)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_self_is_described() {
        let mut file = vec![0; 0x60];
        file[..4].copy_from_slice(&SELF_MAGICS[1]);
        file[0x18] = 2;
        file[0x20] = 0b1010;
        file[0x40] = 0b0010;
        let error = refuse_other_files(FileBytes::new(&file)).unwrap_err().to_string();
        assert!(error.contains("2 segments, 2 encrypted, 1 compressed"), "{error}");
        assert!(error.contains("decrypts nothing"), "{error}");
    }

    #[test]
    fn each_container_is_named() {
        for (bytes, part) in [
            (&b""[..], "empty"),
            (b"\x7fCNT....", "PS4 package"),
            (b"\x7fFIH....", "PS5 package"),
            (b"MZ", "4d 5a"),
            (b"\x4f\x15\x3d\x1d", "0 segments"),
        ] {
            let error = refuse_other_files(FileBytes::new(bytes)).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
