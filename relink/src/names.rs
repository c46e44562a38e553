//! Names of well-known console exports, for messages: a NID alone says nothing to a reader.
//!
//! Adding a name is one line in `data/names.txt`.

use std::sync::LazyLock;

use hashbrown::HashMap;
use relic_core::Nid;

static NAMES: LazyLock<HashMap<Nid, &'static str>> = LazyLock::new(|| {
    include_str!("../data/names.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|name| (Nid::of(name), name))
        .collect()
});

/// The name whose hash is `nid`, where the table has it.
#[must_use]
pub fn name_of(nid: Nid) -> Option<&'static str> {
    NAMES.get(&nid).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_name_is_found_by_its_nid() {
        assert_eq!("hcuQgD53UxM".parse().ok().and_then(name_of), Some("printf"));
        assert_eq!("djxxOmW6-aw".parse().ok().and_then(name_of), Some("__progname"));
        assert_eq!(name_of(Nid::of("no export is called this")), None);
    }

    #[test]
    fn no_line_is_lost_to_a_duplicate_or_a_blank() {
        let lines = include_str!("../data/names.txt")
            .lines()
            .filter(|line| !line.starts_with('#'));
        for line in lines.clone() {
            assert_eq!(line.trim(), line);
            assert!(!line.is_empty());
        }
        assert_eq!(lines.count(), NAMES.len());
    }
}
