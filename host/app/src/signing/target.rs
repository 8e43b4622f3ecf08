//! The bundle to sign or verify, and where its signatures are.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use plumbline_bundle::signing::{Envelope, ModuleDigest, SignatureFile, Subject, readable_envelopes};
use plumbline_bundle::{Bundle, Digest, unpack};
use plumbline_core::shell_path;
use plumbline_registry::{Kind, Reference, media};

use super::policy::key_error;
use crate::context::Context;
use crate::error::AppError;
use crate::sources::registry::{self, Artifact};
use crate::sources::{bundle_error, store, store_error};

/// The file with the signatures of an installed bundle (docs/bundles.md).
const INSTALLED: &str = "signatures.json";

/// A bundle to sign or verify.
#[derive(Debug)]
pub struct Target {
    /// The reference or path, for messages.
    pub shown: String,
    /// The subject of its signatures: name and digest.
    pub subject: Subject,
    /// Its modules.
    pub modules: Vec<ModuleDigest>,
    /// The reference that it was pulled from, if it was pulled.
    pub reference: Option<String>,
    /// Its version, according to its source.
    pub version: Option<String>,
    signatures: SignatureStore,
}

/// Where signatures are.
#[derive(Debug)]
enum SignatureStore {
    File(SignatureFile),
    /// Referrers of a manifest, with the signatures that it had when it was pulled.
    Registry {
        reference: Reference,
        manifest: Digest,
        signatures: Option<Vec<u8>>,
    },
}

impl Target {
    /// Finds a bundle: by a reference to a registry, the path of a packed bundle, or the name of an
    /// installed one.
    ///
    /// # Errors
    /// There is no such bundle, or it is invalid.
    pub fn find(context: &Context, named: &str) -> Result<Self, AppError> {
        let path = Path::new(named);
        if Reference::is_meant(named) {
            return Self::in_registry(context, named);
        }
        if path.is_dir() {
            return Err(AppError::usage(format!("`{named}` is a directory, and what is signed is the packed bundle"))
                .hint(format!("pack it first: `plumbline plugin pack {}`", shell_path(path))));
        }
        if path.is_file() {
            return Self::tar(path);
        }
        Self::installed(named)
    }

    /// A bundle in a registry. Its signatures refer to its manifest.
    fn in_registry(context: &Context, text: &str) -> Result<Self, AppError> {
        let Artifact { reference, pulled, signatures } = registry::fetch(context, text)?;
        if pulled.kind != Kind::Bundle {
            return Err(AppError::usage(format!("`{reference}` is a single module, and what is signed is a bundle"))
                .hint("a module becomes a bundle with a `plugin.yaml` next to it: `plumbline plugin pack DIR`"));
        }
        let bundle = opened(pulled.file.path(), text)?;
        let manifest = pulled.manifest;
        let version = reference.tag().map(str::to_owned);
        let place = SignatureStore::Registry { reference: reference.clone(), manifest, signatures };
        let mut target = Self::of(&bundle, text.to_owned(), place);
        target.reference = Some(reference.to_string());
        target.version = version;
        Ok(target)
    }

    fn tar(path: &Path) -> Result<Self, AppError> {
        let shown = path.display().to_string();
        let bundle = opened(path, &shown)?;
        Ok(Self::of(&bundle, shown, SignatureStore::File(SignatureFile::beside(path))))
    }

    fn installed(name: &str) -> Result<Self, AppError> {
        let store = store()?;
        let failed = |error| store_error(format!("failed to load the installed bundle `{name}`"), &error);
        let Some(installed) = store.find(name).map_err(failed)? else {
            return Err(AppError::usage(format!("`{name}` is neither a file nor an installed bundle"))
                .hint("`plumbline plugin list` shows what is installed; `plumbline plugin pack DIR` makes a file"));
        };
        let signatures = SignatureFile::at(store.dir().join(name).join(INSTALLED));
        let record = installed.record;
        let mut target = Self::of(&installed.bundle, name.to_owned(), SignatureStore::File(signatures));
        target.reference = Some(record.source).filter(|source| Reference::is_meant(source));
        target.version = record.version;
        Ok(target)
    }

    fn of(bundle: &Bundle, shown: String, signatures: SignatureStore) -> Self {
        let module = |module: &plumbline_bundle::ModuleFile| ModuleDigest {
            file: module.file.clone(),
            sha256: module.digest.hex(),
        };
        Self {
            shown,
            subject: subject(bundle.name(), bundle.digest()),
            modules: bundle.modules.iter().map(module).collect(),
            reference: None,
            version: None,
            signatures,
        }
    }

    /// Reads and writes the signatures in `file` instead.
    #[must_use]
    pub fn with_signatures(mut self, file: Option<&Path>) -> Self {
        if let Some(file) = file {
            self.signatures = SignatureStore::File(SignatureFile::at(file.to_owned()));
        }
        self
    }

    /// Where the signatures are, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.signatures {
            SignatureStore::File(file) => file.path().display().to_string(),
            SignatureStore::Registry { reference, manifest, .. } => reference.by_digest(*manifest).to_string(),
        }
    }

    /// Reads the signatures.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn envelopes(&self, context: &Context) -> Result<Vec<Envelope>, AppError> {
        match &self.signatures {
            SignatureStore::File(file) => file.read().map_err(|error| key_error(&error)),
            SignatureStore::Registry { signatures, .. } => readable(context, signatures.as_deref(), &self.shown),
        }
    }

    /// Adds a signature.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&self, context: &Context, envelope: Envelope) -> Result<(), AppError> {
        match &self.signatures {
            SignatureStore::File(file) => file.append(envelope).map(drop).map_err(|error| key_error(&error)),
            SignatureStore::Registry { reference, manifest, .. } => {
                let client = registry::client(context)?;
                let content = envelope.to_json().into_bytes().into();
                registry::wait(client.attach(reference, *manifest, media::DSSE, content)).map(drop)
            }
        }
    }
}

/// Parses the signatures of `shown`. Unreadable ones are skipped with a warning, because anyone
/// with write access to a repository can add some.
pub(super) fn readable(context: &Context, text: Option<&[u8]>, shown: &str) -> Result<Vec<Envelope>, AppError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let (envelopes, others) = readable_envelopes(text)
        .map_err(|error| AppError::usage(format!("invalid signatures of `{shown}`")).because(&error))?;
    if others > 0 {
        context.reporter.warning(&format!("ignored {others} unreadable signatures of `{shown}`"));
    }
    Ok(envelopes)
}

/// Opens the packed bundle at `path`, which is unpacked into a temporary directory.
fn opened(path: &Path, shown: &str) -> Result<Bundle, AppError> {
    let wrong = || AppError::usage(format!("`{shown}` is not a bundle"));
    let file =
        File::open(path).map_err(|error| AppError::usage(format!("failed to read `{shown}`")).because(&error))?;
    let place = tempfile::tempdir()
        .map_err(|error| AppError::system("there is no place to unpack the bundle").because(&error))?;
    let dir = place.path().join("bundle");
    unpack(BufReader::new(file), &dir).map_err(|error| {
        let failed = match error.is_systems() {
            true => AppError::system(format!("failed to unpack `{shown}`")),
            false => wrong(),
        };
        failed.because(&error).hint(error.hint().unwrap_or("`plumbline plugin pack DIR` makes one"))
    })?;
    Bundle::open(&dir).map_err(|error| bundle_error(format!("`{shown}` is not a complete bundle"), &error))
}

/// The subject of the signatures of a bundle.
pub(super) fn subject(name: &str, digest: Digest) -> Subject {
    Subject { name: name.to_owned(), sha256: *digest.as_bytes() }
}
