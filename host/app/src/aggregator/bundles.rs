//! Bundles that the aggregator finds in its image or pulls from registries before the run starts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use plumbline_aggregator::Source;
use plumbline_bundle::{Bundle, BundleError, Cache, CacheError, Digest};
use plumbline_core::config::Config;
use plumbline_registry::{Cause, Client, Kind, Reference, RegistryError, Settings};
use tokio::sync::Mutex;

use super::delay::StartWait;
use crate::error::{AppError, Explain as _, cache_error, quoted};
use crate::sources::registry::LARGEST_TAR;

const PARALLEL: usize = 4;

/// How long pulling all bundles may take.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The first pauses between attempts to reach a registry. The network and DNS of a pod may start later
/// than the pod.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// The further pauses.
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// The file with the CA certificates of the configuration.
const CA_FILE: &str = "registry-ca.pem";

/// The directories with bundles.
#[derive(Debug, Clone)]
pub(super) struct BundleDirs {
    /// Bundles that were pulled, by digest. A restarted aggregator finds them here.
    pub(super) fetched: PathBuf,
    /// Bundles in the image, by the name of the plugin.
    pub(super) baked: PathBuf,
}

/// A bundle that the configuration names.
#[derive(Debug, Clone)]
pub(super) struct BundleRequest {
    pub(super) plugin: String,
    /// `None` if the bundle is in the image.
    pub(super) reference: Option<Reference>,
    pub(super) digest: Digest,
}

/// Finds or pulls the bundles that the configuration names, and sets them in `sources`. Every
/// bundle is verified by its digest.
///
/// While a registry does not answer, tries again as long as a start waits. `on_delay` gets the error of
/// each attempt that another one follows.
///
/// # Errors
/// A temporary error, if a registry still does not answer.
pub(super) async fn fetch(
    config: &Config,
    sources: &mut [Source],
    places: &BundleDirs,
    wait: StartWait,
    on_delay: impl Fn(&AppError),
) -> Result<(), AppError> {
    let requests = requests(config, sources)?;
    if requests.is_empty() {
        return Ok(());
    }
    let mut found = outlast(wait, || find_or_pull(config, requests.clone(), places), on_delay).await?;
    for source in sources {
        let Some(dir) = found.remove(source.definition.name.as_str()) else { continue };
        if source.bundle.replace(dir).is_some() {
            let name = &source.definition.name;
            tracing::warn!("ignored the modules in ConfigMaps for plugin `{name}`: its bundle has its own");
        }
    }
    Ok(())
}

/// Repeats `attempt` while its error is temporary and there is time left.
async fn outlast<T, F: Future<Output = Result<T, AppError>>>(
    wait: StartWait,
    mut attempt: impl FnMut() -> F,
    on_delay: impl Fn(&AppError),
) -> Result<T, AppError> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let pause = pauses.next().unwrap_or(LAST_PAUSE);
        if !error.is_temporary() || pause >= wait.left() {
            return Err(error);
        }
        tracing::warn!("{error}; retrying in {} s", pause.as_secs());
        on_delay(&error);
        tokio::time::sleep(pause).await;
    }
}

/// Finds the bundles, or pulls them. A later attempt finds those that this one pulled.
async fn find_or_pull(
    config: &Config,
    requests: Vec<BundleRequest>,
    places: &BundleDirs,
) -> Result<ResolvedPlugin, AppError> {
    let (mut found, missing) = blocking({
        let places = places.clone();
        move || find(requests, &places)
    })
    .await??;
    if !missing.is_empty() {
        let client = client(config, places)?;
        found.extend(pull_all(&client, missing, places, &config.image_pull_secrets).await?);
    }
    Ok(found)
}

/// The bundles that the configuration names for plugins of this run.
fn requests(config: &Config, sources: &[Source]) -> Result<Vec<BundleRequest>, AppError> {
    let mut wanted: BTreeMap<String, BundleRequest> = BTreeMap::new();
    for bundle in &config.plumbline.bundles {
        let plugin = &bundle.plugin;
        let wrong = |what: &str, error: &dyn std::error::Error| {
            AppError::usage(format!("`Plumbline.Bundles` in the configuration has {what} for plugin `{plugin}`"))
                .because(error)
                .hint("correct this entry of the configuration (docs/configuration.md)")
        };
        let digest = bundle.digest.parse().map_err(|error| wrong("no digest", &error))?;
        let reference: Option<Reference> = match bundle.reference.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|error| wrong("no reference to a registry", &error))?),
        };
        // A tag can change until a restarted aggregator pulls again.
        if let Some(open) = reference.as_ref().filter(|reference| reference.digest().is_none()) {
            return Err(AppError::usage(format!(
                "`{open}` has no digest (`Plumbline.Bundles` in the configuration, plugin `{plugin}`)"
            ))
            .hint("write `oci://HOST/NAME@sha256:…`, with the digest that `plumbline plugin push` prints"));
        }
        if !sources.iter().any(|source| source.definition.name.as_str() == plugin) {
            tracing::warn!("ignored plugin `{plugin}` in `Plumbline.Bundles`: it is not in this run");
            continue;
        }
        let one = BundleRequest { plugin: plugin.clone(), reference, digest };
        if wanted.insert(plugin.clone(), one).is_some() {
            return Err(AppError::usage(format!(
                "`Plumbline.Bundles` in the configuration has plugin `{plugin}` twice"
            ))
            .hint("keep one of the two"));
        }
    }
    Ok(wanted.into_values().collect())
}

type ResolvedPlugin = BTreeMap<String, PathBuf>;

/// Finds the bundles that are in the image or were pulled before, and those that must be pulled.
fn find(
    wanted: Vec<BundleRequest>,
    places: &BundleDirs,
) -> Result<(ResolvedPlugin, Vec<(BundleRequest, Reference)>), AppError> {
    let (mut found, mut missing) = (ResolvedPlugin::new(), Vec::new());
    for one in wanted {
        match one.reference.clone() {
            None => {
                let dir = places.baked.join(&one.plugin);
                let bundle = Bundle::open(&dir).map_err(|error| match error {
                    BundleError::NoDefinition(_) => {
                        AppError::system(format!("the bundle of plugin `{}` is not in this image", one.plugin))
                            .cause(format!("`plugin.yaml` not found in `{}`", dir.display()))
                            .hint("bake it into the image of the run with `plumbline plugin bake`, and name that image with `--image`")
                    }
                    error => AppError::system(format!(
                        "failed to load the bundle of plugin `{}` from `{}` in this image",
                        one.plugin,
                        dir.display()
                    ))
                    .because(&error),
                })?;
                must_be(&one, &bundle)?;
                tracing::info!(plugin = one.plugin, digest = %one.digest, "using the bundle in the image");
                found.insert(one.plugin, dir);
            }
            Some(reference) => {
                let dir = places.fetched.join(one.digest.hex());
                match Bundle::open(&dir) {
                    Ok(bundle) if bundle.digest() == one.digest => {
                        must_be(&one, &bundle)?;
                        tracing::info!(plugin = one.plugin, digest = %one.digest, "the bundle was downloaded before");
                        found.insert(one.plugin, dir);
                    }
                    // An incomplete or changed bundle is pulled again, which replaces it.
                    _ => missing.push((one, reference)),
                }
            }
        }
    }
    Ok((found, missing))
}

/// Creates a client with the settings of the configuration, and the credentials that the
/// environment of the pod names (the mounted Secret).
fn client(config: &Config, places: &BundleDirs) -> Result<Client, AppError> {
    let dir = &places.fetched;
    let failed = format!("failed to create a directory for bundles in `{}`", dir.display());
    fs::create_dir_all(dir).system_error(&failed)?;
    let access = &config.plumbline.registry;
    let mut settings = Settings::from_environment(|name| std::env::var_os(name));
    settings.insecure.extend(access.insecure.iter().cloned());
    settings.token_servers.extend(access.token_servers.iter().cloned());
    if !access.ca.trim().is_empty() {
        let path = dir.join(CA_FILE);
        fs::write(&path, &access.ca).system_error(&failed)?;
        settings.ca_files.push(path);
    }
    settings.scratch = Some(dir.clone());
    settings.largest_blob = LARGEST_TAR;
    Client::new(settings).map_err(|error| {
        AppError::usage("invalid `Plumbline.Registry` in the configuration")
            .because(error.cause.as_ref())
            .hint("correct this key of the configuration (docs/configuration.md)")
    })
}

/// Pulls the missing bundles in parallel, until the first one fails.
async fn pull_all(
    client: &Client,
    missing: Vec<(BundleRequest, Reference)>,
    places: &BundleDirs,
    secret: &str,
) -> Result<ResolvedPlugin, AppError> {
    let mut waiting: Vec<String> = missing.iter().map(|(one, _)| one.plugin.clone()).collect();
    let puller = &Puller { client, dir: &places.fetched, secret, unpacking: Mutex::default() };
    let pulls = missing
        .into_iter()
        .map(|(one, reference)| async move { puller.fetched(&one, &reference).await.map(|dir| (one.plugin, dir)) });
    let mut pulls = stream::iter(pulls).buffer_unordered(PARALLEL);
    let all = async {
        let mut found = ResolvedPlugin::new();
        while let Some(ended) = pulls.next().await {
            let (plugin, dir) = ended?;
            waiting.retain(|other| *other != plugin);
            found.insert(plugin, dir);
        }
        Ok(found)
    };
    match tokio::time::timeout(TIMEOUT, all).await {
        Ok(found) => found,
        Err(_) => {
            let (names, seconds) = (quoted(waiting), TIMEOUT.as_secs());
            Err(AppError::system(format!(
                "timed out after {seconds} s while downloading the bundles of plugins: {names}"
            ))
            .hint(format!("the registry or the network is too slow: {ALTERNATIVES}")))
        }
    }
}

struct Puller<'a> {
    client: &'a Client,
    dir: &'a Path,
    /// The Secret for pulling images; empty if there is none.
    secret: &'a str,
    /// Held while a bundle is unpacked. A file is read into memory, and a pod has little.
    unpacking: Mutex<()>,
}

impl Puller<'_> {
    async fn fetched(&self, one: &BundleRequest, reference: &Reference) -> Result<PathBuf, AppError> {
        tracing::info!(plugin = one.plugin, %reference, "downloading the bundle");
        let pulled = plumbline_registry::pull(self.client, reference).await.map_err(|error| {
            let failed = not_fetched(one, reference).because(error.cause.as_ref());
            failed.hint_if(hint(&error, self.secret)).temporary_if(may_pass(&error.cause))
        })?;
        if pulled.kind == Kind::Module {
            return Err(not_fetched(one, reference).cause("it is a single WebAssembly file, not a bundle"));
        }
        // The digest of the tar is that of the bundle, so it is checked before anything is
        // unpacked.
        let digest = pulled.layer.digest.to_string();
        if digest != one.digest.to_string() {
            return Err(not_fetched(one, reference)
                .cause(format!("it has the digest {digest}, but the configuration expects {}", one.digest))
                .hint("compare it with the digest that `plumbline plugin push -o json` prints; if the configuration is right, someone changed the bundle: do not use it"));
        }
        let _alone = self.unpacking.lock().await;
        let dir = self.dir.to_owned();
        let bundle = blocking(move || unpacked(&dir, pulled.file.path())).await?.map_err(|error| {
            cache_error(format!("failed to load the bundle `{reference}` of plugin `{}`", one.plugin), &error)
        })?;
        must_be(one, &bundle)?;
        tracing::info!(plugin = one.plugin, digest = %one.digest, "the bundle is ready");
        Ok(bundle.dir)
    }
}

/// Whether the registry is away or overloaded.
fn may_pass(cause: &Cause) -> bool {
    matches!(cause, Cause::Connection(_) | Cause::Slow(_) | Cause::Status { status: 429 | 500..=599, .. })
}

fn unpacked(dir: &Path, tar: &Path) -> Result<Bundle, CacheError> {
    let file = File::open(tar).map_err(|source| CacheError::Io { path: tar.to_owned(), source })?;
    Cache::at(dir.to_owned()).unpacked(BufReader::new(file))
}

/// Runs blocking work on a thread of its own, because the others send heartbeats.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, AppError> {
    tokio::task::spawn_blocking(work).await.system_error("a thread that checks bundles failed")
}

const ALTERNATIVES: &str = "`run --bundle-delivery config-maps` carries modules of up to 32 MiB, and `plumbline plugin bake` puts them into the image";

/// A hint about an error of a registry, which names parts of the configuration. `secret` is the Secret
/// for pulling images; empty if there is none.
fn hint(error: &RegistryError, secret: &str) -> Option<String> {
    let allow = match secret {
        "" => "add a Secret of the type `kubernetes.io/dockerconfigjson` to `ImagePullSecrets` of the configuration, with credentials for the registry, in the run's namespace".to_owned(),
        name => format!("check the Secret `{name}` of `ImagePullSecrets`: it must be in the run's namespace, of the type `kubernetes.io/dockerconfigjson`, with credentials for this registry"),
    };
    Some(match &*error.cause {
        Cause::Unauthorized { .. } | Cause::Denied(_) => allow,
        Cause::Credentials(_) => format!("the credentials are those of the Secret `{secret}`"),
        Cause::NotFound(_) => format!("check that it is still in the registry; if the repository is private: {allow}"),
        Cause::Tls(_) | Cause::Redirect { .. } => {
            "put the registry's CA into `Plumbline.Registry.CA` of the configuration, or a registry over plain HTTP into `Plumbline.Registry.Insecure`; `run` and `gen` write them from `--registry-ca FILE` and `--insecure-registry HOST[:PORT]`".to_owned()
        }
        Cause::Connection(_) | Cause::Slow(_) => format!(
            "check that pods of the run's namespace can reach the registry: DNS, network policies, proxy (`--plugin-env sonobuoy.HTTPS_PROXY=URL`). Otherwise, {ALTERNATIVES}"
        ),
        _ => return error.hint(),
    })
}

fn not_fetched(one: &BundleRequest, reference: &Reference) -> AppError {
    AppError::system(format!("failed to fetch the bundle `{reference}` of plugin `{}`", one.plugin))
}

/// Checks that a bundle is that of the plugin, with the digest of the configuration.
fn must_be(one: &BundleRequest, bundle: &Bundle) -> Result<(), AppError> {
    let plugin = &one.plugin;
    if bundle.digest() != one.digest {
        let what = format!("wrong bundle of plugin `{plugin}` in `{}`", bundle.dir.display());
        let why = format!("it has the digest {}, but the configuration expects {}", bundle.digest(), one.digest);
        return Err(AppError::system(what).cause(why).hint(
            "bake the image again with the bundle of the run, or start the run with the bundle that is in the image",
        ));
    }
    if bundle.name() == plugin {
        return Ok(());
    }
    let what = format!("the bundle in `Plumbline.Bundles` for plugin `{plugin}` belongs to another plugin");
    Err(AppError::system(what).cause(format!("its definition has the name `{}`", bundle.name())))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use plumbline_kubernetes::manifest::START_PATIENCE;
    use tokio::time::Instant;

    use super::*;

    fn away<T>() -> Result<T, AppError> {
        Err(AppError::system("the registry is away").temporary_if(true))
    }

    #[tokio::test(start_paused = true)]
    async fn a_registry_that_is_away_is_awaited_for_a_limited_time() {
        let (attempts, delays) = (Cell::new(0), Cell::new(0));
        let counted = |_: &AppError| delays.set(delays.get() + 1);
        let answers_last = || {
            attempts.set(attempts.get() + 1);
            std::future::ready(if attempts.get() < 100 { away() } else { Ok(7) })
        };
        assert_eq!(outlast(StartWait::start(), answers_last, counted).await.unwrap(), 7);
        assert_eq!(delays.get(), 99);

        let start = Instant::now();
        let error = outlast(StartWait::start(), || std::future::ready(away::<()>()), counted).await.unwrap_err();
        let waited = start.elapsed();
        assert!(error.is_temporary() && waited <= START_PATIENCE && waited > START_PATIENCE / 2, "{waited:?}");

        let start = Instant::now();
        let denied = || std::future::ready(Err::<(), _>(AppError::system("access denied")));
        assert!(outlast(StartWait::start(), denied, counted).await.is_err());
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[test]
    fn only_a_registry_that_is_away_or_overloaded_is_awaited() {
        let status = |status| Cause::Status { status, message: String::new() };
        for cause in [Cause::Connection("refused".into()), Cause::Slow(60), status(429), status(500), status(503)] {
            assert!(may_pass(&cause), "{cause}");
        }
        let (denied, missing) = (Cause::Denied(String::new()), Cause::NotFound(String::new()));
        for cause in [denied, missing, Cause::Tls("unknown CA".into()), status(400), status(418)] {
            assert!(!may_pass(&cause), "{cause}");
        }
    }
}
