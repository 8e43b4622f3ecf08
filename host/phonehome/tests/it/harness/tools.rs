//! Programs of this machine. A test that needs a missing one says so and passes.

use std::ffi::OsStr;
use std::process::Stdio;

use tokio::process::Command;

/// Returns whether `program` can be started.
pub(crate) fn has(program: &str) -> bool {
    std::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Reports that a test was skipped because `program` is missing.
pub(crate) fn skipped(program: &str) {
    println!("skipped: no {program} installed");
}

/// Returns a command that ends with the test.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs `command` to completion. Returns whether it succeeded, and its output, standard output
/// first.
pub(crate) async fn output(command: &mut Command) -> (bool, String) {
    let output = command.output().await.unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}
