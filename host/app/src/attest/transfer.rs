//! Pushes archives with their attestations to registries, and pulls them.

use std::io;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::finished::is_archive_name;
use plumbline_archive::results::ResultsArchive;
use plumbline_bundle::limits::MAX_ENVELOPE_FILE;
use plumbline_bundle::signing::{Attestation, SignatureFile};
use plumbline_core::Digest;
use plumbline_registry::{Client, Reference, Settings, pull_results};

use crate::attest::Archive;
use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::signing::readable;
use crate::sources::registry;

const MAX_ARCHIVE: u64 = 64 << 30;

/// An archive that was pushed.
#[derive(Debug)]
pub struct PushedArchive {
    /// The reference with the digest of the manifest.
    pub reference: Reference,
    /// The digest of the archive.
    pub archive: Digest,
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The number of attestations that were attached.
    pub attestations: usize,
}

/// Pushes the archive at `path` to the reference `to`, and attaches the attestations next to it.
pub fn push(context: &Context, to: &str, path: &Path) -> Result<PushedArchive, AppError> {
    let to = registry::reference(to)?;
    let archive = Archive::open(path)?;
    // Only archives that can be read are pushed.
    ResultsArchive::open(path)
        .usage_error(format_args!("failed to read archive `{}`", path.display()))
        .hint("pass the archive (`.tar.gz`) that a run has written")?;
    let attestations = SignatureFile::next_to(path).read()?;
    // The manifest that was signed has the name that the archive had then.
    let name = signed_name(&attestations, archive.digest).unwrap_or_else(|| archive.name.clone());
    let artifact = archive.artifact(&name)?;
    let client = client(context)?;
    registry::wait(async {
        artifact.push(&client, &to, path).await?;
        registry::attach(&client, &to, artifact.digest(), &attestations).await
    })?;
    let reference = to.with_tag(to.tag_or_default()).map_or(to, |to| to.with_digest(artifact.digest()));
    Ok(PushedArchive {
        reference,
        archive: archive.digest,
        manifest: artifact.digest(),
        attestations: attestations.len(),
    })
}

/// The name of the archive in a statement about it.
fn signed_name(attestations: &[Attestation], archive: Digest) -> Option<String> {
    let statements = attestations.iter().filter_map(Attestation::unverified_statement);
    let mut subjects = statements.flat_map(|statement| statement.subjects);
    let (name, _) = subjects.find(|(_, digest)| *digest == archive.hex())?;
    Some(name).filter(|name| is_archive_name(name))
}

/// Creates a client that transfers archives.
pub(crate) fn client(context: &Context) -> Result<Client, AppError> {
    let settings = Settings { largest_blob: MAX_ARCHIVE, ..context.registries.clone() };
    Ok(Client::new(settings)?)
}

/// An archive that was pulled.
#[derive(Debug)]
pub struct PulledArchive {
    /// The file of the archive.
    pub path: PathBuf,
    /// The digest of the archive.
    pub archive: Digest,
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The file with its attestations, if it has any. They are not verified.
    pub attestations: Option<PathBuf>,
}

/// Pulls the archive at the reference `from` with its attestations, which are not verified. The
/// archive is written to `file`, or else to the current directory under the name that it was pushed
/// with.
pub fn pull(context: &Context, from: &str, file: Option<&Path>) -> Result<PulledArchive, AppError> {
    let from = registry::reference(from)?;
    let client = client(context)?;
    let (mut pulled, text) = registry::wait(async {
        let pulled = pull_results(&client, &from).await?;
        let text = registry::signatures(context, &client, &from, pulled.manifest, MAX_ENVELOPE_FILE as u64).await;
        Ok((pulled, text))
    })?;
    let path = match (file, pulled.name.as_deref().filter(|name| is_archive_name(name))) {
        (Some(file), _) => file.to_owned(),
        (None, Some(name)) => PathBuf::from(name),
        // A name from a registry could be any path. The one in the reference cannot.
        (None, None) => PathBuf::from(format!("{}.tar.gz", from.repository().rsplit('/').next().unwrap_or("run"))),
    };
    let mut copy = || -> io::Result<()> {
        let mut file = AtomicFile::create(&path)?;
        io::copy(pulled.file.as_file_mut(), &mut file)?;
        file.commit()
    };
    copy().system_error(format_args!("failed to write `{}`", path.display()))?;
    let attestations = readable(context, text.as_deref(), "attestations", &from)?;
    let attestation_file = SignatureFile::next_to(&path);
    let is_attested = !attestations.is_empty();
    if is_attested {
        attestation_file.merge(attestations, pulled.archive.as_bytes())?;
    }
    Ok(PulledArchive {
        path,
        archive: pulled.archive,
        manifest: pulled.manifest,
        attestations: is_attested.then(|| attestation_file.path().to_owned()),
    })
}
