//! Whatever a file holds, reading, planning and encoding it give a result or an error; and a result is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relic_relink::{
    FilterLevel, Lowerings, SystemCallPolicy, Target,
    input::{ObjectKind, container},
    plan::Rules,
    relink_object,
};

fuzz_target!(|data: &[u8]| {
    let Ok(bytes) = container::unwrap(data) else { return };
    for kind in [ObjectKind::Program, ObjectKind::Module] {
        for filter in [FilterLevel::Data, FilterLevel::Reachable] {
            let rules = Rules {
                system_calls: SystemCallPolicy::Trap,
                filter,
                lowerings: Lowerings {
                    target: Target::NoSha,
                    exact_reciprocals: true,
                },
            };
            let Ok((image, report)) = relink_object(&bytes, kind, rules) else {
                continue;
            };
            for (offset, piece) in &image.pieces {
                assert!(offset.0 + piece.len() as u64 <= image.size);
            }
            for pair in report.segments.windows(2) {
                assert!(pair[0].range.end() <= pair[1].range.start);
            }
        }
    }
});
