//! `plumbline version`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_kubernetes::{Cluster, ConnectOptions};
use serde_json::json;

use crate::args::shared::RunFormat;
use crate::output::print_raw;

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Print only the version number
    #[arg(long)]
    pub(crate) short: bool,
    /// Also print the version of the API server of this kubeconfig file
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    pub(crate) kubeconfig: Option<std::path::PathBuf>,
    /// Print the version in this format
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with = "short")]
    pub(crate) format: Option<RunFormat>,
}

pub(crate) fn version(args: &VersionArgs) -> Result<ExitCode, AppError> {
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let generation = plumbline_sandbox::HOST_GENERATION.to_string();
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let server = args.kubeconfig.as_ref().map(|file| api_server(file)).transpose()?;
    // Keys are never removed or renamed.
    let document = || {
        let mut document = json!({"version": version, "module-generation": generation, "platform": platform});
        if let (Some(server), Some(keys)) = (&server, document.as_object_mut()) {
            keys.insert("api-server".to_owned(), json!(server));
        }
        document
    };
    let api_server = server.as_ref().map(|server| format!("\nAPI Version: {server}")).unwrap_or_default();
    print_raw("failed to print the version", |out| match args.format {
        Some(format) => format.write(&document(), out),
        None if args.short => writeln!(out, "{version}"),
        None => writeln!(
            out,
            "Plumbline Version: {version}\nModule Generation: {generation}\nPlatform: {platform}{api_server}"
        ),
    })
}

/// Returns the version of the API server of `kubeconfig`.
fn api_server(kubeconfig: &Path) -> Result<String, AppError> {
    let options = ConnectOptions { kubeconfig: Some(kubeconfig.to_owned()), context: None };
    let version = runtime()?.block_on(async { Cluster::connect(&options).await?.version().await });
    Ok(version?.git_version)
}
