//! Errors of installed bundles.

use std::io;
use std::path::PathBuf;

use crate::digest::Digest;
use crate::error::BundleError;
use crate::limits::MAX_SIGNATURE_BYTES;
use crate::unpack_error::UnpackError;

/// Error while installing, listing, or removing bundles.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The user has no data directory.
    #[error("there is no directory for installed bundles: neither `XDG_DATA_HOME` nor `HOME` is an absolute path")]
    NoHome,
    /// A file or directory is not accessible.
    #[error("failed to use `{}`: {source}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error("another process has been installing or removing bundles in `{}` for too long", .0.display())]
    Busy(PathBuf),
    /// The name is reserved for a built-in plugin.
    #[error("the name `{0}` belongs to a built-in plugin, which would be found in its place")]
    Reserved(String),
    /// No bundle of this name is installed.
    #[error("no bundle `{0}` is installed")]
    NotInstalled(String),
    /// The string is not a valid plugin name.
    #[error("`{0}` is not a name of a plugin")]
    Name(String),
    /// The source is not a valid bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The tar was not unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The signatures are too large.
    #[error("the signatures have more than {MAX_SIGNATURE_BYTES} bytes")]
    Signatures,
    /// The installed bundle is not usable.
    #[error("the installed bundle `{name}` is damaged: {why}")]
    Damaged {
        /// Name of the plugin.
        name: String,
        /// What is wrong with the bundle.
        why: String,
    },
    /// The files of the installed bundle changed after the installation.
    #[error("the installed bundle `{name}` was changed: it has {actual}, and {installed} was installed")]
    Changed {
        /// Name of the plugin.
        name: String,
        /// Digest at installation.
        installed: Digest,
        /// Current digest.
        actual: Digest,
    },
}

impl StoreError {
    /// Returns a hint with the fix, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Reserved(_) => {
                Some("give it another `plugin-name`, or run it from its directory or tar: `-p ./DIR`, `-p ./FILE.bundle.tar`".to_owned())
            }
            Self::NotInstalled(_) => Some("`plumbline plugin list` shows what is installed".to_owned()),
            Self::Damaged { name, .. } | Self::Changed { name, .. } => Some(format!(
                "install it again: `plumbline plugin install REF`, or remove it: `plumbline plugin uninstall {name}`"
            )),
            Self::Busy(_) => Some("look for it with `ps`, and try again when it has ended".to_owned()),
            Self::Bundle(error) => error.hint().map(str::to_owned),
            Self::Unpack(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }

    /// Returns whether the cause is this machine, not the input.
    #[must_use]
    pub fn is_systems(&self) -> bool {
        match self {
            Self::NoHome | Self::Io { .. } | Self::Busy(_) | Self::Damaged { .. } | Self::Changed { .. } => true,
            Self::Bundle(error) => error.is_systems(),
            Self::Unpack(error) => error.is_systems(),
            _ => false,
        }
    }
}
