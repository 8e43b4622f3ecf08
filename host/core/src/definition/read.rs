//! Reads a definition from YAML or JSON.

use serde_json::{Map, Value};

use super::error::MAX_YAML_BYTES;
use crate::definition::config_map;
use crate::definition::container::Container;
use crate::definition::error::DefinitionError;
use crate::definition::extensions::Extensions;
use crate::definition::model::{Definition, Parsed};
use crate::definition::module_name::is_module_name;
use crate::definition::schema::{CONFIG, TOP};
use crate::definition::section::{Section, wrong_type};
use crate::definition::warning::{WarningKind, Warnings};
use crate::definition::yaml::{self};

/// Keys of `sonobuoy-config` that occur in real definitions and never had an effect.
const CONFIG_NO_EFFECT: &[(&str, &str)] = &[
    ("source_url", "write `source-url`"),
    ("result-type", "results are filed under `plugin-name`, and `result-format` says how they are read"),
];

impl Definition {
    /// Parses a definition from YAML, of which JSON is a subset. It must be one document of at most
    /// [`MAX_YAML_BYTES`].
    ///
    /// # Errors
    ///
    /// Returns a [`DefinitionError`] that names the key.
    pub fn parse(yaml: &str) -> Result<Parsed, DefinitionError> {
        let mut warnings = Warnings::default();
        let document = yaml::read_document(yaml, &mut warnings)?;
        read(document, warnings)
    }

    /// Parses a definition like [`Definition::parse`], from the bytes of a file.
    ///
    /// # Errors
    ///
    /// Returns a [`DefinitionError`]. A file above the size limit is reported as too large,
    /// whatever it contains.
    pub fn parse_bytes(yaml: &[u8]) -> Result<Parsed, DefinitionError> {
        if yaml.len() > MAX_YAML_BYTES {
            return Err(DefinitionError::TooLarge { bytes: yaml.len() as u64 });
        }
        let text = std::str::from_utf8(yaml).map_err(|error| DefinitionError::NotUtf8 { at: error.valid_up_to() })?;
        Self::parse(text)
    }

    /// Reads a definition from the JSON of an archive. `json` is either the object of
    /// [`Definition::to_json`], or a whole `definition.json` with that object under `Definition`.
    ///
    /// # Errors
    ///
    /// Returns a [`DefinitionError`] that names the key.
    pub fn from_json(json: Value) -> Result<Parsed, DefinitionError> {
        let json = match json {
            Value::Object(mut fields) if !has(&fields, "sonobuoy-config") => {
                let key = fields.keys().find(|key| key.eq_ignore_ascii_case("Definition")).cloned();
                key.and_then(|key| fields.remove(&key)).unwrap_or(Value::Object(fields))
            }
            other => other,
        };
        read(json, Warnings::default())
    }
}

fn has(fields: &Map<String, Value>, name: &str) -> bool {
    fields.keys().any(|key| key.eq_ignore_ascii_case(name))
}

fn read(document: Value, mut warnings: Warnings) -> Result<Parsed, DefinitionError> {
    let warn = &mut warnings;
    let mut top = Section::new("", document, TOP, &[], warn)?;
    let config = top.required("sonobuoy-config")?;
    let mut config = Section::new("sonobuoy-config", config, CONFIG, CONFIG_NO_EFFECT, warn)?;
    let name = config.text("plugin-name")?.ok_or_else(|| DefinitionError::Missing(config.at("plugin-name")))?;
    let driver = config.text("driver")?.ok_or_else(|| DefinitionError::Missing(config.at("driver")))?;
    let spec = top.required("spec")?;
    let definition = Definition {
        name: name.parse()?,
        driver: driver.parse()?,
        result_format: config.text("result-format")?,
        result_files: config.texts("result-files")?,
        skip_cleanup: config.truth("skip-cleanup")?,
        description: config.text("description")?,
        source_url: config.text("source-url")?,
        order: config.whole_number("order")?,
        spec: Container::read(spec, warn)?,
        pod_spec: match top.take("podSpec") {
            Some(pod) if !pod.is_object() => return Err(wrong_type("podSpec", "a mapping", &pod)),
            pod => pod,
        },
        extra_volumes: extra_volumes(&mut top)?,
        config_map: config_map::read(top.mapping("config-map")?, warn)?,
        plumbline: match top.take("plumbline") {
            Some(own) => Extensions::read(own, warn)?,
            None => Extensions::default(),
        },
    };
    warn_of_useless_values(&definition, warn);
    Ok(Parsed { definition, warnings: warnings.into_vec() })
}

fn extra_volumes(top: &mut Section) -> Result<Vec<Value>, DefinitionError> {
    let volumes = top.list("extra-volumes")?;
    match volumes.iter().enumerate().find(|(_, volume)| !volume.is_object()) {
        Some((i, other)) => Err(wrong_type(&format!("extra-volumes[{i}]"), "a mapping", other)),
        None => Ok(volumes),
    }
}

fn warn_of_useless_values(definition: &Definition, warnings: &mut Warnings) {
    if definition.result_format.as_ref().is_some_and(|name| !is_module_name(name)) {
        let why = "no module can have this name, so results are read as `raw`: use lower-case letters, digits, `-`, `_` and `.`";
        warnings.add("sonobuoy-config.result-format", WarningKind::Useless { why });
    }
    for (i, name) in definition.result_files.iter().enumerate() {
        if name.is_empty() || name.contains(['/', '\\']) {
            let why = "files are named without their directories, so this matches none";
            warnings.add(format!("sonobuoy-config.result-files[{i}]"), WarningKind::Useless { why });
        }
    }
}
