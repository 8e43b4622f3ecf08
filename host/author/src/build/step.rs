//! One command of a build.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use crate::project::AuthorError;

/// Receives progress, one line at a time.
pub(crate) type Say<'a> = &'a mut dyn FnMut(&str);

/// Runs a command to its end, with its output on standard error. It gets no standard input, so that
/// a build cannot wait for an answer.
pub(crate) fn run(command: &mut Command, say: Say<'_>, hint: &str) -> Result<(), AuthorError> {
    say(&format!("$ {}", describe(command)));
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(io::stderr()))
        .status()
        .map_err(|error| AuthorError::system(format!("failed to start `{program}`")).because(error).hint(hint))?;
    if status.success() { Ok(()) } else { Err(failed(command, &status.to_string(), hint)) }
}

/// Returns the error for a command that failed.
pub(crate) fn failed(command: &Command, status: &str, hint: &str) -> AuthorError {
    AuthorError::input(format!("`{}` failed: {status}", short(command))).because("what it said stands above").hint(hint)
}

/// Returns the command as you would type it in a shell, with the variables that are set for it.
pub(crate) fn describe(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let set = set.map(|(name, value)| format!("{}={}", name.to_string_lossy(), quoted(value)));
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted);
    set.chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the program's name and its first argument, which is usually a subcommand.
fn short(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    match command.get_args().next() {
        Some(first) => format!("{name} {}", first.to_string_lossy()),
        None => name.into_owned(),
    }
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        let mut command = Command::new("go");
        command.env("GOOS", "wasip1").args(["build", "-ldflags=-s -w", "it's"]);
        assert_eq!(describe(&command), r"GOOS=wasip1 go build '-ldflags=-s -w' 'it'\''s'");
    }

    #[test]
    fn a_failure_names_tool_code_and_hint() {
        let mut told = Vec::new();
        let mut say = |line: &str| told.push(line.to_owned());
        let error = run(Command::new("sh").args(["-c", "exit 3"]), &mut say, "do this").unwrap_err();
        assert_eq!(error.what, "`sh -c` failed: exit status: 3");
        assert_eq!(error.hint.as_deref(), Some("do this"));
        let error = run(&mut Command::new("/nowhere/tool"), &mut say, "install it").unwrap_err();
        assert!(error.to_string().starts_with("failed to start `/nowhere/tool`"), "{error}");
        assert_eq!(told, ["$ sh -c 'exit 3'", "$ /nowhere/tool"]);
    }
}
