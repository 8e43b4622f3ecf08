//! `plumbline-bindings write|check [ROOT]`: writes the generated files into the workspace, or
//! compares them.
//!
//! `check` lists the files that differ, and exits with 1 if there are any. The exit code is 2 for
//! invalid arguments, and 4 for files that cannot be read or written.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_bindings::{BindingsError, check, generate, write};

const HELP: &str = "\
plumbline-bindings write [ROOT]   writes the generated files of the workspace at ROOT (default: this one)
plumbline-bindings check [ROOT]   names those that are not as they are generated";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["write"] => written(&workspace()),
        ["write", root] => written(Path::new(root)),
        ["check"] => checked(&workspace()),
        ["check", root] => checked(Path::new(root)),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: failed to {error}");
        ExitCode::from(4)
    })
}

/// Returns the workspace that this program was built from.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn written(root: &Path) -> Result<ExitCode, BindingsError> {
    let files = generate(root)?;
    for path in write(root, &files)? {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn checked(root: &Path) -> Result<ExitCode, BindingsError> {
    let different = check(root, &generate(root)?)?;
    for path in &different {
        println!("{}", path.display());
    }
    if different.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("error: these files are not as they are generated\nhint:  run `cargo xtask bindings`");
    Ok(ExitCode::FAILURE)
}
