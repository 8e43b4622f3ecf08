//! The options of every command.

use std::process::ExitCode;

use clap::{ArgAction, ValueEnum};

/// Heading of the options of every command, below those of the command itself.
pub(super) const GLOBAL: &str = "Global options";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Global {
    /// Print only results, warnings and errors
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Verbosity of the log on standard error: `error`, `warn`, `info`, `debug` or `trace`
    #[arg(long, global = true, value_enum, ignore_case = true, default_value_t = Level::Warn, value_name = "LEVEL", hide_possible_values = true, help_heading = GLOBAL)]
    pub(crate) level: Level,
    /// When to colour output: `auto` (on a terminal, unless `NO_COLOR` is set), `always` or `never`
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true, help_heading = GLOBAL)]
    pub(crate) color: Color,
    /// Exit codes of verdicts: `strict`, or `compat` (0 unless Plumbline itself failed, as with
    /// Sonobuoy)
    #[arg(long, global = true, value_enum, default_value_t = ExitCodes::Strict, value_name = "KIND", hide_possible_values = true, help_heading = GLOBAL)]
    pub(crate) exit_code: ExitCodes,
    #[command(flatten)]
    pub(crate) ignored: Ignored,
}

impl Global {
    /// Returns the exit code: `strict`, or success with Sonobuoy's convention, under which verdicts do
    /// not change exit codes.
    pub(crate) fn code(&self, strict: ExitCode) -> ExitCode {
        match self.exit_code {
            ExitCodes::Strict => strict,
            ExitCodes::Compat => ExitCode::SUCCESS,
        }
    }

    /// Returns these options with `level` as the default verbosity of the log.
    pub(crate) fn logging_at(&self, level: Level) -> Self {
        Self { level: if self.level == Level::Warn { level } else { self.level }, ..self.clone() }
    }
}

/// Verbosity of the log, with Sonobuoy's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Same as `error`
    Panic,
    /// Same as `error`
    Fatal,
    /// Failures
    Error,
    /// Also unexpected conditions
    #[value(alias = "warning")]
    Warn,
    /// Also the steps of a run
    Info,
    /// Also details for troubleshooting
    Debug,
    /// Everything
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodes {
    /// 0 passed, 1 failed, 2 usage, 3 incomplete, 4 system, 5 nothing to judge, 130 interrupted
    Strict,
    /// 0 unless Plumbline itself failed, as with Sonobuoy
    Compat,
}

/// Flags of Sonobuoy's logging libraries (klog, glog), which every command accepts and ignores.
/// `--level` alone controls the log. Flags may repeat.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Ignored {
    /// Same as `--level debug`; Sonobuoy's name has `-d` too
    #[arg(long, global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    debug: Vec<bool>,
    #[arg(short, long = "v", global = true, hide = true, action = ArgAction::Append, allow_negative_numbers = true)]
    v: Vec<String>,
    #[arg(long, global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    logtostderr: Vec<String>,
    #[arg(long, global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    alsologtostderr: Vec<String>,
    #[arg(long, alias = "add_dir_header", global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    add_dir_header: Vec<String>,
    #[arg(long, alias = "one_output", global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    one_output: Vec<String>,
    #[arg(long, alias = "skip_headers", global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    skip_headers: Vec<String>,
    #[arg(long, alias = "skip_log_headers", global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    skip_log_headers: Vec<String>,
    #[arg(long, global = true, hide = true, action = ArgAction::Append)]
    stderrthreshold: Vec<String>,
    #[arg(long, global = true, hide = true, action = ArgAction::Append)]
    vmodule: Vec<String>,
    #[arg(long, alias = "log_backtrace_at", global = true, hide = true, action = ArgAction::Append)]
    log_backtrace_at: Vec<String>,
    #[arg(long, alias = "log_dir", global = true, hide = true, action = ArgAction::Append)]
    log_dir: Vec<String>,
    #[arg(long, alias = "log_file", global = true, hide = true, action = ArgAction::Append)]
    log_file: Vec<String>,
    #[arg(long, alias = "log_file_max_size", global = true, hide = true, action = ArgAction::Append)]
    log_file_max_size: Vec<String>,
}

impl Ignored {
    /// Whether `--debug` is set; the last one counts.
    pub(crate) fn debug(&self) -> bool {
        self.debug.last().copied().unwrap_or(false)
    }
}
