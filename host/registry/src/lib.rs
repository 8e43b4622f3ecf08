//! Client for OCI registries, and access to OCI image layouts on disk.
//!
//! It reads and writes manifests, blobs and referrers. All input has size limits and is verified
//! against its digest. The crate does not depend on plugins. One module on top of the client
//! defines the artifact format of bundles.
//!
//! The most important types are [`Client`], [`Reference`], [`Layout`] and [`Image`].
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use plumbline_registry::{Client, Reference, Settings, pull};
//!
//! let client = Client::new(Settings::from_environment(|name| std::env::var_os(name)))?;
//! let reference: Reference = "oci://registry.example.com/team/check:1.2".parse()?;
//! let pulled = pull(&client, &reference).await?;
//! println!("`{reference}` is {}", pulled.resolved());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod artifact;
mod cache;
pub mod challenge;
mod client;
mod copy;
mod credentials;
mod error;
mod image;
mod layout;
mod limits;
mod manifest;
pub mod media;
#[cfg(test)]
mod messages;
mod reference;
mod results;
mod settings;
mod storage;

pub use artifact::{
    BundleConfig, BundleModule, Component, Kind, Pulled, Pushed, pull, push_bundle, push_module, unwrap_entry,
};
pub use client::Client;
pub use copy::{Copied, Progress, copy, copy_image, load, save};
pub use credentials::CredentialFiles;
pub use error::{Cause, CredentialError, RegistryError};
pub use image::{Image, ImageName, Layer, LayerBuilder, NewLayer, Platform, list_image};
pub use layout::{Entry, Layout, OpenedLayout, open as open_layout, write_archive};
pub use limits::{MAX_BLOB_BYTES, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES};
pub use manifest::{Descriptor, ImageManifest, Index, Manifest, RawManifest};
pub use plumbline_core::{Digest, DigestError};
pub use reference::{Reference, ReferenceError, SCHEME, full_image_name};
pub use results::{PulledResults, ResultsArtifact, StoredResults, list_results, pull_results};
pub use settings::{CA_VARIABLE, INSECURE_VARIABLE, MIRRORS_VARIABLE, Settings, TOKEN_SERVERS_VARIABLE, Timeouts};
pub use storage::Storage;
