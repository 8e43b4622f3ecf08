//! The arguments of `image`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::Error;

/// The default name of the image. No registry has it, so it cannot be confused with a published
/// image.
const DEFAULT_TAG: &str = concat!("localhost/plumbline:v", env!("CARGO_PKG_VERSION"));

/// What to build, and where to write it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The path of the archive. The default is `target/image/plumbline.tar`.
    pub(crate) output: Option<PathBuf>,
    /// An existing static binary.
    pub(crate) binary: Option<PathBuf>,
    /// Whether the image also has `plumbline-dev`, as the end-to-end tests need it. It is next to
    /// the binary.
    pub(crate) dev: bool,
    tag: Option<String>,
}

impl Options {
    /// Returns the options for the image of the end-to-end tests, with an existing binary or a new
    /// one.
    pub(crate) fn of_tests(binary: Option<PathBuf>) -> Self {
        Self { binary, dev: true, ..Self::default() }
    }

    /// Parses `[--output FILE] [--tag NAME] [--binary FILE] [--dev]`, with a space or `=` before
    /// values.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let Some(text) = arg.to_str() else { return Err(unknown(&arg)) };
            let (name, inline) = match text.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (text, None),
            };
            let name = name.to_owned();
            let mut value = || {
                inline
                    .clone()
                    .or_else(|| args.next())
                    .filter(|value| !value.is_empty())
                    .ok_or_else(|| Error::Usage(format!("`{name}` of `image` needs a value")))
            };
            match name.as_str() {
                "--output" => options.output = Some(value()?.into()),
                "--binary" => options.binary = Some(value()?.into()),
                "--tag" => options.tag = Some(value()?.to_string_lossy().into_owned()),
                "--dev" if inline.is_none() => options.dev = true,
                _ => return Err(unknown(&arg)),
            }
        }
        Ok(options)
    }

    /// Returns the name of the image.
    pub(crate) fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(DEFAULT_TAG)
    }
}

fn unknown(arg: &OsString) -> Error {
    Error::Usage(format!("`image` does not take the argument `{}`", arg.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn values_stand_behind_a_space_or_a_sign() {
        let options = parse("--output a.tar --tag=localhost/x:1 --dev").unwrap();
        assert_eq!((options.output.as_deref(), options.tag()), (Some("a.tar".as_ref()), "localhost/x:1"));
        assert!(options.dev && !parse("").unwrap().dev);
        assert_eq!(parse("").unwrap().tag(), DEFAULT_TAG);
    }

    #[test]
    fn unknown_arguments_are_rejected_by_name() {
        for (line, expected) in [("--tag", "`--tag`"), ("--output=", "`--output`"), ("now", "`now`")] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
