//! `plumbline version`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_kubernetes::{Cluster, ConnectOptions};
use serde_json::{Value, json};

use crate::args::shared::{RunFormat, insert};
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
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT", conflicts_with = "short")]
    pub(crate) format: Option<RunFormat>,
}

pub(crate) fn version(args: &VersionArgs) -> Result<ExitCode, AppError> {
    let server = args.kubeconfig.as_ref().map(|file| api_server(file)).transpose()?;
    let mut document = version_document();
    if let Some(server) = &server {
        insert(&mut document, "api-server", json!(server));
    }
    print_raw("failed to print the version", |out| match args.format {
        Some(format) => format.write(&document, out),
        None if args.short => writeln!(out, "{VERSION}"),
        None => {
            let (generation, platform) = (plumbline_sandbox::HOST_GENERATION, platform());
            let api_server = server.map(|server| format!("\nAPI Version: {server}")).unwrap_or_default();
            writeln!(
                out,
                "Plumbline Version: {VERSION}\nModule Generation: {generation}\nPlatform: {platform}{api_server}"
            )
        }
    })
}

const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Returns the version of this program as data. Keys are never removed or renamed (docs/output.md).
pub(crate) fn version_document() -> Value {
    let generation = plumbline_sandbox::HOST_GENERATION.to_string();
    json!({"version": VERSION, "module-generation": generation, "platform": platform()})
}

fn api_server(kubeconfig: &Path) -> Result<String, AppError> {
    let options = ConnectOptions { kubeconfig: Some(kubeconfig.to_owned()), context: None };
    let version = runtime()?.block_on(async { Cluster::connect(&options).await?.version().await });
    Ok(version?.git_version)
}
