//! Checks a project: its manifest, and whether the built module is up to date.

use std::path::Path;

use plumbline_sandbox::Roles;
use plumbline_sandbox::componentize::{CONTRACT, worlds};

use super::finding::Checked;
use super::modules::Answer;
use crate::project::{AuthorError, Language, MANIFEST_FILE, Project, stale};
use plumbline_core::closest;

/// Checks the project in `directory`. Returns the planned module if it is not built yet.
pub(super) fn check(directory: &Path, built: &[Answer], checked: &mut Checked) -> Option<Answer> {
    let project = match Project::open(directory) {
        Ok(project) => project,
        Err(AuthorError { what, cause, hint, .. }) => {
            checked.error(MANIFEST_FILE, cause.unwrap_or(what), hint.as_deref());
            return None;
        }
    };
    world(&project, checked);
    contract(&project, checked);
    if let Err(error) = project.schema() {
        checked.error(MANIFEST_FILE, format!("`schema`: {error}"), None);
    }
    let recipe = project.manifest.command.is_empty();
    if recipe && project.manifest.language != Language::Rust && !project.sdk().is_dir() {
        let sdk = project.sdk();
        let what =
            format!("the SDK is not there: `{}`", sdk.strip_prefix(&project.directory).unwrap_or(&sdk).display());
        checked.error(MANIFEST_FILE, what, Some("`sdk` names its directory; `plumbline plugin new` writes a copy"));
    }
    let file = format!("{}.wasm", project.name());
    if !project.module().exists() {
        checked.warning(&file, "the module is not built", Some("`plumbline plugin build`"));
        return planned(&project, file);
    }
    let built = built.iter().find(|answer| answer.file == file)?;
    for format in project.manifest.formats.iter().flatten().filter(|format| !built.is(format)) {
        let what = format!("the module does not answer to `{format}`, which `formats` in `{MANIFEST_FILE}` names");
        checked.warning(&file, what, Some("build it again: `plumbline plugin build`"));
    }
    match stale(&project) {
        Ok(Some(reason)) => checked.warning(&file, reason, Some("build it again: `plumbline plugin build`")),
        Ok(None) => {}
        Err(error) => checked.error(&file, error, None),
    }
    None
}

fn world(project: &Project, checked: &mut Checked) {
    // The project's own contract may define other worlds.
    if project.wit().is_some() {
        return;
    }
    let known = worlds().unwrap_or_default();
    let world = project.world();
    if !known.iter().any(|known| known == world) {
        let meant = closest(world, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        let hint = format!("{meant}there are: {}", known.join(", "));
        checked.error(MANIFEST_FILE, format!("`world: {world}` is not in the contract"), Some(&hint));
    }
}

/// Warns if the project's copy of the contract has another version. That is allowed, but the author
/// should know.
fn contract(project: &Project, checked: &mut Checked) {
    let Some(wit) = project.wit() else { return };
    let differs =
        |(name, text): &(&str, &str)| std::fs::read(wit.join(name)).ok().is_none_or(|own| own != text.as_bytes());
    if let Some((name, _)) = CONTRACT.iter().find(|file| differs(file)) {
        checked.warning(
            format!("wit/{name}"),
            "the contract here is not the one of this program",
            Some("within 0.1.x both work; without `wit/` the program's own is taken"),
        );
    }
}

/// Returns the names and roles of the planned module, as far as the manifest says.
fn planned(project: &Project, file: String) -> Option<Answer> {
    let world = project.world();
    let every = matches!(world, "every-role-module");
    let roles = Roles {
        post_processor: every || matches!(world, "post-processor-module" | "full-module"),
        expectations: every || matches!(world, "expectations-module" | "full-module"),
        summarizer: every || world == "summarizer-module",
        // The world `every-role-module` does not include `judge`, because it is older.
        judge: world == "judge-module",
    };
    let metadata = project.metadata(roles).ok()?;
    let limits = serde_json::from_value(serde_json::Value::Object(metadata.limits)).unwrap_or_default();
    let names = std::iter::once(metadata.name).chain(metadata.formats).collect();
    Some(Answer { file, names, roles, limits, schema: metadata.schema })
}
