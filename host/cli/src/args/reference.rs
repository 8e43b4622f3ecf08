//! Writes the reference of the command line in the book from the tree of commands.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::args::Cli;
use crate::args::examples::{GROUPS, examples_of};
use crate::args::global::GLOBAL;
use crate::args::tree::as_plumbline;

/// The directory of the pages.
const DIRECTORY: &str = "docs/reference";

/// The content of each page, by file name.
fn pages() -> BTreeMap<String, String> {
    let mut root = as_plumbline(Cli::command(), true);
    root.build();
    let mut pages = BTreeMap::new();
    pages.insert("README.md".to_owned(), index(&root));
    for command in commands_of(&root) {
        let mut page = generated();
        section(command, command.get_name(), 1, &mut page);
        pages.insert(format!("{}.md", command.get_name()), page);
    }
    pages
}

fn generated() -> String {
    "<!-- written by the test `reference`, with BLESS=1 -->\n\n".to_owned()
}

/// The visible subcommands.
fn commands_of(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// The first page: all commands by topic, and the options that all of them have.
fn index(root: &Command) -> String {
    let mut page = generated();
    page.push_str("# Commands\n\n");
    page.push_str("`plumbline COMMAND --help` prints the options that most users need.\n");
    page.push_str("`--help-all` prints all of them, for commands that have many.\n");
    for (heading, names) in GROUPS.iter().filter(|(path, _)| path.is_empty()).flat_map(|(_, groups)| *groups) {
        let listed = names.iter().filter_map(|name| Some((*name, root.find_subcommand(name)?)));
        let rows: String = listed
            .filter(|(name, _)| *name != "help")
            .map(|(name, command)| format!("| [`{name}`]({name}.md) | {} |\n", cell(&about(command))))
            .collect();
        let _ = write!(page, "\n## {heading}\n\n| command | |\n|---|---|\n{rows}");
    }
    let _ = write!(page, "\n## {GLOBAL}\n\nEvery command has these options.\n\n");
    let global: Vec<&Arg> = root.get_arguments().filter(|arg| is_shown(arg)).collect();
    table("option", &global, &mut page);
    page
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// Writes a command and its subcommands.
fn section(command: &Command, path: &str, level: usize, page: &mut String) {
    let _ = write!(page, "{} `plumbline {path}`\n\n{}.\n", "#".repeat(level), wrapped(&about(command)));
    let subs: Vec<&Command> = commands_of(command).collect();
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    if !aliases.is_empty() {
        let _ = write!(page, "\nAlso: `{}`.\n", aliases.join("`, `"));
    }
    if subs.is_empty() || command.is_args_conflicts_with_subcommands_set() {
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").trim();
        let _ = write!(page, "\n```text\n{usage}\n```\n");
        options(command, page);
    } else {
        page.push_str("\n| command | |\n|---|---|\n");
        for sub in &subs {
            let anchor = format!("plumbline-{path}-{}", sub.get_name()).replace(' ', "-");
            let _ = writeln!(page, "| [`{path} {}`](#{anchor}) | {} |", sub.get_name(), cell(&about(sub)));
        }
    }
    let examples = examples_of(command, path);
    if !examples.is_empty() {
        let _ = write!(page, "\n**Examples**\n\n```sh\n{}\n```\n", examples.join("\n"));
    }
    if let Some(codes) = exit_codes(command) {
        page.push_str(&codes);
    }
    for sub in subs {
        page.push('\n');
        section(sub, &format!("{path} {}", sub.get_name()), level.min(3) + 1, page);
    }
}

/// Writes the arguments, and the options by heading.
fn options(command: &Command, page: &mut String) {
    let shown: Vec<&Arg> = command.get_arguments().filter(|arg| is_shown(arg)).collect();
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) = shown.into_iter().partition(|arg| arg.is_positional());
    if !positional.is_empty() {
        page.push('\n');
        table("argument", &positional, page);
    }
    let mut headings: Vec<&str> = Vec::new();
    for arg in &options {
        let heading = arg.get_help_heading().unwrap_or("Options");
        if heading != GLOBAL && !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let of_heading: Vec<&Arg> =
            options.iter().copied().filter(|arg| arg.get_help_heading().unwrap_or("Options") == heading).collect();
        if headings_matter(&options) {
            let _ = write!(page, "\n**{heading}**\n");
        }
        page.push('\n');
        table("option", &of_heading, page);
    }
}

/// Whether the options have more than one heading.
fn headings_matter(options: &[&Arg]) -> bool {
    options.iter().any(|arg| arg.get_help_heading().is_some_and(|heading| heading != GLOBAL))
}

/// Whether an option is in the reference: all but hidden ones and those that print help.
fn is_shown(arg: &Arg) -> bool {
    let help =
        matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version);
    !arg.is_hide_set() && !help
}

fn table(title: &str, args: &[&Arg], page: &mut String) {
    let _ = write!(page, "| {title} | |\n|---|---|\n");
    for arg in args {
        let _ = writeln!(page, "| {} | {} |", cell(&format!("`{}`", spelled(arg))), cell(&meaning(arg)));
    }
}

/// The option with its value, as in `-p, --plugin <NAME>`.
fn spelled(arg: &Arg) -> String {
    if arg.is_positional() {
        return arg.to_string();
    }
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    format!("{short}{arg}")
}

/// The help of an option, with its values and its default.
fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<_> = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    let flag = matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count);
    if !values.is_empty() && !arg.is_hide_possible_values_set() && !flag {
        let described = values.iter().map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), lowered(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        });
        let _ = write!(text, "<br>Values: {}", described.collect::<Vec<_>>().join(", "));
    }
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !default.is_empty() && !arg.is_hide_default_value_set() && !flag {
        let _ = write!(text, "<br>Default: `{}`", default.join(","));
    }
    if let Some(variable) = arg.get_env().filter(|_| !arg.is_hide_env_set()) {
        let _ = write!(text, "<br>Variable: `{}`", variable.to_string_lossy());
    }
    let aliases: Vec<String> =
        arg.get_visible_aliases().unwrap_or_default().iter().map(|alias| format!("`--{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(text, "<br>Also: {}", aliases.join(", "));
    }
    text
}

/// Names at the start of descriptions, which keep their capital letter.
const NAMES: [&str; 2] = ["Common Test Report Format", "Markdown"];

fn lowered(text: &str) -> String {
    if NAMES.iter().any(|name| text.starts_with(name)) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    let second_is_lower = text.chars().nth(1).is_none_or(|c| !c.is_uppercase());
    match chars.next() {
        Some(first) if second_is_lower => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// A cell of a table: on one line, without pipes.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The table of exit codes in the text after the options.
fn exit_codes(command: &Command) -> Option<String> {
    let after = command.get_after_help()?.to_string();
    let (_, codes) = after.split_once("Exit codes:\n")?;
    let mut table = "\n| exit code | |\n|---|---|\n".to_owned();
    for line in codes.lines().take_while(|line| line.starts_with("  ")) {
        let (code, meaning) = line.trim().split_once(' ')?;
        let _ = writeln!(table, "| {code} | {} |", cell(meaning.trim()));
    }
    Some(table)
}

/// Maximum width of a line of the pages.
const WIDTH: usize = 100;

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DIRECTORY)
}

#[test]
fn the_reference_is_current() {
    let (directory, pages) = (directory(), pages());
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        for entry in std::fs::read_dir(&directory).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (name, text) in &pages {
            std::fs::write(directory.join(name), text).unwrap();
        }
    }
    for (name, text) in &pages {
        let written = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(written == *text, "{DIRECTORY}/{name} is out of date: run this test with BLESS=1");
    }
    let written: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !pages.contains_key(name))
        .collect();
    assert!(written.is_empty(), "{DIRECTORY} has pages of removed commands: {written:?}");
}

#[test]
fn every_page_is_in_the_summary_of_the_book() {
    let summary = std::fs::read_to_string(directory().join("../SUMMARY.md")).unwrap();
    for name in pages().keys() {
        assert!(summary.contains(&format!("(reference/{name})")), "docs/SUMMARY.md has no link to {name}");
    }
}

/// Commands without `-o json`, with the reason.
const WITHOUT_JSON: [(&str, &str); 5] = [
    ("completion", "prints a script for a shell"),
    ("gen schema", "prints JSON in any case"),
    ("mcp", "speaks JSON-RPC in any case"),
    ("plugin dev", "shows a display until it is interrupted"),
    ("report", "prints nothing"),
];

/// The visible commands that do something, with their paths.
fn leaves<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
    for sub in commands_of(command) {
        let path = format!("{path} {}", sub.get_name()).trim().to_owned();
        if commands_of(sub).next().is_none() || sub.is_args_conflicts_with_subcommands_set() {
            found.push((path.clone(), sub));
        }
        leaves(sub, &path, found);
    }
}

#[test]
fn every_command_prints_json_and_its_keys_are_documented() {
    let root = as_plumbline(Cli::command(), true);
    let document = std::fs::read_to_string(directory().join("../output.md")).unwrap();
    let mut all = Vec::new();
    leaves(&root, "", &mut all);
    assert!(all.len() > 45, "{}", all.len());
    for (path, command) in all {
        let output = command.get_arguments().find(|arg| arg.get_long() == Some("output"));
        let json = output.is_some_and(|arg| {
            arg.get_short() == Some('o') && arg.get_possible_values().iter().any(|value| value.matches("json", false))
        });
        let excused = WITHOUT_JSON.iter().any(|(name, _)| *name == path);
        assert_eq!(json, !excused, "`{path}`");
        assert!(excused || document.contains(&format!("`{path}`")), "docs/output.md does not describe `{path}`");
    }
}

#[test]
fn files_and_directories_have_the_same_options_everywhere() {
    let root = as_plumbline(Cli::command(), true);
    let mut all = Vec::new();
    leaves(&root, "", &mut all);
    for (path, command) in all {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let wanted = match arg.get_short() {
                Some('o') => "output",
                Some('d') => "dir",
                Some('f') if !["follow", "focus"].contains(&arg.get_long().unwrap_or_default()) => "file",
                _ => continue,
            };
            assert_eq!(arg.get_long(), Some(wanted), "`{path} {arg}`");
        }
    }
}
