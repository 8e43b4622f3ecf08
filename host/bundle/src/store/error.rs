//! Why a bundle is not installed, or not to be used.

use std::io;
use std::path::PathBuf;

use crate::digest::Digest;
use crate::error::BundleError;
use crate::limits::MAX_SIGNATURE_BYTES;
use crate::unpack_error::UnpackError;

/// Why something could not be done with installed bundles.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no place for them.
    #[error("there is no directory for installed bundles: neither `XDG_DATA_HOME` nor `HOME` is an absolute path")]
    NoHome,
    /// A file or directory cannot be used.
    #[error("failed to use `{}`: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else is installing or removing something, and does not come to an end.
    #[error("another process has been installing or removing bundles in `{}` for too long", .0.display())]
    Busy(PathBuf),
    /// The name belongs to the program.
    #[error("the name `{0}` belongs to a built-in plugin, which would be found in its place")]
    Reserved(String),
    /// There is no installed bundle of this name.
    #[error("no bundle `{0}` is installed")]
    NotInstalled(String),
    /// The text is no name of a plugin.
    #[error("`{0}` is not a name of a plugin")]
    Name(String),
    /// What is to be installed is no bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The tar cannot be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The signatures are larger than any.
    #[error("the signatures have more than {MAX_SIGNATURE_BYTES} bytes")]
    Signatures,
    /// What is installed cannot be used.
    #[error("the installed bundle `{name}` is damaged: {why}")]
    Damaged {
        /// The plugin.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is installed is not what was installed.
    #[error("the installed bundle `{name}` was changed: it has {actual}, and {installed} was installed")]
    Changed {
        /// The plugin.
        name: String,
        /// The digest of what was installed.
        installed: Digest,
        /// The digest of what is there.
        actual: Digest,
    },
}

impl StoreError {
    /// What to do about it, where there is something to say.
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

    /// Whether this machine is to blame, and not what was given.
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
