//! How the runtime library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // NIDs hold `+` and `-`, which GNU ld can't parse in the export list that cargo passes: pin lld, so that a
        // toolchain with another default fails with its own words instead of exporting nothing.
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=lld");
        // Labels that jump to naked functions are exported beside what the compiler exports itself; lld merges the lists.
        println!("cargo::rerun-if-changed=naked.map");
        println!(
            "cargo::rustc-cdylib-link-arg=-Wl,--version-script={}/naked.map",
            env!("CARGO_MANIFEST_DIR")
        );
        // The list of exports lies in a section of its own, whose bounds are nobody else's business.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,start-stop-visibility=hidden");
    }
}
