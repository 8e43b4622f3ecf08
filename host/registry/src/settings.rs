//! How registries are spoken to.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::credentials::CredentialFiles;
use crate::error::Cause;
use crate::limits::MAX_BLOB_BYTES;
use crate::mirror::MIRRORS_VARIABLE;
use crate::reference::check_registry;
use crate::token_server::TOKEN_SERVERS_VARIABLE;

/// Files of authorities, beside those of the system, as a list parted by `:`.
pub const CA_VARIABLE: &str = "PLUMBLINE_REGISTRY_CA";
/// Registries without encryption, as a list parted by commas.
pub const INSECURE_VARIABLE: &str = "PLUMBLINE_INSECURE_REGISTRIES";

/// All that can be set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Registries that are spoken to without encryption: each as `HOST` (its port is then 80) or `HOST:PORT`. Nothing else is.
    pub insecure: Vec<String>,
    /// What is read elsewhere than its name says: each as `HOST[/PATH]=HOST[:PORT][/PATH]`. What is written goes where its name says.
    pub mirrors: Vec<String>,
    /// Token servers that may have the credentials of a registry under another name: each as
    /// `REGISTRY=HOST[:PORT]`.
    pub token_servers: Vec<String>,
    /// PEM files of authorities that are trusted beside the system's.
    pub authorities: Vec<PathBuf>,
    /// Where credentials are looked for.
    pub credentials: CredentialFiles,
    /// How long, and how often.
    pub patience: Patience,
    /// Whether the proxies that the environment names are used.
    pub proxies: bool,
    /// The largest blob that is taken, in bytes.
    pub largest_blob: u64,
    /// Where contents are kept once they were downloaded, to be used again wherever they are named by digest; nowhere if `None`. Of bounded
    /// size, and safe for several processes at once.
    pub downloads: Option<PathBuf>,
    /// Where downloads are put until they are whole; the system's directory for temporary files if `None`.
    pub scratch: Option<PathBuf>,
}

/// How long a registry may take, and how often it is asked again.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub read: Duration,
    /// For a whole answer that is small; a blob gets more, by its size.
    pub answer: Duration,
    /// How often a request is sent at most, if the registry is busy or the connection breaks.
    pub attempts: u32,
    /// The pause before the second attempt; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause, whatever a server asks for.
    pub longest_pause: Duration,
}

impl Default for Patience {
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

impl Patience {
    /// The pause after the attempt of this number (the first is 1): what the server asks for, else twice as long every time.
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
            patience: Patience::default(),
            proxies: true,
            largest_blob: MAX_BLOB_BYTES,
            downloads: None,
            scratch: None,
        }
    }
}

impl Settings {
    /// What the environment says, where `variable` reads it.
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

    /// Each insecure registry must be a host, and nothing more: `http://host` would be taken for one that is never met.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        for host in &self.insecure {
            check_registry(host).map_err(|error| Cause::Setting(format!("{error}, for a registry over plain HTTP")))?;
        }
        Ok(())
    }

    /// Whether this host and port may be spoken to without encryption.
    pub(crate) fn is_insecure(&self, host: &str, port: u16) -> bool {
        self.insecure.iter().any(|named| {
            let (named_host, named_port) = split_port(named);
            named_host.eq_ignore_ascii_case(host) && named_port.unwrap_or(80) == port
        })
    }
}

/// `HOST[:PORT]`, the host perhaps an IPv6 address in brackets.
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
        let patience = Patience::default();
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
