//! Runs that begin only with what is signed, or locked.

use std::fmt;
use std::path::Path;

use plumbline_bundle::signing::Envelope;
use plumbline_bundle::{Bundle, Digest, Lock, Subject};

use super::policy::policy;
use super::target::subject;
use crate::args::PolicyArg;
use crate::error::CliError;

/// Bytes of a lock file: more than any has.
const MAX_LOCK_BYTES: u64 = 8 << 20;

/// A plugin that is about to run.
pub(crate) struct Candidate<'a> {
    /// Its name in the run.
    pub(crate) plugin: &'a str,
    /// What was asked for.
    pub(crate) origin: &'a str,
    /// The digest of its definition's file.
    pub(crate) definition: Digest,
    /// Its bundle, if it came as one.
    pub(crate) bundle: Option<&'a Bundle>,
    /// What could vouch for it.
    pub(crate) warrant: Warrant,
}

/// What could vouch for a plugin.
pub(crate) enum Warrant {
    /// It is part of this program.
    BuiltIn,
    /// Nothing could: what it came as, in words that follow "it is".
    None(&'static str),
    /// Signatures, some of which may count.
    Signatures {
        /// What was found beside the bundle.
        envelopes: Vec<Envelope>,
        /// Where it was pulled from, if it was.
        reference: Option<String>,
    },
}

/// Why a plugin may not run.
#[derive(Debug)]
struct Reason(String);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

/// Refuses plugins that are neither part of this program nor bundles with a signature that counts. All that are refused are told.
pub(crate) fn require_signed(candidates: &[Candidate<'_>], arg: &PolicyArg) -> Result<(), CliError> {
    let trust = policy(arg)?;
    let (mut refused, mut loose) = (Vec::new(), false);
    for candidate in candidates {
        let reason = match (&candidate.warrant, candidate.bundle) {
            (Warrant::BuiltIn, _) => continue,
            (Warrant::Signatures { envelopes, reference }, Some(bundle)) => {
                // The bundle's own name: what it is called in this run is the operator's word.
                let subject = subject(bundle.name(), bundle.digest());
                match trust.verify(envelopes, &subject, reference.as_deref()) {
                    Ok(verified) => {
                        tracing::info!(plugin = candidate.plugin, key = verified.key, "its signature counts");
                        continue;
                    }
                    Err(reasons) => reasons.join("; "),
                }
            }
            (Warrant::None(what), _) => {
                loose = true;
                format!("it is {what}, which nothing can vouch for")
            }
            (Warrant::Signatures { .. }, None) => {
                loose = true;
                "it is not a bundle, which is what is signed".to_owned()
            }
        };
        refused.push(Reason(format!("`{}` (`{}`): {reason}", candidate.plugin, candidate.origin)));
    }
    if refused.is_empty() {
        return Ok(());
    }
    let (few, all) = (refused.len(), candidates.len());
    let mut told = CliError::usage(format!("with `--require-signed`, {few} of {all} plugins may not run"));
    for reason in &refused {
        told = told.because(reason);
    }
    Err(told.hint(match loose {
        true => "pack and sign it: `plumbline plugin pack DIR`, then `plumbline plugin sign NAME.bundle.tar --key FILE`, and run the tar".to_owned(),
        false => format!(
            "have it signed by a key that counts: {} says which (`plumbline plugin verify` tells more)",
            trust.name()
        ),
    }))
}

/// Refuses plugins that are not what the lock file has.
pub(crate) fn require_locked(candidates: &[Candidate<'_>], path: &Path) -> Result<(), CliError> {
    let shown = path.display();
    let text = super::bounded_text(path, MAX_LOCK_BYTES).map_err(|error| {
        CliError::usage(format!("failed to read the lock file `{shown}`"))
            .because(&error)
            .hint("`plumbline plugin lock -p REF` writes one")
    })?;
    let lock =
        Lock::parse(&text).map_err(|error| CliError::usage(format!("invalid lock file `{shown}`")).because(&error))?;
    let mut refused = Vec::new();
    for &Candidate { plugin, origin, definition, bundle, .. } in candidates {
        if let Err(mismatch) = lock.check(&Subject { name: plugin, origin, definition, bundle }) {
            refused.push(mismatch);
        }
    }
    let Some(first) = refused.first() else { return Ok(()) };
    let (few, all) = (refused.len(), candidates.len());
    let mut told =
        CliError::usage(format!("with `--locked`, {few} of {all} plugins may not run: `{shown}` has others"));
    for mismatch in &refused {
        told = told.because(mismatch);
    }
    Err(told.hint(first.hint()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbline_bundle::signing::{Predicate, read_private, sign, write_pair};

    struct Place(tempfile::TempDir);

    impl Place {
        /// With a key, and a policy by which it signs `tap`.
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            write_pair(&place.at("k"), false).unwrap();
            place.write("policy.yaml", "version: 1\nkeys: {k: {file: k.pub}}\nrules: [{names: [tap], keys: [k]}]\n");
            place
        }

        fn at(&self, name: &str) -> std::path::PathBuf {
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

        fn signed(&self, bundle: &Bundle) -> Vec<Envelope> {
            let key = read_private(&self.at("k.key")).unwrap();
            vec![sign(&subject(bundle.name(), bundle.digest()), &Predicate::default(), &key).unwrap()]
        }

        fn require(&self, candidates: &[Candidate<'_>]) -> Result<(), String> {
            let arg = PolicyArg { policy: Some(self.at("policy.yaml")) };
            let told = |error: CliError| error.to_string().replace(&self.0.path().display().to_string(), "DIR");
            require_signed(candidates, &arg).map_err(told)
        }
    }

    fn candidate<'a>(plugin: &'a str, bundle: Option<&'a Bundle>, warrant: Warrant) -> Candidate<'a> {
        let definition = bundle.map_or(Digest::of(b"built-in"), |bundle| bundle.definition_digest);
        Candidate { plugin, origin: "ORIGIN", definition, bundle, warrant }
    }

    fn signatures(envelopes: Vec<Envelope>) -> Warrant {
        Warrant::Signatures { envelopes, reference: None }
    }

    #[test]
    fn built_in_and_signed_bundles_may_run() {
        let place = Place::new();
        let tap = place.bundle("tap", "one");
        let signed = || signatures(place.signed(&tap));
        let built_in = candidate("host-facts", None, Warrant::BuiltIn);
        // Under another name in this run, too: the bundle is the same.
        let all = [built_in, candidate("tap", Some(&tap), signed()), candidate("again", Some(&tap), signed())];
        place.require(&all).unwrap();
    }

    #[test]
    fn all_that_may_not_run_are_told() {
        let place = Place::new();
        let (tap, changed, other) =
            (place.bundle("tap", "one"), place.bundle("tap", "two"), place.bundle("other", "one"));
        let wrong = |candidates: &[Candidate<'_>]| {
            anstream::adapter::strip_str(&place.require(candidates).unwrap_err()).to_string()
        };
        let told = wrong(&[
            candidate("host-facts", None, Warrant::BuiltIn),
            candidate("tap", Some(&changed), signatures(place.signed(&tap))),
            candidate("other", Some(&other), signatures(place.signed(&other))),
            candidate("bare", Some(&tap), signatures(Vec::new())),
        ]);
        let told = told.replace(&tap.digest().to_string(), "TAP").replace(&changed.digest().to_string(), "CHANGED");
        insta::assert_snapshot!(told, @"
        error: with `--require-signed`, 3 of 4 plugins may not run
        cause: `tap` (`ORIGIN`): what key `k` has signed has the digest TAP; this is CHANGED
        cause: `other` (`ORIGIN`): no rule of policy `DIR/policy.yaml` is for this name, so nobody may sign it
        cause: `bare` (`ORIGIN`): there is no signature
        hint:  have it signed by a key that counts: policy `DIR/policy.yaml` says which (`plumbline plugin verify` tells more)
        ");
        insta::assert_snapshot!(wrong(&[candidate("tap", Some(&tap), Warrant::None("a directory"))]), @"
        error: with `--require-signed`, 1 of 1 plugins may not run
        cause: `tap` (`ORIGIN`): it is a directory, which nothing can vouch for
        hint:  pack and sign it: `plumbline plugin pack DIR`, then `plumbline plugin sign NAME.bundle.tar --key FILE`, and run the tar
        ");
    }

    #[test]
    fn only_what_is_locked_may_run() {
        let place = Place::new();
        let (tap, changed) = (place.bundle("tap", "one"), place.bundle("tap", "two"));
        let of = |plugin, bundle| candidate(plugin, bundle, Warrant::BuiltIn);
        let locked = |it: &Candidate<'_>| {
            let text = Lock::of(&[Subject {
                name: it.plugin,
                origin: it.origin,
                definition: it.definition,
                bundle: it.bundle,
            }]);
            place.write("plumbline.lock", &text.unwrap().to_yaml().unwrap());
        };
        let check = |candidates: &[Candidate<'_>]| require_locked(candidates, &place.at("plumbline.lock"));
        locked(&of("tap", Some(&tap)));
        check(&[of("tap", Some(&tap))]).unwrap();
        let told = check(&[of("tap", Some(&changed)), of("more", None)]).unwrap_err().to_string();
        for wanted in [&tap.digest().to_string(), &changed.digest().to_string(), "`more`", "2 of 2"] {
            assert!(told.contains(wanted), "{told}");
        }
        locked(&of("host-facts", None));
        check(&[of("host-facts", None)]).unwrap();
        place.write("plumbline.lock", "version: 9\nplugins: []\n");
        assert!(check(&[]).unwrap_err().to_string().contains("version 9"));
        assert!(require_locked(&[], &place.at("gone.lock")).unwrap_err().to_string().contains("plugin lock"));
    }
}
