//! What a save says of itself: titles, a number of the program's, its size, and its picture. Both lie in the save's
//! `sce_sys`, so that they are committed with it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use relic_macros::guest_fn;
use serde_json::{Value, json};

use super::{
    SaveError, host_error,
    mount::{self, BLOCK, MountPoint},
    store, text,
};
use crate::{
    log,
    pointer::{In, Out},
    result::SceResult,
};

/// `SceSaveDataParam`: 1328 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Param {
    pub(super) title: [u8; 128],
    pub(super) subtitle: [u8; 128],
    pub(super) detail: [u8; 1024],
    pub(super) user_param: u32,
    /// Seconds since 1970 when it was saved.
    pub(super) time: i64,
    reserved: [u8; 32],
}

/// Kinds of parameters.
const ALL: u32 = 0;
const TITLE: u32 = 1;
const SUBTITLE: u32 = 2;
const DETAIL: u32 = 3;
const USER_PARAM: u32 = 4;
const TIME: u32 = 5;

fn file_of(folder: &Path) -> PathBuf {
    folder.join("sce_sys/param.json")
}

fn icon_of(folder: &Path) -> PathBuf {
    folder.join("sce_sys/icon0.png")
}

fn read_json(path: &Path) -> Value {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            log::warn(format_args!(
                "{} is not as it was written: {error}",
                path.display()
            ));
            Value::Null
        }),
        Err(_) => Value::Null,
    }
}

/// Seconds since 1970 when a file or folder was changed.
fn changed(path: &Path) -> i64 {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    let time = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.map_or(0, |time| time.as_secs().cast_signed())
}

/// A text as an array with a NUL, cut where it is longer.
fn array<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    let mut array = [0; SIZE];
    let length = bytes.len().min(SIZE - 1);
    array[..length].copy_from_slice(&bytes[..length]);
    array
}

/// Parameters as a file says; empty ones where there is none.
pub(super) fn read_file(path: &Path, changed_path: &Path) -> Param {
    let value = read_json(path);
    let string = |name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .as_bytes()
    };
    let number = value.get("userParam").and_then(Value::as_u64);
    Param {
        title: array(string("title")),
        subtitle: array(string("subTitle")),
        detail: array(string("detail")),
        user_param: number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        time: changed(changed_path),
        reserved: [0; 32],
    }
}

/// The file's text; `blocks` is what the title asked for.
pub(super) fn file_text(param: &Param, blocks: u64) -> String {
    let string = |bytes: &[u8]| String::from_utf8_lossy(text(bytes)).into_owned();
    let value = json!({
        "title": string(&param.title),
        "subTitle": string(&param.subtitle),
        "detail": string(&param.detail),
        "userParam": param.user_param,
        "blocks": blocks,
    });
    format!("{value:#}\n")
}

pub(super) fn read(folder: &Path) -> Param {
    read_file(&file_of(folder), folder)
}

fn asked_blocks(folder: &Path) -> u64 {
    let value = read_json(&file_of(folder));
    value.get("blocks").and_then(Value::as_u64).unwrap_or(0)
}

fn write(folder: &Path, param: &Param, blocks: u64) -> Result<(), SaveError> {
    let path = file_of(folder);
    let written = fs::create_dir_all(path.parent().unwrap_or(folder))
        .and_then(|()| fs::write(&path, file_text(param, blocks)));
    written.map_err(|error| host_error(&format!("writing {}", path.display()), &error))
}

/// Parameters of a new save.
pub(super) fn create(folder: &Path, blocks: u64) -> Result<(), SaveError> {
    write(folder, &read(folder), blocks)
}

/// Blocks in all and free ones.
pub(super) fn blocks(folder: &Path) -> Result<[u64; 2], SaveError> {
    let used = store::size(folder).map_err(|error| host_error("measuring a save", &error))?;
    let (used, asked) = (used.div_ceil(BLOCK), asked_blocks(folder));
    Ok([asked.max(used), asked.saturating_sub(used)])
}

/// A folder that may be written to.
fn writable(point: In<MountPoint>) -> Result<PathBuf, SaveError> {
    mount::with_library(|library| {
        let mounted = library.mounted(point)?;
        if !mounted.writable {
            return Err(SaveError::BadMounted);
        }
        mounted.folder()
    })
}

fn readable(point: In<MountPoint>) -> Result<PathBuf, SaveError> {
    mount::with_library(|library| library.mounted(point)?.folder())
}

/// Sets what a mounted save says of itself: 0 all, 1 title, 2 subtitle, 3 detail, 4 the program's number.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataSetParam(
    point: In<MountPoint>,
    kind: u32,
    value: In<u8>,
    size: u64,
) -> SceResult {
    let body = || {
        let folder = writable(point)?;
        let (size, bytes) = (size as usize, |limit: usize| {
            value.read_many(limit).ok_or(SaveError::Parameter)
        });
        let mut param = read(&folder);
        // A text ends at its NUL, or where the title says that it ends.
        let string = |limit: usize| -> Result<Vec<u8>, SaveError> {
            if size == 0 || size > limit {
                return Err(SaveError::Parameter);
            }
            Ok(text(&bytes(size)?).to_vec())
        };
        match kind {
            ALL if size >= size_of::<Param>() => {
                // SAFETY: the same pointer, for as many bytes as the title says.
                let all = unsafe { In::<Param>::new(value.as_ptr().cast()) };
                param = all.read().ok_or(SaveError::Parameter)?;
            }
            TITLE => param.title = array(&string(param.title.len())?),
            SUBTITLE => param.subtitle = array(&string(param.subtitle.len())?),
            DETAIL => param.detail = array(&string(param.detail.len())?),
            USER_PARAM if size == 4 => {
                let bytes = bytes(4)?;
                param.user_param = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
            _ => return Err(SaveError::Parameter),
        }
        write(&folder, &param, asked_blocks(&folder))
    };
    body().into()
}

/// Stores what a mounted save says of itself, by kind as above and 5 for the time, and how many bytes that is.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataGetParam(
    point: In<MountPoint>,
    kind: u32,
    out: Out<u8>,
    size: u64,
    got: Out<u64>,
) -> SceResult {
    let body = || {
        let param = read(&readable(point)?);
        if out.is_null() {
            return Err(SaveError::Parameter);
        }
        let fits = |needed: usize| {
            if size < needed as u64 {
                return Err(SaveError::Parameter);
            }
            Ok(needed)
        };
        let string = |bytes: &[u8]| {
            let length = fits(text(bytes).len() + 1)?;
            out.write_bytes(&bytes[..length]);
            Ok(length)
        };
        let length = match kind {
            ALL => {
                let length = fits(size_of::<Param>())?;
                out.cast().write(param);
                length
            }
            TITLE => string(&param.title)?,
            SUBTITLE => string(&param.subtitle)?,
            DETAIL => string(&param.detail)?,
            USER_PARAM => {
                let length = fits(4)?;
                out.cast().write(param.user_param);
                length
            }
            TIME => {
                let length = fits(8)?;
                out.cast().write(param.time);
                length
            }
            _ => return Err(SaveError::Parameter),
        };
        got.write(length as u64);
        Ok(())
    };
    body().into()
}

/// `SceSaveDataIcon`: a picture (PNG) and its length.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Icon {
    buffer: Out<u8>,
    capacity: u64,
    length: u64,
}

impl Icon {
    /// The picture that the title passes.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, SaveError> {
        if self.length > self.capacity {
            return Err(SaveError::Parameter);
        }
        // SAFETY: the title's buffer, of the length that it says.
        let buffer = unsafe { In::new(self.buffer.as_ptr().cast_const()) };
        buffer.read_many(self.length as usize).ok_or(SaveError::Parameter)
    }
}

/// Stores a picture in the title's buffer, cut where that is smaller, and its length.
pub(super) fn load_icon(path: &Path, icon: Out<Icon>) -> Result<(), SaveError> {
    let record = icon.read().ok_or(SaveError::Parameter)?;
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SaveError::NotFound,
        _ => host_error(&format!("reading {}", path.display()), &error),
    })?;
    if record.buffer.is_null() {
        return Err(SaveError::Parameter);
    }
    let length = bytes.len().min(record.capacity as usize);
    record.buffer.write_bytes(&bytes[..length]);
    icon.write(Icon {
        length: bytes.len() as u64,
        ..record
    });
    Ok(())
}

/// Sets a mounted save's picture.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataSaveIcon(point: In<MountPoint>, icon: In<Icon>) -> SceResult {
    let body = || {
        let folder = writable(point)?;
        let bytes = icon.read().ok_or(SaveError::Parameter)?.bytes()?;
        let path = icon_of(&folder);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(&folder)).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| host_error(&format!("writing {}", path.display()), &error))
    };
    body().into()
}

/// Stores a mounted save's picture.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataLoadIcon(point: In<MountPoint>, icon: Out<Icon>) -> SceResult {
    let body = || load_icon(&icon_of(&readable(point)?), icon);
    body().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_consoles_layouts() {
        assert_eq!(size_of::<Param>(), 1328);
        assert_eq!(std::mem::offset_of!(Param, user_param), 1280);
        assert_eq!(std::mem::offset_of!(Param, time), 1288);
        assert_eq!(size_of::<Icon>(), 24);
    }

    #[test]
    fn parameters_are_written_and_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        create(folder.path(), 96).unwrap();
        let mut param = read(folder.path());
        assert_eq!((param.title, param.user_param), ([0; 128], 0));
        param.title = array("Überschrift \"1\"\n".as_bytes());
        param.detail = array(&[b'x'; 2000]);
        param.user_param = u32::MAX;
        write(folder.path(), &param, 96).unwrap();
        let found = read(folder.path());
        assert_eq!(
            Param {
                time: param.time,
                ..found
            },
            param
        );
        assert!(found.time > 1_600_000_000);
        // 0.03 blocks are one.
        assert_eq!(blocks(folder.path()), Ok([96, 95]));
        fs::write(folder.path().join("big"), vec![1; 40 * 1024]).unwrap();
        assert_eq!(blocks(folder.path()), Ok([96, 94]));
    }
}
