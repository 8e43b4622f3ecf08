//! Reads a definition from YAML or JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options};

use crate::definition::container::Container;
use crate::definition::error::{DefinitionError, MAX_YAML_BYTES, Warnings, cut};
use crate::definition::extensions::Extensions;
use crate::definition::model::{Definition, ITEMS_FORMAT, Parsed};
use crate::definition::schema;
use crate::definition::section::{Section, scalar, wrong_type};
use crate::name::{is_file_name, is_module_name};

/// The maximum nesting depth. The deepest pod spec has about 15 levels.
const MAX_DEPTH: usize = 64;

/// The maximum number of mappings, lists and scalars, with aliases counted at each use. The largest
/// known definition has about 500.
const MAX_NODES: usize = 200_000;

/// The maximum size in bytes of all scalars, with aliases counted at each use.
const MAX_SCALAR_BYTES: usize = 4 * MAX_YAML_BYTES;

/// The maximum number of nodes that come from aliases. Few definitions use any.
const MAX_REPLAYED: usize = 20_000;

impl Definition {
    /// Parses a definition from YAML, of which JSON is a subset. It must be one document of at most
    /// [`MAX_YAML_BYTES`].
    pub fn parse(yaml: &str) -> Result<Parsed, DefinitionError> {
        let mut warnings = Warnings::default();
        let document = read_document(yaml, &mut warnings)?;
        read(document, warnings)
    }

    /// Parses a definition like [`Definition::parse`], from the bytes of a file.
    ///
    /// # Errors
    /// Returns a [`DefinitionError`]. A file above the size limit is reported as too large,
    /// whatever it contains.
    pub fn parse_bytes(yaml: &[u8]) -> Result<Parsed, DefinitionError> {
        check_size(yaml)?;
        let text = std::str::from_utf8(yaml).map_err(|error| DefinitionError::NotUtf8 { at: error.valid_up_to() })?;
        Self::parse(text)
    }

    /// Reads a definition from the JSON of an archive. `json` is either the object of
    /// [`Definition::to_json`], or a whole `definition.json` with that object under `Definition`.
    pub fn from_json(mut json: Value) -> Result<Parsed, DefinitionError> {
        if let Value::Object(fields) = &mut json {
            let find = |name: &str| fields.keys().find(|key| key.eq_ignore_ascii_case(name)).cloned();
            if find("sonobuoy-config").is_none()
                && let Some(inner) = find("Definition").and_then(|key| fields.remove(&key))
            {
                json = inner;
            }
        }
        read(json, Warnings::default())
    }
}

fn read(document: Value, mut warnings: Warnings) -> Result<Parsed, DefinitionError> {
    let warn = &mut warnings;
    let mut top = Section::new(String::new(), document, schema::TOP, warn)?;
    let config = top.required("sonobuoy-config")?;
    let mut config = Section::new("sonobuoy-config".to_owned(), config, schema::CONFIG, warn)?;
    let name = config.required_text("plugin-name")?;
    let driver = config.required_text("driver")?;
    let plumbline = match top.section("plumbline", schema::PLUMBLINE, warn)? {
        Some(own) => Extensions::read(own, warn)?,
        None => Extensions::default(),
    };
    let is_check = plumbline.component.is_some();
    let spec = if is_check { top.take("spec").unwrap_or_else(|| Map::new().into()) } else { top.required("spec")? };
    let spec = Container::read(spec, warn)?;
    if is_check {
        spec.check_component()?;
    }
    let definition = Definition {
        name: name.parse()?,
        driver: driver.parse()?,
        result_format: config.text("result-format")?.or_else(|| is_check.then(|| ITEMS_FORMAT.to_owned())),
        result_files: config.texts("result-files")?,
        skip_cleanup: config.truth("skip-cleanup")?,
        description: config.text("description")?,
        source_url: config.text("source-url")?,
        order: config
            .get("order", "a whole number of 32 bits", |value| i32::try_from(value.as_i64()?).ok())?
            .unwrap_or_default(),
        spec,
        pod_spec: top.get("podSpec", "a mapping", |value| value.is_object().then(|| value.clone()))?,
        extra_volumes: top.list("extra-volumes")?,
        config_map: read_config_map(top.mapping("config-map")?, warn)?,
        plumbline,
    };
    if let Some((i, other)) = definition.extra_volumes.iter().enumerate().find(|(_, volume)| !volume.is_object()) {
        return Err(wrong_type(&format!("extra-volumes[{i}]"), "a mapping", other));
    }
    if definition.result_format.as_ref().is_some_and(|name| !is_module_name(name)) {
        let why = "it is not a valid module name, so results are read as `raw`: use lower-case letters, digits, `-`, `_` and `.`";
        warn.add("sonobuoy-config.result-format", format_args!(": {why}"));
    }
    for (i, name) in definition.result_files.iter().enumerate() {
        if name.is_empty() || name.contains(['/', '\\']) {
            let why = "patterns match file names without directories, so this one matches none";
            warn.add(&format!("sonobuoy-config.result-files[{i}]"), format_args!(": {why}"));
        }
    }
    Ok(Parsed { definition, warnings: warnings.0 })
}

/// Reads and checks `config-map`. Names must be valid keys of a ConfigMap, which makes them safe as
/// file names. Values must match the format of their file extension.
fn read_config_map(
    fields: Map<String, Value>,
    warnings: &mut Warnings,
) -> Result<BTreeMap<String, String>, DefinitionError> {
    let mut files = BTreeMap::new();
    for (key, value) in fields {
        if !is_file_name(&key) {
            return Err(DefinitionError::ConfigMapKey(cut(&key)));
        }
        let path = format!("config-map.{key}");
        let text = scalar(&value).ok_or_else(|| wrong_type(&path, "text", &value))?;
        if !value.is_string() {
            warnings.not_text(&path);
        }
        check_file(&key, &text)?;
        files.insert(key, text);
    }
    Ok(files)
}

fn check_file(key: &str, text: &str) -> Result<(), DefinitionError> {
    let refuse = |format, cause| DefinitionError::ConfigMapValue { key: key.to_owned(), format, cause };
    if key.ends_with(".yaml") || key.ends_with(".yml") {
        return check_yaml(text).map_err(|cause| refuse("YAML", cause));
    }
    // Sonobuoy reads JSON as YAML, and so accepts comments and trailing commas.
    if key.ends_with(".json")
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
        && check_yaml(text).is_err()
    {
        return Err(refuse("JSON", error.to_string()));
    }
    Ok(())
}

/// Reads the only document in `text`. Empty documents around it, such as after a trailing `---`, do
/// not count.
fn read_document(text: &str, warnings: &mut Warnings) -> Result<Value, DefinitionError> {
    check_size(text.as_bytes())?;
    let read = |policy| serde_saphyr::from_multiple_with_options::<Value>(text, options(policy));
    let documents = match read(DuplicateKeyPolicy::Error) {
        Err(error @ Error::DuplicateMappingKey { .. }) => {
            warnings.duplicate_key(&error.to_string());
            read(DuplicateKeyPolicy::LastWins)
        }
        other => other,
    };
    let mut documents = documents.map_err(|error| DefinitionError::Yaml(error.to_string()))?.into_iter();
    match (documents.next(), documents.next()) {
        (None, _) => Err(DefinitionError::Empty),
        (Some(document), None) => Ok(document),
        (Some(_), Some(_)) => Err(DefinitionError::SeveralDocuments),
    }
}

/// Checks that `text` is valid YAML, with any number of documents and any content.
fn check_yaml(text: &str) -> Result<(), String> {
    check_size(text.as_bytes()).map_err(|error| error.to_string())?;
    #[derive(Deserialize)]
    struct Any(#[expect(dead_code, reason = "only read to see that it can be")] Value);
    let read = serde_saphyr::from_multiple_with_options::<Any>(text, options(DuplicateKeyPolicy::LastWins));
    read.map(drop).map_err(|error| error.to_string())
}

fn check_size(text: &[u8]) -> Result<(), DefinitionError> {
    match text.len() {
        0..=MAX_YAML_BYTES => Ok(()),
        bytes => Err(DefinitionError::TooLarge { bytes: bytes as u64 }),
    }
}

fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_total_scalar_bytes: MAX_SCALAR_BYTES,
            max_recorded_anchor_bytes: MAX_SCALAR_BYTES,
            max_recorded_anchor_events: MAX_NODES,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_merge_keys: 1_000,
            max_documents: 64,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: duplicate_keys,
        // Sonobuoy reads YAML 1.1: `defaultMode: 0644` is 420 there.
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        emit_comments: false,
        with_snippet: false,
    }
}
