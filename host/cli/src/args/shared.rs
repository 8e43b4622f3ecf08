//! Options that several commands share: registries, time limits, formats.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_app::report::{print_json, print_yaml};
use plumbline_app::{AppError, Context, Reporter};
use plumbline_registry::Settings;
use serde::Serialize;
use serde_json::Value;

use crate::error::PrintError as _;
use crate::ui::say;

/// Heading of the options of registries in `--help`.
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
        settings.ca_files.extend(self.registry_ca.iter().cloned());
        settings.insecure.extend(self.insecure_registry.iter().cloned());
        settings.token_servers.extend(self.registry_token_server.iter().cloned());
        // Of two for the same names the last counts: what the command line says.
        settings.mirrors.extend(self.mirrors.iter().cloned());
        settings
    }
}

/// Prints messages of use cases to stderr.
struct Stderr;

impl Reporter for Stderr {
    fn error(&self, error: &AppError) {
        error.print();
    }

    fn warning(&self, text: &str) {
        say(&format!("warning: {text}"));
    }

    fn hint(&self, text: &str) {
        say(&format!("hint:    {text}"));
    }

    fn note(&self, text: &str) {
        say(&format!("note: {text}"));
    }

    fn progress(&self, text: &str) {
        say(text);
    }
}

/// Returns the context of a command with these options.
pub(crate) fn context(registry: &RegistryArgs) -> Context {
    Context { registries: registry.settings(), reporter: Arc::new(Stderr) }
}

/// The exit codes of commands that give a verdict, for `--help`. docs/exit-codes.md explains them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    complete, and passed
  1    complete, and something failed
  2    the command line or an input file is invalid
  3    incomplete: a timeout, or results are missing or unknown
  4    the system failed: the cluster, a permission or the disk
  5    nothing to judge: no results, or only unknown or skipped ones
  130  interrupted";

/// What `--wait` without a value means.
pub(crate) const DAY: &str = "24h";

/// The time limit of plugins whose definition has none.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// The limit that an option sets: zero stands for no limit.
pub(crate) fn limit(span: Duration) -> Option<Duration> {
    (!span.is_zero()).then_some(span)
}

/// Adds a key to a document.
pub(crate) fn insert(document: &mut Value, key: &str, value: Value) {
    if let Some(fields) = document.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// The option `-o` of commands that print text or one JSON document.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print the result in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    format: DataFormat,
    /// Same as `-o json`
    #[arg(long, hide = true, conflicts_with = "format")]
    json: bool,
}

impl OutputArgs {
    /// The format.
    pub(crate) fn format(self) -> DataFormat {
        if self.json { DataFormat::Json } else { self.format }
    }

    /// Whether the command prints JSON.
    pub(crate) fn is_json(self) -> bool {
        self.format() == DataFormat::Json
    }
}

/// Output formats with a text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON document
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitOutput {
    /// Nothing
    Silent,
    /// A spinner on a terminal
    Spinner,
    /// The progress of every plugin: bars on a terminal, otherwise lines
    Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

impl RunFormat {
    /// Writes `data` in this format.
    pub(crate) fn write(self, data: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Json => print_json(data, out),
            Self::Yaml => print_yaml(data, out),
        }
    }
}
