//! Why there is no bundle in a directory, or why it cannot be packed.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;
use plumbline_core::size::Bytes;
use plumbline_sandbox::InspectError;

use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_MODULES, MAX_WALKED};
use crate::name::EntryFault;

/// Why a bundle cannot be opened or packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A file or directory cannot be read.
    #[error("failed to read `{}`: {source}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no definition.
    #[error("directory `{}` has no `plugin.yaml`", .0.display())]
    NoDefinition(PathBuf),
    /// The definition is none.
    #[error("invalid definition `{}`: {source}", path.display())]
    Definition {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: DefinitionError,
    },
    /// A pattern of `plumbline.files` is no glob.
    #[error("invalid definition `{}`: `plumbline.files`: {why}", path.display())]
    Pattern {
        /// The file.
        path: PathBuf,
        /// A sentence about the pattern.
        why: String,
    },
    /// A file that belongs to the bundle cannot be packed.
    #[error("failed to pack `{file}`: {why}")]
    Refused {
        /// The file, escaped and cut.
        file: String,
        /// What is wrong with it.
        why: EntryFault,
    },
    /// A module is no component.
    #[error("failed to load module `{file}`: {source}")]
    Module {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: InspectError,
    },
    /// A file is too large.
    #[error("failed to pack `{file}`: it has {}, more than {}", Bytes(*.bytes), Bytes(MAX_ENTRY_BYTES))]
    FileTooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
    },
    /// All files together are too large.
    #[error("the files of the bundle in `{}` have more than {} together", .0.display(), Bytes(MAX_BUNDLE_BYTES))]
    TooManyBytes(PathBuf),
    /// There are too many files.
    #[error("the bundle in `{}` has more than {MAX_ENTRIES} files", .0.display())]
    TooManyFiles(PathBuf),
    /// There are too many modules.
    #[error("the bundle in `{}` has more than {MAX_MODULES} modules", .0.display())]
    TooManyModules(PathBuf),
    /// There is too much in the directory to look for files.
    #[error("more than {MAX_WALKED} files and directories in `{}` would have to be looked at", .0.display())]
    TooMuchToWalk(PathBuf),
    /// What is packed is not what was opened.
    #[error("the files in `{}` changed while they were packed", .0.display())]
    Changed(PathBuf),
    /// The tar cannot be written.
    #[error("failed to write the tar: {0}")]
    Write(#[source] io::Error),
}

impl BundleError {
    /// What to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoDefinition(_) => {
                Some("a bundle's directory holds its definition under this name, and its modules next to it")
            }
            Self::Refused { why: EntryFault::Symlink, .. } => Some(
                "put a copy of the file, or of the directory, in the link's place: what a link leads to need not be there elsewhere",
            ),
            Self::Refused { .. } => {
                Some("only regular files are packed; rename it, or leave it out of `plumbline.files` and `tests/`")
            }
            Self::Module { source, .. } => source.hint(),
            Self::TooMuchToWalk(_) => {
                Some("name directories in the patterns of `plumbline.files`: `data/**/*.json`, not `**/*.json`")
            }
            Self::FileTooLarge { .. } | Self::TooManyBytes(_) | Self::TooManyFiles(_) => {
                Some("what a plugin needs beyond that belongs into its container's image")
            }
            Self::Changed(_) => Some("try again when nothing builds or writes there"),
            _ => None,
        }
    }

    /// Whether this machine is to blame, and not the directory's content.
    #[must_use]
    pub fn is_systems(&self) -> bool {
        matches!(self, Self::Write(_))
    }
}
