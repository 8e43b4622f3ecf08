//! Minor versions of Kubernetes.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A minor version of Kubernetes, such as `v1.30`. A submission is for one minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    major: u32,
    minor: u32,
}

/// Error for a string that is not a Kubernetes version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a version such as `v1.30`")]
pub struct ReleaseError(pub String);

impl Release {
    /// Returns the release that is `back` minor versions older, but at least minor version 0.
    #[must_use]
    pub fn older(self, back: u32) -> Self {
        Self { minor: self.minor.saturating_sub(back), ..self }
    }
}

impl FromStr for Release {
    type Err = ReleaseError;

    /// Parses `v1.30`, `1.30`, and longer versions: `v1.30.2`, `v1.30.2-eks-1a2b`, `1.30+`.
    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let error = || ReleaseError(text.chars().take(80).collect());
        let text = text.trim();
        let (major, rest) = text.strip_prefix('v').unwrap_or(text).split_once('.').ok_or_else(error)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let minor = rest.get(..end).unwrap_or_default();
        // Reject numbers with more than four digits, which cannot be real versions.
        if !(1..=4).contains(&minor.len())
            || !(1..=4).contains(&major.len())
            || !major.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(error());
        }
        Ok(Self { major: major.parse().map_err(|_| error())?, minor: minor.parse().map_err(|_| error())? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_vendors_are_reduced_and_compared_as_numbers() {
        for text in ["v1.30", "1.30", " v1.30.2", "v1.30.2-eks-1a2b", "v1.30+", "1.30.0+k3s1"] {
            assert_eq!(text.parse::<Release>().unwrap().to_string(), "v1.30", "{text}");
        }
        let of = |text: &str| text.parse::<Release>().unwrap();
        assert!(of("v1.9") < of("v1.10") && of("v1.36") < of("v2.0"));
        assert_eq!(of("v1.30").older(2), of("v1.28"));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "v1", "latest", "v1.x", "v.1", "v1.99999999999", "-1.2", "v1."] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }
}
