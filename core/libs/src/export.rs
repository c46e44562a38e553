//! The list of everything that guests can import.

/// One function or datum of a guest library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestExport {
    /// The library that a program names when it imports this.
    pub library: &'static str,
    /// The guest's name; empty where only the NID is known.
    pub name: &'static str,
    /// The NID, under which the symbol is exported.
    pub nid: &'static str,
    /// How much of it is there.
    pub status: ExportStatus,
    /// Where it is; null for data, and for a second name of a function that is written in assembly.
    pub address: Address,
}

/// An address that is known when the library is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub(crate) *const ());

// SAFETY: a number, which nothing is read through.
unsafe impl Sync for Address {}
// SAFETY: as above.
unsafe impl Send for Address {}

impl Address {
    /// Whether this is the address of a function, and that one.
    pub(crate) fn is(self, address: u64) -> bool {
        !self.0.is_null() && crate::pointer::address_of(self.0) == address
    }
}

/// How complete an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportStatus {
    /// All of it.
    Implemented,
    /// What the text says is missing.
    Partial(&'static str),
}

/// Every export, in no particular order. `#[guest_fn]` and `#[guest_data]` fill it.
#[linkme::distributed_slice]
pub static EXPORTS: [GuestExport];

/// Every export, sorted by library and name.
#[must_use]
pub fn sorted() -> Vec<GuestExport> {
    let mut exports = EXPORTS.to_vec();
    exports.sort_by_key(|export| (export.library, export.name, export.nid));
    exports
}

#[cfg(test)]
mod tests {
    use super::*;
    use relic_core::Nid;
    use std::collections::HashMap;

    #[test]
    fn nids_are_the_hashes_of_their_names() {
        let exports = sorted();
        assert!(
            exports.len() > 100,
            "only {} exports were collected",
            exports.len()
        );
        for export in exports {
            assert!(export.nid.parse::<Nid>().is_ok(), "{export:?}");
            if !export.name.is_empty() {
                assert_eq!(Nid::of(export.name).as_str(), export.nid, "{export:?}");
            }
        }
    }

    #[test]
    fn a_library_exports_a_nid_once() {
        let mut seen = HashMap::new();
        for export in sorted() {
            let key = (export.library, export.nid);
            if let Some(other) = seen.insert(key, export.name) {
                panic!("{key:?} is exported as {other} and as {}", export.name);
            }
        }
    }
}
