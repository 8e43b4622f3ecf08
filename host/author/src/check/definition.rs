//! Checks the definition: whether it is valid, and whether everything that it refers to exists.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plumbline_core::definition::{AUTO_FORMAT, Definition, MAX_YAML_BYTES, effective_limits};
use plumbline_core::{Driver, closest};
use plumbline_sandbox::{Roles, check_options};
use serde_json::Value;

use super::finding::{Checked, Host};
use super::modules::Answer;
use crate::project::{file_name, read_bounded};

/// Whether a module has a role.
type Plays = fn(Roles) -> bool;

/// Checks the definition in `file` of the bundle in `directory`, and returns it if it is valid.
/// `answers` are the modules of the bundle.
pub(super) fn check_definition(
    file: &Path,
    directory: &Path,
    answers: &[Answer],
    host: &Host<'_>,
    checked: &mut Checked,
) -> Option<Definition> {
    let place = file_name(file);
    let text = read_bounded(file, MAX_YAML_BYTES as u64).map_err(|error| checked.error(&place, error, None)).ok()?;
    let parsed = Definition::parse_bytes(&text);
    let parsed =
        parsed.map_err(|error| checked.error(&place, error, Some("docs/definition.md describes every key"))).ok()?;
    for warning in &parsed.warnings {
        checked.warning(&place, warning, None);
    }
    let definition = &parsed.definition;
    let built_in = Answer::built_in(host);
    let mut named = Named { place: &place, answers, built_in: &built_in, used: Vec::new(), checked };
    let format = definition.result_format.as_deref().filter(|format| *format != AUTO_FORMAT);
    if let Some(format) = format {
        named.resolve("result-format", format, |roles| roles.post_processor);
    }
    named.resolve("plumbline.expectations", definition.expectations_module(), |roles| roles.expectations);
    if let Some(name) = &definition.plumbline.summarizer {
        named.resolve("plumbline.summarizer", name, |roles| roles.summarizer);
    }
    named.component(definition);
    named.judges(definition);
    named.options(definition);
    named.limits(definition, host);
    let Named { used, checked, .. } = named;
    for answer in answers.iter().filter(|answer| !used.contains(&answer.file.as_str())) {
        checked.warning(
            &answer.file,
            "the definition does not use this module",
            Some(
                "set it as `plumbline.component`, `result-format`, `plumbline.expectations`, `plumbline.summarizer` or in `plumbline.verdict`",
            ),
        );
    }
    check_command(definition, directory, &place, checked);
    Some(parsed.definition)
}

/// The modules that a definition refers to.
struct Named<'a> {
    place: &'a str,
    answers: &'a [Answer],
    built_in: &'a [Answer],
    /// The files of the bundle's modules that are referred to.
    used: Vec<&'a str>,
    checked: &'a mut Checked,
}

impl<'a> Named<'a> {
    /// Resolves a name as a run does: in the bundle first, then among the built-in modules.
    fn find(&self, name: &str, plays: Plays) -> Option<&'a Answer> {
        self.answers.iter().chain(self.built_in).find(|answer| answer.is(name) && plays(answer.roles))
    }

    /// Resolves the name under `key`, and reports a name that no module has.
    fn resolve(&mut self, key: &str, name: &str, plays: Plays) -> Option<&'a Answer> {
        let found = self.find(name, plays);
        match found {
            Some(answer) => self.used.push(&answer.file),
            None => {
                let all = self.answers.iter().chain(self.built_in).filter(|answer| plays(answer.roles));
                let mut known: Vec<&str> = all.flat_map(|answer| &answer.names).map(String::as_str).collect();
                known.sort_unstable();
                known.dedup();
                let hint = match closest(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`? Known modules: {}", known.join(", ")),
                    None => format!("known modules: {}", known.join(", ")),
                };
                let what = format!("`{key}: {name}` is not a known module: a run does not start");
                self.checked.error(self.place, what, Some(&hint));
            }
        }
        found
    }

    fn check_of(&self, definition: &Definition) -> Option<&'a Answer> {
        let file = definition.plumbline.component.as_ref()?;
        self.answers.iter().find(|answer| answer.file == *file)
    }

    /// Checks that the check is in the bundle, and that the definition grants what it needs.
    fn component(&mut self, definition: &Definition) {
        let Some(file) = &definition.plumbline.component else { return };
        let Some(answer) = self.check_of(definition) else {
            let what =
                format!("`plumbline.component: {file}` is not a module next to the definition: a run does not start");
            return self.checked.error(self.place, what, Some("build the check, or correct the name"));
        };
        self.used.push(&answer.file);
        if !answer.roles.check {
            let what = format!("`plumbline.component: {file}` is not a check: a run does not start");
            return self.checked.error(self.place, what, Some("a check has the role `check`"));
        }
        let missing = answer.rights.missing(&definition.plumbline.grants);
        if !missing.is_empty() {
            let what = format!("`{file}` needs rights that `plumbline.grants` does not have: {missing}");
            let hint = format!("add this to the definition:\n{}", missing.to_yaml());
            self.checked.error(self.place, what, Some(&hint));
        }
    }

    /// Checks the chain: its judges, their data and their options.
    fn judges(&mut self, definition: &Definition) {
        for (at, entry) in definition.plumbline.verdict.iter().enumerate() {
            let (name, path) = (&entry.judge, format!("plumbline.verdict[{at}]"));
            let found = self.resolve(&format!("{path}.judge"), name, |roles| roles.judge);
            for key in entry.data.iter().filter(|key| !definition.config_map.contains_key(*key)) {
                let what = format!("`{path}.data`: `{key}` is not a key of `config-map`: a run does not start");
                self.checked.error(self.place, what, None);
            }
            let schema = found.and_then(|found| found.schema.as_ref());
            let schemas: Vec<(&str, &Value)> = schema.map(|schema| (name.as_str(), schema)).into_iter().collect();
            for mut problem in check_options(&entry.options, &schemas).problems {
                let below = problem.path.strip_prefix("plumbline.").unwrap_or(&problem.path);
                problem.path = format!("{path}.{below}");
                let hint = "see the judge's schema of options; a run does not start";
                self.checked.error(self.place, problem, Some(hint));
            }
        }
    }

    /// Checks the options against the schemas of the modules that get them, each schema once.
    fn options(&mut self, definition: &Definition) {
        let plumbline = &definition.plumbline;
        let names: [(Option<&str>, Plays); 3] = [
            (definition.result_format.as_deref(), |roles| roles.post_processor),
            (plumbline.summarizer.as_deref(), |roles| roles.summarizer),
            (plumbline.expectations.as_deref(), |roles| roles.expectations),
        ];
        let mut schemas: Vec<(&str, &Value)> = Vec::new();
        for (name, plays) in names {
            if let Some(name) = name
                && let Some(schema) = self.find(name, plays).and_then(|found| found.schema.as_ref())
                && !schemas.iter().any(|(_, known)| *known == schema)
            {
                schemas.push((name, schema));
            }
        }
        if let Some(found) = self.check_of(definition)
            && let Some(schema) = &found.schema
        {
            schemas.push((&found.file, schema));
        }
        // Invalid schemas are reported with their modules.
        for problem in check_options(&plumbline.options, &schemas).problems {
            let hint = "see the module's schema of options; a run does not start";
            self.checked.error(self.place, problem, Some(hint));
        }
    }

    fn limits(&mut self, definition: &Definition, host: &Host<'_>) {
        let format = definition.result_format.as_deref().unwrap_or_default();
        let found = self.find(format, |roles| roles.post_processor);
        let wish = found.map(|found| found.limits.clone()).unwrap_or_default();
        let request = definition.plumbline.limits.clone().or(&wish);
        if let Err(error) = effective_limits(&request, &host.limits.default, &host.limits.cap) {
            let hint = error.hint();
            self.checked.error(self.place, error, Some(&hint));
        }
    }
}

/// Checks that a program of the bundle exists in it. The content of an image is only known in the
/// cluster.
fn check_command(definition: &Definition, directory: &Path, place: &str, checked: &mut Checked) {
    if definition.driver != Driver::Process || definition.plumbline.component.is_some() {
        return;
    }
    let Some(program) = definition.spec.command().iter().chain(definition.spec.args()).next() else {
        return checked.error(place, "`spec.command` is missing: a process cannot be started without it", None);
    };
    if Path::new(program).is_absolute() || !program.contains('/') {
        return;
    }
    let directory = directory.join(definition.spec.working_dir().unwrap_or_default());
    match directory.join(program).metadata() {
        Err(error) => checked.error(place, format!("`spec.command` names `{program}`: {error}"), None),
        Ok(metadata) if !metadata.is_file() => {
            checked.error(place, format!("`spec.command` names `{program}`, which is not a file"), None);
        }
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => checked.error(
            place,
            format!("`spec.command` names `{program}`, which is not executable"),
            Some(&format!("`chmod +x {program}`")),
        ),
        Ok(_) => {}
    }
}
