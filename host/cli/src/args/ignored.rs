//! Options of Sonobuoy that have no meaning here.

use clap::ArgAction;

/// Flags of Sonobuoy's logging libraries (klog, glog), which every command accepts and ignores.
/// `--level` alone controls the log. Flags may repeat.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Ignored {
    /// Same as `--level debug`
    #[arg(short = 'd', long, global = true, hide = true, action = ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
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
