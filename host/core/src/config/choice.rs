//! Settings with a fixed set of values.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A value that a setting does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not known: use {known}")]
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
            #[must_use]
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
                    UnknownChoice { text: text.chars().take(100).collect(), known: known.join(", ") }
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
