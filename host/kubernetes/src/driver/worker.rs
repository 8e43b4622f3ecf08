//! The worker: its container next to a plugin, and the Secret with its certificate.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Capabilities, SeccompProfile, SecurityContext};
use plumbline_aggregator::WorkerAccess;
use plumbline_core::definition::{Definition, PROGRESS_VARIABLE};
use plumbline_core::{PluginName, RunId};
use serde_json::{Value, json};

use super::stage::{Stage, WorkerSecurity};
use crate::names;
use crate::parts::{confined, field_variable, merged, secret_of_run, variable, without_nulls};

/// Resource requests and limits. The worker waits on one thread with a few MiB. The limit leaves
/// room for compressing a directory and for TLS.
const CPU: &str = "10m";
const MEMORY: &str = "16Mi";
const MEMORY_LIMIT: &str = "64Mi";

/// Logging options of Sonobuoy's worker. Plumbline's worker accepts the same.
const LOGGING: [&str; 3] = ["--level=trace", "-v=6", "--logtostderr"];

/// The environment variable that tells plugin and worker the port of the progress relay.
pub(super) const PROGRESS_PORT_VARIABLE: &str = "SONOBUOY_PROGRESS_PORT";

/// The variable with the least age of a done file. A definition can set another one.
const DONE_FILE_DELAY_VARIABLE: &str = "SONOBUOY_DONE_FILE_DELAY";

/// The environment variable that tells the worker the address of the aggregator.
pub(crate) const URL_VARIABLE: &str = "AGGREGATOR_URL";

/// The environment variables that name the results directory.
pub(super) const RESULTS_VARIABLES: [&str; 2] = ["RESULTS_DIR", "SONOBUOY_RESULTS_DIR"];

/// Returns the worker's container, with this security context.
///
/// It gets `env`, the plugin's environment, too, because there a definition can configure its
/// worker.
pub(super) fn container(
    stage: &Stage,
    definition: &Definition,
    access: &WorkerAccess,
    env: Vec<Value>,
    security: Option<SecurityContext>,
) -> Value {
    // When the containers of a DaemonSet's pod end, they are restarted, and the plugin would run
    // again. The worker therefore keeps running.
    let (command, args): (Vec<&str>, Option<Vec<&str>>) = match definition.driver.is_per_node() {
        true => {
            let words = [names::BINARY, "worker", "single-node"].into_iter().chain(LOGGING);
            (words.chain(["--sleep=-1"]).collect(), None)
        }
        false => (vec![names::BINARY], Some(["worker", "global"].into_iter().chain(LOGGING).collect())),
    };
    without_nulls(json!({
        "name": names::WORKER_CONTAINER,
        "image": stage.worker_image,
        "imagePullPolicy": stage.image_pull_policy,
        "command": command,
        "args": args,
        "env": variables(stage, definition, access, env),
        "volumeMounts": [{"name": names::RESULTS_VOLUME, "mountPath": stage.results_dir}],
        "resources": {"requests": {"cpu": CPU, "memory": MEMORY}, "limits": {"memory": MEMORY_LIMIT}},
        // The monitor quotes the termination message. The last log lines are more useful than
        // nothing.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security,
    }))
}

/// Adds the variables of the worker to `env`. They take precedence.
fn variables(stage: &Stage, definition: &Definition, access: &WorkerAccess, mut env: Vec<Value>) -> Vec<Value> {
    let from_secret = |name: &str, key: String| {
        let reference = json!({"name": names::CERTIFICATES_SECRET, "key": key});
        json!({"name": name, "valueFrom": {"secretKeyRef": reference}})
    };
    // A check has its results on disk before it writes its done file in one step.
    if definition.plumbline.component.is_some() {
        env.insert(0, variable(DONE_FILE_DELAY_VARIABLE, "100ms"));
    }
    env.extend(RESULTS_VARIABLES.map(|name| variable(name, &stage.results_dir)));
    env.extend([
        field_variable("NODE_NAME", "spec.nodeName"),
        variable("RESULT_TYPE", definition.name.as_str()),
        variable(URL_VARIABLE, &access.aggregator_url),
        variable("CA_CERT", &access.ca_cert),
        from_secret("CLIENT_CERT", certificate_key(&definition.name)),
        from_secret("CLIENT_KEY", private_key_key(&definition.name)),
        variable(PROGRESS_PORT_VARIABLE, stage.port_of(&definition.name)),
        variable("SONOBUOY_DIR", names::AGGREGATOR_DIR),
        field_variable("SONOBUOY_NS", "metadata.namespace"),
        field_variable("SONOBUOY_PLUGIN_POD", "metadata.name"),
        variable("SONOBUOY_WORKER_CONTAINER", names::WORKER_CONTAINER),
    ]);
    // Sonobuoy's worker ignores this variable.
    if let Some(progress) = &definition.plumbline.progress {
        env.push(variable(PROGRESS_VARIABLE, &json!(progress).to_string()));
    }
    // A sidecar that ends is restarted, and would send its result again. This is a variable because
    // Sonobuoy's worker rejects the option.
    if stage.has_sidecar(definition) {
        env.push(variable(names::WORKER_SLEEP_VARIABLE, "-1"));
    }
    merged(env, &[].into())
}

/// Returns the security context of the worker next to `plugin` (a container) in `pod` (a pod spec),
/// or `None` for no context.
///
/// The worker must read everything that its plugin wrote, and may have to write an archive next to
/// it. Most plugins run as root and some write with mode 0600. A worker with a user of its own
/// would fail for exactly those. It therefore adapts to its plugin:
///
/// * If the plugin's user is set (in its container or pod) and not root, the worker has the same
///   user and group.
/// * If only `runAsNonRoot` is set, the user is that of the plugin's image, which is unknown here.
///   The worker then has the user of its own image. Files must be readable for others, or the pod
///   must have an `fsGroup`. The namespace of such a pod would not admit more privileges.
/// * Otherwise the plugin may have any user, and most likely root. The worker is root, with only
///   the privilege to read and write files of others in its own volume. A namespace that does not
///   admit that (Pod Security Standard `restricted`) does not admit the plugin either.
pub(super) fn security_context(security: WorkerSecurity, pod: &Value, plugin: &Value) -> Option<SecurityContext> {
    // A field of the container takes precedence over that of its pod.
    let given = |field: &str| {
        let of = |object: &'_ Value| object.get("securityContext")?.get(field).filter(|it| !it.is_null()).cloned();
        of(plugin).or_else(|| of(pod))
    };
    let seccomp = SeccompProfile { type_: "RuntimeDefault".to_owned(), ..SeccompProfile::default() };
    let mut context = SecurityContext { seccomp_profile: Some(seccomp), ..confined() };
    match security {
        WorkerSecurity::Off => return None,
        WorkerSecurity::Platform => return Some(context),
        WorkerSecurity::LikePlugin => {}
    }
    let user = given("runAsUser").and_then(|user| user.as_i64());
    match user {
        Some(user) if user != 0 => {
            context.run_as_user = Some(user);
            context.run_as_non_root = Some(true);
        }
        None if given("runAsNonRoot") == Some(Value::Bool(true)) => context.run_as_non_root = Some(true),
        _ => {
            context.run_as_user = Some(0);
            context.run_as_non_root = Some(false);
            let (drop, add) = (Some(vec!["ALL".to_owned()]), Some(vec!["DAC_OVERRIDE".to_owned()]));
            context.capabilities = Some(Capabilities { drop, add });
        }
    }
    if user.is_some() {
        context.run_as_group = given("runAsGroup").and_then(|group| group.as_i64());
    }
    Some(context)
}

/// Returns the run's Secret with the certificate and private key of one plugin's workers.
///
/// There is one Secret with a constant name for all plugins, so that the aggregator's role can name
/// it. The kubelet gives a pod only the keys to which the pod refers.
#[must_use]
pub fn secret(stage: &Stage, definition: &Definition, run: &RunId, access: &WorkerAccess) -> Value {
    let encoded = |text: &str| ByteString(text.as_bytes().to_vec());
    let data = json!({
        certificate_key(&definition.name): encoded(&access.client_cert),
        private_key_key(&definition.name): encoded(&access.client_key),
    });
    secret_of_run(&stage.namespace, names::CERTIFICATES_SECRET, run, stage.owner.as_ref(), data)
}

fn certificate_key(plugin: &PluginName) -> String {
    format!("{plugin}.crt")
}

/// Returns the key of a plugin's private key. It is in SEC1 format, the only one that Sonobuoy's
/// workers read.
fn private_key_key(plugin: &PluginName) -> String {
    format!("{plugin}.key")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(security: WorkerSecurity, pod: &Value, plugin: &Value) -> Value {
        let around = |context: &Value| json!({"securityContext": context});
        json!(security_context(security, &around(pod), &around(plugin)))
    }

    fn like_plugin(pod: &Value, plugin: &Value) -> Value {
        context(WorkerSecurity::LikePlugin, pod, plugin)
    }

    #[test]
    fn the_worker_of_a_plugin_without_a_user_reads_all_files() {
        let context = like_plugin(&Value::Null, &Value::Null);
        assert_eq!(context["runAsUser"], 0);
        assert_eq!(context["runAsNonRoot"], false);
        assert_eq!(context["capabilities"], json!({"add": ["DAC_OVERRIDE"], "drop": ["ALL"]}));
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(like_plugin(&json!({"runAsUser": 0}), &Value::Null), context);
        // The pod forbids root, and the container permits it again.
        assert_eq!(like_plugin(&json!({"runAsNonRoot": true}), &json!({"runAsNonRoot": false})), context);
    }

    #[test]
    fn the_worker_has_the_user_of_its_plugin() {
        let context = like_plugin(&json!({"runAsUser": 7, "runAsGroup": 8}), &json!({"runAsUser": 1000}));
        assert_eq!((&context["runAsUser"], &context["runAsGroup"]), (&json!(1000), &json!(8)));
        assert_eq!(context["runAsNonRoot"], true);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
    }

    #[test]
    fn a_pod_that_forbids_root_gets_a_worker_that_its_namespace_admits() {
        let context = like_plugin(&json!({"runAsNonRoot": true}), &Value::Null);
        assert!(context.get("runAsUser").is_none(), "{context}");
        assert_eq!(context["runAsNonRoot"], true);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
    }

    #[test]
    fn no_user_is_set_on_a_platform_that_assigns_users() {
        let platform = context(WorkerSecurity::Platform, &Value::Null, &Value::Null);
        assert!(platform["seccompProfile"].is_object(), "{platform}");
        assert!(platform.get("runAsUser").is_none() && platform.get("runAsNonRoot").is_none(), "{platform}");
        assert!(context(WorkerSecurity::Off, &Value::Null, &Value::Null).is_null());
    }
}
