//! The provenance of the files: an in-toto statement with a SLSA v1 predicate, unsigned. The release
//! workflow signs it.

use std::env;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::{Artifacts, REPOSITORY, sha256};
use crate::error::Error;
use crate::process;

/// How the files were built, if a person ran `cargo xtask release`.
const LOCAL: &str = "docs/releasing.md#build-a-release";
/// How the files were built, if a workflow of GitHub ran it.
const WORKFLOW: &str = "https://actions.github.io/buildtypes/workflow/v1";

/// What was built, and by whom.
#[derive(Debug)]
pub(super) struct Source {
    /// The commit, if the repository is a checkout of git.
    commit: Option<String>,
    /// Whether files differ from the commit.
    modified: bool,
    /// The line of `rustc -V`.
    compiler: String,
    lock_digest: String,
    /// The variables of the workflow, with lower-case names; empty outside of one.
    workflow: Map<String, Value>,
}

impl Source {
    pub(super) fn of(root: &Path) -> Result<Self, Error> {
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(root).arg("-c").arg(format!("safe.directory={}", root.display()));
            process::output(git.args(args)).ok()
        };
        let lock = root.join("Cargo.lock");
        Ok(Self {
            commit: git(&["rev-parse", "HEAD"]).map(|commit| commit.trim().to_owned()),
            modified: git(&["status", "--porcelain"]).is_some_and(|changes| !changes.is_empty()),
            compiler: process::output(Command::new("rustc").arg("-V"))?.trim().to_owned(),
            lock_digest: sha256(&std::fs::read(&lock).map_err(Error::io("read", &lock))?),
            workflow: workflow(|name| env::var(name).ok()),
        })
    }
}

/// Returns the variables of a workflow of GitHub, or nothing elsewhere.
fn workflow(variable: impl Fn(&str) -> Option<String>) -> Map<String, Value> {
    if variable("GITHUB_ACTIONS").as_deref() != Some("true") {
        return Map::new();
    }
    let names = ["server_url", "repository", "workflow_ref", "ref", "event_name", "run_id", "run_attempt"];
    let value = |name: &str| variable(&format!("GITHUB_{}", name.to_ascii_uppercase()));
    names.into_iter().filter_map(|name| Some((name.to_owned(), value(name)?.into()))).collect()
}

/// Returns the statement about `artifacts`. It has no times, so that the same input gives the same
/// bytes.
pub(super) fn statement(source: &Source, artifacts: &Artifacts) -> Vec<u8> {
    let subjects: Vec<Value> =
        artifacts.iter().map(|(name, bytes)| json!({"name": name, "digest": {"sha256": sha256(bytes)}})).collect();
    let of = |name: &str| source.workflow.get(name).and_then(Value::as_str).unwrap_or_default();
    let (server, repository) = (of("server_url"), of("repository"));
    let is_workflow = !source.workflow.is_empty();
    let mut dependencies = vec![json!({"name": "Cargo.lock", "digest": {"sha256": source.lock_digest}})];
    if let Some(commit) = &source.commit {
        let uri =
            if is_workflow { format!("git+{server}/{repository}@{}", of("ref")) } else { format!("git+{REPOSITORY}") };
        dependencies.insert(0, json!({"uri": uri, "digest": {"gitCommit": commit}}));
    }
    let mut internal = json!({"compiler": source.compiler, "modified": source.modified});
    let local = format!("{REPOSITORY}/blob/main/{LOCAL}");
    let (build_type, external, builder, metadata) = if is_workflow {
        if let Some(internal) = internal.as_object_mut() {
            internal.insert("github".to_owned(), json!({"event_name": of("event_name")}));
        }
        // `workflow_ref` is REPOSITORY/PATH@REF.
        let (path, _) = of("workflow_ref").split_once('@').unwrap_or_default();
        let path = path.strip_prefix(repository).unwrap_or(path).trim_start_matches('/');
        let external =
            json!({"workflow": {"ref": of("ref"), "repository": format!("{server}/{repository}"), "path": path}});
        let run = format!("{server}/{repository}/actions/runs/{}/attempts/{}", of("run_id"), of("run_attempt"));
        let builder = format!("{server}/{}", of("workflow_ref"));
        (WORKFLOW.to_owned(), external, builder, json!({"invocationId": run}))
    } else {
        (local.clone(), json!({"command": "cargo xtask release"}), local, json!({}))
    };
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": build_type,
                "externalParameters": external,
                "internalParameters": internal,
                "resolvedDependencies": dependencies,
            },
            "runDetails": {"builder": {"id": builder}, "metadata": metadata},
        },
    });
    let mut text = format!("{statement:#}").into_bytes();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(workflow: Map<String, Value>) -> Source {
        Source {
            commit: Some("0123".to_owned()),
            modified: false,
            compiler: "rustc 1.95.0".to_owned(),
            lock_digest: "ab".to_owned(),
            workflow,
        }
    }

    fn predicate(source: &Source) -> Value {
        let artifacts = Artifacts::from([("a.tar.gz".to_owned(), b"bytes".to_vec())]);
        let statement: Value = serde_json::from_slice(&statement(source, &artifacts)).unwrap();
        assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
        assert_eq!(statement["subject"][0]["name"], "a.tar.gz");
        assert_eq!(statement["subject"][0]["digest"]["sha256"], sha256(b"bytes"));
        statement["predicate"].clone()
    }

    #[test]
    fn a_local_build_does_not_claim_a_workflow() {
        let local = workflow(|name| (name == "GITHUB_REPOSITORY").then(|| "me/plumbline".to_owned()));
        let predicate = predicate(&source(local));
        let builder = predicate["runDetails"]["builder"]["id"].as_str().unwrap();
        assert!(builder.ends_with(LOCAL), "{builder}");
        let dependency = &predicate["buildDefinition"]["resolvedDependencies"][0];
        assert_eq!(dependency["digest"]["gitCommit"], "0123");
        assert_eq!(predicate["buildDefinition"]["internalParameters"]["modified"], false);
    }

    #[test]
    fn a_workflow_is_named_with_its_run() {
        let of_github = workflow(|name| {
            let value = match name {
                "GITHUB_ACTIONS" => "true",
                "GITHUB_SERVER_URL" => "https://github.com",
                "GITHUB_REPOSITORY" => "me/plumbline",
                "GITHUB_WORKFLOW_REF" => "me/plumbline/.github/workflows/release.yml@refs/tags/v1",
                "GITHUB_REF" => "refs/tags/v1",
                "GITHUB_RUN_ID" => "7",
                "GITHUB_RUN_ATTEMPT" => "2",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let predicate = predicate(&source(of_github));
        let (definition, run) = (&predicate["buildDefinition"], &predicate["runDetails"]);
        assert_eq!(definition["buildType"], WORKFLOW);
        assert_eq!(definition["externalParameters"]["workflow"]["path"], ".github/workflows/release.yml");
        assert_eq!(definition["resolvedDependencies"][0]["uri"], "git+https://github.com/me/plumbline@refs/tags/v1");
        assert_eq!(run["builder"]["id"], "https://github.com/me/plumbline/.github/workflows/release.yml@refs/tags/v1");
        assert_eq!(run["metadata"]["invocationId"], "https://github.com/me/plumbline/actions/runs/7/attempts/2");
    }
}
