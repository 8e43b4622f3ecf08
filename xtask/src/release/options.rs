//! The arguments of `release`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::Error;
use crate::program::Platform;

/// What to build, and where to write it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Whether to inspect and install what was written.
    pub(crate) check: bool,
    /// Whether to build the program of this machine twice, and compare.
    pub(crate) twice: bool,
    /// The directory of the files. The default is `target/release-artifacts`. Its content is
    /// replaced.
    pub(crate) output: Option<PathBuf>,
    /// Existing static programs by architecture. If there are any, none is built.
    pub(crate) binaries: BTreeMap<&'static str, PathBuf>,
}

impl Options {
    /// Parses `[--check] [--twice] [--output DIR] [--binary ARCHITECTURE=FILE]…`.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy();
            let mut value = || {
                let value = args.next().filter(|value| !value.is_empty());
                value.ok_or_else(|| Error::Usage(format!("`{name}` of `release` needs a value")))
            };
            match &*name {
                "--check" => options.check = true,
                "--twice" => options.twice = true,
                "--output" => options.output = Some(value()?.into()),
                "--binary" => {
                    let (platform, file) = binary(&value()?)?;
                    options.binaries.insert(platform.architecture, file);
                }
                _ => return Err(Error::Usage(format!("`release` does not take the argument `{name}`"))),
            }
        }
        Ok(options)
    }
}

/// Parses `ARCHITECTURE=FILE`.
fn binary(value: &OsString) -> Result<(Platform, PathBuf), Error> {
    let text = value.to_string_lossy();
    let parsed = text.split_once('=').and_then(|(name, file)| Some((Platform::named(name)?, file)));
    match parsed {
        Some((platform, file)) if !file.is_empty() => Ok((platform, PathBuf::from(file))),
        _ => {
            let known = Platform::ALL.map(|platform| platform.architecture).join("=FILE or ");
            Err(Error::Usage(format!("`--binary` takes {known}=FILE, not `{text}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_program_is_given_for_each_architecture() {
        let options = parse("--binary arm64=a=b --check --binary amd64=c --output d").unwrap();
        assert!(options.check && !options.twice);
        assert!(parse("--twice").unwrap().twice);
        assert_eq!(options.output.as_deref(), Some("d".as_ref()));
        assert_eq!(options.binaries, BTreeMap::from([("amd64", "c".into()), ("arm64", "a=b".into())]));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (line, expected) in [
            ("--binary x", "`--binary` takes amd64=FILE or arm64=FILE, not `x`"),
            ("--binary riscv64=x", "not `riscv64=x`"),
            ("--binary amd64=", "not `amd64=`"),
            ("--output", "`--output` of `release` needs a value"),
            ("now", "`now`"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
