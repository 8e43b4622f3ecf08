//! What a user asks of the suite, and what that comes to in its definition.

use plumbline_core::Definition;
use plumbline_core::definition::DefinitionError;
use serde_json::{Map, Value, json};

use super::extra_args::{EXTRA_ARGS, EXTRA_ARGS_SEPARATOR, appended, with_progress};
use super::mode::Mode;

/// Where a plugin finds the files that its definition brings along.
pub const CONFIG_DIR: &str = "/tmp/sonobuoy/config";

/// Where the suite finds credentials for registries. Not among the files of the definition: those stand in a ConfigMap, and in the archive.
pub const CREDENTIALS_DIR: &str = "/tmp/sonobuoy/credentials";

/// The file in it.
const CREDENTIALS_FILE: &str = "config.json";

/// The key of credentials in a Secret of type `kubernetes.io/dockerconfigjson`.
const CREDENTIALS_KEY: &str = ".dockerconfigjson";

/// The Secret with the key for nodes, as the manifest calls it, and the file in it.
const SSH_SECRET: &str = "ssh-key";
const SSH_FILE: &str = "id_rsa";
const SSH_DIR: &str = "/root/.ssh";
/// 0400: the client refuses a key that others can read.
const SSH_FILE_MODE: u32 = 0o400;

/// A file for the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its name, without directories.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// How the suite logs in to nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ssh {
    /// As whom; `None`: as the definition says.
    pub user: Option<String>,
    /// Whether there is a Secret `ssh-key` with a key.
    pub key: bool,
}

/// What a user asks of the suite. What is not given stays as the definition has it, so that one that was printed and changed by hand is
/// taken as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The image, in place of the definition's.
    pub image: Option<String>,
    /// A choice of tests.
    pub mode: Option<Mode>,
    /// The expression for tests that are chosen, over the mode's.
    pub focus: Option<String>,
    /// The expression for tests that are left out, over the mode's; empty: none is.
    pub skip: Option<String>,
    /// Whether tests run side by side, over the mode's.
    pub parallel: Option<bool>,
    /// A registry in place of all that the suite's images come from.
    pub repo: Option<String>,
    /// A file that says which registry stands for which (`KUBE_TEST_REPO_LIST`).
    pub repo_config: Option<ConfigFile>,
    /// The Secret with credentials for registries that the suite itself uses.
    pub credentials: Option<String>,
    /// How the suite logs in to nodes.
    pub ssh: Ssh,
    /// Tests are chosen and reported, and not run.
    pub dry_run: bool,
    /// Further arguments for the suite's program.
    pub extra_args: Vec<String>,
    /// The port of the worker for progress; `None`: as the definition says.
    pub progress_port: Option<String>,
}

/// Why settings cannot become a definition.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A part of the definition that is to be extended has another shape.
    #[error("`{path}` of its definition must be {expected}")]
    Shape {
        /// The key.
        path: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// A variable that is to be extended gets its value in the cluster.
    #[error("`{0}` gets its value in the cluster (`valueFrom`): nothing can be appended to it here")]
    FromCluster(&'static str),
    /// What came out is no definition.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

/// The port that the definition's address for progress has where nothing else is said: Sonobuoy's.
const DEFAULT_PROGRESS_PORT: &str = "8099";

impl Settings {
    /// The definition with these settings. Doing it twice is doing it once, but for arguments, which are appended again.
    ///
    /// # Errors
    /// A part of the definition that is to be extended cannot be.
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
        if self.ssh.key {
            let secret = json!({"secretName": SSH_SECRET, "defaultMode": SSH_FILE_MODE});
            volume(top, "sshkey-vol", &secret, SSH_DIR)?;
        }
        let spec = object(top, "spec", "spec")?;
        if let Some(image) = &self.image {
            spec.insert("image".to_owned(), json!(image));
        }
        let env = list(spec, "env", "spec.env")?;
        for (name, value) in self.variables() {
            set(env, name, value.as_deref());
        }
        self.extend_args(env)?;
        env.sort_by_cached_key(|variable| name_of(variable).unwrap_or_default().to_lowercase());
        Ok(Definition::from_json(json)?.definition)
    }

    /// Variables that are set; those without a value are removed.
    fn variables(&self) -> Vec<(&'static str, Option<String>)> {
        let mut set: Vec<(&'static str, Option<String>)> = Vec::new();
        if let Some(mode) = self.mode {
            set.push(("E2E_FOCUS", Some(mode.focus().to_owned())));
            set.push(("E2E_SKIP", mode.skip()));
            set.push(("E2E_PARALLEL", Some(mode.parallel().to_string())));
        }
        if let Some(focus) = &self.focus {
            set.push(("E2E_FOCUS", Some(focus.clone())));
        }
        if let Some(skip) = &self.skip {
            set.push(("E2E_SKIP", Some(skip.clone()).filter(|skip| !skip.is_empty())));
        }
        if let Some(parallel) = self.parallel {
            set.push(("E2E_PARALLEL", Some(parallel.to_string())));
        }
        if let Some(repo) = &self.repo {
            set.push(("KUBE_TEST_REPO", Some(repo.clone())));
        }
        if let Some(file) = &self.repo_config {
            set.push(("KUBE_TEST_REPO_LIST", Some(format!("{CONFIG_DIR}/{}", file.name))));
        }
        if let Some(user) = &self.ssh.user {
            set.push(("KUBE_SSH_USER", Some(user.clone())));
        }
        if self.ssh.key {
            // One name for each provider that the suite knows; a path, or a file below the home's `.ssh`.
            set.push(("LOCAL_SSH_KEY", Some(SSH_FILE.to_owned())));
            set.push(("AWS_SSH_KEY", Some(format!("{SSH_DIR}/{SSH_FILE}"))));
            set.push(("KUBE_SSH_KEY", Some(SSH_FILE.to_owned())));
        }
        if self.dry_run {
            set.push(("E2E_DRYRUN", Some("true".to_owned())));
        }
        set
    }

    fn extend_args(&self, env: &mut Vec<Value>) -> Result<(), SettingsError> {
        let mut more = self.extra_args.clone();
        if self.credentials.is_some() {
            more.insert(0, format!("--e2e-docker-config-file={CREDENTIALS_DIR}/{CREDENTIALS_FILE}"));
        }
        let Some(given) = text_of(env, EXTRA_ARGS) else {
            return if more.is_empty() { Ok(()) } else { Err(SettingsError::FromCluster(EXTRA_ARGS)) };
        };
        let separator = text_of(env, EXTRA_ARGS_SEPARATOR).ok_or(SettingsError::FromCluster(EXTRA_ARGS_SEPARATOR))?;
        let separator = if separator.is_empty() { " " } else { separator };
        let port = self.progress_port.as_deref().unwrap_or(DEFAULT_PROGRESS_PORT);
        let mut args = with_progress(given, port, separator);
        for one in &more {
            args = appended(&args, one, separator);
        }
        set(env, EXTRA_ARGS, Some(&args));
        Ok(())
    }
}

fn name_of(variable: &Value) -> Option<&str> {
    variable.get("name").and_then(Value::as_str)
}

/// The text of a variable, empty if it is not set; `None`: only a cluster can tell. Of two of one name the last counts.
fn text_of<'a>(env: &'a [Value], name: &str) -> Option<&'a str> {
    let Some(variable) = env.iter().rfind(|variable| name_of(variable) == Some(name)) else { return Some("") };
    match variable.get("value") {
        Some(Value::String(text)) => Some(text),
        _ if variable.get("valueFrom").is_some_and(|from| !from.is_null()) => None,
        _ => Some(""),
    }
}

fn set(env: &mut Vec<Value>, name: &str, value: Option<&str>) {
    env.retain(|variable| name_of(variable) != Some(name));
    env.extend(value.map(|value| json!({"name": name, "value": value})));
}

/// A volume of a Secret, mounted at `path`; in the place of one of the same name, which a definition that was printed has.
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

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
