//! Limits for untrusted input.

/// Maximum size of a manifest or index. The OCI distribution specification asks registries to
/// accept at least this size, and most accept no more.
pub const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// Default maximum size of a blob, see [`crate::Settings::largest_blob`]. Image layers have a few
/// GiB at most.
pub const MAX_BLOB_BYTES: u64 = 8 << 30;
/// Maximum size of a configuration, which is read to memory. Images with a long history have some
/// 100 KiB.
pub const MAX_CONFIG_BYTES: u64 = 4 << 20;
/// Maximum total size of the download cache: 1 GiB, enough for some dozens of bundles.
pub(crate) const MAX_CACHE_BYTES: u64 = 1 << 30;
/// Maximum number of files in the download cache. A bundle has three.
pub(crate) const MAX_CACHE_FILES: usize = 1024;
/// Maximum number of layers of an image. Overlay file systems support 127.
pub(crate) const MAX_LAYERS: usize = 512;
/// Maximum size of all layers of an image that is searched: 32 GiB. They are downloaded as they are
/// needed, and images with machine learning libraries have up to 20 GiB.
pub(crate) const MAX_IMAGE_BYTES: u64 = 32 << 30;
/// Maximum number of entries in a layer that is searched. A whole distribution has some 100,000.
pub(crate) const MAX_LAYER_ENTRIES: usize = 2_000_000;
/// Maximum uncompressed size of a layer that is searched, in bytes.
pub(crate) const MAX_LAYER_BYTES: u64 = 64 << 30;
/// Maximum number of uncompressed bytes of all layers that are searched for one file: 128 GiB. Layers
/// are searched again for each link on the way.
pub(crate) const MAX_SEARCHED_BYTES: u64 = 128 << 30;
/// Maximum size of a file that is extracted from an image. The program of the test suite has 150 to
/// 250 MiB.
pub(crate) const MAX_FILE_BYTES: u64 = 2 << 30;
/// Maximum size of an extended tar header with a long name or additional fields.
pub(crate) const MAX_EXTENSION_BYTES: u64 = 1 << 20;
/// Maximum number of links to follow to a file, as in Linux.
pub(crate) const MAX_LINKS: usize = 40;
/// Maximum number of entries in an index. A list of referrers grows with every signature.
pub(crate) const MAX_INDEX_ENTRIES: usize = 4096;
/// Maximum depth of nested indexes. Useful indexes have two levels.
pub(crate) const MAX_DEPTH: usize = 4;
/// Maximum number of manifests in one copy, including referrers.
pub(crate) const MAX_MANIFESTS: usize = 4096;
/// Maximum total size of the manifests below the root of one copy, which are in memory together:
/// 64 MiB. A manifest that several indexes list counts each time.
pub(crate) const MAX_TREE_BYTES: u64 = 64 << 20;
/// Maximum size of all blobs in one copy, including those of referrers: 128 GiB.
pub(crate) const MAX_COPY_BYTES: u64 = 128 << 30;
/// Maximum number of pages of a list of referrers or tags.
pub(crate) const MAX_PAGES: usize = 64;
/// Maximum number of redirects for one request.
pub(crate) const MAX_REDIRECTS: usize = 5;
/// Maximum size of a token server's response or of an error response. Both have a few hundred
/// bytes.
pub(crate) const MAX_TOKEN_BYTES: u64 = 256 << 10;
/// Maximum length of a server's message in an error, in characters.
pub(crate) const MAX_MESSAGE_CHARS: usize = 300;
/// Maximum size of a credential file.
pub(crate) const MAX_CREDENTIAL_FILE_BYTES: u64 = 1 << 20;
/// Maximum size of a credential helper's output.
pub(crate) const MAX_HELPER_BYTES: u64 = 64 << 10;
/// Maximum size of a file with CA certificates. All public CAs together have some 300 KiB.
pub(crate) const MAX_AUTHORITIES_BYTES: u64 = 8 << 20;
/// Maximum number of files in a layout's archive.
pub(crate) const MAX_ARCHIVE_ENTRIES: usize = 20_000;
/// Maximum total size of the blobs in a layout's archive.
pub(crate) const MAX_ARCHIVE_BYTES: u64 = 64 << 30;
/// Minimum rate of a download. A slower one is aborted, because timeouts between two chunks do not
/// detect a server that sends a trickle of bytes.
pub(crate) const SLOWEST_BYTES_PER_SECOND: u64 = 4 << 10;
