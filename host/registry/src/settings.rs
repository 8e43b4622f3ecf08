//! Settings for access to registries.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::credentials::CredentialFiles;
use crate::error::Cause;
use crate::limits::MAX_BLOB_BYTES;
use crate::mirror::MIRRORS_VARIABLE;
use crate::reference::check_registry;
use crate::token_server::TOKEN_SERVERS_VARIABLE;

/// Environment variable with files of additional CA certificates, separated by `:`.
pub const CA_VARIABLE: &str = "PLUMBLINE_REGISTRY_CA";
/// Environment variable with registries that use plain HTTP, separated by commas.
pub const INSECURE_VARIABLE: &str = "PLUMBLINE_INSECURE_REGISTRIES";

/// Settings of a [`Client`](crate::Client).
#[derive(Debug, Clone)]
pub struct Settings {
    /// Registries that use plain HTTP, each `HOST` (with port 80) or `HOST:PORT`. All others use
    /// HTTPS.
    pub insecure: Vec<String>,
    /// Mirrors, each `HOST[/PATH]=HOST[:PORT][/PATH]`. They apply only to reads.
    pub mirrors: Vec<String>,
    /// Token servers that may receive the credentials of a registry with another name, each
    /// `REGISTRY=HOST[:PORT]`.
    pub token_servers: Vec<String>,
    /// PEM files of CAs to trust in addition to the system's.
    pub authorities: Vec<PathBuf>,
    /// Locations of credentials.
    pub credentials: CredentialFiles,
    /// Timeouts and retries.
    pub patience: Timeouts,
    /// Whether to use the proxies that environment variables specify.
    pub proxies: bool,
    /// Maximum size of a blob, in bytes.
    pub largest_blob: u64,
    /// Directory of the download cache, which is used for references by digest. `None` disables it.
    /// Its size is limited, and several processes can use it at the same time.
    pub downloads: Option<PathBuf>,
    /// Directory for incomplete downloads. `None` means the system's temporary directory.
    pub scratch: Option<PathBuf>,
}

/// Timeouts and retries of requests.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Timeout of a connection attempt.
    pub connect: Duration,
    /// Timeout between two chunks of a response.
    pub read: Duration,
    /// Timeout of a whole small response. A blob gets more time, depending on its size.
    pub answer: Duration,
    /// Maximum number of attempts if the registry is busy or the connection fails.
    pub attempts: u32,
    /// Delay before the second attempt. It doubles with each further attempt.
    pub first_pause: Duration,
    /// Maximum delay, regardless of what a server asks for.
    pub longest_pause: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(60),
            answer: Duration::from_secs(120),
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}

impl Timeouts {
    /// Returns the delay after attempt number `attempt`, which starts at 1. It is the delay that
    /// the server asks for, or else an exponential backoff.
    pub(crate) fn pause(&self, attempt: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.first_pause.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        asked.unwrap_or(doubled).min(self.longest_pause)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            insecure: Vec::new(),
            mirrors: Vec::new(),
            token_servers: Vec::new(),
            authorities: Vec::new(),
            credentials: CredentialFiles::default(),
            patience: Timeouts::default(),
            proxies: true,
            largest_blob: MAX_BLOB_BYTES,
            downloads: None,
            scratch: None,
        }
    }
}

impl Settings {
    /// Returns the settings from environment variables, which `variable` reads.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
        let list = |name| -> Vec<String> {
            let text = text(name);
            text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
        };
        let (insecure, mirrors) = (list(INSECURE_VARIABLE), list(MIRRORS_VARIABLE));
        let token_servers = list(TOKEN_SERVERS_VARIABLE);
        let authorities = variable(CA_VARIABLE)
            .map(|value| std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect())
            .unwrap_or_default();
        let credentials = CredentialFiles::from_environment(variable);
        Self { insecure, mirrors, token_servers, authorities, credentials, ..Self::default() }
    }

    /// Checks that each insecure registry is a plain host. `http://host`, for example, would never
    /// match.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        for host in &self.insecure {
            check_registry(host).map_err(|error| Cause::Setting(format!("{error}, for a registry over plain HTTP")))?;
        }
        Ok(())
    }

    /// Returns whether this host and port may be accessed with plain HTTP.
    pub(crate) fn is_insecure(&self, host: &str, port: u16) -> bool {
        self.insecure.iter().any(|named| {
            let (named_host, named_port) = split_port(named);
            named_host.eq_ignore_ascii_case(host) && named_port.unwrap_or(80) == port
        })
    }
}

/// Splits `HOST[:PORT]`. The host may be an IPv6 address in brackets.
pub(crate) fn split_port(registry: &str) -> (&str, Option<u16>) {
    match registry.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (registry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded_whatever_is_asked() {
        let patience = Timeouts::default();
        let pauses: Vec<u128> = (1..=9).map(|attempt| patience.pause(attempt, None).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
        assert_eq!(patience.pause(1, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(patience.pause(1, Some(Duration::MAX)), Duration::from_secs(30));
        assert_eq!(patience.pause(u32::MAX, None), Duration::from_secs(30));
    }

    #[test]
    fn only_named_hosts_go_without_encryption() {
        let insecure = vec!["localhost:5000".into(), "registry.lan".into(), "[::1]:5000".into()];
        let settings = Settings { insecure, ..Settings::default() };
        settings.check().unwrap();
        assert!(settings.is_insecure("localhost", 5000) && settings.is_insecure("Registry.LAN", 80));
        assert!(settings.is_insecure("[::1]", 5000));
        assert!(!settings.is_insecure("localhost", 80) && !settings.is_insecure("registry.lan", 5000));
        assert!(!settings.is_insecure("x.registry.lan", 80));
        let wrong = Settings { insecure: vec!["http://h".into()], ..Settings::default() };
        assert!(wrong.check().unwrap_err().to_string().contains("over plain HTTP"));
    }

    #[test]
    fn the_environment_is_read() {
        let settings = Settings::from_environment(|name| match name {
            INSECURE_VARIABLE => Some("a:1, b ,".into()),
            MIRRORS_VARIABLE => Some("registry.k8s.io=lan".into()),
            TOKEN_SERVERS_VARIABLE => Some("r=a".into()),
            CA_VARIABLE => Some("/x.pem:/y.pem".into()),
            _ => None,
        });
        assert_eq!(settings.insecure, ["a:1", "b"]);
        assert_eq!(settings.mirrors, ["registry.k8s.io=lan"]);
        assert_eq!(settings.token_servers, ["r=a"]);
        assert_eq!(settings.authorities, [PathBuf::from("/x.pem"), PathBuf::from("/y.pem")]);
    }
}
