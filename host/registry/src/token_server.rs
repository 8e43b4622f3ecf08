//! Token servers: hosts other than the registry that may receive its credentials.

use crate::error::Cause;
use crate::reference::check_registry;

/// Environment variable with token servers, separated by commas.
pub const TOKEN_SERVERS_VARIABLE: &str = "PLUMBLINE_REGISTRY_TOKEN_SERVERS";

/// Token servers of public registries under another name, as documented by their operators.
const KNOWN: [(&str, &str); 4] = [
    ("docker.io", "auth.docker.io"),
    ("index.docker.io", "auth.docker.io"),
    ("registry-1.docker.io", "auth.docker.io"),
    ("registry.gitlab.com", "gitlab.com"),
];

/// A registry and a host that may receive its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenServer {
    registry: String,
    host: String,
}

impl TokenServer {
    /// Parses `REGISTRY=HOST[:PORT]`.
    pub(crate) fn parse(text: &str) -> Result<Self, Cause> {
        let wrong = |why: &str| {
            Cause::Setting(format!(
                "invalid token server `{}`: {why}; expected `REGISTRY=HOST[:PORT]`, such as `registry.example.com=auth.example.com`",
                plumbline_core::text::excerpt(text, 200)
            ))
        };
        let (registry, host) = text.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
        let (registry, host) = (registry.trim().to_ascii_lowercase(), host.trim().to_ascii_lowercase());
        for name in [&registry, &host] {
            check_registry(name).map_err(|error| wrong(&error.to_string()))?;
        }
        Ok(Self { registry, host })
    }
}

/// Returns whether the credentials of `registry` may be sent to `host`, which is `HOST` with the
/// default port of HTTPS, or `HOST:PORT`.
pub(crate) fn is_allowed(servers: &[TokenServer], registry: &str, host: &str) -> bool {
    let named = servers.iter().any(|server| server.registry == registry && server.host == host);
    named || KNOWN.contains(&(registry, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_and_known_token_servers_are_allowed() {
        let servers = [TokenServer::parse("R.example:5000 = auth.example").unwrap()];
        assert!(is_allowed(&servers, "r.example:5000", "auth.example"));
        for (registry, host) in [
            ("r.example", "auth.example"),
            ("r.example:5000", "auth.example:8443"),
            ("r.example:5000", "x.auth.example"),
            ("docker.io", "auth.example"),
            ("r.example:5000", "auth.docker.io"),
        ] {
            assert!(!is_allowed(&servers, registry, host), "{registry} {host}");
        }
        assert!(is_allowed(&[], "docker.io", "auth.docker.io"));
        for text in ["", "a", "=b", "a=", "a=https://b", "a=b/c", "a b=c"] {
            assert!(TokenServer::parse(text).unwrap_err().to_string().contains("REGISTRY=HOST"), "{text}");
        }
    }
}
