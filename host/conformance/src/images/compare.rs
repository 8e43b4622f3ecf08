//! Comparison of an image in a registry with its source.

use plumbline_registry::{Cause, Client, Digest, Manifest, RawManifest, Reference, RegistryError, Storage};

use super::transfer::Source;

/// State of an image in a registry.
#[derive(Debug)]
pub enum State {
    /// The image exists and is the same, or the same for one platform.
    Same(Digest),
    /// The image exists, but its source is not known or not available.
    There(Digest, Option<RegistryError>),
    /// The image does not exist.
    Missing,
    /// The image exists but differs from its source.
    Differs {
        /// Digest in the registry.
        there: Digest,
        /// Expected digest.
        wanted: Digest,
    },
    /// The registry returned an error.
    Unknown(RegistryError),
}

/// Reads `target` from the registry and compares it with the image at `from`.
pub async fn compare(client: &Client, from: Option<&Source>, target: &Reference) -> State {
    let there = match client.manifest(target).await {
        Ok(there) => there,
        Err(error) if error.is_not_found() => return State::Missing,
        Err(error) => return State::Unknown(error),
    };
    let wanted = match from {
        None => return State::There(there.digest, None),
        Some(Source::Registry(reference)) => client.manifest(reference).await,
        Some(Source::Layout(layout, descriptor)) => Storage::Layout(layout.clone()).manifest(descriptor).await,
    };
    match wanted {
        Err(error) => State::There(there.digest, Some(error)),
        Ok(wanted) if is_same(&there, &wanted) => State::Same(there.digest),
        Ok(wanted) => State::Differs { there: there.digest, wanted: wanted.digest },
    }
}

/// Returns whether both are identical, or `there` is one of the platforms of `wanted`. The latter
/// is the result of a copy for one platform.
fn is_same(there: &RawManifest, wanted: &RawManifest) -> bool {
    there.digest == wanted.digest
        || matches!(&wanted.manifest, Manifest::Index(index) if index.manifests.iter().any(|one| one.digest == there.digest))
}

impl State {
    /// Returns whether an error means that the registry is unreachable. In that case, further
    /// requests for other images only take time.
    #[must_use]
    pub fn is_out_of_reach(error: &RegistryError) -> bool {
        matches!(*error.cause, Cause::Connection(_) | Cause::Slow(_))
    }
}
