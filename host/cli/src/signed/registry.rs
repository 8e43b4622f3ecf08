//! Signatures in a registry: each an artefact of its own that belongs to the bundle's manifest.

use plumbline_registry::{
    Client, Digest, Manifest, Pulled, Reference, ReferenceError, RegistryError, Settings, media, pull,
};
use plumbline_signing::{Envelope, MAX_ENVELOPES, parse_envelopes};
use tokio::runtime::Runtime;

use crate::error::CliError;
use crate::ui::say;

/// A way to registries, for code that waits.
#[derive(Debug)]
pub(crate) struct Registry {
    client: Client,
    runtime: Runtime,
}

impl Registry {
    /// With the settings that the environment has (docs/registries.md).
    pub(crate) fn connect() -> Result<Self, CliError> {
        let runtime =
            Runtime::new().map_err(|error| CliError::system("the registry cannot be asked").because(&error))?;
        let settings = Settings::from_environment(|name| std::env::var_os(name));
        let client = Client::new(settings).map_err(|error| told(&error))?;
        Ok(Self { client, runtime })
    }

    /// The reference in `text`, and the signatures of the bundle that it names.
    pub(crate) fn signatures_at(&self, text: &str) -> Result<(Reference, Vec<Envelope>), CliError> {
        let reference = parsed(text)?;
        let signatures = async {
            let root = self.client.manifest(&reference).await.map_err(|error| told(&error))?;
            let subject = match root.manifest {
                Manifest::Image(_) => root.digest,
                // The bundle in it is what has signatures, and which one that is, pulling finds out.
                Manifest::Index(_) => pull(&self.client, &reference).await.map_err(|error| told(&error))?.manifest,
            };
            signatures_of(&self.client, &reference, subject).await
        };
        let envelopes = self.runtime.block_on(Box::pin(signatures))?;
        Ok((reference, envelopes))
    }

    /// Brings an artefact here.
    pub(crate) fn pull(&self, reference: &Reference) -> Result<Pulled, CliError> {
        self.runtime.block_on(Box::pin(pull(&self.client, reference))).map_err(|error| told(&error))
    }

    /// The signatures of the manifest `subject`.
    pub(crate) fn signatures_of(&self, reference: &Reference, subject: Digest) -> Result<Vec<Envelope>, CliError> {
        self.runtime.block_on(Box::pin(signatures_of(&self.client, reference, subject)))
    }

    /// Adds a signature to the manifest `subject`.
    pub(crate) fn attach(&self, reference: &Reference, subject: Digest, envelope: &Envelope) -> Result<(), CliError> {
        self.runtime.block_on(Box::pin(attach(&self.client, reference, subject, envelope))).map(drop)
    }
}

/// The signatures of the manifest `subject` in the repository of `reference`. Artefacts of other kinds are passed over, and so are those
/// that cannot be read: whoever may write to the repository can add anything, and that is no reason to refuse what is good.
pub(crate) async fn signatures_of(
    client: &Client,
    reference: &Reference,
    subject: Digest,
) -> Result<Vec<Envelope>, CliError> {
    let referrers = client.referrers(reference, subject, Some(media::DSSE)).await.map_err(|error| told(&error))?;
    if referrers.len() > MAX_ENVELOPES {
        say(&format!(
            "warning: `{reference}` has {} signatures, of which the last {MAX_ENVELOPES} are looked at",
            referrers.len()
        ));
    }
    let mut envelopes = Vec::new();
    // New ones are added at the end.
    for referrer in referrers.iter().rev().take(MAX_ENVELOPES) {
        match read(client, &reference.by_digest(referrer.digest)).await {
            Ok(read) => envelopes.extend(read),
            Err(why) => say(&format!("warning: signature {} of `{reference}` is passed over: {why}", referrer.digest)),
        }
    }
    // Each costs verifications, and an artefact of others may hold many.
    envelopes.truncate(MAX_ENVELOPES);
    Ok(envelopes)
}

async fn read(client: &Client, referrer: &Reference) -> Result<Vec<Envelope>, String> {
    let shown = |error: RegistryError| format!("failed to {error}: {}", error.cause);
    let manifest = client.manifest(referrer).await.map_err(shown)?;
    let Manifest::Image(image) = manifest.manifest else { return Err("it is an index".to_owned()) };
    let layer = image.layers.iter().find(|layer| layer.media_type == media::DSSE);
    let layer = layer.ok_or_else(|| format!("it has no content of type `{}`", media::DSSE))?;
    let text = client.small_blob(referrer, layer).await.map_err(shown)?;
    parse_envelopes(&text).map_err(|error| error.to_string())
}

/// Adds a signature to the manifest `subject` in the repository of `reference`; the digest of the artefact that holds it.
pub(crate) async fn attach(
    client: &Client,
    reference: &Reference,
    subject: Digest,
    envelope: &Envelope,
) -> Result<Digest, CliError> {
    let content = envelope.to_json().into_bytes().into();
    client.attach(reference, subject, media::DSSE, content).await.map_err(|error| told(&error))
}

/// The reference that somebody wrote.
pub(crate) fn parsed(text: &str) -> Result<Reference, CliError> {
    text.parse().map_err(|error: ReferenceError| {
        CliError::usage(format!("`{text}` is no reference"))
            .because(&error)
            .hint("one looks like `oci://registry.example/team/tap:1.2`")
    })
}

/// What a registry did not do.
pub(crate) fn told(error: &RegistryError) -> CliError {
    let what = format!("failed to {error}");
    let told = if error.is_usage() { CliError::usage(what) } else { CliError::system(what) };
    let told = told.because(&*error.cause);
    match error.hint() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
