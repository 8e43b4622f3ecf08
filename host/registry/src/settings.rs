//! Settings for access to registries, with mirrors and token servers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use plumbline_core::text::excerpt;

use crate::credentials::CredentialFiles;
use crate::error::Cause;
use crate::limits::MAX_BLOB_BYTES;
use crate::reference::{Reference, check_registry, is_repository};

/// Environment variable with files of additional CA certificates, separated by `:`.
pub const CA_VARIABLE: &str = "PLUMBLINE_REGISTRY_CA";
/// Environment variable with registries that use plain HTTP, separated by commas.
pub const INSECURE_VARIABLE: &str = "PLUMBLINE_INSECURE_REGISTRIES";
/// Environment variable with mirrors, separated by commas.
pub const MIRRORS_VARIABLE: &str = "PLUMBLINE_REGISTRY_MIRRORS";
/// Environment variable with token servers, separated by commas.
pub const TOKEN_SERVERS_VARIABLE: &str = "PLUMBLINE_REGISTRY_TOKEN_SERVERS";

/// Token servers of public registries under another name, as documented by their operators.
const KNOWN_TOKEN_SERVERS: [(&str, &str); 4] = [
    ("docker.io", "auth.docker.io"),
    ("index.docker.io", "auth.docker.io"),
    ("registry-1.docker.io", "auth.docker.io"),
    ("registry.gitlab.com", "gitlab.com"),
];

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
    pub ca_files: Vec<PathBuf>,
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
    /// Timeout of the start of a response, and between two chunks of a body in either direction.
    pub read: Duration,
    /// Timeout of a whole small response. A blob gets more time, depending on its size, also for the
    /// response to its upload.
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
            ca_files: Vec::new(),
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
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let list = |name| -> Vec<String> {
            let text = variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
            text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
        };
        let ca_files = variable(CA_VARIABLE).unwrap_or_default();
        Self {
            insecure: list(INSECURE_VARIABLE),
            mirrors: list(MIRRORS_VARIABLE),
            token_servers: list(TOKEN_SERVERS_VARIABLE),
            ca_files: std::env::split_paths(&ca_files).filter(|path| !path.as_os_str().is_empty()).collect(),
            credentials: CredentialFiles::from_environment(variable),
            ..Self::default()
        }
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.scratch.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Checks that each insecure registry is a plain host. `http://host`, for example, would never
    /// match.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.insecure.iter().try_for_each(|host| {
            check_registry(host).map_err(|error| Cause::Setting(format!("{error}, for a registry over plain HTTP")))
        })
    }

    pub(crate) fn is_insecure(&self, host: &str, port: u16) -> bool {
        self.insecure.iter().any(|listed| {
            let (listed_host, listed_port) = split_port(listed);
            listed_host.eq_ignore_ascii_case(host) && listed_port.unwrap_or(80) == port
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

/// Parses rules `LEFT=RIGHT`. `check` normalizes both sides, or says what is wrong.
fn parse_rules(
    rules: &[String],
    what: &str,
    expected: &str,
    check: impl Fn(&str, &str) -> Result<(String, String), String>,
) -> Result<Vec<(String, String)>, Cause> {
    let parse = |text: &String| {
        let sides = text.split_once('=').ok_or_else(|| "it has no `=`".to_owned());
        sides.and_then(|(from, to)| check(from.trim(), to.trim())).map_err(|why| {
            Cause::Setting(format!("invalid {what} `{}`: {why}; expected {expected}", excerpt(text, 200)))
        })
    };
    rules.iter().map(parse).collect()
}

/// Mirrors: registries that are read instead of others. Each has the beginning of names that it
/// replaces, `HOST[:PORT][/PATH]`, and what replaces it.
#[derive(Debug)]
pub(crate) struct Mirrors(Vec<(String, String)>);

impl Mirrors {
    pub(crate) fn parse(rules: &[String]) -> Result<Self, Cause> {
        let expected = "`HOST=HOST[:PORT][/PATH]`, such as `registry.k8s.io=127.0.0.1:5000`";
        let check = |from: &str, to: &str| -> Result<_, String> {
            let (from, to) = (from.trim_end_matches('/'), to.trim_end_matches('/'));
            for side in [from, to] {
                let (registry, path) = side.split_once('/').map_or((side, None), |(host, path)| (host, Some(path)));
                check_registry(registry).map_err(|error| error.to_string())?;
                if path.is_some_and(|path| !is_repository(path)) {
                    return Err("the path after the host is not a valid repository name".to_owned());
                }
            }
            // A repository whose name equals the left side would have an empty name at the mirror.
            if from.contains('/') && !to.contains('/') {
                return Err("the left side has a path, so the right side needs one, too".to_owned());
            }
            Ok((canonical(from), canonical(to)))
        };
        parse_rules(rules, "mirror", expected, check).map(Self)
    }

    /// Returns the location from which `reference` is read: the mirror with the longest match, or
    /// its own registry. Mirrors are not applied to the result again.
    pub(crate) fn locate(&self, reference: &Reference) -> Reference {
        let name = canonical(&format!("{}/{}", reference.registry(), reference.repository()));
        let matches = self.0.iter().filter_map(|(from, to)| {
            let rest = name.strip_prefix(from.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (from.len(), format!("{to}{rest}")))
        });
        let longest = matches.max_by_key(|(length, _)| *length);
        match longest.as_ref().and_then(|(_, at)| at.split_once('/')) {
            Some((registry, repository)) => reference.moved(registry, repository),
            None => reference.clone(),
        }
    }
}

/// Returns a name with the canonical name of its registry. Docker Hub has two names.
fn canonical(name: &str) -> String {
    let (registry, path) = name.split_at(name.find('/').unwrap_or(name.len()));
    let registry = registry.to_ascii_lowercase();
    format!("{}{path}", if registry == "index.docker.io" { "docker.io" } else { &registry })
}

/// Token servers: registries, and hosts under another name that may receive their credentials.
#[derive(Debug)]
pub(crate) struct TokenServers(Vec<(String, String)>);

impl TokenServers {
    pub(crate) fn parse(rules: &[String]) -> Result<Self, Cause> {
        let expected = "`REGISTRY=HOST[:PORT]`, such as `registry.example.com=auth.example.com`";
        let check = |registry: &str, host: &str| -> Result<_, String> {
            let names = (registry.to_ascii_lowercase(), host.to_ascii_lowercase());
            for name in [&names.0, &names.1] {
                check_registry(name).map_err(|error| error.to_string())?;
            }
            Ok(names)
        };
        parse_rules(rules, "token server", expected, check).map(Self)
    }

    /// Returns whether the credentials of `registry` may be sent to `host`, which is `HOST` with
    /// the default port of HTTPS, or `HOST:PORT`.
    pub(crate) fn allow(&self, registry: &str, host: &str) -> bool {
        let listed = self.0.iter().any(|(from, to)| from == registry && to == host);
        listed || KNOWN_TOKEN_SERVERS.contains(&(registry, host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_always_bounded() {
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
        assert_eq!(settings.ca_files, [PathBuf::from("/x.pem"), PathBuf::from("/y.pem")]);
    }

    fn at(mirrors: &[&str], reference: &str) -> String {
        let mirrors: Vec<String> = mirrors.iter().map(|&text| text.to_owned()).collect();
        Mirrors::parse(&mirrors).unwrap().locate(&reference.parse().unwrap()).bare()
    }

    #[test]
    fn the_longest_beginning_counts() {
        let mirrors =
            ["registry.k8s.io=127.0.0.1:5000", "registry.k8s.io/sig-storage=lan/storage", "docker.io=lan/hub/"];
        assert_eq!(at(&mirrors, "registry.k8s.io/pause:3.9"), "127.0.0.1:5000/pause:3.9");
        assert_eq!(at(&mirrors, "registry.k8s.io/sig-storage/x:1"), "lan/storage/x:1");
        assert_eq!(at(&mirrors, "registry.k8s.io/sig-storage-x:1"), "127.0.0.1:5000/sig-storage-x:1");
        assert_eq!(at(&mirrors, "index.docker.io/library/busybox"), "lan/hub/library/busybox");
        assert_eq!(at(&mirrors, "quay.io/a/b:1"), "quay.io/a/b:1");
        let digest = format!("registry.k8s.io/a@sha256:{}", "0".repeat(64));
        assert_eq!(at(&mirrors, &digest), digest.replace("registry.k8s.io", "127.0.0.1:5000"));
    }

    #[test]
    fn an_invalid_mirror_is_rejected() {
        for wrong in ["", "a", "=b", "a=", "http://a=b", "a=b/C", "a/x=b", "a b=c"] {
            let message = Mirrors::parse(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(message.contains("invalid mirror"), "{wrong}: {message}");
        }
    }

    #[test]
    fn only_named_and_known_token_servers_are_allowed() {
        let servers = TokenServers::parse(&["R.example:5000 = auth.example".to_owned()]).unwrap();
        assert!(servers.allow("r.example:5000", "auth.example"));
        for (registry, host) in [
            ("r.example", "auth.example"),
            ("r.example:5000", "auth.example:8443"),
            ("r.example:5000", "x.auth.example"),
            ("docker.io", "auth.example"),
            ("r.example:5000", "auth.docker.io"),
        ] {
            assert!(!servers.allow(registry, host), "{registry} {host}");
        }
        assert!(TokenServers(Vec::new()).allow("docker.io", "auth.docker.io"));
        for text in ["", "a", "=b", "a=", "a=https://b", "a=b/c", "a b=c"] {
            assert!(
                TokenServers::parse(&[text.to_owned()]).unwrap_err().to_string().contains("REGISTRY=HOST"),
                "{text}"
            );
        }
    }
}
