//! Prints errors and maps them to exit codes. Hints do not suggest options that the command rejects.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::Command;
use plumbline_app::{AppError, ErrorKind};
use plumbline_core::text;
use plumbline_core::verdict::Verdict;

use crate::output;

/// Exit codes other than those of verdicts (docs/exit-codes.md): the command line or an input is
/// invalid.
pub(crate) const USAGE: u8 = 2;
/// The command completed, and a check failed.
pub(crate) const FAILED: u8 = 1;
/// Something that a verdict needs is missing.
pub(crate) const INCOMPLETE: u8 = 3;
/// A system failure.
pub(crate) const SYSTEM: u8 = 4;
/// An interrupt: 128 plus the number of SIGINT, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;
/// The reader of the output closed it: 128 plus the number of SIGPIPE, as shells report it.
pub(crate) const PIPE_CLOSED: u8 = 141;

pub(crate) trait PrintError {
    fn print(&self) -> ExitCode;
}

impl PrintError for AppError {
    fn print(&self) -> ExitCode {
        if self.kind() != ErrorKind::OutputClosed {
            // If nobody reads stderr, the exit code remains.
            let _ = write!(output::stderr(), "{}", Printed(self));
        }
        ExitCode::from(match self.kind() {
            ErrorKind::Usage => USAGE,
            ErrorKind::System => SYSTEM,
            ErrorKind::Failed => FAILED,
            ErrorKind::OutputClosed => PIPE_CLOSED,
        })
    }
}

/// Formats an error for the terminal: its summary, its causes and a hint, one below the other.
struct Printed<'a>(&'a AppError);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = anstyle::Style::new().bold();
        let red = style.fg_color(Some(anstyle::AnsiColor::Red.into()));
        writeln!(f, "{red}error:{red:#} {}", indented(self.0.summary()))?;
        for cause in self.0.causes() {
            writeln!(f, "{style}cause:{style:#} {}", indented(cause))?;
        }
        if let Some(hint) = self.0.hint_text().and_then(fitting) {
            writeln!(f, "{style}hint:{style:#}  {}", indented(&hint))?;
        }
        Ok(())
    }
}

/// Makes the text safe for a terminal, and indents lines after the first.
fn indented(text: &str) -> String {
    text::indented(text, "       ")
}

pub(crate) fn verdict_code(verdict: Verdict) -> ExitCode {
    ExitCode::from(verdict.exit_code())
}

/// The options of the command that was called.
static OPTIONS: OnceLock<BTreeSet<String>> = OnceLock::new();

/// Stores the options of `command` for [`fitting`]. Users do not call hidden commands, such as the
/// aggregator of a cluster, directly. Their hints are about the command that started them.
pub(crate) fn for_command(command: &Command) {
    if command.is_hide_set() {
        return;
    }
    // This function is called once per process.
    let _ = OPTIONS.set(options(command));
}

/// Returns the long options that `command` accepts, with hidden ones and aliases.
pub(crate) fn options(command: &Command) -> BTreeSet<String> {
    let named = |arg: &clap::Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).map(str::to_owned).collect::<Vec<_>>()
    };
    command.get_arguments().flat_map(named).collect()
}

/// Returns `hint` without the parts that name an option that the command rejects, and with the URLs of
/// pages. Semicolons and line breaks separate parts. Returns `None` if no part remains.
pub(crate) fn fitting(hint: &str) -> Option<String> {
    match OPTIONS.get() {
        Some(options) => fit(hint, options).as_deref().map(with_urls),
        None => Some(with_urls(hint)),
    }
}

/// Where users of a release, who do not have this repository, can read its pages.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// Replaces pages of the documentation, such as `docs/limits.md`, by their URLs. Paths in backticks and
/// longer paths are files of the user.
pub(crate) fn with_urls(hint: &str) -> String {
    let mut shown = String::with_capacity(hint.len());
    let mut rest = hint;
    while let Some((before, page)) = rest.find("docs/").map(|at| rest.split_at(at)) {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '/');
        let (name, after) = page.split_at(page.find(|c: char| !is_name(c)).unwrap_or(page.len()));
        let is_page = after.starts_with(".md") && (before.is_empty() || before.ends_with([' ', '(']));
        shown.push_str(before);
        shown.push_str(if is_page { PAGES } else { "" });
        shown.push_str(name);
        rest = after;
    }
    shown + rest
}

fn fit(hint: &str, options: &BTreeSet<String>) -> Option<String> {
    let fits = |part: &&str| named_options(part).all(|option| options.contains(option));
    let lines = hint.lines().filter_map(|line| {
        let parts: Vec<&str> = line.split("; ").filter(fits).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the options that `text` suggests: long options at the start of a code span.
pub(crate) fn named_options(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2);
    let end = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-';
    code.filter_map(move |code| code.strip_prefix("--")?.split(end).next()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn built() -> Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    fn each(command: &Command, path: &str, visit: &mut dyn FnMut(&str, &Command)) {
        visit(path, command);
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            each(sub, &format!("{path} {}", sub.get_name()), visit);
        }
    }

    #[test]
    fn parts_that_name_a_refused_option_are_left_out() {
        let options: BTreeSet<String> = ["kubeconfig", "wait"].map(str::to_owned).into();
        let hint = "name a kubeconfig with `--kubeconfig FILE`; to run on this machine, add `--local`";
        assert_eq!(fit(hint, &options).as_deref(), Some("name a kubeconfig with `--kubeconfig FILE`"));
        assert_eq!(
            fit("add `--local`\nsee `plumbline run --local`", &options).as_deref(),
            Some("see `plumbline run --local`")
        );
        assert_eq!(fit("add `--local`", &options), None);
        assert_eq!(fit("wait longer: `--wait=9`", &options).as_deref(), Some("wait longer: `--wait=9`"));
    }

    #[test]
    fn pages_are_shown_as_urls() {
        let base = "https://github.com/plumbline-dev/plumbline/blob/main/docs";
        assert_eq!(
            with_urls("correct this key (docs/configuration.md); docs/limits.md#modules has the limits"),
            format!("correct this key ({base}/configuration.md); {base}/limits.md#modules has the limits")
        );
        for own in ["move `docs/a.md`", "/home/me/docs/a.md: not found", "write docs/ first", "see docs/a.txt", "docs/"]
        {
            assert_eq!(with_urls(own), own);
        }
    }

    #[test]
    fn help_names_no_option_that_the_command_refuses() {
        let mut wrong = Vec::new();
        each(&built(), "plumbline", &mut |path, command| {
            let known = options(command);
            let help = command.clone().render_long_help().to_string();
            wrong.extend(
                named_options(&help).filter(|name| !known.contains(*name)).map(|name| format!("{path}: --{name}")),
            );
        });
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn commands_in_messages_and_documents_exist_and_take_their_options() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (mut files, mut seen) = (Vec::new(), 0);
        for dir in ["host", "docs", "README.md", "CONTRIBUTING.md", "deploy", "examples", "plugins", "plugin-sdk"] {
            collect(&root.join(dir), &mut files);
        }
        let command = built();
        let mut wrong = Vec::new();
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            for line in text.lines() {
                // A call in backticks. The values of `{}` are not known here.
                let code = line.split('`').map(|code| code.strip_prefix("kubectl ").unwrap_or(code));
                for call in code.filter_map(|code| code.strip_prefix("plumbline ")) {
                    seen += 1;
                    if let Err(why) = check(&command, call) {
                        wrong.push(format!("{}: plumbline {call}: {why}", file.strip_prefix(&root).unwrap().display()));
                    }
                }
            }
        }
        assert!(seen > 100, "only {seen} calls found");
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    fn collect(path: &Path, files: &mut Vec<std::path::PathBuf>) {
        let skipped = ["target", "node_modules", "tests", "snapshots", "testdata", "guests"];
        if path.file_name().is_some_and(|name| skipped.iter().any(|skipped| name == *skipped)) {
            return;
        }
        if path.is_dir() {
            fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), files));
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            files.push(path.to_owned());
        }
    }

    fn check(root: &Command, call: &str) -> Result<(), String> {
        let mut command = root;
        let mut words = call.split_whitespace().peekable();
        while let Some(word) = words.peek() {
            let Some(sub) = command.find_subcommand(word) else { break };
            command = sub;
            words.next();
        }
        if command.has_subcommands() && !command.is_args_conflicts_with_subcommands_set() {
            let plain =
                |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
            if let Some(word) = words.peek().filter(|word| plain(word)) {
                return Err(format!("there is no command `{word}`"));
            }
        }
        let known = options(command);
        for word in words.take_while(|word| *word != "--" && *word != "|") {
            let Some(option) = word.trim_start_matches(['[', '(', '{']).strip_prefix("--") else { continue };
            let name =
                option.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-').next().unwrap();
            if !name.is_empty() && !known.contains(name) {
                return Err(format!("it does not take `--{name}`"));
            }
        }
        Ok(())
    }
}
