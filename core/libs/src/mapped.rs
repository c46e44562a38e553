//! What the OS loader has mapped: the program, its modules, and this library, by their program headers.

use std::ffi::{CStr, c_int, c_void};

use relic_core::{GuestAddress, GuestRange};

use crate::pointer::{In, host};

/// `PT_GNU_EH_FRAME`.
const EH_FRAME: u32 = 0x6474_e550;
/// `DW_EH_PE_pcrel | DW_EH_PE_sdata4`: how linkers write the pointer to the frames.
const RELATIVE: u8 = 0x1b;

/// One mapped file.
#[derive(Debug)]
pub(crate) struct Mapped {
    /// Its path, as the loader knows it; empty for the program.
    pub(crate) path: Vec<u8>,
    /// Where its address 0 is.
    base: u64,
    /// Its LOAD segments that are not empty, ascending.
    pub(crate) segments: Vec<Segment>,
    pub(crate) tls: Option<Tls>,
    eh_frame_header: Option<(u64, u64)>,
}

/// One LOAD segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    /// In bytes.
    pub(crate) size: u64,
    /// `PF_R`, `PF_W`, `PF_X`.
    pub(crate) flags: u32,
}

/// Thread-local data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tls {
    /// The loader's number of it.
    pub(crate) index: usize,
    /// Address and size in bytes of what it begins with; the rest is zeros.
    pub(crate) initial: u64,
    pub(crate) initial_size: u64,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// Address of the calling thread's block; 0 where it has none yet.
    block: u64,
}

/// Unwind tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnwindTables {
    /// Address and size in bytes of the search table.
    pub(crate) header: u64,
    pub(crate) header_size: u64,
    /// Address of the frames, and how many bytes their segment holds from there on.
    pub(crate) frames: u64,
    pub(crate) frames_size: u64,
}

impl Tls {
    /// From the thread pointer down to the calling thread's block in bytes; 0 where it does not lie there.
    pub(crate) fn offset(&self) -> u32 {
        let pointer: u64;
        // SAFETY: reads the thread control block's pointer to itself.
        unsafe {
            std::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
        };
        match pointer.checked_sub(self.block) {
            Some(distance) if self.block != 0 => u32::try_from(distance).unwrap_or(0),
            _ => 0,
        }
    }
}

impl Segment {
    pub(crate) const fn contains(&self, address: u64) -> bool {
        self.start <= address && address - self.start < self.size
    }

    /// Its pages.
    pub(crate) const fn pages(&self) -> GuestRange {
        let start = self.start & !0xfff;
        GuestRange::new(
            GuestAddress(start),
            (self.start + self.size - start + 0xfff) & !0xfff,
        )
    }

    pub(crate) const fn readable(&self) -> bool {
        self.flags & libc::PF_R != 0
    }

    pub(crate) const fn writable(&self) -> bool {
        self.flags & libc::PF_W != 0
    }
}

impl Mapped {
    /// The file around an address.
    pub(crate) fn around(address: u64) -> Option<Self> {
        find(&|mapped| mapped.segments.iter().any(|segment| segment.contains(address)))
    }

    /// The file whose address 0 is here.
    pub(crate) fn at(base: GuestAddress) -> Option<Self> {
        find(&|mapped| mapped.base == base.0)
    }

    /// Where its unwind tables are, if they are as linkers write them.
    pub(crate) fn unwind_tables(&self) -> Option<UnwindTables> {
        let (header, header_size) = self.eh_frame_header?;
        // SAFETY: the file's own unwind header, which is mapped: version, three encodings, pointer to the frames.
        let (start, offset) = unsafe { (In::<[u8; 4]>::new(host(header)), In::<i32>::new(host(header + 4))) };
        let (Some([1, RELATIVE, _, _]), Some(offset)) = (start.read(), offset.read()) else {
            return None;
        };
        let frames = (header + 4).wrapping_add_signed(i64::from(offset));
        let around = self.segments.iter().find(|segment| segment.contains(frames))?;
        Some(UnwindTables {
            header,
            header_size,
            frames,
            frames_size: around.start + around.size - frames,
        })
    }

    unsafe fn of(info: *const libc::dl_phdr_info) -> Self {
        // SAFETY: the loader's record, valid during the callback.
        let info = unsafe { &*info };
        let path = if info.dlpi_name.is_null() {
            Vec::new()
        } else {
            // SAFETY: the loader's string.
            unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes().to_vec()
        };
        let mut mapped = Self {
            path,
            base: info.dlpi_addr,
            segments: Vec::new(),
            tls: None,
            eh_frame_header: None,
        };
        for i in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: the loader counts its program headers.
            let header = unsafe { &*info.dlpi_phdr.add(i) };
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            match header.p_type {
                libc::PT_LOAD if header.p_memsz > 0 => mapped.segments.push(Segment {
                    start,
                    size: header.p_memsz,
                    flags: header.p_flags,
                }),
                libc::PT_TLS => {
                    mapped.tls = Some(Tls {
                        index: info.dlpi_tls_modid,
                        initial: start,
                        initial_size: header.p_filesz,
                        size: header.p_memsz,
                        alignment: header.p_align,
                        block: info.dlpi_tls_data.expose_provenance() as u64,
                    });
                }
                EH_FRAME => mapped.eh_frame_header = Some((start, header.p_memsz)),
                _ => {}
            }
        }
        mapped
    }
}

struct Search<'w> {
    wanted: &'w dyn Fn(&Mapped) -> bool,
    found: Option<Mapped>,
}

fn find(wanted: &dyn Fn(&Mapped) -> bool) -> Option<Mapped> {
    let mut search = Search { wanted, found: None };
    // SAFETY: the callback gets the search back and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: `find` passes this, and nothing else refers to it meanwhile.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the loader's record, valid during the callback.
    let mapped = unsafe { Mapped::of(info) };
    if (search.wanted)(&mapped) {
        search.found = Some(mapped);
        return 1;
    }
    0
}
