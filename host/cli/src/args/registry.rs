//! How registries are reached: options of all commands that take `oci://…`.

use std::path::PathBuf;

use plumbline_registry::Settings;

/// Heading of these options in `--help`.
const HEADING: &str = "Registry options";

/// How to reach registries, in addition to the environment (docs/registries.md).
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RegistryArgs {
    /// Trust the CA certificates in this PEM file in addition to the system's; repeatable; also
    /// `PLUMBLINE_REGISTRY_CA`
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) registry_ca: Vec<PathBuf>,
    /// Use plain HTTP for this registry; repeatable; also `PLUMBLINE_INSECURE_REGISTRIES`
    #[arg(long, value_name = "HOST[:PORT]", help_heading = HEADING)]
    pub(crate) insecure_registry: Vec<String>,
    /// Send the credentials of this registry to this token server if the registry refers to it;
    /// repeatable; also `PLUMBLINE_REGISTRY_TOKEN_SERVERS`
    #[arg(long, value_name = "REGISTRY=HOST[:PORT]", help_heading = HEADING)]
    pub(crate) registry_token_server: Vec<String>,
    /// Pull from a mirror of this registry, or of a path in it; repeatable; also
    /// `PLUMBLINE_REGISTRY_MIRRORS`
    #[arg(long = "mirror", value_name = "HOST[/PATH]=HOST[:PORT][/PATH]", help_heading = HEADING)]
    pub(crate) mirrors: Vec<String>,
}

impl RegistryArgs {
    /// These options together with the environment.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::from_environment(|name| std::env::var_os(name));
        settings.authorities.extend(self.registry_ca.iter().cloned());
        settings.insecure.extend(self.insecure_registry.iter().cloned());
        settings.token_servers.extend(self.registry_token_server.iter().cloned());
        // Of two for the same names the last counts: what the command line says.
        settings.mirrors.extend(self.mirrors.iter().cloned());
        settings
    }
}
