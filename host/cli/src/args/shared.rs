//! Options that several commands share: registries, durations, formats.

use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_app::report::{print_json, print_yaml};
use plumbline_app::{AppError, Context, Reporter};
use plumbline_core::duration::parse_duration;
use plumbline_registry::Settings;
use serde::Serialize;

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
        settings.authorities.extend(self.registry_ca.iter().cloned());
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

/// Seconds as a number, or a duration such as `90m`. Zero stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(Duration);

impl Time {
    /// The duration; zero means no limit.
    pub(crate) fn span(self) -> Duration {
        self.0
    }

    /// The span; `None` for no limit.
    pub(crate) fn limit(self) -> Option<Duration> {
        (!self.0.is_zero()).then_some(self.0)
    }
}

/// What each plugin has if nothing else is said: six hours.
impl Default for Time {
    fn default() -> Self {
        Self(Duration::from_secs(6 * 3600))
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse::<u32>() {
            return Ok(Self(Duration::from_secs(seconds.into())));
        }
        parse_duration(text).map(Self).map_err(|error| error.to_string())
    }
}

/// Minutes as a number, or a duration such as `90s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Minutes(Duration);

impl Minutes {
    /// The span.
    pub(crate) fn span(self) -> Duration {
        self.0
    }
}

impl FromStr for Minutes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(minutes) = text.parse::<u32>() {
            return Ok(Self(Duration::from_secs(60 * u64::from(minutes))));
        }
        parse_duration(text).map(Self).map_err(|error| error.to_string())
    }
}

/// Output formats with a text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Text for people
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
