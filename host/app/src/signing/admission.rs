//! Decides whether the plugins of a run are signed or locked as the run requires.

use std::path::{Path, PathBuf};

use plumbline_aggregator::Provenance;
use plumbline_bundle::signing::{Attestation, SignatureFile};
use plumbline_bundle::{Bundle, Digest, Lock, Subject};
use plumbline_core::PluginName;
use plumbline_registry::Reference;

use crate::context::Context;
use crate::error::{AppError, Explain as _, store_error};
use crate::signing::{PolicyFile, policy, signatures_of, subject};
use crate::sources::named::{is_packed, store};
use crate::sources::{ResolvedPlugin, SourceKind};

/// What a run requires of its plugins.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Requirements {
    /// Refuse plugins that are neither built in nor a bundle with a trusted signature
    /// (docs/signing.md)
    #[arg(long)]
    pub require_signed: bool,
    /// The policy that says which signatures count.
    #[command(flatten)]
    pub policy: PolicyFile,
    /// Refuse plugins that differ from this lock file; without a value, `plumbline.lock`
    /// (docs/signing.md)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "plumbline.lock")]
    pub locked: Option<PathBuf>,
}

/// Checks that `plugins` meet the requirements of a run.
pub fn check(context: &Context, plugins: &[ResolvedPlugin], requirements: &Requirements) -> Result<(), AppError> {
    let Requirements { require_signed: signed, policy: PolicyFile { policy }, locked } = requirements;
    if policy.is_some() && !signed {
        return Err(
            AppError::usage("`--policy` has no effect without `--require-signed`").hint("add `--require-signed`")
        );
    }
    if !signed && locked.is_none() {
        return Ok(());
    }
    let bundles = plugins.iter().map(ResolvedPlugin::bundle).collect::<Result<Vec<_>, _>>()?;
    let mut candidates = Vec::new();
    for (plugin, bundle) in plugins.iter().zip(&bundles) {
        let proof = if *signed { proof(context, plugin)? } else { Proof::None("not checked") };
        candidates.push(candidate(plugin, bundle.as_ref(), proof));
    }
    if let Some(file) = locked {
        require_locked(&candidates, file)?;
    }
    if *signed {
        require_signed(&candidates, policy.as_deref())?;
    }
    Ok(())
}

fn candidate<'a>(found: &'a ResolvedPlugin, bundle: Option<&'a Bundle>, proof: Proof) -> Candidate<'a> {
    let definition = &found.source.definition;
    let digest = found.digest.unwrap_or_else(|| Digest::of(definition.to_json().to_string().as_bytes()));
    let subject = Subject { name: definition.name.as_str(), origin: &found.origin, definition: digest, bundle };
    Candidate { subject, proof }
}

/// The proof of a plugin's origin. Only packed bundles are signed, because a directory can change
/// between the check and the run.
fn proof(context: &Context, found: &ResolvedPlugin) -> Result<Proof, AppError> {
    Ok(match found.kind {
        SourceKind::BuiltIn => Proof::BuiltIn,
        SourceKind::Sonobuoy => Proof::None("a definition that Sonobuoy has installed"),
        SourceKind::Installed => {
            Proof::Signatures { attestations: attached(context, found)?, reference: installed_from(&found.origin)? }
        }
        SourceKind::Registry => {
            Proof::Signatures { attestations: attached(context, found)?, reference: Some(found.origin.clone()) }
        }
        SourceKind::Url => Proof::Signatures { attestations: attached(context, found)?, reference: None },
        SourceKind::Named if is_tar(found) => {
            let attestations = SignatureFile::next_to(Path::new(&found.origin)).read()?;
            Proof::Signatures { attestations, reference: None }
        }
        SourceKind::Named if found.source.bundle.is_some() => Proof::None("a directory"),
        SourceKind::Named => Proof::None("a definition alone"),
    })
}

/// Whether the plugin is a tar. The origin of a directory is the definition in it.
fn is_tar(found: &ResolvedPlugin) -> bool {
    let origin = Path::new(&found.origin);
    let parent = origin.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
    found.source.bundle.is_some() && found.source.bundle != parent && origin.is_file() && is_packed(origin)
}

fn attached(context: &Context, found: &ResolvedPlugin) -> Result<Vec<Attestation>, AppError> {
    signatures_of(context, found.signatures.as_deref(), &found.origin)
}

fn installed_from(name: &str) -> Result<Option<String>, AppError> {
    let failed = |error| store_error(format!("failed to load plugin `{name}`"), &error);
    let Some(installed) = store()?.find(name).map_err(failed)? else {
        return Err(AppError::system(format!("plugin `{name}` was uninstalled a moment ago")));
    };
    Ok(Some(installed.record.source).filter(|source| Reference::is_meant(source)))
}

/// The digest of a plugin's bundle, for the configuration of a run in a cluster, and its source. A
/// directory has no source, because its path says nothing elsewhere. Neither has a built-in bundle.
pub fn bundle_provenance(found: &ResolvedPlugin) -> Option<(Option<String>, String)> {
    let packed = match found.kind {
        SourceKind::Installed | SourceKind::Registry | SourceKind::Url => true,
        SourceKind::Named => is_tar(found),
        SourceKind::BuiltIn => false,
        SourceKind::Sonobuoy => return None,
    };
    let bundle = found.bundle().ok().flatten()?;
    Some((packed.then(|| found.origin.clone()), bundle.digest().to_string()))
}

/// The origins of plugins, for the archive. A bundle that cannot be opened has no digest, which
/// only matters to runs that require signatures or a lock.
pub fn provenance(found: &[ResolvedPlugin]) -> impl Iterator<Item = (PluginName, Provenance)> {
    found.iter().map(|one| {
        let bundle = one.bundle().ok().flatten().map(|bundle| bundle.digest().to_string());
        let definition_file = one.digest.map(|digest| digest.to_string());
        let provenance = Provenance { reference: Some(one.origin.clone()), bundle, definition_file };
        (one.source.definition.name.clone(), provenance)
    })
}

const MAX_LOCK_BYTES: u64 = 8 << 20;

struct Candidate<'a> {
    subject: Subject<'a>,
    proof: Proof,
}

enum Proof {
    /// It is part of this program.
    BuiltIn,
    /// There is no proof. The text completes "it is …".
    None(&'static str),
    /// Signatures, which may count.
    Signatures {
        /// The signatures of the bundle.
        attestations: Vec<Attestation>,
        /// The reference that it was pulled from, if it was pulled.
        reference: Option<String>,
    },
}

fn require_signed(candidates: &[Candidate<'_>], file: Option<&Path>) -> Result<(), AppError> {
    let trust = policy(file)?;
    let (mut refused, mut loose) = (Vec::new(), false);
    for Candidate { subject: Subject { name: plugin, origin, bundle, .. }, proof } in candidates {
        let reason = match (proof, bundle) {
            (Proof::BuiltIn, _) => continue,
            (Proof::Signatures { attestations, reference }, Some(bundle)) => {
                // The name of the bundle; its name in this run is up to the operator.
                let subject = subject(bundle.name(), bundle.digest());
                match trust.verify(attestations, &subject, reference.as_deref()) {
                    Ok(verified) => {
                        tracing::info!(plugin, key = verified.key, "its signature is trusted");
                        continue;
                    }
                    Err(reasons) => reasons.join("; "),
                }
            }
            (Proof::None(what), _) => {
                loose = true;
                format!("it is {what}, which cannot be signed")
            }
            (Proof::Signatures { .. }, None) => {
                loose = true;
                "it is not a bundle, and only bundles can be signed".to_owned()
            }
        };
        refused.push(format!("`{plugin}` (`{origin}`): {reason}"));
    }
    if refused.is_empty() {
        return Ok(());
    }
    let (few, all) = (refused.len(), candidates.len());
    let mut error = AppError::usage(format!("with `--require-signed`, {few} of {all} plugins may not run"));
    for reason in refused {
        error = error.cause(reason);
    }
    Err(error.hint(match loose {
        true => "pack and sign it: `plumbline plugin pack DIR`, then `plumbline plugin sign NAME.bundle.tar --key FILE`, and run the tar".to_owned(),
        false => format!(
            "have it signed by a trusted key: {} lists them; see more with `plumbline plugin verify`",
            trust.name()
        ),
    }))
}

fn require_locked(candidates: &[Candidate<'_>], path: &Path) -> Result<(), AppError> {
    let shown = path.display();
    let text = super::bounded_text(path, MAX_LOCK_BYTES)
        .usage_error(format_args!("failed to read the lock file `{shown}`"))
        .hint("write one with `plumbline plugin lock -p REF`")?;
    let lock = Lock::parse(&text)
        .usage_error(format_args!("invalid lock file `{shown}`"))
        .hint("lock the plugins again: `plumbline plugin lock -p REF`")?;
    let mut refused = Vec::new();
    for candidate in candidates {
        if let Err(mismatch) = lock.check(&candidate.subject) {
            refused.push(mismatch);
        }
    }
    let Some(first) = refused.first() else { return Ok(()) };
    let (few, all) = (refused.len(), candidates.len());
    let mut error =
        AppError::usage(format!("with `--locked`, {few} of {all} plugins may not run: they differ from `{shown}`"));
    for mismatch in &refused {
        error = error.because(mismatch);
    }
    Err(error.hint(first.hint()))
}

#[cfg(test)]
mod tests {
    use plumbline_bundle::signing::{Predicate, read_private, sign, write_pair};

    use super::*;

    struct Bed(tempfile::TempDir);

    impl Bed {
        /// Creates a directory with a key, and a policy that lets it sign `tap`.
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            write_pair(&place.at("k"), false).unwrap();
            place.write("policy.yaml", "version: 1\nkeys: {k: {file: k.pub}}\nrules: [{names: [tap], keys: [k]}]\n");
            place
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
            std::fs::write(self.at(name), text).unwrap();
        }

        fn bundle(&self, name: &str, word: &str) -> Bundle {
            let yaml = format!(
                "sonobuoy-config: {{driver: Job, plugin-name: {name}}}\nspec: {{name: plugin, image: {word}}}\n"
            );
            self.write(&format!("{name}-{word}/plugin.yaml"), &yaml);
            Bundle::open(self.at(&format!("{name}-{word}"))).unwrap()
        }

        fn signed(&self, bundle: &Bundle) -> Vec<Attestation> {
            let key = read_private(&self.at("k.key")).unwrap();
            vec![sign(&subject(bundle.name(), bundle.digest()), &Predicate::default(), &key).unwrap()]
        }

        fn require(&self, candidates: &[Candidate<'_>]) -> Result<(), String> {
            let policy = self.at("policy.yaml");
            let message = |error: AppError| error.in_full().replace(&self.0.path().display().to_string(), "DIR");
            require_signed(candidates, Some(&policy)).map_err(message)
        }
    }

    fn candidate<'a>(plugin: &'a str, bundle: Option<&'a Bundle>, proof: Proof) -> Candidate<'a> {
        let definition = bundle.map_or(Digest::of(b"built-in"), |bundle| bundle.definition_digest);
        Candidate { subject: Subject { name: plugin, origin: "ORIGIN", definition, bundle }, proof }
    }

    fn signatures(attestations: Vec<Attestation>) -> Proof {
        Proof::Signatures { attestations, reference: None }
    }

    #[test]
    fn built_in_and_signed_bundles_may_run() {
        let place = Bed::new();
        let tap = place.bundle("tap", "one");
        let signed = || signatures(place.signed(&tap));
        let built_in = candidate("host-facts", None, Proof::BuiltIn);
        // The same bundle may also have another name in this run.
        let all = [built_in, candidate("tap", Some(&tap), signed()), candidate("again", Some(&tap), signed())];
        place.require(&all).unwrap();
    }

    #[test]
    fn all_plugins_that_may_not_run_are_reported() {
        let place = Bed::new();
        let (tap, changed, other) =
            (place.bundle("tap", "one"), place.bundle("tap", "two"), place.bundle("other", "one"));
        let wrong = |candidates: &[Candidate<'_>]| place.require(candidates).unwrap_err();
        let message = wrong(&[
            candidate("host-facts", None, Proof::BuiltIn),
            candidate("tap", Some(&changed), signatures(place.signed(&tap))),
            candidate("other", Some(&other), signatures(place.signed(&other))),
            candidate("bare", Some(&tap), signatures(Vec::new())),
        ]);
        let message =
            message.replace(&tap.digest().to_string(), "TAP").replace(&changed.digest().to_string(), "CHANGED");
        insta::assert_snapshot!(message, @"
        error: with `--require-signed`, 3 of 4 plugins may not run
        cause: `tap` (`ORIGIN`): key `k` signed another bundle: TAP, expected CHANGED
        cause: `other` (`ORIGIN`): no rule of policy `DIR/policy.yaml` matches this name, so no signature is trusted
        cause: `bare` (`ORIGIN`): it is not signed
        hint:  have it signed by a trusted key: policy `DIR/policy.yaml` lists them; see more with `plumbline plugin verify`
        ");
        insta::assert_snapshot!(wrong(&[candidate("tap", Some(&tap), Proof::None("a directory"))]), @"
        error: with `--require-signed`, 1 of 1 plugins may not run
        cause: `tap` (`ORIGIN`): it is a directory, which cannot be signed
        hint:  pack and sign it: `plumbline plugin pack DIR`, then `plumbline plugin sign NAME.bundle.tar --key FILE`, and run the tar
        ");
    }

    #[test]
    fn only_what_is_locked_may_run() {
        let place = Bed::new();
        let (tap, changed) = (place.bundle("tap", "one"), place.bundle("tap", "two"));
        let of = |plugin, bundle| candidate(plugin, bundle, Proof::BuiltIn);
        let locked = |it: &Candidate<'_>| {
            let text = Lock::of(&[it.subject]);
            place.write("plumbline.lock", &text.unwrap().to_yaml().unwrap());
        };
        let check = |candidates: &[Candidate<'_>]| require_locked(candidates, &place.at("plumbline.lock"));
        locked(&of("tap", Some(&tap)));
        check(&[of("tap", Some(&tap))]).unwrap();
        let message = check(&[of("tap", Some(&changed)), of("more", None)]).unwrap_err().in_full();
        for wanted in [&tap.digest().to_string(), &changed.digest().to_string(), "`more`", "2 of 2"] {
            assert!(message.contains(wanted), "{message}");
        }
        locked(&of("host-facts", None));
        check(&[of("host-facts", None)]).unwrap();
        place.write("plumbline.lock", "version: 9\nplugins: []\n");
        assert!(check(&[]).unwrap_err().in_full().contains("version 9"));
        assert!(require_locked(&[], &place.at("gone.lock")).unwrap_err().in_full().contains("plugin lock"));
    }
}
