//! `plumbline plugin push`

use std::path::PathBuf;

use crate::args::RegistryArgs;

/// `plumbline plugin push`
#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// A plugin's directory, a packed bundle, or a single WebAssembly file
    #[arg(value_name = "DIR|TAR|FILE.wasm")]
    pub(crate) what: PathBuf,
    /// Where to: `oci://HOST[:PORT]/NAME[:TAG]`; `latest` without a tag
    #[arg(value_name = "OCI")]
    pub(crate) to: String,
    /// A remark that is kept with it, such as `org.opencontainers.image.version=1.2`; repeatable
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    pub(crate) annotations: Vec<(String, String)>,
    /// Print digests and size as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

fn annotation(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}
