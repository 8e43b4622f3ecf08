//! Which plugins a run has, as far as the suite is concerned.

use plumbline_conformance::suite;

use crate::args::SuiteArgs;
use crate::error::CliError;

/// What a run in a cluster has where no plugin is named: what users of Sonobuoy expect.
pub(crate) const DEFAULT_PLUGINS: [&str; 2] = [suite::PLUGIN, SYSTEMD_LOGS];

/// The other plugin that has an option of its own for its image.
pub(super) const SYSTEMD_LOGS: &str = "systemd-logs";

/// Refuses options for plugins that are not in the run.
pub(super) fn for_the_suite(args: &SuiteArgs, plugins: &[&str]) -> Result<(), CliError> {
    let named = [
        (args.given(), suite::PLUGIN),
        (args.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"), SYSTEMD_LOGS),
    ];
    for (option, plugin) in named {
        let Some(option) = option else { continue };
        if !plugins.contains(&plugin) {
            let names: Vec<_> = plugins.iter().map(|name| format!("`{name}`")).collect();
            return Err(CliError::usage(format!("`{option}` is for the plugin `{plugin}`, which is not in this run"))
                .hint(format!("add `--plugin {plugin}`; plugins of this run: {}", names.join(", "))));
        }
    }
    Ok(())
}

/// Refuses options of the suite where it cannot run.
pub(crate) fn not_here(args: &SuiteArgs) -> Result<(), CliError> {
    match any(args) {
        None => Ok(()),
        Some(option) => {
            Err(CliError::usage(format!("`{option}` is for runs in a cluster, and this one is on this machine"))
                .hint("leave it out, or leave out `--local`"))
        }
    }
}

/// The first option that was given and means a plugin of the stock.
pub(crate) fn any(args: &SuiteArgs) -> Option<&'static str> {
    args.given().or(args.systemd_logs_image.as_ref().map(|_| "--systemd-logs-image"))
}
