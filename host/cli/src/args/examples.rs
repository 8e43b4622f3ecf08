//! Examples in the help of every command, and the groups that long lists of commands are shown in.

use std::fmt::Write as _;

use clap::Command;

/// Command lines, one in each line, for the help of the commands that they call. What follows ` > ` is
/// for the shell.
const EXAMPLES: &str = include_str!("examples.txt");

/// Command lines for the help of the program itself.
const ROOT_EXAMPLES: &[&str] = &[
    "plumbline run --local -p host-facts",
    "plumbline run -p host-facts -p e2e --wait --retrieve",
    "plumbline results run.tar.gz",
];

/// A topic with its subcommands.
pub(super) type Group = (&'static str, &'static [&'static str]);

/// Subcommands by topic, for commands with many of them.
pub(super) const GROUPS: &[(&str, &[Group])] = &[
    (
        "",
        &[
            ("Runs", &["run", "status", "wait", "logs", "retrieve", "delete"]),
            ("Results", &["results", "history", "mcp"]),
            ("Conformance", &["conformance"]),
            ("Preparation", &["plugin", "images", "gen"]),
            ("Cluster", &["query", "get"]),
            ("Machine", &["doctor", "facts", "cache"]),
            ("Pods", &["report"]),
            ("Other", &["completion", "version", "help"]),
        ],
    ),
    (
        "plugin",
        &[
            ("Use plugins", &["list", "show", "install", "uninstall"]),
            ("Write plugins", &["new", "build", "test", "lint", "dev", "run", "postprocess", "inspect"]),
            (
                "Distribute plugins",
                &["pack", "push", "pull", "save", "load", "sign", "verify", "keygen", "lock", "bake"],
            ),
        ],
    ),
];

/// `command` with examples and groups in its help and in that of its subcommands.
pub(crate) fn with_examples(command: Command) -> Command {
    complete(command, "")
}

fn complete(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|sub| {
        let below = format!("{path} {}", sub.get_name());
        complete(sub, below.trim())
    });
    let command = add_examples(command, path);
    match GROUPS.iter().find(|(of, _)| *of == path) {
        Some((_, groups)) => group(command, groups),
        None => command,
    }
}

/// Returns the examples of the command at `path`, without those of its subcommands.
pub(super) fn examples_of(command: &Command, path: &str) -> Vec<&'static str> {
    if path.is_empty() {
        return ROOT_EXAMPLES.to_vec();
    }
    let calls = |example: &&str| {
        let rest = example.strip_prefix("plumbline ").and_then(|line| line.strip_prefix(path));
        rest.is_some_and(|rest| {
            let next = rest.split_whitespace().next().unwrap_or_default();
            (rest.is_empty() || rest.starts_with(' ')) && command.find_subcommand(next).is_none()
        })
    };
    EXAMPLES.lines().filter(calls).collect()
}

/// Maximum examples in the help of a command that only has subcommands.
const MAX_BELOW: usize = 5;

/// Returns the first example of each of the first subcommands, for a command that only has
/// subcommands.
fn examples_below(command: &Command, path: &str) -> Vec<&'static str> {
    let first = |sub: &Command| {
        let path = format!("{path} {}", sub.get_name());
        examples_of(sub, path.trim()).first().copied()
    };
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).filter_map(first).take(MAX_BELOW).collect()
}

/// Puts the examples before what else follows the options.
fn add_examples(command: Command, path: &str) -> Command {
    let mut examples = examples_of(&command, path);
    if examples.is_empty() {
        examples = examples_below(&command, path);
    }
    if examples.is_empty() {
        return command;
    }
    let header = *command.get_styles().get_header();
    let mut text = format!("{header}Examples:{header:#}");
    for example in examples {
        let _ = write!(text, "\n  {example}");
    }
    if let Some(rest) = command.get_after_help() {
        let _ = write!(text, "\n\n{}", rest.ansi());
    }
    command.after_help(text)
}

/// Shows the subcommands under headings in place of one list.
fn group(command: Command, groups: &[Group]) -> Command {
    let (header, literal) = (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let about = |name: &str| match command.find_subcommand(name) {
        Some(sub) => sub.get_about().map(ToString::to_string).unwrap_or_default(),
        None => "Print this message or the help of the given subcommand(s)".to_owned(),
    };
    let width = groups.iter().flat_map(|(_, names)| names.iter()).map(|name| name.len()).max().unwrap_or(0);
    let mut list = String::new();
    for (heading, names) in groups {
        let _ = writeln!(list, "{header}{heading}:{header:#}");
        for name in *names {
            let _ = writeln!(list, "  {literal}{name:width$}{literal:#}  {}", about(name));
        }
        list.push('\n');
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::args::pages::calls;
    use crate::args::tree::as_plumbline;
    use clap::CommandFactory as _;

    /// Every visible command with its path, the root first.
    fn visible(command: &Command, path: &str, all: &mut Vec<(String, Command)>) {
        all.push((path.to_owned(), command.clone()));
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            visible(sub, format!("{path} {}", sub.get_name()).trim(), all);
        }
    }

    fn commands() -> Vec<(String, Command)> {
        let mut all = Vec::new();
        visible(&as_plumbline(Cli::command(), false), "", &mut all);
        all
    }

    #[test]
    fn every_command_has_examples() {
        for (path, command) in commands() {
            let leaf = command.get_subcommands().next().is_none();
            assert!(!examples_of(&command, &path).is_empty() || !leaf, "`{path}` has no example");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "`{path}` shows no example");
        }
    }

    #[test]
    fn every_example_is_a_command_line_of_its_command() {
        let mut wrong = Vec::new();
        let commands = commands();
        for example in EXAMPLES.lines() {
            let called = commands.iter().any(|(path, command)| examples_of(command, path).contains(&example));
            assert!(called, "`{example}` calls no visible command");
            let calls = calls(example);
            assert_eq!(calls.len(), 1, "{example}");
            if let Err(error) = as_plumbline(Cli::command(), false).try_get_matches_from(&calls[0]) {
                wrong.push(format!("{example}: {error}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_visible_subcommand_is_in_one_group() {
        for (path, groups) in GROUPS {
            let (_, command) = commands().into_iter().find(|(known, _)| known == path).unwrap();
            let mut visible: Vec<String> = command
                .get_subcommands()
                .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
                .map(|sub| sub.get_name().to_owned())
                .collect();
            let mut grouped: Vec<String> = groups
                .iter()
                .flat_map(|(_, names)| names.iter().map(|&name| name.to_owned()))
                .filter(|name| name != "help")
                .collect();
            visible.sort();
            grouped.sort();
            assert_eq!(visible, grouped, "{path}");
        }
    }

    #[test]
    fn the_help_of_every_command() {
        for (path, _) in commands() {
            let name = if path.is_empty() { "plumbline".to_owned() } else { path.replace(' ', "-") };
            let args = ["plumbline"].into_iter().chain(path.split_whitespace()).chain(["--help"]);
            let command = as_plumbline(Cli::command(), false).term_width(100);
            let help = command.try_get_matches_from(args).unwrap_err().render().to_string();
            insta::assert_snapshot!(name, help);
        }
    }
}
