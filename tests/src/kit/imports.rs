//! The list of what guests may import, and what is made from it.
//!
//! A guest's own modules are libraries of the list like any other: what one exports, the program and the other modules may
//! import.

use std::{fmt::Write as _, fs, path::Path};

use relic_core::{Nid, nid::ALPHABET};

use super::{KitError, error::io_error};

/// How the prototype of a thread-local variable begins.
const THREAD_LOCAL: &str = "__thread ";
/// How a thread-local variable is made visible: the compiler has no `dllexport` for one.
const EXPORT_THREAD_LOCAL: &str = "__attribute__((visibility(\"default\")))";

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Its C name, whose hash is its NID.
    pub name: String,
    /// Its declaration without the semicolon.
    pub prototype: String,
    /// Whether it is a function or data.
    pub function: bool,
    /// Index of its library.
    library: u16,
}

impl Import {
    fn is_thread_local(&self) -> bool {
        self.prototype.starts_with(THREAD_LOCAL)
    }
}

/// A console library, which is also a module of the same name here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Its name, without `.prx`.
    pub name: String,
    /// Its id as a library in symbol names: counted from 0.
    pub library_id: u16,
    /// Its id as a module in symbol names: counted from 1, since 0 is the program itself.
    pub module_id: u16,
}

/// Everything that a guest may import.
#[derive(Debug, Default)]
pub struct ImportList {
    libraries: Vec<String>,
    imports: Vec<Import>,
}

impl ImportList {
    /// Adds the lines of a file.
    ///
    /// # Errors
    ///
    /// [`KitError`] when it can't be read, or names the line that is wrong.
    pub fn read(&mut self, path: &Path) -> Result<(), KitError> {
        let text = fs::read_to_string(path).map_err(io_error("reading", path))?;
        self.parse(&text).map_err(|(line, problem)| KitError::ImportList {
            path: path.to_owned(),
            line: line + 1,
            problem,
            text: text.lines().nth(line).unwrap_or_default().to_owned(),
        })
    }

    /// Adds the prototypes of a file as exports of a library.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_exports(&mut self, path: &Path, library: &str) -> Result<(), KitError> {
        let text = fs::read_to_string(path).map_err(io_error("reading", path))?;
        let text = format!("[{library}]\n{text}");
        self.parse(&text).map_err(|(line, problem)| KitError::ImportList {
            path: path.to_owned(),
            line,
            problem,
            text: text.lines().nth(line).unwrap_or_default().to_owned(),
        })
    }

    /// Adds lines; the error is the line's index and what is wrong with it.
    fn parse(&mut self, text: &str) -> Result<(), (usize, &'static str)> {
        let mut library = None;
        for (index, line) in text.lines().enumerate() {
            let refuse = |problem| (index, problem);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let name = name
                    .strip_suffix(']')
                    .ok_or_else(|| refuse("a library needs a closing bracket"))?;
                library = Some(match self.libraries.iter().position(|known| known == name) {
                    Some(known) => known,
                    None => {
                        self.libraries.push(name.to_owned());
                        self.libraries.len() - 1
                    }
                });
                continue;
            }
            let prototype = line
                .strip_suffix(';')
                .ok_or_else(|| refuse("a prototype ends in a semicolon"))?;
            let library = library.ok_or_else(|| refuse("a prototype needs a [library] line above it"))?;
            let (name, function) = declared_name(prototype)
                .ok_or_else(|| refuse("this declares neither a function nor data"))?;
            if self.imports.iter().any(|import| import.name == name) {
                return Err(refuse("this name is already in the list"));
            }
            self.imports.push(Import {
                name: name.to_owned(),
                prototype: prototype.to_owned(),
                function,
                library: u16::try_from(library).map_err(|_| refuse("there are too many libraries"))?,
            });
        }
        Ok(())
    }

    /// The libraries, by id.
    pub fn libraries(&self) -> impl Iterator<Item = Library> {
        self.libraries.iter().zip(0..).map(|(name, library_id)| Library {
            name: name.clone(),
            library_id,
            module_id: library_id + 1,
        })
    }

    /// The library of this name.
    #[must_use]
    pub fn library(&self, name: &str) -> Option<Library> {
        self.libraries().find(|library| library.name == name)
    }

    /// The symbol name of the import with this C name.
    #[must_use]
    pub fn symbol_of(&self, name: &str) -> Option<String> {
        let import = self.imports.iter().find(|import| import.name == name)?;
        Some(self.symbol(import))
    }

    /// The symbol name of an export: module 0 is the exporter itself.
    fn export_symbol(import: &Import) -> String {
        format!(
            "{}#{}#{}",
            Nid::of(&import.name),
            encode_id(import.library),
            encode_id(0)
        )
    }

    /// The symbol name of an import: `NID#library#module`.
    #[must_use]
    pub fn symbol(&self, import: &Import) -> String {
        format!(
            "{}#{}#{}",
            Nid::of(&import.name),
            encode_id(import.library),
            encode_id(import.library + 1)
        )
    }

    /// The header that declares all imports, and what the module that is a library of the list exports itself.
    #[must_use]
    pub fn header(&self, own: Option<&Library>) -> String {
        let mut text = "/* Made from imports.txt and exports.txt. */\n".to_owned();
        for import in &self.imports {
            let prototype = &import.prototype;
            let _ = if own.is_some_and(|own| own.library_id == import.library) {
                let symbol = Self::export_symbol(import);
                let export = if import.is_thread_local() {
                    EXPORT_THREAD_LOCAL
                } else {
                    "RELIC_EXPORT"
                };
                writeln!(text, "{export} extern {prototype} RELIC_IMPORT(\"{symbol}\");")
            } else {
                let symbol = self.symbol(import);
                writeln!(text, "extern {prototype} RELIC_IMPORT(\"{symbol}\");")
            };
        }
        text
    }

    /// C source of a library's stub.
    #[must_use]
    pub fn stub_source(&self, library: &Library) -> String {
        let mut text = String::new();
        let own = self
            .imports
            .iter()
            .filter(|import| import.library == library.library_id);
        for (index, import) in own.enumerate() {
            // What a compiler calls of its own accord has its plain name, which the post-step replaces.
            for (label, symbol) in [("n", self.symbol(import)), ("p", import.name.clone())] {
                let _ = if import.function {
                    writeln!(
                        text,
                        "__declspec(dllexport) void {label}{index}(void) __asm__(\"{symbol}\");\nvoid {label}{index}(void) {{}}"
                    )
                } else {
                    let storage = if import.is_thread_local() {
                        format!("{EXPORT_THREAD_LOCAL} {THREAD_LOCAL}")
                    } else {
                        "__declspec(dllexport)".to_owned()
                    };
                    writeln!(
                        text,
                        "{storage} char {label}{index}[8] __asm__(\"{symbol}\") = {{1}};"
                    )
                };
            }
        }
        text
    }

    /// Assembly of a host library that exports each NID: functions as jumps to the host's function of the name, data
    /// as a word that holds what the host's variable of the name holds when the library is loaded.
    #[must_use]
    pub fn forwards(&self, missing: &[&str]) -> String {
        let mut text = ".section .note.GNU-stack,\"\",@progbits\n".to_owned();
        let there = |import: &&Import| !missing.contains(&import.name.as_str());
        for import in self.imports.iter().filter(there) {
            let (nid, name) = (Nid::of(&import.name), &import.name);
            let _ = writeln!(text, ".globl \"{nid}\"");
            let _ = if import.function {
                writeln!(
                    text,
                    ".text\n.type \"{nid}\",@function\n\"{nid}\": jmp *{name}@GOTPCREL(%rip)\n.size \"{nid}\", .-\"{nid}\""
                )
            } else {
                writeln!(
                    text,
                    ".data\n.type \"{nid}\",@object\n.size \"{nid}\", 8\n.balign 8\n\"{nid}\": .quad 0\n\
                     .text\n.type \"fill {nid}\",@function\n\"fill {nid}\":\nmovq {name}@GOTPCREL(%rip), %rax\n\
                     movq (%rax), %rax\nmovq \"{nid}\"@GOTPCREL(%rip), %rcx\nmovq %rax, (%rcx)\nret\n\
                     .section .init_array,\"aw\",@init_array\n.balign 8\n.quad \"fill {nid}\""
                )
            };
        }
        text
    }
}

/// The name that a declaration declares, and whether it is a function.
fn declared_name(prototype: &str) -> Option<(&str, bool)> {
    let (head, function) = match prototype.split_once('(') {
        Some((head, _)) => (head, true),
        None => (prototype.split('[').next()?, false),
    };
    let head = head.trim_end();
    let start = head
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map_or(0, |at| at + 1);
    let name = &head[start..];
    // A name needs a type in front of it.
    (start > 0 && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).then_some((name, function))
}

/// A library or module id as symbol names write it: digits of the console's alphabet, the highest first.
#[must_use]
pub fn encode_id(id: u16) -> String {
    let digits = match id {
        0..0x40 => 1,
        0x40..0x1000 => 2,
        _ => 3,
    };
    (0..digits)
        .rev()
        .map(|digit| char::from(ALPHABET[usize::from(id >> (6 * digit) & 63)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_declare_names() {
        for (prototype, expected) in [
            ("int printf(const char *format, ...)", Some(("printf", true))),
            ("void *malloc(size_t size)", Some(("malloc", true))),
            ("int atexit(void (*function)(void))", Some(("atexit", true))),
            ("char *__progname", Some(("__progname", false))),
            ("char *list[4]", Some(("list", false))),
            ("printf(const char *)", None),
            ("int 3", None),
        ] {
            assert_eq!(declared_name(prototype), expected, "{prototype}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line, part) in [
            ("int f(void);", 0, "[library]"),
            ("[libc]\nint f(void)", 1, "semicolon"),
            ("[libc", 0, "bracket"),
            ("[libc]\nint f(void);\nint f(int a);", 2, "already"),
            ("[libc]\n\n5;", 2, "neither"),
        ] {
            let (at, problem) = ImportList::default().parse(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn symbols_carry_their_ids() {
        let mut list = ImportList::default();
        list.parse("[libc]\nint printf(const char *, ...);\n[libkernel]\nint *__error(void);\n[libc]\nvoid exit(int);").unwrap();
        let symbols: Vec<_> = list.imports.iter().map(|import| list.symbol(import)).collect();
        assert_eq!(symbols, ["hcuQgD53UxM#A#B", "9BcDykPmo1I#B#C", "uMei1W9uyNo#A#B"]);
    }

    /// The relinker reads what the kit writes.
    #[test]
    fn ids_are_read_back() {
        for id in [0, 1, 63, 64, 4095, 4096, u16::MAX] {
            let read = relic_relink::input::libraries::decode_id(&encode_id(id));
            assert_eq!(read.map(|id| id.0), Some(id));
        }
    }
}
