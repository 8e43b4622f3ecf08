//! A server that speaks S3, for the tests of delivery: `moto`, from the Python package index.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::lock::Lock;
use crate::paths;
use crate::process;
use crate::report::say;

/// The version that is installed: the newest when this was written.
const VERSION: &str = "5.2.5";
/// The variable that tells the tests where the server is.
pub(crate) const VARIABLE: &str = "PLUMBLINE_MOTO_SERVER";

/// The server's program: the one that is named already, one in our cache, or one that is installed there now. `None`, with the reason told,
/// where it cannot be had: the tests then say that they are skipped.
pub(crate) fn ensure() -> Option<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    match in_cache() {
        Ok(program) => Some(program),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
            say(format_args!("no server that speaks S3, so tests against one are skipped: {reason}"));
            None
        }
    }
}

fn in_cache() -> Result<PathBuf, Error> {
    let tools = paths::cache()?.join("tools");
    let root = tools.join(format!("moto-{VERSION}"));
    let program = root.join("bin/moto_server");
    let _lock = Lock::take(&tools)?;
    if !program.is_file() {
        say(format_args!("installing moto {VERSION}, a server that speaks S3, into {}", root.display()));
        if let Err(error) = install(&root) {
            // Half an installation would be taken for a whole one the next time.
            let _ = std::fs::remove_dir_all(&root);
            return Err(error);
        }
    }
    Ok(program)
}

fn install(root: &Path) -> Result<(), Error> {
    process::output(Command::new("python3").args(["-m", "venv"]).arg(root))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
    process::output(Command::new(root.join("bin/python")).args(pip).arg(format!("moto[server]=={VERSION}"))).map(drop)
}
