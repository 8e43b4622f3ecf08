//! Errors while opening or packing a bundle.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::DefinitionError;
use plumbline_core::size::Bytes;
use plumbline_sandbox::InspectError;

use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_MODULES, MAX_WALKED};
use crate::name::EntryFault;

/// Error while opening or packing a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A file or directory is not readable.
    #[error("failed to read `{}`: {source}", path.display())]
    Read {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The directory has no definition.
    #[error("directory `{}` has no `plugin.yaml`", .0.display())]
    NoDefinition(PathBuf),
    /// The definition is invalid.
    #[error("invalid definition `{}`: {source}", path.display())]
    Definition {
        /// Path of the definition.
        path: PathBuf,
        /// What is wrong with the definition.
        source: DefinitionError,
    },
    /// A pattern of `plumbline.files` is not a glob.
    #[error("invalid definition `{}`: `plumbline.files`: {why}", path.display())]
    Pattern {
        /// Path of the definition.
        path: PathBuf,
        /// Description of the problem with the pattern.
        why: String,
    },
    /// A file that belongs to the bundle must not be packed.
    #[error("failed to pack `{file}`: {why}")]
    Refused {
        /// Name of the file, escaped and truncated.
        file: String,
        /// What is wrong with the file.
        why: EntryFault,
    },
    /// A module is not a valid component.
    #[error("failed to load module `{file}`: {source}")]
    Module {
        /// Name of the file.
        file: String,
        /// What is wrong with the module.
        source: InspectError,
    },
    /// A file is too large.
    #[error("failed to pack `{file}`: it has {}, more than {}", Bytes(*.bytes), Bytes(MAX_ENTRY_BYTES))]
    FileTooLarge {
        /// Name of the file.
        file: String,
        /// Size of the file.
        bytes: u64,
    },
    /// The total size of all files is too large.
    #[error("the files of the bundle in `{}` have more than {} together", .0.display(), Bytes(MAX_BUNDLE_BYTES))]
    TooManyBytes(PathBuf),
    /// There are too many files.
    #[error("the bundle in `{}` has more than {MAX_ENTRIES} files", .0.display())]
    TooManyFiles(PathBuf),
    /// There are too many modules.
    #[error("the bundle in `{}` has more than {MAX_MODULES} modules", .0.display())]
    TooManyModules(PathBuf),
    /// The directory has too many files and directories to search.
    #[error("more than {MAX_WALKED} files and directories in `{}` would have to be looked at", .0.display())]
    TooMuchToWalk(PathBuf),
    /// The files changed between opening and packing.
    #[error("the files in `{}` changed while they were packed", .0.display())]
    Changed(PathBuf),
    /// The tar could not be written.
    #[error("failed to write the tar: {0}")]
    Write(#[source] io::Error),
}

impl BundleError {
    /// Returns a hint with the fix, if there is one.
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

    /// Returns whether the cause is this machine, not the content of the directory.
    #[must_use]
    pub fn is_systems(&self) -> bool {
        matches!(self, Self::Write(_))
    }
}
