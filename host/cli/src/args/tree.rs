//! The tree of commands, as each name of the program has it: Plumbline's with examples and short help,
//! Sonobuoy's with its meanings of options.

use std::time::Duration;

use clap::{Arg, ArgAction, Command};
use plumbline_app::profiles::suite_profile;
use plumbline_core::duration::{DurationError, parse_duration};

use crate::args::examples::with_examples;
use crate::args::global::GLOBAL;
use crate::args::name::SONOBUOY;

/// The option that shows the help with all options.
pub(crate) const HELP_ALL: &str = "--help-all";

/// Options of one heading in the short help of a command, by id.
type Section = (&'static str, &'static [&'static str]);

/// The options that most users need, of commands with many. `--help` shows these, and `--help-all`
/// shows all.
const ESSENTIAL: &[(&str, &[Section])] = &[
    (
        "run",
        &[
            ("What to run", &["plugins", "command", "mode"]),
            ("Where to run", &["local", "namespace", "kubeconfig", "context", "image"]),
            ("How to run", &["timeout", "wait", "retrieve", "dry_run"]),
            ("Results", &["dir", "format", "known_failures"]),
        ],
    ),
    (
        "conformance run",
        &[
            ("Tests", &["profile", "mode", "set", "set_file", "retry_failed"]),
            ("Where to run", &["local", "namespace", "kubeconfig", "context"]),
            ("How to run", &["timeout", "dry_run"]),
            ("Results", &["dir", "format", "submission_dir"]),
        ],
    ),
    (
        "gen",
        &[
            ("What to run", &["plugins", "mode", "e2e_focus", "plugin_env", "plugin_image"]),
            ("Cluster", &["namespace", "kubeconfig", "context", "aggregator_permissions", "registry_prefix"]),
            ("Settings", &["timeout", "config", "storage"]),
            ("Manifest", &["format"]),
        ],
    ),
    (
        "gen config",
        &[
            ("Settings", &["namespace", "timeout", "config", "storage", "aggregator_permissions", "registry_prefix"]),
            ("Format", &["format"]),
        ],
    ),
    (
        "gen plugin",
        &[
            ("Plugin", &["built_in", "name", "image", "driver", "result_format", "cmd", "arg", "env", "description"]),
            ("Format", &["output"]),
        ],
    ),
];

/// Headings of other options in the full help of a command. They have none of their own, because other
/// commands have them too.
const FURTHER: &[(&str, &[Section])] = &[
    (
        "run",
        &[
            ("What to run", &["manifest"]),
            ("How to run", &["wait_output", "limits", "skip_preflight", "dns_namespace", "dns_pod_labels"]),
            ("Results", &["sign"]),
            ("Signature options", &["require_signed", "policy", "locked"]),
        ],
    ),
    (
        "conformance run",
        &[
            ("What to run", &["plugins", "manifest"]),
            ("How to run", &["wait", "wait_output", "limits", "skip_preflight", "dns_namespace", "dns_pod_labels"]),
            ("Results", &["sign"]),
            ("Signature options", &["require_signed", "policy", "locked"]),
        ],
    ),
    (
        "gen plugin",
        &[(
            "Plugin",
            &["node_selector", "plugin_env", "kubernetes_version", "configmap", "url", "show_default_podspec"],
        )],
    ),
];

/// Options that a command shares with another one, and that have no meaning there.
const MEANINGLESS: &[(&str, &[&str])] = &[("conformance run", &["retrieve", "systemd_logs_image"])];

/// Options of `conformance run` for the built-in suite. With another one, they are errors.
const BUILT_IN_SUITE: &[&str] = &[
    "product",
    "required",
    "e2e_focus",
    "e2e_skip",
    "e2e_parallel",
    "e2e_dry_run",
    "e2e_repo",
    "e2e_repo_config",
    "e2e_docker_config_file",
    "e2e_extra_args",
    "ssh_key",
    "ssh_user",
    "e2e_lists",
    "kube_conformance_image",
];

fn built_in_suite_heading() -> String {
    match suite_profile() {
        Ok(built_in) => format!("Options only for `{}`", built_in.profile.name),
        Err(_) => "Options only for a built-in suite".to_owned(),
    }
}

/// Returns `commands` under Plumbline's name. Without `all`, the help of commands with many options
/// shows only those that most users need.
pub(crate) fn as_plumbline(commands: Command, all: bool) -> Command {
    with_examples(shortened(commands, "", all))
}

fn shortened(command: Command, path: &str, all: bool) -> Command {
    let command = command.mut_subcommands(|sub| {
        let below = format!("{path} {}", sub.get_name());
        shortened(sub, below.trim(), all)
    });
    let of = |(known, _): &&(&str, &[&str])| *known == path;
    let meaningless = MEANINGLESS.iter().find(of).map_or(&[][..], |(_, ids)| ids);
    let command = command.mut_args(|arg| {
        let arg = with_full_stop(arg);
        // Otherwise, an argument belongs to the heading of the options before it.
        let arg = if arg.is_positional() { arg.help_heading(None) } else { arg };
        let id = arg.get_id().as_str();
        let of_suite = path == "conformance run" && BUILT_IN_SUITE.contains(&id);
        match meaningless.contains(&id) {
            true => arg.hide(true),
            false if of_suite => arg.help_heading(built_in_suite_heading()),
            false => arg,
        }
    });
    let Some((_, sections)) = ESSENTIAL.iter().find(|(known, _)| *known == path) else {
        // Below a command without the parser's `--help`, no command has it.
        let parent = path.rsplit_once(' ').map(|(parent, _)| parent);
        let is_below = ESSENTIAL.iter().any(|(known, _)| parent == Some(*known));
        return if is_below { with_help(command, None) } else { command };
    };
    let further = FURTHER.iter().find(|(known, _)| *known == path).map_or(&[][..], |(_, sections)| sections);
    let command = command.mut_args(|arg| match (heading_in(sections, &arg), heading_in(further, &arg)) {
        (Some(_), _) if arg.is_positional() => arg,
        (Some(heading), _) => arg.help_heading(heading),
        (None, _) if !all => arg.hide(true),
        (None, Some(heading)) => arg.help_heading(heading),
        (None, None) => arg,
    });
    let help = "Print help with all options";
    with_help(command, Some(GLOBAL)).arg(
        Arg::new("help_all")
            .long(HELP_ALL.trim_start_matches('-'))
            .action(ArgAction::HelpLong)
            .help_heading(GLOBAL)
            .help(help),
    )
}

/// Replaces the option `--help` of the parser, which cannot have a heading.
fn with_help(command: Command, heading: Option<&'static str>) -> Command {
    command.disable_help_flag(true).arg(
        Arg::new("help")
            .short('h')
            .long("help")
            .action(ArgAction::Help)
            .help_heading(heading)
            .help("Print help (see more with '--help')")
            .long_help("Print help (see a summary with '-h')"),
    )
}

fn heading_in(sections: &[Section], arg: &Arg) -> Option<&'static str> {
    sections.iter().find(|(_, ids)| ids.contains(&arg.get_id().as_str())).map(|(heading, _)| *heading)
}

/// Adds the last full stop to a help of several sentences. The parser removes it from comments.
fn with_full_stop(arg: Arg) -> Arg {
    match arg.get_help().map(ToString::to_string) {
        Some(help) if help.contains(". ") && !help.ends_with(['.', ']']) => arg.help(format!("{help}.")),
        _ => arg,
    }
}

/// Changes the commands to those of Sonobuoy: plain numbers are seconds or minutes, verdicts do not
/// change exit codes, and the options of its logging library work as they do there.
pub(crate) fn as_sonobuoy(command: Command) -> Command {
    let command = command.name(SONOBUOY).bin_name(SONOBUOY);
    let command = command
        .mut_arg("exit_code", |arg| arg.default_value("compat"))
        .mut_arg("debug", |arg| arg.short('d'))
        .mut_arg("v", |arg| arg.num_args(0..=1).default_missing_value("0").value_parser(log_level));
    sonobuoys_options(command)
}

fn sonobuoys_options(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "wait" => arg.value_parser(minutes).value_name("MINUTES").hide(false),
        "timeout" => arg.value_parser(seconds).value_name("SECONDS"),
        // Sonobuoy's `-d` is `--debug`.
        "dir" if arg.get_short() == Some('d') => arg.short(None),
        _ => arg,
    });
    let command = match command.get_name() {
        "e2e" | "modes" => command.hide(false),
        "query" => command
            .mut_arg("format", |arg| arg.alias(None).short(None).long("format"))
            .mut_arg("dir", |arg| arg.short('o').long("output").alias("dir")),
        _ => command,
    };
    command.mut_subcommands(sonobuoys_options)
}

fn minutes(text: &str) -> Result<Duration, DurationError> {
    number(text, 60)
}

fn seconds(text: &str) -> Result<Duration, DurationError> {
    number(text, 1)
}

fn number(text: &str, unit: u64) -> Result<Duration, DurationError> {
    match text.parse::<u32>() {
        Ok(number) => Ok(Duration::from_secs(unit * u64::from(number))),
        Err(_) => parse_duration(text),
    }
}

/// Parses a verbosity of Sonobuoy's logging library, which has no effect.
fn log_level(text: &str) -> Result<String, String> {
    match text.parse::<i32>() {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("expected a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::{Cli, WorkerCli};

    fn at<'a>(command: &'a Command, path: &str) -> &'a Command {
        path.split_whitespace().fold(command, |command, name| command.find_subcommand(name).unwrap())
    }

    fn visible(command: &Command) -> Vec<&str> {
        command.get_arguments().filter(|arg| !arg.is_hide_set()).map(|arg| arg.get_id().as_str()).collect()
    }

    #[test]
    fn the_short_help_has_the_options_that_most_users_need() {
        let (short, all) = (as_plumbline(Cli::command(), false), as_plumbline(Cli::command(), true));
        for (path, sections) in ESSENTIAL {
            let mut listed: Vec<&str> = sections.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
            let mut shown = visible(at(&short, path));
            shown.retain(|id| !["help", "help_all"].contains(id));
            listed.sort_unstable();
            shown.sort_unstable();
            assert_eq!(shown, listed, "{path}: an id is wrong");
            assert!(shown.len() <= 15, "{path}: {} options", shown.len());
            assert!(visible(at(&all, path)).len() > shown.len(), "{path}: nothing is left out");
        }
    }

    #[test]
    fn every_option_of_a_command_with_topics_is_under_the_heading_of_one() {
        for all in [false, true] {
            let mut root = as_plumbline(Cli::command(), all);
            root.build();
            for (path, _) in ESSENTIAL {
                let options = at(&root, path).get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
                for option in options {
                    assert!(option.get_help_heading().is_some(), "`{path}`: `{option}` is under no heading");
                }
            }
        }
    }

    #[test]
    fn options_of_the_built_in_suite_have_a_heading_of_their_own() {
        let commands = as_plumbline(Cli::command(), true);
        let run = at(&commands, "conformance run");
        let heading = built_in_suite_heading();
        let of_suite = |arg: &&Arg| arg.get_help_heading() == Some(heading.as_str());
        let mut found: Vec<&str> = run.get_arguments().filter(of_suite).map(|arg| arg.get_id().as_str()).collect();
        found.sort_unstable();
        let mut expected = BUILT_IN_SUITE.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "an id is wrong, or the short help lists one");
        let mut rest = run.get_arguments().filter(|arg| !of_suite(arg));
        assert!(rest.all(|arg| !arg.get_id().as_str().starts_with("e2e_")));
    }

    #[test]
    fn all_trees_are_consistent() {
        as_plumbline(Cli::command(), false).debug_assert();
        as_plumbline(Cli::command(), true).debug_assert();
        as_sonobuoy(Cli::command()).debug_assert();
        WorkerCli::command().debug_assert();
    }

    #[test]
    fn plain_numbers_are_those_of_sonobuoy() {
        assert_eq!(minutes("90"), Ok(Duration::from_secs(5400)));
        assert_eq!(seconds("90"), Ok(Duration::from_secs(90)));
        assert_eq!(minutes("90s"), seconds("90"));
        assert!(seconds("soon").is_err());
    }
}
