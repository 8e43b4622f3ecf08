//! `plumbline plugin lock`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::sources::{self, ResolvedPlugin};
use plumbline_app::{AppError, Context};
use plumbline_archive::atomic::write_atomic;
use plumbline_bundle::built_in::Environment;
use plumbline_bundle::{Bundle, Lock, Subject};

use crate::args::{Global, LockArgs};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Writes a lock file with the exact versions of the plugins.
pub(crate) fn lock(args: &LockArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let place = if args.local { Environment::Local } else { Environment::Cluster };
    let references = args.plugins.iter().map(String::as_str);
    let found = references.map(|reference| find(&context, reference, place)).collect::<Result<Vec<_>, AppError>>()?;
    let mut subjects = Vec::new();
    for (reference, found, bundle) in &found {
        let Some(definition) = found.digest else { continue };
        let name = found.source.definition.name.as_str();
        subjects.push(Subject { name, origin: reference, definition, bundle: bundle.as_ref() });
    }
    let cannot = |error: &dyn std::error::Error| AppError::usage("these plugins cannot be locked").because(error);
    let lock = Lock::of(&subjects).map_err(|error| cannot(&error))?;
    let text = lock.to_yaml().map_err(|error| cannot(&error))?;
    if args.output == Path::new("-") {
        let printed = anstream::stdout().lock().write_all(text.as_bytes());
        printed.map_err(|error| AppError::printing("failed to print the lock", &error))?;
        return Ok(ExitCode::SUCCESS);
    }
    write_atomic(&args.output, text.as_bytes())
        .map_err(|error| AppError::system(format!("failed to write `{}`", args.output.display())).because(&error))?;
    for plugin in lock.plugins() {
        let digest = plugin.bundle.or(plugin.definition).map(|digest| digest.to_string()).unwrap_or_default();
        say(&format!("locked `{}`: {digest}", plugin.name));
    }
    say(&format!("written: {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

/// Returns the plugin of a reference, and its bundle, if it has one.
fn find<'a>(
    context: &Context,
    reference: &'a str,
    place: Environment,
) -> Result<(&'a str, ResolvedPlugin, Option<Bundle>), AppError> {
    let found = sources::find(context, reference, place)?;
    let bundle = found.bundle()?;
    Ok((reference, found, bundle))
}
