//! `meta/modules.json`, which lists the modules that produced the results of a run, by digest.
//! Digests are those of the loaded bytes, so they are correct regardless of how the run was
//! started, or what was signed or locked.

use std::collections::BTreeMap;
use std::path::Path;

use plumbline_core::PluginName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::lazy::LazyModule;
use crate::modules::Modules;
use crate::plan::PlannedPlugin;
use crate::postprocess::Subject;

/// Version of the document. Within a version, keys are only added.
const VERSION: u32 = 1;

/// Origin of a plugin, as far as it is known when the run is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The source that the user requested: a path, a URL, `oci://…`, or the name of an installed or
    /// built-in plugin.
    #[serde(default)]
    pub reference: Option<String>,
    /// Digest of the bundle, `sha256:` and hexadecimal digits.
    #[serde(default)]
    pub bundle: Option<String>,
    /// Digest of the definition's file, in the same form.
    #[serde(default)]
    pub definition_file: Option<String>,
}

/// A module that a plugin uses, and its role.
struct Use<'a> {
    role: &'static str,
    module: &'a LazyModule,
}

/// Returns the document about `plugins`, in the order of the command line.
pub(crate) fn document(
    plugins: &[PlannedPlugin],
    modules: &Modules,
    known: &BTreeMap<PluginName, Provenance>,
) -> Value {
    let plugins: Vec<Value> = plugins
        .iter()
        .map(|plugin| {
            let bundle = plugin.source.bundle.as_deref();
            let Provenance { reference, bundle: digest, definition_file } =
                known.get(plugin.name()).cloned().unwrap_or_default();
            json!({
                "plugin": plugin.name(),
                "definition": definition_digest(plugin),
                "definition-file": definition_file,
                "source": reference,
                "bundle": digest,
                "modules": uses(plugin, &plugin.subject()).iter().map(|it| module(it, bundle, modules)).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"version": VERSION, "plugins": plugins})
}

/// Returns the digest of the definition that runs: `Definition` in the plugin's `definition.json`,
/// as compact JSON.
fn definition_digest(plugin: &PlannedPlugin) -> String {
    let definition = plugin.source.definition.to_json().to_string();
    format!("sha256:{}", hex::encode(Sha256::digest(definition.as_bytes())))
}

fn uses<'a>(plugin: &'a PlannedPlugin, subject: &'a Subject<'_>) -> Vec<Use<'a>> {
    let expectations = plugin.expectations.iter().map(|module| Use { role: "expectations", module });
    let readers = match plugin.detectors.as_slice() {
        [] => std::slice::from_ref(&plugin.post_processor),
        detectors => detectors,
    };
    let readers = readers.iter().map(|module| Use { role: "post-processor", module });
    let summarizer = subject.summarizer.iter().map(|module| Use { role: "summarizer", module });
    let judges = plugin.judges.iter().map(|judge| Use { role: "judge", module: &judge.module });
    expectations.chain(readers).chain(summarizer).chain(judges).collect()
}

fn module(used: &Use<'_>, bundle: Option<&Path>, modules: &Modules) -> Value {
    let info = used.module.info();
    let file = bundle.and_then(|bundle| modules.file_in(bundle, &info.digest));
    json!({
        "role": used.role,
        "name": used.module.name(),
        "from": if file.is_some() { "bundle" } else { "built-in" },
        "file": file,
        "digest": format!("sha256:{}", info.digest),
        "generation": info.generation,
    })
}
