//! Save data memory: bytes that a title keeps without a folder. Every change replaces the file as a whole.

use std::{fs, io, path::PathBuf};

use relic_macros::guest_fn;

use super::{SaveError, check_user, host_error, mount, param, store};
use crate::{
    pointer::{In, Out},
    result::SceResult,
};

/// Most bytes of a slot.
const LIMIT: u64 = 32 << 20;
const SLOTS: u32 = 4;

/// Files of a slot: bytes, parameters, picture.
struct Slot {
    folder: PathBuf,
    number: u32,
}

impl Slot {
    fn of(user: i32, number: u32) -> Result<Self, SaveError> {
        check_user(user)?;
        if number >= SLOTS {
            return Err(SaveError::Parameter);
        }
        Ok(Self {
            // No save's name begins with a dot.
            folder: mount::root()?.join(".memory"),
            number,
        })
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.number))
    }

    /// The bytes; `None` where it was not set up.
    fn read(&self) -> Result<Option<Vec<u8>>, SaveError> {
        match fs::read(self.file("dat")) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(host_error("reading save data memory", &error)),
        }
    }

    fn write(&self, kind: &str, bytes: &[u8]) -> Result<(), SaveError> {
        store::replace_file(&self.file(kind), bytes)
            .map_err(|error| host_error("writing save data memory", &error))
    }

    fn set_param(&self, param: In<param::Param>) -> Result<(), SaveError> {
        match param.read() {
            Some(param) => self.write("json", param::file_text(&param, 0).as_bytes()),
            None => Ok(()),
        }
    }

    fn set_icon(&self, icon: In<param::Icon>) -> Result<(), SaveError> {
        match icon.read() {
            Some(icon) => self.write("png", &icon.bytes()?),
            None => Ok(()),
        }
    }

    /// Makes it so long; returns how long it was.
    fn set_up(&self, size: u64) -> Result<u64, SaveError> {
        if size == 0 || size > LIMIT {
            return Err(SaveError::Parameter);
        }
        let found = self.read()?;
        let length = found.as_ref().map_or(0, Vec::len);
        if length as u64 != size {
            let mut bytes = found.unwrap_or_default();
            bytes.resize(size as usize, 0);
            self.write("dat", &bytes)?;
        }
        Ok(length as u64)
    }

    fn get(&self, data: &Data) -> Result<(), SaveError> {
        let bytes = self.read()?.ok_or(SaveError::MemoryNotReady)?;
        let range = data.range(bytes.len())?;
        if data.buffer.is_null() {
            return Err(SaveError::Parameter);
        }
        data.buffer.write_bytes(&bytes[range]);
        Ok(())
    }

    fn set(&self, data: &Data) -> Result<(), SaveError> {
        let mut bytes = self.read()?.ok_or(SaveError::MemoryNotReady)?;
        let range = data.range(bytes.len())?;
        // SAFETY: the title's buffer, of the length that it says.
        let buffer = unsafe { In::new(data.buffer.as_ptr().cast_const()) };
        let new = buffer.read_many(range.len()).ok_or(SaveError::Parameter)?;
        bytes[range].copy_from_slice(&new);
        self.write("dat", &bytes)
    }
}

/// `SceSaveDataMemoryData`: a buffer, and where in the memory its bytes lie.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Data {
    buffer: Out<u8>,
    size: u64,
    offset: i64,
}

impl Data {
    fn range(&self, length: usize) -> Result<std::ops::Range<usize>, SaveError> {
        let start = u64::try_from(self.offset).map_err(|_| SaveError::Parameter)?;
        let end = start.checked_add(self.size).filter(|end| *end <= length as u64);
        Ok(start as usize..end.ok_or(SaveError::Parameter)? as usize)
    }
}

/// `SceSaveDataMemorySetup2`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Setup2 {
    option: u32,
    user: i32,
    size: u64,
    icon_size: u64,
    param: In<param::Param>,
    icon: In<param::Icon>,
    slot: u32,
}

/// `SceSaveDataMemoryGet2` and `Set2`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Access2 {
    user: i32,
    data: In<Data>,
    param: Out<param::Param>,
    icon: Out<param::Icon>,
    slot: u32,
}

fn body(body: impl FnOnce() -> Result<(), SaveError>) -> SceResult {
    mount::with_library(|_| body()).into()
}

/// Sets a slot up, and stores how long it was: 0 for a new one.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "options are not read; up to 32 MiB; where the slot's number lies is not known for sure"
)]
pub(crate) extern "sysv64" fn sceSaveDataSetupSaveDataMemory2(setup: In<Setup2>, out: Out<u64>) -> SceResult {
    body(|| {
        let setup = setup.read().ok_or(SaveError::Parameter)?;
        let slot = Slot::of(setup.user, setup.slot)?;
        let was = slot.set_up(setup.size)?;
        if was == 0 {
            slot.set_param(setup.param)?;
            slot.set_icon(setup.icon)?;
        }
        out.write(was);
        Ok(())
    })
}

/// Copies bytes, parameters and the picture out of a slot: what there are pointers for.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "where the slot's number lies is not known for sure"
)]
pub(crate) extern "sysv64" fn sceSaveDataGetSaveDataMemory2(access: In<Access2>) -> SceResult {
    body(|| {
        let access = access.read().ok_or(SaveError::Parameter)?;
        let slot = Slot::of(access.user, access.slot)?;
        slot.read()?.ok_or(SaveError::MemoryNotReady)?;
        if let Some(data) = access.data.read() {
            slot.get(&data)?;
        }
        if !access.param.is_null() {
            access
                .param
                .write(param::read_file(&slot.file("json"), &slot.file("dat")));
        }
        if !access.icon.is_null() {
            param::load_icon(&slot.file("png"), access.icon)?;
        }
        Ok(())
    })
}

/// Copies bytes, parameters and the picture into a slot: what there are pointers for. They are on the disk when it returns.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "where the slot's number lies is not known for sure"
)]
pub(crate) extern "sysv64" fn sceSaveDataSetSaveDataMemory2(access: In<Access2>) -> SceResult {
    body(|| {
        let access = access.read().ok_or(SaveError::Parameter)?;
        let slot = Slot::of(access.user, access.slot)?;
        slot.read()?.ok_or(SaveError::MemoryNotReady)?;
        if let Some(data) = access.data.read() {
            slot.set(&data)?;
        }
        // SAFETY: the title's pointers, which are only read here.
        let (param, icon) = unsafe {
            (
                In::new(access.param.as_ptr().cast_const()),
                In::new(access.icon.as_ptr().cast_const()),
            )
        };
        slot.set_param(param)?;
        slot.set_icon(icon)
    })
}

/// Sets the user's first slot up.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataSetupSaveDataMemory(
    user: i32,
    size: u64,
    param: In<param::Param>,
) -> SceResult {
    body(|| {
        let slot = Slot::of(user, 0)?;
        if slot.set_up(size)? == 0 {
            slot.set_param(param)?;
        }
        Ok(())
    })
}

/// Copies bytes out of the user's first slot.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataGetSaveDataMemory(
    user: i32,
    buffer: Out<u8>,
    size: u64,
    offset: i64,
) -> SceResult {
    body(|| Slot::of(user, 0)?.get(&Data { buffer, size, offset }))
}

/// Copies bytes into the user's first slot. They are on the disk when it returns.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataSetSaveDataMemory(
    user: i32,
    buffer: Out<u8>,
    size: u64,
    offset: i64,
) -> SceResult {
    body(|| Slot::of(user, 0)?.set(&Data { buffer, size, offset }))
}

/// Writes a slot to the disk, where it is already.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataSyncSaveDataMemory(request: In<[u32; 2]>) -> SceResult {
    body(|| {
        let [user, slot] = request.read().ok_or(SaveError::Parameter)?;
        let slot = Slot::of(user.cast_signed(), slot)?;
        slot.read()?.map(|_| ()).ok_or(SaveError::MemoryNotReady)
    })
}
