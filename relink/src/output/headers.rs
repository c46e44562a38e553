//! The ELF header and the program header table.

use goblin::elf::header::ET_DYN;
use goblin::elf::program_header::{
    PT_DYNAMIC, PT_GNU_EH_FRAME, PT_GNU_RELRO, PT_GNU_STACK, PT_INTERP, PT_LOAD, PT_PHDR, PT_TLS,
};

use crate::{
    address::{HOST_PAGE, ImageRange},
    input::{
        Object, ObjectKind,
        segments::{Access, Segment},
    },
    plan::{
        Plan,
        layout::{Layout, Part},
    },
};

/// The ELF header: a System V x86-64 position-independent executable without section headers.
pub(super) fn elf_header(plan: &Plan<'_>) -> Vec<u8> {
    let layout = &plan.layout;
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(ET_DYN.to_le_bytes());
    bytes.extend(62_u16.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    // A module has no entry point: its place is 0.
    let entry = layout.place(Part::EntryStub);
    bytes.extend(if entry.size > 0 { entry.start.0 } else { 0 }.to_le_bytes());
    bytes.extend(
        layout
            .offset(layout.place(Part::ProgramHeaders).start)
            .0
            .to_le_bytes(),
    );
    // No section headers, no flags.
    bytes.extend([0; 12]);
    for half in [64, 56, layout.program_header_count, 64, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    bytes
}

/// The program header table. PHDR and INTERP come before the LOADs, which ascend, as loaders expect.
pub(super) fn program_headers(program: &Object<'_>, plan: &Plan<'_>) -> Vec<u8> {
    let (layout, segments) = (&plan.layout, &program.segments);
    let mut table = Table(Vec::new());
    table.part(PT_PHDR, layout, layout.place(Part::ProgramHeaders), Access::R, 8);
    if program.kind == ObjectKind::Program {
        table.part(PT_INTERP, layout, layout.place(Part::Interpreter), Access::R, 1);
    }
    for (load, access, _) in plan.loads(program) {
        table.segment(
            PT_LOAD,
            &Segment {
                access,
                alignment: load.alignment.max(HOST_PAGE),
                ..*load
            },
        );
    }
    for appended in &layout.appended {
        table.part(PT_LOAD, layout, appended.range, appended.access, HOST_PAGE);
    }
    table.part(PT_DYNAMIC, layout, layout.place(Part::Dynamic), Access::RW, 16);
    let optional = [
        (PT_TLS, segments.tls),
        (PT_GNU_EH_FRAME, segments.eh_frame),
        (PT_GNU_RELRO, plan.relro.segment),
    ];
    for (kind, segment) in optional {
        if let Some(segment) = segment {
            table.segment(
                kind,
                &Segment {
                    access: Access::R,
                    ..segment
                },
            );
        }
    }
    // Without this one the kernel would make the stack, and on older kernels all readable memory, executable.
    table.entry(PT_GNU_STACK, Access::RW, [0, 0, 0, 0, 16]);
    table.0
}

struct Table(Vec<u8>);

impl Table {
    fn part(&mut self, kind: u32, layout: &Layout, range: ImageRange, access: Access, alignment: u64) {
        let offset = layout.offset(range.start).0;
        self.entry(
            kind,
            access,
            [offset, range.start.0, range.size, range.size, alignment],
        );
    }

    fn segment(&mut self, kind: u32, segment: &Segment) {
        let Segment {
            range,
            offset,
            file_size,
            alignment,
            access,
        } = *segment;
        self.entry(
            kind,
            access,
            [offset.0, range.start.0, file_size, range.size, alignment],
        );
    }

    /// One entry: file offset, address, size in the file, size in memory, alignment.
    fn entry(&mut self, kind: u32, access: Access, [offset, address, file, memory, alignment]: [u64; 5]) {
        self.0.extend(kind.to_le_bytes());
        self.0.extend(access.flags().to_le_bytes());
        // The physical address has no meaning; by custom it repeats the virtual one.
        for word in [offset, address, address, file, memory, alignment] {
            self.0.extend(word.to_le_bytes());
        }
    }
}
