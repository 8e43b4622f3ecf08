//! The settings in the files of a node: flags of a static pod, and keys of a configuration.

use std::collections::BTreeMap;

use serde_json::Value;

/// The settings of a component. A flag without a value is `true`, as the components read it.
pub(crate) type Settings = BTreeMap<String, String>;

/// The start of a variable in a word or value. Kubernetes replaces it by its value.
const VARIABLE: &str = "$(";

/// The start of the names of variables that etcd reads in place of flags.
const OF_ETCD: &str = "ETCD_";

/// Returns whether the value has a variable, so that it is not known.
pub(crate) fn has_variable(value: &str) -> bool {
    value.contains(VARIABLE)
}

/// Returns the flags of the container `component` in the manifest of a static pod.
pub(crate) fn of_static_pod(text: &str, component: &str) -> Result<Settings, String> {
    let pod = parse(text)?;
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let is_it = |container: &&Value| container.get("name").and_then(Value::as_str) == Some(component);
    let container = containers
        .and_then(|containers| containers.iter().find(is_it))
        .ok_or_else(|| format!("the manifest has no container `{component}`"))?;
    let words = ["command", "args"]
        .into_iter()
        .flat_map(|key| container.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str));
    let mut words = words.peekable();
    // The flags in the words of a shell or another program are not those of the component.
    let program = words.next().unwrap_or_default();
    if program.rsplit('/').next() != Some(component) {
        return Err(format!("the container starts `{program}`, not `{component}`"));
    }
    let mut settings = Settings::new();
    while let Some(word) = words.next() {
        // A variable may have any flag.
        if word.split('=').next().is_some_and(has_variable) {
            return Err(format!("the argument `{word}` has a variable, which is not resolved"));
        }
        if !word.starts_with('-') {
            continue;
        }
        let flag = word.trim_start_matches('-');
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, value),
            // A flag that is on or off does not take the next word.
            None => (flag, words.next_if(|next| !next.starts_with('-') && !is_bool(next)).unwrap_or("true")),
        };
        // Every entry of a list counts, and two values of another flag are not the wanted one.
        let list = settings.entry(name.replace('_', "-")).or_default();
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(value);
    }
    if component == "etcd" {
        add_variables(container, &mut settings)?;
    }
    if settings.is_empty() {
        return Err(format!("the container `{component}` has no flags"));
    }
    Ok(settings)
}

/// Adds what etcd takes from its environment: `ETCD_AUTO_TLS` is the flag `auto-tls`. A flag takes
/// precedence.
fn add_variables(container: &Value, settings: &mut Settings) -> Result<(), String> {
    let list = |key: &str| container.get(key).and_then(Value::as_array).into_iter().flatten();
    if list("envFrom").next().is_some() {
        return Err("the container has variables from `envFrom`, which are not read".to_owned());
    }
    for variable in list("env") {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(flag) = name.strip_prefix(OF_ETCD) else { continue };
        let value = match variable.get("value").and_then(Value::as_str) {
            Some(value) => value.to_owned(),
            None if variable.get("valueFrom").is_some() => format!("{VARIABLE}{name})"),
            None => String::new(),
        };
        // etcd ignores an empty variable.
        if !value.is_empty() {
            settings.entry(flag.to_ascii_lowercase().replace('_', "-")).or_insert(value);
        }
    }
    Ok(())
}

fn is_bool(word: &str) -> bool {
    matches!(word, "true" | "false")
}

/// Returns the keys of the kubelet's configuration, with their paths.
pub(crate) fn of_kubelet(text: &str) -> Result<Settings, String> {
    let document = parse(text)?;
    match document.get("kind").and_then(Value::as_str) {
        Some("KubeletConfiguration") => {}
        _ => return Err("the file is not a `KubeletConfiguration`".to_owned()),
    }
    let mut settings = Settings::new();
    collect("", &document, &mut settings);
    Ok(settings)
}

/// The depth of the document is limited by its parser.
fn collect(path: &str, value: &Value, settings: &mut Settings) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            collect(&path, value, settings);
        }),
        Value::String(text) => drop(settings.insert(path.to_owned(), text.clone())),
        Value::Null => {}
        other => drop(settings.insert(path.to_owned(), other.to_string())),
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| format!("the file is not valid YAML: {error}"))
}
