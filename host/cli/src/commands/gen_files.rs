//! Files that go into a cluster: read within bounds.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use plumbline_core::size::Bytes;
use plumbline_kubernetes::manifest::MAX_MODULE_BYTES;

use crate::error::CliError;

/// The largest file with credentials: what a Secret can hold is 1 MiB.
pub(crate) const MAX_CREDENTIALS: usize = 512 << 10;

/// Modules in one bundle, as the aggregator counts them.
const MAX_MODULES: usize = 64;

/// The text of a file of at most `max` bytes; `what` says what goes wrong without it.
pub(crate) fn text(path: &Path, max: usize, what: &str) -> Result<String, CliError> {
    let bytes = bytes(path, max as u64, what)?;
    String::from_utf8(bytes).map_err(|error| CliError::usage(what).because(&error))
}

fn bytes(path: &Path, max: u64, what: &str) -> Result<Vec<u8>, CliError> {
    let file = File::open(path).map_err(|error| CliError::usage(what).because(&error))?;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(|error| CliError::usage(what).because(&error))?;
    if bytes.len() as u64 > max {
        let error = std::io::Error::other(format!("it has more than {}", Bytes(max)));
        return Err(CliError::usage(what).because(&error));
    }
    Ok(bytes)
}

/// The modules of the bundle in `directory`: `*.wasm`, in the order of their names.
pub(crate) fn modules(directory: &Path) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let failed = |error: &std::io::Error| {
        CliError::usage(format!("the modules in `{}` cannot be read", directory.display())).because(error)
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            paths.push(path);
        }
        if paths.len() > MAX_MODULES {
            return Err(CliError::usage(format!(
                "bundle `{}` holds more than {MAX_MODULES} modules",
                directory.display()
            )));
        }
    }
    paths.sort();
    let module = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let what = format!("module `{}` cannot be used", path.display());
        Ok((name, bytes(&path, MAX_MODULE_BYTES, &what)?))
    };
    paths.into_iter().map(module).collect()
}
