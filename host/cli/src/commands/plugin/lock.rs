//! `plumbline plugin lock`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_archive::atomic::write_atomic;
use plumbline_bundle::built_in::Place;
use plumbline_bundle::{Bundle, Lock, Subject};

use crate::args::{Global, LockArgs};
use crate::error::CliError;
use crate::logging;
use crate::sources::Found;
use crate::sources::{self};
use crate::ui::say;

/// Writes down what the plugins are, exactly.
pub(crate) fn lock(args: &LockArgs, global: &Global) -> Result<ExitCode, CliError> {
    logging::init(global);
    sources::remote::use_registries(&args.registry);
    let place = if args.local { Place::Local } else { Place::Cluster };
    let references = args.plugins.iter().map(String::as_str);
    let found = references.map(|reference| find(reference, place)).collect::<Result<Vec<_>, CliError>>()?;
    let mut subjects = Vec::new();
    for (reference, found, bundle) in &found {
        let Some(definition) = found.digest else { continue };
        let name = found.source.definition.name.as_str();
        subjects.push(Subject { name, origin: reference, definition, bundle: bundle.as_ref() });
    }
    let cannot = |error: &dyn std::error::Error| CliError::usage("these plugins cannot be locked").because(error);
    let lock = Lock::of(&subjects).map_err(|error| cannot(&error))?;
    let text = lock.to_yaml().map_err(|error| cannot(&error))?;
    if args.output == Path::new("-") {
        let printed = anstream::stdout().lock().write_all(text.as_bytes());
        printed.map_err(|error| CliError::printing("failed to print the lock", &error))?;
        return Ok(ExitCode::SUCCESS);
    }
    write_atomic(&args.output, text.as_bytes())
        .map_err(|error| CliError::system(format!("failed to write `{}`", args.output.display())).because(&error))?;
    for plugin in lock.plugins() {
        let digest = plugin.bundle.or(plugin.definition).map(|digest| digest.to_string()).unwrap_or_default();
        say(&format!("locked `{}`: {digest}", plugin.name));
    }
    say(&format!("written: {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

/// What a reference names, and its bundle, if it is one.
fn find(reference: &str, place: Place) -> Result<(&str, Found, Option<Bundle>), CliError> {
    let found = sources::find(reference, place)?;
    let bundle = found.bundle()?;
    Ok((reference, found, bundle))
}
