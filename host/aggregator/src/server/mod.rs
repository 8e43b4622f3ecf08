//! The server that receives results: mutual TLS, routes, and concurrent uploads.

mod answer;
mod budget;
mod files;
mod handshakes;
mod listener;
mod receive;
mod router;
mod shares;
mod store;

pub use listener::{Server, ServerError};
pub use store::Store;
