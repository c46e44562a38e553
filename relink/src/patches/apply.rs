//! Applying patches to a target's bytes, and checking that nothing else writes there.

use sha2::{Digest as _, Sha256};

use crate::{
    address::{FileOffset, ImageAddress, ImageRange},
    error::RelinkError,
    input::{Object, ObjectKind, relocations::SLOT},
    plan::Plan,
};

use super::{Patch, Write};

/// A write that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Name of its patch.
    pub patch: String,
    /// What it wrote.
    pub write: Write,
    /// Where in the target's file, and in its output.
    pub offset: FileOffset,
}

/// What is wrong with a patch in its target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchProblem {
    /// Another file.
    #[error("the file's SHA-256 is {found}, and the patch is for another one")]
    Hash {
        /// What it is.
        found: String,
    },
    /// No such bytes.
    #[error("{range} is not within the file contents of one LOAD segment")]
    Unmapped {
        /// The range.
        range: ImageRange,
    },
    /// Other bytes.
    #[error("at {address} stands {found}, where the patch expects {expected}")]
    Unexpected {
        /// Where.
        address: ImageAddress,
        /// What.
        found: String,
        /// What should.
        expected: String,
    },
    /// The relinker writes there.
    #[error("{range} meets {what}, which the relinker or the OS loader writes")]
    Conflict {
        /// The range.
        range: ImageRange,
        /// What.
        what: &'static str,
    },
}

/// Checks the enabled patches of a target against its bytes, and says where each write goes. Changes nothing.
///
/// # Errors
///
/// [`RelinkError::Patch`], and what reading the target gives.
pub fn locate(bytes: &[u8], kind: ObjectKind, patches: &[&Patch]) -> Result<Vec<Applied>, RelinkError> {
    let object = Object::read(bytes, kind)?;
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    let mut located = Vec::new();
    for patch in patches {
        let refuse = |problem| RelinkError::Patch {
            name: patch.name.clone(),
            target: patch.target.clone(),
            problem,
        };
        if patch.sha256.is_some_and(|expected| expected != hash) {
            return Err(refuse(PatchProblem::Hash { found: hex(&hash) }));
        }
        for write in &patch.writes {
            let range = write.range();
            let load = object
                .segments
                .load_of(write.address, range.size)
                .filter(|load| load.file_range().covers(write.address, range.size))
                .ok_or_else(|| refuse(PatchProblem::Unmapped { range }))?;
            let offset = FileOffset(load.offset.0 + (write.address.0 - load.range.start.0));
            for (what, start, size) in object.header_ranges() {
                if offset.0 < start + size && start < offset.0 + range.size {
                    return Err(refuse(PatchProblem::Conflict { range, what }));
                }
            }
            let found = object.file.get(offset, range.size).unwrap_or_default();
            if found != write.expect {
                return Err(refuse(PatchProblem::Unexpected {
                    address: write.address,
                    found: hex(found),
                    expected: hex(&write.expect),
                }));
            }
            located.push(Applied {
                patch: patch.name.clone(),
                write: write.clone(),
                offset,
            });
        }
    }
    Ok(located)
}

/// Writes what was located.
pub(crate) fn write(bytes: &mut [u8], located: &[Applied]) {
    for applied in located {
        // In range: `locate` has read as many bytes there.
        let start = usize::try_from(applied.offset.0).unwrap_or(usize::MAX);
        let place = start
            .checked_add(applied.write.replace.len())
            .and_then(|end| bytes.get_mut(start..end));
        if let Some(place) = place {
            place.copy_from_slice(&applied.write.replace);
        }
    }
}

/// Refuses patches where the planned output has something else: a relocation's target, or code that is replaced.
pub(crate) fn check_conflicts(
    target: &str,
    object: &Object<'_>,
    plan: &Plan<'_>,
    located: &[Applied],
) -> Result<(), RelinkError> {
    if located.is_empty() {
        return Ok(());
    }
    let relocated = object.relocations.iter().map(|relocation| {
        let start = relocation.target;
        (ImageRange { start, size: SLOT }, "a relocation's target")
    });
    let rewritten = plan.rewrites.iter().map(|rewrite| {
        let range = ImageRange {
            start: rewrite.address,
            size: rewrite.bytes.len() as u64,
        };
        (range, "code that is replaced")
    });
    let mut taken: Vec<(ImageRange, &'static str)> = relocated.chain(rewritten).collect();
    taken.sort_by_key(|(range, _)| range.start);
    for applied in located {
        let range = applied.write.range();
        // What is taken does not overlap, so the last that begins in front of the range's end is the only candidate.
        let after = taken.partition_point(|(other, _)| other.start < range.end());
        let candidate = after.checked_sub(1).and_then(|index| taken.get(index));
        if let Some((other, what)) = candidate
            && other.end() > range.start
        {
            return Err(RelinkError::Patch {
                name: applied.patch.clone(),
                target: target.to_owned(),
                problem: PatchProblem::Conflict { range, what },
            });
        }
    }
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
