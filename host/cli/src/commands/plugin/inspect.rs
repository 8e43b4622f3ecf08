//! `plumbline plugin inspect`

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::sources::registry;
use plumbline_app::{AppError, Context};
use plumbline_author::AuthorError;
use plumbline_author::inspect::{
    self, BundleInspection, Imports, Kind, Metadata, ModuleInspection, Sections, capabilities,
};
use plumbline_bundle::{Installed, Store, StoreError};
use plumbline_core::size::Bytes;
use plumbline_registry::{Kind as RemoteKind, Reference};
use serde::Serialize;

use crate::args::shared::{RemoteArgs, context};

#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// A module (`FILE.wasm`), the directory of a plugin, a packed bundle (`NAME.bundle.tar`), the
    /// name of an installed bundle, or `oci://HOST[:PORT]/NAME[:TAG]`
    #[arg(value_name = "MODULE|DIR|BUNDLE|NAME|OCI")]
    pub(crate) what: String,
    /// List every import
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Inspected {
    Module(Box<ModuleInspection>),
    Bundle(Box<BundleInspection>),
}

/// Describes a module or a bundle, without running it.
pub(crate) fn inspect(args: &InspectArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
    let inspected = look(&context, &args.what)?;
    args.remote.output.print("failed to print the result", &inspected, |out| match &inspected {
        Inspected::Module(module) => print_module(module, args.verbose, out),
        Inspected::Bundle(bundle) => print_bundle(bundle, args.verbose, out),
    })
}

fn look(context: &Context, what: &str) -> Result<Inspected, AppError> {
    let path = Path::new(what);
    if path.is_dir() {
        return bundle(inspect::bundle(path));
    }
    if path.is_file() {
        let is_tar = path.extension().is_some_and(|extension| extension == "tar");
        return if is_tar { bundle(inspect::packed(path)) } else { module(inspect::module_file(path)) };
    }
    if Reference::is_meant(what) {
        return fetched(context, what);
    }
    bundle(inspect::installed(&installed(what)?))
}

fn bundle(inspected: Result<BundleInspection, AuthorError>) -> Result<Inspected, AppError> {
    inspected.map(|bundle| Inspected::Bundle(Box::new(bundle))).map_err(|error| wrong(&error))
}

fn module(inspected: Result<ModuleInspection, AuthorError>) -> Result<Inspected, AppError> {
    inspected.map(|module| Inspected::Module(Box::new(module))).map_err(|error| wrong(&error))
}

/// Fetches an artifact from a registry and inspects it, without storing it.
fn fetched(context: &Context, reference: &str) -> Result<Inspected, AppError> {
    let artifact = registry::fetch(context, reference)?;
    let file = artifact.pulled.file.path();
    if artifact.pulled.kind == RemoteKind::Module {
        return module(inspect::module_file(file));
    }
    let signatures = artifact.signatures.as_ref().map(|bytes| bytes.len() as u64);
    bundle(inspect::packed(file).map(|found| BundleInspection { signatures, ..found }))
}

fn installed(name: &str) -> Result<Installed, AppError> {
    let failed = |error: &StoreError| {
        let new_error = if error.is_systems() { AppError::system } else { AppError::usage };
        new_error(format!("failed to read installed bundle `{name}`")).because(error)
    };
    let found = Store::user().and_then(|store| store.find(name)).map_err(|error| failed(&error))?;
    found.ok_or_else(|| {
        AppError::usage(format!("`{name}` is not a file, a directory or an installed bundle")).hint(
            "pass a file `NAME.wasm` or `NAME.bundle.tar`, a directory with `plugin.yaml`, or a reference `oci://…`",
        )
    })
}

fn wrong(error: &AuthorError) -> AppError {
    AppError::usage("failed to inspect the module or bundle").because(error)
}

fn print_bundle(bundle: &BundleInspection, verbose: bool, out: &mut impl Write) -> io::Result<()> {
    let definition = &bundle.definition;
    writeln!(out, "plugin {}", definition.name)?;
    let or = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    row(out, "description", &or(&definition.description, "none"))?;
    row(out, "driver", &definition.driver)?;
    row(out, "results", &format!("read as {}", or(&definition.result_format, "raw")))?;
    row(out, "expected", &format!("by {}", definition.expectations))?;
    row(out, "summarized", &format!("by {}", or(&definition.summarizer, "its own module, if that is a summarizer")))?;
    if let Some(component) = &definition.component {
        row(out, "check", component)?;
        for right in definition.grants.lines() {
            row(out, "grants", &right)?;
        }
    }
    row(out, "digest", bundle.digest.as_deref().unwrap_or("none"))?;
    if let Some(unfit) = &bundle.unfit {
        row(out, "unfit", &format!("it cannot be packed: {unfit}"))?;
    }
    if let Some(source) = &bundle.source {
        row(out, "from", &format!("{}, {}", source.reference, source.installed))?;
    }
    if let Some(bytes) = bundle.signatures {
        row(out, "signatures", &format!("{}; `plumbline plugin verify` shows the signer", Bytes(bytes)))?;
    }
    for warning in &bundle.warnings {
        row(out, "warning", warning)?;
    }
    for file in &bundle.files {
        row(out, "file", &format!("{}  {}", file.name, Bytes(file.bytes)))?;
    }
    for module in &bundle.modules {
        writeln!(out)?;
        print_module(module, verbose, out)?;
    }
    for broken in &bundle.broken {
        writeln!(out, "\nbroken: {broken}")?;
    }
    Ok(())
}

fn print_module(module: &ModuleInspection, verbose: bool, out: &mut impl Write) -> io::Result<()> {
    match module.kind {
        Kind::Component => writeln!(out, "module {}", module.file)?,
        Kind::CoreModule => writeln!(
            out,
            "core module {}: hosts run only components; `plumbline plugin build` makes one of it",
            module.file
        )?,
    }
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    row(out, "size", &Bytes(module.size).to_string())?;
    row(out, "digest", &module.digest)?;
    if module.kind == Kind::Component {
        row(out, "roles", &list(&module.roles.iter().map(|role| (*role).to_owned()).collect::<Vec<_>>()))?;
        let made = module.generation.as_deref().unwrap_or("none");
        row(out, "contract", &format!("plumbline:plugin@{made} (this program supports {})", module.host_generation))?;
    }
    for (at, export) in module.exports.iter().enumerate() {
        row(out, if at == 0 { "exports" } else { "" }, export)?;
    }
    print_imports(module, verbose, out)?;
    match &module.metadata {
        Some(Metadata { name, formats, default_files, detect, limits, schema, rights }) => {
            row(out, "name", name)?;
            row(out, "formats", &list(formats))?;
            row(out, "files", &list(default_files))?;
            for rule in detect {
                row(out, "detects", &rule.to_string())?;
            }
            for (limit, value) in limits {
                row(out, "asks for", &format!("{limit}: {value}"))?;
            }
            for right in rights.lines() {
                row(out, "needs", &right)?;
            }
            row(
                out,
                "options",
                if schema.is_some() { "described by a JSON Schema (`-o json`)" } else { "not described" },
            )?;
        }
        None if module.kind == Kind::Component => row(out, "name", "not set: the file's name is used")?,
        None => {}
    }
    let Sections { core_modules, custom, producers } = &module.sections;
    if !core_modules.is_empty() {
        let sizes: Vec<String> = core_modules.iter().map(|bytes| Bytes(*bytes).to_string()).collect();
        row(out, "consists of", &format!("{} core modules: {}", sizes.len(), sizes.join(", ")))?;
    }
    for section in custom {
        row(out, "section", &format!("{}  {}", section.name, Bytes(section.bytes)))?;
    }
    for made in producers {
        row(out, &made.field, format!("{} {}", made.name, made.version).trim_end())?;
    }
    Ok(())
}

/// Prints what a module may ask the host for, and the imports that a host rejects. With `verbose`, it
/// also lists all others.
fn print_imports(module: &ModuleInspection, verbose: bool, out: &mut impl Write) -> io::Result<()> {
    let Imports { contract, wasi, refused, core } = &module.imports;
    let names = [contract.as_slice(), wasi].concat();
    for (at, capability) in capabilities(&names, module.roles.contains(&"check")).into_iter().enumerate() {
        row(out, if at == 0 { "may" } else { "" }, capability)?;
    }
    let groups = [
        ("imports", contract, verbose),
        ("of WASI", wasi, verbose),
        ("refused", refused, true),
        ("to link", core, true),
    ];
    for (title, names, _) in groups.into_iter().filter(|(.., listed)| *listed) {
        for (at, name) in names.iter().enumerate() {
            row(out, if at == 0 { title } else { "" }, name)?;
        }
    }
    if !verbose && !names.is_empty() {
        row(out, "imports", &format!("{} interfaces (`--verbose` lists them)", names.len()))?;
    }
    Ok(())
}

fn row(out: &mut impl Write, key: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {key:12} {value}")
}
