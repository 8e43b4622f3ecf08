//! `plumbline worker in-root`

use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::InRootArgs;
use crate::error::PrintError as _;

/// How this program is started to become another one in another root: the root and the program follow. `None` if it cannot be told where this
/// program is.
pub(crate) fn helper() -> Option<(PathBuf, Vec<String>)> {
    let program = std::env::current_exe().ok()?;
    Some((program, ["worker", "in-root", "--"].map(str::to_owned).to_vec()))
}

/// Becomes a program in another root. Whoever called this reads the exit code, which is that of the program or, as by `chroot`, says why
/// there is none.
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
