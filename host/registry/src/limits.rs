//! How much is believed, whoever says it.

/// The largest manifest or index: what the OCI distribution specification asks registries to take at least, and what most take at most.
pub const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// The largest blob that is taken unless [`crate::Settings::largest_blob`] says otherwise: layers of images have a few GiB at most.
pub const MAX_BLOB_BYTES: u64 = 8 << 30;
/// The largest configuration that is read into memory. Those of images with long histories have some 100 KiB.
pub const MAX_CONFIG_BYTES: u64 = 4 << 20;
/// Bytes of contents that are kept to be used again, 1 GiB: some dozens of bundles.
pub(crate) const MAX_KEPT_BYTES: u64 = 1 << 30;
/// Files that are kept: a bundle has three.
pub(crate) const MAX_KEPT: usize = 1024;
/// Layers of one image: what overlay file systems take is 127.
pub(crate) const MAX_LAYERS: usize = 512;
/// Entries of one layer that is searched: a whole distribution has some 100,000.
pub(crate) const MAX_LAYER_ENTRIES: usize = 2_000_000;
/// Bytes of one layer, unpacked, while it is searched.
pub(crate) const MAX_LAYER_BYTES: u64 = 64 << 30;
/// The largest file that is taken out of an image: the suite's program has 150 to 250 MiB.
pub(crate) const MAX_FILE_BYTES: u64 = 2 << 30;
/// A header that only carries a long name or further fields for the entry after it.
pub(crate) const MAX_EXTENSION_BYTES: u64 = 1 << 20;
/// Links that are followed on the way to a file: what Linux follows.
pub(crate) const MAX_LINKS: usize = 40;
/// Entries of one index. A list of referrers grows with every signature.
pub(crate) const MAX_INDEX_ENTRIES: usize = 4096;
/// How deep indexes may name indexes: what is of use has two.
pub(crate) const MAX_DEPTH: usize = 4;
/// Manifests that one copy takes along, referrers included.
pub(crate) const MAX_MANIFESTS: usize = 4096;
/// Pages of a list of referrers.
pub(crate) const MAX_PAGES: usize = 64;
/// Redirects that one request follows.
pub(crate) const MAX_REDIRECTS: usize = 5;
/// The answer of a token server, a page of an error: both are a few hundred bytes.
pub(crate) const MAX_TOKEN_BYTES: u64 = 256 << 10;
/// What of a registry's own words is told in an error.
pub(crate) const MAX_TOLD_CHARS: usize = 300;
/// A file of credentials.
pub(crate) const MAX_CREDENTIAL_FILE_BYTES: u64 = 1 << 20;
/// What a credential helper may print.
pub(crate) const MAX_HELPER_BYTES: u64 = 64 << 10;
/// A file of certificates: all authorities of the world have some 300 KiB.
pub(crate) const MAX_AUTHORITIES_BYTES: u64 = 8 << 20;
/// Files of a layout's archive.
pub(crate) const MAX_ARCHIVE_ENTRIES: usize = 20_000;
/// Bytes of a layout's archive, unpacked.
pub(crate) const MAX_ARCHIVE_BYTES: u64 = 64 << 30;
/// Below this rate a download is given up: a server that drips keeps a connection alive for ever, and no timeout between two bytes sees it.
pub(crate) const SLOWEST_BYTES_PER_SECOND: u64 = 4 << 10;
