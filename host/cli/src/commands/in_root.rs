//! `plumbline worker in-root`

use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::InRootArgs;
use crate::error::PrintError as _;

/// Returns the command that starts this program as another one in another root. The caller appends
/// the root and the program. Returns `None` if the path of this program is unknown.
pub(crate) fn helper() -> Option<(PathBuf, Vec<String>)> {
    let program = std::env::current_exe().ok()?;
    Some((program, ["worker", "in-root", "--"].map(str::to_owned).to_vec()))
}

/// Replaces this process by a program in another root. Callers get the exit code of that program.
/// As with `chroot`, special codes mean that it could not be started.
pub(crate) fn in_root(args: &InRootArgs) -> ExitCode {
    let (code, error) = plumbline_facts::node_logs::enter(&args.root, &args.program, &args.args);
    let (program, root) = (&args.program, args.root.display());
    let what = match code {
        plumbline_facts::node_logs::CANNOT_ENTER => format!("failed to enter `{root}`"),
        _ => format!("failed to run `{program}` in `{root}`"),
    };
    AppError::system(what).because(&error).print();
    ExitCode::from(code)
}
