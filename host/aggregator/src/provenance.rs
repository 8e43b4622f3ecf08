//! `meta/modules.json`: what gave the results of a run their meaning, by digest. A module's digest is that of the bytes that were loaded, so
//! it is true whoever started the run, and whatever was signed or locked.

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

/// What `version` says in the document. Keys are only ever added to one version.
const VERSION: u32 = 1;

/// Where a plugin came from, as far as whoever starts the run knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// How it was named: a path, an address, `oci://…`, the name of an installed or a built-in plugin.
    #[serde(default)]
    pub reference: Option<String>,
    /// Digest of its bundle, `sha256:` and hexadecimal.
    #[serde(default)]
    pub bundle: Option<String>,
    /// Digest of the file of its definition, in the same form.
    #[serde(default)]
    pub definition_file: Option<String>,
}

/// A module that a plugin uses, and what for.
struct Use<'a> {
    role: &'static str,
    module: &'a LazyModule,
}

/// The document about `plugins`, in the order of the command line.
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

/// Of what is executed: `Definition` in the plugin's `definition.json`, as compact JSON.
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
