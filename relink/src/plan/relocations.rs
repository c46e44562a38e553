//! The output's relocations. Only imports need a symbol: whatever the program defines itself becomes relative to the
//! load bias, and what concerns its own TLS block names no symbol at all.

use crate::{
    address::ImageAddress,
    error::{RelinkError, RelocationProblem},
    input::{
        Object,
        relocations::{Relocation, RelocationKind},
        symbols::{Binding, Symbol, SymbolKind},
    },
};

use super::{
    imports::{Imports, Site},
    layout::{Layout, Part},
    symbols::{SymbolIndex, SymbolTable},
};

/// Section indices from here on are not sections: constants, common blocks.
const RESERVED_SECTIONS: u16 = 0xff00;

/// One relocation of the output.
#[derive(Debug, Clone, Copy)]
pub struct OutputRelocation {
    /// What it patches.
    pub target: ImageAddress,
    /// What it computes.
    pub kind: RelocationKind,
    /// Its symbol; 0 for none.
    pub symbol: SymbolIndex,
    /// What is added.
    pub addend: i64,
}

/// The output's two tables.
#[derive(Debug, Default)]
pub struct Relocations {
    /// The relative ones, by address: the loader takes them in one quick loop.
    pub relative: Vec<OutputRelocation>,
    /// All others that are not jump slots, by address.
    pub others: Vec<OutputRelocation>,
    /// Imported jump slots, in the input's order.
    pub jump_slots: Vec<OutputRelocation>,
}

const NO_SYMBOL: SymbolIndex = SymbolIndex(0);

impl Relocations {
    pub(super) fn new(
        program: &Object<'_>,
        imports: &mut Imports<'_>,
        symbols: &SymbolTable,
    ) -> Result<Self, RelinkError> {
        let mut all = Self::default();
        for relocation in &program.relocations {
            all.add(program, imports, symbols, relocation)?;
        }
        all.relative.sort_unstable_by_key(|relocation| relocation.target);
        all.others.sort_unstable_by_key(|relocation| relocation.target);
        Ok(all)
    }

    fn add(
        &mut self,
        program: &Object<'_>,
        imports: &mut Imports<'_>,
        symbols: &SymbolTable,
        relocation: &Relocation,
    ) -> Result<(), RelinkError> {
        let &Relocation {
            kind,
            target,
            symbol: number,
            addend,
            ..
        } = relocation;
        let symbol = match number {
            0 => None,
            _ => usize::try_from(number)
                .ok()
                .and_then(|index| program.symbols.get(index)),
        };
        let output = |kind, addend| OutputRelocation {
            target,
            kind,
            symbol: NO_SYMBOL,
            addend,
        };
        if kind == RelocationKind::Relative {
            self.relative.push(output(kind, addend));
            return Ok(());
        }
        if number != 0 && imports.is_left_out(number) {
            return Ok(());
        }
        let import = imports.by_symbol(number);
        if kind.is_thread_local() && import.is_none() {
            if program.segments.tls.is_none() {
                return Err(relocation.refuse(RelocationProblem::NoTls));
            }
            let offset = match symbol {
                None => 0,
                Some(symbol) if symbol.kind == SymbolKind::ThreadLocal => symbol.value,
                Some(symbol) => {
                    return Err(wrong_symbol(relocation, symbol, "a thread-local variable"));
                }
            };
            // A module id is the same for every variable of the file.
            let addend = match kind {
                RelocationKind::TlsModule => 0,
                _ => addend.wrapping_add_unsigned(offset),
            };
            self.others.push(output(kind, addend));
            return Ok(());
        }

        let Some(symbol) = symbol else {
            return Err(relocation.refuse(RelocationProblem::NoSymbol));
        };
        let addend = match kind {
            // The ABI uses the symbol's address alone; linkers leave what they like in a jump slot's addend.
            RelocationKind::JumpSlot | RelocationKind::TlsModule => 0,
            RelocationKind::GlobalData if addend != 0 => {
                return Err(relocation.refuse(RelocationProblem::Addend { addend }));
            }
            _ => addend,
        };
        let Some(index) = import else {
            let in_image = !symbol.is_import()
                && symbol.section < RESERVED_SECTIONS
                && symbol.kind != SymbolKind::ThreadLocal;
            if !in_image {
                return Err(wrong_symbol(
                    relocation,
                    symbol,
                    "an import or an address in the image",
                ));
            }
            let addend = addend.wrapping_add_unsigned(symbol.value);
            self.relative.push(output(RelocationKind::Relative, addend));
            return Ok(());
        };
        let offset = imports
            .list
            .get(index.0)
            .and_then(|import| import.bound.as_ref())
            .map_or(0, |bound| bound.offset);
        let variable = imports
            .list
            .get(index.0)
            .is_some_and(|import| import.thread_local);
        if variable != kind.is_thread_local() {
            let expected = if variable {
                "an address"
            } else {
                "a thread-local variable"
            };
            return Err(wrong_symbol(relocation, symbol, expected));
        }
        if !variable {
            imports.add_site(
                index,
                Site { slot: target, addend },
                kind == RelocationKind::JumpSlot,
            );
        }
        let Some(symbol) = symbols.of_import(index) else {
            return Err(relocation.refuse(RelocationProblem::NoSymbol));
        };
        // Only this type has an addend.
        let kind = if offset == 0 {
            kind
        } else {
            RelocationKind::Absolute
        };
        let bound = OutputRelocation {
            target,
            kind,
            symbol,
            addend: addend.wrapping_sub_unsigned(offset),
        };
        match kind {
            RelocationKind::JumpSlot => self.jump_slots.push(bound),
            _ => self.others.push(bound),
        }
        Ok(())
    }

    /// Adds the slots through which the stubs reach the runtime library. They lie behind the whole image.
    pub(super) fn add_runtime_slots(&mut self, symbols: &SymbolTable, layout: &Layout) {
        let slots = layout.place(Part::Slots).start;
        let trap = ImageAddress(slots.0 + super::layout::TRAP_SLOT);
        for (symbol, target) in symbols
            .start
            .map(|start| (start, slots))
            .into_iter()
            .chain([(symbols.trap, trap)])
        {
            self.others.push(OutputRelocation {
                target,
                kind: RelocationKind::GlobalData,
                symbol,
                addend: 0,
            });
        }
    }
}

fn wrong_symbol(relocation: &Relocation, symbol: &Symbol<'_>, expected: &'static str) -> RelinkError {
    let found = match symbol.kind {
        SymbolKind::ThreadLocal => "a thread-local variable",
        _ if symbol.is_import() && symbol.binding == Binding::Local => "a local import",
        _ if symbol.is_import() => "an import",
        _ if symbol.section >= RESERVED_SECTIONS => "a constant",
        SymbolKind::Function => "a function",
        SymbolKind::Object => "data",
        SymbolKind::Untyped | SymbolKind::Other(_) => "neither function nor data",
    };
    relocation.refuse(RelocationProblem::SymbolKind {
        symbol: relocation.symbol,
        found,
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        address::{FileOffset, ImageRange},
        input::{
            ObjectKind,
            bytes::FileBytes,
            dynamic::Lifecycle,
            libraries::Libraries,
            relocations::{RelocationOrigin, RelocationTable},
            segments::{Access, Segment, Segments},
        },
        plan::{
            exports::Exports,
            linkage::{DEFAULT_RUN_PATH, Definitions, Linkage},
        },
    };

    const NULL: Symbol<'_> = symbol(SymbolKind::Untyped, 0, 0);

    const fn symbol(kind: SymbolKind, section: u16, value: u64) -> Symbol<'static> {
        Symbol {
            name: "",
            kind,
            binding: Binding::Local,
            section,
            value,
            size: 8,
        }
    }

    /// What becomes of relocations of the given kinds, symbols and addends, in a program with these symbols.
    fn planned(
        tls: bool,
        symbols: &[Symbol<'static>],
        relocations: &[(RelocationKind, u32, i64)],
    ) -> Result<Relocations, RelinkError> {
        let segment = Segment {
            range: ImageRange {
                start: ImageAddress(0x1000),
                size: 0x1000,
            },
            offset: FileOffset(0),
            file_size: 0,
            alignment: 0x1000,
            access: Access::RW,
        };
        let program = Object {
            program_headers: (FileOffset(0), 0),
            kind: ObjectKind::Program,
            needed: Vec::new(),
            module_name: None,
            lifecycle: Lifecycle::default(),
            file: FileBytes::new(&[]),
            entry: ImageAddress(0x1000),
            segments: Segments {
                loads: vec![segment],
                dynamic: segment,
                tls: tls.then_some(segment),
                eh_frame: None,
                relro: None,
                process_parameters: None,
            },
            plt_got: None,
            libraries: Libraries::default(),
            symbols: [&[NULL], symbols].concat(),
            relocations: relocations
                .iter()
                .enumerate()
                .map(|(index, &(kind, symbol, addend))| Relocation {
                    origin: RelocationOrigin {
                        table: RelocationTable::General,
                        index: index as u32,
                    },
                    kind,
                    target: ImageAddress(0x1000 + 8 * index as u64),
                    symbol,
                    addend,
                })
                .collect(),
        };
        let definitions = Definitions::default();
        let linkage = Linkage {
            file_name: None,
            needed: Vec::new(),
            run_path: DEFAULT_RUN_PATH,
            modules: &[],
            definitions: &definitions,
            visible: Vec::new(),
            in_title: true,
            names: &[],
        };
        let mut imports = Imports::of(&program, &linkage)?;
        let table = SymbolTable::new(&imports, &Exports::default(), &linkage)?;
        Relocations::new(&program, &mut imports, &table)
    }

    #[test]
    fn what_the_program_defines_becomes_relative() {
        let function = symbol(SymbolKind::Function, 1, 0x1234);
        let planned = planned(
            false,
            &[function],
            &[
                (RelocationKind::Absolute, 1, 4),
                (RelocationKind::JumpSlot, 1, 99),
                (RelocationKind::Relative, 0, 7),
            ],
        )
        .unwrap();
        let addends: Vec<i64> = planned
            .relative
            .iter()
            .map(|relocation| relocation.addend)
            .collect();
        assert_eq!(
            addends,
            [0x1238, 0x1234, 7],
            "the addend of a jump slot has no meaning"
        );
        assert!(planned.others.is_empty() && planned.jump_slots.is_empty());
    }

    #[test]
    fn thread_local_relocations_name_no_symbol() {
        let variable = symbol(SymbolKind::ThreadLocal, 1, 0x20);
        let planned = planned(
            true,
            &[variable],
            &[
                (RelocationKind::TlsModule, 1, 3),
                (RelocationKind::TlsOffset, 1, 3),
                (RelocationKind::TlsPointerOffset, 0, -16),
            ],
        )
        .unwrap();
        let found: Vec<_> = planned
            .others
            .iter()
            .map(|it| (it.kind, it.symbol, it.addend))
            .collect();
        assert_eq!(
            found,
            [
                (RelocationKind::TlsModule, NO_SYMBOL, 0),
                (RelocationKind::TlsOffset, NO_SYMBOL, 0x23),
                (RelocationKind::TlsPointerOffset, NO_SYMBOL, -16),
            ]
        );
    }

    #[test]
    fn what_can_t_be_bound_is_refused() {
        let variable = symbol(SymbolKind::ThreadLocal, 1, 0);
        let constant = symbol(SymbolKind::Object, 0xfff1, 5);
        let function = symbol(SymbolKind::Function, 1, 0x1000);
        for (tls, of, relocation, part) in [
            (
                false,
                variable,
                (RelocationKind::TlsPointerOffset, 1, 0),
                "no TLS segment",
            ),
            (true, function, (RelocationKind::TlsModule, 1, 0), "is a function"),
            (
                true,
                variable,
                (RelocationKind::Absolute, 1, 0),
                "is a thread-local variable",
            ),
            (true, constant, (RelocationKind::Absolute, 1, 0), "is a constant"),
            (
                true,
                function,
                (RelocationKind::Absolute, 0, 0),
                "names no symbol",
            ),
            (
                true,
                function,
                (RelocationKind::GlobalData, 1, 8),
                "addend is 0x8",
            ),
        ] {
            let error = planned(tls, &[of], &[relocation]).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
