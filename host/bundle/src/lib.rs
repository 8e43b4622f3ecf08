//! Bundles: a plugin's definition with its modules and other files.
//!
//! This crate reads bundles from a directory, packs them as a deterministic tar, and unpacks
//! untrusted tars. It installs bundles under the user's data directory, and locks sets of them by
//! digest.
//!
//! | what | where |
//! |---|---|
//! | a bundle in a directory, and its digest | [`Bundle`], [`Digest`] |
//! | the tar | [`Bundle::pack`], [`unpack`], [`unpack_verified`] |
//! | installed bundles | [`Store`] |
//! | bundles of single runs | [`Cache`] |
//! | definitions that Sonobuoy installed | [`SonobuoyCache`] |
//! | a set of plugins, by digest | [`Lock`] |
//! | `profile.yaml`, and the definition that its options make | [`profile`] |
//!
//! All functions block, so call them from threads that may block. They neither run nor compile
//! modules, and they do not use the network.
#![forbid(unsafe_code)]

pub mod built_in;
mod bundle;
mod cache;
mod error;
pub mod limits;
mod lock;
#[cfg(test)]
mod messages;
mod name;
pub mod profile;
mod selection;
pub mod signing;
mod sonobuoy;
mod store;
mod unpack;
mod ustar;
mod walk;

pub use bundle::{Bundle, BundleFile, ModuleFile};
pub use cache::{Cache, CacheError, user_dir};
pub use error::{BundleError, BundleWarning, UnpackError};
pub use lock::{LOCK_FILE, Lock, LockError, LockMismatch, LockedModule, LockedPlugin, Subject};
pub use name::EntryFault;
pub use plumbline_core::{Digest, DigestError};
pub use selection::DEFINITION_FILES;
pub use sonobuoy::{SonobuoyCache, SonobuoyError};
pub use store::{Entry, InstallRecord, Installed, Origin, Store, StoreError};
pub use unpack::{unpack, unpack_verified};
pub use ustar::Packed;
