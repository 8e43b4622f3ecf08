//! The container of the worker.

use std::collections::BTreeMap;

use plumbline_aggregator::WorkerAccess;
use plumbline_core::definition::{Definition, PROGRESS_VARIABLE};
use serde_json::{Map, Value, json};

use super::error::DriverError;
use super::progress_port::PROGRESS_PORT_VARIABLE;
use super::secret::{certificate_key, private_key_key};
use super::stage::Stage;
use super::{lists, security};
use crate::names;

/// Resource requests and limits. The worker waits on one thread with a few MiB. The limit leaves
/// room for compressing a directory and for TLS.
const CPU: &str = "10m";
const MEMORY: &str = "16Mi";
const MEMORY_LIMIT: &str = "64Mi";

/// Logging options of Sonobuoy's worker. Plumbline's worker accepts the same.
const LOGGING: [&str; 3] = ["--level=trace", "-v=6", "--logtostderr"];

/// Returns the worker's container next to `plugin`.
///
/// It gets the plugin's environment too, because there a definition can configure its worker.
pub(super) fn container(
    stage: &Stage,
    definition: &Definition,
    access: &WorkerAccess,
    pod: &Map<String, Value>,
    plugin: &Map<String, Value>,
) -> Result<Map<String, Value>, DriverError> {
    let mut container = Map::new();
    let mut put = |key: &str, value: Value| drop(container.insert(key.to_owned(), value));
    put("name", json!(names::WORKER_CONTAINER));
    put("image", json!(stage.worker_image));
    put("imagePullPolicy", json!(stage.image_pull_policy));
    if definition.driver.is_per_node() {
        // When the containers of a DaemonSet's pod end, they are restarted, and the plugin would
        // run again. The worker therefore keeps running.
        let words = [names::BINARY, "worker", "single-node"].into_iter().chain(LOGGING).chain(["--sleep=-1"]);
        put("command", words.collect());
    } else {
        put("command", json!([names::BINARY]));
        put("args", ["worker", "global"].into_iter().chain(LOGGING).collect());
    }
    put("env", env(stage, definition, access, plugin)?);
    put("volumeMounts", json!([{"name": names::RESULTS_VOLUME, "mountPath": stage.results_dir}]));
    put("resources", json!({"requests": {"cpu": CPU, "memory": MEMORY}, "limits": {"memory": MEMORY_LIMIT}}));
    // The monitor quotes the termination message. The last log lines are more useful than nothing.
    put("terminationMessagePolicy", json!("FallbackToLogsOnError"));
    if let Some(context) = security::context(stage.security, pod, plugin) {
        put("securityContext", context);
    }
    Ok(container)
}

/// Merges the variables of plugin and worker, sorted by name without regard to case. The worker's
/// take precedence.
fn env(
    stage: &Stage,
    definition: &Definition,
    access: &WorkerAccess,
    plugin: &Map<String, Value>,
) -> Result<Value, DriverError> {
    let of_plugin = lists::take_maps(definition, &mut plugin.clone(), "spec", "env")?;
    let of_plugin = of_plugin.into_iter().map(Value::Object);
    let text = |name: &str, value: &str| json!({"name": name, "value": value});
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let from_secret = |name: &str, key: String| {
        let reference = json!({"name": names::CERTIFICATES_SECRET, "key": key});
        json!({"name": name, "valueFrom": {"secretKeyRef": reference}})
    };
    let own = [
        field("NODE_NAME", "spec.nodeName"),
        text("RESULTS_DIR", &stage.results_dir),
        text("SONOBUOY_RESULTS_DIR", &stage.results_dir),
        text("RESULT_TYPE", definition.name.as_str()),
        text("AGGREGATOR_URL", &access.aggregator_url),
        text("CA_CERT", &access.ca_cert),
        from_secret("CLIENT_CERT", certificate_key(&definition.name)),
        from_secret("CLIENT_KEY", private_key_key(&definition.name)),
        text(PROGRESS_PORT_VARIABLE, stage.port_of(&definition.name)),
        text("SONOBUOY_DIR", names::AGGREGATOR_DIR),
        field("SONOBUOY_NS", "metadata.namespace"),
        field("SONOBUOY_PLUGIN_POD", "metadata.name"),
        text("SONOBUOY_WORKER_CONTAINER", names::WORKER_CONTAINER),
    ];
    // A sidecar that ends is restarted, and would send its result again. This is a variable because
    // Sonobuoy's worker rejects the option.
    let stay =
        (stage.native_sidecar && !definition.driver.is_per_node()).then(|| text(names::WORKER_SLEEP_VARIABLE, "-1"));
    // Sonobuoy's worker ignores this variable.
    let progress = definition.plumbline.progress.as_ref().map(|told| text(PROGRESS_VARIABLE, &json!(told).to_string()));
    // Of two variables with one name, the last one applies.
    let merged: BTreeMap<String, Value> = of_plugin
        .chain(own)
        .chain(progress)
        .chain(stay)
        .filter_map(|variable| Some((variable.get("name")?.as_str()?.to_owned(), variable)))
        .collect();
    let mut sorted: Vec<_> = merged.into_iter().collect();
    sorted.sort_by_key(|(name, _)| name.to_lowercase());
    Ok(sorted.into_iter().map(|(_, variable)| variable).collect())
}
