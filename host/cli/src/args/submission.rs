//! `plumbline submission`

use std::path::PathBuf;
use std::str::FromStr;

use clap::Subcommand;

use super::{DataFormat, RegistryArgs};

/// Put together and check what is submitted of a conformance run.
#[derive(Debug, clap::Args)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) command: SubmissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Write the folder of a submission, `vX.Y/PRODUCT` with four files, from the archive of a run
    Assemble(SubmissionAssembleArgs),
    /// Hold the folder of a submission against the rules of its verifier
    Check(SubmissionCheckArgs),
}

/// Write the folder of a submission from the archive of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionAssembleArgs {
    /// The archive of the run (`.tar.gz`), or a directory with the content of one
    #[arg(short, long, value_name = "ARCHIVE|DIR")]
    pub(crate) archive: PathBuf,
    /// The `PRODUCT.yaml` of the product that was tested
    #[arg(long, value_name = "FILE")]
    pub(crate) product: PathBuf,
    /// Where the folder of the version goes
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// The plugin that ran the suite
    #[arg(short, long, default_value = "e2e")]
    pub(crate) plugin: String,
    /// The folder of the product; without it, its name in `PRODUCT.yaml` in lower case, with `-` between words
    #[arg(long, value_name = "NAME")]
    pub(crate) folder: Option<String>,
    /// The version of Kubernetes, in place of the one that the archive names
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes_version: Option<String>,
    /// A `README.md` of your own; without it, one is written that says how to have the results again
    #[arg(long, value_name = "FILE")]
    pub(crate) readme: Option<PathBuf>,
    /// Write it although tests failed or are missing, fields are empty, or the mode is one that is not submitted
    #[arg(long)]
    pub(crate) anyway: bool,
    #[command(flatten)]
    pub(crate) required: RequiredArgs,
}

/// Hold the folder of a submission against the rules.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SubmissionCheckArgs {
    /// The folder `vX.Y/PRODUCT`, or one that it is in
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// How the findings are printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) required: RequiredArgs,
}

/// Which tests are required.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RequiredArgs {
    /// Which tests are required: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image; without it, the list that comes
    /// with this program for some versions
    #[arg(long, value_name = "FILE|image[:REF]")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// Where the list of required tests is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequiredFrom {
    /// A file.
    File(PathBuf),
    /// The image of the suite, or this one.
    Image(Option<String>),
}

impl FromStr for RequiredFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("image") {
            Some("") => Ok(Self::Image(None)),
            Some(rest) if rest.starts_with(':') => match rest.trim_start_matches(':') {
                "" => Err("there is no reference behind `image:`".to_owned()),
                reference => Ok(Self::Image(Some(reference.to_owned()))),
            },
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }
}
