//! The platforms that releases are built for.

use std::env::consts;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::tools;

/// A platform. On a machine with the other one, its programs are cross-compiled with the GNU tools
/// of that platform, and run by QEMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Platform {
    /// The target triple of Rust.
    pub(crate) triple: &'static str,
    /// The architecture, as Go, container images and Debian call it.
    pub(crate) architecture: &'static str,
    /// The architecture, as Rust, Linux and QEMU call it.
    machine: &'static str,
    /// The C compiler that produces programs for this platform on another one.
    cross_compiler: &'static str,
    /// The Debian packages with that compiler and the static C library.
    cross_packages: &'static str,
}

impl Platform {
    /// All platforms, in the order of their names.
    pub(crate) const ALL: [Self; 2] = [
        Self {
            triple: "x86_64-unknown-linux-gnu",
            architecture: "amd64",
            machine: "x86_64",
            cross_compiler: "x86_64-linux-gnu-gcc",
            cross_packages: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
        },
        Self {
            triple: "aarch64-unknown-linux-gnu",
            architecture: "arm64",
            machine: "aarch64",
            cross_compiler: "aarch64-linux-gnu-gcc",
            cross_packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        },
    ];

    /// Returns the platform of this machine.
    pub(crate) fn of_this_machine() -> Result<Self, Error> {
        Self::ALL.into_iter().find(|platform| platform.is_native()).ok_or_else(|| {
            Error::unexpected(format!(
                "the program cannot be built on {}/{}: `deploy/Containerfile` builds it with a container engine",
                consts::OS,
                consts::ARCH
            ))
        })
    }

    /// Returns the platform with this architecture.
    pub(crate) fn named(architecture: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.architecture == architecture)
    }

    pub(crate) fn is_native(self) -> bool {
        consts::OS == "linux" && consts::ARCH == self.machine
    }

    /// Returns the C compiler for this platform.
    pub(crate) fn compiler(self) -> &'static str {
        if self.is_native() { "cc" } else { self.cross_compiler }
    }

    /// Returns a command that runs a program of this platform.
    pub(crate) fn command(self, program: &Path) -> Result<Command, Error> {
        if self.is_native() {
            return Ok(Command::new(program));
        }
        let mut command = Command::new(self.emulator()?);
        command.arg(program);
        Ok(command)
    }

    /// Checks that the tools for another platform are installed.
    pub(crate) fn tools(self) -> Result<(), Error> {
        if self.is_native() {
            return Ok(());
        }
        tools::in_path(self.cross_compiler).ok_or_else(|| Error::Missing {
            what: format!("`{}`, which links programs for {self},", self.cross_compiler),
            install: format!("on Debian and Ubuntu, `apt-get install {}` installs it", self.cross_packages),
        })?;
        self.emulator().map(drop)
    }

    fn emulator(self) -> Result<PathBuf, Error> {
        let names = [format!("qemu-{}-static", self.machine), format!("qemu-{}", self.machine)];
        names.iter().find_map(|name| tools::in_path(name)).ok_or_else(|| Error::Missing {
            what: format!("`{}`, which runs programs for {self},", names.join("` or `")),
            install: "on Debian and Ubuntu, `apt-get install qemu-user-static` installs it".to_owned(),
        })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "linux/{}", self.architecture)
    }
}
