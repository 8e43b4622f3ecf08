//! Settings for the suite that need more than a variable, their application to its definition, and
//! what the suite's image makes of it.

use plumbline_core::Definition;
use plumbline_core::definition::{DefinitionError, EnvValue};
use serde_json::{Map, Value, json};

/// Default focus of the suite's image.
pub const DEFAULT_FOCUS: &str = r"\[Conformance\]";

/// Directory with the files that a definition contains.
pub const CONFIG_DIR: &str = "/tmp/sonobuoy/config";

/// Directory with the suite's registry credentials. They are not files of the definition, because
/// those are stored in a ConfigMap and in the archive.
pub const CREDENTIALS_DIR: &str = "/tmp/sonobuoy/credentials";

/// File name in this directory.
const CREDENTIALS_FILE: &str = "config.json";

/// Key of the credentials in a Secret of type `kubernetes.io/dockerconfigjson`.
const CREDENTIALS_KEY: &str = ".dockerconfigjson";

/// Name of the Secret with the SSH key for nodes, as in the manifest, and the file in it.
const SSH_SECRET: &str = "ssh-key";
const SSH_FILE: &str = "id_rsa";
const SSH_DIR: &str = "/root/.ssh";
/// The SSH client rejects a key that others can read.
const SSH_FILE_MODE: u32 = 0o400;

/// A file for the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Name of the file, without directories.
    pub name: String,
    /// Content of the file.
    pub text: String,
}

/// Settings for the suite that no option of a profile expresses. Settings that are not given keep the
/// definition's values, so that a definition that was edited manually works as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// File with the replacements of registries (`KUBE_TEST_REPO_LIST`).
    pub repo_config: Option<ConfigFile>,
    /// Name of the Secret with credentials for registries that the suite itself uses.
    pub credentials: Option<String>,
    /// Whether there is a Secret `ssh-key` with a key for tests that log in to nodes.
    pub ssh_key: bool,
    /// Additional arguments for the suite's program.
    pub extra_args: Vec<String>,
    /// Port of the worker for progress reports. `None` means the default, 8099.
    pub progress_port: Option<String>,
}

/// Error while applying settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A part of the definition that must be extended has an unexpected type.
    #[error("`{path}` of its definition must be {expected}")]
    Shape {
        /// Path of the key.
        path: &'static str,
        /// Expected type.
        expected: &'static str,
    },
    /// The value of a variable that must be extended is only known in the cluster.
    #[error("failed to append to `{0}`: it gets its value in the cluster (`valueFrom`)")]
    FromCluster(&'static str),
    /// The resulting definition is invalid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

/// Default port of the progress URL, which is Sonobuoy's.
const DEFAULT_PROGRESS_PORT: &str = "8099";

impl Settings {
    /// Returns the definition with these settings. Applying them twice has the same result, except
    /// for arguments, which are appended again.
    pub fn apply(&self, definition: &Definition) -> Result<Definition, SettingsError> {
        let mut json = definition.to_json();
        let Value::Object(top) = &mut json else { return Ok(definition.clone()) };
        if let Some(file) = &self.repo_config {
            let files = object(top, "config-map", "config-map")?;
            files.insert(file.name.clone(), json!(file.text));
        }
        if let Some(secret) = &self.credentials {
            let items = json!([{"key": CREDENTIALS_KEY, "path": CREDENTIALS_FILE}]);
            volume(top, "sonobuoy-e2e-credentials", &json!({"secretName": secret, "items": items}), CREDENTIALS_DIR)?;
        }
        if self.ssh_key {
            let secret = json!({"secretName": SSH_SECRET, "defaultMode": SSH_FILE_MODE});
            volume(top, "sshkey-vol", &secret, SSH_DIR)?;
        }
        let spec = object(top, "spec", "spec")?;
        let env = list(spec, "env", "spec.env")?;
        if let Some(file) = &self.repo_config {
            set(env, "KUBE_TEST_REPO_LIST", &format!("{CONFIG_DIR}/{}", file.name));
        }
        if self.ssh_key {
            // The suite has a variable for each provider. The value is a path, or a file in
            // `~/.ssh`.
            set(env, "LOCAL_SSH_KEY", SSH_FILE);
            set(env, "AWS_SSH_KEY", &format!("{SSH_DIR}/{SSH_FILE}"));
            set(env, "KUBE_SSH_KEY", SSH_FILE);
        }
        self.extend_args(definition, env)?;
        env.sort_by_cached_key(|variable| name_of(variable).unwrap_or_default().to_lowercase());
        Ok(Definition::from_json(json)?.definition)
    }

    fn extend_args(&self, definition: &Definition, env: &mut Vec<Value>) -> Result<(), SettingsError> {
        let mut more = self.extra_args.clone();
        if self.credentials.is_some() {
            more.insert(0, format!("--e2e-docker-config-file={CREDENTIALS_DIR}/{CREDENTIALS_FILE}"));
        }
        let Some(given) = variable(definition, EXTRA_ARGS) else {
            return if more.is_empty() { Ok(()) } else { Err(SettingsError::FromCluster(EXTRA_ARGS)) };
        };
        let separator =
            variable(definition, EXTRA_ARGS_SEPARATOR).ok_or(SettingsError::FromCluster(EXTRA_ARGS_SEPARATOR))?;
        let port = self.progress_port.as_deref().unwrap_or(DEFAULT_PROGRESS_PORT);
        let mut args = with_progress(given, port, separator);
        for one in &more {
            args = appended(&args, one, separator);
        }
        set(env, EXTRA_ARGS, &args);
        Ok(())
    }
}

fn name_of(variable: &Value) -> Option<&str> {
    variable.get("name").and_then(Value::as_str)
}

fn set(env: &mut Vec<Value>, name: &str, value: &str) {
    env.retain(|variable| name_of(variable) != Some(name));
    env.push(json!({"name": name, "value": value}));
}

/// Adds a volume of a Secret, mounted at `path`. It replaces a volume of the same name, which a
/// definition with applied settings already has.
fn volume(top: &mut Map<String, Value>, name: &str, secret: &Value, path: &str) -> Result<(), SettingsError> {
    let volumes = list(top, "extra-volumes", "extra-volumes")?;
    volumes.retain(|volume| name_of(volume) != Some(name));
    volumes.push(json!({"name": name, "secret": secret}));
    let mounts = list(object(top, "spec", "spec")?, "volumeMounts", "spec.volumeMounts")?;
    mounts.retain(|mount| name_of(mount) != Some(name));
    mounts.push(json!({"name": name, "mountPath": path, "readOnly": true}));
    Ok(())
}

fn object<'a>(
    of: &'a mut Map<String, Value>,
    key: &str,
    path: &'static str,
) -> Result<&'a mut Map<String, Value>, SettingsError> {
    let value = of.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut().ok_or(SettingsError::Shape { path, expected: "a mapping" })
}

fn list<'a>(
    of: &'a mut Map<String, Value>,
    key: &str,
    path: &'static str,
) -> Result<&'a mut Vec<Value>, SettingsError> {
    let value = of.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!([]);
    }
    value.as_array_mut().ok_or(SettingsError::Shape { path, expected: "a list" })
}

/// Variable with additional arguments for the suite's program.
pub const EXTRA_ARGS: &str = "E2E_EXTRA_ARGS";

/// Variable with the separator of the arguments. Without it, they are separated by spaces.
pub const EXTRA_ARGS_SEPARATOR: &str = "E2E_EXTRA_ARGS_SEP";

/// Argument with the URL for progress reports.
pub const PROGRESS_FLAG: &str = "--progress-report-url";

/// Returns the separator, or a space if it is empty, because an empty one would split every
/// character.
fn separator_or_space(separator: &str) -> &str {
    if separator.is_empty() { " " } else { separator }
}

/// Returns `given` with the progress URL of the worker next to the suite, which listens on `port`.
/// The URL is added at the front and replaces a local URL with another port. A URL of another host
/// is deliberate and is kept.
pub fn with_progress(given: &str, port: &str, separator: &str) -> String {
    let separator = separator_or_space(separator);
    let local = |word: &str| word.starts_with(&format!("{PROGRESS_FLAG}=http://localhost:"));
    let rest: Vec<&str> = words(given, separator).filter(|word| !local(word)).collect();
    if rest.iter().any(|word| is_progress(word)) {
        return rest.join(separator);
    }
    let own = format!("{PROGRESS_FLAG}=http://localhost:{port}/progress");
    [own.as_str()].into_iter().chain(rest).collect::<Vec<_>>().join(separator)
}

/// Returns `given` followed by `more`. A progress URL in `more` replaces the one in `given`.
pub fn appended(given: &str, more: &str, separator: &str) -> String {
    let separator = separator_or_space(separator);
    let another = words(more, separator).any(is_progress);
    let given = words(given, separator).filter(|word| !(another && is_progress(word)));
    given.chain(words(more, separator)).collect::<Vec<_>>().join(separator)
}

fn is_progress(word: &str) -> bool {
    // Go accepts one dash or two.
    let word = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or(word);
    PROGRESS_FLAG.strip_prefix("--").is_some_and(|flag| word == flag || word.starts_with(&format!("{flag}=")))
}

fn words<'a>(text: &'a str, separator: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(separator).filter(|word| !word.is_empty())
}

/// Default skip of the image for parallel runs.
pub(crate) const PARALLEL_SKIP: &str = r"\[Serial\]";

/// Tests that the suite's image will run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Expression of the tests to run.
    pub focus: String,
    /// Expression of the tests to skip.
    pub skip: Option<String>,
}

/// Returns the tests that the image will run with the environment of `definition`. `None` if the
/// value of a variable is only known in the cluster.
pub fn chosen(definition: &Definition) -> Option<Chosen> {
    let focus = Some(variable(definition, "E2E_FOCUS")?).filter(|text| !text.is_empty());
    let skip = Some(variable(definition, "E2E_SKIP")?).filter(|text| !text.is_empty());
    let parallel = matches!(variable(definition, "E2E_PARALLEL")?, "y" | "Y" | "true");
    Some(Chosen {
        focus: focus.unwrap_or(DEFAULT_FOCUS).to_owned(),
        skip: skip.or(parallel.then_some(PARALLEL_SKIP)).map(str::to_owned),
    })
}

/// Returns the value of a variable, or an empty string if it is not set. `None` if the value is only
/// known in the cluster. Of duplicates, the last one applies.
fn variable<'a>(definition: &'a Definition, name: &str) -> Option<&'a str> {
    match definition.spec.env().iter().rfind(|variable| variable.name == name).map(|variable| &variable.value) {
        None => Some(""),
        Some(EnvValue::Text(text)) => Some(text),
        Some(EnvValue::From(_)) => None,
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
