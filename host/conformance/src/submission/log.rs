//! Versions in the log of the suite.

use super::release::Release;

/// Text before the version of the suite.
const SUITE: &str = "e2e test version: ";
/// Text before the version of the cluster.
const CLUSTER: &str = "kube-apiserver version: ";

/// The versions in a log, which are the first of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogVersions {
    /// Version of the suite, as written.
    pub suite: Option<String>,
    /// Version of the cluster, as written.
    pub cluster: Option<String>,
}

impl LogVersions {
    /// Reads the versions from the start of a log.
    #[must_use]
    pub fn read(head: &str) -> Self {
        let mut found = Self::default();
        for line in head.lines() {
            found.suite = found.suite.or_else(|| after(line, SUITE));
            found.cluster = found.cluster.or_else(|| after(line, CLUSTER));
            if found.suite.is_some() && found.cluster.is_some() {
                break;
            }
        }
        found
    }

    /// Returns the minor version of the cluster, or else of the suite.
    #[must_use]
    pub fn release(&self) -> Option<Release> {
        self.cluster.as_deref().or(self.suite.as_deref())?.parse().ok()
    }
}

fn after(line: &str, words: &str) -> Option<String> {
    let (_, rest) = line.split_once(words)?;
    let version = rest.split_whitespace().next()?;
    // Ignore strings that are not versions.
    version.parse::<Release>().ok()?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_kind_counts() {
        let log = "Running Suite\nAug 17 17:04:34.815: INFO: e2e test version: v1.21.1\nI0817 kube-apiserver version: v1.22.0-eks-1\n\
                   e2e test version: v1.9.0\n";
        let found = LogVersions::read(log);
        assert_eq!(found.suite.as_deref(), Some("v1.21.1"));
        assert_eq!(found.cluster.as_deref(), Some("v1.22.0-eks-1"));
        assert_eq!(found.release().unwrap().to_string(), "v1.22");
        assert_eq!(LogVersions::read("e2e test version: soon").release(), None);
    }
}
