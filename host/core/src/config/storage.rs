//! The storage of the aggregator.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

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
#[error("`{0}` is not a storage: write `pvc:SIZE` or `pvc:SIZE:CLASS`, with a size such as `5Gi`, or leave it empty")]
pub struct StorageError(pub String);

impl FromStr for Storage {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, StorageError> {
        let error = || StorageError(text.chars().take(100).collect());
        if text.is_empty() {
            return Ok(Self::Pod);
        }
        let claim = text.strip_prefix("pvc:").ok_or_else(error)?;
        let (size, class) = match claim.split_once(':') {
            Some((size, class)) => (size, Some(class)),
            None => (claim, None),
        };
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
}
