//! A smoke test: a standard library is usable only if something can be built with it.

use std::fs;
use std::path::Path;

use super::rustc::Rustc;
use super::target::Target;
use crate::error::Error;
use crate::process;

/// A module, or a program, that uses `alloc`, `std` and the linker.
const SOURCE: &str = "\
#![allow(dead_code)]
fn main() {
    println!(\"{}\", smoke(9));
}
#[unsafe(no_mangle)]
pub extern \"C\" fn smoke(n: u32) -> u32 {
    let map: std::collections::BTreeMap<u32, String> = (0..n).map(|i| (i, i.to_string())).collect();
    map.values().map(|text| text.len() as u32).sum()
}
";

/// Compiles and links a small module or program with `rustc` and `flags`, in `work`. The settings
/// for modules are those of guests (`lto`, panics abort).
pub(super) fn test(rustc: &Rustc, target: Target, flags: &[String], work: &Path) -> Result<(), Error> {
    let source = work.join("smoke.rs");
    let made = work.join("smoke.out");
    fs::write(&source, SOURCE).map_err(Error::io("write", &source))?;
    let mut command = rustc.command();
    command.args(["--edition=2024", "--crate-type", target.crate_type, "--target", target.triple, "-Copt-level=3"]);
    match target.linker {
        Some(linker) => command.arg(format!("-Clinker={linker}")).arg("-Ctarget-feature=+crt-static"),
        None => command.args(["-Clto", "-Cpanic=abort"]),
    };
    process::output(command.args(flags).arg("-o").arg(&made).arg(&source))?;
    let bytes = fs::read(&made).map_err(Error::io("read", &made))?;
    if bytes.starts_with(target.magic) {
        Ok(())
    } else {
        Err(Error::unexpected(format!("the compiler produced no file for {}", target.triple)))
    }
}
