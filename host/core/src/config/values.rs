//! Settings that are more than text or a number: fixed sets of values, storage, and tolerations.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::text::first_chars;

/// A value that a setting does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown value `{text}`: use {known}")]
pub struct UnknownChoice {
    /// The value, cut to 100 characters.
    pub text: String,
    /// The accepted values, as a list for messages.
    pub known: String,
}

macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the value as written in a configuration.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownChoice;
            /// Parses the value, ignoring case.
            fn from_str(text: &str) -> Result<Self, UnknownChoice> {
                Self::ALL.iter().find(|one| one.as_str().eq_ignore_ascii_case(text)).copied().ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|one| format!("`{one}`")).collect();
                    UnknownChoice { text: first_chars(text, 100).to_owned(), known: known.join(", ") }
                })
            }
        }
    };
}

choice! {
    /// The permissions of the aggregator's service account.
    Permissions {
        /// Only the permissions that the run needs, computed from its configuration and plugins.
        #[default]
        Minimal = "minimal",
        /// Everything in the run's namespace and nothing outside of it. Results per node cannot be
        /// expected with it.
        NamespaceAdmin = "namespaceAdmin",
        /// Everything in the run's namespace, and read access to the whole cluster.
        ClusterRead = "clusterRead",
        /// Everything in the cluster.
        ClusterAdmin = "clusterAdmin",
    }
}

choice! {
    /// The security context of the aggregator's pod.
    SecurityContextMode {
        /// A fixed non-root user and group, without privileges.
        #[default]
        NonRoot = "nonroot",
        /// Like `nonroot`, but the platform assigns the user and group, as OpenShift requires.
        Platform = "platform",
        /// No security context.
        None = "none",
    }
}

choice! {
    /// When images are pulled (core/v1 `Container.imagePullPolicy`).
    PullPolicy {
        /// Pull at every start.
        Always = "Always",
        /// Pull if the node does not have the image.
        #[default]
        IfNotPresent = "IfNotPresent",
        /// Never pull: the node must have the image.
        Never = "Never",
    }
}

choice! {
    /// The Pod Security Standards level that the run's namespace enforces.
    PodSecurity {
        /// No restrictions. Plugins that inspect the host need this level.
        #[default]
        Privileged = "privileged",
        /// Prevents known privilege escalations.
        Baseline = "baseline",
        /// Follows pod hardening best practices.
        Restricted = "restricted",
    }
}

choice! {
    /// Whether the worker of a Job plugin is a native sidecar: an init container that keeps
    /// running.
    NativeSidecar {
        /// Use a native sidecar if the API server enables the feature by default.
        #[default]
        Auto = "auto",
        /// Never use one.
        Never = "never",
        /// Always use one. The cluster must have the feature.
        Always = "always",
    }
}

/// Suffixes of a Kubernetes quantity in bytes.
const SUFFIXES: [&str; 13] = ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The maximum length of a storage class name in bytes (DNS-1123 subdomain).
const MAX_CLASS: usize = 253;

/// Where the aggregator keeps the run and its archive. Written as an empty string or
/// `pvc:SIZE[:CLASS]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Storage {
    /// In an ephemeral volume of the pod, which is lost with the pod.
    #[default]
    Pod,
    /// In a persistent volume that outlives the pod.
    Claim {
        /// The size to claim, a Kubernetes quantity such as `5Gi`.
        size: String,
        /// The storage class. `None` uses the cluster's default.
        class: Option<String>,
    },
}

/// Error for a string that does not describe a storage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid storage `{0}`: write `pvc:SIZE` or `pvc:SIZE:CLASS`, with a size such as `5Gi`, or leave it empty")]
pub struct StorageError(pub String);

impl FromStr for Storage {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, StorageError> {
        let error = || StorageError(first_chars(text, 100).to_owned());
        if text.is_empty() {
            return Ok(Self::Pod);
        }
        let claim = text.strip_prefix("pvc:").ok_or_else(error)?;
        let (size, class) = claim.split_once(':').map_or((claim, None), |(size, class)| (size, Some(class)));
        if !is_quantity(size) || class.is_some_and(|class| !is_class(class)) {
            return Err(error());
        }
        Ok(Self::Claim { size: size.to_owned(), class: class.map(str::to_owned) })
    }
}

/// Returns whether `text` is a positive number of bytes. Other forms of Kubernetes quantities
/// (`1e9`, `500m`) are rejected, since they make no sense as a size here.
fn is_quantity(text: &str) -> bool {
    let end = text.bytes().position(|b| !b.is_ascii_digit() && b != b'.').unwrap_or(text.len());
    let Some((number, suffix)) = text.split_at_checked(end) else { return false };
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    (1..=15).contains(&digits)
        && number.len() - digits <= 1
        && number.bytes().any(|b| (b'1'..=b'9').contains(&b))
        && SUFFIXES.contains(&suffix)
}

fn is_class(text: &str) -> bool {
    (1..=MAX_CLASS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod => Ok(()),
            Self::Claim { size, class: None } => write!(f, "pvc:{size}"),
            Self::Claim { size, class: Some(class) } => write!(f, "pvc:{size}:{class}"),
        }
    }
}

impl Serialize for Storage {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

pub(super) const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A taint that a pod tolerates (core/v1 `Toleration`). Empty strings mean that the field is
/// absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Toleration {
    /// The key of the taint. If empty, every taint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Exists` or `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The value of the taint, for `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`. If empty, every effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
}

/// Error while parsing a toleration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `KEY`, `KEY=VALUE` or `*`, followed by `:EFFECT` for one effect; effects are `NoSchedule`, `PreferNoSchedule` and `NoExecute`"
)]
pub struct TolerationError;

impl FromStr for Toleration {
    type Err = TolerationError;

    /// Parses a toleration in the syntax that `kubectl taint` uses for taints,
    /// `KEY[=VALUE][:EFFECT]`. The key `*` matches every taint.
    fn from_str(text: &str) -> Result<Self, TolerationError> {
        let (taint, effect) = text.split_once(':').unwrap_or((text, ""));
        if text.contains(':') && !EFFECTS.contains(&effect) {
            return Err(TolerationError);
        }
        let (key, value) = taint.split_once('=').map_or((taint, None), |(key, value)| (key, Some(value)));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        let is_good = match (key, value) {
            ("*", value) => value.is_none(),
            (key, value) => !key.is_empty() && key.chars().chain(value.unwrap_or_default().chars()).all(is_name),
        };
        if !is_good {
            return Err(TolerationError);
        }
        Ok(Self {
            key: if key == "*" { String::new() } else { key.to_owned() },
            operator: if value.is_some() { "Equal" } else { "Exists" }.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            effect: effect.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storages_round_trip_and_rubbish_is_refused() {
        for good in ["", "pvc:5Gi", "pvc:1.5Ti:fast-ssd", "pvc:500M", "pvc:1000000"] {
            assert_eq!(good.parse::<Storage>().unwrap().to_string(), good);
        }
        for bad in
            ["pvc", "pvc:", "pvc:0", "pvc:5GiB", "pvc:5Gi:", "pvc:5Gi:a b", "5Gi", "pvc:1.2.3Gi", "pvc:-1Gi", "pvc:.Gi"]
        {
            assert!(bad.parse::<Storage>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tolerations_are_read_as_taints_are_written() {
        let read = |text: &str| text.parse::<Toleration>().map(|read| serde_json::to_string(&read).unwrap());
        assert_eq!(read("gpu").unwrap(), r#"{"key":"gpu","operator":"Exists"}"#);
        assert_eq!(
            read("example.org/gpu=true:NoSchedule").unwrap(),
            r#"{"key":"example.org/gpu","operator":"Equal","value":"true","effect":"NoSchedule"}"#
        );
        assert_eq!(read("gpu=").unwrap(), r#"{"key":"gpu","operator":"Equal"}"#);
        assert_eq!(read("*:NoExecute").unwrap(), r#"{"operator":"Exists","effect":"NoExecute"}"#);
        for bad in ["", ":NoSchedule", "gpu:", "gpu:never", "*=x", "a b", "=x", "gpu=a=b"] {
            assert_eq!(read(bad), Err(TolerationError), "{bad}");
        }
    }
}
