//! The port of each plugin's progress relay.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_core::PluginName;
use plumbline_core::definition::Definition;
use serde_json::{Map, Value};

use super::error::DriverError;
use super::lists;
use super::reconcile::set_variable;
use super::stage::Stage;

/// The environment variable that tells plugin and worker the port of the relay.
pub(super) const PROGRESS_PORT_VARIABLE: &str = "SONOBUOY_PROGRESS_PORT";

/// Assigns ports to plugins that share the network of their nodes.
///
/// Two workers on one network cannot listen on one port, and a plugin would report its progress
/// through another plugin's worker. The first plugin in name order keeps `first`, and each further
/// one gets the next port. Plugins with a network of their own use `first` and are not in the
/// result.
#[must_use]
pub fn progress_ports<'a>(
    definitions: impl IntoIterator<Item = &'a Definition>,
    first: &str,
) -> BTreeMap<PluginName, String> {
    // Any other value is for the worker to reject, or lets the system choose a port.
    let Some(first) = first.parse::<u16>().ok().filter(|port| *port > 0) else { return BTreeMap::new() };
    let sharing = definitions.into_iter().filter(|definition| shares_network(definition));
    let sharing: BTreeSet<&PluginName> = sharing.map(|definition| &definition.name).collect();
    // At the end of the range, plugins share the last port. Nobody has so many plugins.
    let ports = (first..=u16::MAX).chain(std::iter::repeat(u16::MAX));
    sharing.into_iter().zip(ports).map(|(name, port)| (name.clone(), port.to_string())).collect()
}

/// Sets the port variable in a container of the plugin, if its port is not the default one.
pub(super) fn give(
    stage: &Stage,
    definition: &Definition,
    container: &mut Map<String, Value>,
) -> Result<(), DriverError> {
    let port = stage.port_of(&definition.name);
    if port == stage.progress_port {
        return Ok(());
    }
    let place = lists::name(container).unwrap_or("spec").to_owned();
    let mut env = lists::take_maps(definition, container, &place, "env")?;
    set_variable(&mut env, PROGRESS_PORT_VARIABLE, port);
    lists::put(container, "env", env);
    let text = Value::Object(container.clone()).to_string();
    let written = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{}", stage.progress_port));
    if written.iter().any(|address| text.contains(address)) {
        let (plugin, port) = (definition.name.to_string(), stage.progress_port.clone());
        return Err(DriverError::ProgressPort { plugin, place, port });
    }
    Ok(())
}

/// Returns true if the plugin's pods use the network of their nodes.
fn shares_network(definition: &Definition) -> bool {
    match &definition.pod_spec {
        Some(spec) => spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or(false),
        None => definition.driver.is_per_node(),
    }
}
