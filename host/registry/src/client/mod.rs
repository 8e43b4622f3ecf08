//! Client for registries (OCI distribution specification).

mod answer;
mod auth;
mod blobs;
mod manifests;
mod referrers;
mod retry;
mod roots;
mod session;
mod upload;

pub(crate) use referrers::fallback_tag;
pub(crate) use upload::describe;

pub use blobs::TempBlob;
pub use manifests::Put;
pub use session::Client;
