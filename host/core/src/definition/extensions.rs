//! The section `plumbline` of a definition.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::definition::error::{DefinitionError, Warnings, cut};
use crate::definition::limits::{LimitsRequest, duration};
use crate::definition::permissions::ApiPermissions;
use crate::definition::progress::LogProgress;
use crate::definition::schema;
use crate::definition::section::{Section, wrong_type};
use crate::duration::format_duration;
use crate::name::{NameError, PluginName, is_file_name, is_module_name};
use crate::rights::Rights;

/// The maximum number of patterns for further files, and of data files and evidence patterns of one
/// judge. A bundle has a handful of directories, and each pattern costs one walk.
const MAX_FILES: usize = 64;

/// The maximum length of a pattern in bytes, which equals the longest name in a bundle.
const MAX_PATTERN_BYTES: usize = 240;

/// The maximum length in bytes of the name of the standard output file.
const MAX_FILE_NAME: usize = 100;

const DONE_FILE: &str = "done";

/// The maximum number of exit codes that mean that no test was found. No tool has more than one or
/// two.
const MAX_EXIT_CODES: usize = 16;

/// The maximum number of judges of one plugin. Each reads the whole tree again, and a handful is
/// enough.
pub const MAX_JUDGES: usize = 16;

/// The maximum number of variables to remove. A test suite has a handful of variables that select
/// tests.
const MAX_CLEAR: usize = 64;

/// The maximum number of options that a user sets. A profile has at most 200.
const MAX_SET: usize = 200;

/// The maximum length in characters of a name prefix, such as `[It] `.
const MAX_STRIP: usize = 200;

/// The section `plumbline` of a definition. Other tools ignore it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Extensions {
    /// The expectations module. `None`: see [`crate::definition::Definition::expectations_module`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expectations: Option<String>,
    /// The summarizer module. `None` selects the post-processor if it also implements this role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<String>,
    /// Free-form options for the plugin's modules.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// The limits of the plugin's modules that differ from the defaults.
    #[serde(skip_serializing_if = "LimitsRequest::is_empty")]
    pub limits: LimitsRequest,
    /// The timeout of the plugin, from its launch. `None` applies the run's timeout, and zero means
    /// no timeout.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub timeout: Option<Duration>,
    /// Glob patterns of further files of the plugin's bundle, relative to its directory, without
    /// `..` and `./`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The plugin whose failed tests this plugin reruns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reruns: Option<Reruns>,
    /// The log from which the worker reads progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<LogProgress>,
    /// The judges of the plugin in order, which decide what in the finished tree counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdict: Vec<VerdictEntry>,
    /// Whether a run of the plugin without any result passes. The same applies to only skipped
    /// results, and to only files that no module reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_empty: bool,
    /// The file in the results directory to which a local run writes the standard output of the
    /// process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Exit codes with which the process reports that it found no test. They are not a failure by
    /// themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_tests_exit_codes: Vec<u8>,
    /// The plugin's permissions on the API server of its cluster.
    #[serde(skip_serializing_if = "ApiPermissions::is_empty")]
    pub permissions: ApiPermissions,
    /// The file of the check that runs in place of an image, next to the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// What the check may read and reach outside its sandbox.
    #[serde(skip_serializing_if = "Rights::is_empty")]
    pub grants: Rights,
    /// How a profile was applied to the definition. `conformance run` writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteRun>,
}

/// One judge of a chain, with its inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VerdictEntry {
    /// The name of the module, from the plugin's bundle or built in.
    pub judge: String,
    /// Free-form options for the judge.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Keys of the definition's `config-map`, which the module sees as files `data/KEY`. The caller
    /// checks that they exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// Glob patterns of files of the archive, relative to its root. The caller checks that each is
    /// a valid glob.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// A request to rerun the failed tests of another plugin in the same run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reruns {
    /// The other plugin, which has a lower order.
    pub plugin: PluginName,
    /// The variable that receives the names of the failed tests, as a Go regular expression that
    /// matches each of them.
    pub focus: String,
    /// Variables to remove because they would select other tests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<String>,
    /// The prefix to strip from test names. If empty, nothing is stripped.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub strip: String,
}

/// How a suite runs: what a profile was applied with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SuiteRun {
    /// The version of the suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The options whose values come from the user, and not from the mode or the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Whether only the failed tests of another archive run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rerun: bool,
    /// Environment variables of options without a value. A local run does not pass on those of its
    /// own environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

fn as_text<S: Serializer>(timeout: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    timeout.map(format_duration).serialize(to)
}

impl Extensions {
    pub(super) fn read(mut section: Section, warnings: &mut Warnings) -> Result<Self, DefinitionError> {
        let expectations = module(&mut section, "expectations")?;
        let summarizer = module(&mut section, "summarizer")?;
        if !section.texts("depends-on")?.is_empty() {
            return Err(DefinitionError::Reserved(section.at("depends-on")));
        }
        let component = component(&mut section)?;
        let grants = grants(&mut section, component.is_some())?;
        Ok(Self {
            expectations,
            summarizer,
            options: section.mapping("options")?,
            timeout: duration(&mut section, "timeout", "a duration such as `10m` or a whole number of seconds")?,
            files: files(&mut section)?,
            reruns: section.section("reruns", schema::RERUNS, warnings)?.map(Reruns::read).transpose()?,
            progress: section.section("progress", schema::PROGRESS, warnings)?.map(LogProgress::read).transpose()?,
            verdict: verdict(&mut section, warnings)?,
            allow_empty: section.truth("allow-empty")?,
            stdout: stdout(&mut section)?,
            no_tests_exit_codes: exit_codes(&mut section)?,
            permissions: match section.section("permissions", schema::PERMISSIONS, warnings)? {
                Some(permissions) => ApiPermissions::read(permissions, warnings)?,
                None => ApiPermissions::default(),
            },
            limits: match section.section("limits", schema::LIMITS, warnings)? {
                Some(limits) => LimitsRequest::read(limits)?,
                None => LimitsRequest::default(),
            },
            component,
            grants,
            suite: section.section("suite", schema::SUITE, warnings)?.map(SuiteRun::read).transpose()?,
        })
    }
}

impl SuiteRun {
    fn read(mut section: Section) -> Result<Self, DefinitionError> {
        let set = section.texts("set")?;
        if set.len() > MAX_SET {
            return Err(section.invalid("set", format_args!("there are more than {MAX_SET} options")));
        }
        let unset = section.texts("unset")?;
        if unset.len() > MAX_SET {
            return Err(section.invalid("unset", format_args!("there are more than {MAX_SET} variables")));
        }
        let (version, mode) = (section.text("version")?, section.text("mode")?);
        Ok(Self { version, mode, set, rerun: section.truth("rerun")?, unset })
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

/// Reads the file name of a check: the name of a module with the extension.
fn component(section: &mut Section) -> Result<Option<String>, DefinitionError> {
    let name = section.text("component")?;
    let is_file = |name: &&String| name.strip_suffix(".wasm").is_some_and(is_module_name);
    match name.as_ref().filter(|name| !is_file(name)) {
        Some(name) => {
            let expected =
                "a file next to the definition, such as `check.wasm`: lower-case letters, digits, `-`, `_` and `.`";
            Err(wrong_type(&section.at("component"), expected, &name.as_str().into()))
        }
        None => Ok(name),
    }
}

/// Reads the rights of a check. Unlike in other sections, unknown keys are errors: a right that is
/// misspelled must not be ignored.
fn grants(section: &mut Section, has_component: bool) -> Result<Rights, DefinitionError> {
    let mut grants = section.mapping("grants")?;
    grants.retain(|_, value| !value.is_null());
    if grants.is_empty() {
        return Ok(Rights::default());
    }
    if !has_component {
        return Err(section.invalid("grants", "rights are for checks: name the file of a check under `component`"));
    }
    // One key at a time, so that an error names it.
    for (key, value) in &grants {
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        let read = serde_json::from_value::<Rights>(alone.into());
        read.map_err(|error| section.invalid(&format!("grants.{key}"), error))?;
    }
    let rights: Rights = serde_json::from_value(grants.into()).map_err(|error| section.invalid("grants", error))?;
    match rights.check() {
        Ok(()) => Ok(rights),
        Err(error) => {
            Err(section.invalid(&format!("grants.{}", error.key), format_args!("{}: `{}`", error.why, error.value)))
        }
    }
}

/// Reads a plain file name, since the file is in the same directory as the plugin's own files.
fn stdout(section: &mut Section) -> Result<Option<String>, DefinitionError> {
    let Some(name) = section.text("stdout")? else { return Ok(None) };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() > MAX_FILE_NAME || !name.chars().all(plain) || name.starts_with('.') || name == DONE_FILE {
        let expected = "a file name of letters, digits, `-`, `_` and `.`";
        return Err(wrong_type(&section.at("stdout"), expected, &name.into()));
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
    let patterns = section.texts("files")?.into_iter();
    let patterns: Vec<String> =
        patterns.map(|pattern| pattern.strip_prefix("./").map(str::to_owned).unwrap_or(pattern)).collect();
    let too_many = "there are more than 64 patterns: name directories, such as `data/**`";
    check_entries(section, "files", &patterns, too_many, |pattern| {
        pattern_fault(
            pattern,
            "the pattern must be relative to the plugin's directory, with `/` between names",
            "the pattern must not hold `..`, `.` or empty names: files outside are not packed",
        )
    })?;
    Ok(patterns)
}

fn verdict(section: &mut Section, warnings: &mut Warnings) -> Result<Vec<VerdictEntry>, DefinitionError> {
    let entries = section.list("verdict")?;
    if entries.len() > MAX_JUDGES {
        return Err(section.invalid("verdict", "there are more than 16 judges"));
    }
    let path = section.at("verdict");
    let read = |(i, value)| VerdictEntry::read(Section::new(format!("{path}[{i}]"), value, schema::VERDICT, warnings)?);
    entries.into_iter().enumerate().map(read).collect()
}

impl VerdictEntry {
    fn read(mut section: Section) -> Result<Self, DefinitionError> {
        let judge = section.required_text("judge")?;
        if !is_module_name(&judge) {
            return Err(DefinitionError::ModuleName { path: section.at("judge"), name: cut(&judge) });
        }
        let options = section.mapping("options")?;
        let (data, evidence) = (section.texts("data")?, section.texts("evidence")?);
        let too_many = "there are more than 64 entries";
        check_entries(&section, "data", &data, too_many, |name| {
            let fault = "the name must be a key of `config-map`: letters, digits, `-`, `_` and `.`";
            (!is_file_name(name)).then_some(fault)
        })?;
        check_entries(&section, "evidence", &evidence, too_many, |pattern| {
            pattern_fault(
                pattern,
                "the pattern must be relative to the archive's root, with `/` between names",
                "the pattern must not hold `..`, `.` or empty names: nothing outside the archive is read",
            )
        })?;
        Ok(Self { judge, options, data, evidence })
    }
}

/// Checks the entries of the list at `key`, of which there are at most [`MAX_FILES`].
fn check_entries(
    section: &Section,
    key: &str,
    entries: &[String],
    too_many: &'static str,
    fault: impl Fn(&str) -> Option<&'static str>,
) -> Result<(), DefinitionError> {
    for (i, entry) in entries.iter().enumerate() {
        let why = if i == MAX_FILES { Some(too_many) } else { fault(entry) };
        if let Some(why) = why {
            return Err(section.invalid(&format!("{key}[{i}]"), why));
        }
    }
    Ok(())
}

/// Returns why a pattern may not stay inside its directory, if so.
fn pattern_fault(pattern: &str, absolute: &'static str, outside: &'static str) -> Option<&'static str> {
    if pattern.is_empty() {
        Some("the pattern is empty")
    } else if pattern.len() > MAX_PATTERN_BYTES {
        Some("the pattern has more than 240 bytes")
    } else if pattern.starts_with('/') || pattern.chars().any(|c| c == '\\' || c.is_control()) {
        Some(absolute)
    } else if pattern.split('/').any(|component| matches!(component, ".." | "." | "")) {
        Some(outside)
    } else {
        None
    }
}

impl Reruns {
    fn read(mut section: Section) -> Result<Self, DefinitionError> {
        let name = section.required("plugin")?;
        let name = name.as_str().ok_or_else(|| wrong_type(&section.at("plugin"), "text", &name))?;
        let plugin = name.parse().map_err(|error: NameError| section.invalid("plugin", error))?;
        let focus = section.required_text("focus")?;
        let clear = section.texts("clear")?;
        if clear.len() > MAX_CLEAR {
            return Err(section.invalid("clear", format_args!("there are more than {MAX_CLEAR} variables")));
        }
        let cleared = clear.iter().enumerate().map(|(i, name)| (format!("clear[{i}]"), name));
        for (key, name) in std::iter::once(("focus".to_owned(), &focus)).chain(cleared) {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(section.invalid(&key, "a variable has a name without `=`"));
            }
        }
        let strip = section.text("strip")?.unwrap_or_default();
        if strip.chars().count() > MAX_STRIP {
            return Err(section.invalid("strip", format_args!("the text has more than {MAX_STRIP} characters")));
        }
        Ok(Self { plugin, focus, clear, strip })
    }
}

#[cfg(test)]
#[path = "extensions_tests.rs"]
mod tests;
