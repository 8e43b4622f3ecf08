//! `cargo xtask run`: runs checks on this machine.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;

use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::program;
use crate::report::print_status;

/// The default plugins.
const PLUGINS: [&str; 4] = ["-p", "host-facts", "-p", "examples/node-check"];

/// Builds the binary, runs it and explains its exit code, which is also the result.
pub(crate) fn run(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode, Error> {
    let root = workspace.root();
    let mut command = Command::new(program::build(workspace)?);
    command.current_dir(root).args(["run", "--local"]).args(PLUGINS);
    if !names_output(args) {
        let output = root.join("target/run");
        fs::create_dir_all(&output).map_err(Error::io("create", &output))?;
        command.arg("--dir").arg(output);
    }
    command.args(args);

    // Ctrl-C also reaches the run, which then cleans up. Wait until it has finished.
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, interrupted)
        .map_err(|source| Error::Start { program: program::PROGRAM.to_owned(), source })?;
    let code = process::exit_code(process::status(&mut command)?);
    print_status(format_args!("exit code {code}: {}", meaning(code)));
    Ok(ExitCode::from(code))
}

/// Returns whether the arguments set the path of the archive.
fn names_output(args: &[OsString]) -> bool {
    args.iter().any(|arg| {
        let arg = arg.to_string_lossy();
        arg == "-d" || arg == "--dir" || arg.starts_with("--dir=")
    })
}

/// Returns the meaning of an exit code of `plumbline run`.
fn meaning(code: u8) -> &'static str {
    match code {
        0 => "the run is complete, and passed",
        1 => "the run is complete, and some check failed; this is a verdict on the machine, the set-up works",
        2 => "the command line or an input file is wrong",
        3 => "the run is incomplete: a timeout, or results are missing",
        4 => "the system failed: a permission, the disk, or the aggregator was lost",
        5 => "nothing to judge: no results, or only unknown ones",
        130 => "interrupted; what was gathered so far is kept",
        _ => "this is not a verdict: the program itself crashed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_of_ones_own_replaces_ours() {
        let names = |line: &str| names_output(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(names("--dir there") && names("-d there"));
        assert!(names("--timeout 5s --dir=there"));
        assert!(!names("-o json"));
        assert!(!names("--output json"));
    }

    #[test]
    fn every_code_has_one_meaning() {
        let codes = [0, 1, 2, 3, 4, 5, 130, 101];
        let mut meanings: Vec<&str> = codes.map(meaning).to_vec();
        meanings.sort_unstable();
        meanings.dedup();
        assert_eq!(meanings.len(), codes.len());
    }
}
