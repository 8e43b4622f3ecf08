//! `plumbline-module-pack --out DIR [--no-compile] CORE.wasm...`: turns core WebAssembly modules
//! into components, checks them as a host does, and compiles them ahead of time.
//!
//! For each core module it writes `DIR/NAME.wasm`. It also writes `DIR/NAME.cwasm`, with machine
//! code for any processor of this machine's architecture and operating system. `NAME` is the name
//! of the file without `plumbline_module_` or `plumbline_guest_`, and with `-` instead of `_`. The
//! same core module gives the same bytes.
#![forbid(unsafe_code)]

mod args;
mod pack;

use std::process::ExitCode;

use args::Args;

/// The exit code for invalid arguments.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args_os().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("error: {error}\n{}", args::HELP);
            return ExitCode::from(USAGE);
        }
    };
    match pack::pack(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("hint:  {hint}");
            }
            ExitCode::FAILURE
        }
    }
}
