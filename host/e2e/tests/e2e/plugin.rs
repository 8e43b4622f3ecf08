//! Definitions of plugins with configurable behavior: the image's `plumbline-dev plugin`.

use serde_json::{Value, json};

/// A builder of a definition.
#[derive(Debug, Clone)]
pub(crate) struct Plugin {
    name: String,
    driver: &'static str,
    format: &'static str,
    args: Vec<String>,
    image: Option<String>,
    selector: Option<(&'static str, &'static str)>,
    security: Option<Value>,
}

impl Plugin {
    /// Creates a plugin that runs once per cluster.
    pub(crate) fn job(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            driver: "Job",
            format: "junit",
            args: Vec::new(),
            image: None,
            selector: None,
            security: None,
        }
    }

    /// Creates a plugin that runs once per node. It keeps running when it is done, because its pod
    /// would be restarted otherwise.
    pub(crate) fn daemon_set(name: &str) -> Self {
        Self { driver: "DaemonSet", ..Self::job(name) }.args(&["--stay"])
    }

    /// Adds arguments of `plumbline-dev plugin`.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// Sets the result format.
    pub(crate) fn format(mut self, format: &'static str) -> Self {
        self.format = format;
        self.args(&["--format", format])
    }

    /// Sets another image than the one under test.
    pub(crate) fn image(mut self, image: &str) -> Self {
        self.image = Some(image.to_owned());
        self
    }

    /// Restricts the plugin to nodes with this label.
    pub(crate) fn on(mut self, key: &'static str, value: &'static str) -> Self {
        self.selector = Some((key, value));
        self
    }

    /// Sets the security context of the pod.
    pub(crate) fn secured(mut self, context: &Value) -> Self {
        self.security = Some(context.clone());
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the definition as JSON, which is also YAML.
    pub(crate) fn definition(&self, image: &str) -> String {
        let spec = json!({
            "name": "plugin",
            "image": self.image.as_deref().unwrap_or(image),
            "imagePullPolicy": "IfNotPresent",
            "command": ["/plumbline-dev", "plugin"],
            "args": self.args,
            "volumeMounts": [{"name": "results", "mountPath": "/tmp/sonobuoy/results"}],
        });
        let config = json!({"driver": self.driver, "plugin-name": self.name, "result-format": self.format});
        let mut definition = json!({"sonobuoy-config": config, "spec": spec});
        if let Some((key, value)) = self.selector {
            definition["podSpec"] = json!({"nodeSelector": {key: value}, "restartPolicy": "Never", "containers": []});
        }
        if let Some(context) = &self.security {
            let restart = if self.driver == "Job" { "Never" } else { "Always" };
            definition["podSpec"] = json!({"securityContext": context, "restartPolicy": restart, "containers": []});
        }
        definition.to_string()
    }
}
