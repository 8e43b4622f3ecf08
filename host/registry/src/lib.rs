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
pub mod challenge;
mod check;
mod client;
mod copy;
mod credentials;
mod digest;
mod error;
mod image;
mod kept;
mod layout;
mod limits;
mod manifest;
pub mod media;
mod mirror;
mod place;
mod reference;
mod settings;
mod token_server;
mod turns;

pub use artifact::{
    BundleConfig, BundleModule, Component, Kind, ModuleFields, Pulled, Pushed, pull, push_bundle, push_module,
    unwrap_entry,
};
pub use client::{Client, Put, TempBlob};
pub use copy::{Copied, Progress, copy, copy_image, load, save};
pub use credentials::{CredentialError, CredentialFiles, Credentials, Secret};
pub use digest::{Digest, DigestError, DigestWriter};
pub use error::{Cause, RegistryError, ServerMessage};
pub use image::{Image, ImageName, Layer, LayerBuilder, NewLayer, Platform, list_image};
pub use layout::{Entry, Layout, OpenedLayout, open as open_layout, write_archive};
pub use limits::{MAX_BLOB_BYTES, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES};
pub use manifest::{Descriptor, ImageManifest, Index, Manifest, RawManifest};
pub use mirror::MIRRORS_VARIABLE;
pub use place::Storage;
pub use reference::{Reference, ReferenceError, SCHEME};
pub use settings::{CA_VARIABLE, INSECURE_VARIABLE, Settings, Timeouts};
pub use token_server::TOKEN_SERVERS_VARIABLE;
