//! The server that receives results: mutual TLS, routes, and concurrent uploads.

mod budget;
mod heads;
mod identities;
mod incoming;
mod listener;
mod receive;
mod response;
mod router;
mod shares;
mod space;
mod store;

pub(crate) use budget::count_files;
pub use listener::{Server, ServerError};
pub use store::Store;
pub(crate) use store::StoreError;
