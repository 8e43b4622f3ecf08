//! `plumbline plugin install`

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::{install as install_bundle, install_for_sonobuoy};
use plumbline_core::Driver;

use crate::args::{Global, InstallArgs};
use crate::compat::Name;
use crate::context::context;
use crate::logging;
use crate::ui::say;

/// Installs bundles until the first that cannot be installed. Bundles before it stay installed.
pub(crate) fn install(args: &InstallArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    if let (Name::Sonobuoy, [name, definition]) = (Name::current(), args.references.as_slice()) {
        let path = install_for_sonobuoy(&context, name, definition)?;
        say(&format!("installed `{name}` from {definition}: {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    for reference in &args.references {
        let installed = install_bundle(&context, reference)?;
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
