//! Bundles: a plugin's definition with its modules and what belongs to them. Reads them from a directory, packs them as a deterministic tar,
//! unpacks what strangers packed, installs them under the user's data directory, and locks sets of them by digest.
#![forbid(unsafe_code)]
