//! Programs that tests and checks need, built from the Go module proxy because no other package
//! registry has them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::paths::Workspace;
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

/// The suite of the OCI Distribution Specification. Builds in about 5 seconds of one processor, once.
pub(crate) const OCI_CONFORMANCE: GoTool = GoTool {
    name: "conformance",
    package: "github.com/opencontainers/distribution-spec/conformance",
    // No release has the suite as a program. The profile in `examples` names the same version.
    version: "v0.0.0-20260831232431-97274622c111",
    variable: "PLUMBLINE_OCI_CONFORMANCE",
};

/// The suite of the Container Storage Interface. Builds in about 30 seconds of one processor, once.
pub(crate) const CSI_SANITY: GoTool = GoTool {
    name: "csi-sanity",
    package: "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity",
    // The profile in `examples` names the same version.
    version: "v5.6.0",
    variable: "PLUMBLINE_CSI_SANITY",
};

/// Signs and verifies attestations. Builds in some minutes of one processor, once.
pub(crate) const COSIGN: GoTool = GoTool {
    name: "cosign",
    package: "github.com/sigstore/cosign/v3/cmd/cosign",
    version: "v3.1.3",
    variable: "PLUMBLINE_COSIGN",
};

/// The Open Policy Agent, which evaluates rules. Builds in some minutes of one processor, once.
pub(crate) const OPA: GoTool =
    GoTool { name: "opa", package: "github.com/open-policy-agent/opa", version: "v1.22.3", variable: "PLUMBLINE_OPA" };

/// Copies artifacts between registries. Builds in about two minutes of one processor, once.
pub(crate) const ORAS: GoTool =
    GoTool { name: "oras", package: "oras.land/oras/cmd/oras", version: "v1.3.6", variable: "PLUMBLINE_ORAS" };

/// Runs the conformance suite in a cluster. Builds in some minutes of one processor, once.
pub(crate) const HYDROPHONE: GoTool = GoTool {
    name: "hydrophone",
    package: "sigs.k8s.io/hydrophone",
    version: "v0.7.0",
    variable: "PLUMBLINE_E2E_HYDROPHONE",
};

/// A program of this workspace in Go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoProgram {
    name: &'static str,
    /// The directory of its module, relative to the workspace.
    dir: &'static str,
    /// The variable that passes the program's path to the tests.
    pub(crate) variable: &'static str,
}

/// The storage driver that the tests run the suite of the Container Storage Interface against.
/// Builds in about 10 seconds of one processor, after each change.
pub(crate) const CSI_DRIVER: GoProgram =
    GoProgram { name: "csi-driver", dir: "host/e2e/csi-driver", variable: "PLUMBLINE_CSI_DRIVER" };

/// The suite of NetworkPolicies. Builds in about 60 seconds of one processor, after each change.
pub(crate) const NETWORK_POLICY: GoProgram = GoProgram {
    name: "network-policy",
    dir: "examples/profiles/network-policy/suite",
    variable: "PLUMBLINE_NETWORK_POLICY",
};

/// The OpenTelemetry Collector with what a test needs. Builds in some minutes of one processor, after
/// each change.
pub(crate) const OTELCOL: GoProgram =
    GoProgram { name: "otelcol", dir: "host/dev/otelcol", variable: "PLUMBLINE_OTELCOL" };

impl GoProgram {
    /// Returns the path of the program, as [`GoTool::ensure`] does.
    pub(crate) fn ensure(self, workspace: &Workspace) -> Option<OsString> {
        tools::program(self.variable, self.name, "tests with it", || self.in_cache(workspace))
    }

    fn in_cache(self, workspace: &Workspace) -> Result<PathBuf, Error> {
        let source = workspace.root().join(self.dir);
        let name = format!("{}-{:016x}", self.name, fingerprint(&source)?);
        let doing = format!("building {}", self.dir);
        let build = |root: &Path| {
            let mut go = Command::new("go");
            go.current_dir(&source).env("GOBIN", root).env("GO111MODULE", "on").env("GOWORK", "off");
            process::output(go.args(["install", "-p=2", "-trimpath", "-ldflags=-s -w", "."])).map(drop)
        };
        Ok(tools::in_cache(&name, self.name, doing, build)?.join(self.name))
    }
}

/// Returns a hash of the files in `dir`, so that a changed program is built again.
fn fingerprint(dir: &Path) -> Result<u64, Error> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> = entries.map_err(Error::io("read", dir))?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let mut hasher = DefaultHasher::new();
    for path in paths {
        path.file_name().hash(&mut hasher);
        fs::read(&path).map_err(Error::io("read", &path))?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

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
