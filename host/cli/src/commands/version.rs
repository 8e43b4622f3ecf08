//! `plumbline version`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::{print_json, print_yaml};
use plumbline_app::runtime::runtime;
use plumbline_kubernetes::{Cluster, ConnectOptions};
use serde_json::json;

use crate::args::{RunFormat, VersionArgs};

/// Prints the version and its platform.
pub(crate) fn version(args: &VersionArgs) -> Result<ExitCode, AppError> {
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let generation = plumbline_sandbox::HOST_GENERATION.to_string();
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let server = args.kubeconfig.as_ref().map(|file| api_server(file)).transpose()?;
    let mut out = std::io::stdout().lock();
    // Keys are never removed or renamed.
    let document = || {
        let mut document = json!({"version": version, "module-generation": generation, "platform": platform});
        if let (Some(server), Some(keys)) = (&server, document.as_object_mut()) {
            keys.insert("api-server".to_owned(), json!(server));
        }
        document
    };
    let api_server = server.as_ref().map(|server| format!("\nAPI Version: {server}")).unwrap_or_default();
    let written = match args.format {
        Some(RunFormat::Json) => print_json(&document(), &mut out),
        Some(RunFormat::Yaml) => print_yaml(&document(), &mut out),
        None if args.short => writeln!(out, "{version}"),
        None => writeln!(
            out,
            "Plumbline Version: {version}\nModule Generation: {generation}\nPlatform: {platform}{api_server}"
        ),
    };
    written.map_err(|error| AppError::printing("failed to print the version", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the version of the API server of `kubeconfig`.
fn api_server(kubeconfig: &Path) -> Result<String, AppError> {
    let options = ConnectOptions { kubeconfig: Some(kubeconfig.to_owned()), context: None };
    let version = runtime()?.block_on(async { Cluster::connect(&options).await?.version().await });
    version.map(|version| version.git_version).map_err(|error| AppError::cluster(&error))
}
