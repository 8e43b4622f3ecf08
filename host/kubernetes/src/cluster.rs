//! Connects to the API server with a kubeconfig and context, or with a pod's service account.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::client::ClientBuilder;
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Client};
use plumbline_telemetry::Family;

use crate::error::{ClusterError, chain};
use crate::traffic::Traffic;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The name of the cluster of this process's pod.
const IN_POD: &str = "this pod's cluster";

/// Selects the cluster to connect to.
///
/// By default this is `$KUBECONFIG`, `~/.kube/config`, or the service account of the pod in which
/// this process runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// The kubeconfig file, or `None` for the default ones.
    pub kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig, or `None` for the current one.
    pub context: Option<String>,
}

/// A client for one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    /// The name for messages: the context, the server's URL, or "this pod's cluster".
    name: String,
    pub(crate) traffic: Traffic,
}

impl Cluster {
    /// Loads the configuration and creates a client, without sending a request.
    ///
    /// # Errors
    /// Returns an error if there is no usable configuration.
    pub async fn connect(options: &ConnectOptions) -> Result<Self, ClusterError> {
        let (config, name) = load(options).await?;
        Self::with(config, name).map_err(|error| {
            ClusterError::new("use the kubeconfig", chain(&error))
                .hint("check the certificates and the credentials plugin that the context names")
        })
    }

    /// Creates a client for the cluster of the pod in which this process runs, with its service
    /// account.
    ///
    /// # Errors
    /// Returns an error if there is no service account.
    pub fn in_pod() -> Result<Self, ClusterError> {
        let failed = |error: &dyn std::error::Error| {
            ClusterError::new("use the service account of this pod", chain(error))
                .hint("set `automountServiceAccountToken: true` for the pod")
        };
        let config = Config::incluster().map_err(|error| failed(&error))?;
        Self::with(config, IN_POD.to_owned()).map_err(|error| failed(&error))
    }

    /// Creates a client. Logs, watches and exec sessions may be silent for a long time, so there is
    /// no read timeout, which is the client's default.
    fn with(mut config: Config, name: String) -> kube::Result<Self> {
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // The caller decides how long to retry, and reports the server's errors meanwhile.
        config.default_retry = false;
        let traffic = Traffic::default();
        Ok(Self { client: ClientBuilder::try_from(config)?.with_layer(&traffic).build(), name, traffic })
    }

    /// Wraps an existing client, whose requests are not counted.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self { client, name: name.into(), traffic: Traffic::default() }
    }

    /// Returns the number of requests so far, as a metric.
    #[must_use]
    pub fn request_family(&self) -> Family {
        self.traffic.family()
    }

    /// Returns a clone of the client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the name for messages: the context, or the server's URL.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version of the API server.
    ///
    /// # Errors
    /// Returns an error if the request fails, or if the version cannot be parsed.
    pub async fn version(&self) -> Result<ServerVersion, ClusterError> {
        let info = self
            .client
            .apiserver_version()
            .await
            .map_err(|error| ClusterError::api("ask the API server for its version", &error))?;
        ServerVersion::parse(&info.git_version).ok_or_else(|| {
            ClusterError::new("read the API server's version", format!("invalid version `{}`", info.git_version))
        })
    }

    /// Returns the UID of the namespace `kube-system`, which identifies the cluster: it exists as
    /// long as the cluster does.
    ///
    /// # Errors
    /// Returns an error if the request fails, for example because the namespace may not be read.
    pub async fn uid(&self) -> Result<Option<String>, ClusterError> {
        let found = Api::<Namespace>::all(self.client()).get_metadata("kube-system").await;
        let found = found.map_err(|error| ClusterError::api("read namespace `kube-system`", &error))?;
        Ok(found.metadata.uid)
    }

    /// Returns the annotation `key` of the custom resource definition `name`.
    ///
    /// # Errors
    /// Returns an error if the request fails, or if the definition or the annotation is missing.
    pub async fn crd_annotation(&self, name: &str, key: &str) -> Result<String, ClusterError> {
        let what = format!("read custom resource definition `{name}`");
        let found = Api::<CustomResourceDefinition>::all(self.client()).get_metadata_opt(name).await;
        let Some(found) = found.map_err(|error| ClusterError::api(&what, &error))? else {
            return Err(ClusterError::new(what, format!("cluster `{}` has no such definition", self.name))
                .hint("install the custom resource definitions of the API that the suite tests"));
        };
        found.metadata.annotations.and_then(|mut all| all.remove(key)).ok_or_else(|| {
            ClusterError::new(what, format!("it has no annotation `{key}` in cluster `{}`", self.name))
                .hint("install the custom resource definitions again, with the annotations of their release")
        })
    }

    /// Returns the names of the namespaces, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the request fails.
    pub async fn namespaces(&self, limit: u32) -> Result<Vec<String>, ClusterError> {
        let found = Api::<Namespace>::all(self.client()).list_metadata(&ListParams::default().limit(limit)).await;
        let found = found.map_err(|error| ClusterError::api("list the namespaces", &error))?;
        Ok(found.items.into_iter().filter_map(|namespace| namespace.metadata.name).collect())
    }
}

/// Returns the names of the contexts in the kubeconfig, or in the default ones. There are none if
/// it cannot be read.
#[must_use]
pub fn contexts(kubeconfig: Option<&Path>) -> Vec<String> {
    let read = kubeconfig.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    read.map(|read| read.contexts.into_iter().map(|context| context.name).collect()).unwrap_or_default()
}

/// Returns whether `options` or the environment name a cluster, usable or not.
#[must_use]
pub fn has_configuration(options: &ConnectOptions) -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let file = || set("HOME").is_some_and(|home| Path::new(&home).join(".kube/config").exists());
    options != &ConnectOptions::default()
        || set("KUBECONFIG").is_some()
        || set("KUBERNETES_SERVICE_HOST").is_some()
        || file()
}

/// Returns the configuration, and the name of the cluster.
async fn load(options: &ConnectOptions) -> Result<(Config, String), ClusterError> {
    let (what, kubeconfig) = match &options.kubeconfig {
        Some(path) => {
            let what = format!("use the kubeconfig `{}`", path.display());
            let read = Kubeconfig::read_from(path).map_err(|error| ClusterError::new(&what, unusable(&error)))?;
            (what, read)
        }
        None => match Kubeconfig::read() {
            Ok(read) => ("use the kubeconfig".to_owned(), read),
            Err(error) => match Config::incluster() {
                Ok(config) if options.context.is_none() && is_absent(&error, &list()) => {
                    return Ok((config, IN_POD.to_owned()));
                }
                _ => return Err(ClusterError::new("find a cluster", unusable(&error)).hint(
                    "pass a kubeconfig with `--kubeconfig` or the variable `KUBECONFIG`; to run on this machine, add `--local`",
                )),
            },
        },
    };
    let context = options.context.clone();
    let name = context.clone().or_else(|| kubeconfig.current_context.clone()).filter(|name| !name.is_empty());
    let choice = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &choice)
        .await
        .map_err(|error| ClusterError::new(what, chain(&error)))?;
    Ok((config, name.unwrap_or_else(|| "the kubeconfig's cluster".to_owned())))
}

/// Returns `$KUBECONFIG`, a list of files, which is empty if it is not set.
fn list() -> OsString {
    std::env::var_os("KUBECONFIG").unwrap_or_default()
}

/// Returns whether an error of the default kubeconfig means that no such file exists. `list` is
/// `$KUBECONFIG`.
///
/// With any other error, the pod's cluster could be another one than the kubeconfig names.
fn is_absent(error: &KubeconfigError, list: &OsStr) -> bool {
    let files: Vec<PathBuf> = std::env::split_paths(list).filter(|file| !file.as_os_str().is_empty()).collect();
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(source, _) if files.is_empty() => {
            // The home directory in an image may be that of another user.
            let kinds = [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::PermissionDenied];
            kinds.contains(&source.kind())
        }
        KubeconfigError::ReadConfig(..) => files.iter().all(|file| file.try_exists().is_ok_and(|exists| !exists)),
        _ => false,
    }
}

/// Returns why a kubeconfig is unusable. The client's own message has its path in two pairs of quotes.
fn unusable(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(source, path) => format!("failed to read `{}`: {source}", path.display()),
        other => chain(other),
    }
}

/// The version of an API server, as far as decisions depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// The version as the server reports it, such as `v1.30.2-eks-1234`.
    pub git_version: String,
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl ServerVersion {
    /// Parses a `gitVersion`. Returns `None` if it has no major and minor version.
    #[must_use]
    pub fn parse(git_version: &str) -> Option<Self> {
        let mut parts = git_version.strip_prefix('v')?.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { git_version: git_version.to_owned(), major, minor: digits.parse().ok()? })
    }

    /// Returns true if init containers with `restartPolicy: Always` are enabled by default, which
    /// is since 1.29 (KEP-753).
    #[must_use]
    pub fn has_native_sidecars(&self) -> bool {
        (self.major, self.minor) >= (1, 29)
    }

    /// Returns the version without vendor suffixes, such as `v1.30.2` or `v1.31.0-rc.1`.
    ///
    /// Build metadata is removed, and so is a pre-release that does not begin with `rc`, `alpha` or
    /// `beta`. The project publishes images only for the remaining versions.
    #[must_use]
    pub fn image_version(&self) -> String {
        let plain = self.git_version.split('+').next().unwrap_or_default();
        match plain.split_once('-') {
            Some((_, pre)) if ["rc", "alpha", "beta"].iter().any(|known| pre.starts_with(known)) => plain.to_owned(),
            Some((version, _)) => version.to_owned(),
            None => plain.to_owned(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) async fn cluster(double: &plumbline_dev::ApiDouble) -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, double.kubeconfig()).unwrap();
        Cluster::connect(&ConnectOptions { kubeconfig: Some(kubeconfig), context: None }).await.unwrap()
    }

    #[test]
    fn vendors_versions_are_reduced() {
        for (given, image) in [
            ("v1.30.2", "v1.30.2"),
            ("v1.15.10-eks-bac369", "v1.15.10"),
            ("v1.31.0-rc.1+abc", "v1.31.0-rc.1"),
            ("v1.27.3+k3s1", "v1.27.3"),
            ("v1.20.2-beta.0", "v1.20.2-beta.0"),
        ] {
            assert_eq!(ServerVersion::parse(given).unwrap().image_version(), image, "{given}");
        }
        assert_eq!(ServerVersion::parse("v1.27+").unwrap().minor, 27);
        assert!(ServerVersion::parse("1.27").is_none());
        assert!(ServerVersion::parse("v1.29.0").unwrap().has_native_sidecars());
        assert!(!ServerVersion::parse("v1.28.9").unwrap().has_native_sidecars());
    }

    #[test]
    fn only_without_a_kubeconfig_the_pods_cluster_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let damaged = path("damaged");
        std::fs::write(&damaged, "{").unwrap();
        let error = |path: &Path| Kubeconfig::read_from(path).unwrap_err();
        let list = |files: [&str; 2]| std::env::join_paths(files.map(path)).unwrap();
        let none = OsStr::new("");
        assert!(is_absent(&KubeconfigError::FindPath, none));
        assert!(is_absent(&error(&path("gone")), none));
        assert!(is_absent(&error(&damaged.join("config")), none), "a file is in the place of `.kube`");
        assert!(is_absent(&error(&path("gone")), &list(["gone", "gone too"])));
        assert!(!is_absent(&error(&damaged), none));
        assert!(!is_absent(&error(&damaged), damaged.as_os_str()));
        assert!(!is_absent(&error(&path("gone")), &list(["damaged", "gone"])), "one of them is there");
        assert!(!is_absent(&error(dir.path()), dir.path().as_os_str()), "a directory cannot be read");
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_named() {
        let options = ConnectOptions { kubeconfig: Some("/does/not/exist".into()), context: None };
        let error = Cluster::connect(&options).await.err().unwrap();
        assert!(error.to_string().contains("/does/not/exist"), "{error}");
    }
}
