//! The program as it is released: optimized, static, and without paths of this machine.
//!
//! `run`, `dist`, `image`, `bench`, `release` and the end-to-end tests use the same build.

mod elf;
mod platform;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

pub(crate) use elf::is_static;
pub(crate) use platform::Platform;

use crate::error::Error;
use crate::paths::{self, Workspace};
use crate::report::print_status;
use crate::target_std::{Target, TargetStd};
use crate::{modules, process, steps, target_std};

/// The package, and its binary.
pub(crate) const PROGRAM: &str = "plumbline";
/// The package with the test plugin and the benchmarks, and its binary.
pub(crate) const DEV: &str = "plumbline-dev";
/// The flag for a static binary.
const STATIC: &str = "-Ctarget-feature=+crt-static";
/// Packs the relocations to a hundredth of their size. Every process reads them first, and a
/// waiting worker would keep them in memory.
const PACKED: &str = "-Clink-arg=-Wl,-z,pack-relative-relocs";
/// The first glibc whose static binaries support packed relocations. With an older one, they crash
/// at startup.
const UNPACKS: (u32, u32) = (2, 36);

/// How released programs of one platform are built.
pub(crate) struct Release<'w> {
    workspace: &'w Workspace,
    platform: Platform,
    flags: String,
}

impl<'w> Release<'w> {
    /// Prepares builds for `platform`. Another platform needs its standard library and tools.
    pub(crate) fn new(workspace: &'w Workspace, platform: Platform) -> Result<Self, Error> {
        platform.tools()?;
        let mut flags = vec![STATIC.to_owned()];
        if unpacks(platform) {
            flags.push(PACKED.to_owned());
        } else {
            print_status("the C library is not glibc 2.36 or later: workers use 2 MiB more memory");
        }
        if !platform.is_native() {
            let linker = platform.compiler();
            let std = target_std::ensure(Target::linux(platform.triple, linker))?;
            flags.extend(std.flags().iter().cloned());
            flags.push(format!("-Clinker={linker}"));
        }
        flags.extend(paths::remapped(workspace.root()));
        Ok(Self { workspace, platform, flags: flags.join("\u{1f}") })
    }

    /// Returns a command that builds the binaries `names`. The features are those of the whole
    /// workspace. Otherwise, crates that several binaries share would be compiled several times.
    pub(crate) fn cargo(&self, names: &[&str]) -> Command {
        let mut cargo = process::cargo_locked(self.workspace.root(), "build");
        // With `--target`, these flags do not apply to build scripts and macros, which cannot be
        // static.
        cargo.args(["--release", "--workspace", "--target", self.platform.triple]);
        cargo.args(names.iter().flat_map(|name| ["--bin", name])).env("CARGO_ENCODED_RUSTFLAGS", &self.flags);
        if !self.platform.is_native() {
            cargo.env("PLUMBLINE_MODULES", self.modules());
        }
        cargo
    }

    /// Returns the path of a built binary.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        path(self.workspace, self.platform, name)
    }

    /// Returns the directory of the modules to embed, which are compiled for the platform.
    fn modules(&self) -> PathBuf {
        let modules = self.workspace.modules();
        if self.platform.is_native() { modules } else { modules.join(self.platform.architecture) }
    }

    /// Builds the modules, and compiles them for the platform. The program that does so has most
    /// crates in common with the released one. Returns the standard library that modules are built
    /// with.
    pub(crate) fn setup(&self) -> Result<TargetStd, Error> {
        let start = Instant::now();
        let std = target_std::ensure(Target::MODULE)?;
        let modules = modules::compile(self.workspace, &std)?;
        process::run_with_output(&mut self.cargo(&[modules::PACK]))?;
        modules.pack(&self.modules(), || self.platform.command(&self.path(modules::PACK)))?;
        print_status(format_args!("set-up took {}", steps::seconds(start.elapsed())));
        Ok(std)
    }

    /// Builds the program and `more` binaries, and checks that it starts.
    pub(crate) fn build(&self, more: &[&str]) -> Result<PathBuf, Error> {
        self.setup()?;
        print_status(format_args!("building the program for {}", self.platform));
        process::run_with_output(&mut self.cargo(&[&[PROGRAM], more].concat()))?;
        let program = self.path(PROGRAM);
        // Check here that the binary starts, instead of in every pod of a cluster.
        let started = process::output(self.platform.command(&program)?.args(["version", "--short"]));
        started.map_err(|error| Error::unexpected(format!("the static binary does not start: {error}")))?;
        Ok(program)
    }
}

/// Returns where builds for `platform` put the binary `name`.
pub(crate) fn path(workspace: &Workspace, platform: Platform, name: &str) -> PathBuf {
    workspace.target().join(platform.triple).join("release").join(name)
}

/// Builds the program for this machine.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf, Error> {
    Release::new(workspace, Platform::of_this_machine()?)?.build(&[])
}

/// Builds the program for this machine, and `plumbline-dev` next to it.
pub(crate) fn build_with_dev(workspace: &Workspace) -> Result<PathBuf, Error> {
    Release::new(workspace, Platform::of_this_machine()?)?.build(&[DEV])
}

/// Returns whether the C library of the platform supports packed relocations.
fn unpacks(platform: Platform) -> bool {
    let mut compiler = Command::new(platform.compiler());
    compiler.args(["-E", "-dM", "-include", "features.h", "-x", "c", "/dev/null"]);
    glibc(&process::output(&mut compiler).unwrap_or_default()).is_some_and(|version| version >= UNPACKS)
}

/// Returns the version of glibc in the macros that a C compiler defines.
fn glibc(macros: &str) -> Option<(u32, u32)> {
    let value = |name: &str| macros.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((value("#define __GLIBC__ ")?, value("#define __GLIBC_MINOR__ ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_read_as_compilers_define_them() {
        let macros = "#define __linux__ 1\n#define __GLIBC_MINOR__ 36\n#define __GLIBC__ 2\n";
        assert_eq!(glibc(macros), Some((2, 36)));
        assert_eq!([glibc(""), glibc("#define __GLIBC__ two\n#define __GLIBC_MINOR__ 36\n")], [None; 2]);
        assert!((2, 9) < UNPACKS && (2, 36) >= UNPACKS);
    }

    #[test]
    fn programs_that_are_missing_are_named_with_their_packages() {
        let other = Platform::ALL.into_iter().find(|platform| !platform.is_native()).unwrap();
        if let Err(error) = other.tools() {
            assert!(error.hint().unwrap().contains("apt-get install"), "{error}");
        }
        assert!(Platform::ALL.into_iter().filter(|platform| platform.is_native()).all(|own| own.tools().is_ok()));
        assert_eq!(Platform::named("arm64").unwrap().triple, "aarch64-unknown-linux-gnu");
        assert_eq!(Platform::named("riscv64"), None);
    }
}
