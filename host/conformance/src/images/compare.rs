//! Whether a registry has an image, and the same one.

use std::time::Duration;

use plumbline_registry::{Cause, Client, Digest, Manifest, Place, RawManifest, Reference, RegistryError};

use super::transfer::Source;

/// How long a registry is asked before a run begins: what it would tell is of use, and no more.
const TAG_PATIENCE: Duration = Duration::from_secs(15);

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

/// Whether an image can be had before something begins that needs it.
#[derive(Debug)]
pub enum Tag {
    /// It is there.
    There(Digest),
    /// It is not there: the tag, or all of that name.
    Missing(RegistryError),
    /// That cannot be found out here; a cluster may see more. Why, for people.
    Unknown(String),
}

/// Looks whether an image is there. `image` is named as in a definition.
pub async fn tag(client: &Client, image: &str) -> Tag {
    let reference = match Reference::of_image(image) {
        Ok(reference) => reference,
        Err(error) => return Tag::Unknown(error.to_string()),
    };
    match tokio::time::timeout(TAG_PATIENCE, client.manifest(&reference)).await {
        Ok(Ok(found)) => Tag::There(found.digest),
        Ok(Err(error)) if error.is_not_found() => Tag::Missing(error),
        Ok(Err(error)) => Tag::Unknown(format!("failed to {}: {}", error.what, error.cause)),
        Err(_) => {
            Tag::Unknown(format!("`{}` did not answer within {} s", reference.registry(), TAG_PATIENCE.as_secs()))
        }
    }
}

/// Looks at `target`, and compares with what is at `from`.
pub async fn compare(client: &Client, from: Option<&Source>, target: &Reference) -> State {
    let there = match client.manifest(target).await {
        Ok(there) => there,
        Err(error) if error.is_not_found() => return State::Missing,
        Err(error) => return State::Unknown(error),
    };
    let wanted = match from {
        None => return State::There(there.digest, None),
        Some(Source::Registry(reference)) => client.manifest(reference).await,
        Some(Source::Layout(layout, descriptor)) => Place::Layout(layout.clone()).manifest(descriptor).await,
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
