//! Turns core modules into components with compiled code.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_sandbox::componentize::{ComponentizeError, component};
use plumbline_sandbox::{InspectError, LoadError, Sandbox, SandboxConfig, SandboxError, inspect};

use crate::args::Args;

/// The prefixes of the file names of this project's core modules.
const PREFIXES: [&str; 2] = ["plumbline_module_", "plumbline_guest_"];

/// Error of packing a module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    #[error("failed to {what} `{}`: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` has no name from which a module's could be made", .0.display())]
    Name(PathBuf),
    #[error("`{}` and `{}` would both become `{name}`", first.display(), second.display())]
    Twice { name: String, first: PathBuf, second: PathBuf },
    #[error("failed to make a component of `{}`: {source}", path.display())]
    Encode { path: PathBuf, source: ComponentizeError },
    #[error("failed to read the component of `{}`: {source}", path.display())]
    Inspect { path: PathBuf, source: InspectError },
    #[error("`{}` has no metadata: the section `plumbline:module` is missing", .0.display())]
    NoMetadata(PathBuf),
    #[error("`{}` has the name `{own}`, but its file has the name `{name}`", path.display())]
    OtherName { path: PathBuf, own: String, name: String },
    #[error("the component of `{}` is refused: {source}", path.display())]
    Load { path: PathBuf, source: LoadError },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl PackError {
    /// Returns how to fix the problem, if that is known.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoMetadata(_) | Self::Encode { .. } => Some(
                "a core module comes from a crate of type `cdylib` that calls `plumbline_sdk::module!`, built for wasm32-unknown-unknown",
            ),
            Self::OtherName { .. } => {
                Some("the `name` in `plumbline_sdk::module!` must be the package's without its prefix")
            }
            Self::Inspect { source, .. } => source.hint(),
            Self::Load { source, .. } => source.hint(),
            Self::Sandbox(source) => source.hint(),
            Self::Io { .. } | Self::Name(_) | Self::Twice { .. } => None,
        }
    }
}

/// Packs all modules. Stops at the first error.
pub(crate) fn pack(args: &Args) -> Result<(), PackError> {
    let mut names: BTreeMap<String, &Path> = BTreeMap::new();
    for path in &args.cores {
        let name = module_name(path).ok_or_else(|| PackError::Name(path.clone()))?;
        if let Some(first) = names.insert(name.clone(), path) {
            return Err(PackError::Twice { name, first: first.to_owned(), second: path.clone() });
        }
    }
    fs::create_dir_all(&args.out).map_err(io_error("create", &args.out))?;
    // Nothing is run here, so one slot is sufficient.
    let sandbox = Sandbox::new(SandboxConfig { max_instances: 1, ..SandboxConfig::default() })?;
    for (name, path) in names {
        let core = fs::read(path).map_err(io_error("read", path))?;
        let component = componentize(path, &core)?;
        check(path, &name, &component)?;
        // Also runs the checks of a host. `--no-compile` does so without writing the code.
        let code = sandbox
            .precompile(&name, &component)
            .map_err(|source| PackError::Load { path: path.to_owned(), source })?;
        write(&args.out.join(format!("{name}.wasm")), &component)?;
        if args.compile {
            write(&args.out.join(format!("{name}.cwasm")), &code)?;
        }
    }
    Ok(())
}

/// Returns the component of a core module. Custom sections of the core module stay in the core
/// module inside of it. A core module without types was not built with the SDK, so it has no
/// metadata either.
fn componentize(path: &Path, core: &[u8]) -> Result<Vec<u8>, PackError> {
    component(core, None, None).map_err(|source| match source {
        ComponentizeError::NoTypes => PackError::NoMetadata(path.to_owned()),
        source => PackError::Encode { path: path.to_owned(), source },
    })
}

fn check(path: &Path, name: &str, component: &[u8]) -> Result<(), PackError> {
    let info = inspect(component).map_err(|source| PackError::Inspect { path: path.to_owned(), source })?;
    let own = info.name.ok_or_else(|| PackError::NoMetadata(path.to_owned()))?;
    if own != name {
        return Err(PackError::OtherName { path: path.to_owned(), own, name: name.to_owned() });
    }
    Ok(())
}

/// Writes a file atomically, so that it is never incomplete under its final name.
fn write(path: &Path, content: &[u8]) -> Result<(), PackError> {
    let new = path.with_added_extension("new");
    fs::write(&new, content).map_err(io_error("write", &new))?;
    fs::rename(&new, path).map_err(io_error("replace", path))
}

fn module_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let short = PREFIXES.iter().find_map(|prefix| stem.strip_prefix(prefix)).unwrap_or(stem);
    (!short.is_empty()).then(|| short.replace('_', "-"))
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PackError {
    let path = path.to_owned();
    move |source| PackError::Io { what, path, source }
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
