//! `plumbline plugin save`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Layout, RegistryError, save as save_one, write_archive};

use crate::args::{Global, SaveArgs};
use crate::error::CliError;
use crate::logging;
use crate::sources::remote::{self, registry_error};

/// Copies artefacts with all that belongs to them into a layout.
pub(crate) fn save(args: &SaveArgs, global: &Global) -> Result<ExitCode, CliError> {
    logging::init(global);
    remote::use_registries(&args.registry);
    let references = args.references.iter().map(|text| remote::reference(text)).collect::<Result<Vec<_>, _>>()?;
    let client = remote::client()?;
    let output = &args.output;
    let archive = output.extension().is_some_and(|end| end.eq_ignore_ascii_case("tar"));
    let scratch;
    let dir: &Path = if archive {
        scratch = tempfile::tempdir().map_err(|error| CliError::system("nothing can be saved").because(&error))?;
        scratch.path()
    } else {
        output
    };
    let failed = |cause: Cause| -> CliError {
        let error: RegistryError = cause.of(format!("write layout `{}`", output.display()));
        registry_error(&error)
    };
    let layout = Layout::create(dir).map_err(failed)?;
    let mut told = String::new();
    for reference in &references {
        let (root, copied) = remote::wait(save_one(&client, reference, &layout))?;
        let signed = match copied.referrers {
            0 => String::new(),
            1 => ", with 1 that belongs to it".to_owned(),
            count => format!(", with {count} that belong to it"),
        };
        told.push_str(&format!("saved: {reference} is {}{signed}\n", root.digest));
    }
    if archive {
        let bytes = write_archive(&layout, output).map_err(failed)?;
        told.push_str(&format!("written: {} ({})\n", output.display(), Bytes(bytes)));
    } else {
        told.push_str(&format!("written: {}\n", output.display()));
    }
    anstream::stdout()
        .lock()
        .write_all(told.as_bytes())
        .map_err(|error| CliError::printing("what was saved cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
