//! A relinked program or module in memory: its tables, and binding what the OS loader left open (the contract is in
//! [`relic_core::program`]).

use std::ffi::{CStr, c_int, c_void};

use relic_core::{
    GuestAddress, GuestRange, Nid,
    program::{ImportKind, ImportRecord, ImportSite, ModuleRecord, ProgramInfo, TRAP_STUB_SIZE},
};

use crate::{
    mapped::{Mapped, Segment},
    pointer::{address_of, host},
    process,
};

/// A program's or module's tables, which stay mapped as long as anything of it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image(&'static ProgramInfo);

/// Why an image can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error(
        "the tables of {what} begin with {found:?}, this runtime library expects {expected:?}: relink the program with the `relic` that this library came with"
    )]
    Magic {
        what: String,
        found: [u8; 8],
        expected: [u8; 8],
    },
    #[error(
        "import {index} has the unknown kind {kind}: relink the program with the `relic` that this library came with"
    )]
    Kind { index: usize, kind: u8 },
    #[error("can't open {range} to bind imports: {source}")]
    Protect {
        range: GuestRange,
        source: std::io::Error,
    },
    #[error("{what} has no loadable segment at {base}")]
    NoSegments { what: String, base: GuestAddress },
}

/// One import, for messages.
pub(crate) struct Import {
    pub(crate) library: &'static str,
    pub(crate) name: &'static str,
    pub(crate) nid: Nid,
}

/// What an image asks for and nobody provides: one line each.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    pub(crate) functions: Vec<String>,
    pub(crate) data: Vec<String>,
}

impl Image {
    /// The image with these tables.
    ///
    /// # Safety
    /// `info` must point at tables that the relinker made and that stay mapped, whose first eight bytes are `magic` or
    /// else another version of the contract.
    pub(crate) unsafe fn new(
        info: *const ProgramInfo,
        magic: [u8; 8],
        what: &str,
    ) -> Result<Self, ImageError> {
        // SAFETY: forwarded contract.
        let info = unsafe { &*info };
        if info.magic == magic {
            Ok(Self(info))
        } else {
            Err(ImageError::Magic {
                what: what.to_owned(),
                found: info.magic,
                expected: magic,
            })
        }
    }

    /// The image whose tables a trap stub passed.
    ///
    /// # Safety
    /// `info` must come from a trap stub.
    pub(crate) const unsafe fn of_trap(info: *const ProgramInfo) -> Self {
        // SAFETY: a stub passes the tables beside it.
        Self(unsafe { &*info })
    }

    /// Its tables' head.
    pub(crate) const fn info(self) -> &'static ProgramInfo {
        self.0
    }

    /// Address of something in the tables.
    pub(crate) fn at(self, offset: i64) -> u64 {
        address_of(self.0).wrapping_add_signed(offset)
    }

    /// Address of something in the tables that is not there when its offset is 0.
    pub(crate) fn optional(self, offset: i64) -> Option<u64> {
        (offset != 0).then(|| self.at(offset))
    }

    /// Where its address 0 is.
    pub(crate) fn base(self) -> GuestAddress {
        GuestAddress(self.at(self.0.image_base))
    }

    fn table<T>(self, offset: i64, count: u32) -> &'static [T] {
        // SAFETY: the tables hold `count` records there (contract of the relinker), read only.
        unsafe { std::slice::from_raw_parts(host(self.at(offset)), count as usize) }
    }

    fn records(self) -> &'static [ImportRecord] {
        self.table(self.0.imports, self.0.import_count)
    }

    fn sites(self) -> &'static [ImportSite] {
        self.table(self.0.sites, self.0.site_count)
    }

    /// The modules that a program lists.
    pub(crate) fn modules(self) -> &'static [ModuleRecord] {
        self.table(self.0.modules, self.0.module_count)
    }

    /// The modules that a listed module needs, by their index in the list.
    pub(crate) fn dependencies(self, record: &ModuleRecord) -> &'static [u32] {
        let all: &'static [u32] = self.table(self.0.dependencies, self.0.dependency_count);
        let first = record.first_dependency as usize;
        all.get(first..first + record.dependency_count as usize)
            .unwrap_or(&[])
    }

    /// One of a module's three lists of functions, as addresses.
    pub(crate) fn functions(self, offset: i64, list: usize) -> &'static [u64] {
        self.table(offset, self.0.lifecycle.counts.get(list).copied().unwrap_or(0))
    }

    /// A string of the tables.
    pub(crate) fn text(self, offset: u32) -> &'static str {
        // SAFETY: the string table holds NUL-terminated strings at the offsets of the records.
        let text: &'static CStr =
            unsafe { CStr::from_ptr(host(self.at(self.0.strings) + u64::from(offset))) };
        text.to_str().unwrap_or("(not UTF-8)")
    }

    /// The import with this index.
    pub(crate) fn import(self, index: usize) -> Option<Import> {
        self.records().get(index).map(|record| self.describe(record))
    }

    fn describe(self, record: &ImportRecord) -> Import {
        Import {
            library: self.text(record.library),
            name: self.text(record.name),
            nid: std::str::from_utf8(&record.nid)
                .ok()
                .and_then(|nid| nid.parse().ok())
                .unwrap_or_else(|| Nid::from_bits(0)),
        }
    }

    /// What the OS loader has mapped of it.
    pub(crate) fn mapped(self) -> Option<Mapped> {
        Mapped::at(self.base())
    }

    /// Its segments that were the guest's: the tables begin the first that the relinker appended.
    pub(crate) fn guest_segments(self) -> Vec<Segment> {
        let segments = self.mapped().map(|mapped| mapped.segments).unwrap_or_default();
        let tables = address_of(self.0);
        let own = segments.iter().position(|segment| segment.contains(tables));
        segments[..own.unwrap_or(segments.len())].to_vec()
    }

    fn segments(self) -> Vec<Segment> {
        self.mapped().map(|mapped| mapped.segments).unwrap_or_default()
    }

    /// Puts the image's segments into the region table, so that the GPU may read its data.
    pub(crate) fn register(self, name: &str) -> Result<(), ImageError> {
        let segments = self.segments();
        if segments.is_empty() {
            return Err(ImageError::NoSegments {
                what: name.to_owned(),
                base: self.base(),
            });
        }
        // Code that nobody may read is no memory to anyone.
        for segment in segments.into_iter().filter(Segment::readable) {
            let (range, writable) = (segment.pages(), segment.writable());
            let name = format!("{name} image");
            // SAFETY: the loader mapped these pages, and `unregister` goes before it unmaps them.
            let entered = unsafe { process::memory().map(range, host(range.start().0), writable, &name) };
            if let Err(overlap) = entered {
                // Two segments in one page: the page is there already.
                crate::log::note(format_args!("image segment skipped: {overlap}"));
            }
        }
        Ok(())
    }

    /// Takes them out again, in front of unmapping.
    pub(crate) fn unregister(self) {
        for segment in self.segments().into_iter().filter(Segment::readable) {
            process::memory().unmap(segment.pages());
        }
    }

    /// Finds what the loader left null, and points functions at their traps.
    pub(crate) fn bind(self) -> Result<Missing, ImageError> {
        let all_sites = self.sites();
        let image_base = self.base();
        let mut missing = Missing::default();
        let mut trapped = Vec::new();
        for (index, record) in self.records().iter().enumerate() {
            let kind = ImportKind::from_number(record.kind).ok_or(ImageError::Kind {
                index,
                kind: record.kind,
            })?;
            let first = record.first_site as usize;
            let own = all_sites
                .get(first..first + record.site_count as usize)
                .unwrap_or(&[]);
            let open = own.iter().any(|site| {
                let slot: *const u64 = host(image_base.0 + site.address);
                // SAFETY: the relinker lists slots of the image; the loader is done with them. GLOB_DAT and JUMP_SLOT
                // of an unbound weak symbol hold zero or the addend alone.
                let value = unsafe { slot.read_unaligned() };
                value == 0 || value == site.addend.cast_unsigned()
            });
            match kind {
                _ if !open => {}
                ImportKind::Function => {
                    missing.functions.push(line(&self.describe(record)));
                    trapped.push((index, own));
                }
                ImportKind::Object => missing.data.push(line(&self.describe(record))),
                ImportKind::Weak => {}
            }
        }
        if trapped.is_empty() {
            return Ok(missing);
        }
        let _open = OpenSlots::new(self)?;
        for (index, own) in trapped {
            let trap = self.at(self.0.traps) + index as u64 * TRAP_STUB_SIZE;
            for site in own {
                let slot: *mut u64 = host(image_base.0 + site.address);
                // SAFETY: a slot of the image, writable now, that nothing reads before the image's code runs.
                unsafe { slot.write_unaligned(trap.wrapping_add_signed(site.addend)) };
            }
        }
        Ok(missing)
    }
}

fn line(import: &Import) -> String {
    let name = if import.name.is_empty() {
        "(name unknown)"
    } else {
        import.name
    };
    format!("\n  {:<24} {:<48} {}", import.library, name, import.nid)
}

/// The range of import slots that the loader has made read-only, opened while it lives.
struct OpenSlots {
    start: *mut c_void,
    size: usize,
}

impl OpenSlots {
    fn new(image: Image) -> Result<Self, ImageError> {
        let program = image.info();
        let first = image.at(program.protected_slots);
        let start = first & !0xfff;
        let size = if program.protected_size == 0 {
            0
        } else {
            ((first + program.protected_size + 0xfff) & !0xfff) - start
        } as usize;
        let open = Self {
            start: host(start),
            size,
        };
        open.protect(libc::PROT_READ | libc::PROT_WRITE)
            .map_err(|source| ImageError::Protect {
                range: GuestRange::new(GuestAddress(start), size as u64),
                source,
            })?;
        Ok(open)
    }

    fn protect(&self, protection: c_int) -> std::io::Result<()> {
        // SAFETY: pages of the image that hold import slots alone.
        if self.size == 0 || unsafe { libc::mprotect(self.start, self.size, protection) } == 0 {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    }
}

impl Drop for OpenSlots {
    fn drop(&mut self) {
        // Writable slots are a weaker guard, nothing worse.
        let _ = self.protect(libc::PROT_READ);
    }
}
