//! The server that receives results: mutual TLS, routes, and concurrent uploads.

mod listener;
mod receive;
mod response;
mod router;
mod store;

pub use listener::{Server, ServerError};
pub use store::Store;
pub(crate) use store::{StoreError, count_files};
