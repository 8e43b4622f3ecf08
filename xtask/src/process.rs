//! Runs other programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::Error;

/// Returns a command for `cargo` in the directory `dir`. It is the cargo that started this program.
pub(crate) fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(dir).stdin(Stdio::null());
    // `cargo run` sets these for this program. Build scripts that depend on them would run again.
    let of_this_package = |name: &OsString| {
        name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
    };
    for (name, _) in env::vars_os().filter(|(name, _)| of_this_package(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns a command for `cargo SUBCOMMAND --locked` in the directory `dir`.
pub(crate) fn cargo_locked(dir: &Path, subcommand: &str) -> Command {
    let mut command = cargo(dir);
    command.args([subcommand, "--locked"]);
    command
}

/// Runs a command to its end, with the terminal of this program.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus, Error> {
    command.status().map_err(|source| not_started(command, source))
}

/// Runs a command with the terminal of this program. It must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    let status = status(command)?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Failed { command: describe(command), status, output: String::new() })
    }
}

/// Like [`run`], but the command's stdout goes to stderr: for programs that print progress on
/// stdout.
pub(crate) fn run_with_output(command: &mut Command) -> Result<(), Error> {
    run(command.stdout(Stdio::from(io::stderr())))
}

/// Runs a command and returns its stdout. It must succeed, and its stderr becomes part of the
/// error.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|source| not_started(command, source))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::Failed { command: describe(command), status: output.status, output: said })
    }
}

/// Returns the exit code that a shell would report: 128 plus the number of the signal, if a signal
/// ended the program.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| signal.saturating_add(128)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

pub(crate) fn not_started(command: &Command, source: io::Error) -> Error {
    Error::Start { program: file_name(command.get_program()), source }
}

/// Number of arguments that an error message shows. The prose check has hundreds of files.
const MAX_ARGS: usize = 20;

/// Returns the command for an error message: the program's name and its first arguments.
pub(crate) fn describe(command: &Command) -> String {
    let mut text = file_name(command.get_program());
    for arg in command.get_args().take(MAX_ARGS) {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    match command.get_args().len().checked_sub(MAX_ARGS) {
        None | Some(0) => text,
        Some(more) => format!("{text} … {more} more"),
    }
}

fn file_name(program: &OsStr) -> String {
    Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_what_it_said() {
        let error = output(Command::new("sh").args(["-c", "echo sorry >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.starts_with("`sh -c ") && error.contains("exit status: 3") && error.contains("sorry"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_a_hint() {
        let error = output(&mut Command::new("/nowhere/dpkg-deb")).unwrap_err();
        assert!(error.to_string().contains("`dpkg-deb`"), "{error}");
        assert!(error.hint().unwrap().contains("Debian"));
    }

    #[test]
    fn a_command_with_many_arguments_stays_short() {
        let files: Vec<String> = (0..300).map(|n| format!("{n}.md")).collect();
        let shown = describe(Command::new("/usr/bin/vale").args(&files));
        assert!(shown.starts_with("vale 0.md ") && shown.ends_with(" 19.md … 280 more"), "{shown}");
        assert_eq!(describe(Command::new("vale").args(files.iter().take(20))).matches(".md").count(), 20);
        assert!(!describe(Command::new("vale").args(files.iter().take(20))).contains("more"));
    }

    #[test]
    fn ends_by_signal_get_the_code_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(2)), 130);
        assert_eq!(exit_code(ExitStatus::from_raw(5 << 8)), 5);
    }
}
