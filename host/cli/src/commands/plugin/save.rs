//! `plumbline plugin save`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::sources::{registry, registry_error};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Layout, RegistryError, save as save_one, write_archive};

use crate::args::{Global, SaveArgs};
use crate::context::context;
use crate::logging;

/// Copies artifacts with all that belongs to them into a layout.
pub(crate) fn save(args: &SaveArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let context = context(&args.registry);
    let references = args.references.iter().map(|text| registry::reference(text)).collect::<Result<Vec<_>, _>>()?;
    let client = registry::client(&context)?;
    let output = &args.output;
    let archive = output.extension().is_some_and(|end| end.eq_ignore_ascii_case("tar"));
    let scratch;
    let dir: &Path = if archive {
        scratch = tempfile::tempdir().map_err(|error| AppError::system("nothing can be saved").because(&error))?;
        scratch.path()
    } else {
        output
    };
    let failed = |cause: Cause| -> AppError {
        let error: RegistryError = cause.of(format!("write layout `{}`", output.display()));
        registry_error(&error)
    };
    let layout = Layout::create(dir).map_err(failed)?;
    for reference in &references {
        let (root, copied) = registry::wait(save_one(&client, reference, &layout))?;
        let signed = match copied.referrers {
            0 => String::new(),
            1 => ", with 1 that belongs to it".to_owned(),
            count => format!(", with {count} that belong to it"),
        };
        print(&format!("saved: {reference} is {}{signed}", root.digest))?;
    }
    let size =
        if archive { format!(" ({})", Bytes(write_archive(&layout, output).map_err(failed)?)) } else { String::new() };
    print(&format!("written: {}{size}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// At once: what was done is told also when the next fails.
fn print(line: &str) -> Result<(), AppError> {
    writeln!(anstream::stdout().lock(), "{line}")
        .map_err(|error| AppError::printing("what was saved cannot be printed", &error))
}
