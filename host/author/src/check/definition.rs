//! Checks the definition: whether it is valid, and whether everything that it refers to exists.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plumbline_core::Driver;
use plumbline_core::definition::{AUTO_FORMAT, Definition, MAX_YAML_BYTES, effective_limits};
use plumbline_sandbox::{ModuleInfo, Roles, check_options};
use serde_json::Value;

use super::finding::Checked;
use super::host::Host;
use super::modules::Answer;
use crate::project::read_bounded;
use plumbline_core::closest;

/// Checks the definition in `file`. `answers` are the modules of its bundle.
pub(super) fn check(file: &Path, bundle: Option<&Path>, answers: &[Answer], host: &Host<'_>, checked: &mut Checked) {
    let place = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = match read_bounded(file, MAX_YAML_BYTES as u64) {
        Ok(text) => text,
        Err(error) => return checked.error(&place, error, None),
    };
    let parsed = match Definition::parse_bytes(&text) {
        Ok(parsed) => parsed,
        Err(error) => return checked.error(&place, error, Some("docs/definition.md describes every key")),
    };
    for warning in &parsed.warnings {
        checked.warning(&place, warning, None);
    }
    let definition = &parsed.definition;
    let mut named = Named { place: &place, answers, host, used: Vec::new() };
    named.post_processor(definition, checked);
    named.expectations(definition, checked);
    named.summarizer(definition, checked);
    named.judges(definition, checked);
    named.options(definition, checked);
    named.limits(definition, checked);
    for answer in answers.iter().filter(|answer| !named.used.contains(&answer.file.as_str())) {
        checked.warning(
            &answer.file,
            "the definition does not name this module: it is not used",
            Some("name it as `result-format`, `plumbline.expectations`, `plumbline.summarizer` or in `plumbline.verdict`"),
        );
    }
    if let Some(bundle) = bundle {
        command(definition, bundle, &place, checked);
    }
}

/// The modules that a definition refers to.
struct Named<'a> {
    place: &'a str,
    answers: &'a [Answer],
    host: &'a Host<'a>,
    /// The files of the bundle's modules that are referred to.
    used: Vec<&'a str>,
}

/// The module that a name resolves to.
enum Found<'a> {
    Bundle(&'a Answer),
    BuiltIn(&'a ModuleInfo),
}

impl Found<'_> {
    fn schema(&self) -> Option<&Value> {
        match self {
            Self::Bundle(answer) => answer.schema.as_ref(),
            Self::BuiltIn(info) => info.schema.as_ref(),
        }
    }
}

impl<'a> Named<'a> {
    /// Resolves a name as a run does: in the bundle first, then among the built-in modules.
    fn find(&self, name: &str, plays: impl Fn(Roles) -> bool) -> Option<Found<'a>> {
        if let Some(answer) = self.answers.iter().find(|answer| answer.is(name) && plays(answer.roles)) {
            return Some(Found::Bundle(answer));
        }
        let built_in = self.host.built_in.iter().copied().find(|info| {
            plays(info.roles)
                && (info.name.as_deref() == Some(name) || info.formats.iter().any(|format| format == name))
        });
        built_in.map(Found::BuiltIn)
    }

    fn take(&mut self, found: &Option<Found<'a>>) {
        if let Some(Found::Bundle(answer)) = found {
            self.used.push(&answer.file);
        }
    }

    /// Returns all names with that role, for messages.
    fn known(&self, plays: impl Fn(Roles) -> bool) -> Vec<&'a str> {
        let bundle = self.answers.iter().filter(|answer| plays(answer.roles)).flat_map(|answer| &answer.names);
        let built_in = self.host.built_in.iter().filter(|info| plays(info.roles)).flat_map(|info| &info.formats);
        let built_in_names =
            self.host.built_in.iter().filter(|info| plays(info.roles)).filter_map(|info| info.name.as_ref());
        let mut known: Vec<&str> = bundle.chain(built_in).chain(built_in_names).map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    fn hint(&self, name: &str, plays: impl Fn(Roles) -> bool) -> String {
        let known = self.known(plays);
        match closest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`? There are: {}", known.join(", ")),
            None => format!("there are: {}", known.join(", ")),
        }
    }

    fn post_processor(&mut self, definition: &Definition, checked: &mut Checked) {
        let plays = |roles: Roles| roles.post_processor;
        let Some(format) = definition.result_format.as_ref().filter(|format| *format != AUTO_FORMAT) else { return };
        let found = self.find(format, plays);
        if found.is_none() {
            let what = format!("`result-format: {format}` names no module: a run does not start");
            checked.error(self.place, what, Some(&self.hint(format, plays)));
        }
        self.take(&found);
    }

    fn expectations(&mut self, definition: &Definition, checked: &mut Checked) {
        let plays = |roles: Roles| roles.expectations;
        let name = definition.expectations_module();
        let found = self.find(name, plays);
        if found.is_none() {
            let what = format!("`plumbline.expectations: {name}` names no module: a run does not start");
            checked.error(self.place, what, Some(&self.hint(name, plays)));
        }
        self.take(&found);
    }

    fn summarizer(&mut self, definition: &Definition, checked: &mut Checked) {
        let plays = |roles: Roles| roles.summarizer;
        let Some(name) = &definition.plumbline.summarizer else { return };
        let found = self.find(name, plays);
        if found.is_none() {
            let what = format!("`plumbline.summarizer: {name}` names no module: a run does not start");
            checked.error(self.place, what, Some(&self.hint(name, plays)));
        }
        self.take(&found);
    }

    /// Checks the chain: its judges, their data and their options.
    fn judges(&mut self, definition: &Definition, checked: &mut Checked) {
        let plays = |roles: Roles| roles.judge;
        for (at, entry) in definition.plumbline.verdict.iter().enumerate() {
            let (name, path) = (&entry.judge, format!("plumbline.verdict[{at}]"));
            let found = self.find(name, plays);
            if found.is_none() {
                let what = format!("`{path}.judge: {name}` names no module: a run does not start");
                checked.error(self.place, what, Some(&self.hint(name, plays)));
            }
            for key in entry.data.iter().filter(|key| !definition.config_map.contains_key(*key)) {
                let what = format!("`{path}.data`: `{key}` is not a key of `config-map`: a run does not start");
                checked.error(self.place, what, None);
            }
            let schema = found.as_ref().and_then(Found::schema);
            let schemas: Vec<(&str, &Value)> = schema.map(|schema| (name.as_str(), schema)).into_iter().collect();
            for mut problem in check_options(&entry.options, &schemas).problems {
                let below = problem.path.strip_prefix("plumbline.").unwrap_or(&problem.path);
                problem.path = format!("{path}.{below}");
                checked.error(
                    self.place,
                    problem,
                    Some("the judge's schema of options says what it takes; a run does not start"),
                );
            }
            self.take(&found);
        }
    }

    /// Returns the referenced modules, each once and with its schema.
    fn options(&self, definition: &Definition, checked: &mut Checked) {
        let options = &definition.plumbline.options;
        let names = [
            (definition.result_format.as_deref(), (|roles: Roles| roles.post_processor) as fn(Roles) -> bool),
            (definition.plumbline.summarizer.as_deref(), |roles| roles.summarizer),
            (definition.plumbline.expectations.as_deref(), |roles| roles.expectations),
        ];
        let found: Vec<(&str, Found<'_>)> =
            names.into_iter().filter_map(|(name, plays)| Some((name?, self.find(name?, plays)?))).collect();
        let mut schemas: Vec<(&str, &Value)> = Vec::new();
        for (name, found) in &found {
            if let Some(schema) = found.schema()
                && !schemas.iter().any(|(_, known)| *known == schema)
            {
                schemas.push((name, schema));
            }
        }
        // Invalid schemas are reported with their modules.
        for problem in check_options(options, &schemas).problems {
            checked.error(
                self.place,
                problem,
                Some("the module's schema of options says what it takes; a run does not start"),
            );
        }
    }

    fn limits(&self, definition: &Definition, checked: &mut Checked) {
        let format = definition.result_format.as_deref().unwrap_or_default();
        let wish = match self.find(format, |roles| roles.post_processor) {
            Some(Found::Bundle(answer)) => answer.limits.clone(),
            Some(Found::BuiltIn(info)) => info.limits.clone(),
            None => Default::default(),
        };
        let request = definition.plumbline.limits.clone().or(&wish);
        if let Err(error) = effective_limits(&request, &self.host.limits.default, &self.host.limits.cap) {
            checked.error(
                self.place,
                error,
                Some("`plumbline.limits` may ask for less; docs/limits.md is for operators"),
            );
        }
    }
}

/// Checks that a program of the bundle exists in it. The content of an image is only known in the
/// cluster.
fn command(definition: &Definition, bundle: &Path, place: &str, checked: &mut Checked) {
    if definition.driver != Driver::Process {
        return;
    }
    let words = definition.spec.command().iter().chain(definition.spec.args());
    let Some(program) = words.into_iter().next() else {
        return checked.error(place, "`spec.command` is missing: a process cannot be started without it", None);
    };
    let directory = bundle.join(definition.spec.working_dir().unwrap_or_default());
    if Path::new(program).is_absolute() || !program.contains('/') {
        return;
    }
    match directory.join(program).metadata() {
        Err(error) => checked.error(place, format!("`spec.command` names `{program}`: {error}"), None),
        Ok(metadata) if !metadata.is_file() => {
            checked.error(place, format!("`spec.command` names `{program}`, which is not a file"), None);
        }
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => checked.error(
            place,
            format!("`spec.command` names `{program}`, which may not be executed"),
            Some(&format!("`chmod +x {program}`")),
        ),
        Ok(_) => {}
    }
}
