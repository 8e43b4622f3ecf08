//! The commands on plugins that are there: `list`, `show`, `install` and `uninstall`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_aggregator::LazyModule;
use plumbline_app::AppError;
use plumbline_app::bundles::{describe, install as install_bundle, install_for_sonobuoy};
use plumbline_app::modules::{self, Limits};
use plumbline_app::report::print_yaml;
use plumbline_app::report::text::one_line;
use plumbline_app::sources::{self, ResolvedPlugin, SourceKind};
use plumbline_bundle::built_in::{BuiltInDefinition, Environment};
use plumbline_bundle::{Bundle, Entry, Installed};
use plumbline_core::definition::Definition;
use plumbline_core::size::Bytes;
use plumbline_core::{Driver, chain};
use serde_json::{Value, json};

use crate::args::name::Name;
use crate::args::shared::{OutputArgs, RemoteArgs, context};
use crate::output::field;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A plugin, as for `plumbline run --plugin`: a name, a directory, a packed bundle, or a
    /// definition
    #[arg(value_name = "NAME|DIR|FILE|URL")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// Directory of a plugin, a packed bundle (`NAME.bundle.tar`), or a reference to a registry
    /// (`oci://…`); replaces an installed bundle of the same name
    #[arg(required = true, value_name = "DIR|FILE|OCI")]
    pub(crate) references: Vec<String>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// Names of installed bundles
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print what would be removed, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Lists plugins (built-in, installed, Sonobuoy's) and the built-in modules.
pub(crate) fn list(output: OutputArgs) -> Result<ExitCode, AppError> {
    let (_, modules) = modules::sandbox(&Limits::default())?;
    // Without a home directory, nothing is installed, but the built-in modules still exist.
    let installed = match sources::store() {
        Ok(store) => store.list().map_err(|error| sources::store_error("failed to list installed bundles", &error))?,
        Err(_) => Vec::new(),
    };
    let sonobuoy = sources::sonobuoy()?;
    let data = list_data(&modules, &installed, &sonobuoy);
    output.print("failed to print the list", &data, |out| print_list(&modules, &installed, &sonobuoy, out))
}

fn print_list(
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
        let roles = info.roles.names().join(", ");
        writeln!(out, "  {:14} {roles:27} {}", info.name.as_deref().unwrap_or("?"), info.formats.join(", "))?;
    }
    Ok(())
}

fn list_data(modules: &[LazyModule], installed: &[Entry], sonobuoy: &[(String, PathBuf)]) -> Value {
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
        json!({"name": info.name, "roles": info.roles.names(), "formats": info.formats})
    };
    json!({
        "plugins": plumbline_bundle::built_in::definitions().iter().map(built_in).collect::<Vec<_>>(),
        "installed": installed.iter().map(entry).collect::<Vec<_>>(),
        "sonobuoy": sonobuoy.iter().map(|(name, path)| json!({"name": name, "path": path.display().to_string()})).collect::<Vec<_>>(),
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

/// Shows what a reference names, without running it.
pub(crate) fn show(args: &ShowArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
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
    let (bundle, installed) = (bundle.as_ref(), installed.as_ref());
    let data = plugin_data(&found, bundle, installed);
    args.remote.output.print("failed to print the plugin", &data, |out| print_plugin(&found, bundle, installed, out))
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

fn print_plugin(
    found: &ResolvedPlugin,
    bundle: Option<&Bundle>,
    installed: Option<&Installed>,
    out: &mut impl Write,
) -> io::Result<()> {
    let definition = &found.source.definition;
    field(out, "plugin:", definition.name.as_str())?;
    if let Some(description) = &definition.description {
        field(out, "description:", one_line(description))?;
    }
    field(out, "origin:", origin(found))?;
    if let Some(Installed { record, signatures, .. }) = installed {
        let version = record.version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
        field(out, "source:", format!("{}{version}", record.source))?;
        field(out, "installed:", record.when.to_string())?;
        field(out, "signatures:", if signatures.is_some() { "there" } else { "none" })?;
    }
    match (bundle, found.digest) {
        (Some(bundle), _) => {
            field(out, "digest:", bundle.digest().to_string())?;
            field(out, "size:", format!("{}, {} files", Bytes(bundle.packed_bytes()), bundle.files.len()))?;
        }
        (None, Some(digest)) => field(out, "digest:", format!("{digest} (of the definition: it is not a bundle)"))?,
        (None, None) => {}
    }
    if let Some(profile) = bundle.and_then(|bundle| bundle.profile.as_ref()) {
        field(out, "profile:", format!("{} (`plumbline conformance show {}`)", profile.title, found.origin))?;
    }
    for module in bundle.iter().flat_map(|bundle| &bundle.modules) {
        let info = &module.info;
        let formats = describe::formats(info, &module.name).join(", ");
        field(out, "module:", format!("{}  {}  {}", module.file, Bytes(info.size), module.digest))?;
        field(
            out,
            "",
            format!(
                "{}; formats: {}",
                info.roles.names().join(", "),
                if formats.is_empty() { "none" } else { &formats }
            ),
        )?;
    }
    for file in bundle.iter().flat_map(|bundle| &bundle.files).filter(|file| !file.name.ends_with(".wasm")) {
        field(out, "file:", format!("{}  {}", file.name, Bytes(file.bytes)))?;
    }
    writeln!(out, "definition:")?;
    let mut yaml = Vec::new();
    print_yaml(&definition.to_json(), &mut yaml)?;
    for line in String::from_utf8_lossy(&yaml).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn plugin_data(found: &ResolvedPlugin, bundle: Option<&Bundle>, installed: Option<&Installed>) -> Value {
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

/// Installs bundles until the first that cannot be installed. Bundles before it stay installed.
pub(crate) fn install(args: &InstallArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
    if let (Name::Sonobuoy, [name, definition]) = (Name::current(), args.references.as_slice()) {
        let path = install_for_sonobuoy(&context, name, definition)?;
        say(&format!("installed `{name}` from {definition}: {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let mut plugins = Vec::new();
    for reference in &args.references {
        let installed = install_bundle(&context, reference)?;
        let bundle = &installed.bundle;
        for warning in &bundle.warnings {
            say(&format!("warning: `{reference}`: {warning}"));
        }
        plugins.push(json!({"name": bundle.name(), "digest": bundle.digest(), "from": reference}));
        say(&format!("installed `{}` from {reference}: {}", bundle.name(), bundle.digest()));
        let local = if bundle.definition.driver == Driver::Process { " --local" } else { "" };
        match &bundle.profile {
            Some(_) => say(&format!("next: `plumbline conformance show {}`", bundle.name())),
            None => say(&format!("next: `plumbline run{local} -p {}`", bundle.name())),
        }
    }
    print_plugins(args.remote.output, &plugins)
}

/// Removes installed bundles. All names are checked before the first is removed, so that a typo
/// removes nothing.
pub(crate) fn uninstall(args: &UninstallArgs) -> Result<ExitCode, AppError> {
    let store = sources::store()?;
    let list = store.list().map_err(|error| sources::store_error("failed to list installed bundles", &error))?;
    if let Some(name) = args.names.iter().find(|name| !list.iter().any(|entry| entry.name == **name)) {
        let error = AppError::usage(format!("bundle `{name}` is not installed"));
        return Err(match plumbline_bundle::built_in::definition(name) {
            Some(_) => error.hint("it is a built-in plugin, which cannot be uninstalled"),
            None => error.hint("list installed bundles with `plumbline plugin list`"),
        });
    }
    let mut plugins = Vec::new();
    for name in &args.names {
        let path = store.dir().join(name);
        plugins.push(json!({"name": name, "path": path, "removed": !args.dry_run}));
        if args.dry_run {
            say(&format!("would remove `{name}`: {}", path.display()));
            continue;
        }
        store
            .remove(name)
            .map_err(|error| sources::store_error(format!("failed to remove bundle `{name}`"), &error))?;
        say(&format!("removed `{name}`: {}", path.display()));
    }
    print_plugins(args.output, &plugins)
}

/// Prints plugins as data, if that is requested. People read the messages on stderr. Keys are never
/// removed or renamed (docs/output.md).
fn print_plugins(output: OutputArgs, plugins: &[Value]) -> Result<ExitCode, AppError> {
    output.print("failed to print the list", &json!({"plugins": plugins}), |_| Ok(()))
}
