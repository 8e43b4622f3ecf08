//! `deploy/job-reporter`: an API server accepts the objects, and the permissions are no wider than
//! documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the documents of a file, with its placeholders filled in.
fn documents(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/job-reporter").join(name);
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace("<namespace>", "ns").replace("<status-reporter-image>", "registry.example/plumbline:v1");
    let documents: Vec<Value> = text
        .split("\n---\n")
        .map(|document| serde_saphyr::from_str::<Value>(document).unwrap())
        .filter(|document| !document.is_null())
        .collect();
    assert!(!documents.is_empty());
    documents
}

/// Parses the document as its type, which must know all of its fields.
fn strictly<T: DeserializeOwned + Serialize>(document: &Value) -> T {
    let object: T = serde_json::from_value(document.clone()).unwrap();
    let again = serde_json::to_value(&object).unwrap();
    assert_eq!(&again, document, "fields that the API does not know");
    object
}

fn verbs(role: &Role) -> BTreeSet<(String, String, String)> {
    let mut all = BTreeSet::new();
    for rule in role.rules.iter().flatten() {
        assert!(rule.non_resource_urls.is_none());
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for verb in &rule.verbs {
                    all.insert((group.clone(), resource.clone(), verb.clone()));
                }
            }
        }
    }
    all
}

fn set(all: &[(&str, &str, &str)]) -> BTreeSet<(String, String, String)> {
    all.iter().map(|(group, resource, verb)| ((*group).into(), (*resource).into(), (*verb).into())).collect()
}

#[test]
fn permissions_are_those_that_were_promised() {
    let [account, role, binding] = &documents("rbac.yaml")[..] else { panic!() };
    let account: ServiceAccount = strictly(account);
    let role: Role = strictly(role);
    let binding: RoleBinding = strictly(binding);
    assert_eq!(
        verbs(&role),
        set(&[
            ("batch", "jobs", "get"),
            ("batch", "jobs/status", "get"),
            ("batch", "jobs/status", "update"),
            ("batch", "jobs/status", "patch"),
            ("", "pods", "get"),
            ("", "pods", "list"),
        ])
    );
    assert_eq!(Some(binding.role_ref.name), role.metadata.name);
    assert_eq!(Some(&binding.subjects.unwrap()[0].name), account.metadata.name.as_ref());
}

#[test]
fn optional_permissions_are_in_a_separate_manifest() {
    let [role, binding, cluster_role, cluster_binding] = &documents("rbac-optional.yaml")[..] else { panic!() };
    let (role, binding): (Role, RoleBinding) = (strictly(role), strictly(binding));
    assert_eq!(
        verbs(&role),
        set(&[
            ("", "pods", "watch"),
            ("", "events", "create"),
            ("", "configmaps", "create"),
            ("", "configmaps", "get"),
            ("", "configmaps", "patch"),
        ])
    );
    assert_eq!(Some(binding.role_ref.name), role.metadata.name);
    let (role, binding): (ClusterRole, ClusterRoleBinding) = (strictly(cluster_role), strictly(cluster_binding));
    let nodes = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["nodes".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    assert_eq!(role.rules, Some(vec![nodes]));
    assert_eq!(Some(binding.role_ref.name), role.metadata.name);
}

#[test]
fn the_job_is_one_and_its_reporter_is_configured() {
    let [job] = &documents("job.yaml")[..] else { panic!() };
    let job: Job = strictly(job);
    let spec = job.spec.unwrap();
    assert_eq!((spec.backoff_limit, spec.active_deadline_seconds), (Some(0), Some(310)));
    let pod = spec.template.spec.unwrap();
    assert_eq!(
        (pod.restart_policy.as_deref(), pod.service_account_name.as_deref()),
        (Some("Never"), Some("status-reporter-sa"))
    );
    let reporter = pod.containers.iter().find(|container| container.name == "status-reporter").unwrap();
    assert_eq!(reporter.command.as_deref().unwrap(), ["/plumbline", "report"]);
    let env = reporter.env.iter().flatten().map(|variable| {
        // The values that the pod fills in are names.
        (variable.name.clone(), variable.value.clone().unwrap_or_else(|| "name".into()))
    });
    let config = plumbline_worker::reporter::Config::from_env(&env.collect()).unwrap();
    assert_eq!(Some(config.job), job.metadata.name);
    assert_eq!(config.adapter_container.as_deref(), Some("my-adapter"));
    assert!(config.warnings.is_empty());
}
