//! The bundle that is to be signed or verified, and where its signatures are.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use plumbline_bundle::signing::{
    Envelope, ModuleDigest, SignatureFile, SignatureFileError, Subject, readable_envelopes,
};
use plumbline_bundle::{Bundle, Digest, unpack};
use plumbline_core::shell_path;
use plumbline_registry::{Kind, Reference, media};

use crate::error::CliError;
use crate::sources::remote::{self, Artefact};
use crate::sources::{bundle_error, store, store_error};
use crate::ui::say;

/// What an installed bundle's signatures are called (docs/bundles.md).
const INSTALLED: &str = "signatures.json";

/// A bundle.
#[derive(Debug)]
pub(crate) struct Target {
    /// For messages: what was asked for.
    pub(crate) shown: String,
    /// What a signature must say.
    pub(crate) subject: Subject,
    /// Its modules.
    pub(crate) modules: Vec<ModuleDigest>,
    /// The reference that it was pulled from, if it is one.
    pub(crate) reference: Option<String>,
    /// What its source calls it.
    pub(crate) version: Option<String>,
    signatures: Place,
}

/// Where signatures are.
#[derive(Debug)]
enum Place {
    File(SignatureFile),
    /// They belong to a manifest; what was there when it was looked at.
    Registry {
        reference: Reference,
        manifest: plumbline_registry::Digest,
        there: Option<Vec<u8>>,
    },
}

impl Target {
    /// The packed bundle at a path, else the installed bundle of a name.
    pub(crate) fn find(named: &str) -> Result<Self, CliError> {
        let path = Path::new(named);
        if Reference::is_meant(named) {
            return Self::in_registry(named);
        }
        if path.is_dir() {
            return Err(CliError::usage(format!("`{named}` is a directory, and what is signed is the packed bundle"))
                .hint(format!("pack it first: `plumbline plugin pack {}`", shell_path(path))));
        }
        if path.is_file() {
            return Self::tar(path);
        }
        Self::installed(named)
    }

    /// A bundle in a registry. Its signatures belong to its manifest.
    fn in_registry(text: &str) -> Result<Self, CliError> {
        let Artefact { reference, pulled, signatures } = remote::fetch(text)?;
        if pulled.kind != Kind::Bundle {
            return Err(CliError::usage(format!("`{reference}` is a single module, and what is signed is a bundle"))
                .hint("a module becomes a bundle with a `plugin.yaml` next to it: `plumbline plugin pack DIR`"));
        }
        let bundle = opened(pulled.file.path(), text)?;
        let manifest = pulled.manifest;
        let version = reference.tag().map(str::to_owned);
        let place = Place::Registry { reference: reference.clone(), manifest, there: signatures };
        let mut target = Self::of(&bundle, text.to_owned(), place);
        target.reference = Some(reference.to_string());
        target.version = version;
        Ok(target)
    }

    fn tar(path: &Path) -> Result<Self, CliError> {
        let shown = path.display().to_string();
        let bundle = opened(path, &shown)?;
        Ok(Self::of(&bundle, shown, Place::File(SignatureFile::beside(path))))
    }

    fn installed(name: &str) -> Result<Self, CliError> {
        let store = store()?;
        let failed = |error| store_error(format!("failed to load the installed bundle `{name}`"), &error);
        let Some(installed) = store.find(name).map_err(failed)? else {
            return Err(CliError::usage(format!("`{name}` is neither a file nor an installed bundle"))
                .hint("`plumbline plugin list` shows what is installed; `plumbline plugin pack DIR` makes a file"));
        };
        let signatures = SignatureFile::at(store.dir().join(name).join(INSTALLED));
        let record = installed.record;
        let mut target = Self::of(&installed.bundle, name.to_owned(), Place::File(signatures));
        target.reference = Some(record.source).filter(|source| Reference::is_meant(source));
        target.version = record.version;
        Ok(target)
    }

    fn of(bundle: &Bundle, shown: String, signatures: Place) -> Self {
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

    /// The same, with its signatures in another file.
    pub(crate) fn with_signatures(mut self, file: Option<&Path>) -> Self {
        if let Some(file) = file {
            self.signatures = Place::File(SignatureFile::at(file.to_owned()));
        }
        self
    }

    /// Where its signatures are.
    pub(crate) fn place(&self) -> String {
        match &self.signatures {
            Place::File(file) => file.path().display().to_string(),
            Place::Registry { reference, manifest, .. } => reference.by_digest(*manifest).to_string(),
        }
    }

    /// Its signatures.
    pub(crate) fn envelopes(&self) -> Result<Vec<Envelope>, CliError> {
        match &self.signatures {
            Place::File(file) => file.read().map_err(|error| file_error(&error)),
            Place::Registry { there, .. } => readable(there.as_deref(), &self.shown),
        }
    }

    /// Adds a signature.
    pub(crate) fn add(&self, envelope: Envelope) -> Result<(), CliError> {
        match &self.signatures {
            Place::File(file) => file.append(envelope).map(drop).map_err(|error| file_error(&error)),
            Place::Registry { reference, manifest, .. } => {
                let client = remote::client()?;
                let content = envelope.to_json().into_bytes().into();
                remote::wait(client.attach(reference, *manifest, media::DSSE, content)).map(drop)
            }
        }
    }
}

/// The signatures that came along with `shown`. Some that cannot be read are passed over: whoever may write to a repository can add anything,
/// and that is no reason to refuse what is good.
pub(crate) fn readable(text: Option<&[u8]>, shown: &str) -> Result<Vec<Envelope>, CliError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let (envelopes, others) = readable_envelopes(text)
        .map_err(|error| CliError::usage(format!("invalid signatures of `{shown}`")).because(&error))?;
    if others > 0 {
        say(&format!("warning: ignored {others} unreadable signatures of `{shown}`"));
    }
    Ok(envelopes)
}

/// Unpacks the tar at `path`, to look at it: nothing of it stays.
fn opened(path: &Path, shown: &str) -> Result<Bundle, CliError> {
    let wrong = || CliError::usage(format!("`{shown}` is not a bundle"));
    let file =
        File::open(path).map_err(|error| CliError::usage(format!("failed to read `{shown}`")).because(&error))?;
    let place = tempfile::tempdir()
        .map_err(|error| CliError::system("there is no place to unpack the bundle").because(&error))?;
    let dir = place.path().join("bundle");
    unpack(BufReader::new(file), &dir).map_err(|error| {
        let told = match error.is_systems() {
            true => CliError::system(format!("failed to unpack `{shown}`")),
            false => wrong(),
        };
        told.because(&error).hint(error.hint().unwrap_or("`plumbline plugin pack DIR` makes one"))
    })?;
    Bundle::open(&dir).map_err(|error| bundle_error(format!("`{shown}` is not a complete bundle"), &error))
}

/// What a signature over a bundle must say.
pub(crate) fn subject(name: &str, digest: Digest) -> Subject {
    Subject { name: name.to_owned(), sha256: *digest.as_bytes() }
}

pub(crate) fn file_error(error: &SignatureFileError) -> CliError {
    let told = match error {
        SignatureFileError::Write { .. } => CliError::system(error.to_string()),
        _ => CliError::usage(error.to_string()),
    };
    match std::error::Error::source(error) {
        Some(source) => told.because(source),
        None => told,
    }
}
