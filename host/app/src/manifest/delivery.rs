//! How the modules of bundles get to the aggregator: in ConfigMaps, from a registry, or in its
//! image.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use plumbline_aggregator::{ModuleError, Modules};
use plumbline_core::Config;
use plumbline_core::config::{BundleSource, RegistryAccess};
use plumbline_core::definition::Definition;
use plumbline_kubernetes::chunks::{MAX_MODULE_BYTES, packed_bytes};
use plumbline_kubernetes::manifest::ManifestPlugin;
use plumbline_registry::{Reference, Settings};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::files;
use crate::modules::{self, Limits};
use crate::sources::ResolvedPlugin;

/// Compressed modules up to this size are delivered in ConfigMaps, even if they could be pulled:
/// the aggregator may not reach the registry.
const CONFIG_MAP_BYTES: usize = 4 << 20;

/// The largest file of CA certificates, in bytes. The whole configuration has 1 MiB.
const MAX_AUTHORITIES: usize = 256 << 10;

/// How the aggregator gets the modules of bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BundleDelivery {
    /// In ConfigMaps up to 4 MiB, otherwise from the registry (plugins named `oci://…`)
    #[default]
    Auto,
    /// In ConfigMaps, compressed, up to 32 MiB
    ConfigMaps,
    /// From the registry of the plugin's reference
    Registry,
    /// From the aggregator's image
    Baked,
}

/// The modules of a plugin by file name, and the reference that its bundle can be pulled from.
type PluginModules<'a> = (&'a [(String, Vec<u8>)], Option<&'a Reference>);

/// Decides how the modules of `plugins` are delivered, which were made of `found` in this order.
/// Modules that are not in ConfigMaps are removed from `plugins`, and the configuration names their
/// bundles. A plugin without modules keeps its entry in the configuration.
pub(super) fn deliver(
    context: &Context,
    choice: BundleDelivery,
    found: &[ResolvedPlugin],
    plugins: &mut [ManifestPlugin],
    config: &mut Config,
) -> Result<(), AppError> {
    let all = found.iter().zip(plugins.iter());
    let all: Vec<PluginModules<'_>> =
        all.map(|(one, plugin)| (plugin.modules.as_slice(), one.pinned.as_ref())).collect();
    let pull = choice == BundleDelivery::Auto && is_much(&all);
    let mut pulls = false;
    for (one, plugin) in found.iter().zip(plugins.iter_mut()).filter(|(_, plugin)| !plugin.modules.is_empty()) {
        let name = plugin.definition.name.to_string();
        config.plumbline.bundles.retain(|bundle| bundle.plugin != name);
        let Some(reference) = bundle_reference(choice, pull, &name, one.pinned.as_ref())? else { continue };
        pulls |= !reference.is_empty();
        let digest = digest(one, &name)?;
        config.plumbline.bundles.push(BundleSource { plugin: name, reference, digest });
        plugin.modules.clear();
    }
    if pulls {
        reach(&context.registries, &mut config.plumbline.registry)?;
    }
    Ok(())
}

/// The reference that the aggregator pulls the bundle of `plugin` from, which is empty if the bundle is
/// in its image. `None` if the modules are in ConfigMaps. `pull` says whether bundles are pulled where
/// they can be.
fn bundle_reference(
    choice: BundleDelivery,
    pull: bool,
    plugin: &str,
    pinned: Option<&Reference>,
) -> Result<Option<String>, AppError> {
    match (choice, pinned) {
        (BundleDelivery::Baked, _) => Ok(Some(String::new())),
        (BundleDelivery::Registry, Some(reference)) => Ok(Some(reference.to_string())),
        (BundleDelivery::Registry, None) => Err(AppError::usage(format!(
            "with `--bundle-delivery registry`, plugin `{plugin}` must come from a registry"
        ))
        .hint("push its bundle (`plumbline plugin push DIR oci://HOST/NAME:TAG`), and name it `oci://HOST/NAME:TAG`")),
        // A pod cannot reach a registry on this machine.
        (BundleDelivery::Auto, Some(reference)) if pull && !is_here(reference) => Ok(Some(reference.to_string())),
        (BundleDelivery::Auto | BundleDelivery::ConfigMaps, _) => Ok(None),
    }
}

/// Whether the modules are too large for ConfigMaps by default.
fn is_much(all: &[PluginModules<'_>]) -> bool {
    let modules = || all.iter().flat_map(|(modules, _)| *modules).map(|(_, bytes)| bytes);
    let can_be_pulled = all.iter().any(|(modules, pinned)| pinned.is_some() && !modules.is_empty());
    // Compressing 10 MiB takes a second, so it is only done if it matters.
    if !can_be_pulled || modules().map(Vec::len).sum::<usize>() <= CONFIG_MAP_BYTES {
        return false;
    }
    let mut packed = 0usize;
    modules().any(|bytes| {
        packed = packed.saturating_add(packed_bytes(bytes));
        packed > CONFIG_MAP_BYTES
    })
}

fn is_here(reference: &Reference) -> bool {
    let registry = reference.registry();
    let host = match registry.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => registry.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn digest(found: &ResolvedPlugin, plugin: &str) -> Result<String, AppError> {
    let bundle = found.bundle()?.ok_or_else(|| {
        AppError::usage(format!("plugin `{plugin}` is not a bundle"))
            .hint("write a bundle with `plumbline plugin pack DIR`, or use `--bundle-delivery config-maps`")
    })?;
    if bundle.name() == plugin {
        return Ok(bundle.digest().to_string());
    }
    Err(AppError::usage(format!("plugin `{plugin}` is the bundle `{}` under another name", bundle.name()))
        .hint("remove `@NAME`, because the aggregator downloads bundles under their own names, or use `--bundle-delivery config-maps`"))
}

/// Adds the registry settings of this machine to those of the aggregator.
fn reach(settings: &Settings, access: &mut RegistryAccess) -> Result<(), AppError> {
    for pair in &settings.token_servers {
        if !access.token_servers.contains(pair) {
            access.token_servers.push(pair.clone());
        }
    }
    for host in &settings.insecure {
        if !access.insecure.contains(host) {
            access.insecure.push(host.clone());
        }
    }
    for path in &settings.ca_files {
        let what = format!("failed to add the CA certificates in `{}` to the configuration", path.display());
        let pem = files::read_text(path, MAX_AUTHORITIES, &what)?;
        if !access.ca.contains(pem.trim()) {
            access.ca.push_str(pem.trim());
            access.ca.push('\n');
        }
    }
    if access.ca.len() > MAX_AUTHORITIES {
        return Err(AppError::usage("the CA certificates of registries are too large for a cluster's configuration")
            .hint("pass a file with only the registry's CA"));
    }
    Ok(())
}

/// The modules of a bundle, as the aggregator limits them.
const MAX_MODULES: usize = 64;

/// Reads the modules of the bundle in `directory`: `*.wasm`, by name.
pub(super) fn modules(directory: &Path) -> Result<Vec<(String, Vec<u8>)>, AppError> {
    let shown = directory.display();
    let mut paths = files::paths_in(directory)
        .usage_error(format_args!("failed to read the modules in `{shown}`"))
        .hint("check that the directory exists and that you can read it")?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    if paths.len() > MAX_MODULES {
        return Err(AppError::usage(format!("bundle `{shown}` has more than {MAX_MODULES} modules"))
            .hint("remove modules that the plugin does not use"));
    }
    let module = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let what = format!("failed to load module `{}`", path.display());
        Ok((name, files::read_bytes(&path, MAX_MODULE_BYTES, &what)?))
    };
    paths.into_iter().map(module).collect()
}

/// Checks that the modules that definitions name are built in or in their bundles. Plugins whose
/// bundles are in `config` are not checked, because the aggregator finds their modules.
pub fn check_modules(found: &[ResolvedPlugin], config: &Config) -> Result<(), AppError> {
    let (sandbox, built_in) = modules::sandbox(&Limits::default())?;
    // No module runs here, so none is compiled.
    let modules = Modules::compiling_with(sandbox, built_in, Arc::new(|_| {}));
    for one in found {
        let definition = &one.source.definition;
        if config.plumbline.bundles.iter().any(|bundle| bundle.plugin == definition.name.as_str()) {
            continue;
        }
        all_known(&modules, one.source.bundle.as_deref(), definition).map_err(|error| {
            AppError::usage(format!("failed to prepare plugin `{}`", definition.name))
                .because(&error)
                .hint_if(error.hint())
        })?;
    }
    Ok(())
}

fn all_known(modules: &Modules, bundle: Option<&Path>, definition: &Definition) -> Result<(), ModuleError> {
    modules.check(bundle, definition)?;
    modules.post_processor(bundle, definition.result_format.as_deref().unwrap_or_default())?;
    modules.expectations(bundle, definition.expectations_module())?;
    if let Some(name) = &definition.plumbline.summarizer {
        modules.summarizer(bundle, name)?;
    }
    for entry in &definition.plumbline.verdict {
        modules.judge(bundle, &entry.judge)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(host: &str) -> Reference {
        format!("oci://{host}/team/x:1@sha256:{}", "1".repeat(64)).parse().unwrap()
    }

    /// Bytes that do not compress.
    fn noise(count: usize) -> Vec<(String, Vec<u8>)> {
        let mut state = 7u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        vec![("m.wasm".to_owned(), std::iter::repeat_with(next).take(count).collect())]
    }

    fn decided(choice: BundleDelivery, modules: &[(String, Vec<u8>)], pinned: Option<&Reference>) -> Option<String> {
        bundle_reference(choice, is_much(&[(modules, pinned)]), "x", pinned).unwrap()
    }

    #[test]
    fn small_ones_are_carried_and_large_ones_pulled_where_they_can_be() {
        let (far, near, v6) = (reference("registry.example.com"), reference("127.0.0.1:5000"), reference("[::1]:5000"));
        let (small, large) = (noise(1000), noise(CONFIG_MAP_BYTES + 1));
        let zeros = vec![("m.wasm".to_owned(), vec![0; CONFIG_MAP_BYTES * 4])];
        let auto = |modules: &[_], pinned| decided(BundleDelivery::Auto, modules, pinned);
        assert_eq!(auto(&small, Some(&far)), None);
        assert_eq!(auto(&zeros, Some(&far)), None, "what counts is the size on the way");
        assert_eq!(auto(&large, Some(&far)), Some(far.to_string()));
        assert_eq!(auto(&large, None), None, "there is no other way, unless it is too much for any");
        for here in [&near, &v6, &reference("localhost:5000")] {
            assert_eq!(auto(&large, Some(here)), None, "{here}");
        }
        assert_eq!(decided(BundleDelivery::Registry, &small, Some(&near)), Some(near.to_string()));
        assert_eq!(decided(BundleDelivery::ConfigMaps, &large, Some(&far)), None);
        assert_eq!(decided(BundleDelivery::Baked, &small, None), Some(String::new()));
    }

    #[test]
    fn the_total_size_of_all_plugins_decides_the_delivery() {
        let (far, half) = (reference("registry.example.com"), noise(CONFIG_MAP_BYTES / 2 + 1));
        let half = half.as_slice();
        assert!(!is_much(&[(half, Some(&far))]) && is_much(&[(half, None), (half, Some(&far))]));
        let error = bundle_reference(BundleDelivery::Registry, false, "x", None).unwrap_err().in_full();
        assert!(error.contains("plugin `x`") && error.contains("plugin push"), "{error}");
    }

    #[test]
    fn the_aggregator_reaches_what_this_machine_reaches() {
        let dir = tempfile::tempdir().unwrap();
        let pem = dir.path().join("ca.pem");
        std::fs::write(&pem, "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n\n").unwrap();
        let settings = Settings {
            insecure: vec!["a:1".to_owned(), "b".to_owned()],
            token_servers: vec!["r=a".to_owned()],
            ca_files: vec![pem.clone()],
            ..Settings::default()
        };
        let mut access = RegistryAccess { insecure: vec!["b".to_owned()], ..RegistryAccess::default() };
        // Adding the settings twice has the same result as adding them once.
        reach(&settings, &mut access).unwrap();
        reach(&settings, &mut access).unwrap();
        assert_eq!(access.insecure, ["b", "a:1"]);
        assert_eq!(access.token_servers, ["r=a"]);
        assert_eq!(access.ca, "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
        std::fs::write(&pem, vec![b'x'; MAX_AUTHORITIES + 1]).unwrap();
        assert!(reach(&settings, &mut access).unwrap_err().in_full().contains("ca.pem"));
    }
}
