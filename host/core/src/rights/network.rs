//! The hosts, names and ports that a check may reach.
//!
//! A name never leads to a special address: one of this machine, a link, or the metadata of a cloud.
//! Such an address must be granted as an address. So the owner of a granted name cannot make a check
//! reach the node itself.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use url::Url;

use super::shown;
use crate::name::serde_text;
use crate::text::Printable;

/// The maximum length of a name in bytes (RFC 1035).
const MAX_NAME: usize = 253;

/// Services of clouds that give credentials or settings to every client on a node, and are outside
/// the link-local ranges.
const METADATA: [IpAddr; 8] = [
    // Azure: the wire server.
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // Alibaba Cloud.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Oracle Cloud.
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
    // AWS: metadata of an instance, and the Pod Identity Agent of EKS.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x23)),
    // Google Cloud.
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254)),
    // Scaleway.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x42)),
];

/// A host of a request or of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name in lower case, without a dot at the end.
    Name(String),
    /// An address. IPv4 addresses that are written as IPv6 addresses are IPv4 addresses.
    Address(IpAddr),
}

impl FromStr for Host {
    type Err = NetworkError;

    /// Reads a name, or an address with or without brackets.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        match bare.parse::<IpAddr>() {
            Ok(address) => Ok(Self::Address(canonical(address))),
            Err(_) => name(text).map(Self::Name),
        }
    }
}

/// Error in an entry of `http`, `dns` or `tcp`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Neither a name nor an address.
    #[error("`{0}` is not a host: expected a name such as `example.com`, or an address")]
    Host(Printable),
    /// Not a name, and not `*.NAME`.
    #[error("`{0}` is not a name: expected a name such as `example.com`, `*.example.com`, or `*`")]
    Name(Printable),
    /// Not `HOST:PORT`.
    #[error("`{0}` is not a host with a port: expected `example.com:443`, `10.0.0.0/8:443` or `*.example.com:*`")]
    Endpoint(Printable),
    /// Not a URL of a web server.
    #[error("invalid URL `{url}`: {why}")]
    Url {
        /// The URL, shortened.
        url: Printable,
        /// The reason.
        why: String,
    },
    /// Not `http://HOST` or `https://HOST`.
    #[error("`{0}` is not a web server: expected `https://example.com`, or `http://10.0.0.0/8:8080`, without a path")]
    Origin(Printable),
}

/// Names of hosts: one name, all names below a domain (`*.example.com`), or every name (`*`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NamePattern {
    /// Every name.
    Any,
    /// All names below this domain, but not the domain itself.
    Below(String),
    /// This name.
    Exact(String),
}

impl NamePattern {
    /// Returns whether `name` matches.
    pub fn admits(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Below(domain) => is_below(name, domain),
            Self::Exact(exact) => exact == name,
        }
    }

    /// Returns whether this pattern matches every name that `other` matches.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Below(domain), Self::Below(other)) => other == domain || is_below(other, domain),
            (_, Self::Exact(name)) => self.admits(name),
            _ => false,
        }
    }
}

fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

impl FromStr for NamePattern {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = |_| NetworkError::Name(shown(text));
        match text.strip_prefix("*.") {
            _ if text == "*" => Ok(Self::Any),
            Some(domain) => name(domain).map(Self::Below).map_err(wrong),
            None => match text.parse().map_err(wrong)? {
                Host::Name(name) => Ok(Self::Exact(name)),
                Host::Address(_) => Err(NetworkError::Name(shown(text))),
            },
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(domain) => write!(f, "*.{domain}"),
            Self::Exact(name) => f.write_str(name),
        }
    }
}

/// Names, or the addresses of a network.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Hosts {
    Names(NamePattern),
    Network(IpNet),
}

/// Hosts with a port, such as `*.example.com:443` or `10.0.0.0/8:*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Endpoint {
    hosts: Hosts,
    /// `None` stands for every port.
    port: Option<u16>,
}

impl Endpoint {
    /// Returns whether a port of a host is included. A network includes a special address only if all
    /// its addresses are special.
    pub fn admits(&self, host: &Host, port: u16) -> bool {
        let of_hosts = match (&self.hosts, host) {
            (Hosts::Names(names), Host::Name(name)) => names.admits(name),
            (Hosts::Network(network), Host::Address(address)) => {
                network.contains(address) && (!is_special(*address) || is_special_network(network))
            }
            _ => false,
        };
        of_hosts && self.port.is_none_or(|of_port| of_port == port)
    }

    /// Returns whether every host and port of `other` is included.
    pub fn covers(&self, other: &Self) -> bool {
        let hosts = match (&self.hosts, &other.hosts) {
            (Hosts::Names(names), Hosts::Names(others)) => names.covers(others),
            (Hosts::Network(network), Hosts::Network(other)) => {
                network.contains(other) && (is_special_network(network) || !is_special_network(other))
            }
            _ => false,
        };
        hosts && (self.port.is_none() || self.port == other.port)
    }

    /// Reads `HOSTS:PORT`, or only `HOSTS` if there is a default port.
    fn parse(text: &str, default: Option<u16>) -> Option<Self> {
        let (hosts, port) = match text.rsplit_once(':') {
            // The colon is one of an address in brackets.
            Some((_, rest)) if rest.ends_with(']') => (text, None),
            Some((hosts, port)) => (hosts, Some(port)),
            None => (text, None),
        };
        let port = match port {
            None => Some(default?),
            Some("*") => None,
            Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
        };
        Some(Self { hosts: parse_hosts(hosts)?, port })
    }
}

fn parse_hosts(text: &str) -> Option<Hosts> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let network = bare.unwrap_or(text).parse::<IpNet>().ok();
    if let Some(network) = network {
        // IPv6 needs brackets, which separate the address from the port.
        let is_written_right = bare.is_some() == matches!(network, IpNet::V6(_));
        return (is_written_right && network.trunc() == network).then_some(Hosts::Network(network));
    }
    match text.parse::<Host>() {
        Ok(Host::Address(address)) => Some(Hosts::Network(address.into())),
        _ => text.parse().ok().map(Hosts::Names),
    }
}

impl FromStr for Endpoint {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        Self::parse(text, None).ok_or_else(|| NetworkError::Endpoint(shown(text)))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Names(names) => write!(f, "{names}")?,
            Hosts::Network(IpNet::V4(network)) if network.prefix_len() == 32 => write!(f, "{}", network.addr())?,
            Hosts::Network(IpNet::V4(network)) => write!(f, "{network}")?,
            Hosts::Network(IpNet::V6(network)) if network.prefix_len() == 128 => write!(f, "[{}]", network.addr())?,
            Hosts::Network(IpNet::V6(network)) => write!(f, "[{network}]")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => f.write_str(":*"),
        }
    }
}

/// Web servers: a scheme, and hosts with a port, such as `https://*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin {
    https: bool,
    endpoint: Endpoint,
}

impl Origin {
    /// Returns whether requests to a host are included.
    pub fn admits(&self, https: bool, host: &Host, port: u16) -> bool {
        self.https == https && self.endpoint.admits(host, port)
    }

    /// Returns whether every web server of `other` is included.
    pub fn covers(&self, other: &Self) -> bool {
        self.https == other.https && self.endpoint.covers(&other.endpoint)
    }

    const fn default_port(https: bool) -> u16 {
        if https { 443 } else { 80 }
    }
}

impl FromStr for Origin {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let parse = || {
            let (scheme, rest) = text.split_once("://")?;
            let https = match scheme {
                "https" => true,
                "http" => false,
                _ => return None,
            };
            Some(Self { https, endpoint: Endpoint::parse(rest, Some(Self::default_port(https)))? })
        };
        parse().ok_or_else(|| NetworkError::Origin(shown(text)))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, endpoint) = (if self.https { "https" } else { "http" }, self.endpoint.to_string());
        let default = format!(":{}", Self::default_port(self.https));
        write!(f, "{scheme}://{}", endpoint.strip_suffix(&default).unwrap_or(&endpoint))
    }
}

/// The web server of a request, by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebTarget {
    /// The URL as the request has it.
    pub url: Url,
    /// Whether the scheme is `https` and not `http`.
    pub https: bool,
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl FromStr for WebTarget {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = |why: &dyn fmt::Display| NetworkError::Url { url: shown(text), why: why.to_string() };
        let url = Url::parse(text).map_err(|error| wrong(&error))?;
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong(&"expected `http` or `https`")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(&"it contains a user: use a header field for credentials"));
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(wrong(&"it has no host"));
        };
        Ok(Self { https, host: host.parse()?, port, url })
    }
}

serde_text!(NamePattern, NetworkError);
serde_text!(Endpoint, NetworkError);
serde_text!(Origin, NetworkError);

/// Returns whether an address is special: of this machine, of a link, of a group, reserved, or the
/// metadata service of a cloud.
pub fn is_special(address: IpAddr) -> bool {
    let address = canonical(address);
    let by_range = match address {
        IpAddr::V4(v4) => {
            v4.octets()[0] == 0 || v4.is_loopback() || v4.is_link_local() || v4.is_multicast() || v4.octets()[0] >= 240
        }
        IpAddr::V6(v6) => v6.is_unspecified() || v6.is_loopback() || v6.is_unicast_link_local() || v6.is_multicast(),
    };
    by_range || METADATA.contains(&address)
}

/// Returns whether all addresses of a network are special, as of `127.0.0.0/8`.
fn is_special_network(network: &IpNet) -> bool {
    // No special range is larger than these.
    let smallest = if matches!(network, IpNet::V4(_)) { 4 } else { 8 };
    let [first, last] = [network.network(), network.broadcast()];
    network.prefix_len() >= smallest && is_special(first) && is_special(last) && same_range(first, last)
}

/// Returns whether two special addresses are in the same special range.
fn same_range(first: IpAddr, last: IpAddr) -> bool {
    let range = |address: IpAddr| match address {
        _ if METADATA.contains(&address) => None,
        IpAddr::V4(v4) if v4.is_link_local() => Some(1),
        IpAddr::V4(v4) if v4.octets()[0] >= 224 => Some(2),
        IpAddr::V4(v4) => Some(10 + u16::from(v4.octets()[0])),
        IpAddr::V6(v6) if v6.is_unicast_link_local() => Some(1),
        IpAddr::V6(v6) if v6.is_multicast() => Some(2),
        IpAddr::V6(_) => None,
    };
    first == last || (range(first).is_some() && range(first) == range(last))
}

/// Returns the IPv4 address inside an IPv6 address that stands for one (RFC 4291, RFC 6052).
fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    match v6.segments() {
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => v6.to_canonical(),
    }
}

/// Returns a name in lower case and without a dot at its end.
fn name(text: &str) -> Result<String, NetworkError> {
    let bare = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_allowed)
    };
    // A last label of digits would be part of an IPv4 address in an unusual form, such as `127.1`.
    let is_number = |label: &str| label.starts_with("0x") || label.bytes().all(|b| b.is_ascii_digit());
    let is_valid = bare.len() <= MAX_NAME && bare.split('.').all(is_label);
    if is_valid && !bare.rsplit('.').next().is_some_and(is_number) {
        Ok(bare)
    } else {
        Err(NetworkError::Host(shown(text)))
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
