//! The way to the API server: kubeconfig, context, or the service account of a pod.

use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

use crate::error::{ClusterError, chain};

/// How long it may take to reach the API server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Which cluster. Nothing given: `$KUBECONFIG`, `~/.kube/config`, or the service account of the pod that this runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// The kubeconfig file; `None` for the usual ones.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; `None` for the current one.
    pub context: Option<String>,
}

/// The way to one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    /// For people: the context, the server's address, or «this pod's cluster».
    name: String,
}

impl Cluster {
    /// Finds the configuration and makes a client. Nothing is asked of the server yet.
    ///
    /// # Errors
    /// When no usable configuration is found.
    pub async fn connect(options: &ConnectOptions) -> Result<Self, ClusterError> {
        let (mut config, name) = load(options).await?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Who asks decides how long it is worth trying, and wants to know what the server said meanwhile.
        config.default_retry = false;
        // Logs, watches and exec sessions may be silent for long: no read timeout (it is what the client does by itself).
        let client = Client::try_from(config).map_err(|error| {
            ClusterError::new("use the kubeconfig", chain(&error))
                .hint("check the certificates and the credentials plugin that the context names")
        })?;
        Ok(Self { client, name })
    }

    /// The cluster of the pod that this process runs in, by its service account.
    ///
    /// # Errors
    /// When there is no service account.
    pub fn in_pod() -> Result<Self, ClusterError> {
        let failed = |error: &dyn std::error::Error| {
            ClusterError::new("use the service account of this pod", chain(error))
                .hint("the pod needs `automountServiceAccountToken`, which is on unless somebody turned it off")
        };
        let mut config = Config::incluster().map_err(|error| failed(&error))?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Who asks decides how long it is worth trying, and wants to know what the server said meanwhile.
        config.default_retry = false;
        let client = Client::try_from(config).map_err(|error| failed(&error))?;
        Ok(Self { client, name: "this pod's cluster".to_owned() })
    }

    /// A cluster behind a client that is there already.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self { client, name: name.into() }
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// For people: the context, or the server's address.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the API server.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn version(&self) -> Result<ServerVersion, ClusterError> {
        let info = self
            .client
            .apiserver_version()
            .await
            .map_err(|error| ClusterError::api("ask the API server for its version", &error))?;
        ServerVersion::parse(&info.git_version).ok_or_else(|| {
            ClusterError::new("read the API server's version", format!("`{}` is none", info.git_version))
        })
    }
}

async fn load(options: &ConnectOptions) -> Result<(Config, String), ClusterError> {
    let choice = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &options.kubeconfig {
        let what = format!("use the kubeconfig `{}`", path.display());
        let kubeconfig = Kubeconfig::read_from(path).map_err(|error| ClusterError::new(&what, chain(&error)))?;
        let name = name(&kubeconfig, options);
        let config = Config::from_custom_kubeconfig(kubeconfig, &choice)
            .await
            .map_err(|error| ClusterError::new(&what, chain(&error)))?;
        return Ok((config, name));
    }
    match Kubeconfig::read() {
        Ok(kubeconfig) => {
            let name = name(&kubeconfig, options);
            let config = Config::from_custom_kubeconfig(kubeconfig, &choice)
                .await
                .map_err(|error| ClusterError::new("use the kubeconfig", chain(&error)))?;
            Ok((config, name))
        }
        Err(error) => match Config::incluster() {
            Ok(config) if options.context.is_none() => Ok((config, "this pod's cluster".to_owned())),
            _ => Err(ClusterError::new("find a cluster", chain(&error)).hint(
                "name a kubeconfig with `--kubeconfig` or the variable `KUBECONFIG`; to run on this machine, add `--local`",
            )),
        },
    }
}

fn name(kubeconfig: &Kubeconfig, options: &ConnectOptions) -> String {
    options
        .context
        .clone()
        .or_else(|| kubeconfig.current_context.clone())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "the kubeconfig's cluster".to_owned())
}

/// The version of an API server, as far as decisions depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// As the server says it, such as `v1.30.2-eks-1234`.
    pub git_version: String,
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl ServerVersion {
    /// Reads a `gitVersion`.
    #[must_use]
    pub fn parse(git_version: &str) -> Option<Self> {
        let mut parts = git_version.strip_prefix('v')?.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { git_version: git_version.to_owned(), major, minor: digits.parse().ok()? })
    }

    /// Init containers with `restartPolicy: Always` are on by default from 1.29 on (KEP-753).
    #[must_use]
    pub fn has_native_sidecars(&self) -> bool {
        (self.major, self.minor) >= (1, 29)
    }

    /// The version without what vendors append: `v1.30.2`, or `v1.31.0-rc.1`. Build metadata goes, and so does every pre-release that
    /// does not begin with `rc`, `alpha` or `beta`: images of the project exist for these versions only.
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
mod tests {
    use super::*;

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

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_named() {
        let options = ConnectOptions { kubeconfig: Some("/does/not/exist".into()), context: None };
        let error = Cluster::connect(&options).await.err().unwrap();
        assert!(error.to_string().contains("/does/not/exist"), "{error}");
    }
}
