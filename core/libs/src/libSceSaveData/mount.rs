//! Mounting and unmounting.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use relic_macros::guest_fn;

use super::{DirName, SaveError, TitleId, check_user, host_error, is_own, param, store, text};
use crate::{
    libkernel::file,
    log,
    pointer::{In, Opaque, Out},
    result::SceResult,
    system::user_service::USER,
};

/// Bytes of a block, in which sizes are counted.
pub(super) const BLOCK: u64 = 32 * 1024;
const SLOTS: usize = 16;

/// Modes of a mount.
const READ_ONLY: u32 = 1;
const READ_WRITE: u32 = 2;
const CREATE: u32 = 4;
/// Mount it although it is damaged, and copy the title's icon.
const DAMAGED_TOO: u32 = 8;
const COPY_ICON: u32 = 16;
/// Create it where it is not there.
const CREATE_OR_OPEN: u32 = 32;
const MODES: u32 = READ_ONLY | READ_WRITE | CREATE | DAMAGED_TOO | COPY_ICON | CREATE_OR_OPEN;

/// A mounted save.
#[derive(Debug)]
pub(super) struct Mounted {
    name: String,
    save: store::Save,
    /// It has a copy to write to, which is committed in the end.
    has_copy: bool,
    pub(super) writable: bool,
}

impl Mounted {
    /// What the title sees.
    pub(super) fn folder(&self) -> Result<PathBuf, SaveError> {
        if self.has_copy {
            return Ok(self.save.working());
        }
        let committed = self.save.committed();
        let committed = committed.map_err(|error| host_error("looking for what was saved", &error))?;
        committed.ok_or(SaveError::NotFound)
    }

    fn show(&self, slot: usize) -> Result<(), SaveError> {
        file::mount::mount(&mount_name(slot), &self.folder()?, !self.writable)
            .map_err(|error| host_error("mounting", &error))
    }
}

#[derive(Debug, Default)]
pub(super) struct Library {
    slots: [Option<Mounted>; SLOTS],
    transactions: Vec<i32>,
    next_transaction: i32,
}

static LIBRARY: Mutex<Option<Library>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Library>> {
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `body` with the library; an error where it was not started.
pub(super) fn with_library<T>(
    body: impl FnOnce(&mut Library) -> Result<T, SaveError>,
) -> Result<T, SaveError> {
    body(lock().as_mut().ok_or(SaveError::NotInitialized)?)
}

pub(super) fn initialise() -> Result<(), SaveError> {
    // A second time is the first again: titles and their libraries start it each for itself.
    lock().get_or_insert_with(Library::default);
    Ok(())
}

pub(super) fn terminate() -> Result<(), SaveError> {
    let library = lock().take().ok_or(SaveError::NotInitialized)?;
    unmount_all(library)
}

fn unmount_all(mut library: Library) -> Result<(), SaveError> {
    let mut result = Ok(());
    for slot in 0..SLOTS {
        if library.slots[slot].is_some() {
            result = result.and(unmount(&mut library, slot));
        }
    }
    result
}

/// The program ends in order: what it has mounted is committed.
pub(crate) fn finish() {
    if let Some(library) = lock().take() {
        // What failed is in the log.
        let _ = unmount_all(library);
    }
}

/// Where the user's saves lie.
pub(super) fn root() -> Result<PathBuf, SaveError> {
    let folder = file::writable_folder("savedata").ok_or(SaveError::Internal)?;
    Ok(folder.join(USER.to_string()))
}

/// A save's name: what leads nowhere else.
pub(super) fn name(name: In<DirName>) -> Result<String, SaveError> {
    let name = name.read().ok_or(SaveError::Parameter)?;
    let name = text(&name);
    let fits = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'\\');
    if name.is_empty() || name.len() == size_of::<DirName>() || name[0] == b'.' || !name.iter().all(fits) {
        return Err(SaveError::Parameter);
    }
    Ok(String::from_utf8_lossy(name).into_owned())
}

fn mount_name(slot: usize) -> String {
    format!("savedata{slot}")
}

/// `SceSaveDataMountPoint`: `/savedataN`, with a NUL.
pub(super) type MountPoint = [u8; 16];

impl Library {
    fn slot(&self, point: In<MountPoint>) -> Result<usize, SaveError> {
        let point = point.read().ok_or(SaveError::Parameter)?;
        let number = text(&point).strip_prefix(b"/savedata".as_slice());
        let number = number.and_then(|number| std::str::from_utf8(number).ok());
        let slot: Option<usize> = number.and_then(|number| number.parse().ok());
        slot.filter(|slot| self.slots.get(*slot).is_some_and(Option::is_some))
            .ok_or(SaveError::NotMounted)
    }

    pub(super) fn mounted(&self, point: In<MountPoint>) -> Result<&Mounted, SaveError> {
        let slot = self.slot(point)?;
        self.slots[slot].as_ref().ok_or(SaveError::NotMounted)
    }

    pub(super) fn is_mounted(&self, name: &str) -> bool {
        self.slots.iter().flatten().any(|mounted| mounted.name == name)
    }
}

/// What the calls that mount have in common.
struct Request {
    user: i32,
    title: In<TitleId>,
    name: In<DirName>,
    blocks: u64,
    mode: u32,
}

/// What the title is told, besides the mount point.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MountResult {
    point: MountPoint,
    required_blocks: u64,
    unused: u32,
    /// 1: it was created.
    status: u32,
}

fn mount(request: &Request, out: Out<MountResult>) -> Result<(), SaveError> {
    with_library(|library| {
        check_user(request.user)?;
        let name = name(request.name)?;
        let both = CREATE | CREATE_OR_OPEN;
        if out.is_null() || request.mode & !MODES != 0 || request.mode & both == both {
            return Err(SaveError::Parameter);
        }
        if !is_own(request.title) {
            return Err(SaveError::NotFound);
        }
        if library.is_mounted(&name) {
            return Err(SaveError::Busy);
        }
        let slot = library
            .slots
            .iter()
            .position(Option::is_none)
            .ok_or(SaveError::MountFull)?;
        let folder = root()?.join(&name);
        let there = store::committed(&folder).map_err(|error| host_error("looking for saves", &error))?;
        let may_create = request.mode & both != 0;
        match there {
            Some(_) if request.mode & CREATE != 0 => return Err(SaveError::Exists),
            None if !may_create => return Err(SaveError::NotFound),
            _ => {}
        }
        let created = there.is_none();
        if created {
            let free = file::free_bytes(&folder).unwrap_or(u64::MAX) / BLOCK;
            if request.blocks > free {
                out.write(MountResult {
                    point: [0; 16],
                    required_blocks: request.blocks - free,
                    unused: 0,
                    status: 0,
                });
                return Err(SaveError::NoSpace);
            }
        }
        let save = store::Save::open(&folder)
            .map_err(|error| host_error(&format!("opening {}", folder.display()), &error))?
            .ok_or(SaveError::Busy)?;
        let writable = request.mode & READ_ONLY == 0;
        let mounted = Mounted {
            name,
            save,
            has_copy: writable || created,
            writable,
        };
        let shown = || {
            if mounted.has_copy {
                mounted
                    .save
                    .begin()
                    .map_err(|error| host_error("copying what was saved", &error))?;
            }
            if created {
                param::create(&mounted.save.working(), request.blocks)?;
            }
            mounted.show(slot)
        };
        if let Err(error) = shown() {
            // What could not be removed is removed when the save is opened again.
            let _ = mounted.save.abandon();
            return Err(error);
        }
        library.slots[slot] = Some(mounted);
        let mut point = [0; 16];
        let path = format!("/{}", mount_name(slot));
        point[..path.len()].copy_from_slice(path.as_bytes());
        out.write(MountResult {
            point,
            required_blocks: 0,
            unused: 0,
            status: u32::from(created),
        });
        Ok(())
    })
}

/// `SceSaveDataMount`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Mount {
    user: i32,
    title: In<TitleId>,
    name: In<DirName>,
    fingerprint: In<u8>,
    blocks: u64,
    mode: u32,
}

/// Mounts a save by the title's id and its name.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataMount(request: In<Mount>, out: Out<MountResult>) -> SceResult {
    let body = || {
        let request = request.read().ok_or(SaveError::Parameter)?;
        let request = Request {
            user: request.user,
            title: request.title,
            name: request.name,
            blocks: request.blocks,
            mode: request.mode,
        };
        mount(&request, out)
    };
    body().into()
}

/// `SceSaveDataMount2`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Mount2 {
    user: i32,
    name: In<DirName>,
    blocks: u64,
    mode: u32,
}

/// Mounts a save of the running title: user, name, blocks and mode, as far as the request could be read.
fn mount_named(named: Option<(i32, In<DirName>, u64, u32)>, out: Out<MountResult>) -> SceResult {
    let Some((user, name, blocks, mode)) = named else {
        return Err(SaveError::Parameter).into();
    };
    // SAFETY: null.
    let title = unsafe { In::new(std::ptr::null()) };
    let request = Request {
        user,
        title,
        name,
        blocks,
        mode,
    };
    mount(&request, out).into()
}

/// Mounts a save by its name.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataMount2(request: In<Mount2>, out: Out<MountResult>) -> SceResult {
    let named = request
        .read()
        .map(|request| (request.user, request.name, request.blocks, request.mode));
    mount_named(named, out)
}

/// `SceSaveDataMount3`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Mount3 {
    user: i32,
    name: In<DirName>,
    blocks: u64,
    system_blocks: u64,
    mode: u32,
}

/// Mounts a save by its name. For reading, until an update is prepared.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "transactions are numbers only: an unmount commits what was written, with or without one"
)]
pub(crate) extern "sysv64" fn sceSaveDataMount3(request: In<Mount3>, out: Out<MountResult>) -> SceResult {
    let named = request
        .read()
        .map(|request| (request.user, request.name, request.blocks, request.mode));
    mount_named(named, out)
}

fn unmount(library: &mut Library, slot: usize) -> Result<(), SaveError> {
    let Some(mounted) = library.slots[slot].take() else {
        return Err(SaveError::NotMounted);
    };
    file::mount::unmount(&mount_name(slot));
    if !mounted.has_copy {
        return Ok(());
    }
    mounted.save.finish().map_err(|error| {
        log::warn(format_args!(
            "what was written to the save {} is lost; what was saved before is there",
            mounted.name
        ));
        host_error("saving", &error)
    })
}

fn unmount_point(point: In<MountPoint>) -> SceResult {
    with_library(|library| {
        let slot = library.slot(point)?;
        unmount(library, slot)
    })
    .into()
}

/// Unmounts a save, and commits what was written.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "open files do not keep it mounted"
)]
pub(crate) extern "sysv64" fn sceSaveDataUmount(point: In<MountPoint>) -> SceResult {
    unmount_point(point)
}

/// Unmounts a save, and commits what was written.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "commits in every mode; open files do not keep it mounted"
)]
pub(crate) extern "sysv64" fn sceSaveDataUmount2(_mode: u32, point: In<MountPoint>) -> SceResult {
    unmount_point(point)
}

/// Makes a transaction. Returns its number, from 1.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "a number that nothing hangs on"
)]
pub(crate) extern "sysv64" fn sceSaveDataCreateTransactionResource(_size: u32) -> SceResult {
    let created = with_library(|library| {
        library.next_transaction += 1;
        library.transactions.push(library.next_transaction);
        Ok(library.next_transaction)
    });
    created.map_or_else(SceResult::from, SceResult)
}

/// Ends a transaction.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataDeleteTransactionResource(number: i32) -> SceResult {
    with_library(|library| {
        let place = library.transactions.iter().position(|other| *other == number);
        library.transactions.remove(place.ok_or(SaveError::Parameter)?);
        Ok(())
    })
    .into()
}

/// Lets a title write to a mounted save.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "the parameters are not read"
)]
pub(crate) extern "sysv64" fn sceSaveDataPrepare(point: In<MountPoint>, parameters: Opaque) -> SceResult {
    with_library(|library| {
        let slot = library.slot(point)?;
        if parameters.is_null() {
            return Err(SaveError::Parameter);
        }
        let Some(mounted) = library.slots[slot].as_mut().filter(|mounted| !mounted.writable) else {
            return Ok(());
        };
        if !mounted.has_copy {
            mounted
                .save
                .begin()
                .map_err(|error| host_error("copying what was saved", &error))?;
            mounted.has_copy = true;
        }
        mounted.writable = true;
        mounted.show(slot)
    })
    .into()
}

/// Commits what was written; the saves stay mounted.
#[guest_fn(
    libSceSaveData,
    libSceSaveData_native,
    partial = "commits every save that may be written to: the parameters are not read"
)]
pub(crate) extern "sysv64" fn sceSaveDataCommit(parameters: Opaque) -> SceResult {
    with_library(|library| {
        if parameters.is_null() {
            return Err(SaveError::Parameter);
        }
        for mounted in library.slots.iter().flatten().filter(|mounted| mounted.writable) {
            mounted
                .save
                .commit()
                .map_err(|error| host_error("saving", &error))?;
        }
        Ok(())
    })
    .into()
}

/// Blocks in all and free ones of a mounted save.
#[guest_fn(libSceSaveData, libSceSaveData_native)]
pub(crate) extern "sysv64" fn sceSaveDataGetMountInfo(
    point: In<MountPoint>,
    out: Out<[u64; 2]>,
) -> SceResult {
    with_library(|library| {
        let folder = library.mounted(point)?.folder()?;
        if out.is_null() {
            return Err(SaveError::Parameter);
        }
        out.write(param::blocks(&folder)?);
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
        assert_eq!(size_of::<MountResult>(), 32);
        assert_eq!(offset_of!(Mount, name), 16);
        assert_eq!(offset_of!(Mount, blocks), 32);
        assert_eq!(offset_of!(Mount2, mode), 24);
        assert_eq!(offset_of!(Mount3, system_blocks), 24);
        assert_eq!(offset_of!(Mount3, mode), 32);
    }

    #[test]
    fn names_of_saves_lead_nowhere_else() {
        let check = |text: &[u8]| {
            let mut bytes = [0; 32];
            bytes[..text.len()].copy_from_slice(text);
            // SAFETY: a place of ours.
            name(unsafe { In::new(&raw const bytes) })
        };
        assert_eq!(check(b"SAVE_00-a.b"), Ok("SAVE_00-a.b".to_owned()));
        for wrong in [
            b"".as_slice(),
            b"..",
            b".memory",
            b"a/b",
            b"a\\b",
            b"a b",
            &[b'x'; 32],
        ] {
            assert_eq!(check(wrong), Err(SaveError::Parameter), "{wrong:?}");
        }
    }
}
