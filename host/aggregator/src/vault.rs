//! Where the authority of a run is kept, so that a restarted aggregator is still trusted by the workers of the run.

use crate::dispatcher::{BoxFuture, DispatchError};
use crate::workdir::{WorkDir, WorkDirError};

/// Keeps one secret text: certificate and key of the run's authority, as PEM.
pub trait Vault: Send + Sync {
    /// The text that was kept, if one was.
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>>;

    /// Keeps it. When this returns, a later [`Vault::load`] gives it, also from another process.
    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>>;
}

/// A file in the directory of the run, for its owner only.
impl Vault for WorkDir {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>> {
        Box::pin(async { self.authority().map_err(told) })
    }

    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(async move { self.keep_authority(pem).map_err(told) })
    }
}

fn told(error: WorkDirError) -> DispatchError {
    DispatchError::new(error.to_string())
}
