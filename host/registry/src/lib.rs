//! Speaks to OCI registries, and reads and writes OCI image layouts on disk: manifests, blobs and referrers, everything bounded and checked
//! against its digest. Knows nothing of plugins.
#![forbid(unsafe_code)]
