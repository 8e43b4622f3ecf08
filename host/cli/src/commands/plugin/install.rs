//! `plumbline plugin install`

use std::path::Path;
use std::process::ExitCode;

use plumbline_app::{AppError, sources};
use plumbline_bundle::{Installed, Origin, SonobuoyCache, Store};
use plumbline_core::Driver;

use crate::args::{Global, InstallArgs};
use crate::compat::Name;
use crate::context::context;
use crate::logging;
use crate::ui::say;
use plumbline_app::Context;
use plumbline_app::sources::registry;

/// Installs bundles, one after the other; the first that cannot be installed ends it, and what was installed before stays.
pub(crate) fn install(args: &InstallArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    if let (Name::Sonobuoy, [name, definition]) = (Name::current(), args.references.as_slice()) {
        return as_sonobuoy(&context, name, definition);
    }
    let store = sources::store()?;
    for reference in &args.references {
        let installed = one(&context, &store, reference)?;
        let bundle = &installed.bundle;
        for warning in &bundle.warnings {
            say(&format!("warning: `{reference}`: {warning}"));
        }
        say(&format!("installed `{}` from {reference}: {}", bundle.name(), bundle.digest()));
        let local = if bundle.definition.driver == Driver::Process { " --local" } else { "" };
        say(&format!("next: `plumbline run{local} -p {}`", bundle.name()));
    }
    Ok(ExitCode::SUCCESS)
}

/// `sonobuoy plugin install NAME DEFINITION`: the definition, a file or a URL, becomes an installed plugin of Sonobuoy.
fn as_sonobuoy(context: &Context, name: &str, definition: &str) -> Result<ExitCode, AppError> {
    let failed = || AppError::system(format!("failed to install plugin `{name}`"));
    let cache = SonobuoyCache::user().ok_or_else(|| failed().hint("set `HOME` or `SONOBUOY_DIR`"))?;
    // A definition that cannot be read now could not be run later.
    let text = sources::definition_text(context, definition)?;
    let path = cache.install(name, &text).map_err(|error| failed().because(&error))?;
    say(&format!("installed `{name}` from {definition}: {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

fn one(context: &Context, store: &Store, reference: &str) -> Result<Installed, AppError> {
    let path = Path::new(reference);
    let mut origin = Origin { source: reference.to_owned(), ..Origin::default() };
    let put = |path: &Path, origin| {
        store
            .install(path, origin)
            .map_err(|error| sources::store_error(format!("failed to install `{reference}`"), &error))
    };
    if registry::is_reference(reference) {
        let pulled = registry::pull(context, reference)?;
        (origin.version, origin.signatures) = (pulled.version, pulled.signatures);
        return put(pulled.tar.path(), origin);
    }
    // What a relative path meant here is of no use elsewhere.
    if let Ok(absolute) = path.canonicalize() {
        origin.source = absolute.display().to_string();
    }
    if path.is_file() && sources::is_packed(path) {
        origin.signatures = sources::signatures_beside(path)?;
    } else if !path.is_dir() {
        return Err(AppError::usage(format!("`{reference}` is not a bundle")).hint(
            "name a directory with `plugin.yaml`, a tar that `plumbline plugin pack` wrote, or `oci://…`; a definition alone runs from its file: `-p FILE`",
        ));
    }
    put(path, origin)
}
