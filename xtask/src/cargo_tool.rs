//! Programs from crates.io that checks need.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::lock::Lock;
use crate::paths;
use crate::process;
use crate::report::say;

/// A program that `cargo install` builds into the cache if it is not in `PATH`.
pub(crate) struct CargoTool {
    /// The name of the program and of its crate.
    pub(crate) program: &'static str,
    /// The version to build: the newest at the time of writing.
    pub(crate) version: &'static str,
    /// Arguments that choose the features of the crate.
    pub(crate) features: &'static [&'static str],
}

impl CargoTool {
    /// Returns the program in `PATH`, or else the one in the cache, which is built if missing.
    pub(crate) fn ensure(&self) -> Result<PathBuf, Error> {
        let path = env::var_os("PATH").unwrap_or_default();
        let on_path = env::split_paths(&path).map(|dir| dir.join(self.program)).find(|program| program.is_file());
        if let Some(program) = on_path {
            return Ok(program);
        }
        let tools = paths::cache()?.join("tools");
        let root = tools.join(format!("{}-{}", self.program, self.version));
        let program = root.join("bin").join(self.program);
        if !program.is_file() {
            let _lock = Lock::take(&tools)?;
            if !program.is_file() {
                self.install(&tools, &root)?;
            }
        }
        Ok(program)
    }

    /// `cargo install` puts the finished program in place atomically.
    fn install(&self, tools: &Path, root: &Path) -> Result<(), Error> {
        let Self { program, version, features } = self;
        say(format_args!(
            "{program} is not installed; building {program} {version} from crates.io into {}",
            root.display()
        ));
        let target = tools.join("build");
        fs::create_dir_all(&target).map_err(Error::io("create", &target))?;
        let mut cargo = process::cargo(tools);
        cargo.args(["install", "--quiet", "--locked", program, "--version", version, "--profile", "dev"]);
        cargo.args(*features).arg("--root").arg(root).arg("--target-dir").arg(&target);
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        let installed = process::run_talkative(&mut cargo);
        fs::remove_dir_all(&target).map_err(Error::io("remove", &target))?;
        installed
    }
}
