//! Whatever a patch file holds, it is read or refused; and what is read keeps its promises.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relic_relink::patches::PatchFile;

fuzz_target!(|data: &[u8]| {
    let Ok(file) = PatchFile::parse(data) else { return };
    for patch in &file.patches {
        assert!(!patch.name.is_empty() && !patch.writes.is_empty());
        for write in &patch.writes {
            assert!(!write.expect.is_empty() && write.expect.len() == write.replace.len());
            assert!(write.range().end().0 > write.address.0);
        }
    }
});
