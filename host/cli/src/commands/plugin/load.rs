//! `plumbline plugin load`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::{ArtifactLayout, name_of};

use crate::args::{Global, LoadArgs};
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Copies the artifacts of a layout into a registry, installs them, or lists them.
pub(crate) fn load(args: &LoadArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let layout = ArtifactLayout::open(&args.from)?;
    if let Some(to) = &args.to {
        layout.copy(&context, to, &mut |reference, there| {
            print(&format!("loaded: {reference}{}", if there { " (was there already)" } else { "" }))
        })?;
    } else if args.install {
        layout.install(&context, &mut |from, installed| {
            let bundle = &installed.bundle;
            print(&format!("installed: `{}` from {from}: {}", bundle.name(), bundle.digest()))
        })?;
    } else {
        say("next: `--to oci://…` copies it into a registry, `--install` installs it here");
        for entry in &layout.entries {
            print(&format!("{} {}", entry.descriptor.digest, name_of(entry)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a line at once, so that it is shown even if the next artifact fails.
fn print(line: &str) -> Result<(), AppError> {
    writeln!(anstream::stdout().lock(), "{line}")
        .map_err(|error| AppError::printing("what was loaded cannot be printed", &error))
}
