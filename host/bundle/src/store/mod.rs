//! Bundles that the user has installed.

mod error;
mod guard;
mod record;
mod store;
mod swap;

pub use error::StoreError;
pub use record::{InstallRecord, Origin};
pub use store::{Entry, Installed, Store};
