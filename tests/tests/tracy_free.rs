//! Without the feature `tracy` nothing of Tracy is in the runtime library: it opens no socket and records nothing.

use relic_tests::runtime_library;

#[test]
fn no_symbol_of_tracy_is_in_the_runtime_library() {
    let path = runtime_library().unwrap_or_else(|error| panic!("{error}"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let elf = goblin::elf::Elf::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let static_names = elf
        .syms
        .iter()
        .filter_map(|symbol| elf.strtab.get_at(symbol.st_name));
    let dynamic_names = elf
        .dynsyms
        .iter()
        .filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name));
    let mut names = 0;
    for name in static_names.chain(dynamic_names) {
        names += 1;
        assert!(
            !name.to_lowercase().contains("tracy"),
            "{name} is in {}",
            path.display()
        );
    }
    assert!(names > 500, "only {names} symbols: this is no runtime library");
}
