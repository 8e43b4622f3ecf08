//! Programs that tests and checks need, built from the Go module proxy because no other package
//! registry has them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::process;
use crate::tools;

/// A program that `go install` builds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoTool {
    name: &'static str,
    package: &'static str,
    /// The newest version that Go 1.26 compiles.
    version: &'static str,
    /// The variable that passes the program's path to the tests.
    pub(crate) variable: &'static str,
}

/// Builds in about 170 seconds of one processor, once.
pub(crate) const HELM: GoTool =
    GoTool { name: "helm", package: "helm.sh/helm/v3/cmd/helm", version: "v3.22.0", variable: "PLUMBLINE_HELM" };

/// Builds in about 130 seconds of one processor, once.
pub(crate) const VALE: GoTool = GoTool {
    name: "vale",
    package: "github.com/vale-cli/vale/v3/cmd/vale",
    version: "v3.21.0",
    variable: "PLUMBLINE_VALE",
};

/// Builds in about 30 seconds of one processor, once.
pub(crate) const KREW: GoTool =
    GoTool { name: "krew", package: "sigs.k8s.io/krew/cmd/krew", version: "v0.4.3", variable: "PLUMBLINE_KREW" };

/// Builds in about 20 seconds of one processor, once.
pub(crate) const ACTIONLINT: GoTool = GoTool {
    name: "actionlint",
    package: "github.com/rhysd/actionlint/cmd/actionlint",
    version: "v1.7.12",
    variable: "PLUMBLINE_ACTIONLINT",
};

impl GoTool {
    /// Returns the path of the program. It comes from the variable if that is set, then from the
    /// cache, and is otherwise built now. Returns `None` with the reason printed if that fails. The
    /// tests then report that they are skipped.
    pub(crate) fn ensure(self) -> Option<OsString> {
        tools::program(self.variable, self.name, "tests with it", || self.in_cache())
    }

    fn in_cache(self) -> Result<PathBuf, Error> {
        let doing = format!("building {} {}", self.name, self.version);
        let name = format!("{}-{}", self.name, self.version);
        Ok(tools::in_cache(&name, self.name, doing, |root| self.install(root))?.join(self.name))
    }

    fn install(self, root: &Path) -> Result<(), Error> {
        let mut go = Command::new("go");
        // Run outside of the workspace, where a module with the same name could be used instead.
        go.current_dir(env::temp_dir()).env("GOBIN", root).env("GO111MODULE", "on");
        go.args(["install", "-p=2", "-trimpath", "-ldflags=-s -w"]);
        process::output(go.arg(format!("{}@{}", self.package, self.version))).map(drop)
    }
}
