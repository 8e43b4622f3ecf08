//! Writes a definition as JSON for the archive.

use serde_json::{Map, Value, json};

use crate::definition::model::Definition;

impl Definition {
    /// Returns the object under `Definition` in the archive's `definition.json`: the keys of the
    /// YAML without empty ones. [`Definition::from_json`] reads the same definition from it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut config = Map::new();
        config.insert("driver".to_owned(), json!(self.driver));
        config.insert("plugin-name".to_owned(), json!(self.name));
        put(&mut config, "result-format", self.result_format.as_ref().map(|text| json!(text)));
        put(&mut config, "result-files", non_empty(&self.result_files).map(|list| json!(list)));
        put(&mut config, "skip-cleanup", self.skip_cleanup.then_some(Value::Bool(true)));
        put(&mut config, "description", self.description.as_ref().map(|text| json!(text)));
        put(&mut config, "source-url", self.source_url.as_ref().map(|text| json!(text)));
        put(&mut config, "order", (self.order != 0).then(|| json!(self.order)));

        let mut top = Map::new();
        top.insert("sonobuoy-config".to_owned(), Value::Object(config));
        top.insert("spec".to_owned(), Value::Object(self.spec.raw().clone()));
        put(&mut top, "podSpec", self.pod_spec.clone());
        put(&mut top, "extra-volumes", non_empty(&self.extra_volumes).map(|list| json!(list)));
        put(&mut top, "config-map", (!self.config_map.is_empty()).then(|| json!(self.config_map)));
        let own = self.plumbline.to_json();
        put(&mut top, "plumbline", (!own.is_empty()).then_some(Value::Object(own)));
        Value::Object(top)
    }
}

fn put(fields: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), value);
    }
}

fn non_empty<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}
