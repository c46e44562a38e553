//! Game patches: bytes of a program or module that its owner wants otherwise.
//!
//! A patch file is TOML, and every key in it is known or an error:
//!
//! ```toml
//! format = 1
//!
//! [[patch]]
//! name = "sixty frames"
//! target = "eboot.bin"                # or a module: "sce_module/libfoo.prx"
//! sha256 = "0123…"                    # optional: of the target's file
//! enabled = true                      # optional
//!
//! [[patch.write]]
//! address = 0x12340                   # as the file's segments have it
//! expect = "75 10"                    # what must stand there
//! replace = "eb 10"                   # as many bytes
//! ```
//!
//! All checks of all patches come before the first change, and patched bytes go through every later check of the
//! relinker. What it writes itself (headers, relocation targets, replaced code) may not meet a patch.

pub mod apply;
pub mod file;
pub mod manifest;

pub use file::{Patch, PatchFile, Write};
