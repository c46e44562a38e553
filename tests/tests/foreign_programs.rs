//! Well-known programs, built from Debian's sources as they are, do what their native builds do: every byte that they print
//! and write.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use relic_relink::{RelinkOptions, relink};
use relic_tests::{
    kit::{Kit, foreign::Foreign},
    programs::{Outcome, run_with},
    runtime_library,
};

/// Both builds of a program, and the folders that they see: the native one runs with its own as real folders.
struct Both {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Both {
    fn build(program: &Foreign) -> Self {
        let kit = Kit::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let input = kit.build_foreign(program, &folder.path().join("guest")).unwrap();
        relink(&RelinkOptions {
            input,
            output: folder.path().join("guest/app").join(program.name),
            runtime_library: Some(runtime_library().unwrap()),
            ..RelinkOptions::default()
        })
        .unwrap();
        kit.build_foreign_native(program, &folder.path().join("native"))
            .unwrap();
        let both = Self {
            folder,
            name: program.name,
        };
        for folder in both.places("data") {
            fs::create_dir_all(folder).unwrap();
        }
        fs::create_dir_all(both.application()).unwrap();
        both
    }

    fn application(&self) -> PathBuf {
        self.folder.path().join("app0")
    }

    /// The guest's and the native program's folder for data.
    fn places(&self, path: &str) -> [PathBuf; 2] {
        [
            self.folder.path().join("all").join(self.name).join(path),
            self.folder.path().join("native").join(path),
        ]
    }

    /// Gives both programs a file in their folder for data.
    fn put(&self, name: &str, bytes: &[u8]) {
        for place in self.places("data") {
            fs::write(place.join(name), bytes).unwrap();
        }
    }

    /// Runs both with the same arguments, in which `@app0` and `@data` are the folders, and compares what they print.
    #[track_caller]
    fn same(&self, arguments: &[&str]) -> Outcome {
        let (application, all) = (self.application(), self.folder.path().join("all"));
        let [_, native_data] = self.places("data");
        let variables: [(&str, &OsStr); 3] = [
            ("RELIC_APP0", application.as_os_str()),
            ("RELIC_DATA", all.as_os_str()),
            ("TZ", OsStr::new("UTC")),
        ];
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let run = |program: &Path, app0: &str, data: &str| {
            let arguments: Vec<String> = arguments
                .iter()
                .map(|argument| argument.replace("@app0", app0).replace("@data", data))
                .collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run_with(program, &arguments, &variables, &mut |_| ()).unwrap()
        };
        let guest = run(
            &self.folder.path().join("guest/app").join(self.name),
            "/app0",
            "/data",
        );
        let native = run(
            &self.folder.path().join("native").join(self.name),
            &text(&application),
            &text(&native_data),
        );
        // Paths in messages differ by the folders alone.
        let plain = |output: &str| {
            output
                .replace(&text(&application), "/app0")
                .replace(&text(&native_data), "/data")
        };
        assert_eq!(guest.stdout, plain(&native.stdout), "{}", guest.stderr);
        assert_eq!(guest.code, native.code, "{}", guest.stderr);
        guest
    }

    /// A file that both have written in the same way.
    #[track_caller]
    fn same_file(&self, name: &str) -> Vec<u8> {
        let [guest, native] = self
            .places("data")
            .map(|place| fs::read(place.join(name)).unwrap());
        assert!(
            guest == native,
            "{name} differs: {} and {} bytes",
            guest.len(),
            native.len()
        );
        guest
    }
}

/// Text that repeats itself here and there.
fn sample(size: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(size + 16);
    while bytes.len() < size {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = (state >> 33) as usize;
        if word.is_multiple_of(3) && bytes.len() > 100 {
            let from = word / 3 % (bytes.len() - 50);
            bytes.extend_from_within(from..from + 1 + word % 40);
        } else {
            bytes.extend_from_slice(&(state >> 20).to_le_bytes()[..1 + word % 6]);
        }
    }
    bytes.truncate(size);
    bytes
}

#[test]
fn an_interpreter() {
    let sources = [
        "lapi", "lcode", "lctype", "ldebug", "ldo", "ldump", "lfunc", "lgc", "llex", "lmem", "lobject",
        "lopcodes", "lparser", "lstate", "lstring", "ltable", "ltm", "lundump", "lvm", "lzio", "lauxlib",
        "lbaselib", "lcorolib", "ldblib", "liolib", "lmathlib", "loadlib", "loslib", "lstrlib", "ltablib",
        "lutf8lib", "linit", "lua",
    ];
    let lua = Both::build(&Foreign {
        name: "lua",
        sources: sources.iter().map(|name| format!("lua/src/{name}.c")).collect(),
        includes: vec!["lua/src"],
        flags: vec![],
    });
    fs::write(
        lua.application().join("script.lua"),
        include_str!("../guests/programs/lua/script.lua"),
    )
    .unwrap();
    fs::write(lua.application().join("module.lua"), "return { answer = 42 }\n").unwrap();
    let outcome = lua.same(&["@app0/script.lua", "@app0", "@data", "one", "two"]);
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.ends_with("the end\n"), "{}", outcome.stdout);
    assert!(!lua.same_file("lines.txt").is_empty());
    // An error of the script's: its exit code, and what was printed before.
    fs::write(
        lua.application().join("fails.lua"),
        "print('before') error('on purpose')",
    )
    .unwrap();
    let outcome = lua.same(&["@app0/fails.lua"]);
    assert_eq!((outcome.code, &*outcome.stdout), (Some(1), "before\n"));
    assert!(outcome.stderr.contains("on purpose"), "{}", outcome.stderr);
}

#[test]
fn a_compressor() {
    let sources = [
        "blocksort",
        "huffman",
        "crctable",
        "randtable",
        "compress",
        "decompress",
        "bzlib",
        "bzip2",
    ];
    let bzip2 = Both::build(&Foreign {
        name: "bzip2",
        sources: sources.iter().map(|name| format!("bzip2/{name}.c")).collect(),
        includes: vec!["bzip2"],
        flags: vec!["-D_FILE_OFFSET_BITS=64"],
    });
    let input = sample(3_000_000);
    bzip2.put("input", &input);
    for level in ["-1", "-9"] {
        assert_eq!(bzip2.same(&["-kf", level, "@data/input"]).code, Some(0));
        let packed = bzip2.same_file("input.bz2");
        assert!(
            packed.len() < input.len() && packed.starts_with(b"BZh"),
            "{}",
            packed.len()
        );
    }
    assert_eq!(bzip2.same(&["-t", "@data/input.bz2"]).code, Some(0));
    for place in bzip2.places("data") {
        fs::remove_file(place.join("input")).unwrap();
    }
    assert_eq!(bzip2.same(&["-d", "@data/input.bz2"]).code, Some(0));
    assert!(bzip2.same_file("input") == input);
    for place in bzip2.places("data") {
        assert!(!place.join("input.bz2").exists(), "the packed file is removed");
    }
    // Damage and missing files are told, by the exit code.
    bzip2.put("damaged.bz2", b"BZh91AY&SY\x01\x02\x03");
    assert_eq!(bzip2.same(&["-t", "@data/damaged.bz2"]).code, Some(2));
    assert_eq!(bzip2.same(&["@data/none"]).code, Some(1));
}

#[test]
fn a_database() {
    let sqlite = Both::build(&Foreign {
        name: "sqlite",
        sources: vec!["sqlite/sqlite3.c".to_owned()],
        includes: vec!["sqlite"],
        flags: vec![
            "-DNDEBUG",
            "-DSQLITE_THREADSAFE=0",
            "-DSQLITE_OMIT_LOAD_EXTENSION",
            "-DSQLITE_OMIT_WAL",
            "-DSQLITE_MAX_MMAP_SIZE=0",
            "-DSQLITE_DEFAULT_MEMSTATUS=0",
        ],
    });
    fs::write(
        sqlite.application().join("make.sql"),
        include_str!("../guests/programs/sqlite/make.sql"),
    )
    .unwrap();
    fs::write(
        sqlite.application().join("ask.sql"),
        include_str!("../guests/programs/sqlite/ask.sql"),
    )
    .unwrap();
    let outcome = sqlite.same(&["@data/test.db", "@app0/make.sql"]);
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    let bytes = sqlite.same_file("test.db");
    assert!(
        bytes.starts_with(b"SQLite format 3\0") && bytes.len() > 100_000,
        "{}",
        bytes.len()
    );
    // The journal is gone: the transaction was committed.
    assert!(!sqlite.places("data")[0].join("test.db-journal").exists());
    let outcome = sqlite.same(&["@data/test.db", "@app0/ask.sql"]);
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    assert!(
        outcome.stdout.contains("ok\n"),
        "the integrity check: {}",
        outcome.stdout
    );
    // A database where nothing can be written.
    assert_eq!(
        sqlite.same(&["@app0/none/test.db", "@app0/make.sql"]).code,
        Some(1)
    );
}
