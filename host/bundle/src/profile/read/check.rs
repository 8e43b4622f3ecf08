//! The rules of a profile that its types do not express.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_core::closest;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::listing::listing;
use super::raw::{RawLocal, RawMode, RawOption, RawProfile, RawSelection, Text};
use super::rules::{
    MAX_TEXT, alternation, bounded, cut, fits_argument, invalid, is_annotation, is_crd_name, is_file_name,
    is_option_key, is_pattern_free, line, prose, scalar, variable, word,
};
use super::submission::submission;
use crate::profile::error::ProfileError;
use crate::profile::model::{
    LocalForm, OptionType, Profile, ProfileMode, ProfileOption, TestSelection, VALUE_PLACEHOLDER, VERSION_PLACEHOLDER,
    Version, is_version,
};

/// Maximum number of options, of modes, of submitted files, and of values of an `enum`.
const MAX_OPTIONS: usize = 200;
const MAX_MODES: usize = 50;
const MAX_SUBMITTED: usize = 100;
const MAX_ENUM: usize = 100;
/// Maximum length of a prefix of names, as in `plumbline.reruns`.
const MAX_STRIP: usize = 200;

/// Types, as they are written.
const TYPES: [&str; 9] = ["string", "bool", "integer", "duration", "url", "enum", "list", "file", "path"];

pub(super) fn checked(raw: RawProfile) -> Result<Profile, ProfileError> {
    let name = raw.name.value.parse().map_err(|source| ProfileError::Name { line: line(&raw.name), source })?;
    let title = prose("title", raw.title)?;
    let description = raw.description.map(|text| prose("description", text)).transpose()?;
    let local = raw.local.map(local).transpose()?;
    bounded("options", raw.options.len(), MAX_OPTIONS)?;
    bounded("modes", raw.modes.len(), MAX_MODES)?;
    bounded("submission", raw.submission.len(), MAX_SUBMITTED)?;
    let options = options(raw.options, local.is_some())?;
    let version = version(&raw.version, &options)?;
    let selection = raw.selection.map(|raw| selection(raw, &options)).transpose()?;
    let modes = modes(raw.modes, &options, selection.as_ref(), &version)?;
    let tests = raw.tests.map(|file| list_file("tests", file, &version)).transpose()?;
    let images = raw.images.map(|file| list_file("images", file, &version)).transpose()?;
    let listing = raw.listing.map(listing).transpose()?;
    let submission = submission(raw.submission, &options)?;
    Ok(Profile {
        name,
        title,
        description,
        version,
        local,
        options,
        modes,
        tests,
        listing,
        selection,
        images,
        submission,
    })
}

fn local(raw: RawLocal) -> Result<LocalForm, ProfileError> {
    let Some(command) = raw.command else { return Ok(LocalForm { command: Vec::new() }) };
    let command = &command;
    if command.value.is_empty() || command.value.iter().any(String::is_empty) {
        return Err(invalid("local.command", command, "it has an empty word: write a program and its arguments"));
    }
    if command.value.iter().any(|word| word.len() > MAX_TEXT || word.contains(char::is_control)) {
        return Err(invalid("local.command", command, "a word is too long or has control characters"));
    }
    let program = command.value.first().map(String::as_str).unwrap_or_default();
    let own = program.contains('/') && !program.starts_with('/');
    if own && !is_pattern_free(program.strip_prefix("./").unwrap_or(program)) {
        return Err(invalid(
            "local.command",
            command,
            "the program is a file of the bundle, such as `./run.sh`, or in PATH",
        ));
    }
    Ok(LocalForm { command: command.value.clone() })
}

fn options(raw: Vec<RawOption>, runs_here: bool) -> Result<Vec<ProfileOption>, ProfileError> {
    let (mut names, mut targets) = (BTreeSet::new(), BTreeSet::new());
    let mut options = Vec::new();
    for (at, raw) in raw.into_iter().enumerate() {
        let path = format!("options[{at}]");
        if !names.insert(raw.name.value.clone()) {
            return Err(invalid(
                format!("{path}.name"),
                &raw.name,
                format!("option `{}` is listed twice", raw.name.value),
            ));
        }
        for (target, text) in [("env", &raw.env), ("file", &raw.file), ("option", &raw.option)] {
            let Some(text) = text else { continue };
            if !targets.insert((target, text.value.clone())) {
                let why = format!("`{}` belongs to another option", text.value);
                return Err(invalid(format!("{path}.{target}"), text, why));
            }
        }
        let option = option(&path, raw, runs_here)?;
        options.push(option);
    }
    Ok(options)
}

fn option(path: &str, raw: RawOption, runs_here: bool) -> Result<ProfileOption, ProfileError> {
    let at = |key: &str| format!("{path}.{key}");
    word(&at("name"), &raw.name)?;
    let kind = kind(path, &raw)?;
    check_targets(path, &raw, &kind)?;
    if kind == OptionType::Path && !runs_here {
        return Err(invalid(at("type"), &raw.kind, "a path is on this machine, and the profile has no `local`"));
    }
    let default = raw.default.as_ref().map(|value| {
        let text =
            scalar(&value.value).ok_or_else(|| invalid(at("default"), value, "write text, a number or a boolean"))?;
        kind.checked(&text).map_err(|error| invalid(at("default"), value, error.to_string()))?;
        Ok(text)
    });
    let default = default.transpose()?;
    if raw.required && default.is_some() {
        return Err(invalid(
            at("required"),
            &raw.name,
            "an option with a `default` is never missing: remove one of them",
        ));
    }
    Ok(ProfileOption {
        help: prose(&at("help"), raw.help)?,
        name: raw.name.value,
        kind,
        default,
        required: raw.required,
        secret: raw.secret,
        env: raw.env.map(|text| text.value),
        arg: raw.arg.map(|text| text.value),
        file: raw.file.map(|text| text.value),
        image: raw.image,
        option: raw.option.map(|text| text.value),
    })
}

/// Checks where the value of an option goes.
fn check_targets(path: &str, raw: &RawOption, kind: &OptionType) -> Result<(), ProfileError> {
    let at = |key: &str| format!("{path}.{key}");
    if let Some(env) = &raw.env {
        variable(&at("env"), env)?;
    }
    if let Some(arg) = raw.arg.as_ref().filter(|arg| !fits_argument(&arg.value)) {
        return Err(invalid(
            at("arg"),
            arg,
            format!("write one argument with `{VALUE_PLACEHOLDER}`, such as `--size={{value}}`"),
        ));
    }
    if let Some(file) = raw.file.as_ref().filter(|file| !is_file_name(&file.value)) {
        return Err(invalid(at("file"), file, "write a file name of letters, digits, `-`, `_` and `.`"));
    }
    if let Some(key) = raw.option.as_ref().filter(|key| !is_option_key(&key.value)) {
        return Err(invalid(at("option"), key, "write a key of letters, digits, `-`, `_` and `.`"));
    }
    let in_words = raw.env.is_some() || raw.arg.is_some() || raw.image;
    let in_files = raw.file.is_some() || raw.option.is_some();
    if !in_words && !in_files {
        let why = "the value goes nowhere: add `env`, `arg`, `file`, `option` or `image: true`";
        return Err(invalid(path, &raw.name, why));
    }
    if raw.secret && (raw.env.is_none() || raw.arg.is_some() || raw.image || in_files || raw.default.is_some()) {
        let why = "a secret has `env`, and no `arg`, `file`, `option`, `image` or `default`";
        return Err(invalid(at("secret"), &raw.name, why));
    }
    // A secret has a variable and nothing else, whatever its type is.
    if *kind == OptionType::File && !raw.secret && (in_words || !in_files) {
        let why =
            "an option of type `file` has `file` or `option`, and no `env`, `arg` or `image`, unless it is a secret";
        return Err(invalid(path, &raw.kind, why));
    }
    Ok(())
}

fn kind(path: &str, raw: &RawOption) -> Result<OptionType, ProfileError> {
    let values_path = format!("{path}.values");
    if let Some(values) = raw.values.as_ref().filter(|_| raw.kind.value != "enum") {
        return Err(invalid(values_path, values, "only an option of type `enum` has `values`"));
    }
    Ok(match raw.kind.value.as_str() {
        "string" => OptionType::String,
        "bool" => OptionType::Bool,
        "integer" => OptionType::Integer,
        "duration" => OptionType::Duration,
        "url" => OptionType::Url,
        "list" => OptionType::List,
        "file" => OptionType::File,
        "path" => OptionType::Path,
        "enum" => {
            let Some(values) = &raw.values else {
                return Err(invalid(values_path, &raw.kind, "an option of type `enum` lists its `values`"));
            };
            let fits =
                |value: &String| !value.is_empty() && value.len() <= MAX_TEXT && !value.contains(char::is_control);
            if values.value.is_empty() || values.value.len() > MAX_ENUM || !values.value.iter().all(fits) {
                return Err(invalid(values_path, values, format!("write 1 to {MAX_ENUM} strings of one line each")));
            }
            OptionType::Enum(values.value.clone())
        }
        other => {
            let near = closest(other, TYPES).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            let why = format!("unknown type `{}`{near}: the types are {}", cut(other), TYPES.join(", "));
            return Err(invalid(format!("{path}.type"), &raw.kind, why));
        }
    })
}

fn version(raw: &Spanned<Value>, options: &[ProfileOption]) -> Result<Version, ProfileError> {
    const EXPECTED: &str =
        "write a text such as `\"1.1\"`, `{option: NAME}`, `{cluster: true}`, or `{crd: NAME, annotation: KEY}`";
    match &raw.value {
        Value::String(text) if is_version(text) => Ok(Version::Fixed(text.clone())),
        Value::String(_) => {
            Err(invalid("version", raw, "a version has letters, digits, `.`, `-`, `_` and `+`, at most 63 of them"))
        }
        // YAML reads `1.10` as the number 1.1.
        Value::Number(_) => Err(invalid("version", raw, "it is a number: put the version in quotes")),
        Value::Object(fields) if fields.contains_key("crd") => crd_version(raw, fields, EXPECTED),
        Value::Object(fields) if fields.get("cluster") == Some(&Value::Bool(true)) && fields.len() == 1 => {
            Ok(Version::Cluster)
        }
        Value::Object(fields) => {
            let name = only(fields, "option").ok_or_else(|| invalid("version", raw, EXPECTED))?;
            let Some(option) = options.iter().find(|option| option.name == name) else {
                return Err(invalid("version.option", raw, format!("unknown option `{}`", cut(name))));
            };
            let fits = match &option.kind {
                OptionType::Enum(values) => values.iter().all(|value| is_version(value)),
                _ => false,
            };
            if !fits || (option.default.is_none() && !option.required) {
                let why =
                    "the option must have the type `enum`, versions as `values`, and a `default` or `required: true`";
                return Err(invalid("version.option", raw, why));
            }
            Ok(Version::Option(name.to_owned()))
        }
        _ => Err(invalid("version", raw, EXPECTED)),
    }
}

/// Checks the version that is in an annotation of a custom resource definition.
fn crd_version(
    raw: &Spanned<Value>,
    fields: &Map<String, Value>,
    expected: &'static str,
) -> Result<Version, ProfileError> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let (Some(name), Some(annotation), 2) = (text("crd"), text("annotation"), fields.len()) else {
        return Err(invalid("version", raw, expected));
    };
    if !is_crd_name(name) {
        let why = "write the name of a custom resource definition, such as `gateways.gateway.networking.k8s.io`";
        return Err(invalid("version.crd", raw, why));
    }
    if !is_annotation(annotation) {
        let why = "write the key of an annotation, such as `gateway.networking.k8s.io/bundle-version`";
        return Err(invalid("version.annotation", raw, why));
    }
    Ok(Version::Crd { name: name.to_owned(), annotation: annotation.to_owned() })
}

/// Returns the text under `key`, if it is the only key.
fn only<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).filter(|_| fields.len() == 1).and_then(Value::as_str)
}

fn modes(
    raw: Vec<RawMode>,
    options: &[ProfileOption],
    selection: Option<&TestSelection>,
    version: &Version,
) -> Result<Vec<ProfileMode>, ProfileError> {
    let mut modes: Vec<ProfileMode> = Vec::new();
    for (at, raw) in raw.into_iter().enumerate() {
        let path = format!("modes[{at}]");
        word(&format!("{path}.name"), &raw.name)?;
        if modes.iter().any(|mode| mode.name == raw.name.value) {
            let why = format!("mode `{}` is listed twice", raw.name.value);
            return Err(invalid(format!("{path}.name"), &raw.name, why));
        }
        if let Some(first) = modes.iter().find(|mode| mode.default && raw.default) {
            let why = format!("mode `{}` is the default already", first.name);
            return Err(invalid(format!("{path}.default"), &raw.name, why));
        }
        if let Some(first) = modes.iter().find(|mode| mode.submit && raw.submit) {
            let why = format!("results of mode `{}` are submitted already", first.name);
            return Err(invalid(format!("{path}.submit"), &raw.name, why));
        }
        let set = mode_values(&path, &raw.name, raw.set, options, selection)?;
        let required = raw.required.map(|file| list_file(&format!("{path}.required"), file, version)).transpose()?;
        let description = prose(&format!("{path}.description"), raw.description)?;
        let (default, submit) = (raw.default, raw.submit);
        modes.push(ProfileMode { name: raw.name.value, description, default, set, required, submit });
    }
    if let (Some(first), false) = (modes.first(), modes.iter().any(|mode| mode.default)) {
        let why = format!("no mode is the default: add `default: true`, for example to `{}`", first.name);
        return Err(ProfileError::Invalid { path: "modes".to_owned(), why, line: 1 });
    }
    Ok(modes)
}

/// Checks the values that a mode sets.
fn mode_values(
    path: &str,
    mode: &Text,
    raw: BTreeMap<String, Value>,
    options: &[ProfileOption],
    selection: Option<&TestSelection>,
) -> Result<BTreeMap<String, String>, ProfileError> {
    let mut set = BTreeMap::new();
    for (name, value) in raw {
        let key = format!("{path}.set.{}", cut(&name));
        let Some(option) = options.iter().find(|option| option.name == name) else {
            let near = closest(&name, options.iter().map(|option| option.name.as_str()));
            let meant = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            return Err(invalid(key, mode, format!("unknown option{meant}")));
        };
        if option.secret || matches!(option.kind, OptionType::File | OptionType::Path) {
            return Err(invalid(key, mode, "a mode cannot set a secret, a file or a path"));
        }
        let is_expression = selection.is_some_and(|selection| selection.is_expression(&name));
        let text = match &value {
            Value::Array(alternatives) if is_expression => alternation(alternatives),
            value => scalar(value),
        };
        let Some(text) = text else {
            let why = match is_expression {
                true => "write text, or a list of strings, which are alternatives",
                false => "write text, a number or a boolean",
            };
            return Err(invalid(key, mode, why));
        };
        option.kind.checked(&text).map_err(|error| invalid(key, mode, error.to_string()))?;
        set.insert(name, text);
    }
    Ok(set)
}

/// Checks the options that select tests. A rerun in the same run changes only variables.
fn selection(raw: RawSelection, options: &[ProfileOption]) -> Result<TestSelection, ProfileError> {
    let RawSelection { focus, skip, clear, strip, prefix } = raw;
    let expressions =
        std::iter::once(("selection.focus", &focus)).chain(skip.iter().map(|text| ("selection.skip", text)));
    for (path, name) in expressions {
        if variable_option(path, name, options)?.kind != OptionType::String {
            return Err(invalid(path, name, "the option must have the type `string`: its value is an expression"));
        }
    }
    for (at, name) in clear.iter().enumerate() {
        variable_option(&format!("selection.clear[{at}]"), name, options)?;
    }
    for (path, text) in [("selection.strip", &strip), ("selection.prefix", &prefix)] {
        if let Some(text) = text.as_ref().filter(|text| text.value.chars().count() > MAX_STRIP) {
            return Err(invalid(path, text, format!("the text has more than {MAX_STRIP} characters")));
        }
    }
    Ok(TestSelection {
        focus: focus.value,
        skip: skip.map(|text| text.value),
        clear: clear.into_iter().map(|text| text.value).collect(),
        strip: strip.map(|text| text.value).unwrap_or_default(),
        prefix: prefix.map(|text| text.value).unwrap_or_default(),
    })
}

/// Finds the option with this name, whose value goes to a variable and nowhere else.
fn variable_option<'a>(
    path: &str,
    name: &Text,
    options: &'a [ProfileOption],
) -> Result<&'a ProfileOption, ProfileError> {
    let Some(option) = options.iter().find(|option| option.name == name.value) else {
        return Err(invalid(path, name, format!("unknown option `{}`", cut(&name.value))));
    };
    let only_env = option.env.is_some()
        && option.arg.is_none()
        && option.file.is_none()
        && option.option.is_none()
        && !option.image;
    if !only_env || option.secret || option.required {
        let why = "the option must have `env`, and no `arg`, `file`, `option`, `image`, `secret` or `required`";
        return Err(invalid(path, name, why));
    }
    Ok(option)
}

/// Checks the name of a file with a list. Its name may contain the version, its directory may not.
fn list_file(path: &str, file: Text, version: &Version) -> Result<String, ProfileError> {
    let plain = file.value.replace(VERSION_PLACEHOLDER, "0");
    if !is_pattern_free(&plain) {
        return Err(invalid(path, &file, "write the path of a file in the bundle; it may contain `{version}`"));
    }
    if file.value.contains(VERSION_PLACEHOLDER) && matches!(version, Version::Fixed(_)) {
        return Err(invalid(path, &file, "the version is fixed: write it in place of `{version}`"));
    }
    Ok(file.value)
}
