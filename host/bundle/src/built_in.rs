//! Built-in modules, compiled ahead of time, built-in plugin definitions, and built-in profiles.

use std::io::Read as _;
use std::sync::{LazyLock, OnceLock};

use flate2::read::DeflateDecoder;
use plumbline_sandbox::{Accepted, LoadError, Module, Sandbox};

pub use crate::profile::Place as Environment;
use crate::profile::VERSION_PLACEHOLDER;

/// A module that is embedded in this program.
#[derive(Debug)]
pub struct Embedded {
    /// Name of the module.
    pub name: &'static str,
    /// The WebAssembly component as raw DEFLATE data.
    compressed: &'static [u8],
    /// The component, once it was needed.
    component: OnceLock<Vec<u8>>,
    /// The component, compiled for the sandbox of this version. A machine that it does not fit
    /// compiles the component again.
    pub compiled: &'static [u8],
}

impl Embedded {
    /// Returns the WebAssembly component. If the program is damaged, the result is not a component,
    /// and the sandbox rejects it.
    pub fn wasm(&'static self) -> &'static [u8] {
        self.component.get_or_init(|| {
            let mut component = Vec::new();
            match DeflateDecoder::new(self.compressed).read_to_end(&mut component) {
                Ok(_) => component,
                Err(_) => Vec::new(),
            }
        })
    }
}

/// Error while loading a built-in module. It means that the program is damaged.
#[derive(Debug, thiserror::Error)]
#[error("failed to load built-in module `{name}`: {source}")]
pub struct BuiltInError {
    /// Name of the module.
    pub name: &'static str,
    /// The underlying error.
    pub source: LoadError,
}

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// Returns the built-in modules as bytes.
pub fn embedded() -> &'static [Embedded] {
    &MODULES
}

/// Loads the built-in modules into `sandbox`. Fails only when the program is damaged.
pub fn load(sandbox: &Sandbox) -> Result<Vec<Module>, BuiltInError> {
    let load = |module: &'static Embedded| sandbox.load_precompiled(module.name, module.wasm(), module.compiled);
    MODULES.iter().map(|module| load(module).map_err(|source| BuiltInError { name: module.name, source })).collect()
}

/// Inspects the built-in modules without loading them. Each module is loaded when it is first
/// needed. Most modules are never needed in a run. Fails only when the program is damaged.
pub fn accept(sandbox: &Sandbox) -> Result<Vec<Accepted>, BuiltInError> {
    let accept = |module: &'static Embedded| sandbox.accept_precompiled(module.name, module.wasm(), module.compiled);
    MODULES.iter().map(|module| accept(module).map_err(|source| BuiltInError { name: module.name, source })).collect()
}

/// A plugin that is part of this program. It has the same name on one machine and in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInDefinition {
    /// Name of the plugin.
    pub name: &'static str,
    /// Definition for one machine, in YAML. `None` if the plugin does not run there.
    pub local: Option<&'static str>,
    /// Definition for a cluster, in YAML. `None` if the plugin does not run there.
    pub cluster: Option<&'static str>,
}

impl BuiltInDefinition {
    /// Returns the definition for `place`, in YAML, or `None` if the plugin does not run there.
    pub fn yaml(&self, place: Environment) -> Option<&'static str> {
        match place {
            Environment::Local => self.local,
            Environment::Cluster => self.cluster,
        }
    }

    /// Returns the places where the plugin can run.
    pub fn places(self) -> impl Iterator<Item = Environment> {
        [Environment::Local, Environment::Cluster].into_iter().filter(move |&place| self.yaml(place).is_some())
    }
}

/// A profile that is part of this program. Its suite runs as a plugin in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInProfile {
    /// The plugin that runs the suite.
    pub plugin: BuiltInDefinition,
    /// The bytes of `profile.yaml`.
    pub profile: &'static [u8],
    /// The other files of its bundle: their names, and their bytes.
    pub files: &'static [(&'static str, &'static [u8])],
}

impl BuiltInProfile {
    /// Returns the versions in the names of the files that match `pattern`, and the bytes of these
    /// files. In the pattern, [`VERSION_PLACEHOLDER`] stands for the version.
    pub fn by_version(&self, pattern: &str) -> Vec<(&'static str, &'static [u8])> {
        let Some((before, after)) = pattern.split_once(VERSION_PLACEHOLDER) else { return Vec::new() };
        let version = |name: &'static str| name.strip_prefix(before)?.strip_suffix(after);
        self.files.iter().filter_map(|&(name, bytes)| Some((version(name)?, bytes))).collect()
    }
}

include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// The plugins without a profile.
const PLAIN: [BuiltInDefinition; 2] = [
    BuiltInDefinition {
        name: "host-facts",
        local: Some(include_str!("../../../plugins/definitions/host-facts.yaml")),
        cluster: Some(include_str!("../../../plugins/definitions/host-facts-daemonset.yaml")),
    },
    BuiltInDefinition {
        name: "systemd-logs",
        local: Some(include_str!("../../../plugins/definitions/systemd-logs.yaml")),
        cluster: Some(include_str!("../../../plugins/definitions/systemd-logs-daemonset.yaml")),
    },
];

static DEFINITIONS: LazyLock<Vec<BuiltInDefinition>> = LazyLock::new(|| definitions_with(PROFILES));

fn definitions_with(profiles: &[BuiltInProfile]) -> Vec<BuiltInDefinition> {
    profiles.iter().map(|profile| profile.plugin).chain(PLAIN).collect()
}

/// Returns the built-in profiles: those that the build found in `plugins/profiles`, or in the
/// directory `PLUMBLINE_PROFILES`.
pub fn profiles() -> &'static [BuiltInProfile] {
    PROFILES
}

/// Returns all built-in definitions: those of profiles, then the others.
pub fn definitions() -> &'static [BuiltInDefinition] {
    &DEFINITIONS
}

/// Returns the built-in definition named `name`.
pub fn definition(name: &str) -> Option<BuiltInDefinition> {
    DEFINITIONS.iter().find(|definition| definition.name == name).copied()
}

#[cfg(test)]
mod tests {
    use plumbline_core::Driver;
    use plumbline_core::definition::Definition;
    use plumbline_sandbox::SandboxConfig;

    use super::*;
    use crate::profile::{Profile, Settings};

    #[test]
    fn every_built_in_module_loads_without_being_compiled_and_says_what_it_is() {
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let modules = load(&sandbox).unwrap();
        let accepted = accept(&sandbox).unwrap();
        let later: Vec<Module> = accepted.into_iter().map(|module| module.load().unwrap()).collect();
        assert_eq!(sandbox.stats().compiled, 0, "embedded machine code fits the sandbox of the same build");
        assert!(later.iter().map(Module::info).eq(modules.iter().map(Module::info)));
        let roles: Vec<_> = modules
            .iter()
            .map(|module| {
                let info = module.info();
                (info.name.clone().unwrap(), info.roles)
            })
            .collect();
        let names: Vec<_> = roles
            .iter()
            .map(|(name, roles)| {
                (name.as_str(), roles.post_processor, roles.expectations, roles.summarizer, roles.judge)
            })
            .collect();
        assert_eq!(
            names,
            [
                ("junit", true, false, false, false),
                ("gojson", true, false, false, false),
                ("tap", true, false, false, false),
                ("sarif", true, false, false, false),
                ("ctrf", true, false, false, false),
                ("items", true, false, false, false),
                ("raw", true, false, false, false),
                ("manual", true, false, false, false),
                ("host-facts", true, false, true, false),
                ("systemd-logs", true, false, false, false),
                ("job", false, true, false, false),
                ("daemonset", false, true, false, false),
                ("causes", false, false, true, false),
                ("known-failures", false, false, false, true),
                ("checks", false, false, false, true)
            ]
        );
        for module in &modules {
            assert!(
                module.info().imports.iter().all(|import| !import.starts_with("wasi:")),
                "{:?}",
                module.info().imports
            );
        }
        assert!(modules[0].info().formats.contains(&"e2e".to_owned()));
    }

    #[test]
    fn every_definition_parses_without_a_warning_under_its_name_and_fits_its_place() {
        for built_in in definitions() {
            assert!(built_in.places().next().is_some(), "{}", built_in.name);
            for place in built_in.places() {
                let parsed = Definition::parse(built_in.yaml(place).unwrap()).unwrap();
                assert_eq!(parsed.definition.name.as_str(), built_in.name);
                assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
                let process = parsed.definition.driver == Driver::Process;
                assert_eq!(process, place == Environment::Local, "{} {place:?}", built_in.name);
                // The run chooses the version of this program. A suite has an image of its own.
                let has_image = parsed.definition.spec.image().is_some();
                let runs_suite = profiles().iter().any(|profile| profile.plugin == *built_in);
                assert_eq!(has_image, runs_suite, "{}", built_in.name);
            }
        }
        assert!(definition("nobody").is_none());
    }

    #[test]
    fn every_built_in_profile_fits_its_definition() {
        for built_in in profiles() {
            let profile = Profile::parse(built_in.profile).unwrap();
            let definition = Definition::parse(built_in.plugin.cluster.unwrap()).unwrap().definition;
            let settings = Settings::choose(&profile, None, &[]).unwrap();
            settings.apply(&definition, Environment::Cluster, &[]).unwrap();
            for (key, pattern) in profile.files() {
                let (before, after) = pattern.split_once('*').unwrap_or((pattern.as_str(), ""));
                let fits = |(name, _): &(&str, &[u8])| name.starts_with(before) && name.ends_with(after);
                assert!(built_in.files.iter().any(fits), "{key}: {pattern}");
            }
        }
    }

    #[test]
    fn the_files_of_built_in_profiles_add_less_than_one_mebibyte_to_the_program() {
        let files = profiles().iter().flat_map(|profile| profile.files);
        let size: usize = files.map(|(_, bytes)| bytes.len()).sum();
        assert!(size < 1 << 20, "{size} bytes");
    }

    #[test]
    fn files_are_found_by_the_versions_in_their_names() {
        const FILES: &[(&str, &[u8])] = &[("lists/a-v1.gz", b"1"), ("lists/a-v2.gz", b"2"), ("lists/b-v1.gz", b"3")];
        let plugin = BuiltInDefinition { name: "toy", local: None, cluster: None };
        let toy = BuiltInProfile { plugin, profile: b"", files: FILES };
        assert_eq!(toy.by_version("lists/a-{version}.gz"), [("v1", &b"1"[..]), ("v2", &b"2"[..])]);
        assert!(toy.by_version("lists/a-v1.gz").is_empty() && toy.by_version("{version}.txt").is_empty());
    }

    /// The definition for a cluster, which exists in addition to the one for a machine.
    #[test]
    fn the_facts_of_nodes_are_gathered_without_privileges() {
        let yaml = include_str!("../../../plugins/definitions/host-facts-daemonset.yaml");
        let parsed = Definition::parse(yaml).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        assert_eq!(parsed.definition.name.as_str(), "host-facts");
        assert!(!yaml.contains("privileged:") && !yaml.contains("hostPID"));
    }
}

/// What the build writes if it finds no bundle. The type of the list is the same, so the program
/// compiles.
#[cfg(test)]
mod without_profiles_tests {
    use super::BuiltInProfile;

    include!(concat!(env!("OUT_DIR"), "/no_profiles.rs"));

    #[test]
    fn a_program_without_profiles_has_the_other_plugins() {
        assert!(PROFILES.is_empty());
        let names: Vec<_> = super::definitions_with(PROFILES).iter().map(|definition| definition.name).collect();
        assert_eq!(names, ["host-facts", "systemd-logs"]);
    }
}
