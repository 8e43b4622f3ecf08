//! Size limits of bundles. They are the same for packing and for unpacking, so that every packed
//! bundle can be unpacked.

/// Maximum size of all files of a bundle: 256 MiB. A bundle with modules in four languages has
/// about 40 MiB. The remainder is room for test results.
pub const MAX_BUNDLE_BYTES: u64 = 256 << 20;

/// Maximum size of one file: 64 MiB, as much as the largest component that is compiled. Packing
/// holds a file in memory.
pub const MAX_ENTRY_BYTES: u64 = 64 << 20;

/// Maximum number of files: 4,096. Golden cases have a few files each.
pub const MAX_ENTRIES: u64 = 4_096;

/// Maximum length of a file name with its directories, in bytes: 240. The tar format has room for
/// 255 without extensions.
pub const MAX_PATH_BYTES: usize = 240;

/// Maximum number of components of a path: 16. The deepest golden case has about 8.
pub const MAX_DEPTH: usize = 16;

/// Maximum number of modules: 64, as many as the aggregator inspects.
pub const MAX_MODULES: usize = 64;

/// Maximum number of files and directories to search for the files of a bundle: 100,000. A pattern
/// such as `**/*.json` exceeds it in a directory that contains a project's dependencies.
pub const MAX_WALKED: u64 = 100_000;

/// Maximum number of warnings to keep for one bundle.
pub const MAX_WARNINGS: usize = 100;

/// Maximum size of all signatures of one bundle: 1 MiB. A signature has about 1 KiB.
pub const MAX_SIGNATURE_BYTES: u64 = 1 << 20;

/// Maximum size of a file of attestations, in bytes: 32 MiB. The attestation of a run lists its
/// tests by name.
pub const MAX_ENVELOPE_FILE: usize = 32 << 20;

/// Maximum number of attestations in one file. Users have few keys, and every signature costs
/// verifications.
pub const MAX_ENVELOPES: usize = 64;
