//! The section `plumbline` of a definition.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::definition::error::DefinitionError;
use crate::definition::limits::LimitsRequest;
use crate::definition::module_name::is_module_name;
use crate::definition::permissions::ApiPermissions;
use crate::definition::progress::LogProgress;
use crate::definition::reruns::Reruns;
use crate::definition::schema::PLUMBLINE;
use crate::definition::section::{Section, wrong_type};
use crate::definition::verdict::{self, VerdictEntry};
use crate::definition::warning::{Warnings, cut};
use crate::duration::{MAX_SECONDS, format_duration, parse_duration};

/// The maximum number of patterns for further files. A bundle has a handful of directories, and
/// each pattern costs one walk.
const MAX_FILE_PATTERNS: usize = 64;

/// The maximum length of a pattern in bytes, which equals the longest name in a bundle.
const MAX_PATTERN_BYTES: usize = 240;

/// The maximum length in bytes of the name of the standard output file.
const MAX_FILE_NAME: usize = 100;

/// The name of the done file.
const DONE_FILE: &str = "done";

/// The maximum number of exit codes that mean that no test was found. No tool has more than one or
/// two.
const MAX_EXIT_CODES: usize = 16;

/// The section `plumbline` of a definition. Other tools ignore it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extensions {
    /// The expectations module. `None`: see [`crate::definition::Definition::expectations_module`].
    pub expectations: Option<String>,
    /// The summarizer module. `None` selects the post-processor if it also implements this role.
    pub summarizer: Option<String>,
    /// Free-form options for the plugin's modules.
    pub options: Map<String, Value>,
    /// The limits of the plugin's modules that differ from the defaults.
    pub limits: LimitsRequest,
    /// The timeout of the plugin, from its launch. `None` applies the run's timeout, and zero means
    /// no timeout.
    pub timeout: Option<Duration>,
    /// Glob patterns of further files of the plugin's bundle, relative to its directory, without
    /// `..` and `./`.
    pub files: Vec<String>,
    /// The plugin whose failed tests this plugin reruns.
    pub reruns: Option<Reruns>,
    /// The log from which the worker reads progress.
    pub progress: Option<LogProgress>,
    /// The judges of the plugin in order, which decide what in the finished tree counts.
    pub verdict: Vec<VerdictEntry>,
    /// Whether a run of the plugin without any result passes. The same applies to only skipped
    /// results, and to only files that no module reads.
    pub allow_empty: bool,
    /// The file in the results directory to which a local run writes the standard output of the
    /// process.
    pub stdout: Option<String>,
    /// Exit codes with which the process reports that it found no test. They are not a failure by
    /// themselves.
    pub no_tests_exit_codes: Vec<u8>,
    /// The plugin's permissions on the API server of its cluster.
    pub permissions: ApiPermissions,
}

impl Extensions {
    pub(super) fn read(value: Value, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let mut section = Section::new("plumbline", value, PLUMBLINE, &[], warnings)?;
        let expectations = module(&mut section, "expectations")?;
        let summarizer = module(&mut section, "summarizer")?;
        if !section.texts("depends-on")?.is_empty() {
            return Err(DefinitionError::Reserved(section.at("depends-on")));
        }
        Ok(Self {
            expectations,
            summarizer,
            options: section.mapping("options")?,
            timeout: timeout(&mut section)?,
            files: files(&mut section)?,
            reruns: match section.take("reruns") {
                Some(reruns) => Some(Reruns::read(&section.at("reruns"), reruns, warnings)?),
                None => None,
            },
            progress: match section.take("progress") {
                Some(progress) => Some(LogProgress::read(&section.at("progress"), progress, warnings)?),
                None => None,
            },
            verdict: verdict::read(&mut section, warnings)?,
            allow_empty: section.truth("allow-empty")?,
            stdout: stdout(&mut section)?,
            no_tests_exit_codes: exit_codes(&mut section)?,
            permissions: match section.take("permissions") {
                Some(permissions) => ApiPermissions::read(&section.at("permissions"), permissions, warnings)?,
                None => ApiPermissions::default(),
            },
            limits: match section.take("limits") {
                Some(limits) => LimitsRequest::read(&section.at("limits"), limits, warnings)?,
                None => LimitsRequest::default(),
            },
        })
    }

    pub(super) fn to_json(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(name) = &self.expectations {
            fields.insert("expectations".to_owned(), Value::from(name.as_str()));
        }
        if let Some(name) = &self.summarizer {
            fields.insert("summarizer".to_owned(), Value::from(name.as_str()));
        }
        if !self.options.is_empty() {
            fields.insert("options".to_owned(), Value::from(self.options.clone()));
        }
        if !self.limits.is_empty() {
            fields.insert("limits".to_owned(), Value::from(self.limits.to_json()));
        }
        if let Some(timeout) = self.timeout {
            fields.insert("timeout".to_owned(), Value::from(format_duration(timeout)));
        }
        if !self.files.is_empty() {
            fields.insert("files".to_owned(), Value::from(self.files.clone()));
        }
        if let Some(reruns) = &self.reruns {
            fields.insert("reruns".to_owned(), reruns.to_json());
        }
        if let Some(progress) = &self.progress {
            fields.insert("progress".to_owned(), progress.to_json());
        }
        if !self.verdict.is_empty() {
            fields.insert("verdict".to_owned(), self.verdict.iter().map(VerdictEntry::to_json).collect());
        }
        if self.allow_empty {
            fields.insert("allow-empty".to_owned(), Value::from(true));
        }
        if let Some(file) = &self.stdout {
            fields.insert("stdout".to_owned(), Value::from(file.as_str()));
        }
        if !self.no_tests_exit_codes.is_empty() {
            fields.insert("no-tests-exit-codes".to_owned(), Value::from(self.no_tests_exit_codes.clone()));
        }
        if !self.permissions.is_empty() {
            fields.insert("permissions".to_owned(), self.permissions.to_json());
        }
        fields
    }
}

/// Reads the name of a module. The caller checks whether the module exists.
fn module(section: &mut Section, key: &str) -> Result<Option<String>, DefinitionError> {
    let name = section.text(key)?;
    match name.as_ref().filter(|name| !is_module_name(name)) {
        Some(name) => Err(DefinitionError::ModuleName { path: section.at(key), name: cut(name) }),
        None => Ok(name),
    }
}

/// Reads a plain file name, since the file is in the same directory as the plugin's own files.
fn stdout(section: &mut Section) -> Result<Option<String>, DefinitionError> {
    let Some(name) = section.text("stdout")? else { return Ok(None) };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() > MAX_FILE_NAME || !name.chars().all(plain) || name.starts_with('.') || name == DONE_FILE {
        return Err(wrong_type(
            &section.at("stdout"),
            "a file name of letters, digits, `-`, `_` and `.`",
            &name.into(),
        ));
    }
    Ok(Some(name))
}

/// Reads exit codes, all of them nonzero because 0 means success.
fn exit_codes(section: &mut Section) -> Result<Vec<u8>, DefinitionError> {
    let path = section.at("no-tests-exit-codes");
    let codes = section.list("no-tests-exit-codes")?;
    if codes.len() > MAX_EXIT_CODES {
        return Err(wrong_type(&path, "a list of at most 16 exit codes", &codes.into()));
    }
    let code = |(i, value): (usize, &Value)| {
        let code = value.as_u64().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
        code.ok_or_else(|| wrong_type(&format!("{path}[{i}]"), "an exit code from 1 to 255", value))
    };
    codes.iter().enumerate().map(code).collect()
}

/// Reads patterns that stay inside the plugin's directory. The reader of bundles checks whether
/// each is a valid glob.
fn files(section: &mut Section) -> Result<Vec<String>, DefinitionError> {
    let path = section.at("files");
    let patterns = section.texts("files")?;
    let refused = |i: usize, why| Err(DefinitionError::FilePattern { path: format!("{path}[{i}]"), why });
    let mut files = Vec::new();
    for (i, pattern) in patterns.into_iter().enumerate() {
        let inner = pattern.strip_prefix("./").unwrap_or(&pattern);
        if i == MAX_FILE_PATTERNS {
            return refused(i, "there are more than 64 patterns: name directories, such as `data/**`");
        } else if inner.is_empty() {
            return refused(i, "the pattern is empty");
        } else if inner.len() > MAX_PATTERN_BYTES {
            return refused(i, "the pattern has more than 240 bytes");
        } else if inner.starts_with('/') || inner.chars().any(|c| c == '\\' || c.is_control()) {
            return refused(i, "the pattern must be relative to the plugin's directory, with `/` between names");
        } else if inner.split('/').any(|component| matches!(component, ".." | "." | "")) {
            return refused(i, "the pattern must not hold `..`, `.` or empty names: files outside are not packed");
        }
        files.push(inner.to_owned());
    }
    Ok(files)
}

fn timeout(section: &mut Section) -> Result<Option<Duration>, DefinitionError> {
    let path = section.at("timeout");
    match section.take("timeout") {
        None => Ok(None),
        Some(Value::String(text)) => {
            parse_duration(&text).map(Some).map_err(|cause| DefinitionError::Duration { path, cause })
        }
        // The limit equals that of durations written as strings.
        Some(value) => match value.as_u64().filter(|&seconds| seconds <= MAX_SECONDS) {
            Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
            None => Err(wrong_type(&path, "a duration such as `10m` or a whole number of seconds", &value)),
        },
    }
}
