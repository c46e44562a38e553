//! Mounts, and finding a guest's path in them.

use std::{
    ffi::{CString, OsStr},
    fs, io,
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::places;
use crate::{log, pointer::Text, result::Errno};

/// Longest path and longest component, in bytes.
const PATH_LIMIT: usize = 1024;
const NAME_LIMIT: usize = 255;

/// A folder of the host under a name of the guest.
#[derive(Debug)]
pub(crate) struct Mount {
    name: String,
    root: OwnedFd,
    pub(super) read_only: bool,
}

/// The mounts that every program has: name, whether it may only be read.
const ALWAYS: [(&str, bool); 5] = [
    ("app0", true),
    ("hostapp", true),
    ("data", false),
    ("temp0", false),
    ("download0", false),
];

/// Devices: what the guest calls them, and what stands for them.
const DEVICES: [(&str, &str); 7] = [
    ("dev/null", "/dev/null"),
    ("dev/zero", "/dev/zero"),
    ("dev/random", "/dev/random"),
    ("dev/urandom", "/dev/urandom"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];

static MOUNTS: Mutex<Vec<Arc<Mount>>> = Mutex::new(Vec::new());

fn mounts() -> MutexGuard<'static, Vec<Arc<Mount>>> {
    MOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mounts a folder, in place of what is mounted there.
pub(crate) fn mount(name: &str, folder: &Path, read_only: bool) -> io::Result<()> {
    let mount = Arc::new(Mount {
        name: name.to_owned(),
        root: OwnedFd::from(fs::File::open(folder)?),
        read_only,
    });
    let mut mounts = mounts();
    mounts.retain(|other| other.name != name);
    mounts.push(mount);
    Ok(())
}

/// Takes a mount away. What is open in it stays open.
pub(crate) fn unmount(name: &str) {
    mounts().retain(|mount| mount.name != name);
}

/// The mount of this name. The folders of those that every program has are made when they are first used.
fn find(name: &str) -> Result<Arc<Mount>, Errno> {
    let known = |mounts: &[Arc<Mount>]| mounts.iter().find(|mount| mount.name == name).cloned();
    if let Some(found) = known(&mounts()) {
        return Ok(found);
    }
    let (_, read_only) = ALWAYS
        .iter()
        .find(|(always, _)| *always == name)
        .ok_or(Errno::ENOENT)?;
    let folder = if *read_only {
        places::application()
    } else {
        let folder = places::writable(name).ok_or(Errno::ENOENT)?;
        if let Err(error) = fs::create_dir_all(&folder) {
            log::warn(format_args!(
                "making the folder {} for /{name}: {error}",
                folder.display()
            ));
            return Err(Errno::EIO);
        }
        folder
    };
    if let Err(error) = mount(name, &folder, *read_only) {
        log::warn(format_args!("opening {} for /{name}: {error}", folder.display()));
        return Err(Errno::ENOENT);
    }
    known(&mounts()).ok_or(Errno::ENOENT)
}

/// Where a guest's path leads.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Into a mount.
    Place(Place),
    /// To a device: the host's path.
    Device(&'static str),
}

/// A path in a mount.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(super) mount: Arc<Mount>,
    /// Relative to the mount's folder, without `.` and `..`; empty for the folder itself.
    path: PathBuf,
    /// Written with a slash at the end: only a directory will do.
    pub(super) as_directory: bool,
}

/// Reads a guest's path: `\` is `/`, `..` leads no further than the mount, and a path without a slash in front lies in
/// `/app0`.
pub(crate) fn resolve(path: Text) -> Result<Target, Errno> {
    let bytes = path.bytes(PATH_LIMIT + 1).ok_or(Errno::EFAULT)?;
    resolve_bytes(&bytes)
}

pub(super) fn resolve_bytes(bytes: &[u8]) -> Result<Target, Errno> {
    if bytes.len() > PATH_LIMIT {
        return Err(Errno::ENAMETOOLONG);
    }
    if bytes.is_empty() {
        return Err(Errno::ENOENT);
    }
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let mut components = bytes
        .split(is_slash)
        .filter(|component| !matches!(*component, b"" | b"."));
    let mut names: Vec<&[u8]> = Vec::new();
    let first = if is_slash(&bytes[0]) {
        // `/..` is `/`.
        let first = components.find(|component| component != b"..");
        std::str::from_utf8(first.ok_or(Errno::EACCES)?).map_err(|_| Errno::ENOENT)?
    } else {
        "app0"
    };
    for component in components {
        if component.len() > NAME_LIMIT {
            return Err(Errno::ENAMETOOLONG);
        }
        if component == b".." {
            names.pop();
        } else {
            names.push(component);
        }
    }
    let path: PathBuf = names.iter().map(|name| OsStr::from_bytes(name)).collect();
    if first == "dev" {
        let name = Path::new("dev").join(&path);
        let device = DEVICES.iter().find(|(device, _)| Path::new(device) == name);
        return device.map(|(_, host)| Target::Device(host)).ok_or(Errno::ENOENT);
    }
    Ok(Target::Place(Place {
        mount: find(first)?,
        path,
        as_directory: bytes.last().is_some_and(is_slash),
    }))
}

/// A path of the guest in a mount; EACCES for a device.
pub(super) fn place(path: Text) -> Result<Place, Errno> {
    match resolve(path)? {
        Target::Place(place) => Ok(place),
        Target::Device(_) => Err(Errno::EACCES),
    }
}

/// `struct open_how` of openat2.
#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

const RESOLVE_NO_MAGIC_LINKS: u64 = 2;
const RESOLVE_BENEATH: u64 = 8;

/// Opens what lies beneath `root`; a symbolic link that leads out of it is EACCES.
fn open_beneath(root: &OwnedFd, path: &Path, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
    let bytes = path.as_os_str().as_bytes();
    let name = if bytes.is_empty() { b"." } else { bytes };
    let name = CString::new(name).map_err(|_| Errno::ENOENT)?;
    let how = OpenHow {
        flags: u64::from((flags | libc::O_CLOEXEC).cast_unsigned()),
        // The kernel refuses a mode where nothing is made.
        mode: if flags & libc::O_CREAT == 0 {
            0
        } else {
            u64::from(mode)
        },
        resolve: RESOLVE_BENEATH | RESOLVE_NO_MAGIC_LINKS,
    };
    loop {
        // SAFETY: our descriptor, a string and a record of the size given.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                root.as_raw_fd(),
                name.as_ptr(),
                &raw const how,
                size_of::<OpenHow>(),
            )
        };
        if let Ok(descriptor) = i32::try_from(opened)
            && descriptor >= 0
        {
            // SAFETY: the kernel has just made it for us.
            return Ok(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
        let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        match error {
            // Somebody renamed a folder meanwhile.
            libc::EAGAIN | libc::EINTR => {}
            libc::EXDEV => {
                log::warn(format_args!(
                    "{} was not opened: a symbolic link in it leads out of its mount",
                    path.display()
                ));
                return Err(Errno::EACCES);
            }
            libc::ENOSYS => {
                log::warn(format_args!(
                    "no files: this kernel lacks openat2, which Linux has since 5.6"
                ));
                return Err(Errno::ENOSYS);
            }
            _ => return Err(Errno::of_host(error)),
        }
    }
}

impl Place {
    /// Opens what is there, if need be under a name that differs in the case of letters, or makes it.
    pub(super) fn open(&self, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
        let root = &self.mount.root;
        let flags = if self.as_directory {
            flags | libc::O_DIRECTORY
        } else {
            flags
        };
        if flags & libc::O_CREAT == 0 {
            return match open_beneath(root, &self.path, flags, mode) {
                Err(Errno::ENOENT) => open_beneath(root, &self.respelled()?, flags, mode),
                result => result,
            };
        }
        let there = |path: &Path| open_beneath(root, path, libc::O_PATH, 0).is_ok();
        if there(&self.path) {
            return open_beneath(root, &self.path, flags, mode);
        }
        let path = match self.respelled() {
            Ok(path) => path,
            Err(_) => {
                let (parent, name) = self.split()?;
                match parent.respelled() {
                    Ok(folder) => folder.join(name),
                    Err(_) => self.path.clone(),
                }
            }
        };
        open_beneath(root, &path, flags, mode)
    }

    /// The folder that holds it, opened, and its name there as it is spelled: what calls need that change the folder.
    /// EBUSY for a mount's own folder.
    pub(super) fn parent(&self) -> Result<(OwnedFd, CString), Errno> {
        let (parent, name) = self.split()?;
        let folder = parent.open(libc::O_PATH | libc::O_DIRECTORY, 0)?;
        let exact = open_beneath(&folder, &name, libc::O_PATH | libc::O_NOFOLLOW, 0).is_ok();
        let name = if exact {
            name
        } else {
            similar(&folder, Path::new(""), name.as_os_str())?.map_or(name, PathBuf::from)
        };
        let name = CString::new(name.as_os_str().as_bytes()).map_err(|_| Errno::ENOENT)?;
        Ok((folder, name))
    }

    fn split(&self) -> Result<(Self, PathBuf), Errno> {
        let name = self.path.file_name().ok_or(Errno::EBUSY)?;
        let parent = Self {
            mount: Arc::clone(&self.mount),
            path: self.path.parent().map(Path::to_owned).unwrap_or_default(),
            as_directory: true,
        };
        Ok((parent, name.into()))
    }

    /// EROFS in a mount that may only be read.
    pub(super) fn writable(self) -> Result<Self, Errno> {
        if self.mount.read_only {
            Err(Errno::EROFS)
        } else {
            Ok(self)
        }
    }

    pub(super) fn is_same_mount(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mount, &other.mount)
    }

    /// The path with each component as the folder spells it, where it differs in the case of ASCII letters. The first by
    /// name where several fit.
    fn respelled(&self) -> Result<PathBuf, Errno> {
        let mut path = PathBuf::new();
        for name in &self.path {
            let next = path.join(name);
            if open_beneath(&self.mount.root, &next, libc::O_PATH | libc::O_NOFOLLOW, 0).is_ok() {
                path = next;
            } else {
                let found = similar(&self.mount.root, &path, name)?.ok_or(Errno::ENOENT)?;
                path.push(found);
            }
        }
        Ok(path)
    }
}

/// The entry of a folder whose name differs from `name` in the case of ASCII letters alone.
fn similar(root: &OwnedFd, folder: &Path, name: &OsStr) -> Result<Option<std::ffi::OsString>, Errno> {
    let opened = open_beneath(root, folder, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    let mut found: Option<std::ffi::OsString> = None;
    for entry in super::directory::entries(&opened)? {
        if entry.name.eq_ignore_ascii_case(name.as_bytes()) {
            let entry = OsStr::from_bytes(&entry.name).to_owned();
            found = Some(found.map_or_else(|| entry.clone(), |other| other.min(entry.clone())));
        }
    }
    Ok(found)
}
