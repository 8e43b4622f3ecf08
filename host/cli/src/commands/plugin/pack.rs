//! `plumbline plugin pack`

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::bundles::describe;
use plumbline_app::report::print_json;
use plumbline_app::sources::bundle_error;
use plumbline_archive::atomic::AtomicFile;
use plumbline_bundle::{Bundle, Packed};
use plumbline_core::size::Bytes;

use crate::args::{Global, PackArgs};
use crate::logging;
use crate::ui::say;

/// Packs a directory as a tar.
pub(crate) fn pack(args: &PackArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let wrong = |error| bundle_error(format!("failed to pack `{}`", args.dir.display()), &error);
    let bundle = Bundle::open(&args.dir).map_err(wrong)?;
    for warning in &bundle.warnings {
        say(&format!("warning: {warning}"));
    }
    if args.output.as_deref() == Some(Path::new("-")) {
        let packed = bundle.pack(BufWriter::new(io::stdout().lock())).map_err(|error| match error {
            plumbline_bundle::BundleError::Write(error) => AppError::printing("failed to write the tar", &error),
            error => wrong(error),
        })?;
        say(&format!("digest: {}", packed.digest));
        return Ok(ExitCode::SUCCESS);
    }
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(bundle.file_name()));
    let packed = write(&bundle, &path).map_err(|error| match error {
        Failure::Bundle(error) => wrong(error),
        Failure::File(error) => AppError::system(format!("failed to write `{}`", path.display())).because(&error),
    })?;
    let mut out = anstream::stdout().lock();
    let printed = match args.json {
        true => {
            let mut data = describe::bundle(&bundle);
            if let Some(fields) = data.as_object_mut() {
                fields.insert("path".to_owned(), path.display().to_string().into());
            }
            print_json(&data, &mut out)
        }
        false => print(&bundle, packed, &path, &mut out),
    };
    printed.map_err(|error| AppError::printing("what was packed cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}

enum Failure {
    Bundle(plumbline_bundle::BundleError),
    File(io::Error),
}

/// Writes the tar atomically.
fn write(bundle: &Bundle, path: &Path) -> Result<Packed, Failure> {
    let mut file = AtomicFile::create(path).map_err(Failure::File)?;
    let packed = bundle.pack(BufWriter::new(&mut file)).map_err(Failure::Bundle)?;
    file.commit().map_err(Failure::File)?;
    Ok(packed)
}

fn print(bundle: &Bundle, packed: Packed, path: &Path, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "plugin: {}", bundle.name())?;
    writeln!(out, "bundle: {}", path.display())?;
    writeln!(out, "digest: {}", packed.digest)?;
    writeln!(out, "size:   {}", Bytes(packed.bytes))?;
    writeln!(out, "files:")?;
    for file in &bundle.files {
        writeln!(
            out,
            "  {:>10}  {}{}",
            Bytes(file.bytes).to_string(),
            file.name,
            if file.executable { " (executable)" } else { "" }
        )?;
    }
    Ok(())
}
