//! Helm, for the tests of `deploy/`: built from the Go module proxy, because no other registry of packages has it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::lock::Lock;
use crate::paths;
use crate::process;
use crate::report::say;
use crate::steps;

/// A program that `go install` makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoTool {
    name: &'static str,
    package: &'static str,
    /// The newest that Go 1.26 compiles.
    version: &'static str,
    /// The variable that tells the tests where it is.
    pub(crate) variable: &'static str,
}

/// About 170 seconds of one processor, once.
pub(crate) const HELM: GoTool =
    GoTool { name: "helm", package: "helm.sh/helm/v3/cmd/helm", version: "v3.22.0", variable: "PLUMBLINE_HELM" };

impl GoTool {
    /// The program: the one that is named already, one in our cache, or one that is built there now. `None`, with the reason told, where
    /// it cannot be had: the tests then say that they are skipped.
    pub(crate) fn ensure(self) -> Option<PathBuf> {
        if let Some(named) = env::var_os(self.variable).filter(|named| !named.is_empty()) {
            return Some(named.into());
        }
        match self.in_cache() {
            Ok(program) => Some(program),
            Err(error) => {
                // What failed, and the last that Go said about it; all between is what it tried.
                let said = error.to_string();
                let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
                let first = lines.next().unwrap_or_default();
                let reason = lines.next_back().map_or_else(|| first.to_owned(), |last| format!("{first}: {last}"));
                say(format_args!("no {}, so tests with it are skipped: {reason}", self.name));
                None
            }
        }
    }

    fn in_cache(self) -> Result<PathBuf, Error> {
        let tools = paths::cache()?.join("tools");
        let root = tools.join(format!("{}-{}", self.name, self.version));
        let program = root.join(self.name);
        let _lock = Lock::take(&tools)?;
        if !program.is_file() {
            say(format_args!("building {} {} into {}", self.name, self.version, root.display()));
            let begin = std::time::Instant::now();
            if let Err(error) = self.install(&root) {
                // Half an installation would be taken for a whole one the next time.
                let _ = std::fs::remove_dir_all(&root);
                return Err(error);
            }
            say(format_args!("built {} in {}", self.name, steps::seconds(begin.elapsed())));
        }
        Ok(program)
    }

    fn install(self, root: &Path) -> Result<(), Error> {
        let mut go = Command::new("go");
        // Not in the workspace: a module there would be taken for the one that is meant.
        go.current_dir(env::temp_dir()).env("GOBIN", root).env("GO111MODULE", "on");
        go.args(["install", "-p=2", "-trimpath", "-ldflags=-s -w"]);
        process::output(go.arg(format!("{}@{}", self.package, self.version))).map(drop)
    }
}
