//! Builds guest programs: `relic-guest build tests/guests/hello -o DIR` writes `DIR/eboot.bin`, and with `--native`
//! the same program for this machine, `DIR/hello`.

use std::{path::PathBuf, process::ExitCode};

use relic_tests::kit::{Kit, KitError};

const USAGE: &str = "usage: relic-guest build FOLDER -o DIR [--native]";

fn main() -> ExitCode {
    let Some(request) = request(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(1);
    };
    match build(&request) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("relic-guest: {error}");
            ExitCode::from(2)
        }
    }
}

struct Request {
    guest: PathBuf,
    out: PathBuf,
    native: bool,
}

fn request(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Option<Request> {
    if arguments.next()? != "build" {
        return None;
    }
    let (mut guest, mut out, mut native) = (None, None, false);
    while let Some(argument) = arguments.next() {
        if argument == "-o" {
            out = Some(PathBuf::from(arguments.next()?));
        } else if argument == "--native" {
            native = true;
        } else if guest.is_none() && !argument.as_encoded_bytes().starts_with(b"-") {
            guest = Some(PathBuf::from(argument));
        } else {
            return None;
        }
    }
    Some(Request {
        guest: guest?,
        out: out?,
        native,
    })
}

fn build(request: &Request) -> Result<PathBuf, KitError> {
    let kit = Kit::new()?;
    if request.native {
        kit.build_native(&request.guest, &request.out)
    } else {
        kit.build_guest(&request.guest, &request.out)
    }
}
