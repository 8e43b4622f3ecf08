//! A smoke test: a standard library is usable only if a module can be built with it.

use std::fs;
use std::path::Path;

use super::rustc::{Rustc, TARGET};
use crate::error::Error;
use crate::process;

/// A program that uses `alloc`, `std` and the linker, as every module does.
const PROGRAM: &str = "\
#[unsafe(no_mangle)]
pub extern \"C\" fn smoke(n: u32) -> u32 {
    let map: std::collections::BTreeMap<u32, String> = (0..n).map(|i| (i, i.to_string())).collect();
    map.values().map(|text| text.len() as u32).sum()
}
";

/// The magic number of WebAssembly files.
const MAGIC: &[u8] = b"\0asm";

/// Compiles and links a small module with `rustc` and `flags`, in `work`. The settings are those of
/// guests (`lto`, panics abort).
pub(super) fn test(rustc: &Rustc, flags: &[String], work: &Path) -> Result<(), Error> {
    let source = work.join("smoke.rs");
    let module = work.join("smoke.wasm");
    fs::write(&source, PROGRAM).map_err(Error::io("write", &source))?;
    let mut command = rustc.command();
    command.args([
        "--edition=2024",
        "--crate-type=cdylib",
        "--target",
        TARGET,
        "-Copt-level=3",
        "-Clto",
        "-Cpanic=abort",
    ]);
    process::output(command.args(flags).arg("-o").arg(&module).arg(&source))?;
    let made = fs::read(&module).map_err(Error::io("read", &module))?;
    if made.starts_with(MAGIC) {
        Ok(())
    } else {
        Err(Error::unexpected("the compiler made something else than a module"))
    }
}
