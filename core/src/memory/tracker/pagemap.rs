//! The system's part on Linux: `userfaultfd` with asynchronous write protection, and the `PAGEMAP_SCAN` request, as
//! the kernel's `Documentation/admin-guide/mm/pagemap.rst` and `include/uapi/linux/{userfaultfd,fs}.h` define them.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
};

/// Faults of user mode only, which needs no privilege. Asynchronous protection has the kernel handle all of them.
const UFFD_USER_MODE_ONLY: libc::c_int = 1;

const UFFD_API: u64 = 0xAA;
const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
const FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const FEATURE_WP_ASYNC: u64 = 1 << 15;
const FEATURES: u64 = FEATURE_WP_HUGETLBFS_SHMEM | FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC;
const REGISTER_MODE_WP: u64 = 1 << 1;

/// `UFFDIO_API`, `UFFDIO_REGISTER` and `PAGEMAP_SCAN`: both ways, with the sizes of what they take.
const UFFDIO_API: u64 = request(0xAA, 0x3F, size_of::<Api>());
const UFFDIO_REGISTER: u64 = request(0xAA, 0x00, size_of::<Register>());
const PAGEMAP_SCAN: u64 = request(b'f', 16, size_of::<Scan>());

const SCAN_WP_MATCHING: u64 = 1 << 0;
const SCAN_CHECK_WPASYNC: u64 = 1 << 1;
const PAGE_IS_WRITTEN: u64 = 1 << 1;

/// An `ioctl` number that reads and writes `size` bytes.
const fn request(kind: u8, number: u8, size: usize) -> u64 {
    3 << 30 | (size as u64) << 16 | (kind as u64) << 8 | number as u64
}

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    requests: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    length: u64,
    mode: u64,
    requests: u64,
}

#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    region_count: u64,
    most_pages: u64,
    inverted: u64,
    mask: u64,
    any_of: u64,
    returned: u64,
}

/// Pages of equal categories.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// Places for what one request returns.
const REGIONS: usize = 64;

/// Watches pages of this process.
#[derive(Debug)]
pub(super) struct Pagemap {
    faults: OwnedFd,
    pagemap: File,
}

impl Pagemap {
    /// # Errors
    /// When the kernel has not got it, or does not let this process use it.
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
        // SAFETY: takes flags only.
        let descriptor = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        let descriptor = i32::try_from(descriptor).unwrap_or(-1);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor, ours alone.
        let faults = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut api = Api {
            api: UFFD_API,
            features: FEATURES,
            requests: 0,
        };
        control(faults.as_raw_fd(), UFFDIO_API, &mut api)?;
        let pagemap = File::open("/proc/self/pagemap")?;
        // A kernel may have the one without the other.
        control(
            pagemap.as_raw_fd(),
            PAGEMAP_SCAN,
            &mut Scan {
                size: size_of::<Scan>() as u64,
                mask: PAGE_IS_WRITTEN,
                ..Scan::default()
            },
        )?;
        Ok(Self { faults, pagemap })
    }

    /// Makes the pages from `start` to `end` ones that can be watched. None is yet.
    pub(super) fn register(&self, start: u64, end: u64) -> io::Result<()> {
        control(
            self.faults.as_raw_fd(),
            UFFDIO_REGISTER,
            &mut Register {
                start,
                length: end - start,
                mode: REGISTER_MODE_WP,
                requests: 0,
            },
        )
    }

    /// Calls `written` with each run of pages that were written since they were watched, or were never, and watches them
    /// all.
    ///
    /// # Errors
    /// When a page is not one that [`Self::register`] was told of.
    pub(super) fn collect(&self, start: u64, end: u64, mut written: impl FnMut(u64, u64)) -> io::Result<()> {
        let mut at = start;
        while at < end {
            let mut regions = [PageRegion::default(); REGIONS];
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                flags: SCAN_WP_MATCHING | SCAN_CHECK_WPASYNC,
                start: at,
                end,
                regions: regions.as_mut_ptr() as u64,
                region_count: REGIONS as u64,
                mask: PAGE_IS_WRITTEN,
                returned: PAGE_IS_WRITTEN,
                ..Scan::default()
            };
            // SAFETY: `regions` has room for as many as `scan` says, and outlives the call.
            let found = unsafe { libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
            let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
            for region in &regions[..found.min(REGIONS)] {
                written(region.start, region.end);
            }
            if scan.walk_end <= at {
                return Err(io::Error::other("the kernel's walk does not advance"));
            }
            at = scan.walk_end;
        }
        Ok(())
    }
}

/// A request whose argument holds no addresses.
fn control<T>(descriptor: i32, request: u64, argument: &mut T) -> io::Result<()> {
    // SAFETY: the request's number holds the argument's size, and the argument lives through the call.
    let done = unsafe { libc::ioctl(descriptor, request, &raw mut *argument) };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
