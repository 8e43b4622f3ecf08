//! The discovery API of the server.

use serde_json::{Value, json};

use crate::api::{
    answer::{self, Answer, Failure},
    request::Target,
    state::State,
};

/// Answers a request that is not about objects.
pub(crate) fn answer(state: &State, target: &Target) -> Result<Answer, Failure> {
    let body = match target {
        Target::Health => return Ok(answer::text(200, "ok")),
        Target::Version => version(&state.git_version),
        Target::CoreVersions => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
        }),
        Target::Groups => {
            let groups: Vec<_> =
                state.resources.groups().iter().map(|(name, versions)| group(name, versions)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        Target::Group(name) => {
            let groups = state.resources.groups();
            let (name, versions) = groups.iter().find(|(n, _)| n == name).ok_or_else(Failure::unknown_path)?;
            let mut body = group(name, versions);
            crate::api::json::set(&mut body, &["kind"], "APIGroup");
            crate::api::json::set(&mut body, &["apiVersion"], "v1");
            body
        }
        Target::Resources { group, version } => resources(state, group, version)?,
        Target::Objects(_) => return Err(Failure::unknown_path()),
    };
    Ok(answer::json(200, &body))
}

fn version(git_version: &str) -> Value {
    let mut numbers = git_version.trim_start_matches('v').split('.');
    let mut number = || numbers.next().unwrap_or_default();
    json!({
        "major": number(), "minor": number(), "gitVersion": git_version,
        "gitCommit": "0000000000000000000000000000000000000000", "gitTreeState": "clean",
        "buildDate": "2024-01-01T00:00:00Z", "goVersion": "go1.22.0", "compiler": "gc", "platform": "linux/amd64"
    })
}

fn group(name: &str, versions: &[&str]) -> Value {
    let entry = |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let entries: Vec<_> = versions.iter().map(entry).collect();
    json!({"name": name, "preferredVersion": entries.first(), "versions": entries})
}

fn resources(state: &State, group: &str, version: &str) -> Result<Value, Failure> {
    let resources = state.resources.of(group, version);
    let Some(first) = resources.first() else {
        return Err(Failure::unknown_path());
    };
    let mut entries = Vec::new();
    for resource in &resources {
        entries.push(json!({
            "name": resource.plural, "singularName": resource.kind.to_lowercase(), "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": resource.verbs(),
        }));
        for (name, kind, verbs) in resource.subresources() {
            entries.push(json!({
                "name": format!("{}/{name}", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                "kind": kind, "verbs": verbs,
            }));
        }
    }
    Ok(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": first.api_version(), "resources": entries,
    }))
}
