//! Compatibility with Sonobuoy: its name, its exit codes for errors, and the flags of its logging
//! library, which existing manifests and scripts use.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use plumbline_app::AppError;

use crate::args::global::Level;
use crate::args::name::Name;
use crate::args::tree::{HELP_ALL, as_plumbline, as_sonobuoy};
use crate::args::{Cli, Command, WorkerCli, WorkerRole};
use crate::error::{self, PrintError as _};

const WORKER: &str = "worker";

impl Name {
    /// Parses the command line, which includes the program's name. Under Sonobuoy's name, verdicts
    /// do not change exit codes without `--exit-code strict`.
    pub(crate) fn parse(self, args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let args: Vec<OsString> = args.into_iter().collect();
        let mut cli = match self.worker(&args) {
            Some(cli) => cli,
            None => self.read(self.commands(&args), &args)?,
        };
        if cli.global.ignored.debug() && cli.global.level != Level::Trace {
            cli.global.level = Level::Debug;
        }
        Ok(cli)
    }

    /// Parses the command line of a worker without the other commands. Building those takes more
    /// code and memory than the rest of a worker, which waits for hours next to each pod. Returns
    /// `None` for another command or an invalid line. The full parser then decides and reports
    /// errors.
    fn worker(self, args: &[OsString]) -> Option<Cli> {
        if !args.iter().any(|arg| arg == WORKER) {
            return None;
        }
        let command = match self {
            Self::Plumbline => WorkerCli::command(),
            Self::Sonobuoy => as_sonobuoy(WorkerCli::command()),
        };
        let WorkerCli { global, command: WorkerRole::Worker(args) } = self.read(command, args).ok()?;
        Some(Cli { global, command: Command::Worker(args) })
    }

    /// Returns all commands. Examples and short help are written for Plumbline's name only. Errors
    /// show the usage of all options.
    fn commands(self, args: &[OsString]) -> clap::Command {
        let has = |names: &[&str]| {
            let mut options = args.iter().take_while(|arg| *arg != "--");
            options.any(|arg| names.iter().any(|name| arg == name))
        };
        match self {
            Self::Plumbline => as_plumbline(Cli::command(), has(&[HELP_ALL]) || !has(&["-h", "--help", "help"])),
            Self::Sonobuoy => as_sonobuoy(Cli::command()),
        }
    }

    /// Parses `args` as `command`. For a suggestion, options count as hidden if [`Cli`] hides them.
    fn read<T: FromArgMatches>(self, mut command: clap::Command, args: &[OsString]) -> Result<T, clap::Error> {
        let matches = command
            .try_get_matches_from_mut(args)
            .map_err(|error| without_hidden(with_path_hint(error), &Cli::command()))?;
        error::for_command(called(&command, &matches));
        T::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// Prints requested help, or an error of the command line, and returns the exit code.
    pub(crate) fn refuse(self, error: clap::Error) -> ExitCode {
        // For a command without its subcommand, Sonobuoy prints help as if it had been requested.
        if self == Self::Sonobuoy && error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let _ = write!(anstream::stdout(), "{}", error.render().ansi());
            return ExitCode::SUCCESS;
        }
        // Help goes to stdout with code 0, errors to stderr. If nobody reads them, the code still
        // tells.
        let is_error = error.use_stderr();
        if !is_error || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let _ = error.print();
        } else {
            explained(error).print();
        }
        match self {
            _ if !is_error => ExitCode::SUCCESS,
            Self::Plumbline => ExitCode::from(error::USAGE),
            Self::Sonobuoy => ExitCode::FAILURE,
        }
    }

    /// Maps an exit code to the caller's convention. Sonobuoy uses 1 for both usage and system
    /// errors.
    pub(crate) fn error(self, code: ExitCode) -> ExitCode {
        let failed = [error::USAGE, error::SYSTEM].map(ExitCode::from).contains(&code);
        if self == Self::Sonobuoy && failed { ExitCode::FAILURE } else { code }
    }
}

fn called<'a>(command: &'a clap::Command, matches: &ArgMatches) -> &'a clap::Command {
    match matches.subcommand() {
        Some((name, below)) => command.find_subcommand(name).map_or(command, |sub| called(sub, below)),
        None => command,
    }
}

/// The option `-o` as errors show it.
const OUTPUT: &str = "--output <FORMAT>";

/// Adds a hint if `-o` names a file, as it did in earlier versions.
fn with_path_hint(mut error: clap::Error) -> clap::Error {
    let is_output = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(arg)) if arg == OUTPUT);
    if is_output && error.kind() == ErrorKind::InvalidValue && error.get(ContextKind::SuggestedValue).is_none() {
        let hint = "this option names a format; for a file or a directory, use `--file` or `--dir`";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Returns an error of the command line with its hints, in the format of all other errors.
fn explained(mut error: clap::Error) -> AppError {
    let hints = hints(&mut error);
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The parser adds usage and a reference to the help, each after a blank line.
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.rfind(mark)).min();
    let message = text.get(..end.unwrap_or(text.len())).unwrap_or(text);
    // Lines after the first are a list, such as that of missing arguments.
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let list: Vec<&str> = lines.collect();
    AppError::usage(format!("{first} {}", list.join(", ")).trim_end()).hint(hints.join("\n"))
}

/// Takes what helps out of the error: the possible values, similar names, and the usage.
fn hints(error: &mut clap::Error) -> Vec<String> {
    let quoted = |names: Vec<String>, between: &str| {
        names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(between)
    };
    let mut hints = Vec::new();
    for (kind, what) in [(ContextKind::ValidValue, "possible values"), (ContextKind::ValidSubcommand, "commands")] {
        if let Some(ContextValue::Strings(values)) = error.remove(kind).filter(|values| !is_empty(values)) {
            hints.push(format!("{what}: {}", quoted(values, ", ")));
        }
    }
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue] {
        match error.remove(kind) {
            Some(ContextValue::String(name)) => hints.push(format!("did you mean `{name}`?")),
            Some(ContextValue::Strings(names)) if !names.is_empty() => {
                hints.push(format!("did you mean {}?", quoted(names, " or ")));
            }
            _ => {}
        }
    }
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        hints.extend(tips.iter().map(ToString::to_string));
    }
    let usage = error.remove(ContextKind::Usage).map(|usage| usage.to_string());
    let is_twice = error.get(ContextKind::InvalidArg) == error.get(ContextKind::PriorArg);
    match (error.kind(), usage) {
        (ErrorKind::ArgumentConflict, _) if is_twice => hints.push("pass it once".to_owned()),
        (ErrorKind::ArgumentConflict, _) => hints.push("leave out one of them".to_owned()),
        (
            ErrorKind::MissingRequiredArgument | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues,
            Some(usage),
        ) => {
            hints.push(usage.trim().replacen("Usage:", "usage:", 1));
        }
        _ => {}
    }
    if hints.is_empty() {
        hints.push("`--help` lists the options and their values".to_owned());
    }
    hints
}

fn is_empty(value: &ContextValue) -> bool {
    matches!(value, ContextValue::Strings(values) if values.is_empty())
}

/// Removes suggestions of hidden options from the error.
fn without_hidden(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    let mut visible = BTreeSet::new();
    let mut levels = vec![command];
    while let Some(level) = levels.pop() {
        for arg in level.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let names = arg.get_long_and_visible_aliases().unwrap_or_default();
            visible.extend(names.into_iter().map(|name| format!("--{name}")));
        }
        for sub in level.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            visible.extend(sub.get_name_and_visible_aliases().into_iter().map(str::to_owned));
            levels.push(sub);
        }
    }
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
        let names = match error.remove(kind) {
            Some(ContextValue::Strings(names)) => names,
            Some(ContextValue::String(name)) => vec![name],
            _ => continue,
        };
        let names: Vec<String> = names.into_iter().filter(|name| visible.contains(name)).collect();
        match (kind, names.as_slice()) {
            (_, []) => {}
            (ContextKind::SuggestedArg, [name, ..]) => {
                error.insert(kind, ContextValue::String(name.clone()));
            }
            _ => {
                error.insert(kind, ContextValue::Strings(names));
            }
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::time::Duration;

    use super::*;
    use crate::args::global::ExitCodes;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Name::of(words.first().map(OsString::as_os_str)).parse(words)
    }

    #[test]
    fn command_lines_of_manifests_in_use_are_taken() {
        // Calls of Sonobuoy's aggregator and workers, from its old and new manifests.
        for line in [
            "/sonobuoy worker global --level=trace -v=6 --logtostderr",
            "/sonobuoy worker single-node --level=trace -v=6 --logtostderr --sleep=-1",
            "/sonobuoy worker single-node -v 5 --logtostderr=true --sleep 3600",
            "/sonobuoy worker --level info global --v=4 --alsologtostderr=false",
            "/sonobuoy --logtostderr worker global -v=1 -v=2",
            "/sonobuoy aggregator --no-exit --level=info -v=4 --alsologtostderr",
            "/sonobuoy aggregator --no-exit --level=trace -v=6 --alsologtostderr",
            "/sonobuoy aggregator -v 3 --logtostderr",
            "/sonobuoy splat /tmp/sonobuoy",
            "/sonobuoy splat /tmp/sonobuoy --level=debug -v=5",
            "sonobuoy version --short -d",
            "sonobuoy version -v",
            "sonobuoy run -v --wait=0 --timeout 3600 --wait-output Silent",
            "sonobuoy wait --wait=90",
            "sonobuoy retrieve -f x.tar.gz out",
            "sonobuoy query -o out",
            "sonobuoy query --output out",
            "sonobuoy gen plugin -n a -i b -f junit -d",
            "sonobuoy --debug version",
            "sonobuoy version --level=WARNING --stderrthreshold=2 --log_dir /tmp --vmodule a=1",
            "sonobuoy results x.tar.gz --mode=detailed -p e2e --log-file=/dev/null --skip_headers",
        ] {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn suggestions_name_nothing_that_help_hides() {
        for (typed, meant, hidden) in [
            ("plumbline aggregate", "", "aggregator"),
            ("plumbline archive-peice", "", "archive-piece"),
            ("plumbline worer", "", "worker"),
            ("plumbline version --logtostder", "", "logtostderr"),
            ("plumbline run --kube-conformance-image-versio", "", "kube-conformance-image-version"),
            ("plumbline reslts", "results", "splat"),
            ("plumbline results --reproces x", "--reprocess", "logtostderr"),
        ] {
            let error = parse(typed).unwrap_err().to_string();
            assert!(
                !error.contains(&format!("'{hidden}'")) && !error.contains(&format!("'--{hidden}'")),
                "{typed}: {error}"
            );
            assert!(error.contains(meant), "{typed}: {error}");
        }
    }

    #[test]
    fn a_value_that_looks_like_such_a_flag_stays_a_value() {
        let error = parse("plumbline version --no-such-flag -v").unwrap_err().to_string();
        assert!(error.contains("--no-such-flag"), "{error}");
        assert!(parse("plumbline worker global -v").is_err(), "a level must follow");
    }

    #[test]
    fn the_debug_flag_still_works() {
        let level = |line: &str| parse(line).unwrap().global.level;
        assert_eq!(level("plumbline version"), Level::Warn);
        assert_eq!(level("sonobuoy version -d"), Level::Debug);
        assert_eq!(level("plumbline version --debug"), Level::Debug);
        assert_eq!(level("plumbline --debug=false version"), Level::Warn);
        assert_eq!(level("plumbline version --debug --level trace"), Level::Trace);
    }

    #[test]
    fn the_name_decides_about_exit_codes() {
        assert_eq!(Name::of(Some(OsStr::new("/usr/local/bin/sonobuoy"))), Name::Sonobuoy);
        for other in ["/plumbline", "sonobuoy-plugin", "sonobuoy/plumbline", ""] {
            assert_eq!(Name::of(Some(OsStr::new(other))), Name::Plumbline, "{other}");
        }
        assert_eq!(parse("sonobuoy version").unwrap().global.exit_code, ExitCodes::Compat);
        assert_eq!(parse("sonobuoy version --exit-code strict").unwrap().global.exit_code, ExitCodes::Strict);
        assert_eq!(parse("plumbline version").unwrap().global.exit_code, ExitCodes::Strict);
        assert_eq!(Name::Sonobuoy.error(ExitCode::from(error::SYSTEM)), ExitCode::from(1));
        assert_eq!(Name::Sonobuoy.error(ExitCode::from(error::PIPE_CLOSED)), ExitCode::from(error::PIPE_CLOSED));
        assert_eq!(Name::Plumbline.error(ExitCode::from(error::SYSTEM)), ExitCode::from(error::SYSTEM));
    }

    #[test]
    fn the_name_decides_about_plain_numbers() {
        let wait = |line: &str| match parse(line).map(|cli| cli.command) {
            Ok(Command::Run(args)) => Ok((args.options.wait, args.options.timeout)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        };
        let (minutes, seconds) = (|n: u64| Some(Duration::from_secs(60 * n)), |n: u64| Some(Duration::from_secs(n)));
        assert_eq!(wait("sonobuoy run --wait=0 --timeout 30"), Ok((minutes(0), seconds(30))));
        assert_eq!(wait("sonobuoy run --wait"), Ok((minutes(1440), None)));
        assert_eq!(wait("plumbline run --wait --timeout 90m"), Ok((minutes(1440), minutes(90))));
        assert_eq!(wait("plumbline run --wait=10m --timeout 0"), Ok((minutes(10), seconds(0))));
        let error = wait("plumbline run --wait=90").unwrap_err();
        assert!(error.contains("invalid duration `90`: the unit is missing: write `90s`, `90m` or `90h`"), "{error}");
    }

    #[test]
    fn a_file_for_the_format_of_the_output_is_explained() {
        for line in ["plumbline images save -o images.tar", "plumbline run --local --output runs/ -p x"] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains("use `--file` or `--dir`"), "{error}");
        }
    }

    #[test]
    fn errors_of_the_command_line_have_the_format_of_all_errors() {
        let of = |line: &str| {
            let error = explained(parse(line).unwrap_err());
            assert!(!error.summary().contains("Usage") && !error.summary().contains("--help"), "{}", error.summary());
            (error.summary().to_owned(), error.hint_text().unwrap_or_default().to_owned())
        };
        let (summary, hint) = of("plumbline results x -m bogus");
        assert_eq!(summary, "invalid value 'bogus' for '--mode <MODE>'");
        assert!(hint.starts_with("possible values: `report`, `detailed`"), "{hint}");
        assert_eq!(of("plumbline rum").1, "did you mean `run`?");
        assert_eq!(of("plumbline results x -m dump -o json").1, "leave out one of them");
        assert_eq!(of("plumbline run --timeout soon").1, "`--help` lists the options and their values");
        let (summary, hint) = of("plumbline results x --definition y");
        assert_eq!(summary, "the following required arguments were not provided: --reprocess, --plugin <PLUGIN>");
        assert!(hint.starts_with("usage: plumbline results --reprocess"), "{hint}");
        assert_eq!(of("plumbline results x --reproces").1, "did you mean `--reprocess`?");
    }

    #[test]
    fn all_options_are_shown_on_request_only() {
        let help = |line: &str| parse(line).unwrap_err().to_string();
        let (short, all) = (help("plumbline run --help"), help("plumbline run --help-all"));
        assert!(short.contains("--help-all") && !short.contains("--native-sidecar"), "{short}");
        assert!(all.contains("--native-sidecar") && all.contains("--wait"), "{all}");
        assert!(parse("plumbline run --native-sidecar never").is_ok(), "hidden options work");
    }

    #[test]
    fn a_worker_is_read_alone_as_it_would_be_among_all_commands() {
        for (line, alone) in [
            ("/sonobuoy worker global --level=trace -v=6 --logtostderr", true),
            ("/sonobuoy worker single-node --level=trace -v=6 --logtostderr --sleep=-1", true),
            ("/sonobuoy worker --level info global --v=4 --alsologtostderr=false --exit-code strict", true),
            ("plumbline --color never worker single-node --sleep 3 --config c.json --progress-bind 0.0.0.0", true),
            ("plumbline worker facts --root /host --done --stay", true),
            ("plumbline worker node-logs --minutes 5 --max-bytes 1MiB", true),
            ("plumbline worker in-root /host journalctl -o json", true),
            ("plumbline worker global --sleep x", false),
            ("plumbline worker --help", false),
            ("plumbline worker", false),
            ("plumbline run -p worker", false),
            ("plumbline status --namespace worker", false),
            ("plumbline version", false),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let name = Name::of(words.first().map(OsString::as_os_str));
            let read = name.worker(&words);
            assert_eq!(read.is_some(), alone, "{line}");
            if let Some(cli) = read {
                assert_eq!(
                    format!("{cli:?}"),
                    format!("{:?}", name.read::<Cli>(name.commands(&words), &words).unwrap()),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn errors_of_a_worker_command_line_take_all_commands_into_account() {
        let error = parse("plumbline wroker global").unwrap_err().to_string();
        assert!(!error.contains("'worker'"), "a hidden command is not suggested: {error}");
        let error = parse("plumbline worker global -v").unwrap_err().to_string();
        assert!(error.contains("-v <V>"), "{error}");
        let help = parse("plumbline --help").unwrap_err().to_string();
        assert_eq!(parse("plumbline worker --help").unwrap_err().kind(), ErrorKind::DisplayHelp);
        assert!(help.contains("retrieve"), "{help}");
    }
}
