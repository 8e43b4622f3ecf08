//! The plugin `e2e`: its modes, and the conversion of user settings to its definition.
//!
//! ```text
//! Mode, options ──▶ Settings::apply(definition) ──▶ definition ──▶ chosen(definition): what its image will select
//! ```

mod environment;
mod extra_args;
mod mode;
mod rerun;
mod retry;
mod settings;
mod version;

pub(crate) use environment::PARALLEL_SKIP;
pub use environment::{Chosen, DEFAULT_FOCUS, chosen};
pub use extra_args::{EXTRA_ARGS, EXTRA_ARGS_SEPARATOR, PROGRESS_FLAG, appended, with_progress};
pub use mode::{Mode, UnknownMode};
pub use rerun::{MAX_FOCUS_BYTES, RerunError, any_test_ran, failed_tests, rerun_focus};
pub use retry::{MAX_RETRIES, RetryError, add_retries};
pub use settings::{CONFIG_DIR, CREDENTIALS_DIR, ConfigFile, Settings, SettingsError, Ssh};
pub use version::{
    BUILT_IN_IMAGE, LATEST_IMAGE, LATEST_URL, MAX_LATEST_BYTES, NoVersion, image_of_latest, latest_version,
    takes_credentials,
};

/// Name of the plugin that the settings are for.
pub const PLUGIN: &str = "e2e";
