//! The rights of a check, a component that runs as a plugin: what it may read and reach outside its
//! sandbox. A module declares the rights that it needs, and a definition grants them.

mod network;

use std::fmt;

pub use network::{Endpoint, Host, NamePattern, NetworkError, Origin, WebTarget, is_special};

use serde::{Deserialize, Serialize};

use crate::name;
use crate::text::Printable;

/// The maximum number of entries in each list. A check reads a handful of directories and kinds.
const MAX_ENTRIES: usize = 64;

/// The first port that a process without privileges may open.
const MIN_LISTEN: u16 = 1024;

/// The maximum length of an entry in bytes.
const MAX_BYTES: usize = 512;

/// What a check may read and reach. An empty value means nothing at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rights {
    /// Directories of the node that the check may read, with everything below them: absolute paths
    /// without `.`, `..` and a slash at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Objects of the cluster that the check may get and list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kubernetes: Vec<KubernetesRight>,
    /// Web servers to which the check may send requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<Origin>,
    /// Names that the check may resolve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<NamePattern>,
    /// Hosts and ports to which the check may try a TCP connection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<Endpoint>,
    /// TCP ports that the host opens while the check runs. It closes every connection at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<u16>,
    /// Names of environment variables that the check sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

/// Kinds of objects that a check may get and list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KubernetesRight {
    /// The API group and version, such as `v1` or `apps/v1`.
    pub api_version: String,
    /// The resources by their plural names, such as `nodes`. Subresources and `*` are not possible.
    pub resources: Vec<String>,
    /// The namespaces. If empty, all of them, and objects outside namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
}

/// An API version, a resource and a namespace.
type Read<'a> = (&'a str, &'a str, Option<&'a str>);

impl KubernetesRight {
    fn of_read((api_version, resource, namespace): Read<'_>) -> Self {
        Self {
            api_version: api_version.to_owned(),
            resources: vec![resource.to_owned()],
            namespaces: namespace.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// A rule for rights that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {why}: `{value}`")]
pub struct RightsError {
    /// The key, such as `files`.
    pub key: &'static str,
    /// The value, shortened.
    pub value: Printable,
    /// The rule.
    pub why: &'static str,
}

/// Error of a check that reads objects without a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "reading `{resource}` ({api_version}) {} is not granted: add it to `plumbline.grants.kubernetes` of the definition",
    in_namespace(.namespace.as_deref())
)]
pub struct NotGranted {
    /// The API group and version, shortened.
    pub api_version: Printable,
    /// The resource, shortened.
    pub resource: Printable,
    /// The namespace, shortened. `None` means all of them.
    pub namespace: Option<Printable>,
}

fn in_namespace(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "in all namespaces".to_owned(), |namespace| format!("in namespace `{namespace}`"))
}

/// Writes the rights in the words of a definition, or `none`.
impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() { f.write_str("none") } else { f.write_str(&self.lines().join("; ")) }
    }
}

impl Rights {
    /// Returns whether there are no rights.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the form of every entry.
    pub fn check(&self) -> Result<(), RightsError> {
        check_all(
            "files",
            &self.files,
            "expected the absolute path of a directory below `/`, without `.` and `..`",
            is_directory,
        )?;
        check_all("env", &self.env, "expected the name of a variable: letters, digits and `_`", is_variable)?;
        for (key, entries) in [
            ("kubernetes", self.kubernetes.len()),
            ("http", self.http.len()),
            ("dns", self.dns.len()),
            ("tcp", self.tcp.len()),
            ("listen", self.listen.len()),
        ] {
            if entries > MAX_ENTRIES {
                return Err(too_many(key));
            }
        }
        if let Some(port) = self.listen.iter().find(|port| **port < MIN_LISTEN) {
            let why = "expected a port from 1024, because a check has no privileges";
            return Err(RightsError { key: "listen", value: port.to_string().into(), why });
        }
        for right in &self.kubernetes {
            let version = std::slice::from_ref(&right.api_version);
            check_all(
                "kubernetes.api-version",
                version,
                "expected an API version such as `v1` or `apps/v1`",
                is_api_version,
            )?;
            check_all("kubernetes.resources", &right.resources, "expected a plural name such as `nodes`", is_label)?;
            check_all("kubernetes.namespaces", &right.namespaces, "expected the name of a namespace", is_label)?;
            if right.resources.is_empty() {
                let why = "name at least one resource, such as `nodes`, of";
                return Err(RightsError { key: "kubernetes.resources", value: shown(&right.api_version), why });
            }
        }
        Ok(())
    }

    /// Returns which of these rights `granted` does not include.
    pub fn missing(&self, granted: &Self) -> Self {
        fn without<T: Clone>(wanted: &[T], is_granted: impl Fn(&T) -> bool) -> Vec<T> {
            wanted.iter().filter(|right| !is_granted(right)).cloned().collect()
        }
        let reads =
            self.reads().filter(|(version, resource, namespace)| !granted.allows(version, resource, *namespace));
        Self {
            files: without(&self.files, |wanted| granted.files.iter().any(|given| is_within(wanted, given))),
            kubernetes: reads.map(KubernetesRight::of_read).collect(),
            http: without(&self.http, |wanted| granted.http.iter().any(|given| given.covers(wanted))),
            dns: without(&self.dns, |wanted| granted.dns.iter().any(|given| given.covers(wanted))),
            tcp: without(&self.tcp, |wanted| granted.tcp.iter().any(|given| given.covers(wanted))),
            listen: without(&self.listen, |port| granted.listen.contains(port)),
            env: without(&self.env, |name| granted.env.contains(name)),
        }
    }

    /// Returns each resource that may be read, with its API version, in each namespace. A namespace of
    /// `None` stands for all of them.
    fn reads(&self) -> impl Iterator<Item = Read<'_>> {
        self.kubernetes.iter().flat_map(|right| {
            right.resources.iter().flat_map(move |resource| {
                let everywhere = right.namespaces.is_empty().then_some(None);
                let namespaces = right.namespaces.iter().map(|name| Some(name.as_str())).chain(everywhere);
                namespaces.map(move |namespace| (right.api_version.as_str(), resource.as_str(), namespace))
            })
        })
    }

    /// Returns each right as a line in the words of a definition, such as `files: /proc`.
    pub fn lines(&self) -> Vec<String> {
        fn lines<'a, T: fmt::Display>(key: &'a str, entries: &'a [T]) -> impl Iterator<Item = String> {
            entries.iter().map(move |entry| format!("{key}: {entry}"))
        }
        let reads = self.reads().map(|(version, resource, namespace)| {
            let place = namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
            format!("kubernetes: {resource} ({version}) in {place}")
        });
        let network = lines("http", &self.http).chain(lines("dns", &self.dns)).chain(lines("tcp", &self.tcp));
        let rest = network.chain(lines("listen", &self.listen)).chain(lines("env", &self.env));
        lines("files", &self.files).chain(reads).chain(rest).collect()
    }

    /// Returns the lines of a definition that grant these rights. They are YAML, and have passed
    /// [`Rights::check`].
    pub fn to_yaml(&self) -> String {
        fn quoted<T: ToString>(entries: &[T]) -> String {
            let quoted = entries.iter().map(|entry| serde_json::Value::from(entry.to_string()).to_string());
            quoted.collect::<Vec<_>>().join(", ")
        }
        let mut lines = vec!["plumbline:".to_owned(), "  grants:".to_owned()];
        if !self.files.is_empty() {
            lines.push(format!("    files: [{}]", quoted(&self.files)));
        }
        if !self.kubernetes.is_empty() {
            lines.push("    kubernetes:".to_owned());
        }
        for right in self.by_namespace() {
            let namespaces = match right.namespaces.is_empty() {
                true => String::new(),
                false => format!(", namespaces: [{}]", right.namespaces.join(", ")),
            };
            let (version, resources) = (&right.api_version, right.resources.join(", "));
            lines.push(format!("    - {{api-version: {version}, resources: [{resources}]{namespaces}}}"));
        }
        let ports: Vec<String> = self.listen.iter().map(u16::to_string).collect();
        for (key, entries) in [
            ("http", quoted(&self.http)),
            ("dns", quoted(&self.dns)),
            ("tcp", quoted(&self.tcp)),
            ("listen", ports.join(", ")),
            ("env", self.env.join(", ")),
        ] {
            if !entries.is_empty() {
                lines.push(format!("    {key}: [{entries}]"));
            }
        }
        lines.join("\n")
    }

    /// Returns the readable objects with the resources of each API version and namespace together.
    fn by_namespace(&self) -> Vec<KubernetesRight> {
        let mut rights: Vec<KubernetesRight> = Vec::new();
        for mut read in self.reads().map(KubernetesRight::of_read) {
            let is_same =
                |one: &&mut KubernetesRight| one.api_version == read.api_version && one.namespaces == read.namespaces;
            match rights.iter_mut().find(is_same) {
                Some(one) => one.resources.append(&mut read.resources),
                None => rights.push(read),
            }
        }
        rights
    }

    /// Returns whether the check may send requests to a host, with the scheme and port of `target`.
    pub fn allows_http(&self, target: &WebTarget, host: &Host) -> bool {
        self.http.iter().any(|origin| origin.admits(target.https, host, target.port))
    }

    /// Returns whether the check may try a connection to a port of a host.
    pub fn allows_tcp(&self, host: &Host, port: u16) -> bool {
        self.tcp.iter().any(|endpoint| endpoint.admits(host, port))
    }

    /// Returns whether the check may resolve a name.
    pub fn allows_dns(&self, name: &str) -> bool {
        self.dns.iter().any(|pattern| pattern.admits(name))
    }

    /// Returns whether objects of a resource may be read in a namespace. `None` stands for all
    /// namespaces, and for objects outside namespaces.
    pub fn allows(&self, api_version: &str, resource: &str, namespace: Option<&str>) -> bool {
        self.kubernetes.iter().any(|right| {
            let place = right.namespaces.is_empty()
                || namespace.is_some_and(|wanted| right.namespaces.iter().any(|given| given == wanted));
            place && right.api_version == api_version && right.resources.iter().any(|given| given == resource)
        })
    }

    /// Checks that objects of a resource may be read, as [`Rights::allows`] says.
    pub fn admit(&self, api_version: &str, resource: &str, namespace: Option<&str>) -> Result<(), NotGranted> {
        if self.allows(api_version, resource, namespace) {
            return Ok(());
        }
        Err(NotGranted { api_version: shown(api_version), resource: shown(resource), namespace: namespace.map(shown) })
    }
}

/// Returns whether `path` is `directory` or below it. Both have passed [`Rights::check`].
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check_all(
    key: &'static str,
    entries: &[String],
    why: &'static str,
    is_valid: impl Fn(&str) -> bool,
) -> Result<(), RightsError> {
    if entries.len() > MAX_ENTRIES {
        return Err(too_many(key));
    }
    match entries.iter().find(|entry| entry.len() > MAX_BYTES || !is_valid(entry)) {
        Some(entry) => Err(RightsError { key, value: shown(entry), why }),
        None => Ok(()),
    }
}

fn too_many(key: &'static str) -> RightsError {
    RightsError { key, value: MAX_ENTRIES.to_string().into(), why: "there are more entries than" }
}

/// Returns a value of a definition or of a check for a message.
fn shown(text: &str) -> Printable {
    Printable::escaped(text, 100)
}

fn is_directory(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    !path.chars().any(char::is_control) && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_api_version(text: &str) -> bool {
    let (group, version) = text.split_once('/').unwrap_or(("core", text));
    group.split('.').all(is_label) && is_label(version) && version.starts_with('v')
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && name::is_label(text, "-")
}

#[cfg(test)]
mod tests;
