//! Examples in the help of every command, and the groups that long lists of commands are shown in.

use std::fmt::Write as _;

use clap::Command;

/// Command lines for the help of the commands that they call. What follows ` > ` is for the shell.
const EXAMPLES: &[&str] = &[
    "plumbline run --local -p host-facts -p ./smoke.yaml",
    "plumbline run --local -- pytest -q tests/",
    "plumbline run -p host-facts --wait=90m --retrieve --dir archives/",
    "plumbline run --local -p host-facts -o json",
    "plumbline run --local -p ./smoke.yaml --sign team.key",
    "plumbline run -p e2e --mode quick --dry-run",
    "plumbline run --local -p host-facts --history archives/ --keep-runs 30",
    "plumbline status",
    "plumbline status --watch",
    "plumbline status --local -o json",
    "plumbline wait --timeout 90m",
    "plumbline results run.tar.gz",
    "plumbline results build/junit-api.xml build/junit-ui.xml",
    "plumbline results runs/ -p e2e -o html > results.html",
    "plumbline results tuesday.tar.gz --previous monday.tar.gz -o html > results.html",
    "plumbline results run.tar.gz -p e2e --known-failures known.yaml",
    "plumbline results run.tar.gz -o ctrf > ctrf-report.json",
    "plumbline results run.tar.gz -o allure --dir allure-results",
    "plumbline results run.tar.gz -p e2e -o openreports > reports.yaml",
    "plumbline results diff monday.tar.gz tuesday.tar.gz",
    "plumbline results diff monday.tar.gz tuesday.tar.gz -p e2e -o markdown > changes.md",
    "plumbline results attest run.tar.gz --key team.key",
    "plumbline results attest run.tar.gz --key team.key --url https://ci.example.com/runs/7",
    "plumbline results verify run.tar.gz --key team.pub",
    "plumbline results verify run.tar.gz --key team.pub -o json",
    "plumbline results push oci://r.example/team/results:prod run.tar.gz",
    "plumbline results pull oci://r.example/team/results:prod --file run.tar.gz",
    "plumbline results diff monday.tar.gz tuesday.tar.gz wednesday.tar.gz -o html > changes.html",
    "plumbline history archives/",
    "plumbline history archives/ -p e2e --last 50 -o html > history.html",
    "plumbline history archives/ --test 'session affinity'",
    "plumbline history archives/ -p e2e --propose-known-failures > known.yaml",
    "plumbline retrieve archives/ --wait=90m",
    "plumbline retrieve --partial",
    "plumbline delete --wait",
    "plumbline delete --all --dry-run",
    "plumbline get pod -p e2e",
    "plumbline gen -p host-facts > run.yaml",
    "plumbline gen -p e2e --mode quick --kubernetes-version v1.37.2 --storage pvc:5Gi > run.yaml",
    "plumbline gen -p host-facts --schedule '0 3 * * *' --storage pvc:20Gi --keep-runs 30 > schedule.yaml",
    "plumbline gen config --timeout 12h > config.json",
    "plumbline gen plugin e2e > e2e.yaml",
    "plumbline gen plugin -n smoke -i r.example/smoke:1 -t daemonset --result-format junit",
    "plumbline gen default-image-config --registry r.example/mirror > registries.yaml",
    "plumbline gen schema > definition.schema.json",
    "plumbline gen schema module",
    "plumbline gen schema profile",
    "plumbline gen schema results",
    "plumbline logs --follow",
    "plumbline logs -p e2e --tail 20",
    "plumbline logs --since 10m -o json",
    "plumbline query --dir cluster-state/",
    "plumbline conformance list",
    "plumbline conformance show csi",
    "plumbline conformance run --mode quick",
    "plumbline conformance run oci-distribution --local --set registry=localhost:5000 --set tls=disabled",
    "plumbline conformance run --retry-failed 2 --e2e-focus 'Pods should'",
    "plumbline conformance run --submission-dir submission/ --product PRODUCT.yaml",
    "plumbline conformance submission assemble --archive run.tar.gz --product PRODUCT.yaml --dir submission/",
    "plumbline conformance submission check submission/v1.37/example",
    "plumbline conformance tests --focus '\\[sig-network\\]' --mode tagCounts",
    "plumbline conformance tests --version auto --skip '\\[Serial\\]'",
    "plumbline conformance tests csi --focus Snapshot",
    "plumbline conformance modes --verbose",
    "plumbline images list -p e2e --kubernetes-version v1.37.2",
    "plumbline images copy -p e2e --kubernetes-version auto --to r.example/mirror",
    "plumbline images save -p host-facts --file images.tar",
    "plumbline images load images.tar --to r.example/mirror",
    "plumbline images pull -p e2e --kubernetes-version v1.37.2",
    "plumbline images push --to r.example/mirror",
    "plumbline images check -p e2e --registry r.example/mirror --offline",
    "plumbline plugin new tap-lite --lang python",
    "plumbline plugin new strict --lang rust --world judge-module",
    "plumbline plugin build tap-lite/",
    "plumbline plugin lint smoke.yaml",
    "plumbline plugin lint tap-lite/",
    "plumbline plugin test tap-lite/",
    "plumbline plugin test tap-lite/ empty --bless",
    "plumbline plugin dev tap-lite/",
    "plumbline plugin dev cluster-audit/ --cluster",
    "plumbline plugin run node-certificates.wasm --option days=60",
    "plumbline plugin run cluster-audit/ --cluster -o json",
    "plumbline plugin postprocess --definition smoke.yaml unpacked/plugins/smoke",
    "plumbline plugin inspect tap-lite/tap-lite.wasm",
    "plumbline plugin inspect oci://r.example/checks/tap-lite:1",
    "plumbline plugin pack tap-lite/",
    "plumbline plugin keygen --file team",
    "plumbline plugin sign --key team.key tap-lite.bundle.tar",
    "plumbline plugin verify --key team.pub tap-lite.bundle.tar",
    "plumbline plugin push tap-lite.bundle.tar oci://r.example/checks/tap-lite:1",
    "plumbline plugin pull oci://r.example/checks/tap-lite:1",
    "plumbline plugin save oci://r.example/checks/tap-lite:1 --file tap-lite.tar",
    "plumbline plugin load tap-lite.tar --install",
    "plumbline plugin bake tap-lite.bundle.tar --base r.example/plumbline:1 --push oci://r.example/plumbline-checks:1",
    "plumbline plugin install oci://r.example/checks/tap-lite:1",
    "plumbline plugin uninstall tap-lite",
    "plumbline plugin list",
    "plumbline plugin show host-facts",
    "plumbline plugin lock -p tap-lite -p e2e",
    "plumbline facts",
    "plumbline facts --run-programs --file facts.json",
    "plumbline doctor",
    "plumbline doctor -o json",
    "plumbline cache list",
    "plumbline cache clean --dry-run",
    "plumbline mcp archives/",
    "plumbline mcp monday.tar.gz tuesday.tar.gz",
    "plumbline cache clean modules",
    "plumbline version --short",
    "plumbline version -o json",
    "plumbline completion bash > ~/.local/share/bash-completion/completions/plumbline",
    "plumbline completion fish > ~/.config/fish/completions/plumbline.fish",
    "plumbline report --kubeconfig ~/.kube/config",
];

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
    let calls = |example: &&&str| {
        let rest = example.strip_prefix("plumbline ").and_then(|line| line.strip_prefix(path));
        rest.is_some_and(|rest| {
            let next = rest.split_whitespace().next().unwrap_or_default();
            (rest.is_empty() || rest.starts_with(' ')) && command.find_subcommand(next).is_none()
        })
    };
    EXAMPLES.iter().filter(calls).copied().collect()
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
        for example in EXAMPLES {
            let called = commands.iter().any(|(path, command)| examples_of(command, path).contains(example));
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
