//! libSceAppContent: the title's parameters, its temporary folder, and additional content, of which there is none.

use std::{fs, io, path::Path, sync::Mutex};

use relic_macros::guest_fn;

use crate::{
    libkernel::file,
    log,
    pointer::{In, Opaque, Out},
    result::SceResult,
};

const PARAMETER: SceResult = SceResult::code(0x80d9_0002);
const NOT_FOUND: SceResult = SceResult::code(0x80d9_0005);
const NO_ENTITLEMENT: SceResult = SceResult::code(0x80d9_0007);

/// Name of the temporary folder's mount.
const TEMPORARY: &str = "temp0";
/// The console's room for temporary data, in KiB.
const TEMPORARY_ROOM: u64 = 1024 * 1024;
/// Asks for an empty temporary folder.
const FORMAT: u32 = 1;

/// A mount's path, with a NUL.
type MountPoint = [u8; 16];

/// Starts the library. The boot parameters say that nothing is special.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentInitialize(_parameters: Opaque, boot: Out<[u8; 40]>) -> SceResult {
    if boot.write([0; 40]) {
        SceResult::OK
    } else {
        PARAMETER
    }
}

/// Stores a parameter of the title: 0 is the kind of licence (3: full), 1 to 4 are numbers of its own.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentAppParamGetInt(id: u32, out: Out<i32>) -> SceResult {
    let value = match id {
        0 => 3,
        1..=4 => {
            let number = file::title_parameter(&format!("userDefinedParam{id}"))
                .and_then(|value| i32::try_from(value.as_i64()?).ok());
            number.unwrap_or(0)
        }
        _ => return PARAMETER,
    };
    if out.write(value) {
        SceResult::OK
    } else {
        PARAMETER
    }
}

/// Removes what is in a folder.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn format() -> SceResult {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(folder) = file::writable_folder(TEMPORARY) else {
        return NOT_FOUND;
    };
    match fs::create_dir_all(&folder).and_then(|()| empty(&folder)) {
        Ok(()) => SceResult::OK,
        Err(error) => {
            log::warn(format_args!("emptying {} for /temp0: {error}", folder.display()));
            NOT_FOUND
        }
    }
}

fn mount(option: u32, out: Out<MountPoint>) -> SceResult {
    if out.is_null() || option & !FORMAT != 0 {
        return PARAMETER;
    }
    if option & FORMAT != 0 {
        let formatted = format();
        if formatted != SceResult::OK {
            return formatted;
        }
    }
    out.write(*b"/temp0\0\0\0\0\0\0\0\0\0\0");
    SceResult::OK
}

fn is_temporary(mount: In<MountPoint>) -> bool {
    mount.read().is_some_and(|path| path.starts_with(b"/temp0\0"))
}

/// Mounts the temporary folder, which is always mounted, and stores its path. Option 1 empties it.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentTemporaryDataMount2(
    option: u32,
    out: Out<MountPoint>,
) -> SceResult {
    mount(option, out)
}

/// Mounts the temporary folder, emptied, and stores its path.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentTemporaryDataMount(out: Out<MountPoint>) -> SceResult {
    mount(FORMAT, out)
}

/// Unmounts the temporary folder. Its files stay.
#[guest_fn(libSceAppContent, partial = "the folder can be used still")]
pub(crate) extern "sysv64" fn sceAppContentTemporaryDataUnmount(point: In<MountPoint>) -> SceResult {
    if is_temporary(point) {
        SceResult::OK
    } else {
        PARAMETER
    }
}

/// Empties the temporary folder.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentTemporaryDataFormat(point: In<MountPoint>) -> SceResult {
    if is_temporary(point) { format() } else { PARAMETER }
}

/// Stores how many KiB are free for temporary data: the host's, at most the console's 1 GiB.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentTemporaryDataGetAvailableSpaceKb(
    point: In<MountPoint>,
    out: Out<u64>,
) -> SceResult {
    if !is_temporary(point) || out.is_null() {
        return PARAMETER;
    }
    let Some(free) = file::writable_folder(TEMPORARY).and_then(|folder| file::free_bytes(&folder)) else {
        return NOT_FOUND;
    };
    out.write((free / 1024).min(TEMPORARY_ROOM));
    SceResult::OK
}

/// Stores how much additional content there is: none.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentGetAddcontInfoList(
    _service: u32,
    list: Opaque,
    size: u32,
    count: Out<u32>,
) -> SceResult {
    // Either the list, or its length alone, is asked for.
    if (list.is_null() && size > 0) || !count.write(0) {
        return PARAMETER;
    }
    SceResult::OK
}

/// Says that the user has no such additional content.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentGetAddcontInfo(
    _service: u32,
    label: Opaque,
    info: Opaque,
) -> SceResult {
    if label.is_null() || info.is_null() {
        PARAMETER
    } else {
        NO_ENTITLEMENT
    }
}

/// Says that there is no such additional content.
#[guest_fn(libSceAppContent)]
pub(crate) extern "sysv64" fn sceAppContentAddcontMount(
    _service: u32,
    label: Opaque,
    out: Opaque,
) -> SceResult {
    if label.is_null() || out.is_null() {
        PARAMETER
    } else {
        NOT_FOUND
    }
}
