//! What `--plugin` can name: a stock plugin, a file, a directory, standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES, Parsed, Warning};

use crate::error::CliError;

/// A definition, where it came from, and what is odd about it.
pub(crate) struct Found {
    pub(crate) source: Source,
    pub(crate) warnings: Vec<Warning>,
    /// For messages: the file or the name.
    pub(crate) origin: String,
}

/// The plugin that `reference` names: the stock plugin of that name, else a file, a directory with `plugin.yaml`, or `-` for standard input. A
/// path is meant where `reference` holds a slash or is there.
pub(crate) fn find(reference: &str) -> Result<Found, CliError> {
    if reference == "-" {
        return parse(read(io::stdin().lock(), "standard input")?, "standard input", None);
    }
    if let Some(stock) = plumbline_stock::definition(reference) {
        return parse(stock.yaml.into(), reference, None);
    }
    let path = Path::new(reference);
    if path.is_dir() {
        return from_directory(path);
    }
    if path.is_file() {
        return parse(read_file(path)?, reference, None);
    }
    let stock: Vec<_> = plumbline_stock::definitions().iter().map(|stock| format!("`{}`", stock.name)).collect();
    Err(CliError::usage(format!("plugin `{reference}` is neither a stock plugin nor a file or directory")).hint(
        format!("stock plugins: {}; a path may be a definition or a directory with `plugin.yaml`", stock.join(", ")),
    ))
}

/// A bundle: `plugin.yaml` (or `plugin.yml`), with its modules beside it.
pub(crate) fn from_directory(directory: &Path) -> Result<Found, CliError> {
    let names = ["plugin.yaml", "plugin.yml"];
    let Some(path) = names.iter().map(|name| directory.join(name)).find(|path| path.is_file()) else {
        return Err(CliError::usage(format!("directory `{}` has no `plugin.yaml`", directory.display()))
            .hint("a plugin's directory holds its definition under this name, and its modules beside it"));
    };
    // Executions run elsewhere: a relative path would mean something else there.
    let bundle = directory.canonicalize().map_err(|error| {
        CliError::system(format!("directory `{}` cannot be resolved", directory.display())).because(&error)
    })?;
    parse(read_file(&path)?, &path.display().to_string(), Some(bundle))
}

/// The definition in the file at `path`, whose modules stand beside it if it is a bundle's.
pub(crate) fn from_file(path: &Path) -> Result<Found, CliError> {
    if path.is_dir() {
        return from_directory(path);
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let bundle = parent.canonicalize().ok();
    parse(read_file(path)?, &path.display().to_string(), bundle)
}

fn parse(text: Vec<u8>, origin: &str, bundle: Option<PathBuf>) -> Result<Found, CliError> {
    let Parsed { definition, warnings } = Definition::parse_bytes(&text)
        .map_err(|error| CliError::usage(format!("definition `{origin}` cannot be used")).because(&error))?;
    let source = Source { definition: Arc::new(definition), bundle };
    Ok(Found { source, warnings, origin: origin.to_owned() })
}

fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    let file = File::open(path)
        .map_err(|error| CliError::usage(format!("definition `{}` cannot be read", path.display())).because(&error))?;
    read(file, &path.display().to_string())
}

fn read(from: impl Read, origin: &str) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    // One byte over the limit is enough for the parser to say that it is too long.
    from.take(MAX_YAML_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| CliError::usage(format!("definition `{origin}` cannot be read")).because(&error))?;
    Ok(text)
}
