//! Settings with a fixed set of values.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A value that is none of those that a setting has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not known: use {known}")]
pub struct UnknownChoice {
    /// The value, cut to 100 characters.
    pub text: String,
    /// Those that there are, for a person.
    pub known: String,
}

macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The value as it is written.
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
            /// Reads without regard to case.
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
    /// What the aggregator's service account may do.
    Permissions {
        /// Only what the run needs, computed from its configuration and plugins.
        #[default]
        Minimal = "minimal",
        /// Everything in the run's namespace, nothing outside: expectations per node are unknown then.
        NamespaceAdmin = "namespaceAdmin",
        /// Everything in the run's namespace, reading everywhere.
        ClusterRead = "clusterRead",
        /// Everything.
        ClusterAdmin = "clusterAdmin",
    }
}

choice! {
    /// How the aggregator's pod is confined.
    SecurityContextMode {
        /// Fixed ids that are not root's, no privileges.
        #[default]
        NonRoot = "nonroot",
        /// As `nonroot`, but the platform assigns the ids, as OpenShift insists on.
        Platform = "platform",
        /// No security context at all.
        None = "none",
    }
}

choice! {
    /// When images are pulled (core/v1 `Container.imagePullPolicy`).
    PullPolicy {
        /// At every start.
        Always = "Always",
        /// When the node does not have it.
        #[default]
        IfNotPresent = "IfNotPresent",
        /// Never: the node must have it.
        Never = "Never",
    }
}

choice! {
    /// The level of the Pod Security Standards that the run's namespace enforces.
    PodSecurity {
        /// Anything goes: plugins that look at the host need it.
        #[default]
        Privileged = "privileged",
        /// No known privilege escalations.
        Baseline = "baseline",
        /// Hardened.
        Restricted = "restricted",
    }
}

choice! {
    /// Whether the worker of a Job plugin is an init container that goes on running (a native sidecar).
    NativeSidecar {
        /// Where the API server has them on by default.
        #[default]
        Auto = "auto",
        /// Never.
        Never = "never",
        /// Always: the cluster must have the feature.
        Always = "always",
    }
}
