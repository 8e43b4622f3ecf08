//! Bundles and modules as data, with the keys of docs/bundles.md. Keys are only ever added.

use plumbline_bundle::{Bundle, Installed};
use plumbline_sandbox::ModuleInfo;
use serde_json::{Value, json};

/// The formats that a module reads. A post-processor without formats reads that of its name.
pub fn formats(info: &ModuleInfo, name: &str) -> Vec<String> {
    match info.formats.is_empty() && info.roles.post_processor {
        true => vec![name.to_owned()],
        false => info.formats.clone(),
    }
}

/// The digest, the files and the modules of a bundle.
pub fn bundle(bundle: &Bundle) -> Value {
    let module = |module: &plumbline_bundle::ModuleFile| {
        json!({
            "file": module.file,
            "digest": module.digest,
            "bytes": module.info.size,
            "roles": module.info.roles.names(),
            "formats": formats(&module.info, &module.name),
            "generation": module.info.generation,
        })
    };
    let file = |file: &plumbline_bundle::BundleFile| json!({"name": file.name, "bytes": file.bytes, "executable": file.executable});
    json!({
        "name": bundle.name(),
        "digest": bundle.digest(),
        "bytes": bundle.packed_bytes(),
        "profile": bundle.profile.as_ref().map(|profile| json!({"suite": profile.title, "version": profile.shown_version()})),
        "modules": bundle.modules.iter().map(module).collect::<Vec<_>>(),
        "files": bundle.files.iter().map(file).collect::<Vec<_>>(),
    })
}

/// The origin of an installed bundle.
pub fn installation(installed: &Installed) -> Value {
    let record = &installed.record;
    json!({
        "source": record.source,
        "when": record.when,
        "version": record.version,
        "signatures": installed.signatures.is_some(),
    })
}
