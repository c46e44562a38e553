//! NIDs: the eleven-character hashes by which the console binds imports to exports.

use std::{fmt, str::FromStr};

/// Key that is hashed behind every name.
const KEY: [u8; 16] = [
    0x51, 0x8D, 0x64, 0xA6, 0x35, 0xDE, 0xD8, 0xC1, 0xE6, 0xB0, 0x39, 0xB1, 0xC3, 0xE5, 0x52, 0x30,
];

/// The console's base-64 alphabet.
pub const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// The hash of an exported name, as the eleven characters that stand in symbol tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Nid([u8; 11]);

impl Nid {
    /// The NID of `name`: the first eight bytes of SHA-1(name ‖ key), read little-endian, sixty bits in ten
    /// characters and the last four bits in the eleventh. C++ names are hashed in their mangled form.
    #[must_use]
    pub fn of(name: &str) -> Self {
        use sha1::Digest as _;
        let mut hash = sha1::Sha1::new();
        hash.update(name.as_bytes());
        hash.update(KEY);
        let digest = hash.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Self::from_bits(u64::from_le_bytes(first))
    }

    /// The NID with these 64 bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        let mut text = [0; 11];
        let mut i = 0;
        while i < 10 {
            text[i] = ALPHABET[((bits >> (58 - 6 * i)) & 63) as usize];
            i += 1;
        }
        text[10] = ALPHABET[((bits & 15) << 2) as usize];
        Self(text)
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The bytes come from ALPHABET only, by `from_bits` and `from_str`.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The NID in front of the first `#` of a symbol name (`NID#library#module`), if it is one.
    #[must_use]
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        symbol.split('#').next().and_then(|text| text.parse().ok())
    }
}

/// Text that is not a NID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a NID: a NID has 11 characters of A-Z a-z 0-9 + -")]
pub struct NotANid {
    text: String,
}

impl FromStr for Nid {
    type Err = NotANid;

    fn from_str(text: &str) -> Result<Self, NotANid> {
        match <[u8; 11]>::try_from(text.as_bytes()) {
            Ok(bytes) if bytes.iter().all(|byte| ALPHABET.contains(byte)) => Ok(Self(bytes)),
            _ => Err(NotANid {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Debug for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors published by several projects for well-known exports.
    #[test]
    fn known_names_have_their_known_nids() {
        for (name, nid) in [
            ("sceKernelUsleep", "1jfXLRVzisc"),
            ("printf", "hcuQgD53UxM"),
            ("malloc", "gQX+4GDQjpM"),
            ("exit", "uMei1W9uyNo"),
            ("scePadReadState", "YndgXqQVV7c"),
            ("module_start", "BaOKcng8g88"),
            ("sceVideoOutOpen", "Up36PTk687E"),
            ("scePthreadCreate", "6UgtwV+0zb4"),
            ("sceKernelAllocateDirectMemory", "rTXw65xmLIA"),
            ("__error", "9BcDykPmo1I"),
            ("__tls_get_addr", "vNe1w4diLCs"),
            ("__stack_chk_guard", "f7uOxY9mM1U"),
            ("sceAudioOutOutput", "QOQtbeDqsT4"),
            ("environ", "+2thxYZ4syk"),
        ] {
            assert_eq!(Nid::of(name).as_str(), nid, "{name}");
            assert_eq!(nid.parse::<Nid>(), Ok(Nid::of(name)));
        }
    }

    #[test]
    fn text_of_another_shape_is_refused() {
        for text in ["", "short", "hcuQgD53Ux/", "hcuQgD53UxMM", "hcuQgD53Ux\u{e9}"] {
            assert!(text.parse::<Nid>().is_err(), "{text:?}");
        }
        assert_eq!(Nid::of_symbol("hcuQgD53UxM#B#C"), Some(Nid::of("printf")));
        assert_eq!(Nid::of_symbol("printf"), None);
    }
}
