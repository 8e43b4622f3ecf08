//! Plugins that are found by their name alone (built-in ones, installed bundles, and what Sonobuoy has
//! installed), and packed bundles: tars, which are unpacked into a directory named by their digest.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use plumbline_bundle::built_in::{BuiltInDefinition, Environment};
use plumbline_bundle::limits::MAX_SIGNATURE_BYTES;
use plumbline_bundle::signing::{ATTESTATIONS_SUFFIX, OLD_SIGNATURES_SUFFIX};
use plumbline_bundle::{Cache, SonobuoyCache, Store};
use plumbline_core::closest;

use crate::error::{AppError, CHECK_FILE, Explain as _, cache_error, quoted, store_error};
use crate::files::read_start;
use crate::sources::resolved::{ResolvedPlugin, SourceKind, parse};

/// The names of the built-in plugins for `place`, quoted and separated by commas, for messages.
pub fn built_in_names(place: Environment) -> String {
    quoted(built_in(place))
}

fn built_in(place: Environment) -> impl Iterator<Item = &'static str> {
    let there = plumbline_bundle::built_in::definitions().iter().filter(move |built_in| built_in.yaml(place).is_some());
    there.map(|built_in| built_in.name)
}

/// The definition of a built-in plugin for `place`.
pub fn built_in_yaml(built_in: &BuiltInDefinition, place: Environment) -> Result<&'static str, AppError> {
    let name = built_in.name;
    built_in.yaml(place).ok_or_else(|| match place {
        Environment::Local => AppError::usage(format!("built-in plugin `{name}` runs only in a cluster"))
            .hint(format!("run it in a cluster: `plumbline run -p {name}`")),
        Environment::Cluster => AppError::usage(format!("built-in plugin `{name}` runs only on one machine"))
            .hint(format!("run it on this machine: `plumbline run --local -p {name}`")),
    })
}

/// Opens the user's installed bundles. Names of built-in plugins are reserved, because they are
/// found first.
pub fn store() -> Result<Store, AppError> {
    let store = Store::user().map_err(|error| {
        store_error("failed to install bundles", &error).hint("set `XDG_DATA_HOME` to an absolute path")
    })?;
    Ok(store.reserving(plumbline_bundle::built_in::definitions().iter().map(|built_in| built_in.name)))
}

/// Lists the plugins that Sonobuoy has installed, with their paths. Without a home directory, there
/// are none.
pub fn sonobuoy() -> Result<Vec<(String, PathBuf)>, AppError> {
    let list = SonobuoyCache::user().map(|cache| cache.list()).transpose();
    let list = list.system_error("failed to list Sonobuoy's plugins")?;
    Ok(list.unwrap_or_default())
}

/// Whether a bundle of this name is installed, even a damaged one.
pub(super) fn is_installed(name: &str) -> bool {
    Store::user().is_ok_and(|store| store.find(name).map_or(true, |found| found.is_some()))
}

/// The installed plugin of this name, its digest verified, or else that of Sonobuoy.
pub(super) fn found(name: &str) -> Result<Option<ResolvedPlugin>, AppError> {
    if let Ok(store) = Store::user() {
        let found = store.find(name).map_err(|error| store_error(format!("failed to load plugin `{name}`"), &error))?;
        if let Some(installed) = found {
            let found = ResolvedPlugin::of_bundle(installed.bundle, name, SourceKind::Installed);
            return Ok(Some(ResolvedPlugin { signatures: installed.signatures, ..found }));
        }
    }
    let Some(cache) = SonobuoyCache::user() else { return Ok(None) };
    let found = cache.find(name).system_error(format_args!("failed to load plugin `{name}`"))?;
    let Some((path, text)) = found else { return Ok(None) };
    let found = parse(text, &path.display().to_string(), None)?;
    Ok(Some(ResolvedPlugin { kind: SourceKind::Sonobuoy, ..found }))
}

const MAX_LISTED: usize = 20;

pub(super) fn unknown(reference: &str, place: Environment) -> AppError {
    let installed =
        store().and_then(|store| store.list().map_err(|error| store_error("failed to list installed bundles", &error)));
    // An error here must not hide the error at hand.
    let installed: Vec<String> = installed.unwrap_or_default().into_iter().map(|entry| entry.name).collect();
    let from_sonobuoy: Vec<String> = sonobuoy().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    let mut all: Vec<&str> = built_in(place).collect();
    all.extend(installed.iter().chain(&from_sonobuoy).map(String::as_str));
    let mut hint = String::new();
    if let Some(closest) = closest(reference, all) {
        hint.push_str(&format!("did you mean `{closest}`?\n"));
    }
    hint.push_str(&format!("built-in plugins: {}", built_in_names(place)));
    for (kind, names) in [("installed", &installed), ("installed by Sonobuoy", &from_sonobuoy)] {
        if !names.is_empty() {
            hint.push_str(&format!("; {kind}: {}", listed(names)));
        }
    }
    hint.push_str("; a path may be a definition, a packed bundle, or a directory with `plugin.yaml`");
    AppError::usage(format!(
        "plugin `{reference}` not found: it is not built-in, not installed, and not a file or directory"
    ))
    .hint(hint)
}

fn listed(names: &[String]) -> String {
    let shown = quoted(names.iter().take(MAX_LISTED));
    match names.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more (`plumbline plugin list`)"),
    }
}

/// The offset of the magic bytes in a tar.
const MAGIC_AT: usize = 257;
/// The number of bytes that suffice to recognize a tar.
pub(super) const MAGIC_BYTES: usize = 512;
/// The first bytes of gzip and zstd files. Bundles are not compressed; unpacking reports that.
const COMPRESSED: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
/// The suffixes of the files with the signatures of a tar, after the name of the tar.
pub(super) const SIGNATURES: [&str; 2] = [ATTESTATIONS_SUFFIX, OLD_SIGNATURES_SUFFIX];

/// Whether the file at `path` is a packed bundle rather than a definition, by its name or its
/// content.
pub fn is_packed(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if [".tar", ".tgz", ".tar.gz", ".tar.zst"].iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    read_start(path, MAGIC_BYTES as u64).is_ok_and(|beginning| is_tar(&beginning))
}

/// Whether a file with these first bytes is a packed bundle.
pub(super) fn is_tar(beginning: &[u8]) -> bool {
    beginning.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar"))
        || COMPRESSED.iter().any(|magic| beginning.starts_with(magic))
}

/// The plugin in the tar at `path`. Its unpacked files stay in the cache.
pub(super) fn found_packed(path: &Path, reference: &str) -> Result<ResolvedPlugin, AppError> {
    let file =
        File::open(path).usage_error(format_args!("failed to read bundle `{}`", path.display())).hint(CHECK_FILE)?;
    unpacked(&file, reference, SourceKind::Named)
}

pub(super) fn unpacked(tar: &File, reference: &str, kind: SourceKind) -> Result<ResolvedPlugin, AppError> {
    let failed = |error| cache_error(format!("failed to load bundle `{reference}`"), &error);
    let cache = Cache::user().map_err(failed)?;
    let bundle = cache.unpacked(BufReader::new(tar)).map_err(failed)?;
    Ok(ResolvedPlugin::of_bundle(bundle, reference, kind))
}

/// Reads the signatures next to a tar: `NAME.bundle.tar.sigstore.json`, and the file of older
/// versions. `None` if there are none.
pub fn read_signatures(tar: &Path) -> Result<Option<Vec<u8>>, AppError> {
    let mut text = Vec::new();
    for suffix in SIGNATURES {
        let mut path = tar.as_os_str().to_owned();
        path.push(suffix);
        let path = PathBuf::from(path);
        if !path.is_file() {
            continue;
        }
        // With one byte more than the limit, the reader rejects the file.
        let read = read_start(&path, MAX_SIGNATURE_BYTES + 1)
            .usage_error(format_args!("failed to read signatures `{}`", path.display()))
            .hint(CHECK_FILE)?;
        text.extend(read);
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_plugin_of_the_other_environment_is_an_error() {
        let local = BuiltInDefinition { name: "disks", local: Some("yaml"), cluster: None };
        assert_eq!(built_in_yaml(&local, Environment::Local).unwrap(), "yaml");
        let message = built_in_yaml(&local, Environment::Cluster).unwrap_err().in_full();
        assert!(
            message.contains("only on one machine") && message.contains("plumbline run --local -p disks"),
            "{message}"
        );
        let cluster = BuiltInDefinition { local: None, cluster: Some("yaml"), ..local };
        let message = built_in_yaml(&cluster, Environment::Local).unwrap_err().in_full();
        assert!(message.contains("only in a cluster") && message.contains("plumbline run -p disks"), "{message}");
    }
}
