//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

/// The help text.
pub(crate) const HELP: &str = "\
usage: plumbline-module-pack --out DIR [--no-compile] CORE.wasm...

Makes components of core WebAssembly modules, checks them, and compiles them ahead of time.

  --out DIR      where NAME.wasm and NAME.cwasm go; made if it is not there
  --no-compile   write components only";

/// The arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) out: PathBuf,
    pub(crate) compile: bool,
    /// The core modules, at least one.
    pub(crate) cores: Vec<PathBuf>,
}

impl Args {
    /// Parses the arguments. Returns `None` if help was requested. The error is a sentence.
    pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let (mut out, mut compile, mut cores) = (None, true, Vec::new());
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--help" | "-h") => return Ok(None),
                Some("--no-compile") => compile = false,
                Some("--out") => out = Some(PathBuf::from(args.next().ok_or("`--out` wants a directory")?)),
                Some(option) if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
                _ => cores.push(PathBuf::from(arg)),
            }
        }
        let out = out.ok_or("`--out DIR` is missing")?;
        if cores.is_empty() {
            return Err("no core module is named".into());
        }
        Ok(Some(Self { out, compile, cores }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Option<Args>, String> {
        Args::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn arguments_come_in_any_order() {
        let args = parse(&["a.wasm", "--no-compile", "--out", "dir", "b.wasm"]).unwrap().unwrap();
        assert_eq!(args, Args { out: "dir".into(), compile: false, cores: vec!["a.wasm".into(), "b.wasm".into()] });
        assert_eq!(parse(&["--out", "dir", "-h"]), Ok(None));
    }

    #[test]
    fn missing_arguments_are_reported() {
        assert_eq!(parse(&["a.wasm"]).unwrap_err(), "`--out DIR` is missing");
        assert_eq!(parse(&["--out"]).unwrap_err(), "`--out` wants a directory");
        assert_eq!(parse(&["--out", "dir"]).unwrap_err(), "no core module is named");
        assert_eq!(parse(&["--fast"]).unwrap_err(), "unknown option `--fast`");
    }
}
