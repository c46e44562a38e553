//! Game patches: applied where they fit exactly, refused otherwise, and verifiable afterwards.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{fs, path::PathBuf};

use relic_relink::{
    RelinkError, RelinkOptions, RelinkReport, SystemCallPolicy, patches::manifest::verify, relink,
};
use relic_tests::{kit::Kit, programs::run, runtime_library};

const MAIN: &str = r#"
    int (*const pointer)(void) = one;
    __attribute__((noinline)) static int number(void)
    {
        int value;
        __asm__ volatile("movl $0x55, %%eax" : "=a"(value));
        return value;
    }
    int main(int argc, char **argv)
    {
        (void)argv;
        if (argc > 5)
            __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
        return number() + pointer();
    }"#;
const MODULE: &str = "int one(void) { return 0x11; }";

/// `mov eax, imm32` of the two functions.
const NUMBER: [u8; 5] = [0xb8, 0x55, 0, 0, 0];
const ONE: [u8; 5] = [0xb8, 0x11, 0, 0, 0];

struct Title {
    folder: tempfile::TempDir,
}

impl Title {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("main.c", MAIN),
            ("modules/libone/exports.txt", "int one(void);"),
            ("modules/libone/one.c", MODULE),
        ];
        Kit::new().unwrap().build_text(&files, folder.path()).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Address of bytes in a file's text, which is the first segment, at address 0.
    fn address(&self, name: &str, wanted: &[u8]) -> u64 {
        let bytes = self.bytes(name);
        let offset = u64::from_le_bytes(bytes[72..80].try_into().unwrap());
        let mut found = bytes
            .windows(wanted.len())
            .enumerate()
            .filter(|(_, window)| *window == wanted);
        let (at, _) = found.next().unwrap();
        assert!(found.next().is_none(), "{wanted:x?} is there once");
        at as u64 - offset
    }

    /// Relinks with these patches.
    fn relink(&self, patches: &str) -> Result<RelinkReport, RelinkError> {
        fs::write(self.path("patches.toml"), patches).unwrap();
        relink(&RelinkOptions {
            input: self.path("eboot.bin"),
            output: self.path("out/app"),
            patches: Some(self.path("patches.toml")),
            runtime_library: Some(runtime_library().unwrap()),
            system_calls: SystemCallPolicy::Trap,
            ..RelinkOptions::default()
        })
    }

    /// The text of an error, after which nothing may be there.
    fn refused(&self, patches: &str) -> String {
        let error = self.relink(patches).unwrap_err();
        assert!(!self.path("out").exists(), "{error}");
        error.to_string()
    }
}

fn patch(target: &str, more: &str, address: u64, expect: &str, replace: &str) -> String {
    format!(
        "[[patch]]\nname = \"{target} {address}\"\ntarget = \"{target}\"\n{more}\n[[patch.write]]\naddress = {address:#x}\n\
         expect = \"{expect}\"\nreplace = \"{replace}\"\n"
    )
}

#[test]
fn patches_change_program_and_module_and_can_be_verified() {
    let title = Title::new();
    let before = [title.bytes("eboot.bin"), title.bytes("sce_module/libone.prx")];
    let number = title.address("eboot.bin", &NUMBER) + 1;
    let one = title.address("sce_module/libone.prx", &ONE) + 1;
    let text = format!(
        "format = 1\n{}{}{}",
        patch("eboot.bin", "", number, "55", "22"),
        patch("sce_module/libone.prx", "", one, "11 00", "03 00"),
        patch("eboot.bin", "enabled = false", 0, "00", "00"),
    );
    assert_eq!(title.relink(&text).unwrap().patched, 2);
    let program = title.path("out/app");
    assert_eq!(run(&program, &[]).unwrap().code, Some(0x22 + 3));
    assert_eq!(
        [title.bytes("eboot.bin"), title.bytes("sce_module/libone.prx")],
        before,
        "inputs stay"
    );

    let manifest = title.path("out/app.patches.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    for part in [
        "app0/sce_module/libone.guest.prx",
        "before = \"55\"",
        "after = \"22\"",
        &format!("address = {number}"),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(verify(&program).unwrap(), 2);
    let module = title.path("out/app0/sce_module/libone.guest.prx");
    let mut bytes = fs::read(&module).unwrap();
    let at = bytes
        .windows(5)
        .position(|window| window == [0xb8, 3, 0, 0, 0])
        .unwrap();
    bytes[at + 1] = 4;
    fs::write(&module, bytes).unwrap();
    let error = verify(&program).unwrap_err().to_string();
    assert!(
        error.contains("libone.guest.prx") && error.contains("0400, not 0300"),
        "{error}"
    );
    fs::write(&manifest, text.replace("app0/", "../app0/")).unwrap();
    assert!(
        verify(&program)
            .unwrap_err()
            .to_string()
            .contains("no path below")
    );
    fs::remove_file(manifest).unwrap();
    assert!(matches!(verify(&program), Err(RelinkError::Io { .. })));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let title = Title::new();
    let number = title.address("eboot.bin", &NUMBER) + 1;
    let syscall = title.address("eboot.bin", &[0x0f, 0x05]);
    let one = |more, address, expect, replace| {
        format!(
            "format = 1\n{}",
            patch("eboot.bin", more, address, expect, replace)
        )
    };
    let slot = {
        let report = relink(&RelinkOptions {
            input: title.path("eboot.bin"),
            output: title.path("plain/app"),
            system_calls: SystemCallPolicy::Trap,
            registry: true,
            ..RelinkOptions::default()
        });
        assert!(report.is_ok());
        let registry: serde_json::Value =
            serde_json::from_slice(&fs::read(title.path("plain/app.registry.json")).unwrap()).unwrap();
        registry["objects"][0]["imports"][0]["sites"][0]["address"]
            .as_u64()
            .unwrap()
    };
    let elf_header_in_memory = {
        // The first segment is the file's beginning, so that its addresses lead to the headers.
        let mut bytes = title.bytes("eboot.bin");
        bytes[72..80].copy_from_slice(&0_u64.to_le_bytes());
        bytes
    };
    let wrong_hash = format!("sha256 = \"{}\"", "00".repeat(32));
    for (patches, parts) in [
        (one("", number, "56", "22"), &["stands 55", "expects 56"][..]),
        (one("", 0x7777_0000, "00", "01"), &["0x77770000", "not within"]),
        (one("", slot, "00", "01"), &["relocation's target"]),
        (one("", slot + 7, "00", "01"), &["relocation's target"]),
        (one("", syscall, "0f", "0f"), &["code that is replaced"]),
        (one(&wrong_hash, number, "55", "22"), &["SHA-256"]),
        (
            "format = 1\n".to_owned() + &patch("sce_module/libtwo.prx", "", 0, "00", "00"),
            &["libtwo", "sce_module/libone.prx"],
        ),
        ("format = 2\n".to_owned(), &["patches.toml", "format is 2"]),
        ("format = 1\nfoo = 3\n".to_owned(), &["patches.toml", "foo"]),
    ] {
        let error = title.refused(&patches);
        for part in parts {
            assert!(error.contains(part), "{part:?}: {error}");
        }
    }
    fs::write(title.path("eboot.bin"), elf_header_in_memory).unwrap();
    let error = title.refused(&one("", 1, "45", "00"));
    assert!(error.contains("the ELF header"), "{error}");
}

/// A patch that brings a system call in is seen by the check.
#[test]
fn later_checks_see_patched_bytes() {
    let title = Title::new();
    let one = title.address("sce_module/libone.prx", &ONE);
    let text = format!(
        "format = 1\n{}",
        patch("sce_module/libone.prx", "", one, "b8 11 00", "0f 05 90")
    );
    let report = title.relink(&text);
    let error = report.unwrap_err().to_string();
    assert!(
        error.contains("code that is replaced"),
        "the call would be trapped: {error}"
    );
}
