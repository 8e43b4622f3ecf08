//! Signed bundles: which bundle is signed, where its signatures are, and which signatures count.

pub(crate) mod admission;

use std::env;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_bundle::signing::{
    Attestation, ModuleDigest, Policy, PrivateKey, SignatureFile, Subject, Trusted, Verified, VerifiedResult, Wanted,
    default_policy_path, is_open_to_others, read_private, read_public, readable_attestations, verify, verify_result,
};
use plumbline_bundle::{Bundle, Digest, unpack};
use plumbline_core::shell_path;
use plumbline_registry::{Kind, Reference};

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, Explain as _, bundle_error, store_error};
use crate::sources::named::store;
use crate::sources::registry::{self, Artifact};

pub use admission::{Requirements, bundle_provenance, check, provenance};

/// The variable with the private key itself, or the path of its file.
const KEY_VARIABLE: &str = "PLUMBLINE_SIGNING_KEY";

/// Reads the private key in `file`, or else the key that the environment names. Warns if other
/// users can read the file.
pub fn signing_key(context: &Context, file: Option<&Path>) -> Result<PrivateKey, AppError> {
    if let Some(file) = file {
        return from_file(context, file);
    }
    let Some(value) = env::var_os(KEY_VARIABLE).filter(|value| !value.is_empty()) else {
        return Err(AppError::usage("no key to sign with").hint(format!(
            "pass one with `--key FILE`, or put it into `{KEY_VARIABLE}`; create a pair with `plumbline plugin keygen --file NAME`"
        )));
    };
    match value.to_str().filter(|text| text.trim_start().starts_with("-----BEGIN")) {
        Some(text) => PrivateKey::from_pem(text.as_bytes())
            .usage_error(format_args!("invalid key in `{KEY_VARIABLE}`"))
            .hint("store a private key in PEM format in this variable"),
        None => from_file(context, &PathBuf::from(value)),
    }
}

fn from_file(context: &Context, file: &Path) -> Result<PrivateKey, AppError> {
    let key = read_private(file)?;
    if is_open_to_others(file) {
        let what =
            format!("other users of this machine can read the private key `{0}`: run `chmod 600 {0}`", file.display());
        context.reporter.warning(&what);
    }
    Ok(key)
}

/// The variable with the path of the policy, if no option names it.
const POLICY_VARIABLE: &str = "PLUMBLINE_POLICY";

/// The signature policy.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyFile {
    // The variable is read by hand: it is no reason to refuse another option that excludes this one.
    /// Signature policy: whose signatures count for which names (docs/signing.md) [default:
    /// $PLUMBLINE_POLICY, then $XDG_CONFIG_HOME/plumbline/policy.yaml]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

/// Whose signatures count.
pub struct Trust {
    policy: Policy,
    /// The policy or key, for messages.
    name: String,
}

/// The policy in `file`, or else that of the environment, or else that of the user, if it exists.
pub(crate) fn policy_path(file: Option<&Path>) -> Option<PathBuf> {
    file.map(Path::to_owned)
        .or_else(|| env::var_os(POLICY_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from))
        .or_else(|| default_policy_path().filter(|path| path.exists()))
}

/// Reads the policy in `file`, or else that of the environment, or else that of the user.
pub fn policy(file: Option<&Path>) -> Result<Trust, AppError> {
    let path = policy_path(file).ok_or_else(|| {
        AppError::usage("found no policy for signatures").hint(format!(
            "write a policy to `~/.config/plumbline/policy.yaml` (docs/signing.md), or set one with `--policy FILE` or `{POLICY_VARIABLE}`; `plumbline plugin verify` also accepts a single `--key FILE.pub`"
        ))
    })?;
    let policy =
        Policy::load(&path).hint("see docs/signing.md for the format; Plumbline never uses a part of a policy")?;
    Ok(Trust { policy, name: format!("policy `{}`", path.display()) })
}

/// Trusts the public key in `file` for every name.
pub fn one_key(file: &Path) -> Result<Trust, AppError> {
    let key = read_public(file)?;
    let name = file.display().to_string();
    Ok(Trust { policy: Policy::of_key(&name, key), name: format!("key `{name}`") })
}

impl Trust {
    /// The policy or key, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Verifies `attestations`, the signatures of `subject`, which was pulled from `reference`.
    pub fn verify(
        &self,
        attestations: &[Attestation],
        subject: &Subject,
        reference: Option<&str>,
    ) -> Result<Verified, Vec<String>> {
        let keys = self.policy.keys_for(&subject.name, reference).ok_or_else(|| self.no_rule())?;
        verify(attestations, subject, &keys, Timestamp::now())
    }

    /// Finds the trusted statements among `attestations` about the results in `name`: an archive, or a
    /// folder. Each of them has the digests `wanted`.
    pub(crate) fn verify_result(
        &self,
        attestations: &[Attestation],
        name: &str,
        wanted: Wanted<'_>,
    ) -> Result<VerifiedResult, Vec<String>> {
        let keys = self.policy.keys_for(name, None).ok_or_else(|| self.no_rule())?;
        verify_result(attestations, wanted, &Trusted::Keys(keys), Timestamp::now())
    }

    fn no_rule(&self) -> Vec<String> {
        vec![format!("no rule of {} matches this name, so no signature is trusted", self.name)]
    }
}

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
    pub fn find(context: &Context, named: &str) -> Result<Self, AppError> {
        let path = Path::new(named);
        if Reference::is_meant(named) {
            return Self::in_registry(context, named);
        }
        if path.is_dir() {
            return Err(AppError::usage(format!("`{named}` is a directory: only packed bundles can be signed"))
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
            return Err(AppError::usage(format!("`{reference}` is a single module: only bundles can be signed"))
                .hint("write a `plugin.yaml` next to the module, and pack the bundle: `plumbline plugin pack DIR`"));
        }
        let bundle = opened(pulled.file.path(), text)?;
        let (shown, version) = (Some(reference.to_string()), reference.tag().map(str::to_owned));
        let place = SignatureStore::Registry { reference, manifest: pulled.manifest, signatures };
        Ok(Self { reference: shown, version, ..Self::of(&bundle, text.to_owned(), place) })
    }

    fn tar(path: &Path) -> Result<Self, AppError> {
        let shown = path.display().to_string();
        let bundle = opened(path, &shown)?;
        Ok(Self::of(&bundle, shown, SignatureStore::File(SignatureFile::next_to(path))))
    }

    fn installed(name: &str) -> Result<Self, AppError> {
        let store = store()?;
        let failed = |error| store_error(format!("failed to load the installed bundle `{name}`"), &error);
        let Some(installed) = store.find(name).map_err(failed)? else {
            return Err(AppError::usage(format!("`{name}` is neither a file nor an installed bundle"))
                .hint("list installed bundles with `plumbline plugin list`; pack a directory with `plumbline plugin pack DIR`"));
        };
        let signatures = SignatureFile::at(store.dir().join(name).join(INSTALLED));
        let target = Self::of(&installed.bundle, name.to_owned(), SignatureStore::File(signatures));
        let reference = Some(installed.record.source).filter(|source| Reference::is_meant(source));
        Ok(Self { reference, version: installed.record.version, ..target })
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
    pub fn with_signatures(mut self, file: Option<&Path>) -> Self {
        if let Some(file) = file {
            self.signatures = SignatureStore::File(SignatureFile::at(file.to_owned()));
        }
        self
    }

    /// Where the signatures are, for messages.
    pub fn place(&self) -> String {
        match &self.signatures {
            SignatureStore::File(file) => file.path().display().to_string(),
            SignatureStore::Registry { reference, manifest, .. } => reference.by_digest(*manifest).to_string(),
        }
    }

    /// Reads the signatures.
    pub fn attestations(&self, context: &Context) -> Result<Vec<Attestation>, AppError> {
        match &self.signatures {
            SignatureStore::File(file) => Ok(file.read()?),
            SignatureStore::Registry { signatures, .. } => signatures_of(context, signatures.as_deref(), &self.shown),
        }
    }

    /// Adds a signature.
    pub fn add(&self, context: &Context, attestation: Attestation) -> Result<(), AppError> {
        match &self.signatures {
            SignatureStore::File(file) => file.append(attestation).map(drop).map_err(AppError::from),
            SignatureStore::Registry { reference, manifest, .. } => {
                let client = registry::client(context)?;
                registry::wait(registry::attach(&client, reference, *manifest, &[attestation]))
            }
        }
    }
}

fn signatures_of(context: &Context, text: Option<&[u8]>, shown: &str) -> Result<Vec<Attestation>, AppError> {
    readable(context, text, "signatures", &shown).hint("sign the bundle again with `plumbline plugin sign`")
}

/// Parses the signatures or attestations (`kind`) of `shown`. Unreadable ones are skipped with a
/// warning, because anyone with write access to a repository can add some.
pub(crate) fn readable(
    context: &Context,
    text: Option<&[u8]>,
    kind: &str,
    shown: &dyn Display,
) -> Result<Vec<Attestation>, AppError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let (attestations, others) =
        readable_attestations(text).usage_error(format_args!("invalid {kind} of `{shown}`"))?;
    if others > 0 {
        context.reporter.warning(&format!("ignored {others} unreadable {kind} of `{shown}`"));
    }
    Ok(attestations)
}

/// Opens the packed bundle at `path`, which is unpacked into a temporary directory.
fn opened(path: &Path, shown: &str) -> Result<Bundle, AppError> {
    let wrong = || AppError::usage(format!("`{shown}` is not a bundle"));
    let file = File::open(path).usage_error(format_args!("failed to read `{shown}`")).hint(CHECK_FILE)?;
    let place = tempfile::tempdir().system_error("failed to create a directory to unpack the bundle")?;
    let dir = place.path().join("bundle");
    unpack(BufReader::new(file), &dir).map_err(|error| {
        let failed = match error.is_systems() {
            true => AppError::system(format!("failed to unpack `{shown}`")),
            false => wrong(),
        };
        failed.because(&error).hint(error.hint().unwrap_or("create one with `plumbline plugin pack DIR`"))
    })?;
    Bundle::open(&dir).map_err(|error| bundle_error(format!("`{shown}` is not a complete bundle"), &error))
}

pub(super) fn subject(name: &str, digest: Digest) -> Subject {
    Subject { name: name.to_owned(), sha256: *digest.as_bytes() }
}

fn bounded_text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(max + 1).read_to_string(&mut text)?;
    match text.len() as u64 > max {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max} bytes"))),
        false => Ok(text),
    }
}
