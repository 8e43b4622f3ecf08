//! `plumbline-dev`: the benchmarks, and plugins with a chosen outcome for tests. It is not part of a
//! release.
#![forbid(unsafe_code)]

mod bench;
mod plugin;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// The entry point of the conformance suite's image. An image in which this name links to this
/// program can replace the suite's image.
const SUITE: &str = "run_e2e.sh";
/// The exit code of every error. Code 1 means that simulated tests failed.
const ERROR: u8 = 2;

/// Run benchmarks, and plugins with a chosen outcome.
#[derive(Debug, Parser)]
#[command(name = "plumbline-dev", version, max_term_width = 120)]
enum Command {
    /// Measure Plumbline, and print the results as tables
    Bench(Box<bench::BenchOptions>),
    /// Run as a plugin that ends in a chosen way
    Plugin(plugin::PluginOptions),
    /// Simulate the image of the conformance suite
    Suite(Box<plugin::SuiteOptions>),
    /// Run as a plugin that attacks the run and the cluster
    Attack(plugin::AttackOptions),
}

fn main() -> ExitCode {
    let done = match Command::parse_from(arguments(env::args_os())) {
        Command::Bench(options) => bench::run(&options).map(|()| 0),
        Command::Plugin(options) => plugin::run(&options),
        Command::Suite(options) => plugin::simulate_suite(&options, &mut io::stdout()),
        Command::Attack(options) => plugin::attack(&options),
    };
    let code = done.unwrap_or_else(|error| {
        plugin::say(format_args!("error: {error}"));
        ERROR
    });
    ExitCode::from(code)
}

/// Returns the arguments. Under the name of the suite's entry point, the program acts as `suite`.
fn arguments(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let program = args.first().and_then(|path| Path::new(path).file_name());
    if program == Some(OsStr::new(SUITE)) {
        args.insert(1, "suite".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_name_of_the_suites_entry_point_simulates_the_suite() {
        let meant = |args: &[&str]| arguments(args.iter().map(OsString::from)).join(OsStr::new(" "));
        assert_eq!(meant(&["/run_e2e.sh"]), "/run_e2e.sh suite");
        assert_eq!(meant(&["run_e2e.sh", "--dry-run", "y"]), "run_e2e.sh suite --dry-run y");
        assert_eq!(meant(&["/plumbline-dev", "plugin"]), "/plumbline-dev plugin");
        assert_eq!(meant(&[]), "");
    }

    #[test]
    fn the_command_line_has_no_conflicts() {
        Command::command().debug_assert();
    }
}
