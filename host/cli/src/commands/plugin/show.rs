//! `plumbline plugin show`

use std::io::{self, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::describe;
use plumbline_app::report::text::one_line;
use plumbline_app::report::{print_json, print_yaml};
use plumbline_app::sources::{self, ResolvedPlugin, SourceKind};
use plumbline_bundle::built_in::Environment;
use plumbline_bundle::{Bundle, Installed};
use plumbline_core::size::Bytes;
use serde_json::{Value, json};

use crate::args::{DataFormat, Global, ShowArgs};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Shows what a reference names, without running it.
pub(crate) fn show(args: &ShowArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    // A built-in plugin without a cluster definition is shown as it runs on this machine.
    let place = match plumbline_bundle::built_in::definition(&args.reference) {
        Some(built_in) if built_in.yaml(Environment::Cluster).is_none() => Environment::Local,
        _ => Environment::Cluster,
    };
    let found = sources::find(&context, &args.reference, place)?;
    let bundle = found.bundle()?;
    let installed = match found.kind {
        SourceKind::Installed => installed(&found)?,
        _ => None,
    };
    match &bundle {
        Some(bundle) => bundle.warnings.iter().for_each(|warning| say(&format!("warning: {warning}"))),
        None => found.warnings.iter().for_each(|warning| say(&format!("warning: {warning}"))),
    }
    let mut out = anstream::stdout().lock();
    let printed = match args.format {
        DataFormat::Json => print_json(&data(&found, bundle.as_ref(), installed.as_ref()), &mut out),
        DataFormat::Text => print(&found, bundle.as_ref(), installed.as_ref(), &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the plugin", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns how the bundle was installed. The name was resolved a moment ago, and may refer to
/// another bundle by now.
fn installed(found: &ResolvedPlugin) -> Result<Option<Installed>, AppError> {
    let name = &found.origin;
    sources::store()?
        .find(name)
        .map_err(|error| sources::store_error(format!("failed to load plugin `{name}`"), &error))
}

fn origin(found: &ResolvedPlugin) -> String {
    match found.kind {
        SourceKind::BuiltIn => "built-in".to_owned(),
        SourceKind::Named | SourceKind::Url | SourceKind::Registry => found.origin.clone(),
        SourceKind::Installed => format!("installed as `{}`", found.origin),
        SourceKind::Sonobuoy => format!("installed by Sonobuoy: {}", found.origin),
    }
}

fn print(
    found: &ResolvedPlugin,
    bundle: Option<&Bundle>,
    installed: Option<&Installed>,
    out: &mut impl Write,
) -> io::Result<()> {
    let definition = &found.source.definition;
    let mut row = |key: &str, value: &str| writeln!(out, "{key:<12} {value}");
    row("plugin:", definition.name.as_str())?;
    if let Some(description) = &definition.description {
        row("description:", &one_line(description))?;
    }
    row("origin:", &origin(found))?;
    if let Some(Installed { record, signatures, .. }) = installed {
        let version = record.version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
        row("source:", &one_line(&format!("{}{version}", record.source)))?;
        row("installed:", &record.when.to_string())?;
        row("signatures:", if signatures.is_some() { "there" } else { "none" })?;
    }
    match (bundle, found.digest) {
        (Some(bundle), _) => {
            row("digest:", &bundle.digest().to_string())?;
            row("size:", &format!("{}, {} files", Bytes(bundle.packed_bytes()), bundle.files.len()))?;
        }
        (None, Some(digest)) => row("digest:", &format!("{digest} (of the definition: it is not a bundle)"))?,
        (None, None) => {}
    }
    for module in bundle.iter().flat_map(|bundle| &bundle.modules) {
        let info = &module.info;
        let formats = describe::formats(info, &module.name).join(", ");
        row("module:", &format!("{}  {}  {}", module.file, Bytes(info.size), module.digest))?;
        row(
            "",
            &format!(
                "{}; formats: {}",
                describe::roles(info.roles).join(", "),
                if formats.is_empty() { "none" } else { &formats }
            ),
        )?;
    }
    for file in bundle.iter().flat_map(|bundle| &bundle.files).filter(|file| !file.name.ends_with(".wasm")) {
        row("file:", &format!("{}  {}", file.name, Bytes(file.bytes)))?;
    }
    writeln!(out, "definition:")?;
    let mut yaml = Vec::new();
    print_yaml(&definition.to_json(), &mut yaml)?;
    for line in String::from_utf8_lossy(&yaml).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn data(found: &ResolvedPlugin, bundle: Option<&Bundle>, installed: Option<&Installed>) -> Value {
    let definition = &found.source.definition;
    json!({
        "name": definition.name,
        "description": definition.description,
        "origin": origin(found),
        "definition": definition.to_json(),
        "definition-digest": found.digest,
        "bundle": bundle.map(describe::bundle),
        "installed": installed.map(describe::installation),
    })
}
