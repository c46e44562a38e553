//! The hash itself. A proc macro can't be a client of `relic_core` without compiling it for the build host too, so
//! the fifteen lines stand here again; `relic_libs`' tests compare the two for every export.

use sha1::Digest as _;

const KEY: [u8; 16] = [
    0x51, 0x8D, 0x64, 0xA6, 0x35, 0xDE, 0xD8, 0xC1, 0xE6, 0xB0, 0x39, 0xB1, 0xC3, 0xE5, 0x52, 0x30,
];
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// The NID of `name`.
pub(crate) fn of(name: &str) -> String {
    let digest = sha1::Sha1::new()
        .chain_update(name.as_bytes())
        .chain_update(KEY)
        .finalize();
    let bits = digest
        .iter()
        .take(8)
        .rev()
        .fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let head = (0..10).map(|i| bits >> (58 - 6 * i) & 63);
    head.chain([(bits & 15) << 2])
        .map(|index| char::from(ALPHABET[index as usize]))
        .collect()
}

/// Why `text` is not a NID.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.len() == 11 && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
        Ok(())
    } else {
        Err(format!(
            "{text:?} is not a NID: write the 11 characters of A-Z a-z 0-9 + - that stand in symbol tables, or give `name = \"…\"`"
        ))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_names_have_their_known_nids() {
        assert_eq!(super::of("printf"), "hcuQgD53UxM");
        assert_eq!(super::of("malloc"), "gQX+4GDQjpM");
        assert_eq!(super::of("sceVideoOutOpen"), "Up36PTk687E");
        assert!(super::check("gQX+4GDQjpM").is_ok());
        assert!(super::check("gQX/4GDQjpM").is_err());
    }
}
