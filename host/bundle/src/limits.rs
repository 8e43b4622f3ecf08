//! How large a bundle may be: when it is packed as when it is unpacked, so that nobody packs what nobody takes.

/// Bytes of all files together: 256 MiB. A bundle with modules in four languages has about 40 MiB; the rest are test results.
pub const MAX_BUNDLE_BYTES: u64 = 256 << 20;

/// Bytes of one file: 64 MiB, as much as the largest component that is compiled. A file is held in memory while it is packed.
pub const MAX_ENTRY_BYTES: u64 = 64 << 20;

/// Files: 4,096. Golden cases have a few files each.
pub const MAX_ENTRIES: u64 = 4_096;

/// Bytes of a file's name with its directories: 240. The tar format has room for 255 without extensions.
pub const MAX_PATH_BYTES: usize = 240;

/// Names in a path: 16. The deepest golden case has about 8.
pub const MAX_DEPTH: usize = 16;

/// Modules: 64, as many as the aggregator looks at.
pub const MAX_MODULES: usize = 64;

/// Files and directories that are looked at to find those of a bundle: 100,000. A pattern such as `**/*.json` in a directory with the
/// dependencies of a project meets more.
pub const MAX_WALKED: u64 = 100_000;

/// Warnings that are kept of one bundle.
pub const MAX_WARNINGS: usize = 100;

/// Bytes of all signatures of one bundle: 1 MiB. One has about 1 KiB.
pub const MAX_SIGNATURE_BYTES: u64 = 1 << 20;
