//! Storage of the run's CA, so that the workers of the run still trust a restarted aggregator.

use crate::dispatcher::{BoxFuture, DispatchError};
use crate::workdir::{WorkDir, WorkDirError};

/// Stores one secret: certificate and private key of the run's CA, as PEM.
pub trait Vault: Send + Sync {
    /// Returns the stored secret, if there is one.
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>>;

    /// Stores the secret. When it returns, [`Vault::load`] returns the secret, even in another
    /// process.
    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>>;
}

/// Stores the secret in a file in the working directory, readable only by its owner.
impl Vault for WorkDir {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>> {
        Box::pin(async { self.authority().map_err(told) })
    }

    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(async move { self.store_ca(pem).map_err(told) })
    }
}

fn told(error: WorkDirError) -> DispatchError {
    DispatchError::new(error.to_string())
}
