//! `plumbline images`

use clap::Subcommand;

/// List, move and check the images that a run needs.
#[derive(Debug, clap::Args)]
pub(crate) struct ImagesArgs {
    #[command(subcommand)]
    pub(crate) command: ImagesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {}
