//! The runtime library's symbol table.

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use goblin::elf::{Elf, sym};
    use relic_core::program::{START_SYMBOL, TRAP_SYMBOL};
    use relic_libs::export;

    /// The library that cargo built beside this test.
    fn library() -> PathBuf {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().unwrap();
        let path = folder.join("librelic_libs.so");
        assert!(path.is_file(), "{} is missing", path.display());
        path
    }

    #[test]
    fn the_library_exports_nids_and_its_two_own_symbols_and_nothing_else() {
        let bytes = std::fs::read(library()).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        let exported: BTreeSet<&str> = elf
            .dynsyms
            .iter()
            .filter(|symbol| !symbol.is_import() && symbol.st_bind() != sym::STB_LOCAL)
            .map(|symbol| elf.dynstrtab.get_at(symbol.st_name).unwrap())
            .collect();
        let expected: BTreeSet<&str> = export::EXPORTS
            .iter()
            .map(|export| export.nid)
            .chain([START_SYMBOL, TRAP_SYMBOL])
            .collect();
        let surplus: Vec<_> = exported.difference(&expected).collect();
        let missing: Vec<_> = expected.difference(&exported).collect();
        assert_eq!((surplus, missing), (vec![], vec![]));
    }

    #[test]
    fn data_is_exported_as_objects_and_functions_as_functions() {
        let bytes = std::fs::read(library()).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        let kind = |nid: &str| {
            elf.dynsyms
                .iter()
                .find(|symbol| elf.dynstrtab.get_at(symbol.st_name) == Some(nid))
                .map(|symbol| symbol.st_type())
        };
        // __progname, __stack_chk_guard, environ, _Stdout.
        for nid in ["djxxOmW6-aw", "f7uOxY9mM1U", "+2thxYZ4syk", "2sWzhYqFH4E"] {
            assert_eq!(kind(nid), Some(sym::STT_OBJECT), "{nid}");
        }
        // printf, malloc, sceKernelUsleep, setjmp, and pthread_self, which is a second name.
        for nid in ["hcuQgD53UxM", "gQX+4GDQjpM", "1jfXLRVzisc", "gNQ1V2vfXDE"] {
            assert_eq!(kind(nid), Some(sym::STT_FUNC), "{nid}");
        }
    }
}
