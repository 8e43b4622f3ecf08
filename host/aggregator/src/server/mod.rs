//! The server that receives results: mutual TLS, routes, and concurrent uploads.

mod budget;
mod listener;
mod receive;
mod router;
mod store;

pub(crate) use budget::count_files;
pub use listener::{Server, ServerError};
pub use store::Store;
pub(crate) use store::StoreError;
