//! `plumbline submission`

use std::path::PathBuf;

use clap::Subcommand;
use plumbline_app::submission::RequiredFrom;

use super::{DataFormat, RegistryArgs};

/// Assemble and check a conformance submission.
#[derive(Debug, clap::Args)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) command: SubmissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Write the folder of a submission, `vX.Y/PRODUCT` with four files, from the archive of a run
    Assemble(SubmissionAssembleArgs),
    /// Check the folder of a submission against the rules of its verifier
    Check(SubmissionCheckArgs),
}

/// Write the folder of a submission from the archive of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionAssembleArgs {
    /// Archive of the run (`.tar.gz`), or a directory with an unpacked one
    #[arg(short, long, value_name = "ARCHIVE|DIR")]
    pub(crate) archive: PathBuf,
    /// Description of the tested product: a `PRODUCT.yaml`
    #[arg(long, value_name = "FILE")]
    pub(crate) product: PathBuf,
    /// Directory for the folder of the version
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Plugin that ran the suite
    #[arg(short, long, default_value = "e2e")]
    pub(crate) plugin: String,
    /// Name of the product's folder [default: its name in `PRODUCT.yaml` in lower case, words
    /// joined by `-`]
    #[arg(long, value_name = "NAME")]
    pub(crate) folder: Option<String>,
    /// Kubernetes version, overriding that of the archive
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes_version: Option<String>,
    /// Your own `README.md` [default: a generated one with the steps to reproduce the results]
    #[arg(long, value_name = "FILE")]
    pub(crate) readme: Option<PathBuf>,
    /// Write the folder even if tests failed or are missing, fields are empty, or the mode cannot
    /// be submitted
    #[arg(long)]
    pub(crate) anyway: bool,
    #[command(flatten)]
    pub(crate) required: RequiredArgs,
}

/// Check the folder of a submission against the rules.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionCheckArgs {
    /// The folder `vX.Y/PRODUCT`, or one that contains it
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print the findings in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) required: RequiredArgs,
}

/// The required tests.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RequiredArgs {
    /// Required tests: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image
    /// [default: the built-in list of the version]
    #[arg(long, value_name = "FILE|image[:REF]", value_parser = required_from)]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Parses `FILE`, `image` or `image:REFERENCE`.
pub(crate) fn required_from(text: &str) -> Result<RequiredFrom, String> {
    match text.strip_prefix("image") {
        Some("") => Ok(RequiredFrom::Image(None)),
        Some(rest) if rest.starts_with(':') => match rest.trim_start_matches(':') {
            "" => Err("there is no reference behind `image:`".to_owned()),
            reference => Ok(RequiredFrom::Image(Some(reference.to_owned()))),
        },
        _ => Ok(RequiredFrom::File(PathBuf::from(text))),
    }
}
