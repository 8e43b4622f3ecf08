//! Errors while opening, packing or unpacking a bundle.

use std::io;
use std::path::PathBuf;

use plumbline_core::definition::{DefinitionError, Warning};
use plumbline_core::size::Bytes;
use plumbline_core::text::Printable;
use plumbline_sandbox::InspectError;

use crate::limits::{MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_MODULES, MAX_WALKED};
use crate::name::EntryFault;
use crate::profile::ProfileError;
use plumbline_core::Digest;

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
    /// The profile is invalid.
    #[error("invalid profile `{}`: {source}", path.display())]
    Profile {
        /// Path of the profile.
        path: PathBuf,
        /// What is wrong with the profile.
        source: ProfileError,
    },
    /// A file that belongs to the bundle must not be packed.
    #[error("failed to pack `{file}`: {why}")]
    Refused {
        /// Name of the file, truncated.
        file: Printable,
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
    #[error("bundle `{}` is too large: its files have more than {} together", .0.display(), Bytes(MAX_BUNDLE_BYTES))]
    TooManyBytes(PathBuf),
    /// There are too many files.
    #[error("the bundle in `{}` has more than {MAX_ENTRIES} files", .0.display())]
    TooManyFiles(PathBuf),
    /// There are too many modules.
    #[error("the bundle in `{}` has more than {MAX_MODULES} modules", .0.display())]
    TooManyModules(PathBuf),
    /// The directory has too many files and directories to search.
    #[error("directory `{}` has more than {MAX_WALKED} files and directories to search", .0.display())]
    TooMuchToWalk(PathBuf),
    /// The files changed between opening and packing.
    #[error("failed to pack `{}`: its files changed meanwhile", .0.display())]
    Changed(PathBuf),
    /// The tar could not be written.
    #[error("failed to write the tar: {0}")]
    Write(#[source] io::Error),
}

impl BundleError {
    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoDefinition(_) => Some("put the definition into this file, and the modules next to it"),
            Self::Refused { why: EntryFault::Symlink, .. } => {
                Some("replace the link with a copy of its target: the target may be missing on other machines")
            }
            Self::Refused { .. } => Some(
                "rename this file, or leave it out of `plumbline.files` and `tests/`: bundles have only regular files",
            ),
            Self::Module { source, .. } => source.hint(),
            Self::Profile { source, .. } => Some(source.hint()),
            Self::TooMuchToWalk(_) => {
                Some("start the patterns of `plumbline.files` with a directory: `data/**/*.json`, not `**/*.json`")
            }
            Self::FileTooLarge { .. } | Self::TooManyBytes(_) | Self::TooManyFiles(_) => {
                Some("put large or many files into the plugin's container image")
            }
            Self::Changed(_) => Some("try again when no other process writes to this directory"),
            Self::Read { .. } => Some("check that the file exists and that you can read it"),
            Self::Definition { .. } | Self::Pattern { .. } => Some("see docs/definition.md for all keys"),
            Self::TooManyModules(_) => Some("remove modules that the plugin does not use"),
            Self::Write(_) => None,
        }
    }

    /// Returns whether the cause is this machine, not the content of the directory.
    pub fn is_systems(&self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// Error while unpacking a tar. No files are left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The source could not be read. This says nothing about the tar.
    #[error("failed to read the tar: {0}")]
    Source(#[source] io::Error),
    /// The input is compressed. Bundles are not, because their digest would depend on the
    /// compressor.
    #[error("it is compressed ({0}): expected a plain tar")]
    Compressed(&'static str),
    /// The input is not a tar.
    #[error("it is not a tar")]
    NotATar,
    /// The tar is truncated.
    #[error("it ends early, after {0} whole files")]
    Truncated(u64),
    /// The tar is malformed after some files.
    #[error("it is damaged after {0} whole files")]
    Damaged(u64),
    /// Bytes follow the end of the tar.
    #[error("it has bytes after its end")]
    Trailing,
    /// The tar has too many files.
    #[error("it has more than {MAX_ENTRIES} files")]
    TooManyEntries,
    /// The total size of its files is too large.
    #[error("its files have more than {} together", Bytes(MAX_BUNDLE_BYTES))]
    TooManyBytes,
    /// One of its files is too large.
    #[error("file `{entry}` in it has {}: more than {}", Bytes(*.bytes), Bytes(MAX_ENTRY_BYTES))]
    EntryTooLarge {
        /// Name of the file, truncated.
        entry: Printable,
        /// Size in the header.
        bytes: u64,
    },
    /// An entry cannot be part of a bundle. The whole tar is rejected, because its other entries
    /// are not trustworthy either.
    #[error("entry `{entry}` is not allowed: {why}")]
    Refused {
        /// Name of the entry, truncated.
        entry: Printable,
        /// What is wrong with the entry.
        why: EntryFault,
    },
    /// The tar has no definition.
    #[error("it has no `plugin.yaml`")]
    NoDefinition,
    /// The definition is invalid.
    #[error("invalid definition: {0}")]
    Definition(#[source] DefinitionError),
    /// The profile is invalid.
    #[error("invalid profile: {0}")]
    Profile(#[source] ProfileError),
    /// A pattern of the definition is not a glob.
    #[error("invalid definition: `plumbline.files`: {0}")]
    Pattern(String),
    /// The digest is not the expected one.
    #[error("wrong digest {actual}: expected {expected}")]
    Digest {
        /// The expected digest.
        expected: Digest,
        /// The actual digest.
        actual: Digest,
    },
    /// The target already exists.
    #[error("`{}` already exists", .0.display())]
    Exists(PathBuf),
    /// A file or directory could not be written.
    #[error("failed to write `{}`: {source}", path.display())]
    Write {
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
}

impl UnpackError {
    /// Returns a hint with the fix, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Definition(_) | Self::Pattern(_) => Some("correct the definition, and pack the bundle again"),
            Self::Profile(_) => Some("correct the profile, and pack the bundle again"),
            Self::Exists(_) => Some("choose another directory, or remove this one"),
            Self::Compressed("zip") => Some("unpack it, and pack the directory: `plumbline plugin pack DIR`"),
            Self::Compressed(_) => Some("decompress it first, for example with `gunzip`"),
            Self::Truncated(_) | Self::Damaged(_) => Some("download or copy it again"),
            Self::Digest { .. } => {
                Some("download it again; if the digest is still wrong, do not use the bundle: someone changed it")
            }
            Self::NotATar | Self::Trailing | Self::NoDefinition | Self::Refused { .. } => Some(
                "write bundles with `plumbline plugin pack DIR`; to convert a tar of another tool, unpack it, check its files, and pack the directory",
            ),
            Self::TooManyEntries | Self::TooManyBytes | Self::EntryTooLarge { .. } => {
                Some("put large or many files into the plugin's container image")
            }
            _ => None,
        }
    }

    /// Returns whether the cause is this machine or the source, not the tar.
    pub fn is_systems(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Write { .. })
    }
}

/// A suspicious property of a bundle that does not make it unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleWarning {
    /// A warning about the definition.
    #[error("{0}")]
    Definition(Warning),
    /// Two files whose names differ only in case.
    #[error(
        "`{0}` and `{1}` differ only in case: on some systems they are one file, and the bundle cannot be unpacked"
    )]
    Case(String, String),
    /// A module whose file name cannot be used in a definition.
    #[error("definitions cannot refer to module `{0}`: use lower-case letters, digits, `-`, `_` and `.`")]
    ModuleName(String),
    /// A pattern of `plumbline.files` that matches no file.
    #[error("pattern `{0}` of `plumbline.files` matches no file: for all files of a directory, write `DIR/**`")]
    Idle(String),
    /// The file that the definition executes does not exist.
    #[error("the command `{0}` is not in the bundle")]
    NoCommand(String),
    /// The file that the definition executes is not executable.
    #[error("the command `{0}` is not executable: run `chmod +x` on it")]
    NotExecutable(String),
    /// The check that the definition runs is not in the bundle.
    #[error("the check `{0}` is not in the bundle")]
    NoCheck(String),
    /// An argument of the command is the name of a file that is not packed.
    #[error("the command's argument `{0}` is a file that is not packed: list it under `plumbline.files`")]
    NotPacked(String),
    /// There are more than [`MAX_WARNINGS`](crate::limits::MAX_WARNINGS) warnings.
    #[error("more warnings are not shown")]
    More,
}
