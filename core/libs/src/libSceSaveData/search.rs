//! Which saves there are.

use std::{cmp::Ordering, fs, io};

use relic_macros::guest_fn;

use super::{DirName, SaveError, TitleId, check_user, host_error, is_own, mount, param, store, text};
use crate::{
    pointer::{In, Out},
    result::SceResult,
};

/// `SceSaveDataDirNameSearchCond`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Condition {
    user: i32,
    title: In<TitleId>,
    /// `%` stands for any text, `_` for any character. Null: all.
    name: In<DirName>,
    key: u32,
    order: u32,
}

/// `SceSaveDataDirNameSearchResult`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Found {
    hits: u32,
    names: Out<DirName>,
    capacity: u32,
    stored: u32,
    params: Out<param::Param>,
    infos: Out<Info>,
}

/// `SceSaveDataSearchInfo`: 48 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Info {
    blocks: u64,
    free_blocks: u64,
    reserved: [u8; 32],
}

struct Entry {
    name: String,
    param: param::Param,
    blocks: [u64; 2],
}

/// What saves are sorted by.
const BY_NAME: u32 = 0;
const BY_USER_PARAM: u32 = 1;
const BY_BLOCKS: u32 = 2;
const BY_TIME: u32 = 3;
const BY_FREE_BLOCKS: u32 = 5;

/// Whether a name fits a pattern: work is bounded by the product of their lengths.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // Which ends of the name the pattern so far can reach.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for wanted in pattern {
        if *wanted == b'%' {
            let first = reached
                .iter()
                .position(|reached| *reached)
                .unwrap_or(reached.len());
            reached[first..].fill(true);
            continue;
        }
        for end in (1..reached.len()).rev() {
            reached[end] = reached[end - 1] && (*wanted == b'_' || *wanted == name[end - 1]);
        }
        reached[0] = false;
    }
    reached[name.len()]
}

fn entries(pattern: Option<&[u8]>) -> Result<Vec<Entry>, SaveError> {
    let root = mount::root()?;
    let failed = |error| host_error(&format!("listing {}", root.display()), &error);
    let listed = match fs::read_dir(&root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in listed {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let is_named = pattern.is_none_or(|pattern| fits(pattern, name.as_bytes()));
        if name.starts_with('.') || name.len() >= size_of::<DirName>() || !is_named || !entry.path().is_dir()
        {
            continue;
        }
        if let Some(folder) = store::committed(&entry.path()).map_err(failed)? {
            found.push(Entry {
                name,
                param: param::read(&folder),
                blocks: param::blocks(&folder)?,
            });
        }
    }
    Ok(found)
}

/// Stores names of saves, and what they say of themselves where there is room for it.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataDirNameSearch(
    condition: In<Condition>,
    out: Out<Found>,
) -> SceResult {
    mount::with_library(|_| {
        let condition = condition.read().ok_or(SaveError::Parameter)?;
        let mut found = out.read().ok_or(SaveError::Parameter)?;
        check_user(condition.user)?;
        let by: fn(&Entry, &Entry) -> Ordering = match condition.key {
            BY_NAME => |one, other| one.name.cmp(&other.name),
            BY_USER_PARAM => |one, other| one.param.user_param.cmp(&other.param.user_param),
            BY_BLOCKS => |one, other| one.blocks[0].cmp(&other.blocks[0]),
            BY_TIME => |one, other| one.param.time.cmp(&other.param.time),
            BY_FREE_BLOCKS => |one, other| one.blocks[1].cmp(&other.blocks[1]),
            _ => return Err(SaveError::Parameter),
        };
        if condition.order > 1 {
            return Err(SaveError::Parameter);
        }
        let pattern = condition.name.read();
        let mut entries = if is_own(condition.title) {
            entries(pattern.as_ref().map(|pattern| text(pattern)))?
        } else {
            Vec::new()
        };
        entries.sort_by(|one, other| by(one, other).then_with(|| one.name.cmp(&other.name)));
        if condition.order == 1 {
            entries.reverse();
        }
        found.hits = entries.len() as u32;
        let capacity = if found.names.is_null() { 0 } else { found.capacity };
        entries.truncate(capacity as usize);
        found.stored = entries.len() as u32;
        for (i, entry) in entries.iter().enumerate() {
            let mut name = [0; 32];
            name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
            found.names.write_at(i, name);
            if !found.params.is_null() {
                found.params.write_at(i, entry.param);
            }
            if !found.infos.is_null() {
                found.infos.write_at(
                    i,
                    Info {
                        blocks: entry.blocks[0],
                        free_blocks: entry.blocks[1],
                        reserved: [0; 32],
                    },
                );
            }
        }
        out.write(found);
        Ok(())
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn records_have_the_consoles_layouts() {
        assert_eq!(offset_of!(Condition, key), 24);
        assert_eq!(offset_of!(Found, capacity), 16);
        assert_eq!(offset_of!(Found, infos), 32);
        assert_eq!(size_of::<Info>(), 48);
    }

    #[test]
    fn patterns_stand_for_texts_and_characters() {
        for (pattern, name, expected) in [
            ("SAVE00", "SAVE00", true),
            ("SAVE00", "SAVE01", false),
            ("SAVE__", "SAVE01", true),
            ("SAVE__", "SAVE1", false),
            ("%", "", true),
            ("S%0%", "SAVE01", true),
            ("%1", "SAVE01", true),
            ("%2", "SAVE01", false),
            ("", "a", false),
            ("%_%_%", "ab", true),
            ("%_%_%", "a", false),
        ] {
            assert_eq!(
                fits(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
