//! Telling an ELF file from the containers in which executables travel.

use crate::{address::FileOffset, error::RelinkError};

use super::bytes::{FileBytes, field};

/// First bytes of the two SELF forms: 0x1D3D154F (PS4, and seen on PS5) and 0xEEF51454 (PS5).
const SELF_MAGICS: [[u8; 4]; 2] = [[0x4f, 0x15, 0x3d, 0x1d], [0x54, 0x14, 0xf5, 0xee]];
/// Size in bytes of a SELF header and of each of its segment records.
const SELF_RECORD: u64 = 0x20;
const SELF_ENCRYPTED: u64 = 1 << 1;
const SELF_COMPRESSED: u64 = 1 << 3;

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
    let count = file
        .get(FileOffset(0x18), 2)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let flags: Vec<u64> = (1..=u64::from(count))
        .map_while(|index| {
            file.get(FileOffset(SELF_RECORD * index), SELF_RECORD)?
                .first_chunk::<0x20>()
        })
        .map(|record| u64::from_le_bytes(field::<0, 8, 0x20>(record)))
        .collect();
    let count_with = |bit| flags.iter().filter(|&&flags| flags & bit != 0).count();
    format!(
        "{} segments, {} encrypted, {} compressed",
        flags.len(),
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
