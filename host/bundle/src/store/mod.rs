//! Bundles that the user has installed.

mod directory;
mod error;
mod guard;
mod record;
mod swap;

pub use directory::{Entry, Installed, Store};
pub use error::StoreError;
pub use record::{InstallRecord, Origin};
