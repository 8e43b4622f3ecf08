//! What `--plugin` can name: a stock plugin, a file, a directory, an address, standard input.

mod address;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_core::PluginName;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES, Parsed, Warning};
use plumbline_stock::{Place, StockDefinition};

use crate::error::CliError;

/// A definition, where it came from, and what is odd about it.
pub(crate) struct Found {
    pub(crate) source: Source,
    pub(crate) warnings: Vec<Warning>,
    /// For messages: the file or the name.
    pub(crate) origin: String,
}

/// The plugin that `reference` names: the stock plugin of that name, as it is executed at `place`, else a file, a directory with
/// `plugin.yaml`, an address, or `-` for standard input. A file or an address may end in `@NAME`: the plugin is then called so.
pub(crate) fn find(reference: &str, place: Place) -> Result<Found, CliError> {
    if reference == "-" {
        return parse(read(io::stdin().lock(), "standard input")?, "standard input", None);
    }
    if let Some(stock) = plumbline_stock::definition(reference) {
        return parse(stock_yaml(&stock, place)?.into(), reference, None);
    }
    let path = Path::new(reference);
    if path.is_dir() {
        return from_directory(path);
    }
    if path.is_file() {
        return parse(read_file(path)?, reference, None);
    }
    let (there, name) = renamed(reference);
    let found = if address::is_address(there) {
        parse(address::fetch(there)?, there, None)?
    } else if name.is_some() && Path::new(there).is_file() {
        parse(read_file(Path::new(there))?, there, None)?
    } else {
        return Err(CliError::usage(format!("plugin `{reference}` is neither a stock plugin nor a file or directory"))
            .hint(format!(
                "stock plugins: {}; a path may be a definition or a directory with `plugin.yaml`",
                stock_names(place)
            )));
    };
    Ok(match name {
        Some(name) => found.called(name),
        None => found,
    })
}

/// What is meant, and the name that it is to have: `smoke.yaml@nightly`. In an address, an `@` before the host is something else.
fn renamed(reference: &str) -> (&str, Option<PluginName>) {
    let parts = reference.rsplit_once('@').filter(|(there, _)| !there.is_empty());
    let Some((there, name)) = parts else { return (reference, None) };
    match name.parse() {
        Ok(name) if !there.ends_with("//") => (there, Some(name)),
        _ => (reference, None),
    }
}

impl Found {
    /// The same plugin under another name.
    fn called(mut self, name: PluginName) -> Self {
        let mut definition = self.source.definition.as_ref().clone();
        definition.name = name;
        self.source.definition = Arc::new(definition);
        self
    }
}

/// The stock plugins that there are at `place`, for messages.
pub(crate) fn stock_names(place: Place) -> String {
    let there = plumbline_stock::definitions().iter().filter(|stock| stock.yaml(place).is_some());
    there.map(|stock| format!("`{}`", stock.name)).collect::<Vec<_>>().join(", ")
}

/// The definition of a stock plugin for `place`.
pub(crate) fn stock_yaml(stock: &StockDefinition, place: Place) -> Result<&'static str, CliError> {
    let name = stock.name;
    stock.yaml(place).ok_or_else(|| match place {
        Place::Local => CliError::usage(format!("stock plugin `{name}` exists for clusters only"))
            .hint(format!("run it in one: `plumbline run -p {name}`")),
        Place::Cluster => CliError::usage(format!("stock plugin `{name}` exists for one machine only"))
            .hint(format!("run it there: `plumbline run --local -p {name}`")),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_plugin_of_the_other_place_is_an_error_that_says_so() {
        let local = StockDefinition { name: "disks", local: Some("yaml"), cluster: None };
        assert_eq!(stock_yaml(&local, Place::Local).unwrap(), "yaml");
        let told = stock_yaml(&local, Place::Cluster).unwrap_err().to_string();
        assert!(told.contains("one machine only") && told.contains("plumbline run --local -p disks"), "{told}");
        let cluster = StockDefinition { local: None, cluster: Some("yaml"), ..local };
        let told = stock_yaml(&cluster, Place::Local).unwrap_err().to_string();
        assert!(told.contains("clusters only") && told.contains("plumbline run -p disks"), "{told}");
    }

    #[test]
    fn one_name_is_one_plugin_here_and_another_in_a_cluster() {
        let driver = |place| find("host-facts", place).unwrap().source.definition.driver;
        assert_eq!(driver(Place::Local), plumbline_core::Driver::Process);
        assert_eq!(driver(Place::Cluster), plumbline_core::Driver::DaemonSet);
    }
}
