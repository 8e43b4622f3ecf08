//! The baseline in Go, if Go is installed.

use plumbline_dev::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

use crate::bench::child::{Measured, parse};

/// The compiled program.
pub(crate) struct GoProgram {
    binary: PathBuf,
    _dir: TempDir,
}

impl GoProgram {
    /// Builds the program. Without Go, returns the reason why it was not built.
    pub(crate) fn build() -> Result<std::result::Result<Self, String>> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("go.mod"), include_str!("../../go/go.mod"))?;
        fs::write(dir.path().join("main.go"), include_str!("../../go/main.go"))?;
        let binary = dir.path().join("junit");
        let built = Command::new("go").args(["build", "-o"]).arg(&binary).arg(".").current_dir(dir.path()).output();
        Ok(match built {
            Err(error) => Err(format!("no Go: {error}")),
            Ok(output) if !output.status.success() => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Ok(_) => Ok(Self { binary, _dir: dir }),
        })
    }

    /// Measures the program with the file.
    pub(crate) fn run(&self, file: &Path) -> Result<Measured> {
        parse(&Command::new(&self.binary).arg(file).output()?, "go")
    }
}
