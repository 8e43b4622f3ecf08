//! `plumbline completion`, and the candidates that its scripts ask for.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use plumbline_app::AppError;
use plumbline_app::cache::parts;
use plumbline_app::profiles::modes;
use plumbline_app::runtime::one_thread;
use plumbline_app::sources::sonobuoy;
use plumbline_bundle::Store;
use plumbline_bundle::profile::Profile;
use plumbline_core::Driver;
use plumbline_core::config::{NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode};
use plumbline_kubernetes::preflight::Check;
use plumbline_kubernetes::{Cluster, ConnectOptions, contexts};

use crate::error::USAGE;
use crate::output::print_raw;

/// The variable with which a completion script requests candidates. It holds the name of the shell.
const VARIABLE: &str = "PLUMBLINE_COMPLETE";
/// The program's name if the process was called without one.
const PROGRAM: &str = "plumbline";

/// Prints the completion script for `shell`, for the name by which the program was called.
pub(crate) fn completion(shell: &str) -> Result<ExitCode, AppError> {
    let program = program(std::env::args_os().next().as_deref());
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| AppError::usage(format!("unknown shell `{shell}`")))?;
    print_raw("failed to print the completion script", |out| {
        completer.write_registration(VARIABLE, &program, &program, &program, out)
    })
}

/// Prints the candidates for the word under the cursor, if a completion script asks for them.
/// `commands` returns all commands of the program.
pub(crate) fn complete(args: &[OsString], commands: impl FnOnce() -> Command) -> Option<ExitCode> {
    std::env::var_os(VARIABLE)?;
    let program = program(args.first().map(OsString::as_os_str));
    let here = std::env::current_dir().ok();
    let commands = commands();
    let command = || completed(&commands.clone().name(program.clone()), "");
    match CompleteEnv::with_factory(command).var(VARIABLE).try_complete(args, here.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(error) => {
            let _ = error.print();
            Some(ExitCode::from(USAGE))
        }
    }
}

/// Returns the file name of the program, which links may change.
fn program(path: Option<&OsStr>) -> String {
    let name = path.and_then(|path| Path::new(path).file_name()).and_then(OsStr::to_str);
    name.unwrap_or(PROGRAM).to_owned()
}

/// Returns the visible commands and options, with the values of options. `path` holds the names of
/// the parent commands.
fn completed(command: &Command, path: &str) -> Command {
    // A command with a `--help` of its own has none of the parser.
    let mut shown = Command::new(command.get_name().to_owned()).disable_help_flag(command.is_disable_help_flag_set());
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        shown = shown.arg(with_values(without_hidden_aliases(arg.clone()), path));
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        shown = shown.subcommand(completed(sub, &format!("{path} {}", sub.get_name())));
    }
    shown
}

fn without_hidden_aliases(arg: Arg) -> Arg {
    let visible = arg.get_visible_aliases().unwrap_or_default();
    let visible: Vec<String> = visible.into_iter().map(str::to_owned).collect();
    // `None` removes all of them.
    visible.into_iter().fold(arg.alias(None::<&'static str>), Arg::visible_alias)
}

/// Adds candidates for values that the option's type does not define.
fn with_values(arg: Arg, path: &str) -> Arg {
    let candidates: fn() -> Vec<CompletionCandidate> = match (arg.get_long(), path) {
        (Some("plugin"), " results" | " results diff" | " logs") | (Some("judge-plugin"), _) => plugins,
        (Some("plugin"), _) | (None, " plugin show" | " plugin inspect" | " plugin sign" | " plugin verify") => {
            return arg.add(ArgValueCompleter::new(|typed: &OsStr| with_paths(plugins(), typed)));
        }
        (Some("set" | "set-file"), " conformance run" | " conformance tests") => options_of_profiles,
        (None, " conformance run" | " conformance show" | " conformance tests") => {
            return arg.add(ArgValueCompleter::new(|typed: &OsStr| with_paths(profiles(), typed)));
        }
        (Some("mode"), " conformance run") => modes_of_profiles,
        (Some("baseline" | "rerun-failed" | "archive"), _) | (None, " results diff" | " history" | " mcp") => {
            return arg.add(ArgValueCompleter::new(archives));
        }
        // `results push` also has the place to push to.
        (None, _) if arg.get_id() == "archive" => return arg.add(ArgValueCompleter::new(archives)),
        (None, " results") => return arg.add(ArgValueCompleter::new(archives_or_files)),
        (Some("namespace"), _) => namespaces,
        (Some("context"), _) => || listed(&contexts(given("--kubeconfig").as_deref().map(Path::new))),
        (Some("continue"), _) | (None, " status") => local_runs,
        (None, " cache clean") => || listed(&parts()),
        (None, " plugin uninstall") => installed,
        (None, " gen plugin") => built_in,
        (Some("result-format"), _) => formats,
        (Some("driver"), _) => || listed(&[Driver::Job, Driver::DaemonSet, Driver::Process].map(Driver::as_str)),
        (Some("mode"), _) if arg.get_possible_values().is_empty() => {
            || modes().iter().map(|mode| CompletionCandidate::new(&mode.name)).collect()
        }
        (Some("aggregator-permissions"), _) => || all(Permissions::ALL, Permissions::as_str),
        (Some("security-context-mode"), _) => || all(SecurityContextMode::ALL, SecurityContextMode::as_str),
        (Some("namespace-psa-enforce-level"), _) => || all(PodSecurity::ALL, PodSecurity::as_str),
        (Some("image-pull-policy"), _) => || all(PullPolicy::ALL, PullPolicy::as_str),
        (Some("native-sidecar"), _) => || all(NativeSidecar::ALL, NativeSidecar::as_str),
        (Some("skip-preflight"), _) => || listed(&Check::ALL.map(|check| check.name())),
        _ => return arg,
    };
    arg.add(ArgValueCandidates::new(candidates))
}

fn listed(names: &[impl AsRef<str>]) -> Vec<CompletionCandidate> {
    names.iter().map(|name| CompletionCandidate::new(name.as_ref())).collect()
}

fn all<T: Copy>(values: &[T], name: fn(T) -> &'static str) -> Vec<CompletionCandidate> {
    values.iter().map(|value| CompletionCandidate::new(name(*value))).collect()
}

fn built_in() -> Vec<CompletionCandidate> {
    plumbline_bundle::built_in::definitions().iter().map(|built_in| CompletionCandidate::new(built_in.name)).collect()
}

fn installed() -> Vec<CompletionCandidate> {
    // Errors are ignored, because a completion must not print any.
    let ours = Store::user().and_then(|store| store.list()).unwrap_or_default().into_iter().map(|entry| entry.name);
    let theirs = sonobuoy().unwrap_or_default().into_iter().map(|(name, _)| name);
    ours.chain(theirs).map(CompletionCandidate::new).collect()
}

fn plugins() -> Vec<CompletionCandidate> {
    built_in().into_iter().chain(installed()).collect()
}

/// The profiles that can be run by name. Errors are ignored, because a completion must not print any.
fn profiles() -> Vec<CompletionCandidate> {
    let all = plumbline_app::profiles::list().unwrap_or_default();
    all.into_iter().map(|listed| CompletionCandidate::new(listed.name).help(Some(listed.title.into()))).collect()
}

/// The profiles of installed bundles, of which the command line may name one.
fn all_profiles() -> Vec<Profile> {
    let entries = Store::user().and_then(|store| store.list()).unwrap_or_default();
    let installed = entries.into_iter().filter_map(|entry| entry.state.ok()?.bundle.profile);
    let built_in =
        plumbline_app::profiles::built_in().unwrap_or_default().iter().map(|built_in| built_in.profile.clone());
    let mut all: Vec<Profile> = built_in.chain(installed).collect();
    let words = words();
    let named = |profile: &Profile| words.iter().any(|word| word == profile.name.as_str());
    if all.iter().any(named) {
        all.retain(named);
    }
    all
}

fn options_of_profiles() -> Vec<CompletionCandidate> {
    let names = all_profiles().into_iter().flat_map(|profile| profile.options);
    let mut candidates: Vec<CompletionCandidate> = Vec::new();
    for option in names {
        let name = format!("{}=", option.name);
        if !candidates.iter().any(|other| other.get_value() == OsStr::new(&name)) {
            candidates.push(CompletionCandidate::new(name).help(Some(option.help.into())));
        }
    }
    candidates
}

fn modes_of_profiles() -> Vec<CompletionCandidate> {
    let modes = all_profiles().into_iter().flat_map(|profile| profile.modes);
    let mut names: Vec<String> = modes.map(|mode| mode.name).collect();
    names.sort();
    names.dedup();
    listed(&names)
}

/// Those of `names` that start with what was typed, and paths.
fn with_paths(names: Vec<CompletionCandidate>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed_text = typed.to_string_lossy();
    let named = names.into_iter().filter(|name| name.get_value().to_string_lossy().starts_with(&*typed_text));
    named.chain(PathCompleter::any().complete(typed)).collect()
}

/// The words of the command line to complete. They need not be UTF-8.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The value of an option on the command line to complete.
fn given(option: &str) -> Option<String> {
    let words = words();
    let is_option = |word: &String| word == option || word.split_once('=').is_some_and(|(name, _)| name == option);
    let at = words.iter().rposition(is_option)?;
    let value = match words.get(at)?.split_once('=') {
        Some((_, value)) => value.to_owned(),
        // A shell may make the `=` a word of its own.
        None => words.get(at + 1..)?.iter().find(|word| *word != "=")?.clone(),
    };
    Some(value).filter(|value| !value.is_empty())
}

fn archives(typed: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().filter(is_archive).complete(typed)
}

/// Archives, or any files if no archive matches: `results` reads files of results too.
fn archives_or_files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let found = archives(typed);
    if found.is_empty() { PathCompleter::any().complete(typed) } else { found }
}

/// Whether a path may be an archive, or a directory that contains one.
fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_dir() || [".tar.gz", ".tgz", ".tar"].iter().any(|end| name.ends_with(end))
}

/// How long the cluster may take to answer before a completion has no candidates.
const TIMEOUT: Duration = Duration::from_secs(2);
const MAX_NAMESPACES: u32 = 500;

/// Asks the cluster that the command line selects. Errors are ignored, because a completion must not
/// print any.
fn namespaces() -> Vec<CompletionCandidate> {
    let Ok(runtime) = one_thread() else { return Vec::new() };
    let options = ConnectOptions { kubeconfig: given("--kubeconfig").map(PathBuf::from), context: given("--context") };
    let asked = async { Cluster::connect(&options).await.ok()?.namespaces(MAX_NAMESPACES).await.ok() };
    // A timer needs the runtime.
    let asked = runtime.block_on(async { tokio::time::timeout(TIMEOUT, asked).await.ok().flatten() });
    listed(&asked.unwrap_or_default())
}

fn local_runs() -> Vec<CompletionCandidate> {
    let runs = plumbline_app::local_runs::list().unwrap_or_default();
    runs.iter().map(|run| CompletionCandidate::new(run.run.short())).collect()
}

fn formats() -> Vec<CompletionCandidate> {
    let modules = plumbline_bundle::built_in::embedded().iter().filter_map(|module| {
        let mut info = plumbline_sandbox::inspect(module.wasm()).ok().filter(|info| info.roles.post_processor)?;
        if info.formats.is_empty() {
            info.formats.push(module.name.to_owned());
        }
        Some(info.formats)
    });
    modules.flatten().map(CompletionCandidate::new).collect()
}
