//! `plumbline plugin list`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_aggregator::LazyModule;
use plumbline_app::bundles::describe;
use plumbline_app::limits::Limits;
use plumbline_app::report::print_json;
use plumbline_app::report::text::one_line;
use plumbline_app::{AppError, modules, sources};
use plumbline_bundle::Entry;
use plumbline_bundle::built_in::{BuiltInDefinition, Environment};
use plumbline_core::chain;
use plumbline_core::definition::Definition;
use serde_json::{Value, json};

use crate::args::{DataFormat, Global, ListArgs};
use crate::logging;

/// Lists plugins (built-in, installed, Sonobuoy's) and the built-in modules.
pub(crate) fn list(args: &ListArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let (_, modules) = modules::sandbox(&Limits::default())?;
    // Without a home directory, nothing is installed, but the built-in modules still exist.
    let installed = match sources::store() {
        Ok(store) => store.list().map_err(|error| sources::store_error("failed to list installed bundles", &error))?,
        Err(_) => Vec::new(),
    };
    let sonobuoy = sources::sonobuoy()?;
    let mut out = anstream::stdout().lock();
    let printed = match args.format {
        DataFormat::Json => print_json(&data(&modules, &installed, &sonobuoy), &mut out),
        DataFormat::Text => print(&modules, &installed, &sonobuoy, &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the list", &error))?;
    Ok(ExitCode::SUCCESS)
}

fn print(
    modules: &[LazyModule],
    installed: &[Entry],
    sonobuoy: &[(String, PathBuf)],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "plugins:")?;
    for built_in in plumbline_bundle::built_in::definitions() {
        let description = description(built_in).unwrap_or_default();
        writeln!(out, "  {:14} {:15} {description}", built_in.name, places(built_in).join(", "))?;
    }
    if !installed.is_empty() {
        writeln!(out, "installed:")?;
    }
    for Entry { name, state } in installed {
        match state {
            Ok(found) => {
                let description = one_line(found.bundle.definition.description.as_deref().unwrap_or_default());
                let digest: String = found.bundle.digest().hex().chars().take(12).collect();
                let version = one_line(found.record.version.as_deref().unwrap_or(&digest));
                writeln!(out, "  {name:14} {version:15} {description}")?;
                writeln!(out, "  {:14} from {}", "", one_line(&found.record.source))?;
            }
            Err(error) => writeln!(out, "  {:14} {:15} {}", one_line(name), "damaged", one_line(&chain(error)))?,
        }
    }
    if !sonobuoy.is_empty() {
        writeln!(out, "installed by Sonobuoy:")?;
    }
    for (name, path) in sonobuoy {
        writeln!(out, "  {:14} {}", one_line(name), one_line(&path.display().to_string()))?;
    }
    writeln!(out, "modules:")?;
    for module in modules {
        let info = module.info();
        let roles = describe::roles(info.roles).join(", ");
        writeln!(out, "  {:14} {roles:27} {}", info.name.as_deref().unwrap_or("?"), info.formats.join(", "))?;
    }
    Ok(())
}

fn data(modules: &[LazyModule], installed: &[Entry], sonobuoy: &[(String, PathBuf)]) -> Value {
    let built_in = |built_in: &BuiltInDefinition| json!({"name": built_in.name, "places": places(built_in), "description": description(built_in)});
    let entry = |entry: &Entry| match &entry.state {
        Ok(installed) => json!({
            "name": entry.name,
            "description": installed.bundle.definition.description,
            "bundle": describe::bundle(&installed.bundle),
            "installed": describe::installation(installed),
        }),
        Err(error) => json!({"name": entry.name, "damaged": chain(error)}),
    };
    let module = |module: &LazyModule| {
        let info = module.info();
        json!({"name": info.name, "roles": describe::roles(info.roles), "formats": info.formats})
    };
    json!({
        "plugins": plumbline_bundle::built_in::definitions().iter().map(built_in).collect::<Vec<_>>(),
        "installed": installed.iter().map(entry).collect::<Vec<_>>(),
        "sonobuoy": sonobuoy.iter().map(|(name, path)| json!({"name": name, "path": path})).collect::<Vec<_>>(),
        "modules": modules.iter().map(module).collect::<Vec<_>>(),
    })
}

fn places(built_in: &BuiltInDefinition) -> Vec<&'static str> {
    built_in.places().map(|place| if place == Environment::Local { "local" } else { "cluster" }).collect()
}

fn description(built_in: &BuiltInDefinition) -> Option<String> {
    let yaml = built_in.cluster.or(built_in.local).unwrap_or_default();
    Definition::parse(yaml).ok().and_then(|parsed| parsed.definition.description)
}
