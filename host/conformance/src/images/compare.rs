//! Whether a registry has an image, and the same one.

use plumbline_registry::{Cause, Client, Digest, Manifest, Place, RawManifest, Reference, RegistryError};

use super::transfer::From;

/// What was found.
#[derive(Debug)]
pub enum State {
    /// It is there, and the same; or of several platforms the image of one is.
    Same(Digest),
    /// It is there; with what it should be compared is not known, or cannot be asked.
    There(Digest, Option<RegistryError>),
    /// It is not there.
    Missing,
    /// Another image is there.
    Differs {
        /// What is there.
        there: Digest,
        /// What should be.
        wanted: Digest,
    },
    /// The registry did not say.
    Unknown(RegistryError),
}

/// Looks at `target`, and compares with what is at `from`.
pub async fn compare(client: &Client, from: Option<&From>, target: &Reference) -> State {
    let there = match client.manifest(target).await {
        Ok(there) => there,
        Err(error) if error.is_not_found() => return State::Missing,
        Err(error) => return State::Unknown(error),
    };
    let wanted = match from {
        None => return State::There(there.digest, None),
        Some(From::Registry(reference)) => client.manifest(reference).await,
        Some(From::Layout(layout, descriptor)) => Place::Layout(layout.clone()).manifest(descriptor).await,
    };
    match wanted {
        Err(error) => State::There(there.digest, Some(error)),
        Ok(wanted) if is_same(&there, &wanted) => State::Same(there.digest),
        Ok(wanted) => State::Differs { there: there.digest, wanted: wanted.digest },
    }
}

/// The same in every byte, or one of the platforms of what is wanted: that is what is left when one was chosen.
fn is_same(there: &RawManifest, wanted: &RawManifest) -> bool {
    there.digest == wanted.digest
        || matches!(&wanted.manifest, Manifest::Index(index) if index.manifests.iter().any(|one| one.digest == there.digest))
}

impl State {
    /// Whether an error says that the registry is out of reach: asking it again for the next image only takes time.
    #[must_use]
    pub fn is_out_of_reach(error: &RegistryError) -> bool {
        matches!(*error.cause, Cause::Connection(_) | Cause::Slow(_))
    }
}
