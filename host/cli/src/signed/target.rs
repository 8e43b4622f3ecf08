//! The bundle that is to be signed or verified, and where its signatures are.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use plumbline_bundle::{Bundle, Digest, Store, unpack};
use plumbline_signing::{Envelope, ModuleDigest, SignatureFile, SignatureFileError, Subject};

use crate::error::CliError;

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
    signatures: SignatureFile,
}

impl Target {
    /// The packed bundle at a path, else the installed bundle of a name.
    pub(crate) fn find(named: &str) -> Result<Self, CliError> {
        let path = Path::new(named);
        if named.starts_with("oci://") {
            return Self::in_registry(named);
        }
        if path.is_dir() {
            return Err(CliError::usage(format!("`{named}` is a directory, and what is signed is the packed bundle"))
                .hint(format!("pack it first: `plumbline plugin pack {named}`")));
        }
        if path.is_file() {
            return Self::tar(path);
        }
        Self::installed(named)
    }

    /// A bundle in a registry. Its signatures are referrers of its manifest.
    fn in_registry(reference: &str) -> Result<Self, CliError> {
        Err(CliError::usage(format!(
            "`{reference}` is in a registry, and this command reads tars and installed bundles"
        ))
        .hint(format!("`plumbline plugin pull {reference}` brings it here")))
    }

    fn tar(path: &Path) -> Result<Self, CliError> {
        let wrong = || CliError::usage(format!("`{}` is no bundle", path.display()));
        let file = File::open(path)
            .map_err(|error| CliError::usage(format!("`{}` cannot be read", path.display())).because(&error))?;
        let place = tempfile::tempdir()
            .map_err(|error| CliError::system("there is no place to unpack the bundle").because(&error))?;
        let dir = place.path().join("bundle");
        unpack(BufReader::new(file), &dir).map_err(|error| {
            let told = if error.is_systems() {
                CliError::system(format!("`{}` cannot be unpacked", path.display()))
            } else {
                wrong()
            };
            let told = told.because(&error);
            match error.hint() {
                Some(hint) => told.hint(hint),
                None => told.hint("`plumbline plugin pack DIR` makes one"),
            }
        })?;
        let bundle = Bundle::open(&dir).map_err(|error| wrong().because(&error))?;
        Ok(Self::of(&bundle, path.display().to_string(), SignatureFile::beside(path)))
    }

    fn installed(name: &str) -> Result<Self, CliError> {
        let failed = |error: &dyn std::error::Error| {
            CliError::system(format!("the installed bundle `{name}` cannot be used")).because(error)
        };
        let store = Store::user().map_err(|error| failed(&error))?;
        let Some(installed) = store.find(name).map_err(|error| failed(&error))? else {
            return Err(CliError::usage(format!("`{name}` is neither a file nor an installed bundle"))
                .hint("`plumbline plugin list` shows what is installed; `plumbline plugin pack DIR` makes a file"));
        };
        let signatures = SignatureFile::at(store.dir().join(name).join(INSTALLED));
        let record = installed.record;
        let mut target = Self::of(&installed.bundle, name.to_owned(), signatures);
        target.reference = Some(record.source).filter(|source| source.starts_with("oci://"));
        target.version = record.version;
        Ok(target)
    }

    fn of(bundle: &Bundle, shown: String, signatures: SignatureFile) -> Self {
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
            self.signatures = SignatureFile::at(file.to_owned());
        }
        self
    }

    /// Where its signatures are.
    pub(crate) fn place(&self) -> &Path {
        self.signatures.path()
    }

    /// Its signatures.
    pub(crate) fn envelopes(&self) -> Result<Vec<Envelope>, CliError> {
        self.signatures.read().map_err(|error| file_error(&error))
    }

    /// Adds a signature; how many there are then.
    pub(crate) fn add(&self, envelope: Envelope) -> Result<usize, CliError> {
        self.signatures.append(envelope).map_err(|error| file_error(&error))
    }
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
