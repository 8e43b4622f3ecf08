//! What goes wrong with bundles that the aggregator fetches, in words for whoever reads its log: which plugin, which reference, why, and
//! what to change in the configuration. The hints for the command line would lead nowhere here.

use std::path::Path;
use std::time::Duration;

use plumbline_bundle::{Bundle, BundleError, CacheError};
use plumbline_registry::{Cause, Reference, RegistryError};

use super::bundles::Wanted;
use crate::error::CliError;
use crate::sources::cache_error;

/// What else there is, when a registry is no way.
const OTHER_WAYS: &str = "`run --bundle-delivery config-maps` carries modules of up to 32 MiB, and `plumbline plugin bake` puts them into the image";

/// Knows what of the configuration a hint must name.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    /// The Secret for pulling images; empty: none.
    pub(super) secret: String,
}

impl Trouble {
    fn of(one: &Wanted, reference: &Reference) -> CliError {
        CliError::system(format!("the bundle `{reference}` of plugin `{}` cannot be fetched", one.plugin))
    }

    pub(super) fn not_pulled(&self, one: &Wanted, reference: &Reference, error: &RegistryError) -> CliError {
        let told = Self::of(one, reference).because(error.cause.as_ref());
        match self.hint(error) {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }

    fn hint(&self, error: &RegistryError) -> Option<String> {
        let secret = match self.secret.as_str() {
            "" => "`ImagePullSecrets` of the configuration names no Secret: name one of the type `kubernetes.io/dockerconfigjson` in the run's namespace that has credentials for the registry".to_owned(),
            name => format!("the aggregator logs in with the Secret `{name}`, which `ImagePullSecrets` of the configuration names: is it in the run's namespace, of the type `kubernetes.io/dockerconfigjson`, with credentials for this registry?"),
        };
        Some(match &*error.cause {
            Cause::Unauthorized { .. } | Cause::Denied(_) => secret,
            Cause::Credentials(_) => format!("the credentials are those of the Secret `{}`", self.secret),
            Cause::NotFound(_) => format!("is it still in the registry? Some hide from strangers what is there: {secret}"),
            Cause::Tls(_) | Cause::Redirect { .. } => {
                "the registry's authority belongs into `Plumbline.Registry.CA` of the configuration, and a registry without encryption into `Plumbline.Registry.Insecure`; `run` and `gen` write both, from `--registry-ca FILE` and `--insecure-registry HOST[:PORT]`".to_owned()
            }
            Cause::Connection(_) | Cause::Slow(_) => format!(
                "pods of the run's namespace must reach the registry: look at DNS, network policies and the proxy (`--plugin-env sonobuoy.HTTPS_PROXY=URL`). Else {OTHER_WAYS}"
            ),
            _ => return error.hint(),
        })
    }

    pub(super) fn no_bundle(&self, one: &Wanted, reference: &Reference) -> CliError {
        Self::of(one, reference).because(&Plain("it is a single WebAssembly file, and no bundle".to_owned()))
    }

    pub(super) fn another(&self, one: &Wanted, reference: &Reference, digest: &str) -> CliError {
        Self::of(one, reference)
            .because(&Plain(format!("it has the digest {digest}, and the configuration wants {}", one.digest)))
            .hint("the digest is the bundle's, the one in the reference that of its manifest: `plumbline plugin push --json` prints both. If they were right, somebody changed it: do not use it")
    }

    pub(super) fn hostile(&self, one: &Wanted, reference: &Reference, error: &CacheError) -> CliError {
        cache_error(format!("the bundle `{reference}` of plugin `{}` cannot be used", one.plugin), error)
    }

    pub(super) fn late(&self, waiting: &[String], patience: Duration) -> CliError {
        let names: Vec<_> = waiting.iter().map(|name| format!("`{name}`")).collect();
        let (names, seconds) = (names.join(", "), patience.as_secs());
        CliError::system(format!("the bundles of these plugins were not fetched within {seconds} s: {names}"))
            .hint(format!("the registry or the way to it is too slow. {OTHER_WAYS}"))
    }

    pub(super) fn not_baked(&self, one: &Wanted, dir: &Path) -> CliError {
        CliError::system(format!("the bundle of plugin `{}` is not in this image", one.plugin))
            .because(&Plain(format!("there is no `plugin.yaml` in `{}`", dir.display())))
            .hint("bake it into the image of the run with `plumbline plugin bake`, and name that image with `--image`")
    }

    pub(super) fn damaged_image(&self, one: &Wanted, dir: &Path, error: &BundleError) -> CliError {
        CliError::system(format!(
            "the bundle of plugin `{}` in `{}` of this image cannot be used",
            one.plugin,
            dir.display()
        ))
        .because(error)
    }

    /// It must be the plugin's, and the one that was named.
    pub(super) fn must_be(&self, one: &Wanted, bundle: &Bundle) -> Result<(), CliError> {
        let plugin = &one.plugin;
        if bundle.digest() != one.digest {
            let what =
                format!("the bundle of plugin `{plugin}` in `{}` is not the one that is wanted", bundle.dir.display());
            let why = format!("it has the digest {}, and the configuration wants {}", bundle.digest(), one.digest);
            return Err(CliError::system(what).because(&Plain(why)).hint(
                "bake the image anew with the bundle of the run, or begin the run with the bundle that is in the image",
            ));
        }
        if bundle.name() == plugin {
            return Ok(());
        }
        let what = format!("the bundle that `Plumbline.Bundles` names for plugin `{plugin}` is that of another");
        Err(CliError::system(what).because(&Plain(format!("its definition is that of `{}`", bundle.name()))))
    }
}

/// A cause that is nobody's error but ours.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Plain(String);
