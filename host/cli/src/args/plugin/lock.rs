//! `plumbline plugin lock`

use std::path::PathBuf;

use crate::args::RegistryArgs;

/// `plumbline plugin lock`
#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// A plugin, as `plumbline run --plugin` takes it; repeatable
    #[arg(short, long = "plugin", required = true, value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// The lock file to write, `-` for standard output
    #[arg(short, long, default_value = plumbline_bundle::LOCK_FILE, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Take built-in plugins as `run --local` takes them, and not as a cluster does
    #[arg(long)]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
