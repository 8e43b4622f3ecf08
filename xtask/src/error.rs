//! The errors of tasks, and how to fix them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::target_std::Attempt;

/// The exit code of `plumbline` for a failure of the system. It also applies to everything that
/// fails before `plumbline` runs.
const SYSTEM_FAILED: u8 = 4;
/// The exit code of `plumbline` for an invalid command line.
const WRONG_USAGE: u8 = 2;

/// Error of a task.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line or an environment variable is invalid.
    Usage(String),
    /// A program could not be started.
    Start { program: String, source: io::Error },
    /// A program failed. `output` is what it printed, unless that was already shown.
    Failed { command: String, status: ExitStatus, output: String },
    /// A program succeeded, but its output is not as expected.
    Unexpected { what: String },
    /// A file or directory could not be read or written.
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// There is no directory for what is built once for all checkouts.
    NoCache,
    /// This machine's package sources have no Debian mirror.
    NoMirror { wanted: &'static str },
    /// Debian does not have the package.
    NoPackage { wanted: String, tried: Vec<String> },
    /// All ways to get the standard library for a target failed.
    NoTargetStd { target: &'static str, attempts: Vec<Attempt> },
    /// A tool that a task needs is not installed. `install` says how to install it.
    Missing { what: String, install: String },
    /// A step of `check` failed. Its own error was shown when it happened.
    Step { name: &'static str },
}

impl Error {
    /// Creates an [`Error::Io`], for use with `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Creates an [`Error::Unexpected`].
    pub(crate) fn unexpected(what: impl Into<String>) -> Self {
        Self::Unexpected { what: what.into() }
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => WRONG_USAGE,
            Self::Step { .. } => 1,
            _ => SYSTEM_FAILED,
        }
    }

    /// Returns how to fix the problem, if that is known.
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Usage(_) => "`cargo xtask help` lists the commands".to_owned(),
            Self::Start { program, source } if source.kind() == io::ErrorKind::NotFound => match program.as_str() {
                "apt-get" | "apt-cache" | "dpkg-deb" => {
                    format!("`{program}` belongs to Debian; on other systems install the target with `{RUSTUP_TARGET}`")
                }
                _ => format!("install `{program}`, or add its directory to PATH"),
            },
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "the standard library needs about 1.5 GiB while it is built, the workspace about 10 GiB".to_owned()
            }
            Self::Missing { install, .. } => install.clone(),
            Self::NoCache => "set XDG_CACHE_HOME or HOME to an absolute path".to_owned(),
            Self::NoMirror { .. } => format!("install the target with `{RUSTUP_TARGET}` instead"),
            Self::NoTargetStd { target, .. } => format!(
                "with access to the network, `rustup target add {target}` is the short way; without, copy \
                 ~/.cache/plumbline from a machine with the same `rustc -V`"
            ),
            _ => return None,
        };
        Some(hint)
    }
}

/// The command that adds the target to a rustup toolchain.
const RUSTUP_TARGET: &str = "rustup target add wasm32-unknown-unknown";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Start { program, source } => write!(f, "could not start `{program}`: {source}"),
            Self::Failed { command, status, output } => {
                write!(f, "`{command}` failed: {status}")?;
                output.trim().lines().try_for_each(|line| write!(f, "\n    {line}"))
            }
            Self::Unexpected { what } => f.write_str(what),
            Self::Io { action, path, source } => write!(f, "could not {action} `{}`: {source}", path.display()),
            Self::Missing { what, .. } => write!(f, "{what} is not installed"),
            Self::NoCache => f.write_str("neither XDG_CACHE_HOME nor HOME names a directory for what is built once"),
            Self::NoMirror { wanted } => {
                write!(f, "no Debian mirror for {wanted} is among this machine's package sources")
            }
            Self::NoPackage { wanted, tried } => {
                write!(f, "Debian has no {wanted}")?;
                tried.iter().try_for_each(|place| write!(f, "\n    {place}"))
            }
            Self::NoTargetStd { target, attempts } => {
                write!(f, "the {target} standard library was not found, and could not be built:")?;
                attempts.iter().try_for_each(|attempt| {
                    let reason = attempt.reason.replace('\n', "\n    ");
                    write!(f, "\n    step {}, {}: {reason}", attempt.way.number(), attempt.way)
                })
            }
            Self::Step { name } => write!(f, "step `{name}` failed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start { source, .. } | Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
