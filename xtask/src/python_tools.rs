//! External programs that tests compare with, from the Python Package Index, each in its own
//! virtual environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::process;
use crate::tools;

/// A program that tests need.
struct Tool {
    /// The package, as passed to `pip`.
    package: &'static str,
    /// The directory in the cache, without the version.
    name: &'static str,
    /// The pinned version, so that only our own changes can break a test. It is the newest one that
    /// Python 3.11 can run at the time of writing.
    version: &'static str,
    program: &'static str,
    /// The variable that passes the program's path to the tests.
    variable: &'static str,
    what: &'static str,
    /// The tests that are skipped without it.
    tests: &'static str,
}

const TOOLS: [Tool; 7] = [
    Tool {
        package: "moto[server]",
        name: "moto",
        version: "5.2.5",
        program: "moto_server",
        variable: "PLUMBLINE_MOTO_SERVER",
        what: "a server that speaks S3",
        tests: "tests of delivery to S3",
    },
    Tool {
        package: "ansible-core",
        name: "ansible-core",
        version: "2.19.14",
        program: "ansible",
        variable: "PLUMBLINE_ANSIBLE",
        what: "Ansible",
        tests: "tests that compare facts with Ansible's",
    },
    Tool {
        package: "in-toto-attestation",
        name: "in-toto-attestation",
        version: "0.9.3",
        program: "python",
        variable: "PLUMBLINE_IN_TOTO_PYTHON",
        what: "the reference implementation of in-toto's statements",
        tests: "a test that reads attestations with it",
    },
    Tool {
        package: "mcp",
        name: "mcp",
        version: "2.3.0",
        program: "python",
        variable: "PLUMBLINE_MCP_PYTHON",
        what: "a client of the Model Context Protocol",
        tests: "a test that reads archives with it",
    },
    Tool {
        package: "componentize-py",
        name: "componentize-py",
        version: "0.25.1",
        program: "componentize-py",
        variable: "PLUMBLINE_COMPONENTIZE_PY",
        what: "the compiler of components for Python",
        tests: "modules in Python",
    },
    Tool {
        package: "ziglang",
        name: "ziglang",
        version: "0.17.1",
        program: "python-zig",
        variable: "PLUMBLINE_ZIG",
        what: "zig, a compiler for C",
        tests: "tests that build modules in C",
    },
    Tool {
        package: "pytest",
        name: "pytest",
        version: "9.2.0",
        program: "pytest",
        variable: "PLUMBLINE_PYTEST",
        what: "pytest",
        tests: "tests that run pytest as a plugin",
    },
];

/// Returns the variables that pass the programs' paths to the tests. A program comes from its
/// variable if that is set, then from the cache, and is otherwise installed now.
///
/// Programs that are not available are left out, with the reason printed. The tests then report
/// that they are skipped.
pub(crate) fn ensure() -> Vec<(&'static str, OsString)> {
    TOOLS.iter().filter_map(|tool| Some((tool.variable, tool.ensure()?))).collect()
}

impl Tool {
    fn ensure(&self) -> Option<OsString> {
        tools::program(self.variable, self.what, self.tests, || self.in_cache())
    }

    fn in_cache(&self) -> Result<PathBuf, Error> {
        let name = format!("{}-{}", self.name, self.version);
        let program = format!("bin/{}", self.program);
        let doing = format!("installing {} {}, {},", self.name, self.version, self.what);
        Ok(tools::in_cache(&name, &program, doing, |root| self.install(root))?.join(program))
    }

    fn install(&self, root: &Path) -> Result<(), Error> {
        process::output(Command::new("python3").args(["-m", "venv"]).arg(root))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
        let package = format!("{}=={}", self.package, self.version);
        process::output(Command::new(root.join("bin/python")).args(pip).arg(package)).map(drop)
    }
}
