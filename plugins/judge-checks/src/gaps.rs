//! What a survey did not collect. A log that is not there may have any line.

use plumbline_sdk::InputFile;
use plumbline_sdk::text::shortened;
use serde::Deserialize;
use serde_json::Value;

use crate::files::{QUERIES, read_json};
use crate::glob;

/// Maximum number of bytes of a message in a reason.
const MAX_MESSAGE: usize = 500;

/// A query of the survey.
#[derive(Debug, Deserialize)]
struct Query {
    #[serde(default)]
    queryobj: String,
    #[serde(default)]
    namespace: String,
    /// The pod of a log, or empty for all pods of the namespace.
    #[serde(default)]
    pod: String,
    /// An object, or absent if the query succeeded.
    error: Option<Value>,
}

/// The directories of the survey.
const SURVEYED: [&str; 3] = ["podlogs", "hosts", "resources"];

/// Returns whether the survey wrote this file.
pub(crate) fn is_of_survey(path: &str) -> bool {
    path.split('/').next().is_some_and(|dir| SURVEYED.contains(&dir))
}

/// The directories of an archive that lack files, with the reasons.
#[derive(Debug)]
pub(crate) struct Gaps {
    found: Vec<(String, String)>,
    /// Whether the file with the queries of the survey exists.
    has_queries: bool,
}

impl Gaps {
    /// Reads the file, which a survey writes first and replaces at its end. Without one, there was no
    /// survey, or it could not write the file.
    pub(crate) fn read(file: Option<InputFile>) -> Self {
        let Some(mut file) = file else { return Self { found: Vec::new(), has_queries: false } };
        let found = match read_json::<Option<Vec<Query>>>(&mut file) {
            Ok(queries) => queries.unwrap_or_default().iter().flat_map(gaps_of).collect(),
            Err(why) => SURVEYED.map(|dir| (dir.to_owned(), why.clone())).into(),
        };
        Self { found, has_queries: true }
    }

    /// Returns why files that `glob` matches may be missing, or `None` if none is. `surveyed` says
    /// whether it matches a file of the survey.
    pub(crate) fn in_files(&self, glob: &str, surveyed: bool) -> Option<String> {
        if surveyed && !self.has_queries {
            return Some(format!("because the survey did not write `{QUERIES}`"));
        }
        self.found.iter().find(|(dir, _)| may_match_below(glob, dir)).map(|(_, why)| why.clone())
    }
}

/// Returns the directories that lack files because of a query.
fn gaps_of(query: &Query) -> Vec<(String, String)> {
    let Some(error) = &query.error else { return Vec::new() };
    let dirs = match query.queryobj.as_str() {
        "podlogs" => vec![match (query.namespace.as_str(), query.pod.as_str()) {
            ("", _) => "podlogs".to_owned(),
            (namespace, "") => format!("podlogs/{namespace}"),
            (namespace, pod) => format!("podlogs/{namespace}/{pod}"),
        }],
        // It did not finish, so nobody knows what else is missing.
        "survey" => SURVEYED.map(str::to_owned).into(),
        // The namespaces of all lists and logs.
        "namespaces" => vec!["podlogs".to_owned(), "resources".to_owned()],
        name if name == "hosts" || name.starts_with("hosts/") => vec![first_two(name)],
        _ => vec!["resources".to_owned()],
    };
    let message = error.get("message").and_then(Value::as_str).unwrap_or("a query failed");
    let why = format!("according to `{QUERIES}`: {}", shortened(message, MAX_MESSAGE));
    dirs.into_iter().map(|dir| (dir, why.clone())).collect()
}

/// Returns `hosts/NODE` of `hosts/NODE/configz`.
fn first_two(name: &str) -> String {
    name.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// Returns whether `glob` may match a file below `dir`. If that is not certain, it may.
fn may_match_below(glob: &str, dir: &str) -> bool {
    let mut segments = glob.split('/');
    for name in dir.split('/') {
        let Some(segment) = segments.next() else { return false };
        // It may contain the separator.
        if segment.contains("**") || segment.contains(['{', '}']) {
            return true;
        }
        if glob::compile(segment).is_ok_and(|pattern| !pattern.is_match(name.as_bytes())) {
            return false;
        }
    }
    segments.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_patterns_that_cannot_match_below_a_directory_are_safe() {
        for (glob, dir, may) in [
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs/kube-system", true),
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs", true),
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs/shop", false),
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs/kube-system/etcd-n1", true),
            ("podlogs/kube-system/etcd-*/logs/*.txt", "podlogs/kube-system/other", false),
            ("podlogs/kube-system/*", "podlogs/kube-system/other", false),
            ("podlogs/*-system/x/logs/*.txt", "podlogs/kube-system", true),
            ("podlogs/{a,b}/x/logs/*.txt", "podlogs/c", true),
            ("podlogs/**/etcd.txt", "podlogs/shop", true),
            ("**/etcd.txt", "podlogs/shop", true),
            ("**", "hosts", true),
            ("hosts/n1/*.json", "hosts/n2", false),
            ("hosts/n1/*.json", "podlogs", false),
            ("podlogs", "podlogs", false),
            ("plugins/e2e/results/*.log", "resources", false),
        ] {
            assert_eq!(may_match_below(glob, dir), may, "{glob} {dir}");
        }
    }
}
