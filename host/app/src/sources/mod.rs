//! Turns references to plugins into definitions and bundles.
//!
//! A reference names a built-in plugin, a file, a directory, a packed bundle, a URL, an artifact in
//! a registry, an installed bundle, or standard input.

pub(crate) mod named;
pub mod registry;
mod resolved;
pub mod url;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_bundle::DEFINITION_FILES;
use plumbline_bundle::built_in::Environment;
use plumbline_core::PluginName;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES};
use plumbline_registry::Reference;

use crate::context::Context;
use crate::error::{AppError, CHECK_FILE, Explain as _};
use crate::profiles;
use crate::sources::resolved::parse;

pub use named::{built_in_names, built_in_yaml, is_packed, read_signatures, sonobuoy, store};
pub use resolved::{ResolvedPlugin, SourceKind};

pub use crate::error::{bundle_error, cache_error, store_error};

/// Finds the plugin that `reference` names, in this order:
///
/// 1. `-`: a definition on standard input
/// 2. The built-in plugin of that name, in its form for `place`
/// 3. `oci://…`: a bundle in a registry
/// 4. A directory with `plugin.yaml`
/// 5. `https://…`, `http://…`: a definition or packed bundle
/// 6. A file: a definition or packed bundle
/// 7. An installed bundle
///
/// URLs, files and installed bundles may end in `@NAME`, which renames the plugin.
pub fn find(context: &Context, reference: &str, place: Environment) -> Result<ResolvedPlugin, AppError> {
    if reference == "-" {
        return parse(read(io::stdin().lock(), "standard input")?, "standard input", None);
    }
    if let Some(built_in) = plumbline_bundle::built_in::definition(reference) {
        if let Some(found) = profiles::built_in_bundle(reference)? {
            return Ok(found);
        }
        let found = parse(built_in_yaml(&built_in, place)?.into(), reference, None)?;
        return Ok(ResolvedPlugin { kind: SourceKind::BuiltIn, ..found });
    }
    if Reference::is_meant(reference) {
        return registry::found(context, reference);
    }
    let path = Path::new(reference);
    // A directory without a definition does not hide an installed bundle of the same name.
    if path.is_dir() && (has_definition(path) || !named::is_installed(reference)) {
        return from_directory(path);
    }
    let (source, name) = split_name(reference);
    let found = if url::is_url(source) {
        Some(url::found(context, source)?)
    } else if let Some(found) = by_path_or_name(reference)? {
        // The whole reference is a path or a name, even if it contains `@`.
        return Ok(found);
    } else if name.is_some() {
        by_path_or_name(source)?
    } else {
        None
    };
    match (found, name) {
        (Some(found), Some(name)) => Ok(found.with_name(name)),
        (Some(found), None) => Ok(found),
        (None, _) => Err(named::unknown(reference, place)),
    }
}

/// Finds the plugins that `references` name, or those of `defaults` if there are no references.
/// Reports the warnings about their definitions.
pub fn find_all(
    context: &Context,
    references: &[String],
    defaults: &[&str],
    place: Environment,
) -> Result<Vec<ResolvedPlugin>, AppError> {
    let mut plugins = references.iter().map(|name| find(context, name, place)).collect::<Result<Vec<_>, _>>()?;
    if plugins.is_empty() {
        plugins = defaults.iter().map(|name| find(context, name, place)).collect::<Result<_, _>>()?;
    }
    for plugin in &plugins {
        plugin.warnings.iter().for_each(|warning| context.reporter.warning(&format!("`{}`: {warning}", plugin.origin)));
    }
    Ok(plugins)
}

/// Reads and validates the definition in a file or behind a URL, and returns its text.
pub fn definition_text(context: &Context, source: &str) -> Result<Vec<u8>, AppError> {
    let reference = &*url::without_credentials(source);
    let text = if url::is_url(source) {
        url::get(context, source, MAX_YAML_BYTES)?.map_err(|cause| {
            AppError::usage(format!("failed to download definition `{reference}`: {cause}"))
                .hint("check the URL, or download the file and pass its path")
        })?
    } else {
        read_file(Path::new(source))?
    };
    parse(text.clone(), reference, None)?;
    Ok(text)
}

/// The definitions of `plugins`, to be changed by options.
pub fn definitions(plugins: &mut [ResolvedPlugin]) -> Vec<&mut Arc<Definition>> {
    plugins.iter_mut().map(|plugin| &mut plugin.source.definition).collect()
}

/// The plugin in the file of that path, or else the installed plugin of that name.
fn by_path_or_name(reference: &str) -> Result<Option<ResolvedPlugin>, AppError> {
    let path = Path::new(reference);
    if !path.is_file() {
        return named::found(reference);
    }
    match is_packed(path) {
        true => named::found_packed(path, reference).map(Some),
        // A single file is not a bundle: modules next to it do not belong to it.
        false => {
            let found = parse(read_file(path)?, reference, None)?;
            Ok(Some(ResolvedPlugin { directory: directory_of(path), ..found }))
        }
    }
}

/// Splits the new name off a reference such as `smoke.yaml@nightly`. In a URL, an `@` before the
/// host ends the user information.
fn split_name(reference: &str) -> (&str, Option<PluginName>) {
    let parts = reference.rsplit_once('@').filter(|(source, _)| !source.is_empty());
    let Some((source, name)) = parts else { return (reference, None) };
    match name.parse() {
        Ok(name) if !source.ends_with("//") => (source, Some(name)),
        _ => (reference, None),
    }
}

pub(super) fn has_definition(directory: &Path) -> bool {
    DEFINITION_FILES.iter().any(|name| directory.join(name).is_file())
}

/// Reads the bundle in `directory`: `plugin.yaml` (or `plugin.yml`), with its modules next to it.
pub fn from_directory(directory: &Path) -> Result<ResolvedPlugin, AppError> {
    let Some(path) = DEFINITION_FILES.iter().map(|name| directory.join(name)).find(|path| path.is_file()) else {
        return Err(AppError::usage(format!("directory `{}` has no `plugin.yaml`", directory.display()))
            .hint("put the definition into this file, and the modules next to it"));
    };
    // Plugins run in another directory, where a relative path has another meaning.
    let bundle =
        directory.canonicalize().system_error(format_args!("failed to resolve directory `{}`", directory.display()))?;
    parse(read_file(&path)?, &path.display().to_string(), Some(bundle))
}

/// Reads the definition in the file at `path`, and takes the modules next to it as those of its
/// bundle.
pub fn from_file(path: &Path) -> Result<ResolvedPlugin, AppError> {
    if path.is_dir() {
        return from_directory(path);
    }
    parse(read_file(path)?, &path.display().to_string(), directory_of(path))
}

pub(crate) fn directory_of(path: &Path) -> Option<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    parent.canonicalize().ok()
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, AppError> {
    let file = File::open(path)
        .usage_error(format_args!("failed to read definition `{}`", path.display()))
        .hint(CHECK_FILE)?;
    read(file, &path.display().to_string())
}

pub(super) fn read(from: impl Read, origin: &str) -> Result<Vec<u8>, AppError> {
    let mut text = Vec::new();
    // With one byte more than the limit, the parser reports that the text is too long.
    from.take(MAX_YAML_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .usage_error(format_args!("failed to read definition `{origin}`"))
        .hint(CHECK_FILE)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_one_plugin_here_and_another_in_a_cluster() {
        let context = Context::new(crate::context::Silent);
        let driver = |place| find(&context, "host-facts", place).unwrap().source.definition.driver;
        assert_eq!(driver(Environment::Local), plumbline_core::Driver::Process);
        assert_eq!(driver(Environment::Cluster), plumbline_core::Driver::DaemonSet);
    }
}
