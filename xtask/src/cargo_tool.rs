//! Programs from crates.io that checks need.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::process;
use crate::tools;

/// A program that `cargo install` builds into the cache if it is not in `PATH`.
pub(crate) struct CargoTool {
    /// The name of the program and of its crate.
    pub(crate) program: &'static str,
    /// The version to build: the newest at the time of writing.
    pub(crate) version: &'static str,
    /// Arguments that choose the features of the crate.
    pub(crate) features: &'static [&'static str],
}

/// Pushes and pulls WebAssembly components. Builds in some minutes, once.
pub(crate) const WKG: CargoTool = CargoTool { program: "wkg", version: "0.16.0", features: &["--no-default-features"] };

impl CargoTool {
    /// Returns the program in `PATH`, or else the one in the cache, which is built if missing.
    pub(crate) fn ensure(&self) -> Result<PathBuf, Error> {
        if let Some(program) = tools::in_path(self.program) {
            return Ok(program);
        }
        let name = format!("{}-{}", self.program, self.version);
        let program = format!("bin/{}", self.program);
        let doing = format!("{} is not installed; building {} from crates.io", self.program, self.version);
        Ok(tools::in_cache(&name, &program, doing, |root| self.install(root))?.join(program))
    }

    /// `cargo install` puts the finished program in place atomically.
    fn install(&self, root: &Path) -> Result<(), Error> {
        let Self { program, version, features } = self;
        let target = root.with_added_extension("build");
        fs::create_dir_all(&target).map_err(Error::io("create", &target))?;
        // Outside of the workspace, whose settings do not apply to tools.
        let mut cargo = process::cargo(&target);
        cargo.args(["install", "--quiet", "--locked", program, "--version", version, "--profile", "dev"]);
        cargo.args(*features).arg("--root").arg(root).arg("--target-dir").arg(&target);
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        let installed = process::run_with_output(&mut cargo);
        fs::remove_dir_all(&target).map_err(Error::io("remove", &target))?;
        installed
    }
}
