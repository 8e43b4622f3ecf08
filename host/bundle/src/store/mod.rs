//! Bundles that the user has installed.

mod directory;
mod error;

pub use directory::{Entry, InstallRecord, Installed, Origin, Store};
pub use error::StoreError;
